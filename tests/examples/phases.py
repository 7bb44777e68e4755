#!/usr/bin/env python3
"""Where the time goes in each phase, from the tables of `margay export RUN --format csv --output TABLES`:
the mean share of each state, over all ranks, in each phase.

    python3 phases.py TABLES
"""
import os
import sys

import pandas

tables = sys.argv[1]
cells = pandas.read_csv(os.path.join(tables, "cells.csv"))
phases = pandas.read_csv(os.path.join(tables, "phases.csv"))

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
