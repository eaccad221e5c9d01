from kcodec.wire.buffers._crc32c_py import of_buffer as of_buffer
from kcodec.wire.buffers._crc32c_py import of_slices as of_slices
