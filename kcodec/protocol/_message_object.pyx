"""Single messages as dicts, by the same programs that columns are read and written with."""

from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.dict cimport PyDict_GetItem, PyDict_SetItem
from cpython.float cimport PyFloat_FromDouble
from cpython.object cimport PyObject
from libc.stdint cimport INT32_MAX, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy, memmove

from kcodec.protocol._message_program cimport (
    Program, GET_BOOLEAN, GET_8, GET_16, GET_32, GET_64, GET_UUID, GET_SHORT_STRING, GET_COMPACT_STRING,
    GET_SIZED_BYTES, GET_COMPACT_BYTES, GET_COUNTED_ARRAY, GET_COMPACT_ARRAY, GET_RECORD, GET_NULLABLE_RECORD,
    GET_TAGGED_RECORD, GET_TAGS, SET_BOOLEAN, SET_TEXT, SET_EMPTY, SET_NULL, SET_RECORD, PUT_BOOLEAN, PUT_UUID,
    PUT_SHORT_STRING, PUT_COMPACT_STRING, PUT_SIZED_BYTES, PUT_COMPACT_BYTES, PUT_COUNTED_ARRAY, PUT_COMPACT_ARRAY,
    PUT_RECORD, PUT_NULLABLE_RECORD, PUT_TAGGED_RECORD, PUT_CONSTANT, PUT_TAGS, PUT_UNSET, IS_FIXED, IS_FLOAT,
    IS_BOOLEAN, IS_TEXT, IS_EMPTY, IS_NULL, FAIL, NOT_A_NUMBER, SIGNED, UNSIGNED, FLOATING, MAX_STRING, TRAIL,
    Context, Op, charge_zero_items, java_text, read_uvarint,
)
from kcodec.wire.cursor cimport load_be32, load_be64, store_be64
from kcodec.wire.status cimport (
    TRUNCATED, NEGATIVE_LENGTH, INVALID_BOOLEAN, INVALID_UTF8, TRAILING_BYTES, OUT_OF_RANGE, SIZE_LIMIT, NULL_VALUE,
    TYPE_MISMATCH, FIXED_SIZE, STRING_LENGTH, INVALID_MARKER, TAG_ORDER, TAG_SIZE, INVALID_TAG, Status,
)
from kcodec.wire.utf8 cimport utf8_valid

from kcodec.errors import CODES, Fault
from kcodec.protocol.message_plan import UNKNOWN, unknown_entries

_CODES = list(CODES)


class _Failed(Exception):
    """The message at hand is bad; its fault is noted."""


cdef extern from "Python.h":
    object PyUnicode_DecodeUTF8(const char *data, Py_ssize_t size, const char *errors)
    const char *PyUnicode_AsUTF8AndSize(object text, Py_ssize_t *size) except NULL


