#!/usr/bin/env python3
"""Draws the detector's scoreboard from the markdown tables that detect_bench prints.

    plot.py ABLATION.md KNOB.md OUT.svg

ABLATION.md is the output of `detect_bench ablation`, KNOB.md that of `detect_bench knob` (several, one after the
other, are fine). Left: what F1 loses without each ingredient, with its 95 % interval. Right: false alarms of those
expected, for each kind of quiet job and knob, with the exact Poisson interval; within the grey band is a factor of 3.
"""
import math
import re
import sys

ROW, TOP, LABEL, WIDTH, GAP = 20, 56, 178, 300, 60
COLOURS = ["#1b6ca8", "#b8860b", "#7a3b8f", "#2e7d4f"]
NUMBER = r"[-+]?[0-9.]+(?:e[-+]?[0-9]+)?"


def cells(path):
    """The rows of all tables, header rows first in each: lists of stripped cells."""
    with open(path, encoding="utf-8") as file:
        lines = [line.strip() for line in file if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if not line.startswith("|---")]


def ablation(path):
    """[(name, change, low, high)], F1 of everything."""
    rows = [row for row in cells(path) if row[0] != "without"]
    whole = float(rows[0][1])
    out = []
    for name, f1, interval, *_ in rows[1:]:
        low, high = (float(x) for x in re.findall(NUMBER, interval))
        out.append((name, float(f1) - whole, low, high))
    return sorted(out, key=lambda row: row[1]), whole


def knob(path):
    """Knobs, [(kind, [(ratio, low, high) of each knob])]."""
    knobs, kinds = [], []
    for row in cells(path):
        if row[0].startswith("quiet job"):
            knobs = [re.search(r"knob (\S+):", cell)[1] for cell in row if cell.startswith("knob")]
        elif row[0] != "all":
            kinds.append((row[0], [tuple(float(x) for x in re.findall(NUMBER, cell.split(":", 1)[1])[:3])
                                   for cell in row[2:2 + len(knobs)]]))
    return knobs, kinds


def left_panel(rows, whole):
    low = min(-0.05, min(row[2] for row in rows))
    high = max(0.05, max(row[3] for row in rows))

    def at(value):
        return LABEL + (value - low) / (high - low) * WIDTH
    bottom = TOP + ROW * len(rows)
    out = [f'<text x="{LABEL}" y="20" class="title">F1 without each ingredient, beside {whole:.3f} with all</text>']
    for tick in range(math.ceil(low * 20), math.floor(high * 20) + 1):
        x = at(tick / 20)
        out.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP - 8}" y2="{bottom}" class="{"zero" if tick == 0 else "grid"}"/>')
        out.append(f'<text x="{x:.1f}" y="{TOP - 14}" class="x">{tick / 20:+.2f}</text>')
    for n, (name, change, least, most) in enumerate(rows):
        y = TOP + ROW * n + ROW / 2
        out.append(f'<text x="{LABEL - 8}" y="{y + 4}" class="y">{name}</text>')
        out.append(f'<line x1="{at(least):.1f}" x2="{at(most):.1f}" y1="{y}" y2="{y}" style="stroke:{COLOURS[0]}"/>')
        out.append(f'<circle cx="{at(change):.1f}" cy="{y}" r="3.5" style="fill:{COLOURS[0]}"/>')
    return out, bottom


def right_panel(knobs, kinds, left):
    least, most = -2.0, 2.5  # decades

    def at(ratio):
        value = math.log10(ratio) if ratio > 0 else least
        return left + LABEL - 90 + (min(max(value, least), most) - least) / (most - least) * WIDTH
    step = ROW * 1.5
    bottom = TOP + step * len(kinds)
    out = [f'<text x="{left + LABEL - 90}" y="20" class="title">false alarms of those expected, at a knob of</text>',
           f'<rect x="{at(1 / 3):.1f}" width="{at(3) - at(1 / 3):.1f}" y="{TOP - 8}" height="{bottom - TOP + 8}" class="band"/>']
    for n, name in enumerate(knobs):
        x = left + LABEL + 196 + 34 * n
        out.append(f'<circle cx="{x}" cy="16" r="3.5" style="fill:{COLOURS[n % len(COLOURS)]}"/>')
        out.append(f'<text x="{x + 7}" y="20">{name}</text>')
    for decade in range(math.ceil(least), math.floor(most) + 1):
        x = at(10.0 ** decade)
        out.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP - 8}" y2="{bottom}" class="{"zero" if decade == 0 else "grid"}"/>')
        out.append(f'<text x="{x:.1f}" y="{TOP - 14}" class="x">{10.0 ** decade:g}</text>')
    for n, (kind, values) in enumerate(kinds):
        out.append(f'<text x="{left + LABEL - 98}" y="{TOP + step * n + step / 2 + 4}" class="y">{kind}</text>')
        for k, (ratio, low, high) in enumerate(values):
            y = TOP + step * n + step * (k + 1) / (len(values) + 1)
            colour = COLOURS[k % len(COLOURS)]
            out.append(f'<line x1="{at(low):.1f}" x2="{at(high):.1f}" y1="{y:.1f}" y2="{y:.1f}" style="stroke:{colour}"/>')
            out.append(f'<circle cx="{at(ratio):.1f}" cy="{y:.1f}" r="3" style="fill:{colour}"/>')
    return out, bottom


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    rows, whole = ablation(sys.argv[1])
    knobs, kinds = knob(sys.argv[2])
    if not rows or not kinds:
        sys.exit("plot.py: a table is missing in the input")
    one, bottom = left_panel(rows, whole)
    left = LABEL + WIDTH + GAP
    two, other_bottom = right_panel(knobs, kinds, left)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + LABEL - 90 + WIDTH + 30}" height="{max(bottom, other_bottom) + 16:.0f}">',
           '<style>text{font:11px sans-serif;fill:#333}.title{font-weight:bold}.x{text-anchor:middle}.y{text-anchor:end}'
           '.grid{stroke:#ddd}.zero{stroke:#888}.band{fill:#f0f0ea}line{stroke-width:1.4}</style>',
           '<rect width="100%" height="100%" fill="white"/>'] + one + two + ["</svg>"]
    with open(sys.argv[3], "w", encoding="utf-8") as file:
        file.write("\n".join(out) + "\n")


if __name__ == "__main__":
    main()
