# cython: language_level=3, auto_pickle=False, boundscheck=False, wraparound=False
"""XPath 1.0 text to AST, in C: what `extract.xpath.parser` says, for what it accepts.

`parse` returns None for what it does not read: what is wrong, names beyond ASCII, and whatever is
very long or deep. The parser in Python then reads it, or says what is wrong and where.
"""

from cpython.unicode cimport (
    PyUnicode_DATA,
    PyUnicode_KIND,
    PyUnicode_READ,
    PyUnicode_Substring,
)

from extract.xpath.ast import (
    ANY_DEPTH,
    ANY_NAME,
    ANY_NODE,
    AXES,
    HERE,
    MAX_ROW,
    UP,
    Binary,
    FilterPath,
    FunctionCall,
    KindTest,
    LocationPath,
    Negate,
    Number,
    StringLiteral,
    Variable,
    chain,
    make_path,
    make_step,
    name_test,
    union,
)
from extract.xpath.known_predicates import LONGEST, KnownPredicate, known_predicate, remember
from extract.xpath.mentions import Mention, Parsed

cdef Py_ssize_t MAX_NAME = 10_000  # characters, as in the parser in Python
cdef Py_ssize_t MAX_ROW_ = MAX_ROW
cdef Py_ssize_t LONGEST_ = LONGEST
cdef int MOST_STEPS = 64  # that are read at once
cdef frozenset KINDS = frozenset(("node", "text", "comment", "processing-instruction"))
cdef frozenset UNPLACED = frozenset(("position", "last"))
cdef frozenset AXES_ = AXES
cdef tuple NOTHING = ()
cdef int MOST_NAMED = 1 << 14
cdef dict NAMED_STEPS = {}  # by their texts

cdef unsigned char START = 1, NAME = 2, DIGIT = 4, SPACE = 8
cdef unsigned char CLASSES[128]
cdef int code
for code in range(128):
    CLASSES[code] = 0
    if chr(code).isalpha() or code == c"_":
        CLASSES[code] = START | NAME
    elif chr(code).isdigit():
        CLASSES[code] = NAME | DIGIT
    elif code == c"." or code == c"-":
        CLASSES[code] = NAME
    elif code in (9, 10, 13, 32):
        CLASSES[code] = SPACE


class Unread(Exception):
    """The text is not for this parser."""


cdef inline object mention_of(Py_ssize_t offset, object prefix, object local):
    return tuple.__new__(Mention, (offset, prefix, local))