cdef class _Reader:
    """Reads one message."""

    cdef Program program
    cdef Context context
    cdef const uint8_t *start
    cdef const uint8_t *p
    cdef int depth
    cdef int64_t items[TRAIL]    # positions in the arrays that the value at hand is in
    cdef object fault

    cdef list indexes(self):
        return [self.items[each] for each in range(min(self.depth, TRAIL))]

    cdef object fail(self, Status status, const Op *op, const uint8_t *at):
        code = _CODES[<int>status - 1]
        path, reason = "", CODES[code]
        if op != NULL:
            path = self.program.path(<int32_t>(op - self.program.ops), self.indexes())
            if status == op.status:
                reason = self.program.reason(<int32_t>(op - self.program.ops), code)
        self.fault = Fault(0, at - self.start, path, code, reason)
        raise _Failed

    cdef int need(self, int64_t size, const Op *op) except -1:
        if size > self.context.end - self.p:
            self.fail(TRUNCATED, op, self.p)
        return 0

    cdef uint32_t uvarint(self, const Op *op) except? 0xFFFFFFFF:
        cdef const uint8_t *p
        if self.p < self.context.end and self.p[0] < 0x80:
            self.p += 1
            return (self.p - 1)[0]
        p = read_uvarint(&self.context, op, self.p)
        if p == NULL:
            self.fail(self.context.status, op, self.context.at)
        self.p = p
        return self.context.word

    cdef int64_t length(self, const Op *op) except -2:
        """Read a length or count; -1 for null."""
        cdef const uint8_t *at = self.p
        cdef int64_t length
        if op.code == GET_SHORT_STRING:
            self.need(2, op)
            length = <int16_t>((<uint16_t>self.p[0] << 8) | self.p[1])
            self.p += 2
        elif op.code == GET_SIZED_BYTES or op.code == GET_COUNTED_ARRAY:
            self.need(4, op)
            length = <int32_t>load_be32(self.p)
            self.p += 4
        else:
            length = <int64_t>self.uvarint(op) - 1
            if self.context.lenient and length > INT32_MAX:
                length = -1
        if length < 0:
            if length < -1 and not self.context.lenient:
                self.fail(NEGATIVE_LENGTH, op, at)
            if not op.nullable:
                self.fail(NULL_VALUE, op, at)
            return -1
        return length

    cdef object text(self, const Op *op, int64_t length):
        cdef uint8_t *good
        cdef int64_t size
        if utf8_valid(self.p, length):
            return PyUnicode_DecodeUTF8(<const char *>self.p, length, NULL)
        if not self.context.lenient:
            self.fail(INVALID_UTF8, op, self.p)
        size = java_text(self.p, length, NULL)
        self.charge(max(size - length, 0), op, self.p + length)
        good = <uint8_t *>malloc(size)
        if good == NULL:
            raise MemoryError
        java_text(self.p, length, good)
        try:
            return PyUnicode_DecodeUTF8(<const char *>good, size, NULL)
        finally:
            free(good)

    cdef int charge(self, int64_t amount, const Op *op, const uint8_t *at) except -1:
        self.context.expanded += amount
        if self.context.expanded > self.context.max_expansion:
            self.fail(SIZE_LIMIT, op, at)
        return 0

    cdef object value(self, const Op *op):
        """Read the value of an op and of what belongs to it."""
        cdef const uint8_t *at = self.p
        cdef uint64_t raw
        cdef int64_t length
        cdef double real
        if op.code == GET_32:
            self.need(4, op)
            self.p += 4
            if op.number == SIGNED:
                return <int32_t>load_be32(at)
            return load_be32(at)
        if op.code == GET_COMPACT_STRING or op.code == GET_SHORT_STRING:
            length = self.length(op)
            if length < 0:
                return None
            if length > MAX_STRING:
                self.fail(STRING_LENGTH, op, at)
            self.need(length, op)
            text = self.text(op, length)
            self.p += length
            return text
        if op.code == GET_COMPACT_ARRAY or op.code == GET_COUNTED_ARRAY:
            return self.array(op)
        if op.code == GET_64:
            self.need(8, op)
            self.p += 8
            raw = load_be64(at)
            if op.number == FLOATING:
                memcpy(&real, &raw, 8)
                return PyFloat_FromDouble(real)
            return <int64_t>raw
        if op.code == GET_16:
            self.need(2, op)
            self.p += 2
            raw = (<uint32_t>at[0] << 8) | at[1]
            if op.number == SIGNED:
                return <int16_t>raw
            return raw
        if op.code == GET_8:
            self.need(1, op)
            self.p += 1
            return <int8_t>at[0]
        if op.code == GET_BOOLEAN:
            self.need(1, op)
            if at[0] > 1 and not self.context.lenient:
                self.fail(INVALID_BOOLEAN, op, at)
            self.p += 1
            return at[0] != 0
        if op.code == GET_COMPACT_BYTES or op.code == GET_SIZED_BYTES:
            length = self.length(op)
            if length < 0:
                return None
            self.need(length, op)
            self.p += length
            return PyBytes_FromStringAndSize(<const char *>self.p - length, length)
        if op.code == GET_UUID:
            self.need(16, op)
            self.p += 16
            return PyBytes_FromStringAndSize(<const char *>at, 16)
        if op.code == GET_RECORD:
            return self.record(op + 1, op + op.next)
        if op.code == GET_NULLABLE_RECORD or op.code == GET_TAGGED_RECORD:
            return self.value(op + 1) if self.marker(op) else None
        if op.code == FAIL:
            self.fail(<Status>op.status, op, self.p)
        return self.default(op)

    cdef object array(self, const Op *op):
        cdef const uint8_t *at = self.p
        cdef int64_t count = self.length(op)
        cdef int64_t item
        if count < 0:
            return None
        if count > self.context.end - self.p and (op.minimum or self.context.lenient):
            self.fail(TRUNCATED, op, at)
        if op.minimum == 0:
            self.context.room = INT32_MAX
            if charge_zero_items(&self.context, count) == SIZE_LIMIT:
                self.fail(SIZE_LIMIT, op, at)
        values = []
        self.depth += 1
        for item in range(count):
            self.items[min(self.depth, TRAIL) - 1] = item
            values.append(self.record(op + 1, op + op.next) if op.records else self.value(op + 1))
        self.depth -= 1
        return values

    cdef bint marker(self, const Op *op) except -1:
        """Read whether a struct is there."""
        cdef const uint8_t *at = self.p
        cdef int64_t mark
        cdef bint known
        if op.code == GET_NULLABLE_RECORD:
            self.need(1, op)
            self.p += 1
            mark = <int8_t>at[0]
            known = mark == 1 or mark == -1
            mark += 1    # so that null is not above 0
        else:
            mark = self.uvarint(op)
            known = mark <= 1
            mark = <int32_t>mark
        if not known and not self.context.lenient:
            self.fail(INVALID_MARKER, op, at)
        return mark > 0

    cdef dict record(self, const Op *op, const Op *stop):
        cdef dict message = {}
        cdef list names = self.program.names
        while op != stop:
            if op.code == GET_TAGS:
                self.tags(op, message)
            else:
                PyDict_SetItem(message, names[op - self.program.ops], self.value(op))
            op += op.next
        return message

    cdef int tags(self, const Op *op, dict message) except -1:
        cdef list names = self.program.names
        cdef const Op *stop = op + op.next
        cdef const Op *known = op + 1
        cdef const uint8_t *at = self.p
        cdef const uint8_t *start
        cdef int64_t count
        cdef int64_t last = -1
        cdef int64_t tag
        cdef int64_t size
        unknown = []
        while known != stop:
            if known.split != known.next:
                message[names[known - self.program.ops]] = self.default(known + known.split)
            known += known.next
        count = self.uvarint(op)
        if self.context.lenient:
            count = max(<int32_t>count, 0)
        elif 2 * count > self.context.end - self.p:
            self.fail(TRUNCATED, op, at)
        while count > 0:
            count -= 1
            at = self.p
            tag = self.uvarint(op)
            if tag <= last and not self.context.lenient:
                self.fail(TAG_ORDER, op, at)
            last = tag
            at = self.p
            size = self.uvarint(op)
            known = op + 1
            while known != stop and known.size != tag:
                known += known.next
            if size > self.context.end - self.p and (known == stop or not self.context.lenient):
                self.fail(TRUNCATED, op if known == stop else known, self.p)
            if known == stop:
                data = PyBytes_FromStringAndSize(<const char *>self.p, size)
                unknown.append({"tag": tag, "data": data})
                self.p += size
                continue
            start = self.p
            message[names[known - self.program.ops]] = self.value(known + 1)
            if self.p - start != size and not self.context.lenient:
                self.fail(TAG_SIZE, known, at)
        if unknown and op.column >= 0:
            message[UNKNOWN] = unknown
        return 0

    cdef object default(self, const Op *op):
        cdef const Op *stop
        cdef double real
        if op.code == SET_NULL:
            return None
        if op.code == SET_EMPTY:
            return []
        if op.code == SET_BOOLEAN:
            return op.data[0] != 0
        if op.code == SET_TEXT:
            if not op.number:
                return PyBytes_FromStringAndSize(<const char *>op.data, op.data_size)
            self.charge(op.data_size, op, self.p)
            return PyUnicode_DecodeUTF8(<const char *>op.data, op.data_size, NULL)
        if op.code == SET_RECORD:
            message = {}
            stop = op + op.next
            op += 1
            while op != stop:
                name = self.program.names[op - self.program.ops]
                if name != UNKNOWN:
                    message[name] = self.default(op)
                op += op.next
            return message
        if op.number == NOT_A_NUMBER:
            return PyBytes_FromStringAndSize(<const char *>op.data, op.size)
        if op.number == FLOATING:
            memcpy(&real, op.data, 8)
            return PyFloat_FromDouble(real)
        data = PyBytes_FromStringAndSize(<const char *>op.data, op.size)
        return int.from_bytes(data, "little", signed=op.number == SIGNED)


