#!/usr/bin/env python3
# SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
# SPDX-License-Identifier: Apache-2.0
"""Writes what the README says of measurements from recorded runs, and draws the charts.

report.py           rewrites the README's sections and bench/results/<gpu>/chart.svg
report.py --check   changes nothing, fails if README or charts are not what the records give

Records are gdr_bench's JSON files, bench/results/<gpu>/*.json. Where several hold the same row, the
newest counts. Figures of other libraries come from bench/peers.json, the cost of compiling from
bench/results/compile_cost.json.
"""

import argparse
import fnmatch
import json
import os
import pathlib
import re
import sys

import chart
import extents

BENCH = pathlib.Path(__file__).resolve().parent
SECTIONS = ("bench-chart", "bench-table", "compile-cost")
HEADER = (
    "| forward | floor us | measured us | share of the copy rate | baseline us | best peer us |\n"
    "| --- | ---: | ---: | ---: | ---: | ---: |\n"
)
GATE_WORDS = {
    "linear": "linear",
    "log": "log",
    "sigmoid": "sigmoid of a logit",
    "softplus": "softplus decay of a logit",
    "delta": "delta rule",
    "gate32": "float32 gate",
}
GATES_WORDS = {
    "slow": ", slow gates",
    "fast": ", fast gates",
    "mixed": ", mixed gates",
    "signed": ", signed gates",
    "resets": ", with resets",
    "channel-resets": ", with resets of single channels",
}
METHOD_WORDS = {
    "graph": "",
    "stream": ", launched one by one",
    "cold": ", one launch, cold L2",
}
# The library's rows name the form, as a part anywhere after the group. Records from before there
# was more than one do not.
ONLY_FORM = "recurrent"
ALGORITHM_WORDS = {
    "automatic": "",
    ONLY_FORM: ", recurrent form",
    "chunked": ", chunked form",
    "chunked_split": ", chunked form, sequences split",
    "by_length": ", both forms, by length",
}
# What is charted: shapes of one layer, with the size that varies in brackets.
CHART_LAYER = "value-log"
CHART_REST = "bfloat16/slow/graph"
CHART_HEADING = "Time of one forward pass: value gate in log space, bfloat16"
SWEEPS = (
    ("64 heads of 128, batch 1", "tokens T", re.compile(r"1x(\d+)x64x128")),
    ("8192 tokens, heads of 128, batch 1", "heads H", re.compile(r"1x8192x(\d+)x128")),
)


class ReportError(Exception):
    """What is wrong with the files, in a sentence."""


class Row:
    """One measured row of one run."""

    def __init__(self, name, entry, context):
        self.entry = entry
        self.context = context
        self.group, *parts = name.split("/")
        named = [part for part in parts if part in ALGORITHM_WORDS]
        self.problem = "/".join(part for part in parts if part not in ALGORITHM_WORDS)
        self.algorithm = named[0] if named else ONLY_FORM if self.group == "forward" else ""
        # group/layer/shape/type/gates/method, and the algorithm if there is a choice.
        self.name = "/".join(part for part in (self.group, self.problem, self.algorithm) if part)

    @property
    def time_us(self):
        scale = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6}[self.entry["time_unit"]]
        return self.entry["real_time"] * scale

    @property
    def floor_us(self):
        """Bytes at the copy rate of the same run, and no less than an empty kernel takes."""
        return max(self.entry["floor_us"], self.context["empty_kernel_us"])


def row_name(entry):
    """The name without what Google Benchmark appends to it."""
    parts = entry["run_name"].split("/")
    return "/".join(p for p in parts if p != "manual_time" and ":" not in p)


