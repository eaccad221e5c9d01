"""Where in a row a value stands that failed."""

from kcodec.formats.avro.rows._context cimport Context
from kcodec.plan._program cimport Program

cdef str failed_path(const Context *context, Program program)
