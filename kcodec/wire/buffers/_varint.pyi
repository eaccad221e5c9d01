from kcodec.wire.buffers._varint_py import count_ends as count_ends
from kcodec.wire.buffers._varint_py import decode as decode
from kcodec.wire.buffers._varint_py import encode as encode
from kcodec.wire.buffers._varint_py import gather as gather
