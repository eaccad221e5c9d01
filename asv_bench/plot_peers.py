"""Draw what runs of the peers' benchmark measured: ``python plot_peers.py RESULTS.json... [--plot PLOT.svg]``.

The results are those of a benchmark that `peers/avro.py` is a plugin for, each a run of its own; without any, those
kept in ``results/avro_peers``. What is drawn is processor time on one thread: a bar is the median of the runs' medians,
the line over it goes from the fastest run to the slowest. Of each project the fastest entry counts; entries whose
output was not what it should be are left out. A table is printed, with the same ranges.
"""

import argparse
import json
import statistics
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
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
    """Draw one group of bars for each case, on a logarithmic scale."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams |= {"svg.hashsalt": "kcodec", "svg.fonttype": "none"}
    from matplotlib import pyplot as plt

    bars_of = [len(times) for _, times in drawn]
    figure, axes = plt.subplots(
        len(drawn),
        1,
        figsize=(8, 0.4 + 0.45 * len(drawn) + 0.22 * sum(bars_of)),
        height_ratios=[1 + count for count in bars_of],
        sharex=True,
        squeeze=False,
        layout="constrained",
    )
    slowest = max(found[-1] for _, times in drawn for found in times.values())
    for axis, (title, times) in zip(axes[:, 0], drawn, strict=True):
        names = list(times)[::-1]
        middles = [statistics.median(times[name]) for name in names]
        reach = [
            [middle - times[name][0] for name, middle in zip(names, middles, strict=True)],
            [times[name][-1] - middle for name, middle in zip(names, middles, strict=True)],
        ]
        colors = [COLORS.get(name, "#8395a7") for name in names]
        bars = axis.barh(names, middles, xerr=reach, color=colors, error_kw={"capsize": 2, "elinewidth": 0.8})
        axis.bar_label(bars, [f"{middle:,.0f}" for middle in middles], padding=5, fontsize=8)
        axis.set_xscale("log")
        axis.set_xlim(10, 4 * slowest)
        axis.set_title(title, loc="left", fontsize=9)
        axis.tick_params(labelsize=8)
        axis.spines[["top", "right"]].set_visible(False)
    axes[-1, 0].set_xlabel(
        f"nanoseconds of processor time per record, one thread; {len(runs)} runs; less is better", fontsize=8
    )
    first = runs[0]
    versions = ", ".join(
        f"{name} {first['versions'][name]}"
        for name in ("polars-avro", "pyruhvro", "polars", "fastavro", "pyarrow")
        if name in first["versions"]
    )
    figure.suptitle(f"{first['rows']:,} records; Python {first['python']}, {versions}", fontsize=8)
    figure.savefig(file, metadata={"Date": None})


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
