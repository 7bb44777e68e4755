"""There and back: what `margay import` made an archive of, `margay export` writes out, and what is imported of that again,
are the same; so is a live run that is exported and imported.

Traces are made by chance (tests/support/paje_generator.py); the seed is told on failure.
"""
import collections
import csv
import json
import os
import shutil
import subprocess
import unittest

from e2e import E2eTest, LONG, MARGAY, dump
from import_test import Judge, PJ_DUMP, paje_generator


class RoundTrip(E2eTest):
    maxDiff = 4000

    def path(self, name):
        return os.path.join(self.place, name)

    def margay(self, *words):
        done = subprocess.run([MARGAY, *words], capture_output=True, text=True, timeout=LONG, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done

    def cells(self, archive):
        """{(path, state type, slice, state): (ns, longest, visits)}: leaves may have other numbers."""
        leaves = [("/".join(a[f"path{i}"] for i in range(1, 10) if f"path{i}" in a), a.get("state_type", ""))
                  for a in json.loads(dump("meta", archive))["leaves"]]
        return {(*leaves[int(r["leaf"])], int(r["slice"]), r["state"]): (int(r["duration_ns"]), int(r["longest_ns"]), int(r["visits"]))
                for r in csv.DictReader(dump("cells", archive).splitlines())}

    @unittest.skipUnless(PJ_DUMP, "pj_dump is not installed (package pajeng)")
    def test_paje_there_and_back(self):
        for seed in (31, 32, 33, 34, 35, 36):
            with self.subTest(seed=seed):
                for name in ("a", "b"):  # of the seed before
                    shutil.rmtree(self.path(name), ignore_errors=True)
                with open(self.path("t.trace"), "w", encoding="utf-8") as file:
                    file.write(paje_generator.trace(seed, 2000))
                self.margay("import", self.path("t.trace"), "--archive", self.path("a"), "--slice", "10ms")
                self.margay("export", self.path("a"), "--format", "paje", "--output", self.path("back.paje"))
                self.margay("import", self.path("back.paje"), "--archive", self.path("b"), "--slice", "10ms")
                first = self.cells(self.path("a"))
                self.assertGreater(len(first), 500)
                # What is open at the end is closed by the export: visits of no time are added in the last slice.
                last = max(key[2] for key in first)
                expected, found = ({key: cell if key[2] < last else cell[0] for key, cell in cells.items() if cell[0] > 0 or key[2] < last}
                                   for cells in (first, self.cells(self.path("b"))))
                differ = [key for key in set(expected) | set(found) if expected.get(key) != found.get(key)]
                self.assertEqual(differ[:10], [])

                one, other = Judge(self.path("t.trace")), Judge(self.path("back.paje"))
                self.assertEqual(other.states(), one.states())
                # It computes values with single precision, and sums that were added up differ in the last digits.
                values = one.variables()
                self.assertEqual(set(other.variables()), set(values))
                for key, value in other.variables().items():
                    self.assertAlmostEqual(value, values[key], delta=1e-6 * max(1, abs(value)), msg=key)
                self.assertEqual(events_of(other), events_of(one))
                self.assertEqual(links_of(other), links_of(one))

    def test_a_live_run_there_and_back(self):
        run = self.run_margay(self.workload("--plan", "A:2,B:2", "--pcontrol"))
        self.assertEqual(run.wait(), 0, run.stderr)
        self.margay("export", run.archive, "--format", "paje", "--output", self.path("run.paje"))
        self.margay("import", self.path("run.paje"), "--archive", self.path("b"))
        live = collections.Counter()
        ranks = [a["rank"] for a in run.meta()["leaves"]]
        for r in csv.DictReader(dump("cells", run.archive).splitlines()):
            if r["state"] != "Absent":
                live["rank" + ranks[int(r["leaf"])], r["state"]] += int(r["duration_ns"])
        back, regions = collections.Counter(), collections.Counter()
        for (path, kind, _, state), (ns, _, _) in self.cells(self.path("b")).items():
            rank = [p for p in path.split("/") if p.startswith("rank")][0]
            if state not in ("Absent", "None"):
                (regions if kind == "Region" else back)[rank, state] += ns
        self.assertEqual(back, live, "to the nanosecond")
        self.assertEqual({state for _, state in regions}, {"A", "B"})
        for rank in {rank for rank, _ in live}:
            self.assertAlmostEqual(regions[rank, "A"] / 1e9, 2, delta=0.5)


def events_of(judge):
    """Container, type, time, value."""
    return sorted((c, t, f"{float(when):.6f}", value) for c, t, when, value in judge.kinds["Event"])


def links_of(judge):
    """Type, begin, end, value, container where it begins, where it ends. Not the container of the link, which is the root in what is
    exported; nor its key: numbers take the place of keys."""
    return sorted((t, f"{float(b):.6f}", f"{float(e):.6f}", v, s, d) for _, t, b, e, _, v, s, d, *_ in judge.kinds["Link"])


if __name__ == "__main__":
    unittest.main()
