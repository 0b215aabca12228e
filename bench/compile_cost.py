#!/usr/bin/env python3
# SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
# SPDX-License-Identifier: Apache-2.0
"""Measures what an instantiation of gdr::forward costs to compile: time and object size.

compile_cost.py    compiles each of a short list, and writes bench/results/compile_cost.json

A time is the processor's, of the compiler and all that it starts, so that other work on the machine
hardly lengthens it; wall_seconds is beside it. The least of --repeats compilations counts.
The first entry is a file with the include alone.
"""

import argparse
import datetime
import json
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
import time

BENCH = pathlib.Path(__file__).resolve().parent
ROOT = BENCH.parent
INCLUDE = "#include <gdr/gated_delta.cuh>\n"
# Name in the record, layer type.
LAYERS = [
    ("include alone", None),
    ("value gate, float32, D 24", "gdr::Recurrence<gdr::HeadDim<24>, float>"),
    ("value gate, bfloat16, D 128", "gdr::Recurrence<gdr::HeadDim<128>, __nv_bfloat16>"),
    ("key gate in log space, bfloat16, D 128",
     "gdr::Recurrence<gdr::HeadDim<128>, __nv_bfloat16, gdr::KeyGate<gdr::Log>>"),
    ("head gate in log space, delta rule, bfloat16, D 128",
     "gdr::Recurrence<gdr::HeadDim<128>, __nv_bfloat16, gdr::HeadGate<gdr::Log>, "
     "gdr::DeltaRule<>>"),
    ("no gate, float16, D 64",
     "gdr::Recurrence<gdr::HeadDim<64>, __half, gdr::NoGate>"),
]


def source_of(layer):
    if layer is None:
        return INCLUDE
    return (f"{INCLUDE}using Layer = {layer};\n"
            "template gdr::Status gdr::forward<Layer>(const gdr::ForwardArgs<Layer>&, "
            "cudaStream_t);\n")


def output_of(command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def measure(command, folder, layer, repeats):
    """The least times of `repeats` compilations, and the size of the object."""
    source, target = folder / "cost.cu", folder / "cost.o"
    source.write_text(source_of(layer), encoding="utf-8")
    cpu, wall = [], []
    for _ in range(repeats):
        target.unlink(missing_ok=True)
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        output_of([*command, "-c", str(source), "-o", str(target)])
        wall.append(time.monotonic() - start)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return {
        "cpu_seconds": round(min(cpu), 2),
        "wall_seconds": round(min(wall), 2),
        "object_bytes": target.stat().st_size,
    }


def compiler_version(nvcc):
    found = re.search(r"V(\d+\.\d+\.\d+)", output_of([nvcc, "--version"]))
    return found.group(1) if found else "unknown"


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nvcc", default="nvcc")
    parser.add_argument("--architecture", default="sm_90a", help="one, as sm_90a")
    parser.add_argument("--include", type=pathlib.Path, default=ROOT / "include")
    parser.add_argument("--commit", help="default: what git describe says")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--out", type=pathlib.Path, default=BENCH / "results/compile_cost.json")
    options = parser.parse_args(arguments)
    # Not by -arch, which may add the PTX of another architecture and compile all of it for that, too.
    virtual = options.architecture.replace("sm_", "compute_")
    code = f"arch={virtual},code={options.architecture}"
    flags = ["-std=c++17", "-O3", "-gencode", code]
    try:
        commit = options.commit or output_of(
            ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--abbrev=12"]).strip()
        context = {
            "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "commit": commit,
            "cuda_compiler": compiler_version(options.nvcc),
            "host_compiler": "g++ " + output_of(["g++", "-dumpfullversion"]).strip(),
            "architecture": options.architecture,
            "flags": " ".join(flags),
        }
        command = [options.nvcc, *flags, "-I", str(options.include)]
        entries = []
        with tempfile.TemporaryDirectory() as folder:
            for name, layer in LAYERS:
                cost = measure(command, pathlib.Path(folder), layer, options.repeats)
                kib = cost["object_bytes"] / 1024
                print(f"{cost['cpu_seconds']:7.2f} s {kib:8.0f} KiB  {name}", flush=True)
                entries.append({"name": name, "layer": layer, **cost})
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"{getattr(error, 'stderr', '') or ''}compile_cost.py: {error}", file=sys.stderr)
        return 1
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps({"context": context, "instantiations": entries}, indent=2)
                           + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
