"""The axes of ``growth.py``, by what is measured."""

from axes import columns, keys, registries, tasks, topics
from axes.axis import Axis

__all__ = ["AXES"]

AXES: dict[str, Axis] = {
    **columns.AXES,
    **registries.AXES,
    **topics.AXES,
    **keys.AXES,
    **tasks.AXES,
}
