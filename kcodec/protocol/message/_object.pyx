"""Single messages to dicts, by the same programs that columns are read with."""

from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.dict cimport PyDict_SetItem
from cpython.float cimport PyFloat_FromDouble
from libc.stdint cimport INT32_MAX, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from kcodec.plan._budget cimport charge_zero_items, set_limits
from kcodec.protocol.message._program cimport (
    MessageProgram, GET_BOOLEAN, GET_8, GET_16, GET_32, GET_64, GET_UUID, GET_SHORT_STRING, GET_COMPACT_STRING,
    GET_SIZED_BYTES, GET_COMPACT_BYTES, GET_COUNTED_ARRAY, GET_COMPACT_ARRAY, GET_RECORD, GET_NULLABLE_RECORD,
    GET_TAGGED_RECORD, GET_TAGS, SET_BOOLEAN, SET_TEXT, SET_EMPTY, SET_NULL, SET_RECORD, FAIL, NOT_A_NUMBER, SIGNED,
    FLOATING, MAX_STRING, TRAIL, Context, Op, java_text, read_uvarint,
)
from kcodec.wire.binary.cursor cimport load_be32, load_be64
from kcodec.wire.binary.status cimport (
    TRUNCATED, NEGATIVE_LENGTH, INVALID_BOOLEAN, INVALID_UTF8, TRAILING_BYTES, SIZE_LIMIT, NULL_VALUE, STRING_LENGTH,
    INVALID_MARKER, TAG_ORDER, TAG_SIZE, Status,
)
from kcodec.wire.text.utf8 cimport utf8_valid

from kcodec.protocol.message.plan import UNKNOWN


class Failed(Exception):
    """The message at hand is bad; its fault is noted."""


cdef extern from "Python.h":
    object PyUnicode_DecodeUTF8(const char *data, Py_ssize_t size, const char *errors)


cdef class _MessageReader:
    """Reads one message."""

    cdef MessageProgram program
    cdef Context context
    cdef const uint8_t *start
    cdef const uint8_t *p
    cdef int depth
    cdef int64_t items[TRAIL]    # positions in the arrays that the value at hand is in
    cdef object fault

    cdef list indexes(self):
        return [self.items[each] for each in range(min(self.depth, TRAIL))]

    cdef object fail(self, Status status, const Op *op, const uint8_t *at):
        cdef int32_t failed = -1 if op == NULL else <int32_t>(op - self.program.ops)
        path = "" if op == NULL else self.program.path(failed, self.indexes())
        self.fault = self.program.fault(0, at - self.start, status, failed, path)
        raise Failed

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
        self.context.budget.expanded += amount
        if self.context.budget.expanded > self.context.budget.max_expansion:
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
            self.context.budget.room = INT32_MAX
            if charge_zero_items(&self.context.budget, count) == SIZE_LIMIT:
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


def decode_one(data, MessageProgram program, *, start=0, trailing=False):
    """Decode one message to a dict; see `kcodec.protocol.message.kernel.MessageKernel`."""
    cdef _MessageReader reader = _MessageReader.__new__(_MessageReader)
    cdef Py_buffer view
    cdef int64_t first = start
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        reader.program = program
        reader.start = <const uint8_t *>view.buf
        reader.context.end = reader.start + view.len
        reader.context.lenient = program.lenient
        set_limits(&reader.context.budget, program.limits)
        if first < 0 or first > view.len:
            reader.fail(TRUNCATED, NULL, reader.context.end)
        reader.p = reader.start + first
        if program.failing:
            reader.value(program.ops)
        message = reader.record(program.ops, program.ops + program.stop)
        if not trailing and reader.p != reader.context.end:
            reader.fail(TRAILING_BYTES, NULL, reader.p)
        return message, None
    except Failed:
        return None, reader.fault
    finally:
        PyBuffer_Release(&view)