def read_run(path):
    """The context of a recorded file and its rows by name; a row's median where it was repeated."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        context = record["context"]
        for key in ("gpu", "driver", "cuda_runtime", "cuda_compiler", "commit", "date"):
            if context[key] in ("", "unknown"):
                raise ReportError(f"{path}: context names no {key}")
        rows = {}
        for entry in record["benchmarks"]:
            if entry.get("error_occurred"):
                print(f"{path}: {entry['name']}: {entry['error_message']}", file=sys.stderr)
                continue
            if entry.get("run_type") == "aggregate" and entry["aggregate_name"] != "median":
                continue
            row = Row(row_name(entry), entry, context)
            if row.name in rows and entry.get("run_type") != "aggregate":
                continue
            rows[row.name] = row
    except (KeyError, TypeError, ValueError) as error:
        raise ReportError(f"{path}: not a record of gdr_bench ({error!r})") from error
    return context, rows


def read_gpu(folder):
    """All rows recorded on one GPU, the newest of each, and the contexts they come from."""
    runs = [read_run(path) for path in sorted(folder.glob("*.json"))]
    runs.sort(key=lambda run: run[0]["date"])
    gpus = {context["gpu"] for context, _ in runs}
    if len(gpus) > 1:
        raise ReportError(f"{folder}: records of several GPUs: {', '.join(sorted(gpus))}")
    rows = {}
    for _, run_rows in runs:
        rows.update(run_rows)
    return rows


def title(problem, algorithm="automatic"):
    """"value gate, log, 8x2048x16x128, bfloat16, slow gates" from a row's name."""
    try:
        layer, shape, element, gates, method = problem.split("/")
        method_words = METHOD_WORDS[method]
    except (ValueError, KeyError) as error:
        raise ReportError(f"{problem}: not layer/shape/type/gates/method") from error
    axis, *words = layer.split("-")
    parts = ["no gate" if axis == "none" else f"{axis} gate"]
    parts += [GATE_WORDS.get(word, word) for word in words]
    size, _, sequences = shape.partition("-in-")
    parts.append(size + (f" in {sequences.replace('-', ' ')} sequences" if sequences else ""))
    parts.append(element)
    words = GATES_WORDS.get(gates, "") + ALGORITHM_WORDS[algorithm] + method_words
    return ", ".join(parts) + words


def number(value):
    """Three significant digits, integers in full."""
    if value >= 100:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def peers_of(peers, gpu, problem):
    return [
        peer
        for peer in peers
        if peer["gpu"] == gpu
        and any(fnmatch.fnmatchcase(problem, pattern) for pattern in peer["rows"])
    ]


def best_peer(peers, row):
    found = peers_of(peers, row.context["gpu"], row.problem)
    return min(found, key=lambda peer: peer["us"], default=None)


def best_baseline(rows, row):
    found = [
        (rows[name].time_us, name.split("/")[0].removeprefix("baseline-"))
        for name in (f"baseline-{where}/{row.problem}" for where in ("shared", "registers"))
        if name in rows
    ]
    return min(found, default=None)


def peer_text(peer):
    text = f"{peer['peer']} ({peer['versions']})"
    return text + (", its source's own figure" if "source" in peer else "")


def sweep_size(pattern, problem):
    """The size that a chart's panel has on its axis, if the problem belongs there."""
    layer, shape, rest = (problem.split("/", 2) + ["", ""])[:3]
    found = pattern.fullmatch(shape)
    return int(found[1]) if found and layer == CHART_LAYER and rest == CHART_REST else None


def rows_over(pattern, rows):
    """The forward rows of a panel as (size, row), by size."""
    found = [(sweep_size(pattern, row.problem), row) for row in rows if row.group == "forward"]
    return sorted((pair for pair in found if pair[0] is not None), key=lambda pair: pair[0])


def is_charted(rows):
    """Whether there is a line to draw: two sizes in one of the panels."""
    return any(len({x for x, _ in rows_over(pattern, rows)}) > 1 for _, _, pattern in SWEEPS)


