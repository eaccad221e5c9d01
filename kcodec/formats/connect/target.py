"""The columns that rows are read into, and the programs by which rows of each schema are read into them."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import pyarrow as pa

from kcodec._kept import Kept
from kcodec.errors import SchemaError
from kcodec.formats.connect.plan import Beyond, PlanOptions, decode_plan
from kcodec.formats.connect.schema import ConnectSchema
from kcodec.formats.json.kernel import kernel as json_kernel
from kcodec.plan import Limits

__all__ = ["MAX_TEXTS", "NO_SCHEMA", "NullTarget", "Reading", "Target"]

#: Bytes of the schemas whose readings are kept, or met in one block of rows: each makes a hundred bytes of them.
MAX_TEXTS = 4 << 20

NO_SCHEMA = "the row has no schema, and none was given to read it as"


class Reading(NamedTuple):
    """How rows of one schema are read; without a program, code and reason say why.

    The schema is None if its text is not one. The kind is that of the columns that the program makes: they are widened
    where the target's are wider.
    """

    schema: ConnectSchema | None
    program: Any
    code: str = ""
    reason: str = ""
    kind: pa.DataType | None = None


class Target:
    """The columns that rows are read into, with the readings of up to `max_readings` schemas that rows have.

    The row loop reads into the type `inner`: wide decimals that become text are decimals there.
    """

    def __init__(
        self,
        schema: ConnectSchema,
        kind: pa.DataType,
        options: PlanOptions,
        limits: Limits,
        max_readings: int,
        inner: pa.DataType | None = None,
    ) -> None:
        self.schema = schema
        self.kind = kind
        self.inner = kind if inner is None else inner
        self._options = options
        self._limits = limits
        self._readings: Kept[tuple[str, bytes], Reading] = Kept(max_readings, _size, MAX_TEXTS)

    def reading(self, text: bytes) -> Reading:
        """Return how rows with the text of a schema are read; without a text, the schema is the target's own."""
        module = json_kernel()
        return self._readings.get((module.__name__, text), lambda: self._compiled(module, text))

    def _compiled(self, module: Any, text: bytes) -> Reading:
        # A null without a schema is a null, whatever the schema of other rows.
        bare = replace(self.schema, optional=True, default=None) if text == b"null" else None
        writer = self.schema if not text else bare
        try:
            writer = writer or ConnectSchema.from_json(text, replace_null=self._options.replace_null)
            plan = decode_plan(writer, self.schema, self.inner, self._options)
            return Reading(writer, module.Program(plan, self._limits), kind=plan.arrow_type)
        except (SchemaError, Beyond) as error:
            return Reading(writer, None, "schema_error" if writer is None else "unresolvable", _shown(error))


class NullTarget(Target):
    """The column of nulls that rows are read into if none of them has a schema with an Arrow type.

    `check` raises `SchemaError` for the text of a schema that has no Arrow type.
    """

    def __init__(self, options: PlanOptions, limits: Limits, check: Callable[[bytes], object]) -> None:
        super().__init__(ConnectSchema("string", optional=True), pa.null(), options, limits, 1)
        self._check = check

    def reading(self, text: bytes) -> Reading:
        """Return how rows with the text of a schema are read: only rows without a schema have a program."""
        if text != b"null":
            try:
                self._check(text)
            except SchemaError as error:
                return Reading(None, None, "schema_error", _shown(error))
        return super().reading(text)


def _size(key: tuple[str, bytes]) -> int:
    return len(key[1])


def _shown(error: Exception) -> str:
    """Return an error's words as reports hold them: names of JSON may hold halves of surrogate pairs."""
    return str(error).encode(errors="backslashreplace").decode()
