"""`margay partition` on what a real run left behind: its archive, and the messages it captured."""
import json
import os
import re
import subprocess
import unittest

from e2e import E2eTest, LONG, MARGAY, ZOOM_CHECK


class Zoom(E2eTest):
    def partition(self, *words, code=0):
        done = subprocess.run([MARGAY, "partition", *words], capture_output=True, text=True, timeout=LONG, check=False)
        self.assertEqual(done.returncode, code, done)
        return done.stderr if code else done.stdout

    def test_a_run(self):
        capture = os.path.join(self.place, "capture")
        run = self.run_margay(self.workload("--plan", "A:2,B:2,A:1"), flags=["--capture", capture])
        self.assertEqual(run.wait(), 0, run.stderr)

        # Slices, halves of slices and slices that fit nothing, to the nanosecond, against the plain reference.
        done = subprocess.run([ZOOM_CHECK, capture, run.archive], capture_output=True, text=True, timeout=LONG, check=False)
        print("  " + done.stdout.strip().replace("\n", "\n  "), flush=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        figures = dict(re.findall(r"(\w+): cells (\d+)", done.stdout))
        self.assertEqual(sorted(figures), ["capture", "cells", "halves", "odd"])
        for cells in figures.values():
            self.assertGreater(int(cells), 100)

        # The command: every kind of output, of both inputs.
        for where in run.archive, capture:
            report = json.loads(self.partition(where, "--from", "1", "--to", "3.5", "--slices", "25", "--p", "0.1", "--json"))
            self.assertEqual(report["to_ns"] - report["from_ns"], 2_500_000_000)
            self.assertEqual(report["from_ns"] - report["zero_ns"], 1_000_000_000)
            self.assertEqual(report["slices"], 25)
            self.assertIn("MPI_Allreduce", report["states"])
            self.assertEqual(len(report["nodes"]), 6)
            self.assertIn("from 1 s to 3.5 s, slices of 0.1 s",
                          self.partition(where, "--from", "1s", "--to", "3500ms", "--slices", "25"))
            points = json.loads(self.partition(where, "--p-list", "--json"))["p_list"]
            self.assertEqual(points[-1]["aggregates"], 1)
            report = json.loads(self.partition(where, "--operator", "messages", "--p", "1", "--json"))
            self.assertNotIn("Compute", report["states"])
            self.assertIn("did you mean 'MPI_Send'?", self.partition(where, "--state", "MPI_Snd", code=2))
            self.assertIn("no such resource", self.partition(where, "--node", "/nowhere", code=2))
            self.assertIn("the run lasted", self.partition(where, "--from", "1h", code=2))


if __name__ == "__main__":
    unittest.main()
