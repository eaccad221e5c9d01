from kcodec.wire.buffers._utf8_py import validate as validate