def decode_one(data, Program program, *, start=0, trailing=False):
    """Decode one message to a dict.

    Parameters
    ----------
    data : bytes-like
        The message.
    program : Program
        As for `decode`.
    start : int, default 0
        Where it starts.
    trailing : bool, default False
        Accept bytes after the message.

    Returns
    -------
    value : dict or None
        The message; None if it failed.
    fault : Fault or None
        Why it failed; its row is 0.
    """
    cdef _Reader reader = _Reader.__new__(_Reader)
    cdef Py_buffer view
    cdef int64_t first = start
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        reader.program = program
        reader.start = <const uint8_t *>view.buf
        reader.context.end = reader.start + view.len
        reader.context.lenient = program.lenient
        reader.context.max_expansion = program.limits.max_expansion
        reader.context.max_zero_items = program.limits.max_zero_byte_items
        if first < 0 or first > view.len:
            reader.fail(TRUNCATED, NULL, reader.context.end)
        reader.p = reader.start + first
        if program.failing:
            reader.value(program.ops)
        message = reader.record(program.ops, program.ops + program.stop)
        if not trailing and reader.p != reader.context.end:
            reader.fail(TRAILING_BYTES, NULL, reader.p)
        return message, None
    except _Failed:
        return None, reader.fault
    finally:
        PyBuffer_Release(&view)


