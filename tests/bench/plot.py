#!/usr/bin/env python3
"""Draws what partition_bench measured: the cost of a new slice against each size, beside reading the triangles once.

    partition_bench --benchmark_format=json | plot.py OUT.svg
"""
import json
import math
import sys

PANELS = [("leaves", 0, "leaves (64 slices, 4 states)"), ("slices", 1, "slices in the window (500 leaves, 4 states)"),
          ("states", 2, "states (1000 leaves, 64 slices)"), ("values_of_p", 6, "values of p (1000 leaves, 64 slices)"),
          ("noise", 7, "noise in percent (1000 leaves, 64 slices)"),
          ("slices_a_pass", 4, "slices a pass (1000 leaves, 128 slices)")]
LINES = [("ms", "a new slice", "#1b6ca8"), ("read_ms", "reading the triangles once", "#b8860b")]
WIDTH, HEIGHT, MARGIN, COLUMNS = 440, 250, 56, 2


def ticks(low, high, logarithmic):
    if logarithmic:
        return [10.0 ** e for e in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)]
    step = 10 ** math.floor(math.log10(max(high - low, 1e-9)))
    step = step / 2 if (high - low) / step < 3 else step
    return [step * n for n in range(math.floor(low / step), math.ceil(high / step) + 1)]


def short(value):
    return f"{value / 1000:g}k" if value >= 1000 else f"{value:g}"


def panel(points, title, left, top):
    """SVG of one panel; points: [(x, {line: y})]."""
    xs = [x for x, _ in points]
    ys = [y for _, values in points for y in values.values()]
    log_x, log_y = min(xs) > 0 and max(xs) / min(xs) > 12, max(ys) / min(ys) > 12
    y_ticks = ticks(min(ys) if log_y else 0, max(ys), log_y)
    x_ticks = xs

    def place(value, low, high, logarithmic):
        if logarithmic:
            value, low, high = math.log(value), math.log(low), math.log(high)
        return (value - low) / (high - low) if high > low else 0.5

    def at(x, y):
        return (left + MARGIN + place(x, min(xs), max(xs), log_x) * (WIDTH - MARGIN - 20),
                top + HEIGHT - 44 - place(y, y_ticks[0], y_ticks[-1], log_y) * (HEIGHT - 84))
    out = [f'<text x="{left + MARGIN}" y="{top + 22}" class="title">ms a slice against {title}</text>']
    for y in y_ticks:
        _, v = at(xs[0], y)
        out.append(f'<line x1="{left + MARGIN}" x2="{left + WIDTH - 20}" y1="{v:.1f}" y2="{v:.1f}" class="grid"/>')
        out.append(f'<text x="{left + MARGIN - 6}" y="{v + 4:.1f}" class="y">{y:g}</text>')
    for x in x_ticks:
        h, _ = at(x, y_ticks[0])
        out.append(f'<text x="{h:.1f}" y="{top + HEIGHT - 26}" class="x">{short(x)}</text>')
    for name, _, colour in LINES:
        path = " ".join(f"{h:.1f},{v:.1f}" for h, v in (at(x, values[name]) for x, values in points))
        out.append(f'<polyline points="{path}" style="stroke:{colour}"/>')
        out += [f'<circle cx="{p.split(",")[0]}" cy="{p.split(",")[1]}" r="2.5" style="fill:{colour}"/>'
                for p in path.split()]
    return out


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    found = {}
    for run in json.load(sys.stdin)["benchmarks"]:
        name, *arguments = run["name"].split("/")
        if "ms" not in run or "read_ms" not in run:
            continue
        found.setdefault(name, []).append(([float(a) for a in arguments[:8]], {k: run[k] for k, _, _ in LINES}))
    panels = [(title, sorted((arguments[at], values) for arguments, values in found[name]))
              for name, at, title in PANELS if name in found]
    if not panels:
        sys.exit("plot.py: none of the sweeps is in the input; run partition_bench without a filter")
    rows = (len(panels) + COLUMNS - 1) // COLUMNS
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{COLUMNS * WIDTH}" height="{rows * HEIGHT + 30}">',
           '<style>text{font:11px sans-serif;fill:#333}.title{font-weight:bold}.x{text-anchor:middle}.y{text-anchor:end}'
           '.grid{stroke:#ddd}polyline{fill:none;stroke-width:1.6}</style>',
           '<rect width="100%" height="100%" fill="white"/>']
    for n, (title, points) in enumerate(panels):
        out += panel(points, title, n % COLUMNS * WIDTH, n // COLUMNS * HEIGHT)
    for n, (_, label, colour) in enumerate(LINES):
        out.append(f'<line x1="{MARGIN + n * 180}" x2="{MARGIN + 20 + n * 180}" y1="{rows * HEIGHT + 12}" '
                   f'y2="{rows * HEIGHT + 12}" style="stroke:{colour};stroke-width:2"/>')
        out.append(f'<text x="{MARGIN + 26 + n * 180}" y="{rows * HEIGHT + 16}">{label}</text>')
    out.append("</svg>")
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        file.write("\n".join(out) + "\n")


if __name__ == "__main__":
    main()