def peer_series(peers, gpu, pattern, sizes):
    """Points of each peer by name, at the sizes recorded here and at those of its own figures."""
    points = {}
    named = {p.replace("*", "") for peer in peers for p in peer["rows"]}
    shapes = {shape for name in named for shape in name.split("/")[1:2]}
    known = {int(found[1]) for found in map(pattern.fullmatch, shapes) if found}
    for size in sorted(known | set(sizes)):
        shape = pattern.pattern.replace(r"(\d+)", str(size))
        for peer in peers_of(peers, gpu, f"{CHART_LAYER}/{shape}/{CHART_REST}"):
            name = peer["peer"] + (", its own figure" if "source" in peer else "")
            line = points.setdefault(name, {})
            line[size] = min(peer["us"], line.get(size, peer["us"]))
    return {name: sorted(line.items()) for name, line in points.items()}


def make_chart(rows, peers):
    """The SVG of one GPU's rows, or None."""
    rows = list(rows.values())
    if not is_charted(rows):
        return None
    gpu = rows[0].context["gpu"]
    peer_styles = {}
    panels = []
    for title_text, x_label, pattern in SWEEPS:
        found = rows_over(pattern, rows)
        if not found:
            continue
        series = []
        forms = [name for name in ALGORITHM_WORDS if any(r.algorithm == name for _, r in found)]
        for name in forms:
            points = [(x, row.time_us) for x, row in found if row.algorithm == name]
            label = "gdr" + ALGORITHM_WORDS[name]
            index = list(ALGORITHM_WORDS).index(name) - 1
            series.append(chart.Series(label, f"form-{index}" if index >= 0 else "ours", points))
        floor = sorted({x: row.floor_us for x, row in found}.items())
        series.append(chart.Series("floor: its bytes at the copy rate", "floor", floor))
        for name, points in peer_series(peers, gpu, pattern, [x for x, _ in found]).items():
            style = peer_styles.setdefault(name, f"peer-{len(peer_styles) % 4}")
            series.append(chart.Series(name, style, points))
        panels.append(chart.Panel(title_text, x_label, series))
    return chart.draw(f"{CHART_HEADING}, {gpu}", panels)


def is_in_table(row, charted, peers):
    """Rows of a chart are left to it, but for those that others have a figure for; extents have a
    table of their own."""
    if extents.extents_of(row):
        return False
    on_chart = charted and any(sweep_size(p, row.problem) is not None for _, _, p in SWEEPS)
    return not on_chart or best_peer(peers, row) is not None


def gpu_section(rows, peers):
    """The table of one GPU, and under it where the numbers come from."""
    notes = []
    lines = []
    forward = [row for row in rows.values() if row.group == "forward"]
    charted = is_charted(forward)
    shown = [row for row in forward if is_in_table(row, charted, peers)]
    for row in shown:
        baseline = best_baseline(rows, row)
        baseline_cell = f"{number(baseline[0])} ({baseline[1]})" if baseline else "-"
        peer = best_peer(peers, row)
        peer_cell = "-"
        if peer:
            text = peer_text(peer)
            if text not in notes:
                notes.append(text)
            peer_cell = f"{number(peer['us'])} [{notes.index(text) + 1}]"
        lines.append(
            f"| {title(row.problem, row.algorithm)} | {number(row.floor_us)} "
            f"| {number(row.time_us)} | {100 * row.entry['copy_share']:.1f} % | {baseline_cell} "
            f"| {peer_cell} |\n"
        )
    sources = {}
    for row in forward:
        context = row.context
        text = (
            f"{context['gpu']}, driver {context['driver']}, CUDA runtime "
            f"{context['cuda_runtime']}, nvcc {context['cuda_compiler']}, commit "
            f"{context['commit']}, {context['date'][:10]}: copy "
            f"{context['copy_bytes_per_second'] * 1e-9:.0f} GB/s, empty kernel in a graph "
            f"{context['empty_kernel_us']:.2f} us"
        )
        sources[text] = None
    text = HEADER + "".join(lines) + "\n" + extents.table(forward, number)
    text += "".join(f"Measured on {source}.\n" for source in sources)
    text += "".join(f"[{i}] {note}.\n" for i, note in enumerate(notes, 1))
    return text


