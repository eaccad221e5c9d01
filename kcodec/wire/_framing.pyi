from kcodec.wire._framing_py import join as join
from kcodec.wire._framing_py import join_heads as join_heads
from kcodec.wire._framing_py import split as split
from kcodec.wire._framing_py import split_heads as split_heads
