#!/usr/bin/env python3
# SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
# SPDX-License-Identifier: Apache-2.0
"""Writes the README's table of measurements from recorded runs of gdr_bench.

report.py           rewrites the table
report.py --check   changes nothing, fails if the README's table is not what the records give

Records are gdr_bench's JSON files, bench/results/<gpu>/*.json. Where several hold the same row, the
newest counts. Figures of other libraries come from bench/peers.json.
"""

import argparse
import fnmatch
import json
import pathlib
import sys

BENCH = pathlib.Path(__file__).resolve().parent
BEGIN = "<!-- bench-table-begin -->"
END = "<!-- bench-table-end -->"
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
}
METHOD_WORDS = {
    "graph": "",
    "stream": ", launched one by one",
    "cold": ", one launch, cold L2",
}


class ReportError(Exception):
    """What is wrong with the files, in a sentence."""


class Row:
    """One measured row of one run."""

    def __init__(self, name, entry, context):
        self.name = name  # group/layer/shape/type/gates/method
        self.entry = entry
        self.context = context

    @property
    def group(self):
        return self.name.split("/", 1)[0]

    @property
    def problem(self):
        return self.name.split("/", 1)[1]

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
            name = row_name(entry)
            if name in rows and entry.get("run_type") != "aggregate":
                continue
            rows[name] = Row(name, entry, context)
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


def title(problem):
    """"value gate, log, 8x2048x16x128, bfloat16, slow gates" from a row's name."""
    layer, shape, element, gates, method = problem.split("/")
    axis, *words = layer.split("-")
    parts = ["no gate" if axis == "none" else f"{axis} gate"]
    parts += [GATE_WORDS.get(word, word) for word in words]
    size, _, sequences = shape.partition("-in-")
    parts.append(size + (f" in {sequences} sequences" if sequences else ""))
    parts.append(element)
    if gates in ("slow", "fast", "mixed"):
        parts.append(f"{gates} gates")
    elif gates == "resets":
        parts.append("with resets")
    return ", ".join(parts) + METHOD_WORDS[method]


def number(value):
    """Three significant digits, integers in full."""
    if value >= 100:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def best_peer(peers, row):
    found = [
        peer
        for peer in peers
        if peer["gpu"] == row.context["gpu"]
        and any(fnmatch.fnmatchcase(row.problem, pattern) for pattern in peer["rows"])
    ]
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


def gpu_section(rows, peers):
    """The table of one GPU, and under it where the numbers come from."""
    notes = []
    lines = []
    shown = [row for row in rows.values() if row.group == "forward"]
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
            f"| {title(row.problem)} | {number(row.floor_us)} | {number(row.time_us)} "
            f"| {100 * row.entry['copy_share']:.1f} % | {baseline_cell} | {peer_cell} |\n"
        )
    sources = {}
    for row in shown:
        context = row.context
        text = (
            f"{context['gpu']}, driver {context['driver']}, CUDA runtime "
            f"{context['cuda_runtime']}, nvcc {context['cuda_compiler']}, commit "
            f"{context['commit']}, {context['date'][:10]}: copy "
            f"{context['copy_bytes_per_second'] * 1e-9:.0f} GB/s, empty kernel in a graph "
            f"{context['empty_kernel_us']:.2f} us"
        )
        sources[text] = None
    text = HEADER + "".join(lines) + "\n"
    text += "".join(f"Measured on {source}.\n" for source in sources)
    text += "".join(f"[{i}] {note}.\n" for i, note in enumerate(notes, 1))
    return text


def make_report(results, peers_path):
    """Everything between the markers."""
    peers = json.loads(peers_path.read_text(encoding="utf-8"))["peers"]
    folders = sorted(p for p in results.iterdir() if p.is_dir()) if results.is_dir() else []
    sections = []
    for folder in folders:
        rows = read_gpu(folder)
        if any(row.group == "forward" for row in rows.values()):
            sections.append(gpu_section(rows, peers))
    if not sections:
        return "No measurements are recorded yet.\n"
    return "\n".join(sections)


def replace_table(readme, report):
    """The README's text with a new table between its markers."""
    once = readme.count(BEGIN) == 1 and readme.count(END) == 1
    if not once or readme.index(BEGIN) > readme.index(END):
        raise ReportError(f"the README must hold {BEGIN} and after it {END}, once each")
    before = readme[: readme.index(BEGIN) + len(BEGIN)]
    after = readme[readme.index(END) :]
    return f"{before}\n{report}{after}"


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="fail if the README is not current")
    parser.add_argument("--results", type=pathlib.Path, default=BENCH / "results")
    parser.add_argument("--peers", type=pathlib.Path, default=BENCH / "peers.json")
    parser.add_argument("--readme", type=pathlib.Path, default=BENCH.parent / "README.md")
    options = parser.parse_args(arguments)
    try:
        current = options.readme.read_text(encoding="utf-8")
        wanted = replace_table(current, make_report(options.results, options.peers))
    except (OSError, ReportError) as error:
        print(f"report.py: {error}", file=sys.stderr)
        return 1
    if options.check and wanted != current:
        print(f"report.py: the table in {options.readme} is not what the recorded results give; "
              "run bench/report.py", file=sys.stderr)
        return 1
    if not options.check:
        options.readme.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
