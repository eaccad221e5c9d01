from kcodec.columns.built._column cimport Column
from kcodec.formats.protobuf.block._lanes cimport Block, Lanes
from kcodec.formats.protobuf.rows._program cimport Op


cdef bint read_packed_values(
    Block *block, const Op *op, Column *column, const Lanes *lists, Lanes *items
) noexcept nogil
cdef bint find_packed(
    Block *block, const Op *op, const Op *single, Column *column, const Lanes *lanes, Lanes *items
) noexcept nogil
cdef void copy_packed(Block *block, const Op *op, Column *column, const Lanes *lanes) noexcept nogil
