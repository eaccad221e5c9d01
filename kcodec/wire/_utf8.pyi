from kcodec.wire._utf8_py import validate as validate
