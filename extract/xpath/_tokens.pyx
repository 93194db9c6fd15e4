# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Tokens, keys and constants of expressions in C; `extract.subscriptions.template_index` has the same in Python."""

import os

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport int32_t, int64_t, uint64_t, uint8_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy, memset

from extract.xpath.names import NAME_TABLE

cdef extern from "tokenise.h":
    ctypedef struct Literal:
        int64_t start, stop, kind
    ctypedef struct Tokens:
        uint8_t* key
        size_t size, room
        Literal* literals
        size_t count, places
        int prefixed
    enum:
        TOKENS_FAILED
        TOKENS_NONE
        TOKENS_READ
    int tokenise_text "tokenise"(const uint8_t*, size_t, const uint8_t*, Tokens*) nogil
    void tokens_free(Tokens*) nogil

cdef extern from "key_table.h":
    ctypedef struct KeyTable:
        uint64_t secret[2]
    void key_table_free(KeyTable*) nogil
    uint64_t key_table_hash(const KeyTable*, const uint8_t*, int64_t) nogil
    int64_t key_table_get(const KeyTable*, const uint8_t*, int64_t, uint64_t) nogil
    int key_table_put(KeyTable*, const uint8_t*, int64_t, uint64_t, int64_t) nogil

cdef extern from "number.h":
    double number_of(const uint8_t*, size_t) nogil

cdef bytes NAMES = NAME_TABLE
cdef const uint8_t* names = <const uint8_t*>PyBytes_AS_STRING(NAMES)

cdef enum:
    UNKNOWN = -1
    FAILED = -2


cdef struct Family:
    int64_t roles  # where its roles start
    int64_t count  # of its literals
    int64_t template  # -1 if it depends on the values of literals


cdef struct Heap:
    uint8_t* at
    int64_t size, room


cdef int make_room(Heap* heap, int64_t more) noexcept nogil:
    """Whether there is room for so many bytes more."""
    cdef int64_t room
    cdef uint8_t* at
    if heap.room - heap.size >= more:
        return 1
    room = heap.size + more + heap.room // 2 + 256
    at = <uint8_t*>realloc(heap.at, room)
    if at == NULL:
        return 0
    heap.at, heap.room = at, room
    return 1


cdef int add_field(Heap* heap, const uint8_t* text, int64_t size) noexcept nogil:
    """Appends a length, seven bits a byte, and a text."""
    cdef int64_t left = size
    if not make_room(heap, size + 10):
        return 0
    while left >= 128:
        heap.at[heap.size] = <uint8_t>(left & 127) | 128
        heap.size += 1
        left >>= 7
    heap.at[heap.size] = <uint8_t>left
    heap.size += 1
    memcpy(heap.at + heap.size, text, size)
    heap.size += size
    return 1


cdef void set_secret(KeyTable* table):
    memset(table, 0, sizeof(KeyTable))
    table.secret[0] = int.from_bytes(os.urandom(8), "little")
    table.secret[1] = int.from_bytes(os.urandom(8), "little")


def tokenise(str text):
    """The key of an expression and its literals as pairs of kind and value; None if there is none."""
    cdef bytes data = text.encode("utf-8", "surrogatepass")
    cdef const uint8_t* at = <const uint8_t*>PyBytes_AS_STRING(data)
    cdef Tokens tokens
    cdef size_t i
    cdef int status
    memset(&tokens, 0, sizeof(Tokens))
    try:
        status = tokenise_text(at, PyBytes_GET_SIZE(data), names, &tokens)
        if status == TOKENS_FAILED:
            raise MemoryError
        if status == TOKENS_NONE:
            return None
        key = PyBytes_FromStringAndSize(<char*>tokens.key, tokens.size)
        literals = tuple([
            (
                int(tokens.literals[i].kind),
                data[tokens.literals[i].start : tokens.literals[i].stop].decode(),
            )
            for i in range(tokens.count)
        ])
        return key, literals
    finally:
        tokens_free(&tokens)


