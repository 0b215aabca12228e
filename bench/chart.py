# SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
# SPDX-License-Identifier: Apache-2.0
"""Draws times over a size, both on log axes, as an SVG of panels side by side.

The picture has a ground of its own and turns dark with the reader's system: a site in dark mode on
a light system shows it as a light card, which can be read too. Lines differ in marker and dash as
well as in colour.
"""

import dataclasses
import html
import math

PANEL_WIDTH = 340
PANEL_HEIGHT = 260
MARGIN_LEFT = 74
MARGIN_RIGHT = 26
MARGIN_TOP = 64
AXIS_HEIGHT = 50  # labels and title under a panel
LEGEND_LINE = 22
LEGEND_LETTERS = 52  # that fit beside a second column

# Class of a series: colours in light and dark, dash, marker.
STYLES = {
    "ours": ("#0550ae", "#79c0ff", "", "circle"),
    "form-0": ("#6639ba", "#d2a8ff", "7 3", "circle"),
    "form-1": ("#a40e26", "#ffa198", "7 3", "circle"),
    "form-2": ("#0b6b75", "#56d4dd", "7 3", "circle"),
    "floor": ("#57606a", "#8b949e", "2 4", "none"),
    "peer-0": ("#953800", "#ffa657", "", "square"),
    "peer-1": ("#116329", "#7ee787", "", "diamond"),
    "peer-2": ("#99286e", "#ff9bce", "", "triangle"),
    "peer-3": ("#4d4d00", "#d4c04a", "", "square"),
}
LIGHT = {"ground": "#ffffff", "text": "#1f2328", "quiet": "#57606a", "grid": "#d0d7de"}
DARK = {"ground": "#0d1117", "text": "#e6edf3", "quiet": "#9da7b1", "grid": "#30363d"}


@dataclasses.dataclass
class Series:
    name: str
    style: str  # of STYLES
    points: list  # (size, microseconds), by size


@dataclasses.dataclass
class Panel:
    title: str
    x_label: str
    series: list


def size_text(value):
    """8192 as 8K."""
    for unit, name in ((1 << 20, "M"), (1 << 10, "K")):
        if value >= unit and value % unit == 0:
            return f"{value // unit}{name}"
    return str(value)


def time_text(us):
    if us >= 1e6:
        return f"{us / 1e6:g} s"
    return f"{us / 1e3:g} ms" if us >= 1e3 else f"{us:g} µs"


def y_range(values):
    """The decades, or the 1-2-5 steps of them, that hold the values."""
    low, high = min(values), max(values)
    steps = [m * 10.0**e for e in range(-3, 9) for m in (1, 2, 5)]
    below = [step for step in steps if step <= low * 0.95]
    above = [step for step in steps if step >= high * 1.05]
    return (below[-1] if below else low / 2), (above[0] if above else high * 2)


def y_ticks(low, high):
    """Ticks with and without a label: 1-2-5 where few decades are shown, else decades."""
    steps = [m * 10.0**e for e in range(-3, 9) for m in (1, 2, 5)]
    shown = [s for s in steps if low * 0.999 <= s <= high * 1.001]
    few = len(shown) <= 8
    return [(s, few or math.isclose(math.log10(s), round(math.log10(s)))) for s in shown]


def x_ticks(sizes):
    """At most eight of the sizes."""
    every = math.ceil(len(sizes) / 8)
    return sizes[::every]


class Scale:
    """A log scale from values to coordinates."""

    def __init__(self, low, high, start, end):
        if low == high:
            low, high = low / 2, high * 2
        self.low, self.start = math.log(low), start
        self.factor = (end - start) / (math.log(high) - self.low)

    def __call__(self, value):
        return self.start + (math.log(value) - self.low) * self.factor


def line_element(style, x1, y1, x2, y2):
    return f'<line class="{style}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>\n'


def text_element(x, y, text, style="", anchor="middle"):
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    look = f' class="{style}"' if style else ""
    return f"<text {place}{look}>{html.escape(text)}</text>\n"


def marker_element(shape, style, x, y):
    if shape == "circle":
        return f'<circle class="f-{style}" cx="{x:.1f}" cy="{y:.1f}" r="3.6"/>\n'
    corners = {
        "square": ((-3.4, -3.4), (3.4, -3.4), (3.4, 3.4), (-3.4, 3.4)),
        "diamond": ((0, -4.8), (4.8, 0), (0, 4.8), (-4.8, 0)),
        "triangle": ((0, -4.6), (4.4, 3.4), (-4.4, 3.4)),
    }.get(shape)
    if corners is None:
        return ""
    points = " ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in corners)
    return f'<polygon class="f-{style}" points="{points}"/>\n'


