"""Spark functions over kcodec: ``from_avro`` and ``to_avro`` without a jar, in classic and Connect sessions.

Nothing of Spark is imported until a function is called.
"""

from kcodec_spark.functions import from_avro, to_avro
from kcodec_spark.register import register
from kcodec_spark.ship import ServerReport, check_server, ship

__all__ = ["ServerReport", "check_server", "from_avro", "register", "ship", "to_avro"]
