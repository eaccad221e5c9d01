from kcodec.wire.buffers._decimal_py import from_slots as from_slots
from kcodec.wire.buffers._decimal_py import from_text as from_text
from kcodec.wire.buffers._decimal_py import to_slots as to_slots
from kcodec.wire.buffers._decimal_py import to_text as to_text
