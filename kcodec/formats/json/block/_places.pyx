"""Where the values of the fields of documents stand, whatever the order of their keys.

    {"id":1,"name":"a"}    {"name":"bc","id":27}    {"id":3}
          id   name              name    id            id

Which field comes after one is mostly one of the two that came after it last: producers have an order each. So these are
compared first, and only another key is looked up.
"""

from libc.stdint cimport INT32_MAX, int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from kcodec.formats.json._context cimport Context
from kcodec.formats.json._program cimport Op, key_hash
from kcodec.formats.json._row cimport find, is_key, is_key_of
from kcodec.wire.binary.cursor cimport likely, unlikely
from kcodec.wire.binary.status cimport OK
from kcodec.wire.text.json cimport json_past, json_past_brackets, json_plain_size, json_skip, json_space


cdef enum:
    MANY = 1000               # keys


cdef bint begin_places(Places *places, const Op *container) noexcept nogil:
    cdef int32_t fields = container.fields
    cdef int32_t at
    if fields > places.room:
        free_places(places)
        places.came = <uint64_t *>malloc(fields * sizeof(uint64_t))
        places.table = <Place *>malloc(fields * PLACED * sizeof(Place))
        places.follows = <const Op **>malloc(2 * (fields + 1) * sizeof(Op *))
        if places.came == NULL or places.table == NULL or places.follows == NULL:
            return False
        places.room = fields
    if container != places.container:
        places.container = container
        for at in range(2 * (fields + 1)):
            places.follows[at] = container + 1
        places.guesses = 0
        places.guessed = True
    # What does not help for a while is tried again later.
    if places.guesses > (MANY if places.guessed else 16 * MANY):
        places.guessed = not places.guessed or 2 * places.hits > places.guesses
        places.guesses = places.hits = 0
    memset(places.came, 0, fields * sizeof(uint64_t))
    places.strange = 0
    return True


cdef void free_places(Places *places) noexcept nogil:
    free(places.came)
    free(places.table)
    free(places.follows)
    memset(places, 0, sizeof(Places))


cdef const uint8_t *locate(
    Places *places, Context *context, int64_t lane, const uint8_t *start, const uint8_t *p, int32_t levels
) noexcept nogil:
    cdef const Op *container = places.container
    cdef const uint8_t *end = context.end
    cdef const uint8_t *at
    cdef const Op **follows = places.follows
    cdef const Op *op
    cdef Place *place
    cdef int64_t size
    cdef uint64_t bit = <uint64_t>1 << lane
    places.unknown = False
    if unlikely(end - start > INT32_MAX):
        return NULL
    p = json_space(p + 1, end)
    if unlikely(p >= end):
        return NULL
    if p[0] == 125:
        return p + 1
    while True:
        op = follows[0]
        places.guesses += 1
        if places.guessed and is_key_of(container, op, p, end):
            places.hits += 1
            p += op.key_size
        elif places.guessed and is_key_of(container, follows[1], p, end):
            places.hits += 1
            op = follows[1]
            p += op.key_size
        else:
            # Behind the key there, so that nothing waits until it is looked up; one with an escape is longer.
            size = json_plain_size(p + 1)
            op = container + container.table[key_hash(p + 1, size, container.seed) & container.table_mask]
            if likely(op != container) and likely(is_key(op, p, end, 0)) and likely(op.key_size == size + 3):
                p += size + 3
            else:
                at = json_space(p, end)
                if unlikely(at != p):
                    p = at
                    continue
                if unlikely(p >= end or p[0] != 34):
                    return NULL
                op = find(context, container, p)
                if unlikely(context.status != OK):
                    return NULL
                p = context.after
            if op != NULL:
                follows[1] = follows[0]
                follows[0] = op
        if likely(op != NULL):
            if unlikely(p[0] <= 32):
                p = json_space(p, end)
            if unlikely(places.came[op.number] & bit):
                return NULL
            places.came[op.number] |= bit
            place = &places.table[op.number * PLACED + lane]
            place.start = <int32_t>(p - start)
            if likely(p[0] | 32 != 123):
                p = json_past(p, end)
            else:
                at = p
                p = json_past_brackets(at, end)
                if p == NULL:
                    p = json_skip(at, end, levels, &context.fault)
            if unlikely(p == NULL):
                return NULL
            place.stop = <int32_t>(p - start)
            follows = places.follows + 2 * (op.number + 1)
        else:
            places.unknown = True
            places.strange += 1
            p = json_skip(p, end, levels, &context.fault)
            if unlikely(p == NULL):
                return NULL
        if unlikely(p < end and p[0] <= 32):
            p = json_space(p, end)
        if unlikely(p >= end):
            return NULL
        if p[0] == 44:
            p += 1
            if places.spaced:
                p += p[0] == 32
        elif likely(p[0] == 125):
            return p + 1
        else:
            return NULL
