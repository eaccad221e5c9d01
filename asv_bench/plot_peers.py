"""Draw what runs of the peers' benchmark measured: ``python plot_peers.py RESULTS.json... [--plot PLOT.svg]``.

The results are those of a benchmark that `peers/avro.py` is a plugin for, each a run of its own; without any, those
kept in ``results/avro_peers``. What is drawn is processor time on one thread: a bar is the median of the runs' medians,
the line over it goes from the fastest run to the slowest. Of each project the fastest entry counts; entries whose
output was not what it should be are left out. A table is printed, with the same ranges.
"""

import argparse
import html
import json
import math
import statistics
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
#: What the entries of each project begin with; those on several threads are left out, and callers that repeat one call
#: without another contestant between: the peers are not measured so.
PROJECTS = {
    "kcodec": ("kcodec decode, 1 thread", "kcodec encode, 1 thread"),
    "arrow-avro": ("arrow-avro",),
    "pyruhvro": ("pyruhvro 1 thread", "pyruhvro.serialize_record_batch 1"),
    "polars": ("polars.read_avro",),
    "fastavro + pyarrow": (
        "fastavro.loop + RecordBatch",
        "fastavro.reader",
        "Arrow -> to_pylist -> fastavro",
    ),
}
#: The picture: how wide it is, where bars begin and the scale ends, and which powers of ten these are.
WIDTH, LEFT, RIGHT, FIRST, LAST = 600, 138, 552, 1, 5
#: How high what stands above the bars is, the title of a case, and a bar.
TOP, TITLE, BAR = 58, 34, 22
STYLE = """
text { font: 13px system-ui, sans-serif; fill: #1f2328 }
.case { font-weight: 600; font-size: 14px }
.note { font-size: 12px }
.project { text-anchor: end }
.power { text-anchor: middle; fill: #59636e }
rect { fill: #8c959f }
.ours { fill: #0969da }
.range { stroke: #1f2328; stroke-width: 1.5 }
.grid { stroke: #d1d9e0 }
@media (prefers-color-scheme: dark) {
  text { fill: #f0f6fc }
  .power { fill: #b1bac4 }
  rect { fill: #656c76 }
  .ours { fill: #388bfd }
  .range { stroke: #f0f6fc }
  .grid { stroke: #3d444d }
}
"""


def per_record(runs: list[dict[str, Any]], name: str, direction: str) -> dict[str, list[float]]:
    """Return nanoseconds per record of each project's fastest entry, one for each run, in ascending order."""
    found: dict[str, list[float]] = {}
    cases = [run["cases"][name] for run in runs if name in run["cases"]]
    first = cases[0].get(direction, {})
    for project, starts in PROJECTS.items():
        for entry in first:
            every = [case[direction].get(entry, {}) for case in cases]
            if entry.startswith(starts) and all(one.get("check") == "ok" for one in every):
                times = [
                    1e9 * one["cpu_median_s"] / case["rows"] for one, case in zip(every, cases, strict=True)
                ]
                if project not in found or statistics.median(times) < statistics.median(found[project]):
                    found[project] = sorted(times)
    return found


def rows(runs: list[dict[str, Any]]) -> list[tuple[str, dict[str, list[float]]]]:
    """Return what there is to draw: a title, and the times of projects."""
    drawn = []
    for name, case in runs[0]["cases"].items():
        for direction in ("decode", "encode"):
            times = per_record(runs, name, direction)
            if "kcodec" in times and len(times) > 1:
                drawn.append((f"{direction} {name}, {case['bytes_per_record']:.0f} bytes a record", times))
    return drawn


def table(drawn: list[tuple[str, dict[str, list[float]]]]) -> str:
    """Return the times as Markdown."""
    projects = [project for project in PROJECTS if any(project in times for _, times in drawn)]
    lines = [f"| ns per record | {' | '.join(projects)} |", f"|---|{'---:|' * len(projects)}"]
    for title, times in drawn:
        cells = [
            f"{statistics.median(found):,.0f} ({found[0]:,.0f} to {found[-1]:,.0f})" if found else ""
            for found in (times.get(project, []) for project in projects)
        ]
        lines.append(f"| {title} | {' | '.join(cells)} |")
    return "\n".join(lines)


def draw(drawn: list[tuple[str, dict[str, list[float]]]], runs: list[dict[str, Any]], file: Path) -> None:
    """Draw one group of bars for each case, on a logarithmic scale, in the colours of a light and a dark page."""
    first = runs[0]
    versions = ", ".join(
        f"{name} {first['versions'][name]}"
        for name in ("polars-avro", "pyruhvro", "polars", "fastavro", "pyarrow")
        if name in first["versions"]
    )
    parts = [
        _text("nanoseconds of processor time per record, in powers of ten; less is better", 4, 16, "note"),
        _text(f"medians of {len(runs)} runs of {first['rows']:,} records, one thread", 4, 34, "note"),
        _text(f"Python {first['python']}, {versions}", 4, 52, "note"),
    ]
    powers = [10**power for power in range(FIRST, LAST + 1)]
    y = TOP
    for title, times in drawn:
        parts.append(_text(title, 4, y + 22, "case"))
        y += TITLE
        lines = "".join(f"M{_across(power):.1f} {y}v{BAR * len(times)}" for power in powers)
        parts.append(f'<path class="grid" d="{lines}"/>')
        for project, found in times.items():
            middle = statistics.median(found)
            least, end, most = _across(found[0]), _across(middle), _across(found[-1])
            center = y + BAR / 2
            ours = _class("ours" if project == "kcodec" else "")
            parts += [
                _text(project, LEFT - 8, y + 15, "project"),
                f'<rect{ours} x="{LEFT}" y="{y + 3}" width="{end - LEFT:.1f}" height="{BAR - 6}"/>',
                f'<path class="range" d="M{least:.1f} {center}H{most:.1f}"/>',
                _text(f"{middle:,.0f}", most + 6, y + 15),
            ]
            y += BAR
    scale = [_text(f"{power:,}", _across(power), y + 20, "power") for power in powers]
    svg = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{y + 28}"'
        f' viewBox="0 0 {WIDTH} {y + 28}" role="img" aria-labelledby="t">',
        '<title id="t">Processor time per record of kcodec and its peers; the shorter bar is the faster</title>',
        f"<style>{STYLE}</style>",
        *parts,
        *scale,
        "</svg>\n",
    ]
    file.write_text("\n".join(svg), encoding="utf-8")


def _across(time: float) -> float:
    """Return where a time is on the scale."""
    return LEFT + (RIGHT - LEFT) * (math.log10(time) - FIRST) / (LAST - FIRST)


def _text(text: str, x: float, y: float, kind: str = "") -> str:
    return f'<text{_class(kind)} x="{x:.1f}" y="{y}">{html.escape(text)}</text>'


def _class(name: str) -> str:
    return f' class="{name}"' if name else ""


def main() -> None:
    """Draw and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("results", nargs="*", type=Path)
    parser.add_argument("--plot", type=Path, default=HERE.parent / "docs" / "benchmarks.svg")
    given = parser.parse_args()
    files = given.results or sorted((HERE / "results" / "avro_peers").glob("*.json"))
    runs = [json.loads(file.read_text()) for file in files]
    drawn = rows(runs) if runs else []
    if not drawn:
        raise SystemExit("these results have nothing of kcodec to compare")
    draw(drawn, runs, given.plot)
    print(table(drawn))


if __name__ == "__main__":
    main()
