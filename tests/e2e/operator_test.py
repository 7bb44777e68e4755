"""Operators of the model, live and at replay: counts of programs that are known, to the last one."""
import json
import os
import shutil
import signal
import subprocess
import unittest

from e2e import E2eTest, LONG, MARGAY, MPIRUN, end_process
from replay_test import TRACE

CHECK = os.environ["OPERATOR_CHECK"]
REPLAY = os.environ["REPLAY_CHECK"]
KNOWN = os.environ["CALLCOUNT_KNOWN"]  # tests/workloads/callcount_known.c
HEAT = """%EventDef PajeDefineVariableType 4
% Alias string
% Type string
% Name string
%EndEventDef
%EventDef PajeSetVariable 5
% Time date
% Type string
% Container string
% Value double
%EndEventDef
4 V P Heat
5 4.5 V p0 2
5 5.0 V p1 3
5 6.0 V p0 8
"""


class Operators(E2eTest):
    def check(self, run):
        """Every cell is what the raw events say; returns the sums."""
        done = subprocess.run([CHECK, run.archive], capture_output=True, text=True, timeout=LONG, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        found = json.loads(done.stdout)
        print(f"  {run.name}: {found['operator']}: {found['compared']} cells, {found['above']} above 0, "
              f"{found['differ']} differ", flush=True)
        return found["sums"]

    def check_replay(self, run):
        copy = run.archive + ".copy"
        shutil.copytree(run.archive, copy)
        done = subprocess.run([REPLAY, run.archive, copy], capture_output=True, text=True, timeout=LONG, check=False)
        print(f"  {run.name}: {done.stdout.strip()}", flush=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreaterEqual(int(done.stdout.split()[0]), 1)

    def replay(self, *words):
        done = subprocess.run([MARGAY, "replay", *words, "--json"], capture_output=True, text=True, timeout=LONG, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_a_known_program(self):
        ranks = 3
        for word in ("bytes", "messages", "occurrences"):
            run = self.run_margay([MPIRUN, "-np", str(ranks), KNOWN], name=word, flags=["--operator", word])
            self.assertEqual(run.wait(), 0, run.stderr)
            sums = self.check(run)
            size = 4 if word == "bytes" else 1  # of an int; each call sends one
            self.assertEqual(sums["rank0"]["MPI_Send"], 11 * size * (ranks - 1))
            for rank in range(1, ranks):
                self.assertEqual(sums[f"rank{rank}"]["MPI_Recv"], 11 * size)
                self.assertEqual(sums[f"rank{rank}"].get("MPI_Send", 0), 0)
            for rank in range(ranks):
                # Five by that name, and one as PMPI_Barrier.
                self.assertEqual(sums[f"rank{rank}"].get("MPI_Barrier", 0), 6 if word == "occurrences" else 0)
            self.check_replay(run)

    def test_replay_with_another_operator(self):
        run = self.run_margay(self.workload("--plan", "A:2,B:2", ranks=2), flags=["--operator", "bytes"])
        self.assertEqual(run.wait(), 0, run.stderr)
        self.check(run)
        self.check_replay(run)
        live = self.replay(run.archive)
        self.assertTrue(live["exact"])
        self.assertEqual(live["operator"], "bytes")
        for word in ("duration", "messages", "occurrences", "mean:load"):
            other = self.replay(run.archive, "--operator", word)
            self.assertFalse(other["exact"])
            self.assertEqual(other.get("operator", "duration"), word)
            self.assertEqual(other["phases"], live["phases"], "phases rest on durations")
        self.assertEqual(self.replay(run.archive, "--operator", "messages", "--level", "1s")["operator"], "messages")
        self.assertEqual(self.replay(run.archive, "--operator", "messages", "--slice", "30ms")["operator"], "messages")
        wrong = subprocess.run([MARGAY, "replay", run.archive, "--operator", "byte"], capture_output=True, text=True,
                               timeout=LONG, check=False)
        self.assertEqual(wrong.returncode, 2)
        self.assertIn("expected duration, occurrences, mean:VARIABLE, bytes or messages", wrong.stderr)
        # What slices cannot hold is for questions about the events.
        wrong = subprocess.run([MARGAY, "replay", run.archive, "--operator", "max:load"], capture_output=True, text=True,
                               timeout=LONG, check=False)
        self.assertEqual(wrong.returncode, 2)
        self.assertIn("--operator max:load: slices cannot hold it; of the events of any archive margay partition", wrong.stderr)

    def test_without_raw_events(self):
        run = self.run_margay(self.workload("--plan", "A:1.5", ranks=2), flags=["--operator", "messages", "--no-raw"])
        self.assertEqual(run.wait(), 0, run.stderr)
        self.check_replay(run)
        wrong = subprocess.run([MARGAY, "replay", run.archive, "--operator", "bytes"], capture_output=True, text=True,
                               timeout=LONG, check=False)
        self.assertEqual(wrong.returncode, 2)
        self.assertIn("which are not kept (without --operator it is messages, as the run had it)", wrong.stderr)

    def test_a_trace_with_a_variable(self):
        trace = self.written("heat.trace", TRACE + HEAT)
        for archive in (trace, self.imported(trace)):  # measured on the way; in the archive's raw events
            self.assertEqual(self.replay(archive, "--operator", "mean:Heat")["operator"], "mean:Heat")
            for variable, said in (("Heat", False), ("Cold", True)):
                done = subprocess.run([MARGAY, "replay", archive, "--operator", f"mean:{variable}"], capture_output=True,
                                      text=True, timeout=LONG, check=False)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(f"no value of {variable} so far" in done.stdout, said, done.stdout)

    def imported(self, trace):
        archive = trace + ".margay"
        done = subprocess.run([MARGAY, "import", trace, "--archive", archive], capture_output=True, text=True, timeout=LONG,
                              check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return archive

    def test_a_killed_daemon_goes_on(self):
        run = self.run_lammps(8, flags=["--operator", "bytes"])
        end_process(run.child("margayd"), signal.SIGKILL)
        run.wait_for_slices(8)
        self.assertEqual(run.status()["measured"]["operator"], "bytes")
        self.tell_to_end()
        self.assertEqual(run.wait(), 0, run.stderr)
        self.check(run)
        self.check_replay(run)


if __name__ == "__main__":
    unittest.main()
