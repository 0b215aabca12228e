#!/usr/bin/env python3
# SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
# SPDX-License-Identifier: Apache-2.0
"""Tests of report.py on made-up records."""

import contextlib
import io
import json
import pathlib
import tempfile
import unittest
import xml.etree.ElementTree

import chart
import report

PROBLEM = "value-log/8x2048x16x128/bfloat16/slow/graph"
SUFFIX = "/iterations:1/manual_time"


def make_context(**changes):
    context = {
        "date": "2026-11-29T10:00:00Z",
        "commit": "abc",
        "gpu": "Some GPU",
        "driver": "1.2.3",
        "cuda_runtime": "13.0",
        "cuda_compiler": "13.0.88",
        "copy_bytes_per_second": 4e12,
        "empty_kernel_us": 0.5,
    }
    return {**context, **changes}


def make_entry(name, us, **changes):
    entry = {
        "name": name + SUFFIX,
        "run_name": name + SUFFIX,
        "run_type": "iteration",
        "real_time": us,
        "time_unit": "us",
        "floor_us": 80.0,
        "copy_share": 0.125,
    }
    return {**entry, **changes}


class ReportTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.readme = self.root / "README.md"
        sections = "".join(f"<!-- {name}-begin -->\n<!-- {name}-end -->\n"
                           for name in report.SECTIONS)
        self.readme.write_text(f"above\n{sections}below\n")
        self.write_peers([])

    def write_peers(self, peers):
        (self.root / "peers.json").write_text(json.dumps({"peers": peers}))

    def record(self, name, context, entries):
        path = self.root / "results" / "gpu" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"context": context, "benchmarks": entries}))

    def run_report(self, *options):
        paths = ["--results", str(self.root / "results"), "--peers", str(self.root / "peers.json")]
        self.errors = io.StringIO()
        with contextlib.redirect_stderr(self.errors):
            return report.main([*paths, "--readme", str(self.readme), *options])

    def line(self, start):
        lines = [text for text in self.readme.read_text().splitlines() if text.startswith(start)]
        self.assertEqual(len(lines), 1, lines)
        return lines[0]

    def test_a_row_with_its_baseline_and_its_best_peer(self):
        peer = {"rows": ["value-*/8x2048x16x128/*"], "gpu": "Some GPU", "versions": "v1"}
        self.write_peers([
            {**peer, "peer": "slower", "us": 4000},
            {**peer, "peer": "faster", "us": 975},
            {**peer, "peer": "elsewhere", "us": 1, "gpu": "Other GPU"},
            {**peer, "peer": "other shape", "us": 1, "rows": ["value-*/1x8192x64x128/*"]},
        ])
        self.record("a.json", make_context(), [
            make_entry("copy/graph", 500),
            make_entry(f"forward/{PROBLEM}", 640),
            make_entry(f"baseline-shared/{PROBLEM}", 3000),
            make_entry(f"baseline-registers/{PROBLEM}", 2500),
        ])
        self.assertEqual(self.run_report(), 0)
        self.assertEqual(
            self.line("| value gate"),
            "| value gate, log, 8x2048x16x128, bfloat16, slow gates, recurrent form "
            "| 80.0 | 640 | 12.5 % | 2500 (registers) | 975 [1] |")
        self.assertEqual(self.line("[1]"), "[1] faster (v1).")
        self.assertEqual(
            self.line("Measured on"),
            "Measured on Some GPU, driver 1.2.3, CUDA runtime 13.0, nvcc 13.0.88, commit abc, "
            "2026-11-29: copy 4000 GB/s, empty kernel in a graph 0.50 us.")
        text = self.readme.read_text()
        self.assertTrue(text.startswith("above\n") and text.endswith("\nbelow\n"))
        self.assertNotIn("| copy", text)

    def test_an_empty_kernel_bounds_the_floor(self):
        entry = make_entry("forward/value-linear/2x128x4x24/float32/slow/cold", 5, floor_us=0.1)
        self.record("a.json", make_context(), [entry])
        self.assertEqual(self.run_report(), 0)
        self.assertIn("slow gates, recurrent form, one launch, cold L2 | 0.50 | 5.00 |",
                      self.line("| value gate"))

    def test_the_newest_record_of_a_row_counts(self):
        later = make_context(date="2026-12-01T00:00:00Z", commit="def")
        self.record("a.json", later, [make_entry(f"forward/{PROBLEM}", 500)])
        other = PROBLEM.replace("slow", "fast")
        self.record("b.json", make_context(), [
            make_entry(f"forward/{PROBLEM}", 700),
            make_entry(f"forward/{other}", 650),
        ])
        self.assertEqual(self.run_report(), 0)
        text = self.readme.read_text()
        self.assertIn("slow gates, recurrent form | 80.0 | 500 |", text)
        self.assertIn("fast gates, recurrent form | 80.0 | 650 |", text)
        self.assertIn("commit abc", text)
        self.assertIn("commit def", text)

    def test_repetitions_count_by_their_median(self):
        name = f"forward/{PROBLEM}"
        self.record("a.json", make_context(), [
            make_entry(name, 600),
            make_entry(name, 700),
            make_entry(name, 640, run_type="aggregate", aggregate_name="median"),
            make_entry(name, 9, run_type="aggregate", aggregate_name="stddev"),
        ])
        self.assertEqual(self.run_report(), 0)
        self.assertIn("| 640 |", self.line("| value gate"))

    def test_a_failed_row_is_named_and_left_out(self):
        failed = {"name": "forward/x", "error_occurred": True, "error_message": "wrong output"}
        self.record("a.json", make_context(), [failed, make_entry(f"forward/{PROBLEM}", 640)])
        self.assertEqual(self.run_report(), 0)
        self.assertIn("forward/x: wrong output", self.errors.getvalue())
        self.line("| value gate")

    def test_check_fails_until_the_readme_is_current(self):
        self.record("a.json", make_context(), [make_entry(f"forward/{PROBLEM}", 640)])
        before = self.readme.read_text()
        self.assertEqual(self.run_report("--check"), 1)
        self.assertEqual(self.readme.read_text(), before)
        self.assertEqual(self.run_report(), 0)
        self.assertEqual(self.run_report("--check"), 0)
        self.readme.write_text(self.readme.read_text().replace("| 640 |", "| 64 |"))
        self.assertEqual(self.run_report("--check"), 1)

    def test_a_readme_without_markers_is_refused(self):
        self.readme.write_text("nothing\n")
        self.assertEqual(self.run_report(), 1)
        self.assertEqual(self.readme.read_text(), "nothing\n")

    def test_a_record_must_name_driver_and_commit(self):
        for key, value in (("driver", ""), ("commit", "unknown")):
            context = make_context(**{key: value})
            self.record("a.json", context, [make_entry(f"forward/{PROBLEM}", 640)])
            self.assertEqual(self.run_report(), 1)
            self.assertIn(f"names no {key}", self.errors.getvalue())

    def test_no_records_yet(self):
        self.assertEqual(self.run_report(), 0)
        self.assertIn("No measurements are recorded yet.", self.readme.read_text())

    def test_titles(self):
        self.assertEqual(
            report.title("value-linear-delta/1x65536x16x128-in-4096/bfloat16/resets/graph"),
            "value gate, linear, delta rule, 1x65536x16x128 in 4096 sequences, bfloat16, "
            "with resets")
        self.assertEqual(report.title("none/8x2048x16x128/bfloat16/none/stream"),
                         "no gate, 8x2048x16x128, bfloat16, launched one by one")
        self.assertEqual(
            report.title("value-log-gate32/1x32768x16x128-in-16-unequal/bfloat16/channel-resets/"
                         "graph", "chunked"),
            "value gate, log, float32 gate, 1x32768x16x128 in 16 unequal sequences, bfloat16, "
            "with resets of single channels, chunked form")
        self.assertEqual(report.title("value-linear/1x8192x64x128/bfloat16/signed/graph"),
                         "value gate, linear, 1x8192x64x128, bfloat16, signed gates")

    def test_rows_name_their_forms(self):
        self.record("a.json", make_context(), [
            make_entry(f"forward/{PROBLEM}/automatic", 200),
            make_entry(f"forward/{PROBLEM}/recurrent", 640),
            make_entry(f"forward/{PROBLEM}/chunked", 210),
            make_entry(f"forward/{PROBLEM}/chunked_split", 300),
            make_entry(f"baseline-shared/{PROBLEM}", 3000),
        ])
        self.assertEqual(self.run_report(), 0)
        text = self.readme.read_text()
        for form, us in (("", 200), (", recurrent form", 640), (", chunked form", 210),
                         (", chunked form, sequences split", 300)):
            self.assertIn(f"slow gates{form} | 80.0 | {us} | 12.5 % | 3000 (shared) |", text)

    def test_a_record_without_forms_is_of_the_recurrent_one(self):
        later = make_context(date="2026-12-01T00:00:00Z")
        other = PROBLEM.replace("slow", "fast")
        self.record("a.json", make_context(), [
            make_entry(f"forward/{PROBLEM}", 640),
            make_entry(f"forward/{other}", 650),
        ])
        self.record("b.json", later, [make_entry(f"forward/{PROBLEM}/recurrent", 600),
                                      make_entry(f"forward/{PROBLEM}/automatic", 200)])
        self.assertEqual(self.run_report(), 0)
        rows = [text for text in self.readme.read_text().splitlines()
                if text.startswith("| value gate")]
        self.assertEqual(len(rows), 3, rows)
        self.assertIn("slow gates, recurrent form | 80.0 | 600 |", rows[0])
        self.assertIn("fast gates, recurrent form | 80.0 | 650 |", rows[1])
        self.assertIn("slow gates | 80.0 | 200 |", rows[2])

    def test_crossovers_stay_in_the_records(self):
        self.record("a.json", make_context(), [
            make_entry(f"forward/{PROBLEM}/chunked", 200),
            make_entry(f"crossover/{PROBLEM.replace('2048', '32')}/chunked", 7),
        ] + [make_entry(f"crossover/value-log/1x8192x{heads}x128/bfloat16/slow/graph/{form}", 8)
             for heads in (2, 16) for form in ("chunked", "chunked_split", "automatic")])
        self.assertEqual(self.run_report(), 0)
        self.assertIn("8x2048x16x128", self.line("| value gate"))
        self.assertFalse((self.root / "results" / "gpu" / "chart.svg").exists())

    def test_a_name_that_cannot_be_read_is_refused(self):
        self.record("a.json", make_context(), [make_entry("forward/value-log/8x8x1x8", 640)])
        self.assertEqual(self.run_report(), 1)
        self.assertIn("value-log/8x8x1x8: not layer/shape", self.errors.getvalue())

    # --- The chart. ---

    def sweep_entries(self, shapes, us, form="/automatic"):
        return [make_entry(f"forward/value-log/{shape}/bfloat16/slow/graph{form}", us)
                for shape in shapes]

    def read_chart(self):
        return (self.root / "results" / "gpu" / "chart.svg").read_text(encoding="utf-8")

    def drawn(self, svg):
        """Points of each line or lone marker by the name of its series, panel after panel."""
        space = "{http://www.w3.org/2000/svg}"
        found = {}
        for group in xml.etree.ElementTree.fromstring(svg).iter(f"{space}g"):
            lines = group.findall(f"{space}polyline")
            points = lines[0].get("points").split() if lines else ["alone"]
            found.setdefault(group.find(f"{space}title").text, []).append(points)
        return found

    def test_the_chart_shows_times_floor_forms_and_peers(self):
        self.write_peers([
            {"rows": ["value-log/1x8192x64x128/bfloat16/*"], "gpu": "Some GPU", "peer": "other",
             "us": 1900, "versions": "v1"},
            {"rows": ["value-*/1x8192x8x128/*", "value-*/1x65536x64x128/*"], "gpu": "Some GPU",
             "peer": "a < b", "us": 1000, "versions": "v1", "source": "theirs"},
            {"rows": ["value-log/1x8192x64x128/*"], "gpu": "Other GPU", "peer": "elsewhere",
             "us": 1, "versions": "v1"},
        ])
        over_tokens = [f"1x{tokens}x64x128" for tokens in (65536, 1024, 8192)]
        over_heads = ["1x8192x1x128", "1x8192x8x128"]
        self.record("a.json", make_context(), [
            *self.sweep_entries(over_tokens + over_heads, 200),
            *self.sweep_entries(over_tokens, 1600, "/recurrent"),
            make_entry("forward/value-log/1x2048x64x128/bfloat16/fast/graph/automatic", 3),
            make_entry("forward/key-log/1x2048x64x128/bfloat16/slow/graph/automatic", 3),
        ])
        self.assertEqual(self.run_report(), 0)
        svg = self.read_chart()
        drawn = self.drawn(svg)
        # 8192 tokens and 64 heads belong to both panels.
        self.assertEqual([len(points) for points in drawn["gdr"]], [3, 3])
        self.assertEqual([len(points) for points in drawn["gdr, recurrent form"]], [3, 1])
        self.assertEqual([len(points) for points in drawn["floor: its bytes at the copy rate"]],
                         [3, 3])
        self.assertEqual(drawn["other"], [["alone"], ["alone"]])
        self.assertEqual(drawn["a < b, its own figure"], [["alone"], ["alone"]])
        self.assertNotIn("elsewhere", svg)
        for text in ("tokens T", "heads H", ">1K<", ">64K<", "100 µs", "Some GPU"):
            self.assertIn(text, svg)
        x = [float(point.split(",")[0]) for point in drawn["gdr"][0]]
        self.assertEqual(x, sorted(x))
        self.assertAlmostEqual((x[1] - x[0]) / (x[2] - x[1]), 1, delta=0.01)  # log: 8 and 8 times
        self.assertIn("](results/gpu/chart.svg)", self.readme.read_text())

    def test_the_chart_turns_dark_with_the_reader(self):
        self.record("a.json", make_context(),
                    self.sweep_entries(["1x1024x64x128", "1x2048x64x128"], 200))
        self.assertEqual(self.run_report(), 0)
        light, dark = self.read_chart().split("@media (prefers-color-scheme: dark)")
        self.assertIn(f".ground {{ fill: {chart.LIGHT['ground']}; }}", light)
        self.assertIn(f".ground {{ fill: {chart.DARK['ground']}; }}", dark)

    def test_every_colour_stands_out_from_its_ground(self):
        def luminance(colour):
            channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
            linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
                      for c in channels]
            return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

        def contrast(one, other):
            low, high = sorted((luminance(one), luminance(other)))
            return (high + 0.05) / (low + 0.05)

        for column, colours in enumerate((chart.LIGHT, chart.DARK)):
            words = [colours["text"], colours["quiet"]]
            for colour in words + [looks[column] for looks in chart.STYLES.values()]:
                self.assertGreaterEqual(contrast(colour, colours["ground"]), 4.5, colour)

    def test_rows_on_the_chart_stay_out_of_the_table_unless_a_peer_has_them(self):
        self.write_peers([{"rows": ["value-log/1x8192x64x128/*"], "gpu": "Some GPU",
                           "peer": "other", "us": 1900, "versions": "v1"}])
        shapes = ["1x4096x64x128", "1x8192x64x128"]
        self.record("a.json", make_context(), self.sweep_entries(shapes, 200))
        self.assertEqual(self.run_report(), 0)
        self.assertIn("1x8192x64x128", self.line("| value gate"))

    def test_extents_have_a_table_of_their_own(self):
        rest = "bfloat16/slow/graph/chunked"
        self.record("a.json", make_context(), [
            make_entry(f"forward/value-log/1x8192x132x32/{rest}", 168),
            make_entry(f"forward/value-log/1x8192x44x96x160/{rest}", 200),
            make_entry(f"forward/value-log/1x8192x16x96x160/{rest}", 100),  # fewer heads than fit
        ])
        self.assertEqual(self.run_report(), 0)
        self.assertEqual(self.line("| K"), "| K \\ V | 32 | 160 |")
        self.assertEqual(self.line("| 32"), "| 32 | 168 (2.1) | - |")
        self.assertEqual(self.line("| 96"), "| 96 | - | 200 (2.5) |")
        self.assertIn("1x8192x16x96x160", self.line("| value gate"))

    def test_one_size_is_no_chart(self):
        self.record("a.json", make_context(), self.sweep_entries(["1x8192x64x128"], 200))
        self.assertEqual(self.run_report(), 0)
        self.assertFalse((self.root / "results" / "gpu" / "chart.svg").exists())
        self.line("| value gate")

    def test_check_covers_the_chart(self):
        self.record("a.json", make_context(),
                    self.sweep_entries(["1x1024x64x128", "1x2048x64x128"], 200))
        self.assertEqual(self.run_report(), 0)
        self.assertEqual(self.run_report("--check"), 0)
        path = self.root / "results" / "gpu" / "chart.svg"
        path.write_text(self.read_chart().replace("tokens T", "tokens"), encoding="utf-8")
        self.assertEqual(self.run_report("--check"), 1)
        self.assertIn("chart.svg is not what", self.errors.getvalue())
        path.unlink()
        self.assertEqual(self.run_report("--check"), 1)

    # --- The cost of compiling. ---

    def test_the_cost_of_compiling(self):
        path = self.root / "results" / "compile_cost.json"
        path.parent.mkdir()
        cost = [("include alone", 1.5, 4096), ("dear", 9.5, 512 * 1024), ("cheap", 4, 104448)]
        context = {"date": "2026-11-29T10:00:00Z", "commit": "abc", "cuda_compiler": "13.0.88",
                   "host_compiler": "g++ 12.2.0", "architecture": "sm_90a"}
        path.write_text(json.dumps({"context": context, "instantiations": [
            {"name": name, "cpu_seconds": seconds, "object_bytes": size}
            for name, seconds, size in cost]}))
        self.assertEqual(self.run_report(), 0)
        self.assertEqual(
            self.line("Including"),
            "Including `gdr/gated_delta.cuh` takes 1.50 s of one core. Each layer type whose "
            "`forward` is called adds 2.50 s (cheap) to 8.00 s (dear), and 98 to 508 KiB of object "
            "(nvcc 13.0.88, g++ 12.2.0, sm_90a, commit abc, 2026-11-29).")
        path.write_text("{}")
        self.assertEqual(self.run_report(), 1)
        self.assertIn("not a record of compile_cost.py", self.errors.getvalue())


if __name__ == "__main__":
    unittest.main()