def series_element(series, x_scale, y_scale):
    at = [(x_scale(x), y_scale(y)) for x, y in series.points]
    out = f"<g><title>{html.escape(series.name)}</title>\n"
    if len(at) > 1:
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in at)
        out += f'<polyline class="l-{series.style}" points="{path}"/>\n'
    shape = STYLES[series.style][3]
    if shape == "none" and len(at) == 1:  # a line of one point is a short stroke
        x, y = at[0]
        out += line_element(f"l-{series.style}", x - 9, y, x + 9, y)
    out += "".join(marker_element(shape, series.style, x, y) for x, y in at)
    return out + "</g>\n"


def panel_element(panel, left):
    points = [point for series in panel.series for point in series.points]
    sizes = sorted({x for x, _ in points})
    right, bottom = left + PANEL_WIDTH, MARGIN_TOP + PANEL_HEIGHT
    low, high = y_range([y for _, y in points])
    x_scale = Scale(sizes[0], sizes[-1], left + 16, right - 16)
    y_scale = Scale(low, high, bottom, MARGIN_TOP)

    out = text_element((left + right) / 2, MARGIN_TOP - 14, panel.title, "quiet")
    for value, labelled in y_ticks(low, high):
        y = y_scale(value)
        out += line_element("grid", left, y, right, y)
        if labelled:
            out += text_element(left - 8, y + 4, time_text(value), "", "end")
    for value in x_ticks(sizes):
        x = x_scale(value)
        out += line_element("grid", x, MARGIN_TOP, x, bottom)
        out += text_element(x, bottom + 18, size_text(value))
    out += (f'<rect class="frame" x="{left}" y="{MARGIN_TOP}" width="{PANEL_WIDTH}" '
            f'height="{PANEL_HEIGHT}"/>\n')
    out += text_element((left + right) / 2, bottom + 38, panel.x_label)
    # Ours last, on top of what it meets.
    for series in sorted(panel.series, key=lambda s: s.style == "ours"):
        out += series_element(series, x_scale, y_scale)
    return out


def legend_element(entries, top, columns, width):
    out = ""
    for i, (name, style) in enumerate(entries):
        x = MARGIN_LEFT + i % columns * (width - MARGIN_LEFT) / columns
        y = top + i // columns * LEGEND_LINE
        out += line_element(f"l-{style}", x, y, x + 30, y)
        out += marker_element(STYLES[style][3], style, x + 15, y)
        out += text_element(x + 38, y + 4, name, "", "start")
    return out


def colour_rules(colours, column):
    rules = (f".ground {{ fill: {colours['ground']}; }} text {{ fill: {colours['text']}; }} "
             f".quiet {{ fill: {colours['quiet']}; }} "
             f".grid, .frame {{ stroke: {colours['grid']}; }}\n")
    for style, looks in STYLES.items():
        colour = looks[column]
        rules += f".l-{style} {{ stroke: {colour}; }} .f-{style} {{ fill: {colour}; }}\n"
    return rules


def style_element():
    fixed = ("text { font: 12px -apple-system, 'Segoe UI', 'Noto Sans', Helvetica, sans-serif; }\n"
             ".heading { font-size: 15px; font-weight: 600; }\n"
             ".grid, .frame { fill: none; stroke-width: 1; }\n")
    for style, (_, _, dash, _) in STYLES.items():
        width = 2.6 if style == "ours" else 1.8
        dashes = f" stroke-dasharray: {dash.replace(' ', ', ')};" if dash else ""
        fixed += f".l-{style} {{ fill: none; stroke-width: {width};{dashes} }}\n"
    return (f"<style>\n{fixed}{colour_rules(LIGHT, 0)}"
            f"@media (prefers-color-scheme: dark) {{\n{colour_rules(DARK, 1)}}}\n</style>\n")


def draw(heading, panels):
    """The SVG. Panels without points are left out; without any there is no picture."""
    panels = [dataclasses.replace(p, series=[s for s in p.series if s.points]) for p in panels]
    panels = [panel for panel in panels if panel.series]
    if not panels:
        return None
    entries = []
    for style in STYLES:
        for series in (s for panel in panels for s in panel.series if s.style == style):
            if (series.name, style) not in entries:
                entries.append((series.name, style))
    width = len(panels) * (MARGIN_LEFT + PANEL_WIDTH + MARGIN_RIGHT)
    columns = 1 if any(len(name) > LEGEND_LETTERS for name, _ in entries) else len(panels)
    legend_top = MARGIN_TOP + PANEL_HEIGHT + AXIS_HEIGHT + 14
    height = legend_top + math.ceil(len(entries) / columns) * LEGEND_LINE
    out = (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
           f'width="{width}" height="{height}" role="img">\n'
           f"<title>{html.escape(heading)}</title>\n{style_element()}"
           f'<rect class="ground" width="{width}" height="{height}" rx="6"/>\n')
    out += text_element(width / 2, 26, heading, "heading")
    for i, panel in enumerate(panels):
        out += panel_element(panel, i * (MARGIN_LEFT + PANEL_WIDTH + MARGIN_RIGHT) + MARGIN_LEFT)
    return out + legend_element(entries, legend_top, columns, width) + "</svg>\n"
