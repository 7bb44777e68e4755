#!/usr/bin/env python3
"""Where the time goes in each phase: the mean share of each state, over all ranks, in each phase. Reads what margay export
writes, either of the two:

    margay export RUN --format csv --output TABLES;        python3 phases.py TABLES [PLOT]
    margay export RUN --format sqlite --output RUN.sqlite; python3 phases.py RUN.sqlite [PLOT]

PLOT (.svg; with matplotlib also .png, .pdf) is a bar a phase, divided into states.
"""
import os
import sqlite3
import sys
from xml.sax.saxutils import escape

import pandas

source = sys.argv[1]


def table(name):
    if os.path.isdir(source):
        return pandas.read_csv(os.path.join(source, name + ".csv"))
    return pandas.read_sql(f"SELECT * FROM {name}", sqlite3.connect(source))


def plot(shares, path):
    """`shares`: a row a phase, a column a state."""
    colours = ["#4e79a7", "#f28e2b", "#e15759", "#76b7b2", "#59a14f", "#edc948", "#b07aa1", "#9c755f", "#bab0ac", "#ff9da7"]
    try:
        from matplotlib import pyplot
    except ImportError:
        if not path.endswith(".svg"):
            raise SystemExit(f"{path}: without matplotlib only .svg can be written") from None
        with open(path, "w", encoding="utf-8") as file:
            file.write(f'<svg xmlns="http://www.w3.org/2000/svg" width="{110 + 60 * len(shares) + 200}" height="360"'
                       ' font-family="sans-serif" font-size="12">\n')
            for i, (phase, row) in enumerate(shares.iterrows()):
                top = 320.0
                for k, share in enumerate(row):
                    top -= 300 * share
                    file.write(f'<rect x="{50 + 60 * i}" y="{top:.2f}" width="40" height="{300 * share:.2f}"'
                               f' fill="{colours[k % len(colours)]}"/>\n')
                file.write(f'<text x="{70 + 60 * i}" y="340" text-anchor="middle">{escape(phase)}</text>\n')
            for k, state in enumerate(shares.columns):
                file.write(f'<rect x="{90 + 60 * len(shares)}" y="{22 + 18 * k}" width="12" height="12"'
                           f' fill="{colours[k % len(colours)]}"/>'
                           f'<text x="{108 + 60 * len(shares)}" y="{33 + 18 * k}">{escape(state)}</text>\n')
            file.write("</svg>\n")
        return
    axes = shares.plot.bar(stacked=True, color=colours, xlabel="phase", ylabel="share of the time")
    axes.legend(bbox_to_anchor=(1, 1))
    pyplot.savefig(path, bbox_inches="tight")


cells, phases = table("cells"), table("phases")

# A slice belongs to the phase that holds its middle; what did not exist, and what is not known, is left out.
cells = cells[~cells["state"].isin(["Absent", "Unknown"])]
slice_s = cells.groupby(["slice", "resource"])["duration_ns"].sum().max() / 1e9
middle = cells["time_s"] + slice_s / 2
for phase in phases.itertuples():
    cells.loc[(middle >= phase.begin_s) & (middle < phase.end_s), "phase"] = phase.name
time = cells.groupby(["phase", "state"])["duration_ns"].sum()
share = time / time.groupby("phase").sum()
for (phase, state), value in share.items():
    print(f"{phase} {state} {value:.6f}")
if len(sys.argv) > 2:
    plot(share.unstack(fill_value=0), sys.argv[2])
