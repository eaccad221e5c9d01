from kcodec.wire._endian_py import move as move