cdef class _Writer:
    """Writes one message."""

    cdef Program program
    cdef uint8_t *data
    cdef int64_t used
    cdef int64_t room
    cdef int depth
    cdef int64_t items[TRAIL]    # positions in the arrays that the value at hand is in
    cdef object fault

    def __dealloc__(self):
        free(self.data)

    cdef list indexes(self):
        return [self.items[each] for each in range(min(self.depth, TRAIL))]

    cdef object fail(self, Status status, const Op *op, reason=None):
        code = _CODES[<int>status - 1]
        if reason is None:
            reason = CODES[code]
            if status == op.status:
                reason = self.program.reason(<int32_t>(op - self.program.ops), code)
        path = self.program.path(<int32_t>(op - self.program.ops), self.indexes())
        self.fault = Fault(0, None, path, code, reason)
        raise _Failed

    cdef uint8_t *reserve(self, int64_t size) except NULL:
        """Make room for some bytes; return where they go."""
        cdef uint8_t *grown
        if self.used + size > self.room:
            self.room = 2 * self.room + size + 256
            grown = <uint8_t *>realloc(self.data, self.room)
            if grown == NULL:
                raise MemoryError
            self.data = grown
        return self.data + self.used

    cdef int append(self, const uint8_t *data, int64_t size) except -1:
        memcpy(self.reserve(size), data, size)
        self.used += size
        return 0

    cdef int byte(self, uint8_t value) except -1:
        self.reserve(1)[0] = value
        self.used += 1
        return 0

    cdef int uvarint(self, uint64_t value) except -1:
        while value >= 0x80:
            self.byte(<uint8_t>value | 0x80)
            value >>= 7
        self.byte(<uint8_t>value)
        return 0

    cdef int integer(self, int64_t value, int size) except -1:
        cdef uint8_t *out = self.reserve(8)
        store_be64(out, <uint64_t>value)
        memmove(out, out + 8 - size, size)
        self.used += size
        return 0

    cdef int length(self, const Op *op, int64_t length) except -1:
        """Write a length or count; -1 for null."""
        if length >= INT32_MAX:
            self.fail(OUT_OF_RANGE, op)
        if op.code == PUT_SHORT_STRING:
            self.integer(length, 2)
        elif op.code == PUT_SIZED_BYTES or op.code == PUT_COUNTED_ARRAY:
            self.integer(length, 4)
        else:
            self.uvarint(<uint64_t>(length + 1))
        return 0

    cdef int value(self, const Op *op, object value) except -1:
        """Write the value of an op and of what belongs to it."""
        cdef Py_ssize_t size
        cdef const char *text
        cdef Py_buffer view
        cdef int64_t number
        cdef double real
        if op.code == FAIL:
            self.fail(<Status>op.status, op)
        if value is None:
            if op.code == PUT_NULLABLE_RECORD or op.code == PUT_TAGGED_RECORD:
                self.byte(0xFF if op.code == PUT_NULLABLE_RECORD else 0)
            elif op.nullable:
                self.length(op, -1)
            else:
                self.fail(NULL_VALUE, op)
        elif op.code == PUT_COMPACT_STRING or op.code == PUT_SHORT_STRING:
            if not isinstance(value, str):
                self.fail(TYPE_MISMATCH, op)
            try:
                text = PyUnicode_AsUTF8AndSize(value, &size)
            except UnicodeEncodeError:
                self.fail(INVALID_UTF8, op)
            if size > MAX_STRING:
                self.fail(STRING_LENGTH, op)
            self.length(op, size)
            self.append(<const uint8_t *>text, size)
        elif op.number == SIGNED or op.number == UNSIGNED:
            if not isinstance(value, int) or isinstance(value, bool):
                self.fail(TYPE_MISMATCH, op)
            try:
                number = value
            except OverflowError:
                self.fail(OUT_OF_RANGE, op)
            if op.size < 8:
                if op.number == UNSIGNED:
                    if not 0 <= number < <int64_t>1 << 8 * op.size:
                        self.fail(OUT_OF_RANGE, op)
                elif not -(<int64_t>1 << 8 * op.size - 1) <= number < <int64_t>1 << 8 * op.size - 1:
                    self.fail(OUT_OF_RANGE, op)
            self.integer(number, op.size)
        elif op.code == PUT_COMPACT_ARRAY or op.code == PUT_COUNTED_ARRAY:
            self.array(op, value)
        elif op.number == FLOATING:
            if not isinstance(value, (int, float)) or isinstance(value, bool):
                self.fail(TYPE_MISMATCH, op)
            try:
                real = value
            except OverflowError:
                self.fail(OUT_OF_RANGE, op)
            memcpy(&number, &real, 8)
            self.integer(number, 8)
        elif op.code == PUT_BOOLEAN:
            if not isinstance(value, bool):
                self.fail(TYPE_MISMATCH, op)
            self.byte(value is True)
        elif op.code == PUT_UUID:
            data = getattr(value, "bytes", value)
            if not isinstance(data, bytes):
                self.fail(TYPE_MISMATCH, op)
            if len(data) != 16:
                self.fail(FIXED_SIZE, op)
            self.append(<const uint8_t *><const char *>data, 16)
        elif op.code == PUT_COMPACT_BYTES or op.code == PUT_SIZED_BYTES:
            if not isinstance(value, (bytes, bytearray, memoryview)):
                self.fail(TYPE_MISMATCH, op)
            PyObject_GetBuffer(value, &view, PyBUF_SIMPLE)
            try:
                self.length(op, view.len)
                self.append(<const uint8_t *>view.buf, view.len)
            finally:
                PyBuffer_Release(&view)
        elif op.code == PUT_RECORD:
            self.record(op, op + 1, op + op.next, value)
        else:  # PUT_NULLABLE_RECORD, PUT_TAGGED_RECORD
            self.byte(1)
            self.record(op, op + 1, op + op.next, value)
        return 0

    cdef int array(self, const Op *op, object values) except -1:
        cdef Py_ssize_t item
        if not isinstance(values, (list, tuple)):
            self.fail(TYPE_MISMATCH, op)
        self.length(op, len(values))
        self.depth += 1
        for item, value in enumerate(values):
            self.items[min(self.depth, TRAIL) - 1] = item
            if not op.records:
                self.value(op + 1, value)
            elif value is None:
                self.fail_item(op, NULL_VALUE)
            elif not isinstance(value, dict):
                self.fail_item(op, TYPE_MISMATCH)
            else:
                self.record(op, op + 1, op + op.next, value)
        self.depth -= 1
        return 0

    cdef object fail_item(self, const Op *op, Status status):
        """Fail with an item of an array of records, which has no op of its own."""
        self.depth -= 1
        item = self.items[min(self.depth, TRAIL - 1)]
        path = self.program.path(<int32_t>(op - self.program.ops), self.indexes())
        code = _CODES[<int>status - 1]
        self.fault = Fault(0, None, f"{path}[{item}]", code, CODES[code])
        raise _Failed

    cdef int record(self, const Op *owner, const Op *op, const Op *stop, object value) except -1:
        cdef list names = self.program.names
        cdef PyObject *found
        cdef Py_ssize_t seen = 0
        if not isinstance(value, dict):
            if owner == NULL:
                self.fault = Fault(0, None, "", "type_mismatch", "a message is a dict")
                raise _Failed
            self.fail(TYPE_MISMATCH, owner)
        message = <dict>value
        while op != stop:
            if op.code == PUT_TAGS:
                seen += self.tags(op, message)
            elif op.code == PUT_CONSTANT:
                self.append(op.data, op.data_size)
            else:
                found = PyDict_GetItem(message, names[op - self.program.ops])
                if found != NULL:
                    seen += 1
                    if op.code != PUT_UNSET:
                        self.value(op, <object>found)
                    elif not self.all_default(op + 1, op + op.split, <object>found):
                        self.fail(<Status>op.status, op)
                elif op.code == FAIL:
                    self.fail(<Status>op.status, op)
                elif op.code != PUT_UNSET:
                    self.append(op.data, op.data_size)
            op += op.next
        if seen != len(message):
            self.stranger(owner, stop, message)
        return 0

    cdef int stranger(self, const Op *owner, const Op *stop, dict message) except -1:
        """Name a key that no field has."""
        cdef const Op *op = self.program.ops if owner == NULL else owner + 1
        cdef const Op *tag
        names = {UNKNOWN}
        while op != stop:
            names.add(self.program.names[op - self.program.ops])
            if op.code == PUT_TAGS:
                tag = op + 1
                while tag != op + op.next:
                    names.add(self.program.names[tag - self.program.ops])
                    tag += tag.next
            op += op.next
        for name in message:
            if name not in names:
                path = ""
                if owner != NULL:
                    path = self.program.path(<int32_t>(owner - self.program.ops), self.indexes())
                    if owner.records:
                        path += f"[{self.items[min(self.depth, TRAIL) - 1]}]"
                code = "type_mismatch"
                self.fault = Fault(0, None, path, code, f"the message has no field {name}")
                raise _Failed
        return 0

    cdef int tags(self, const Op *op, dict message) except -1:
        """Write a tag section; return how many of the message's keys belong to it."""
        cdef list names = self.program.names
        cdef const Op *known = op + 1
        cdef const Op *stop = op + op.next
        cdef PyObject *found
        cdef int64_t section = self.used
        cdef int64_t place
        cdef int64_t count = 0
        cdef int64_t last = -1
        cdef int seen = UNKNOWN in message
        cdef int32_t code
        rest = unknown_entries(message.get(UNKNOWN))
        if isinstance(rest, str):
            code = _CODES.index(rest) + 1
            self.fail(<Status>code, op)
        rest.reverse()
        self.byte(0)
        while True:
            while rest and (known == stop or rest[len(rest) - 1][0] <= known.size):
                tag, data = rest.pop()
                if known != stop and tag == known.size:
                    self.fail(INVALID_TAG, op)
                if tag <= last:
                    self.fail(TAG_ORDER, op)
                last = tag
                self.uvarint(tag)
                self.uvarint(len(data))
                self.append(<const uint8_t *><const char *>data, len(data))
                count += 1
            if known == stop:
                break
            found = PyDict_GetItem(message, names[known - self.program.ops])
            if found != NULL:
                seen += 1
                if not self.all_default(known + 1, known + known.split, <object>found):
                    self.uvarint(known.size)
                    place = self.used
                    self.byte(0)
                    self.value(known + known.split, <object>found)
                    self.close_size(place, self.used - place - 1)
                    count += 1
            known += known.next
        self.close_size(section, count)
        return seen

    cdef int close_size(self, int64_t place, int64_t value) except -1:
        """Write a uvarint at a place where one byte was left for it."""
        cdef int more = 0
        cdef int64_t rest = value >> 7
        cdef int64_t end
        while rest:
            more += 1
            rest >>= 7
        if more:
            self.reserve(more)
            memmove(self.data + place + 1 + more, self.data + place + 1, self.used - place - 1)
        end = self.used + more
        self.used = place
        self.uvarint(value)
        self.used = end
        return 0

    cdef bint all_default(self, const Op *op, const Op *stop, object value) except -1:
        return op == stop or self.at_default(op, value)

    cdef bint at_default(self, const Op *op, object value) except -1:
        cdef const Op *stop
        cdef PyObject *found
        cdef int64_t number
        cdef double real
        if op.code == IS_NULL:
            return value is None
        if value is None:
            return False
        if op.code == IS_TEXT:
            data = PyBytes_FromStringAndSize(<const char *>op.data, op.data_size)
            return value == (data.decode() if op.number else data)
        if op.code == IS_EMPTY:
            return isinstance(value, (list, tuple)) and len(value) == 0
        if op.code == IS_BOOLEAN:
            return value == (op.data[0] != 0)
        if op.code == IS_FLOAT:
            memcpy(&real, op.data, 8)
            return value == real
        if op.code == IS_FIXED:
            if op.number == NOT_A_NUMBER:
                return getattr(value, "bytes", value) == PyBytes_FromStringAndSize(<const char *>op.data, 16)
            memcpy(&number, op.data, 8)
            return value == number
        if not isinstance(value, dict):
            return False
        stop = op + op.next
        op += 1
        while op != stop:
            found = PyDict_GetItem(value, self.program.names[op - self.program.ops])
            if found != NULL and not self.at_default(op, <object>found):
                return False
            op += op.next
        return True


def encode_one(value, Program program):
    """Encode one message from a dict.

    Parameters
    ----------
    value : dict
        The message; fields that are not there are at their defaults.
    program : Program
        As for `encode`.

    Returns
    -------
    data : bytes or None
        The message; None if it failed.
    fault : Fault or None
        Why it failed; its row is 0.
    """
    cdef _Writer writer = _Writer.__new__(_Writer)
    writer.program = program
    try:
        if program.failing:
            writer.value(program.ops, value)
        writer.record(NULL, program.ops, program.ops + program.stop, value)
        return PyBytes_FromStringAndSize(<const char *>writer.data, writer.used), None
    except _Failed:
        return None, writer.fault
