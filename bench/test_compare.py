#!/usr/bin/env python3
# SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
# SPDX-License-Identifier: Apache-2.0
"""Tests of what gdr_bench does without a GPU: --compare and its own options.

test_compare.py <gdr_bench>
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

from test_report import make_context, make_entry


class ProgramTest(unittest.TestCase):
    program = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def record(self, name, entries, **context):
        path = self.root / name
        path.write_text(json.dumps({"context": make_context(**context), "benchmarks": entries}))
        return str(path)

    def run_program(self, *arguments):
        return subprocess.run([self.program, *arguments], capture_output=True, text=True,
                              check=False)

    def compare(self, a, b):
        done = self.run_program("--compare", a, b)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_times_ratios_and_rows_of_one_file(self):
        a = self.record("a.json", [make_entry("forward/x/slow/chunked", 100), make_entry("copy", 8),
                                   make_entry("forward/old", 1)])
        b = self.record("b.json", [make_entry("forward/x/slow/chunked", 0.05, time_unit="ms"),
                                   make_entry("copy", 16), make_entry("forward/new/recurrent", 1)],
                        commit="def")
        text = self.compare(a, b)
        words = [line.split() for line in text.splitlines()]
        self.assertIn(["forward/x/slow/chunked", "100.00", "50.00", "0.500"], words)
        self.assertIn(["copy", "8.00", "16.00", "2.000"], words)
        self.assertIn(["geometric", "mean", "1.000"], words)
        self.assertIn(f"A: {a}: Some GPU, commit abc, 2026-11-29T10:00:00Z\n", text)
        self.assertIn("only in A: forward/old/recurrent\n", text)
        self.assertIn("only in B: forward/new/recurrent\n", text)
        self.assertNotIn("GPUs differ", text)

    def test_failed_rows_medians_and_other_gpus(self):
        name = "forward/x/automatic"
        failed = {"name": "forward/y", "run_name": "forward/y", "run_type": "iteration",
                  "error_occurred": True, "error_message": "a \"bad\" \u00b5", "real_time": 0,
                  "time_unit": "us"}
        a = self.record("a.json", [
            failed, make_entry(name, 9), make_entry(name, 30),
            make_entry(name, 10, run_type="aggregate", aggregate_name="median"),
            make_entry(name, 1, run_type="aggregate", aggregate_name="stddev")])
        b = self.record("b.json", [make_entry(name, 20), make_entry("forward/y", 1)],
                        gpu="Other GPU")
        text = self.compare(a, b)
        self.assertIn([name, "10.00", "20.00", "2.000"], [s.split() for s in text.splitlines()])
        self.assertIn("only in B: forward/y/recurrent\n", text)
        self.assertIn("The GPUs differ.", text)

    def test_nothing_in_common(self):
        a = self.record("a.json", [make_entry("x", 1)])
        b = self.record("b.json", [make_entry("y", 1)])
        self.assertIn("no row is in both", self.compare(a, b))

    def refused(self, *arguments):
        done = self.run_program(*arguments)
        self.assertEqual(done.returncode, 1)
        return done.stderr

    def test_what_is_no_record_is_refused(self):
        good = self.record("a.json", [make_entry("x", 1)])
        bad = self.root / "bad.json"
        self.assertIn("cannot be read", self.refused("--compare", good, str(bad)))
        bad.write_text("{}")
        self.assertIn("it has no benchmarks", self.refused("--compare", good, str(bad)))
        bad.write_text('{"benchmarks": [')
        self.assertIn("not JSON", self.refused("--compare", good, str(bad)))
        self.assertIn("takes two records", self.refused("--compare", good))

    def test_options(self):
        self.assertIn("--samples takes a number", self.refused("--samples=0"))
        self.assertIn("a shape is BxTxH", self.refused("--tune=8x2048"))
        self.assertIn("--tune_out goes with", self.refused("--tune_out=x.json"))

    def test_a_sweep_needs_a_layer_or_lists_its_candidates(self):
        done = self.run_program("--tune=8x2048x16", "--benchmark_list_tests")
        if done.returncode == 1:
            self.assertIn("-DGDR_BENCH_TUNE_LAYER=<layer type>", done.stderr)
            return
        self.assertEqual(done.returncode, 0, done.stderr)
        candidates = [line for line in done.stdout.splitlines() if line.startswith("  ")]
        recurrent = [line for line in candidates if line.startswith("  lanes ")]
        self.assertGreaterEqual(len(recurrent), 24)
        self.assertEqual(len(set(candidates)), len(candidates))


if __name__ == "__main__":
    ProgramTest.program = sys.argv.pop(1)
    unittest.main()
