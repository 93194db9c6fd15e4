# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Members of templates in C; `extract.subscriptions.member_table` has the same in Python."""

import os

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t, uint8_t
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memcmp, memcpy

cdef extern from "hashing.h":
    uint64_t hash_of(const uint8_t*, size_t, const uint64_t*) nogil
    uint64_t hash_mix(uint64_t, uint64_t) nogil
    void prefetch(const void*) nogil


cdef uint64_t NUMBER = 0xFFFFFFFF
cdef enum:
    TOGETHER = 256  # rows whose places are asked for before they are looked at


cdef struct Field:
    const uint8_t* at
    int64_t size


cdef struct Row:
    int64_t end  # of its record
    int32_t wording, template, canonical
    int32_t alive


cdef struct Canonical:
    uint32_t row  # a member, whose record stays even if it is removed
    int32_t members


cdef struct Shapes:
    const int32_t* forms  # of each template; -1 if its queries match nothing
    const int32_t* at  # where the arguments of each template start; one more for the end
    const int32_t* arguments  # for each parameter of the form, the parameter of the template


cdef inline int64_t read_size(const uint8_t** at) noexcept nogil:
    """The length of a field, whose text is next."""
    cdef int64_t size = 0
    cdef int shift = 0
    cdef uint8_t byte
    while True:
        byte = at[0][0]
        at[0] += 1
        size |= <int64_t>(byte & 127) << shift
        if byte < 128:
            return size
        shift += 7


cdef inline Field field_of(const uint8_t* record, int64_t number) noexcept nogil:
    """A field of a record."""
    cdef Field field
    cdef int64_t n
    for n in range(number):
        field.size = read_size(&record)
        record += field.size
    field.size = read_size(&record)
    field.at = record
    return field


