"""The declarations of ``scan.h`` for Cython."""

from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t


cdef extern from "scan.h" nogil:
    ctypedef struct ct_map:
        pass
    ctypedef struct ct_pair:
        pass
    ctypedef struct ct_name:
        uint32_t offset
        uint32_t length
        int32_t colon
        int32_t attribute_symbol
    ctypedef struct ct_names:
        ct_name *items
        uint8_t *bytes
        size_t count
    ctypedef struct ct_state:
        int32_t known
    ctypedef struct ct_tables:
        ct_names names
        ct_names declarations
        ct_map elements
        ct_map attributes
        ct_map contexts
        ct_map steps
        ct_map allowed
        ct_state *states
        size_t state_room
    ctypedef struct ct_frame:
        int64_t start
        int64_t content
        size_t name
        uint32_t length
    ctypedef struct ct_output:
        int64_t *ends
        size_t count
        int64_t open
        int32_t whole
    ctypedef struct ct_attribute:
        int32_t name
    ctypedef struct ct_rows:
        size_t elements
        size_t ends
        size_t leaves
        int32_t first
        int32_t *state
        int32_t *parent
        int32_t *position
        int32_t *symbol
        int64_t *start
        int64_t *content
        int64_t *close
        int64_t *end
        int32_t *end_row
        int64_t *end_close
        int64_t *end_end
        int32_t *leaf_parent
        int32_t *leaf_number
        int8_t *leaf_kind
        int64_t *leaf_start
        int64_t *leaf_end
        size_t attributes
        int32_t *attribute_row
        int32_t *attribute_symbol
        int32_t *attribute_number
        int64_t *attribute_start
        int64_t *attribute_end
    ctypedef struct ct_scan:
        int64_t token_limit, name_limit, value_limit, tag_limit
        int32_t depth_limit
        int32_t attribute_limit
        int table
        int table_attributes
        int assume_valid
        int64_t base
        size_t at
        int mode
        ct_frame *frames
        int32_t depth
        uint8_t *names
        int32_t check_depth
        ct_output *outputs
        int32_t output_count
        ct_rows rows
        const char *reason
        int64_t error_at
        const char *limit
        int32_t closing
        int32_t miss_first
        int32_t miss_second
        int32_t tag_context
        ct_attribute *attributes
        size_t attribute_count
        int32_t open_state
        int64_t violation_at
        uint8_t *violation
        size_t path_length
        size_t child_length
    enum:
        CT_OK
        CT_MORE
        CT_MISS_ELEMENT
        CT_MISS_ATTRIBUTE
        CT_MISS_CONTEXT
        CT_MISS_STEP
        CT_MISS_ALLOWED
        CT_ERROR
        CT_HAND_OVER
        CT_FOLLOW
        CT_UNBOUND
        CT_NO_COLON
        CT_BAD_QNAME
        CT_TEXT
        CT_CDATA
        CT_REFERENCES
        CT_COMMENT
        CT_PI
    ct_tables *ct_tables_new(uint64_t seed, size_t most_names)
    void ct_tables_free(ct_tables *t)
    int ct_tables_put_state(ct_tables *t, int32_t state, int inside, int skip,
                            const int32_t *subtree, size_t subtrees, const int32_t *tag,
                            size_t tags, const int32_t *content, size_t contents)
    int ct_tables_cells(ct_tables *t, size_t expanded_names)
    int ct_map_put(ct_map *map, uint64_t key, int32_t first, int32_t second)
    const ct_pair *ct_map_get(const ct_map *map, uint64_t key)
    uint64_t ct_key(int32_t a, int32_t b)
    ct_scan *ct_scan_new(ct_tables *tables, int32_t outputs)
    void ct_scan_reset(ct_scan *s)
    void ct_scan_free(ct_scan *s)
    size_t ct_scan_memory(const ct_scan *s)
    int ct_run(ct_scan *s, const uint8_t *data, size_t length)
    int ct_finish(ct_scan *s, size_t left)
    int ct_cut_open(ct_scan *s)