cdef class TemplateIndex:
    """From the text of an expression to its template and constants, if the template is known."""

    cdef KeyTable families, templates
    cdef Family* family
    cdef int64_t family_count, family_room
    cdef Heap roles, second
    cdef Tokens tokens
    cdef int64_t most

    def __cinit__(self, int64_t xpath_chars):
        set_secret(&self.families)
        set_secret(&self.templates)
        memset(&self.tokens, 0, sizeof(Tokens))
        memset(&self.roles, 0, sizeof(Heap))
        memset(&self.second, 0, sizeof(Heap))
        self.family, self.family_count, self.family_room = NULL, 0, 0
        self.most = xpath_chars

    def __dealloc__(self):
        key_table_free(&self.families)
        key_table_free(&self.templates)
        tokens_free(&self.tokens)
        free(self.family)
        free(self.roles.at)
        free(self.second.at)

    def learn(self, str text, int32_t scope, bytes roles, int64_t template):
        """Takes in what is known of an expression: which literals are parameters, its template."""
        cdef bytes data = text.encode()
        cdef const uint8_t* at = <const uint8_t*>PyBytes_AS_STRING(data)
        cdef int64_t number, count = PyBytes_GET_SIZE(roles)
        cdef uint64_t hashed
        cdef Family* family
        if self.read(at, PyBytes_GET_SIZE(data), scope) != TOKENS_READ:
            raise ValueError("an expression that has no tokens")
        if <int64_t>self.tokens.count != count:
            raise ValueError("an expression with other literals")
        hashed = key_table_hash(&self.families, self.tokens.key, self.tokens.size)
        number = key_table_get(&self.families, self.tokens.key, self.tokens.size, hashed)
        if number < 0:
            number = self.family_count
            self.add_family()
            if not make_room(&self.roles, count) or not key_table_put(
                &self.families, self.tokens.key, self.tokens.size, hashed, number
            ):
                raise MemoryError
            family = &self.family[number]
            family.roles, family.count = self.roles.size, count
            family.template = template if b"\0" not in roles else UNKNOWN
            if count:
                memcpy(self.roles.at + self.roles.size, PyBytes_AS_STRING(roles), count)
                self.roles.size += count
            self.family_count += 1
        if self.family[number].template >= 0:
            return
        if not self.second_key(at, number):
            raise MemoryError
        hashed = key_table_hash(&self.templates, self.second.at, self.second.size)
        if key_table_get(&self.templates, self.second.at, self.second.size, hashed) >= 0:
            return
        if not key_table_put(&self.templates, self.second.at, self.second.size, hashed, template):
            raise MemoryError

    cdef int add_family(self) except -1:
        """Makes room for one more."""
        cdef int64_t room
        cdef Family* family
        if self.family_count == self.family_room:
            room = self.family_room + self.family_room // 2 + 16
            family = <Family*>realloc(self.family, room * sizeof(Family))
            if family == NULL:
                raise MemoryError
            self.family, self.family_room = family, room
        return 0

    cdef int read(self, const uint8_t* text, int64_t size, int32_t scope) noexcept nogil:
        """Reads the tokens of a text; the key ends with the scope if it has prefixes."""
        cdef int64_t i, characters = size
        cdef int status
        if size > self.most:
            characters = 0
            for i in range(size):
                characters += (text[i] & 0xC0) != 0x80
            if characters > self.most:
                return TOKENS_NONE
        status = tokenise_text(text, size, names, &self.tokens)
        if status == TOKENS_READ:
            if not self.tokens.prefixed:
                scope = 0
            for i in range(4):  # the key has room for 8 bytes more
                self.tokens.key[self.tokens.size] = <uint8_t>(scope >> (8 * i))
                self.tokens.size += 1
        return status

    cdef int second_key(self, const uint8_t* text, int64_t number) noexcept nogil:
        """Writes the key of a template whose family has literals that are shape."""
        cdef Family* family = &self.family[number]
        cdef Literal* literal
        cdef int64_t i
        self.second.size = 0
        if not make_room(&self.second, sizeof(int64_t)):
            return 0
        memcpy(self.second.at, &number, sizeof(int64_t))
        self.second.size = sizeof(int64_t)
        for i in range(family.count):
            if not self.roles.at[family.roles + i]:
                literal = &self.tokens.literals[i]
                if not add_field(&self.second, text + literal.start, literal.stop - literal.start):
                    return 0
        return 1

    cdef int64_t look_up(
        self, const uint8_t* text, int64_t size, int32_t scope, Family* found
    ) noexcept nogil:
        """The template of a text, and its family; UNKNOWN if there is none yet."""
        cdef int64_t number
        cdef uint64_t hashed
        cdef int status = self.read(text, size, scope)
        if status != TOKENS_READ:
            return UNKNOWN if status == TOKENS_NONE else FAILED
        hashed = key_table_hash(&self.families, self.tokens.key, self.tokens.size)
        number = key_table_get(&self.families, self.tokens.key, self.tokens.size, hashed)
        if number < 0:
            return UNKNOWN
        found[0] = self.family[number]
        if found.template >= 0:
            return found.template
        if not self.second_key(text, number):
            return FAILED
        hashed = key_table_hash(&self.templates, self.second.at, self.second.size)
        return key_table_get(&self.templates, self.second.at, self.second.size, hashed)

    cdef int add_constants(self, const uint8_t* text, Family* family, Heap* heap) noexcept nogil:
        """Appends the values of the parameters of the text that was read last."""
        cdef int64_t i
        cdef Literal* literal
        for i in range(family.count):
            if self.roles.at[family.roles + i]:
                literal = &self.tokens.literals[i]
                if not add_field(heap, text + literal.start, literal.stop - literal.start):
                    return 0
        return 1

    def find(self, str text, int32_t scope):
        """The template of an expression and its constants; None if it is not known."""
        cdef bytes data = text.encode("utf-8", "surrogatepass")
        cdef const uint8_t* at = <const uint8_t*>PyBytes_AS_STRING(data)
        cdef Family family
        cdef int64_t i, template = self.look_up(at, PyBytes_GET_SIZE(data), scope, &family)
        if template == FAILED:
            raise MemoryError
        if template < 0:
            return None
        return template, tuple([
            data[self.tokens.literals[i].start : self.tokens.literals[i].stop].decode()
            for i in range(family.count)
            if self.roles.at[family.roles + i]
        ])

    def find_all(
        self,
        bytes buffer,
        const int64_t[::1] starts,
        const int64_t[::1] stops,
        bytes id_buffer,
        const int64_t[::1] id_starts,
        const int64_t[::1] id_stops,
        int32_t scope,
        learn,
        int32_t[::1] templates,
        int64_t[::1] ends,
    ):
        """Looks many expressions up, and writes for each a record: its id and its constants.

        Calls ``learn`` with the number of an expression whose template is not known; if it still
        is not known then, the expression has none. Fills in the templates, and where the records
        end.

        Returns:
            The bytes of all records.
        """
        cdef const uint8_t* text = <const uint8_t*>PyBytes_AS_STRING(buffer)
        cdef const uint8_t* id_text = <const uint8_t*>PyBytes_AS_STRING(id_buffer)
        cdef int64_t i, template, count = starts.shape[0]
        cdef Family family
        cdef Heap heap
        memset(&heap, 0, sizeof(Heap))
        try:
            for i in range(count):
                template = self.look_up(text + starts[i], stops[i] - starts[i], scope, &family)
                if template == UNKNOWN:
                    learn(i)
                    template = self.look_up(text + starts[i], stops[i] - starts[i], scope, &family)
                if template == FAILED or not add_field(
                    &heap, id_text + id_starts[i], id_stops[i] - id_starts[i]
                ):
                    raise MemoryError
                if template >= 0 and not self.add_constants(text + starts[i], &family, &heap):
                    raise MemoryError
                templates[i] = <int32_t>template
                ends[i] = heap.size
            return PyBytes_FromStringAndSize(<char*>heap.at, heap.size)
        finally:
            free(heap.at)