cdef class MemberTable:
    """Rows of members: found by id, and counted by canonical query."""

    cdef uint8_t* heap
    cdef int64_t heap_size, heap_room
    cdef Row* rows
    cdef int64_t count, room
    cdef Canonical* canonical
    cdef int64_t canonical_count, canonical_room
    # Half of a hash and a number plus 1, or 0; as many as a power of two.
    cdef uint64_t* by_id
    cdef int64_t by_id_count, by_id_used
    cdef uint64_t* by_query
    cdef int64_t by_query_count
    cdef uint64_t secret[2]

    def __cinit__(self):
        self.secret[0] = int.from_bytes(os.urandom(8), "little")
        self.secret[1] = int.from_bytes(os.urandom(8), "little")
        self.heap, self.rows, self.canonical, self.by_id, self.by_query = NULL, NULL, NULL, NULL, NULL
        self.heap_size = self.heap_room = self.count = self.room = 0
        self.canonical_count = self.canonical_room = 0
        self.by_id_count = self.by_id_used = self.by_query_count = 0

    def __dealloc__(self):
        free(self.heap)
        free(self.rows)
        free(self.canonical)
        free(self.by_id)
        free(self.by_query)

    def __len__(self):
        return self.count

    cdef const uint8_t* record(self, int64_t row) noexcept nogil:
        return self.heap + (self.rows[row - 1].end if row else 0)

    # -- adding and removing

    def extend(
        self,
        const uint8_t[::1] heap,
        const int64_t[::1] ends,
        const int32_t[::1] wordings,
        const int32_t[::1] templates,
        const int32_t[::1] forms,
        const int32_t[::1] at,
        const int32_t[::1] arguments,
    ):
        """Appends rows; see the class in Python."""
        cdef int64_t i, more = ends.shape[0], start = self.heap_size
        cdef Shapes shapes
        cdef Row* row
        if not more:
            return
        if self.count + more >= <int64_t>1 << 31:
            raise OverflowError("too many members")
        self.make_room(more, heap.shape[0])
        if heap.shape[0]:
            memcpy(self.heap + start, &heap[0], heap.shape[0])
        self.heap_size += heap.shape[0]
        shapes.forms = &forms[0]
        shapes.at = &at[0]
        shapes.arguments = &arguments[0] if arguments.shape[0] else NULL
        if more > 1000:
            self.grow_queries(self.canonical_count + more, &shapes)
        for i in range(more):
            row = &self.rows[self.count + i]
            row.end = start + ends[i]
            row.wording, row.template, row.alive = wordings[i], templates[i], 1
        for i in range(0, more, TOGETHER):
            self.take_in(min(TOGETHER, more - i), &shapes)

    cdef int take_in(self, int64_t more, const Shapes* shapes) except -1:
        """Counts rows that have been written behind the last one, `TOGETHER` at most.

        The table of canonical queries does not fit in a processor's caches when there are a
        million, and each row has its place anywhere: so all the places are asked for, then looked at.
        """
        cdef uint64_t[TOGETHER] hashes
        cdef int64_t i
        cdef Row* row
        for i in range(more):
            row = &self.rows[self.count + i]
            if shapes.forms[row.template] >= 0:
                hashes[i] = self.query_hash(self.count + i, shapes)
                if self.by_query_count:
                    prefetch(&self.by_query[hashes[i] & <uint64_t>(self.by_query_count - 1)])
        for i in range(more):
            row = &self.rows[self.count]
            row.canonical = -1
            if shapes.forms[row.template] >= 0:
                row.canonical = self.canonical_of(self.count, hashes[i], shapes)
                self.canonical[row.canonical].members += 1
            self.count += 1
            if self.by_id_count:
                self.index_id(self.count - 1)
        return 0

    def expect(self, int64_t more):
        """Makes room for so many rows, if there are none yet."""
        cdef Shapes none
        if not self.canonical_count:
            self.grow_queries(more, &none)

    def remove(self, int64_t row):
        """Removes a row; returns how many members its canonical query has left."""
        cdef int32_t canonical = self.rows[row].canonical
        self.rows[row].alive = 0
        if canonical < 0:
            return 0
        self.canonical[canonical].members -= 1
        return self.canonical[canonical].members

    cdef int make_room(self, int64_t rows, int64_t size) except -1:
        cdef int64_t room
        cdef void* larger
        if self.room - self.count < rows:
            room = self.count + rows + self.room // 8
            larger = realloc(self.rows, room * sizeof(Row))
            if larger == NULL:
                raise MemoryError
            self.rows, self.room = <Row*>larger, room
        if self.heap_room - self.heap_size < size:
            room = self.heap_size + size + self.heap_room // 8
            larger = realloc(self.heap, room)
            if larger == NULL:
                raise MemoryError
            self.heap, self.heap_room = <uint8_t*>larger, room
        return 0

    # -- by id

    def find(self, bytes name):
        """The row of an id; -1 if there is none."""
        if not self.by_id_count:
            self.build_ids()
        return self.find_id(<const uint8_t*>PyBytes_AS_STRING(name), PyBytes_GET_SIZE(name))

    cdef int64_t find_id(self, const uint8_t* at, int64_t size) noexcept nogil:
        cdef uint64_t mask = self.by_id_count - 1, hashed = hash_of(at, size, self.secret)
        cdef uint64_t slot = hashed & mask
        cdef int64_t row
        cdef Field field
        while self.by_id[slot]:
            if (self.by_id[slot] ^ hashed) >> 32 == 0:
                row = <int64_t>(self.by_id[slot] & NUMBER) - 1
                field = field_of(self.record(row), 0)
                if self.rows[row].alive and field.size == size and memcmp(field.at, at, size) == 0:
                    return row
            slot = (slot + 1) & mask
        return -1

    def twice(self):
        """The id of a row that a row before has, too; None if all are different."""
        cdef int64_t row
        cdef Field field
        if not self.by_id_count:
            self.build_ids()
        for row in range(self.count):
            if self.rows[row].alive:
                field = field_of(self.record(row), 0)
                if self.find_id(field.at, field.size) != row:
                    return PyBytes_FromStringAndSize(<const char*>field.at, field.size)
        return None

    cdef int build_ids(self) except -1:
        cdef int64_t row, count = 64, alive = 0
        for row in range(self.count):
            alive += self.rows[row].alive
        while count < 2 * alive + 2:
            count *= 2
        free(self.by_id)
        self.by_id = <uint64_t*>calloc(count, sizeof(uint64_t))
        if self.by_id == NULL:
            self.by_id_count = 0
            raise MemoryError
        self.by_id_count, self.by_id_used = count, 0
        for row in range(self.count):
            if self.rows[row].alive:
                self.put_id(row)
        return 0

    cdef int index_id(self, int64_t row) except -1:
        if 3 * (self.by_id_used + 1) > 2 * self.by_id_count:
            return self.build_ids()  # which takes this row in, and drops those that were removed
        self.put_id(row)
        return 0

    cdef void put_id(self, int64_t row) noexcept nogil:
        cdef Field field = field_of(self.record(row), 0)
        cdef uint64_t mask = self.by_id_count - 1
        cdef uint64_t hashed = hash_of(field.at, field.size, self.secret), slot = hashed & mask
        while self.by_id[slot]:
            slot = (slot + 1) & mask
        self.by_id[slot] = (hashed & ~NUMBER) | <uint64_t>(row + 1)
        self.by_id_used += 1

    # -- by canonical query: the form and its arguments

    cdef uint64_t query_hash(self, int64_t row, const Shapes* shapes) noexcept nogil:
        cdef int32_t template = self.rows[row].template, n
        cdef const uint8_t* record = self.record(row)
        cdef uint64_t mixed = hash_mix(
            <uint64_t>shapes.forms[template] ^ self.secret[0], self.secret[1]
        )
        cdef Field field
        for n in range(shapes.at[template], shapes.at[template + 1]):
            field = field_of(record, shapes.arguments[n] + 1)
            mixed = hash_mix(mixed ^ hash_of(field.at, field.size, self.secret), self.secret[1])
        return mixed

    cdef bint same_query(self, int64_t row, int64_t other, const Shapes* shapes) noexcept nogil:
        cdef int32_t template = self.rows[row].template, theirs = self.rows[other].template
        cdef int32_t n, first = shapes.at[template], second = shapes.at[theirs]
        cdef Field field, their_field
        if shapes.forms[template] != shapes.forms[theirs]:
            return False
        for n in range(shapes.at[template + 1] - first):
            field = field_of(self.record(row), shapes.arguments[first + n] + 1)
            their_field = field_of(self.record(other), shapes.arguments[second + n] + 1)
            if field.size != their_field.size or memcmp(field.at, their_field.at, field.size):
                return False
        return True

    cdef int32_t canonical_of(self, int64_t row, uint64_t hashed, const Shapes* shapes) except -2:
        """The canonical query of a row with this hash, perhaps a new one."""
        cdef uint64_t mask, slot
        cdef int64_t number
        cdef void* larger
        if 3 * (self.canonical_count + 1) > 2 * self.by_query_count:
            self.grow_queries(self.canonical_count + 1, shapes)
        mask = self.by_query_count - 1
        slot = hashed & mask
        while self.by_query[slot]:
            if (self.by_query[slot] ^ hashed) >> 32 == 0:
                number = <int64_t>(self.by_query[slot] & NUMBER) - 1
                if self.same_query(row, self.canonical[number].row, shapes):
                    return <int32_t>number
            slot = (slot + 1) & mask
        if self.canonical_count == self.canonical_room:
            number = self.canonical_room + self.canonical_room // 8 + 64
            larger = realloc(self.canonical, number * sizeof(Canonical))
            if larger == NULL:
                raise MemoryError
            self.canonical, self.canonical_room = <Canonical*>larger, number
        self.canonical[self.canonical_count].row = <uint32_t>row
        self.canonical[self.canonical_count].members = 0
        self.canonical_count += 1
        self.by_query[slot] = (hashed & ~NUMBER) | <uint64_t>self.canonical_count
        return <int32_t>(self.canonical_count - 1)

    cdef int grow_queries(self, int64_t wanted, const Shapes* shapes) except -1:
        """Makes room for so many canonical queries."""
        cdef int64_t number, count = 128
        cdef uint64_t mask, slot, hashed
        cdef uint64_t* slots
        while 2 * count < 3 * wanted:
            count *= 2
        if count <= self.by_query_count:
            return 0
        slots = <uint64_t*>calloc(count, sizeof(uint64_t))
        if slots == NULL:
            raise MemoryError
        mask = count - 1
        for number in range(self.canonical_count):
            hashed = self.query_hash(self.canonical[number].row, shapes)
            slot = hashed & mask
            while slots[slot]:
                slot = (slot + 1) & mask
            slots[slot] = (hashed & ~NUMBER) | <uint64_t>(number + 1)
        free(self.by_query)
        self.by_query, self.by_query_count = slots, count
        return 0

    # -- asking

    @property
    def canonical_queries(self):
        """The number of canonical queries, those without members included."""
        return self.canonical_count

    def row(self, int64_t row):
        """Wording, template and canonical query of a row, and how many members that has."""
        cdef int32_t canonical = self.rows[row].canonical
        members = self.canonical[canonical].members if canonical >= 0 else 0
        return self.rows[row].wording, self.rows[row].template, canonical, members

    def fields(self, int64_t row):
        """The id and the constants of a row, as bytes."""
        cdef const uint8_t* at = self.record(row)
        cdef const uint8_t* end = self.heap + self.rows[row].end
        cdef int64_t size
        fields = []
        while at < end:
            size = read_size(&at)
            fields.append(PyBytes_FromStringAndSize(<const char*>at, size))
            at += size
        return fields

    def present(self, int64_t[::1] rows):
        """Fills in the rows that were not removed."""
        cdef int64_t row, n = 0
        for row in range(self.count):
            if self.rows[row].alive:
                rows[n] = row
                n += 1

    def fill(
        self,
        int64_t[::1] rows,
        int64_t[::1] ends,
        int32_t[::1] wordings,
        int32_t[::1] templates,
        int32_t[::1] canonical,
    ):
        """Fills in columns of the rows that were not removed; returns their records."""
        cdef int64_t row, n = 0, size = 0, start
        cdef bytes heap
        cdef char* out
        for row in range(self.count):
            if not self.rows[row].alive:
                continue
            start = self.rows[row - 1].end if row else 0
            size += self.rows[row].end - start
            rows[n], ends[n] = row, size
            wordings[n], templates[n] = self.rows[row].wording, self.rows[row].template
            canonical[n] = self.rows[row].canonical
            n += 1
        heap = PyBytes_FromStringAndSize(NULL, size)
        out = PyBytes_AS_STRING(heap)
        for row in range(self.count):
            if self.rows[row].alive:
                start = self.rows[row - 1].end if row else 0
                memcpy(out, self.heap + start, self.rows[row].end - start)
                out += self.rows[row].end - start
        return heap