cdef class Reader:
    """One pass over a text; `at` is the next character to read."""

    cdef str text
    cdef int kind
    cdef void* data
    cdef Py_ssize_t at, end
    cdef int depth, height, deepest, brackets
    cdef dict prefixes
    cdef list functions, variables, node_sets, unplaced

    def __cinit__(self, str text, int deepest):
        self.text = text
        self.kind = PyUnicode_KIND(text)
        self.data = PyUnicode_DATA(text)
        self.at = 0
        self.end = len(text)
        self.depth = self.height = self.brackets = 0
        self.deepest = deepest
        self.prefixes = {}
        self.functions = []
        self.variables = []
        self.node_sets = []
        self.unplaced = []

    # -- characters: 0 stands for the end, and occurs in no XML

    cdef inline Py_UCS4 char(self, Py_ssize_t at) noexcept:
        return PyUnicode_READ(self.kind, self.data, at) if at < self.end else 0

    cdef inline bint has(self, Py_UCS4 char, unsigned char kind) noexcept:
        return char < 128 and CLASSES[char] & kind != 0

    cdef inline Py_ssize_t after_space(self, Py_ssize_t at) noexcept:
        while at < self.end and self.has(PyUnicode_READ(self.kind, self.data, at), SPACE):
            at += 1
        return at

    cdef inline Py_UCS4 skip(self) noexcept:
        self.at = self.after_space(self.at)
        return self.char(self.at)

    cdef Py_ssize_t after_name(self, Py_ssize_t at) except -1:
        """Where the name ends that starts here; here if there is none."""
        cdef Py_ssize_t start = at
        if not self.has(self.char(at), START):
            if self.char(at) >= 128:
                raise Unread
            return at
        while self.has(self.char(at), NAME):
            at += 1
        if self.char(at) >= 128 or at - start > MAX_NAME:
            raise Unread
        return at

    cdef str name(self):
        cdef Py_ssize_t start = self.at
        self.at = self.after_name(start)
        return PyUnicode_Substring(self.text, start, self.at)

    cdef int close(self, Py_UCS4 char) except -1:
        if self.skip() != char:
            raise Unread
        self.at += 1
        return 0

    # -- expressions

    cdef object expression(self, int strength):
        cdef int around = self.height, height, own
        cdef int found = 0, first
        cdef object left
        cdef list row
        self.depth += 1
        if self.depth > self.deepest:
            raise Unread
        self.height = 0
        left = self.unary()
        cdef str op = self.operator(strength, &found)
        cdef str name
        while op is not None:
            name, first = op, found
            row = [left]
            heights = [self.height]
            while op is not None and found == first and op == name:
                self.height = 0
                row.append(self.expression(first + 1))
                heights.append(self.height)
                op = self.operator(strength, &found)
            if len(row) > MAX_ROW_:
                self.height = chain(name, heights, _joined_height)
                left = chain(name, row, lambda one, other: Binary(name, one, other))
            else:
                height = heights[0]
                left = row[0]
                for own in range(1, len(row)):
                    height = max(height, <int>heights[own]) + 1
                    left = Binary(name, left, row[own])
                self.height = height
            if self.depth + self.height > self.deepest:
                raise Unread
        self.depth -= 1
        self.height = max(around, self.height + 1)
        return left

    cdef str operator(self, int strength, int* found):
        """The operator here, if it binds at least this strongly; and how strongly it binds."""
        cdef Py_UCS4 char = self.skip()
        cdef Py_UCS4 then, last
        cdef str op
        cdef int binds
        if char == 0 or char == c"]" or char == c")" or char == c",":
            return None
        then = self.char(self.at + 1)
        last = self.char(self.at + 2)
        if char == c"=":
            op, binds = "=", 3
        elif char == c"o" and then == c"r":
            op, binds = "or", 1
        elif char == c"a" and then == c"n" and last == c"d":
            op, binds = "and", 2
        elif char == c"!" and then == c"=":
            op, binds = "!=", 3
        elif char == c"<":
            op, binds = ("<=" if then == c"=" else "<"), 4
        elif char == c">":
            op, binds = (">=" if then == c"=" else ">"), 4
        elif char == c"+":
            op, binds = "+", 5
        elif char == c"-":
            op, binds = "-", 5
        elif char == c"*":
            op, binds = "*", 6
        elif char == c"d" and then == c"i" and last == c"v":
            op, binds = "div", 6
        elif char == c"m" and then == c"o" and last == c"d":
            op, binds = "mod", 6
        else:
            return None
        if binds < strength:
            return None
        self.at += len(op)
        found[0] = binds
        return op

    cdef object unary(self):
        cdef int minus = 0
        cdef Py_ssize_t start
        cdef object expr
        cdef list parts
        while self.skip() == c"-":
            self.at += 1
            minus += 1
        start = self.at
        expr = self.path()
        if self.skip() == c"|":
            parts = [expr]
            self.must_be_nodes(start, expr)
            while self.skip() == c"|":
                self.at += 1
                self.skip()
                start = self.at
                expr = self.path()
                parts.append(expr)
                self.must_be_nodes(start, expr)
            expr = union(tuple(parts))
        if minus:  # an even number of signs is two: "--x" is number(x)
            expr = Negate(expr)
            if minus % 2 == 0:
                expr = Negate(expr)
        return expr

    cdef int must_be_nodes(self, Py_ssize_t start, object expr) except -1:
        if type(expr) is not LocationPath:
            self.node_sets.append((start, expr))
        return 0

    cdef object path(self):
        cdef Py_UCS4 start = self.skip()
        cdef list steps
        if (
            self.has(start, DIGIT)
            or start == c"'"
            or start == c'"'
            or start == c"("
            or start == c"$"
            or (start == c"." and self.has(self.char(self.at + 1), DIGIT))
        ):
            return self.filter_path()
        if start == c"/" or start == c"@" or start == c"." or start == c"*":
            return self.location_path()
        steps = []
        if self.plain_steps(steps):
            if self.skip() == c"/":
                self.relative_path(steps)
            return make_path(False, tuple(steps))
        if self.is_call():
            return self.filter_path()
        return self.location_path()

    cdef bint is_call(self) except -1:
        cdef Py_ssize_t end = self.after_name(self.at), more
        if end == self.at:
            return False
        if self.char(end) == c":":
            more = self.after_name(end + 1)
            return more > end + 1 and self.char(self.after_space(more)) == c"("
        if self.char(self.after_space(end)) != c"(":
            return False
        return PyUnicode_Substring(self.text, self.at, end) not in KINDS

    cdef object filter_path(self):
        cdef Py_ssize_t start = self.at
        cdef object primary = self.primary()
        cdef Py_UCS4 char = self.skip()
        cdef tuple predicates
        cdef list steps
        if char != c"[" and char != c"/":
            return primary
        predicates = self.predicates()
        steps = []
        if self.char(self.at) == c"/":
            if self.char(self.at + 1) == c"/":
                self.at += 2
                steps.append(ANY_DEPTH)
                self.skip()
            self.relative_path(steps)
        if predicates or steps:
            self.must_be_nodes(start, primary)
            return FilterPath(primary, predicates, tuple(steps))
        return primary

    cdef object primary(self):
        cdef Py_UCS4 start = self.char(self.at)
        cdef object inner, mention
        if start == c"(":
            self.at += 1
            inner = self.expression(1)
            self.close(c")")
            return inner
        if start == c"$":
            self.at += 1
            mention = self.qualified_name()
            self.variables.append(mention)
            return Variable(mention[2], mention[1])
        if start == c"'" or start == c'"':
            return StringLiteral(self.literal())
        if start == c"." or self.has(start, DIGIT):
            return Number(self.number())
        return self.function_call()

    cdef str literal(self):
        cdef Py_ssize_t start = self.at, at = start + 1
        cdef Py_UCS4 quote = self.char(start), char
        while at < self.end:
            char = PyUnicode_READ(self.kind, self.data, at)
            if char == quote:
                self.at = at + 1
                return PyUnicode_Substring(self.text, start + 1, at)
            if char < 32 and not self.has(char, SPACE):
                break
            if 0xD800 <= char and (char < 0xE000 or char == 0xFFFE or char == 0xFFFF):
                break
            at += 1
        raise Unread

    cdef str number(self):
        cdef Py_ssize_t start = self.at, at = start
        while self.has(self.char(at), DIGIT):
            at += 1
        if self.char(at) == c".":
            at += 1
            while self.has(self.char(at), DIGIT):
                at += 1
        if self.char(at) == c"e" or self.char(at) == c"E":
            at += 1
            if self.char(at) == c"+" or self.char(at) == c"-":
                at += 1
            while self.has(self.char(at), DIGIT):
                at += 1
        self.at = at
        return PyUnicode_Substring(self.text, start, at)

    cdef object qualified_name(self):
        cdef Py_ssize_t start = self.at
        cdef str prefix = "", local = self.name()
        if local and self.char(self.at) == c":":
            self.at += 1
            prefix, local = local, self.name()
        if not local:
            raise Unread
        return mention_of(start, prefix, local)

    cdef object function_call(self):
        cdef object mention = self.qualified_name()
        cdef list arguments = []
        self.skip()
        self.at += 1  # the parenthesis that told it from a name test
        if self.skip() == c")":
            self.at += 1
        else:
            while self.skip():  # libxml2 takes "f(" and "f(a,", but neither "f(a" nor "f(a,)"
                arguments.append(self.expression(1))
                if self.skip() != c",":
                    self.close(c")")
                    break
                self.at += 1
        call = FunctionCall(mention[2], tuple(arguments), mention[1])
        self.functions.append((mention, call))
        if self.brackets == 0 and not mention[1] and mention[2] in UNPLACED:
            self.unplaced.append(mention)
        return call

    cdef tuple predicates(self):
        cdef list out
        if self.skip() != c"[":
            return NOTHING
        out = [self.predicate()]
        while self.skip() == c"[":
            out.append(self.predicate())
        return tuple(out)

    cdef str predicate_text(self):
        """The predicate here, up to its last bracket; None if it is long, or has no end."""
        cdef Py_ssize_t at = self.at, end = min(self.end, at + LONGEST_)
        cdef int depth = 0
        cdef Py_UCS4 char, quote
        while at < end:
            char = PyUnicode_READ(self.kind, self.data, at)
            at += 1
            if char == c"[":
                depth += 1
            elif char == c"]":
                depth -= 1
                if depth == 0:
                    return PyUnicode_Substring(self.text, self.at, at)
            elif char == c"'" or char == c'"':
                quote = char
                while at < end and PyUnicode_READ(self.kind, self.data, at) != quote:
                    at += 1
                at += 1
        return None

    cdef object predicate(self):
        """The predicate here; what was read before in another place, or another query, is known."""
        cdef Py_ssize_t opened = self.at
        cdef str text = self.predicate_text()
        cdef object known = None if text is None else known_predicate(text), expr
        cdef int around
        cdef dict outer
        cdef tuple before
        if known is not None and self.depth + <int>known[1] <= self.deepest:
            self.mention(known, opened - <Py_ssize_t>known[2])
            self.height = max(self.height, <int>known[1])
            self.at = opened + len(text)
            return known[0]
        around = self.height
        self.height = 0
        outer, self.prefixes = self.prefixes, {}
        before = (len(self.functions), len(self.variables), len(self.node_sets))
        self.at += 1  # the bracket that brought us here
        self.brackets += 1
        expr = self.expression(1)
        self.brackets -= 1
        self.close(c"]")
        if text is not None and len(text) == self.at - opened:
            known = KnownPredicate(
                expr,
                self.height,
                opened,
                tuple(self.prefixes.values()),
                tuple(self.functions[before[0] :]),
                tuple(self.variables[before[1] :]),
                tuple(self.node_sets[before[2] :]),
            )
            remember(text, known)
        for prefix, mention in self.prefixes.items():
            outer.setdefault(prefix, mention)
        self.prefixes = outer
        self.height = max(around, self.height)
        return expr

    cdef int mention(self, object known, Py_ssize_t by) except -1:
        """Adds the names of a known predicate, which has moved by so many characters."""
        cdef object one
        for one in known[3]:
            if one[1] not in self.prefixes:
                self.prefixes[one[1]] = moved(one, by)
        for one, call in known[4]:
            self.functions.append((moved(one, by), call))
        for one in known[5]:
            self.variables.append(moved(one, by))
        for offset, expr in known[6]:
            self.node_sets.append((offset + by, expr))
        return 0

    # -- location paths

    cdef object location_path(self):
        cdef list steps = []
        cdef Py_UCS4 start
        if self.char(self.at) != c"/":
            self.relative_path(steps)
            return make_path(False, tuple(steps))
        while self.char(self.at) == c"/":  # libxml2 takes "/ /a" and "///a"
            if self.char(self.at + 1) == c"/":
                self.at += 2
                steps.append(ANY_DEPTH)
                self.skip()
                self.relative_path(steps)
            else:
                self.at += 1
                start = self.skip()
                if start >= 128:
                    raise Unread
                if self.has(start, START) or start == c"." or start == c"@" or start == c"*":
                    self.relative_path(steps)
        return make_path(True, tuple(steps))

    cdef int relative_path(self, list steps) except -1:
        """Reads steps, up to the last one."""
        if self.skip() == c"/":
            self.at += 1
            if self.char(self.at) == c"/":
                self.at += 1
                steps.append(ANY_DEPTH)
        while True:
            self.skip()
            if not self.plain_steps(steps):
                steps.append(self.step())
            if self.skip() != c"/":
                return 0
            self.at += 1
            if self.char(self.at) == c"/":
                self.at += 1
                steps.append(ANY_DEPTH)

    cdef bint plain_steps(self, list steps) except -1:
        """Reads steps by plain names, with the filters of the last; False if none is here."""
        cdef Py_ssize_t at = self.at, start = at, first
        cdef int count = 0
        cdef Py_UCS4 char
        cdef tuple named
        cdef object last = None
        while count < MOST_STEPS:  # from one step to the next
            first = at
            if self.char(at) == c"@":
                at += 1
            if not self.has(self.char(at), START):
                break
            while self.has(self.char(at), NAME):
                at += 1
            if self.char(at) == c":" and self.has(self.char(at + 1), START):
                at += 1
                while self.has(self.char(at), NAME):
                    at += 1
            # What follows must make neither a call, an axis nor a longer name of the last one.
            char = self.char(self.after_space(at))
            if char >= 128 or at - start > MAX_NAME:
                raise Unread
            if char == c":" or char == c"(":
                break
            if last is not None:
                steps.append(last)
            named = named_step(PyUnicode_Substring(self.text, first, at))
            last = named[0]
            if named[1] and named[1] not in self.prefixes:
                first += self.char(first) == c"@"
                self.prefixes[named[1]] = mention_of(first, named[1], named[2])
            self.at = at
            count += 1
            if self.char(at) != c"/":
                break
            at += 1
        if count == 0:
            return False
        if self.skip() == c"[":
            last = make_step(last.axis, last.test, self.predicates())
        steps.append(last)
        return True

    cdef object step(self):
        cdef Py_UCS4 start = self.skip()
        cdef str axis = "child", name
        cdef object test
        if start == c".":
            self.at += 1
            if self.char(self.at) == c".":
                self.at += 1
                return UP
            return HERE
        if start == c"@":
            self.at += 1
            axis = "attribute"
            test = self.node_test("")
        else:
            name = self.name()
            if name and self.skip() == c":" and self.char(self.at + 1) == c":":
                if name not in AXES_:
                    raise Unread
                self.at += 2
                axis, name = name, ""
            test = self.node_test(name)
        return make_step(axis, test, self.predicates())

    cdef object node_test(self, str name):
        """The node test here; `name` is a name that was already read as a possible axis."""
        cdef Py_ssize_t start = self.at - len(name)
        cdef bint near = len(name) > 0, glued
        cdef str prefix
        if not near:
            if self.skip() == c"*":
                self.at += 1
                return ANY_NAME
            start = self.at
            name = self.name()
            if not name:
                raise Unread
        glued = not self.has(self.char(self.at), SPACE)
        if self.skip() == c"(":
            return self.kind_test(name)
        if self.char(self.at) == c":" and (glued or near):
            self.at += 1
            prefix = name
            if self.char(self.at) == c"*":
                self.at += 1
                name = "*"
            else:
                name = self.name()
                if not name:
                    raise Unread
            if prefix not in self.prefixes:
                self.prefixes[prefix] = mention_of(start, prefix, name)
            return name_test(name, prefix)
        return name_test(name)

    cdef object kind_test(self, str name):
        cdef str target = None
        cdef Py_UCS4 char
        if name not in KINDS:
            raise Unread
        self.at += 1
        char = self.skip()
        if char != c")" and name == "processing-instruction":
            if char != c"'" and char != c'"':
                raise Unread
            target = self.literal()
        self.close(c")")
        if target is None:
            return ANY_NODE if name == "node" else KindTest(name)
        return KindTest("processing-instruction", target)


