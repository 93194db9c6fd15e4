# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Tokens, wordings and constants of expressions in C; `extract.subscriptions` has the same in Python."""

import os

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport int32_t, int64_t, uint64_t, uint8_t
from libc.stdlib cimport free, realloc
from libc.string cimport memchr, memcmp, memcpy, memset

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
        KIND_NUMBER
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

cdef int32_t NO_WORDING = -(<int32_t>1 << 30) * 2

cdef bytes NAMES = NAME_TABLE
cdef const uint8_t* names = <const uint8_t*>PyBytes_AS_STRING(NAMES)

cdef enum:
    UNKNOWN = -1
    KNOWN = 0
    FAILED = -2


cdef struct Family:
    int64_t roles  # where its roles start
    int64_t count  # of its literals
    int64_t orders  # where the classes of its parameters start
    int64_t order_count  # of its literals that are in a class
    int32_t wording
    int32_t direct  # whether all its texts have this wording


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


cdef int add_bytes(Heap* heap, const void* bytes, int64_t size) noexcept nogil:
    """Appends bytes."""
    if not make_room(heap, size):
        return 0
    if size:
        memcpy(heap.at + heap.size, bytes, size)
    heap.size += size
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
    return add_bytes(heap, text, size)


cdef void set_secret(KeyTable* table):
    memset(table, 0, sizeof(KeyTable))
    table.secret[0] = int.from_bytes(os.urandom(8), "little")
    table.secret[1] = int.from_bytes(os.urandom(8), "little")


def tokenise(str text):
    """The key of an expression and its literals, each as kind, value and start; None if there is none."""
    cdef bytes data = text.encode("utf-8", "surrogatepass")
    cdef const uint8_t* at = <const uint8_t*>PyBytes_AS_STRING(data)
    cdef Tokens tokens
    cdef size_t i
    cdef int status
    cdef int64_t start, before = 0, characters = 0
    memset(&tokens, 0, sizeof(Tokens))
    try:
        status = tokenise_text(at, PyBytes_GET_SIZE(data), names, &tokens)
        if status == TOKENS_FAILED:
            raise MemoryError
        if status == TOKENS_NONE:
            return None
        key = PyBytes_FromStringAndSize(<char*>tokens.key, tokens.size)
        literals = []
        for i in range(tokens.count):
            start = tokens.literals[i].start
            characters += character_count(at + before, start - before)
            before = start
            value = data[start : tokens.literals[i].stop].decode()
            literals.append((int(tokens.literals[i].kind), value, characters))
        return key, tuple(literals)
    finally:
        tokens_free(&tokens)


cdef int64_t character_count(const uint8_t* text, int64_t size) noexcept nogil:
    """The number of characters in some bytes of UTF-8."""
    cdef int64_t i, count = 0
    for i in range(size):
        count += (text[i] & 0xC0) != 0x80
    return count


cdef int text_order(
    const uint8_t* a, int64_t a_size, const uint8_t* b, int64_t b_size, uint8_t end
) noexcept nogil:
    """Compares two texts that are both followed by the same character."""
    cdef int64_t shorter = min(a_size, b_size)
    cdef int order = memcmp(a, b, shorter) if shorter else 0
    if order or a_size == b_size:
        return order
    if a_size < b_size:
        return -1 if end < b[shorter] else 1
    return 1 if end < a[shorter] else -1


