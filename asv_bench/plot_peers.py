"""Draw what a run of the peers' benchmark measured: ``python plot_peers.py RESULTS.json [PLOT.svg]``.

The results are those of a benchmark that `peers/avro.py` is a plugin for. Of each project the fastest entry on one
thread counts; entries whose output was not what it should be are left out. A table for the README is printed.
"""

import json
import sys
from pathlib import Path
from typing import Any

#: What the entries of each project begin with; those on several threads are left out.
PROJECTS = {
    "kcodec": ("kcodec decode, 1", "kcodec encode, 1"),
    "arrow-avro": ("arrow-avro",),
    "pyruhvro": ("pyruhvro 1 thread", "pyruhvro.serialize_record_batch 1"),
    "polars": ("polars.read_avro",),
    "fastavro + pyarrow": (
        "fastavro.loop + RecordBatch",
        "fastavro.reader",
        "Arrow -> to_pylist -> fastavro",
    ),
}
COLORS = {"kcodec": "#c0392b"}


def fastest(entries: dict[str, dict[str, Any]]) -> dict[str, float]:
    """Give nanoseconds per record of each project."""
    found: dict[str, float] = {}
    for project, starts in PROJECTS.items():
        times = [
            entry["ns_per_rec"]
            for name, entry in entries.items()
            if name.startswith(starts) and entry.get("check") == "ok" and "ns_per_rec" in entry
        ]
        if times:
            found[project] = min(times)
    return found


def rows(result: dict[str, Any]) -> list[tuple[str, dict[str, float]]]:
    """Give what there is to draw: a title, and nanoseconds per project."""
    drawn = []
    for name, case in result["cases"].items():
        for direction in ("decode", "encode"):
            times = fastest(case.get(direction, {}))
            if "kcodec" in times and len(times) > 1:
                drawn.append((f"{direction} {name}, {case['bytes_per_record']:.0f} bytes a record", times))
    return drawn


def table(drawn: list[tuple[str, dict[str, float]]]) -> str:
    """Write the times as Markdown."""
    projects = [project for project in PROJECTS if any(project in times for _, times in drawn)]
    lines = [
        f"| ns per record | {' | '.join(projects)} |",
        f"|---|{'---:|' * len(projects)}",
    ]
    for title, times in drawn:
        cells = [f"{times[project]:,.0f}" if project in times else "" for project in projects]
        lines.append(f"| {title} | {' | '.join(cells)} |")
    return "\n".join(lines)


def draw(drawn: list[tuple[str, dict[str, float]]], result: dict[str, Any], file: Path) -> None:
    """Draw one group of bars for each case, on a logarithmic scale."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "kcodec"
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(
        len(drawn), 1, figsize=(8, 0.4 + 1.15 * len(drawn)), sharex=True, squeeze=False, layout="constrained"
    )
    for axis, (title, times) in zip(axes[:, 0], drawn, strict=True):
        names = list(times)[::-1]
        bars = axis.barh(
            names, [times[name] for name in names], color=[COLORS.get(n, "#8395a7") for n in names]
        )
        axis.bar_label(bars, [f"{times[name]:,.0f}" for name in names], padding=3, fontsize=8)
        axis.set_xscale("log")
        axis.margins(x=0.1)
        axis.set_xlim(left=10)
        axis.set_title(title, loc="left", fontsize=9)
        axis.tick_params(labelsize=8)
        axis.spines[["top", "right"]].set_visible(False)
    axes[-1, 0].set_xlabel("nanoseconds per record, one thread, median; less is better", fontsize=8)
    versions = ", ".join(
        f"{name} {result['versions'][name]}"
        for name in ("polars-avro", "pyruhvro", "polars", "fastavro", "pyarrow")
        if name in result["versions"]
    )
    figure.suptitle(f"{result['rows']:,} records; Python {result['python']}, {versions}", fontsize=8)
    figure.savefig(file, metadata={"Date": None})


def main() -> None:
    """Draw and print."""
    if len(sys.argv) not in (2, 3):
        raise SystemExit(__doc__)
    result = json.loads(Path(sys.argv[1]).read_text())
    file = Path(sys.argv[2] if len(sys.argv) == 3 else Path(__file__).parents[1] / "docs" / "peers.svg")
    drawn = rows(result)
    if not drawn:
        raise SystemExit("these results have nothing of kcodec to compare")
    draw(drawn, result, file)
    print(table(drawn))


if __name__ == "__main__":
    main()