cdef tuple named_step(str text):
    """A step by a plain name, such as ``p:a`` or ``@a``, with its prefix and local name."""
    cdef tuple named = NAMED_STEPS.get(text)
    if named is None:
        if len(NAMED_STEPS) >= MOST_NAMED:
            NAMED_STEPS.clear()
        axis = "attribute" if text[0] == "@" else "child"
        prefix, colon, local = text.removeprefix("@").partition(":")
        if not colon:
            prefix, local = "", prefix
        named = NAMED_STEPS[text] = make_step(axis, name_test(local, prefix)), prefix, local
    return named


cdef inline object moved(object mention, Py_ssize_t by):
    return mention_of(<Py_ssize_t>mention[0] + by, mention[1], mention[2])


def _joined_height(left, right):
    return max(left, right) + 1


def parse(str xpath, limits):
    """What `extract.xpath.parser.parse_with_mentions` returns; None for what is not read here."""
    cdef Reader reader
    cdef object expr
    if len(xpath) > min(limits.xpath_chars, limits.constant_chars):
        return None
    reader = Reader(xpath, limits.xpath_depth)
    try:
        expr = reader.expression(1)
    except Unread:
        return None
    if reader.at < reader.end:
        return None
    return Parsed(
        xpath,
        expr,
        reader.prefixes,
        reader.functions,
        reader.variables,
        reader.node_sets,
        reader.unplaced,
    )


