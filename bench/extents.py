# SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
# SPDX-License-Identifier: Apache-2.0
"""The table of other extents: one pair of K and V a cell, with as many heads as fill a device."""

import re

SHAPE = re.compile(r"1x8192x(\d+)x(\d+)(?:x(\d+))?")
PROBLEM = re.compile(rf"value-log/({SHAPE.pattern})/bfloat16/slow/graph")
BLOCKS = 132  # at most so many, of 64 value channels each


def extents_of(row):
    """K and V, if the row is one of those in rows_chunked_extents.cu."""
    found = PROBLEM.fullmatch(row.problem)
    if row.group != "forward" or row.algorithm != "chunked" or not found:
        return None
    heads, key_dim, value_dim = (int(x) for x in (found[2], found[3], found[4] or found[3]))
    return (key_dim, value_dim) if heads == BLOCKS // -(-value_dim // 64) else None


def table(rows, number):
    """The cells of all such rows, or nothing."""
    cells = {extents_of(row): row for row in rows if extents_of(row)}
    if not cells:
        return ""
    value_dims = sorted({value_dim for _, value_dim in cells})
    text = (
        "Other extents, chunked form: value gate, log, bfloat16, 8192 tokens, heads as many as give "
        f"at most {BLOCKS} blocks of 64 value channels. us, in brackets as a multiple of the floor.\n\n"
        f"| K \\ V | {' | '.join(str(v) for v in value_dims)} |\n"
        f"| ---: |{' ---: |' * len(value_dims)}\n"
    )
    for key_dim in sorted({key_dim for key_dim, _ in cells}):
        line = [str(key_dim)]
        for value_dim in value_dims:
            row = cells.get((key_dim, value_dim))
            line.append(f"{number(row.time_us)} ({row.time_us / row.floor_us:.1f})" if row else "-")
        text += f"| {' | '.join(line)} |\n"
    return text + "\n"