cdef int64_t field_size(const uint8_t* heap, int64_t* at) noexcept nogil:
    """The length of the field at ``at``, which moves to its text."""
    cdef int64_t size = 0
    cdef int shift = 0
    cdef uint8_t byte
    while True:
        byte = heap[at[0]]
        at[0] += 1
        size |= <int64_t>(byte & 127) << shift
        if byte < 128:
            return size
        shift += 7


def gather_field(const uint8_t[::1] heap, const int64_t[::1] starts, int64_t field, int64_t[::1] offsets):
    """One field of some records as a column; fills in its offsets, one more than there are records.

    Returns:
        The texts of the field, one after the other.
    """
    cdef int64_t i, k, at, size, total = 0, count = starts.shape[0]
    cdef uint8_t* out
    cdef bytes texts
    offsets[0] = 0
    for i in range(count):
        at = starts[i]
        for k in range(field):
            size = field_size(&heap[0], &at)
            at += size
        total += field_size(&heap[0], &at)
        offsets[i + 1] = total
    texts = PyBytes_FromStringAndSize(NULL, total)
    out = <uint8_t*>PyBytes_AS_STRING(texts)
    for i in range(count):
        at = starts[i]
        for k in range(field):
            size = field_size(&heap[0], &at)
            at += size
        size = field_size(&heap[0], &at)
        memcpy(out + offsets[i], &heap[0] + at, size)
    return texts


def to_numbers(
    bytes texts, const int64_t[::1] starts, const int64_t[::1] stops, double[::1] numbers
):
    """Fills in the numbers that the texts of a column are."""
    cdef const uint8_t* at = <const uint8_t*>PyBytes_AS_STRING(texts)
    cdef int64_t i
    for i in range(numbers.shape[0]):
        numbers[i] = number_of(at + starts[i], stops[i] - starts[i])
