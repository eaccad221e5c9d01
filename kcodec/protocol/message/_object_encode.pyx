"""Dicts to single messages, by the same programs that columns are written with."""

from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.dict cimport PyDict_GetItem
from cpython.object cimport PyObject
from libc.stdint cimport INT32_MAX, int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy, memmove

from kcodec.plan._program cimport status_of
from kcodec.protocol.message._program cimport (
    MessageProgram, PUT_BOOLEAN, PUT_UUID, PUT_SHORT_STRING, PUT_COMPACT_STRING, PUT_SIZED_BYTES, PUT_COMPACT_BYTES,
    PUT_COUNTED_ARRAY, PUT_COMPACT_ARRAY, PUT_RECORD, PUT_NULLABLE_RECORD, PUT_TAGGED_RECORD, PUT_CONSTANT, PUT_TAGS,
    PUT_UNSET, IS_FIXED, IS_FLOAT, IS_BOOLEAN, IS_TEXT, IS_EMPTY, IS_NULL, FAIL, NOT_A_NUMBER, SIGNED, UNSIGNED,
    FLOATING, MAX_STRING, TRAIL, Op,
)
from kcodec.wire.binary.cursor cimport store_be64
from kcodec.wire.binary.status cimport (
    INVALID_UTF8, OUT_OF_RANGE, NULL_VALUE, TYPE_MISMATCH, FIXED_SIZE, STRING_LENGTH, TAG_ORDER, INVALID_TAG, Status,
)

from kcodec.errors import Fault, near
from kcodec.protocol.message._object import Failed
from kcodec.protocol.message.plan import UNKNOWN, unknown_entries


cdef extern from "Python.h":
    const char *PyUnicode_AsUTF8AndSize(object text, Py_ssize_t *size) except NULL


cdef class _MessageWriter:
    """Writes one message."""

    cdef MessageProgram program
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
        cdef int32_t failed = <int32_t>(op - self.program.ops)
        path = self.program.path(failed, self.indexes())
        self.fault = self.program.fault(0, None, status, failed, path)
        if reason is not None:
            self.fault = self.fault._replace(reason=reason)
        raise Failed

    cdef uint8_t *reserve(self, int64_t size) except NULL:
        """Make room for some bytes; return where they go."""
        cdef uint8_t *grown
        # The place of no bytes is not NULL either, which would be an exception.
        if self.used + size >= self.room:
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
        cdef Py_ssize_t size = 0
        cdef const char *text = NULL
        cdef Py_buffer view
        cdef int64_t number = 0
        cdef double real = 0
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
            if isinstance(value, memoryview) and not value.c_contiguous:
                value = bytes(value)
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
        self.fault = self.program.fault(0, None, status, -1, f"{path}[{item}]")
        raise Failed

    cdef int record(self, const Op *owner, const Op *op, const Op *stop, object value) except -1:
        cdef list names = self.program.names
        cdef PyObject *found
        cdef Py_ssize_t seen = 0
        if not isinstance(value, dict):
            if owner == NULL:
                self.fault = Fault(0, None, "", "type_mismatch", "a message is a dict")
                raise Failed
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
                elif op.code != PUT_UNSET:
                    if op.status:
                        self.fail(<Status>op.status, op)
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
                reason = f"the message has no field {name}{near(str(name), names)}"
                self.fault = Fault(0, None, path, code, reason)
                raise Failed
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
        entries = unknown_entries(message.get(UNKNOWN))
        if isinstance(entries, str):
            self.fail(<Status>status_of(entries), op)
        entries.reverse()
        self.byte(0)
        while True:
            while entries and (known == stop or entries[len(entries) - 1][0] <= known.size):
                tag, data = entries.pop()
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
        cdef int64_t remaining_bits = value >> 7
        cdef int64_t end
        while remaining_bits:
            more += 1
            remaining_bits >>= 7
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
        # Arrays of NumPy compare item by item, to what is not True.
        cdef const Op *stop
        cdef PyObject *found
        cdef int64_t number
        cdef double real
        if op.code == IS_NULL:
            return value is None
        if value is None:
            return op.nullable
        if op.code == IS_TEXT:
            data = PyBytes_FromStringAndSize(<const char *>op.data, op.data_size)
            return (value == (data.decode() if op.number else data)) is True
        if op.code == IS_EMPTY:
            return isinstance(value, (list, tuple)) and len(value) == 0
        if op.code == IS_BOOLEAN:
            return (value == (op.data[0] != 0)) is True
        if op.code == IS_FLOAT:
            memcpy(&real, op.data, 8)
            return (value == real) is True
        if op.code == IS_FIXED:
            if op.number == NOT_A_NUMBER:
                return (getattr(value, "bytes", value) == PyBytes_FromStringAndSize(<const char *>op.data, 16)) is True
            memcpy(&number, op.data, 8)
            return (value == number) is True
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


def encode_one(value, MessageProgram program):
    """Encode one message from a dict; see `kcodec.protocol.message.kernel.MessageKernel`."""
    cdef _MessageWriter writer = _MessageWriter.__new__(_MessageWriter)
    writer.program = program
    try:
        if program.failing:
            writer.value(program.ops, value)
        writer.record(NULL, program.ops, program.ops + program.stop, value)
        return PyBytes_FromStringAndSize(<const char *>writer.data, writer.used), None
    except Failed:
        return None, writer.fault
