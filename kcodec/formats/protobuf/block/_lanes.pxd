"""A block of rows of Protobuf that is read a field at a time: where each row is, and the memory for that."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from kcodec.formats.protobuf.rows._context cimport Context

cdef enum:
    LANES = 256          # rows of a block, at most
    MEMORY = 1 << 19     # bytes for lanes and what is known of them


cdef struct Lane:
    # A message that is read along with others of its kind.
    const uint8_t *at    # where it is read
    const uint8_t *end
    int64_t index        # of its values
    int64_t row          # of the block


cdef struct Lanes:
    Lane *lane
    int64_t count
    int64_t base         # least index that these columns have in the block
    bint dense           # the indexes are `base` and those that follow


cdef struct Met:
    # How the field of an op comes in payloads.
    uint8_t what         # bits of What (_unexpected.pxd)
    int32_t shift        # the field that is read in the turn of this one, relative to it


cdef struct Block:
    Context *context
    uint8_t *memory
    int64_t used
    uint8_t odd[LANES]   # rows that are not as expected,
    uint8_t foul[LANES]  # whether that is for text that is not UTF-8,
    int32_t field[LANES]  # and which field of the payload was the first that is not; -1: none in particular
    const uint8_t *rest[LANES]  # behind all fields: where what has not been read of the row starts
    int32_t root         # the field of payloads that is read now
    int64_t ahead        # bytes from a row to about the same place in the next block
    bint failed          # there are such rows
    Met **known          # by program, then by op; NULL: all was as expected
    Met *met             # of the program in hand,
    int32_t program      # which is this one,
    int32_t ops          # and has so many ops at most
    bint learned         # something of that is new
    int64_t lessons      # how often it was, in one call
    bint pext            # which way varints are read


cdef inline void *take(Block *block, int64_t size) noexcept nogil:
    """Take memory, which is given back by setting `block.used`; NULL if there is too little."""
    cdef void *taken = block.memory + block.used
    size = (size + 63) & ~<int64_t>63
    if size > MEMORY - block.used:
        return NULL
    block.used += size
    return taken


cdef inline void reject(Block *block, const Lane *lane) noexcept nogil:
    """Leave a row to the row loop."""
    if not block.odd[lane.row]:
        block.field[lane.row] = block.root
    block.odd[lane.row] = 1
    block.failed = True
