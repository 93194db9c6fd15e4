"""What other parts in C use of the kernel: a core that scans whole documents."""

from libc.stdint cimport int32_t, uint8_t

from extract.chunktool.scan.kernel.c_scan cimport ct_map, ct_names, ct_scan, ct_tables


cdef class ScanCore:
    cdef ct_tables *c
    cdef ct_scan *s
    cdef object contexts
    cdef dict expanded  # number of each expanded name

    cdef bint crowded(self)
    cdef int begin(self, automaton, limits, bint table) except -1
    cdef int scan(self, automaton, const uint8_t *data, size_t length) noexcept nogil
    cdef int follow_everywhere(self, automaton) except -1
    cdef object violation(self)
    cdef int learn_state(self, automaton, int32_t state) except -1
    cdef bytes text(self, ct_names *names, int32_t number)
    cdef int learn(self, automaton, int code) except -1
    cdef int learn_step(self, automaton, int32_t state, int32_t symbol) except -1
    cdef int learn_name(self, automaton, int32_t name, int32_t context, bint attribute) except -1
    cdef int learn_attributes(self, automaton, int code) except -1
