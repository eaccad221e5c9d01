from kcodec.wire.buffers._endian_py import move as move
