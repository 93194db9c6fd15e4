"""The declarations of ``values.h`` for Cython."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from extract.filtertool.matchers.push.core.c_push cimport px_input, px_registry


cdef extern from "values.h" nogil:
    ctypedef struct vl_column:
        int64_t *end
        int64_t *text_end
        uint8_t *text
        double *number
        size_t count
        size_t text_used
    ctypedef struct vl_frame:
        int32_t width
        int32_t *unit
        size_t rows
        vl_column *columns
    ctypedef struct vl_scan:
        px_registry registry
        vl_frame *frames
        size_t count
        int with_texts
        int64_t budget
    int vl_frame_add(vl_scan *s, const int32_t *words, size_t count, int32_t levels, int32_t width)
    int vl_document(vl_scan *s, const px_input *in_, int32_t unit)
    void vl_clear(vl_scan *s)
    void vl_free(vl_scan *s)
    size_t vl_order(
        const int32_t *unit, const int64_t *seq, size_t count, int32_t documents, size_t *at,
        int64_t *room, int32_t *units, int64_t *seqs,
    )