def compile_cost_text(path):
    """What a user pays for the include and for each layer type."""
    if not path.is_file():
        return "No compilations are recorded yet.\n"
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        context = record["context"]
        base, *layers = record["instantiations"]
        seconds = [entry["cpu_seconds"] - base["cpu_seconds"] for entry in layers]
        kib = [(entry["object_bytes"] - base["object_bytes"]) / 1024 for entry in layers]
        least, most = (layers[seconds.index(f(seconds))]["name"] for f in (min, max))
        text = (
            f"Including `gdr/gated_delta.cuh` takes {number(base['cpu_seconds'])} s of one core. "
            f"Each layer type whose `forward` is called adds {number(min(seconds))} s ({least}) to "
            f"{number(max(seconds))} s ({most}), and {min(kib):.0f} to {max(kib):.0f} KiB of object"
        )
        source = (
            f"nvcc {context['cuda_compiler']}, {context['host_compiler']}, "
            f"{context['architecture']}, commit {context['commit']}, {context['date'][:10]}"
        )
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise ReportError(f"{path}: not a record of compile_cost.py ({error!r})") from error
    return f"{text} ({source}).\n"


def make_report(results, peers_path, readme):
    """The README's sections by name, and the charts' texts by path."""
    peers = json.loads(peers_path.read_text(encoding="utf-8"))["peers"]
    folders = sorted(p for p in results.iterdir() if p.is_dir()) if results.is_dir() else []
    tables, images, charts = [], [], {}
    for folder in folders:
        rows = read_gpu(folder)
        if not any(row.group == "forward" for row in rows.values()):
            continue
        tables.append(gpu_section(rows, peers))
        svg = make_chart(rows, peers)
        if svg is not None:
            path = folder / "chart.svg"
            charts[path] = svg
            link = pathlib.Path(os.path.relpath(path, readme.parent)).as_posix()
            images.append(f"![Time over tokens and heads, with floor and peers]({link})\n")
    sections = {
        "bench-chart": "\n".join(images),
        "bench-table": "\n".join(tables) or "No measurements are recorded yet.\n",
        "compile-cost": compile_cost_text(results / "compile_cost.json"),
    }
    return sections, charts


def replace_section(readme, name, text):
    """The README's text with a new one between a section's markers."""
    begin, end = f"<!-- {name}-begin -->", f"<!-- {name}-end -->"
    once = readme.count(begin) == 1 and readme.count(end) == 1
    if not once or readme.index(begin) > readme.index(end):
        raise ReportError(f"the README must hold {begin} and after it {end}, once each")
    before = readme[: readme.index(begin) + len(begin)]
    after = readme[readme.index(end) :]
    return f"{before}\n{text}{after}"


def wanted_files(options):
    """What each file that this script writes must hold, by path."""
    sections, files = make_report(options.results, options.peers, options.readme)
    text = options.readme.read_text(encoding="utf-8")
    for name in SECTIONS:
        text = replace_section(text, name, sections[name])
    return {options.readme: text, **files}


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="fail if a file is not current")
    parser.add_argument("--results", type=pathlib.Path, default=BENCH / "results")
    parser.add_argument("--peers", type=pathlib.Path, default=BENCH / "peers.json")
    parser.add_argument("--readme", type=pathlib.Path, default=BENCH.parent / "README.md")
    options = parser.parse_args(arguments)
    try:
        files = wanted_files(options)
        stale = [path for path, text in files.items()
                 if not path.is_file() or path.read_text(encoding="utf-8") != text]
    except (OSError, ReportError) as error:
        print(f"report.py: {error}", file=sys.stderr)
        return 1
    if not options.check:
        for path in stale:
            path.write_text(files[path], encoding="utf-8")
        return 0
    for path in stale:
        print(f"report.py: {path} is not what the recorded results give; run bench/report.py",
              file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
