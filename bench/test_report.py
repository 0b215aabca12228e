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
        self.readme.write_text(f"above\n{report.BEGIN}\n{report.END}\nbelow\n")
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
            "| value gate, log, 8x2048x16x128, bfloat16, slow gates "
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
        self.assertIn("slow gates, one launch, cold L2 | 0.50 | 5.00 |", self.line("| value gate"))

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
        self.assertIn("slow gates | 80.0 | 500 |", text)
        self.assertIn("fast gates | 80.0 | 650 |", text)
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


if __name__ == "__main__":
    unittest.main()