def divide(str text, placeholder):
    """What `extract.xpath.parameters.divided` returns; ``placeholder`` makes places."""
    cdef int kind = PyUnicode_KIND(text)
    cdef void* data = PyUnicode_DATA(text)
    cdef Py_ssize_t at = 0, start = 0, end = len(text), stop, number
    cdef Py_UCS4 char
    cdef list parts = [], places = []
    while at < end:
        char = PyUnicode_READ(kind, data, at)
        if char == c"'" or char == c'"':
            stop = at + 1
            while stop < end and PyUnicode_READ(kind, data, stop) != char:
                stop += 1
            at = stop + 1 if stop < end else at + 1  # one that does not end hides nothing
        elif char == c"$" and text.startswith(("string", "number"), at + 1):
            stop, number = at + 7, 0
            while stop < end and c"0" <= PyUnicode_READ(kind, data, stop) <= c"9":
                number = number * 10 + <int>PyUnicode_READ(kind, data, stop) - 48
                stop += 1
            if stop == at + 7:
                at += 1
                continue
            word = "string" if PyUnicode_READ(kind, data, at + 1) == c"s" else "number"
            places.append(tuple.__new__(placeholder, (number - 1, word)))
            parts.append(PyUnicode_Substring(text, start, at))
            at = start = stop
        else:
            at += 1
    parts.append(PyUnicode_Substring(text, start, end))
    return tuple(parts), tuple(places)