cdef class WordingIndex:
    """From the text of an expression to its wording and constants, if the wording is known.

    `extract.subscriptions.wording_index` has the same in Python, and says what it is for.
    """

    cdef KeyTable families, wordings
    cdef Family* family
    cdef int64_t family_count, family_room
    cdef Heap roles, orders, key, second
    cdef Tokens tokens
    cdef int64_t most, most_constant

    def __cinit__(self, int64_t xpath_chars, int64_t constant_chars):
        set_secret(&self.families)
        set_secret(&self.wordings)
        memset(&self.tokens, 0, sizeof(Tokens))
        memset(&self.roles, 0, sizeof(Heap))
        memset(&self.orders, 0, sizeof(Heap))
        memset(&self.key, 0, sizeof(Heap))
        memset(&self.second, 0, sizeof(Heap))
        self.family, self.family_count, self.family_room = NULL, 0, 0
        self.most, self.most_constant = xpath_chars, constant_chars

    def __dealloc__(self):
        key_table_free(&self.families)
        key_table_free(&self.wordings)
        tokens_free(&self.tokens)
        free(self.family)
        free(self.roles.at)
        free(self.orders.at)
        free(self.key.at)
        free(self.second.at)

    def learn(self, str text, int32_t scope, bytes roles, const int32_t[::1] orders, int32_t wording):
        """Takes in the wording of an expression.

        Args:
            text: The expression.
            scope: A number for the namespaces that it sees.
            roles: For each literal whether it is a parameter.
            orders: The literals whose order matters, by class: pairs of a class and a literal.
            wording: The number of the wording.
        """
        cdef bytes data = text.encode()
        cdef const uint8_t* at = <const uint8_t*>PyBytes_AS_STRING(data)
        cdef int64_t number, count = PyBytes_GET_SIZE(roles), pairs = orders.shape[0] // 2
        cdef uint64_t hashed
        cdef Family* family
        if self.read(at, PyBytes_GET_SIZE(data), scope) != TOKENS_READ:
            raise ValueError("an expression that has no tokens")
        if <int64_t>self.tokens.count != count:
            raise ValueError("an expression with other literals")
        hashed = key_table_hash(&self.families, self.key.at, self.key.size)
        number = key_table_get(&self.families, self.key.at, self.key.size, hashed)
        if number < 0:
            number = self.family_count
            self.add_family()
            family = &self.family[number]
            family.roles, family.count = self.roles.size, count
            family.orders, family.order_count = self.orders.size // sizeof(int32_t), pairs
            family.direct = b"\0" not in roles and not pairs
            family.wording = wording
            if (
                not add_bytes(&self.roles, PyBytes_AS_STRING(roles), count)
                or (pairs and not add_bytes(&self.orders, &orders[0], 2 * pairs * sizeof(int32_t)))
                or not key_table_put(&self.families, self.key.at, self.key.size, hashed, number)
            ):
                raise MemoryError
            self.family_count += 1
        if self.family[number].direct:
            return
        if not self.second_key(at, number):
            raise MemoryError
        hashed = key_table_hash(&self.wordings, self.second.at, self.second.size)
        if key_table_get(&self.wordings, self.second.at, self.second.size, hashed) >= 0:
            return
        # A wording may be negative, and a value of the table may not.
        if not key_table_put(
            &self.wordings, self.second.at, self.second.size, hashed, <int64_t>wording + (1 << 31)
        ):
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
        """Reads the tokens of a text, and writes its key: the text without the values of literals,
        and the scope if it has prefixes."""
        cdef int64_t before = 0
        cdef size_t i
        cdef int status
        cdef uint8_t mark
        cdef bint is_long = size > self.most or size > self.most_constant
        if is_long and character_count(text, size) > self.most + self.most_constant:
            return TOKENS_NONE
        status = tokenise_text(text, size, names, &self.tokens)
        if status != TOKENS_READ:
            return status
        if is_long and self.is_too_long(text, size):
            return TOKENS_NONE
        self.key.size = 0
        for i in range(self.tokens.count):
            mark = <uint8_t>self.tokens.literals[i].kind
            if not add_bytes(
                &self.key, text + before, self.tokens.literals[i].start - before
            ) or not add_bytes(&self.key, &mark, 1):
                return TOKENS_FAILED
            before = self.tokens.literals[i].stop
        if not self.tokens.prefixed:
            scope = 0
        if not add_bytes(&self.key, text + before, size - before) or not add_bytes(
            &self.key, &scope, sizeof(scope)
        ):
            return TOKENS_FAILED
        return TOKENS_READ

    cdef bint is_too_long(self, const uint8_t* text, int64_t size) noexcept nogil:
        """Whether the text that was read last has too many characters in literals, or outside."""
        cdef int64_t constants = 0
        cdef size_t i
        cdef Literal* literal
        for i in range(self.tokens.count):
            literal = &self.tokens.literals[i]
            constants += character_count(text + literal.start, literal.stop - literal.start)
        return (
            constants > self.most_constant
            or character_count(text, size) - constants > self.most
        )

    cdef int second_key(self, const uint8_t* text, int64_t number) noexcept nogil:
        """Writes the key of a wording whose family has literals that are shape, or in a class."""
        cdef Family* family = &self.family[number]
        cdef Literal* literal
        cdef int64_t i
        self.second.size = 0
        if not add_bytes(&self.second, &number, sizeof(int64_t)):
            return 0
        for i in range(family.count):
            if not self.roles.at[family.roles + i]:
                literal = &self.tokens.literals[i]
                if not add_field(&self.second, text + literal.start, literal.stop - literal.start):
                    return 0
        for i in range(family.order_count):
            if not self.add_ranks(text, family, i):
                return 0
        return 1

    cdef int add_ranks(self, const uint8_t* text, Family* family, int64_t which) noexcept nogil:
        """Appends how many literals of its class come before a literal: for each of the characters
        that may follow them."""
        cdef const int32_t* orders = (<const int32_t*>self.orders.at) + family.orders
        cdef Literal* mine = &self.tokens.literals[orders[2 * which + 1]]
        cdef Literal* other
        cdef const uint8_t* at = text + mine.start
        cdef int64_t i, size = mine.stop - mine.start
        cdef uint8_t quote = 34 if memchr(at, 39, size) != NULL else 39, other_quote
        cdef int32_t[3] ranks
        cdef int k, count = 3 if mine.kind == KIND_NUMBER else 1
        cdef const char* ends = b" ],"
        for k in range(count):
            ranks[k] = 0
        for i in range(family.order_count):
            if orders[2 * i] != orders[2 * which] or i == which:
                continue
            other = &self.tokens.literals[orders[2 * i + 1]]
            if mine.kind == KIND_NUMBER:
                for k in range(count):
                    ranks[k] += text_order(
                        text + other.start, other.stop - other.start, at, size, ends[k]
                    ) < 0
                continue
            other_quote = 34 if memchr(text + other.start, 39, other.stop - other.start) else 39
            if other_quote != quote:
                ranks[0] += other_quote < quote
            else:
                ranks[0] += text_order(
                    text + other.start, other.stop - other.start, at, size, quote
                ) < 0
        return add_bytes(&self.second, &ranks[0], count * sizeof(int32_t))

    cdef int look_up(
        self, const uint8_t* text, int64_t size, int32_t scope, Family* found
    ) noexcept nogil:
        """Whether the wording of a text is known; then it is in the family."""
        cdef int64_t number
        cdef uint64_t hashed
        cdef int status = self.read(text, size, scope)
        if status != TOKENS_READ:
            return UNKNOWN if status == TOKENS_NONE else FAILED
        hashed = key_table_hash(&self.families, self.key.at, self.key.size)
        number = key_table_get(&self.families, self.key.at, self.key.size, hashed)
        if number < 0:
            return UNKNOWN
        found[0] = self.family[number]
        if found.direct:
            return KNOWN
        if not self.second_key(text, number):
            return FAILED
        hashed = key_table_hash(&self.wordings, self.second.at, self.second.size)
        number = key_table_get(&self.wordings, self.second.at, self.second.size, hashed)
        if number < 0:
            return UNKNOWN
        found.wording = <int32_t>(number - (<int64_t>1 << 31))
        return KNOWN

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
        """The wording of an expression and its constants; None if it is not known."""
        cdef bytes data = text.encode("utf-8", "surrogatepass")
        cdef const uint8_t* at = <const uint8_t*>PyBytes_AS_STRING(data)
        cdef Family family
        cdef int64_t i
        cdef int status = self.look_up(at, PyBytes_GET_SIZE(data), scope, &family)
        if status == FAILED:
            raise MemoryError
        if status == UNKNOWN:
            return None
        return family.wording, tuple([
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
        const int32_t[::1] scopes,
        learn,
        int32_t[::1] wordings,
        int64_t[::1] ends,
    ):
        """Looks many expressions up, and writes for each a record: its id and its constants.

        There is a scope for each expression, or just one for all.

        Calls ``learn`` with the number of an expression whose wording is not known; if it returns
        false, the expression has none, which is `NO_WORDING`, and no record. Fills in the
        wordings, and where the records end.

        Returns:
            The bytes of all records.
        """
        cdef const uint8_t* text = <const uint8_t*>PyBytes_AS_STRING(buffer)
        cdef const uint8_t* id_text = <const uint8_t*>PyBytes_AS_STRING(id_buffer)
        cdef int64_t i, count = starts.shape[0]
        cdef bint one_scope = scopes.shape[0] == 1
        cdef int32_t scope = 0
        cdef int status
        cdef Family family
        cdef Heap heap
        if not one_scope and scopes.shape[0] != count:
            raise ValueError("another number of scopes than of expressions")
        memset(&heap, 0, sizeof(Heap))
        try:
            for i in range(count):
                scope = scopes[0 if one_scope else i]
                wordings[i] = NO_WORDING
                status = self.look_up(text + starts[i], stops[i] - starts[i], scope, &family)
                if status == UNKNOWN and learn(i):
                    status = self.look_up(text + starts[i], stops[i] - starts[i], scope, &family)
                    if status == UNKNOWN:
                        raise ValueError("an expression that was not learnt")
                if status == KNOWN:
                    wordings[i] = family.wording
                    if not add_field(
                        &heap, id_text + id_starts[i], id_stops[i] - id_starts[i]
                    ) or not self.add_constants(text + starts[i], &family, &heap):
                        raise MemoryError
                elif status == FAILED:
                    raise MemoryError
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


def gather_field(bytes records, const int64_t[::1] starts, int64_t field, int64_t[::1] offsets):
    """One field of some records as a column; fills in its offsets, one more than there are records.

    Returns:
        The texts of the field, one after the other.
    """
    cdef const uint8_t* heap = <const uint8_t*>PyBytes_AS_STRING(records)
    cdef int64_t i, k, at, size, total = 0, count = starts.shape[0]
    cdef uint8_t* out
    cdef bytes texts
    offsets[0] = 0
    for i in range(count):
        at = starts[i]
        for k in range(field):
            size = field_size(heap, &at)
            at += size
        total += field_size(heap, &at)
        offsets[i + 1] = total
    texts = PyBytes_FromStringAndSize(NULL, total)
    out = <uint8_t*>PyBytes_AS_STRING(texts)
    for i in range(count):
        at = starts[i]
        for k in range(field):
            size = field_size(heap, &at)
            at += size
        size = field_size(heap, &at)
        memcpy(out + offsets[i], heap + at, size)
    return texts


def gather_records(bytes heap, const int64_t[::1] starts, const int64_t[::1] sizes):
    """Parts of some bytes, one after the other."""
    cdef int64_t i, total = 0
    cdef const char* at = PyBytes_AS_STRING(heap)
    cdef bytes gathered
    cdef char* out
    for i in range(sizes.shape[0]):
        total += sizes[i]
    gathered = PyBytes_FromStringAndSize(NULL, total)
    out = PyBytes_AS_STRING(gathered)
    for i in range(sizes.shape[0]):
        memcpy(out, at + starts[i], sizes[i])
        out += sizes[i]
    return gathered


def count_constants(bytes records, const int64_t[::1] starts, int64_t[::1] counts):
    """Fills in the number of constants of each record; returns the number of all.

    The records follow each other until the end of the bytes.
    """
    cdef const uint8_t* heap = <const uint8_t*>PyBytes_AS_STRING(records)
    cdef int64_t i, at, end, size, total = 0, rows = starts.shape[0]
    for i in range(rows):
        at = starts[i]
        end = starts[i + 1] if i + 1 < rows else PyBytes_GET_SIZE(records)
        size = field_size(heap, &at)  # of the id
        at += size
        counts[i] = 0
        while at < end:
            size = field_size(heap, &at)
            at += size
            counts[i] += 1
        total += counts[i]
    return total


def unpack_records(
    bytes records,
    const int64_t[::1] starts,
    const int64_t[::1] counts,
    int64_t[::1] id_offsets,
    int64_t[::1] offsets,
):
    """The ids and the constants of records as bytes; fills in the offsets of both."""
    cdef const uint8_t* heap = <const uint8_t*>PyBytes_AS_STRING(records)
    cdef int64_t i, k, at, size, rows = starts.shape[0], n = 0, id_size = 0, total = 0
    cdef bytes ids, constants
    cdef uint8_t* out
    cdef uint8_t* id_out
    for i in range(rows):
        at = starts[i]
        size = field_size(heap, &at)
        at += size
        id_size += size
        id_offsets[i + 1] = id_size
        for k in range(counts[i]):
            size = field_size(heap, &at)
            at += size
            total += size
            n += 1
            offsets[n] = total
    ids = PyBytes_FromStringAndSize(NULL, id_size)
    constants = PyBytes_FromStringAndSize(NULL, total)
    id_out, out = <uint8_t*>PyBytes_AS_STRING(ids), <uint8_t*>PyBytes_AS_STRING(constants)
    for i in range(rows):
        at = starts[i]
        size = field_size(heap, &at)
        memcpy(id_out, heap + at, size)
        id_out += size
        at += size
        for k in range(counts[i]):
            size = field_size(heap, &at)
            memcpy(out, heap + at, size)
            out += size
            at += size
    return ids, constants


def pack_records(
    bytes id_buffer,
    const int64_t[::1] id_starts,
    const int64_t[::1] id_stops,
    bytes buffer,
    const int64_t[::1] starts,
    const int64_t[::1] stops,
    const int64_t[::1] counts,
    int64_t[::1] ends,
):
    """Records of ids and constants; fills in where each ends."""
    cdef const uint8_t* ids = <const uint8_t*>PyBytes_AS_STRING(id_buffer)
    cdef const uint8_t* texts = <const uint8_t*>PyBytes_AS_STRING(buffer)
    cdef int64_t i, k, n = 0
    cdef Heap heap
    memset(&heap, 0, sizeof(Heap))
    try:
        for i in range(counts.shape[0]):
            if not add_field(&heap, ids + id_starts[i], id_stops[i] - id_starts[i]):
                raise MemoryError
            for k in range(counts[i]):
                if not add_field(&heap, texts + starts[n], stops[n] - starts[n]):
                    raise MemoryError
                n += 1
            ends[i] = heap.size
        return PyBytes_FromStringAndSize(<char*>heap.at, heap.size)
    finally:
        free(heap.at)


def to_numbers(
    bytes texts, const int64_t[::1] starts, const int64_t[::1] stops, double[::1] numbers
):
    """Fills in the numbers that the texts of a column are."""
    cdef const uint8_t* at = <const uint8_t*>PyBytes_AS_STRING(texts)
    cdef int64_t i
    for i in range(numbers.shape[0]):
        numbers[i] = number_of(at + starts[i], stops[i] - starts[i])
