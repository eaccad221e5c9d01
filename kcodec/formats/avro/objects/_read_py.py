"""Avro binary to Python objects in plain Python: by columns, as what `_read` makes is to be."""

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from kcodec.errors import Fault
from kcodec.formats.avro.kernel import kernel
from kcodec.formats.avro.plans.node import AvroNode, Op
from kcodec.objects.by_columns import ArrayReader
from kcodec.objects.form import ObjectForm
from kcodec.objects.shape import shaped
from kcodec.plan.node import Limits, Plan
from kcodec.plan.programs import Programs

__all__ = ["ObjectReader"]


class ObjectReader:
    """Reads payloads of a plan as Python objects; see `kcodec.objects.kernel.Reader`."""

    told = False

    def __init__(
        self,
        plan: Plan,
        limits: Limits = Limits(),  # noqa: B008
        form: ObjectForm = ObjectForm(),  # noqa: B008
        *,
        trailing: bool = False,
    ) -> None:
        self._program = Programs(plan, limits)
        self._trailing = trailing
        unions = frozenset(each for root in (plan.root, *dict(plan.named).values()) for each in _unions(root))
        columns = ArrayReader(self._decode, floor=form.floor)
        self._reader = shaped(columns, plan.arrow_type, form._replace(floor=False), unions)

    def _decode(
        self, values: pa.Array, numbers: Any, places: Any, stop: bool
    ) -> tuple[pa.Array, Sequence[Fault]]:
        module = kernel()
        program = self._program.compiled(module)
        return module.decode(
            values, [program], selector=numbers, starts=places, trailing=self._trailing, stop=stop
        )

    def decode_one(self, data: Any, start: int = 0) -> Any:
        """Read one payload."""
        return None if data is None else self._reader.decode_one(bytes(memoryview(data)), start)

    def decode_list(
        self, values: list[Any], starts: Sequence[int] | None = None, stop: bool = False
    ) -> tuple[list[Any], list[Fault]]:
        """Read many."""
        payloads = [None if data is None else bytes(memoryview(data)) for data in values]
        return self._reader.decode_list(payloads, starts, stop)


def _unions(node: AvroNode) -> Iterator[int]:
    """Return the columns of unions whose members have columns of their own."""
    if node.op is Op.MEMBER:
        yield node.column
    for child in node.children:
        yield from _unions(child)
