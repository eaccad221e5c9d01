"""Pictures of how cost grows, one for each axis of ``growth.py``: both axes logarithms, so that a slope is a power."""

import html
import math
from collections.abc import Sequence
from typing import Any

__all__ = ["picture", "slope"]

#: Pictures in a row; each one's width and height, and where its lines begin and end.
_ACROSS, _WIDTH, _HEIGHT = 3, 300, 200
_LEFT, _RIGHT, _TOP, _BOTTOM = 48, 280, 50, 170
_STYLE = """
text { font: 11px system-ui, sans-serif; fill: #1f2328 }
.title { font-weight: 600; font-size: 12px }
.quiet { fill: #59636e }
.end { text-anchor: end }
.middle { text-anchor: middle }
path { fill: none }
.grid { stroke: #d1d9e0 }
.ours { stroke: #0969da; stroke-width: 2 }
.peer { stroke: #8c959f; stroke-width: 2; stroke-dasharray: 5 3 }
@media (prefers-color-scheme: dark) {
  text { fill: #f0f6fc }
  .quiet { fill: #b1bac4 }
  .grid { stroke: #3d444d }
  .ours { stroke: #388bfd }
  .peer { stroke: #8b949e }
}
"""


def slope(points: list[tuple[int, float]]) -> float:
    """Return the slope of the line nearest to the last three points, both axes being logarithms."""
    pairs = [(math.log(size), math.log(seconds)) for size, seconds in points[-3:]]
    middle = [sum(each) / len(pairs) for each in zip(*pairs, strict=True)]
    across = sum((x - middle[0]) ** 2 for x, _ in pairs)
    return sum((x - middle[0]) * (y - middle[1]) for x, y in pairs) / across if across else math.nan


def picture(drawn: Sequence[tuple[str, str, Any]]) -> str:
    """Return an SVG of axes: of each a title, the peer's name and what was measured."""
    rows = -(-len(drawn) // _ACROSS)
    width, height = _ACROSS * _WIDTH, rows * _HEIGHT
    parts = [
        f'<g transform="translate({number % _ACROSS * _WIDTH} {number // _ACROSS * _HEIGHT})">{_axis(*each)}</g>'
        for number, each in enumerate(drawn)
    ]
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        'role="img" aria-labelledby="t"><title id="t">Processor time of a call as its work grows, axis by axis</title>'
    )
    return "\n".join([head, f"<style>{_STYLE}</style>", *parts, "</svg>\n"])


def _axis(title: str, peer: str, found: Any) -> str:
    every = [*found.points, *found.peer]
    sizes, times = [size for size, _ in every], [seconds for _, seconds in every]
    across, up = _scale(sizes, _LEFT, _RIGHT), _scale(times, _BOTTOM, _TOP)
    beside = f", {peer} dashed" if peer else ""
    parts = [
        _text(title, 4, 16, "title"),
        _text(f"slope {round(slope(found.points), 1) + 0:.1f}{beside}", 4, 32, "quiet"),
    ]
    for power in _powers(times):
        y = up(10.0**power)
        parts.append(f'<path class="grid" d="M{_LEFT} {y:.1f}H{_RIGHT}"/>')
        parts.append(_text(_duration(power), _LEFT - 5, y + 4, "quiet end"))
    for power in _powers(sizes):
        x = across(10.0**power)
        parts.append(f'<path class="grid" d="M{x:.1f} {_TOP}V{_BOTTOM}"/>')
        parts.append(_text(f"1e{power}" if power > 3 else str(10**power), x, _BOTTOM + 15, "quiet middle"))
    for kind, points in (("peer", found.peer), ("ours", found.points)):
        if points:
            line = "L".join(f"{across(size):.1f} {up(seconds):.1f}" for size, seconds in points)
            parts.append(f'<path class="{kind}" d="M{line}"/>')
    return "".join(parts)


def _powers(values: Sequence[float]) -> range:
    """Return the powers of ten around some values; every other one where there are many."""
    first, last = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return range(first, max(last, first + 1) + 1, 2 if last - first > 5 else 1)


def _scale(values: Sequence[float], start: float, end: float) -> Any:
    powers = _powers(values)
    first = powers[0]
    last = max(powers[-1], math.ceil(math.log10(max(values))))
    return lambda value: start + (end - start) * (math.log10(value) - first) / (last - first)


def _duration(power: int) -> str:
    for unit, of in (("s", 0), ("ms", -3), ("µs", -6)):
        if power >= of:
            return f"{10 ** (power - of)} {unit}"
    return f"1e{power} s"


def _text(text: str, x: float, y: float, kind: str) -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{html.escape(text)}</text>'
