"""The declarations of ``push.h`` for Cython."""

from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t


cdef extern from "push.h" nogil:
    enum:
        PX_OK
        PX_MEMORY
        PX_COSTLY
    ctypedef union px_cell:
        double number
        int32_t string
    ctypedef struct px_strings:
        size_t used
    ctypedef struct px_template:
        int32_t width
        int32_t live
    ctypedef struct px_owner:
        int32_t template_ "template_"
        int32_t row
    ctypedef struct px_registry:
        px_strings strings
        const int32_t *namespaces
        size_t symbols
        size_t slot_count
        size_t template_count
        size_t owner_room
        size_t members
        px_template *templates
        px_owner *owners
    ctypedef struct px_input:
        const uint8_t *data
        int32_t rows, leaves, attributes
        const int32_t *parent
        const int32_t *symbol
        const int64_t *start
        const int64_t *content
        const int64_t *close
        const int64_t *end
        const int32_t *leaf_parent
        const int32_t *leaf_number
        const int8_t *leaf_kind
        const int64_t *leaf_start
        const int64_t *leaf_end
        const int32_t *attribute_row
        const int32_t *attribute_symbol
        const int32_t *attribute_number
        const int64_t *attribute_start
        const int64_t *attribute_end
    ctypedef struct px_results:
        int32_t *unit
        int32_t *query
        int64_t *value
        int32_t *number
        size_t count
    ctypedef struct px_values_made:
        px_results rows
        uint8_t *bytes
        size_t used
    ctypedef struct px_figures:
        uint64_t documents, elements, slots, candidates, evaluated, matches, known, steps, overrun
    ctypedef struct px_states:
        size_t count
        size_t bytes
        uint64_t made
        uint64_t dropped
    ctypedef struct px_bindings:
        int wanted
    ctypedef struct px_machine:
        int select
        px_bindings bindings
        px_states states
        px_results results
        px_results candidates
        px_values_made values
        px_figures figures
        size_t overrun
    px_registry *px_registry_new(const uint64_t *secret)
    void px_registry_free(px_registry *r)
    size_t px_registry_memory(const px_registry *r)
    int32_t px_template_add(px_registry *r, const int32_t *words, size_t count)
    void px_template_remove(px_registry *r, int32_t number)
    int px_row_add(px_registry *r, int32_t number, const px_cell *cells, int32_t owner)
    int px_rows_expect(px_registry *r, size_t more)
    void px_row_soon(const px_registry *r, int32_t number, const px_cell *cells)
    void px_row_remove(px_registry *r, int32_t owner)
    int32_t px_template_order(const px_registry *r, int32_t number)
    int32_t px_strings_use(px_strings *s, const uint8_t *at, size_t length)
    void px_strings_release(px_strings *s, int32_t string)
    px_machine *px_machine_new(const px_registry *r, int select, size_t most_bytes, int64_t steps)
    void px_machine_free(px_machine *m)
    size_t px_machine_memory(const px_machine *m)
    void px_give_back(px_machine *m)
    int px_adapt(px_registry *r, px_machine *m)
    int px_match(px_machine *m, const px_input *input, int32_t unit)


cdef extern from "describe.h" nogil:
    ctypedef struct px_strings_column:
        int32_t *ends
        uint8_t *bytes
        uint8_t *missing
        size_t used
        size_t holes
    ctypedef struct px_descriptions:
        int64_t value_bytes, most_rows, most_bytes
        const int32_t *conditions
        size_t condition_count
        size_t nodes
        int64_t *start
        int64_t *end
        px_strings_column *strings
        size_t rows
        int32_t *query
        int32_t *node
        int64_t *ordinal
        size_t units
        int8_t *described
        int64_t *row_end
        int64_t *node_end
    void px_descriptions_begin(px_descriptions *d)
    int px_describe(px_descriptions *d, px_machine *m, const int32_t *position, size_t first, size_t open,
                    size_t value)
    int px_describe_nothing(px_descriptions *d)
    void px_descriptions_free(px_descriptions *d)


cdef extern from "outputs.h" nogil:
    ctypedef struct px_program:
        int32_t *words
        size_t count
        uint8_t *text
        px_cell *cells
        uint8_t *strings
        size_t width
        size_t uses
        int texts
    ctypedef struct px_programs:
        size_t count
    ctypedef struct px_outputs:
        uint8_t *bytes
        size_t used
        int64_t *end
        int8_t *too_long
        size_t texts
        int32_t *unit
        int32_t *query
        int32_t *text
        size_t count
        size_t most
        uint64_t sorted
    int32_t px_program_add(px_programs *p, px_registry *r, px_program program)
    int px_program_assign(px_programs *p, px_registry *r, int32_t query, int32_t program)
    void px_programs_free(px_programs *p)
    int px_write_outputs(px_outputs *o, const px_programs *p, px_machine *m, size_t first, int32_t unit)
    void px_outputs_free(px_outputs *o)
