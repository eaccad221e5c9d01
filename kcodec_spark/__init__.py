"""Spark functions over kcodec, such as ``from_avro`` and ``to_avro`` without a jar, in classic and Connect sessions.

The names below are loaded when they are first used, so that a worker loads nothing but what its function needs; and
nothing of Spark is imported until a function is called.
"""

import sys
from types import ModuleType
from typing import TYPE_CHECKING

from kcodec._lazy import lazy_names
from kcodec.formats.table import spark_names

if TYPE_CHECKING:
    from kcodec_spark.avro import from_avro, to_avro
    from kcodec_spark.connect_json import from_connect_json, to_connect_json
    from kcodec_spark.dead_letters import dead_letters
    from kcodec_spark.debezium import unwrap
    from kcodec_spark.decimals import decimal_to_text, decode_decimal, encode_decimal, text_to_decimal
    from kcodec_spark.frames import decode, encode
    from kcodec_spark.json import from_json, to_json
    from kcodec_spark.json_schema import from_json_schema, to_json_schema
    from kcodec_spark.kafka import read_topic, register_kafka
    from kcodec_spark.ksql.functions import from_ksql, to_ksql
    from kcodec_spark.ksql.topics import (
        KsqlView,
        ksql_views,
        read_ksql,
        readStream_ksql,
        select_ksql,
        write_ksql,
    )
    from kcodec_spark.lag import consumer_lag
    from kcodec_spark.merge import merge_newest
    from kcodec_spark.metrics import metrics, schema_id
    from kcodec_spark.protobuf import from_protobuf, to_protobuf
    from kcodec_spark.protocol import decode_consumer_offsets, decode_transaction_state, from_kafka_message
    from kcodec_spark.register import register
    from kcodec_spark.schema import schema_of
    from kcodec_spark.segments.segment import register_segments
    from kcodec_spark.ship import ServerReport, check_server, ship
    from kcodec_spark.types.protobuf_layout import SparkLayout

__all__ = [
    "KsqlView",
    "ServerReport",
    "SparkLayout",
    "check_server",
    "consumer_lag",
    "dead_letters",
    "decimal_to_text",
    "decode",
    "decode_consumer_offsets",
    "decode_decimal",
    "decode_transaction_state",
    "encode",
    "encode_decimal",
    "from_avro",
    "from_connect_json",
    "from_json",
    "from_json_schema",
    "from_kafka_message",
    "from_ksql",
    "from_protobuf",
    "ksql_views",
    "merge_newest",
    "metrics",
    "readStream_ksql",
    "read_ksql",
    "read_topic",
    "register",
    "register_kafka",
    "register_segments",
    "schema_id",
    "schema_of",
    "select_ksql",
    "ship",
    "text_to_decimal",
    "to_avro",
    "to_connect_json",
    "to_json",
    "to_json_schema",
    "to_ksql",
    "to_protobuf",
    "unwrap",
    "write_ksql",
]


class _Package(ModuleType):
    """A package in which functions keep the names that they share with their modules, once these are imported."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in __all__ and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        ".dead_letters": ["dead_letters"],
        ".debezium": ["unwrap"],
        ".decimals": ["decimal_to_text", "decode_decimal", "encode_decimal", "text_to_decimal"],
        ".frames": ["decode", "encode"],
        ".json": ["from_json", "to_json"],
        ".kafka": ["read_topic", "register_kafka"],
        ".ksql.topics": [
            "KsqlView",
            "ksql_views",
            "readStream_ksql",
            "read_ksql",
            "select_ksql",
            "write_ksql",
        ],
        ".lag": ["consumer_lag"],
        ".merge": ["merge_newest"],
        ".metrics": ["metrics", "schema_id"],
        ".protocol": ["decode_consumer_offsets", "decode_transaction_state", "from_kafka_message"],
        ".register": ["register"],
        ".schema": ["schema_of"],
        ".segments.segment": ["register_segments"],
        ".ship": ["ServerReport", "check_server", "ship"],
        ".types.protobuf_layout": ["SparkLayout"],
    },
    spark_names(),
)
