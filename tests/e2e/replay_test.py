"""A replay says what was said live: the same reports, alerts and phases, to the byte."""
import csv
import json
import os
import random
import re
import shutil
import signal
import subprocess
import unittest

from e2e import LONG, E2eTest, alive, dump, end_process, read_text, wait_for

CHECK = os.environ["REPLAY_CHECK"]
SEED = 20261121


TRACE = """%EventDef PajeDefineContainerType 0
% Alias string
% Type string
% Name string
%EndEventDef
%EventDef PajeDefineStateType 1
% Alias string
% Type string
% Name string
%EndEventDef
%EventDef PajeCreateContainer 2
% Time date
% Alias string
% Type string
% Container string
% Name string
%EndEventDef
%EventDef PajeSetState 3
% Time date
% Type string
% Container string
% Value string
%EndEventDef
0 P 0 Process
1 S P State
2 0.0 p0 P 0 p0
2 0.0 p1 P 0 p1
3 0.0 S p0 run
3 0.5 S p1 run
3 2.0 S p0 wait
3 3.0 S p1 wait
3 4.0 S p0 run
"""


def csv_column(text, name):
    return [row[name] for row in csv.DictReader(text.splitlines())]


class Replay(E2eTest):
    def check_replay(self, run, reports=3):
        """The run against a replay of a copy of its archive, in which no report is left."""
        copy = run.archive + ".copy"
        shutil.copytree(run.archive, copy)
        done = subprocess.run([CHECK, run.archive, copy], capture_output=True, text=True, timeout=LONG, check=False)
        print(f"  {run.name}: {done.stdout.strip()}", flush=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreaterEqual(int(done.stdout.split()[0]), reports, "too little was compared")
        shutil.rmtree(copy)
        return done.stdout

    def test_many_runs(self):
        print(f"  seed {SEED}", flush=True)
        chance = random.Random(SEED)
        for number in range(10 if os.environ.get("MARGAY_NIGHTLY") else 4):  # each kind of fault, and none
            ranks = chance.choice([2, 3, 4])
            plan = [(chance.choice("ABDF"), chance.choice([1, 1.5, 2])) for _ in range(2)]
            options = ["--plan", ",".join(f"{name}:{seconds}" for name, seconds in plan)]
            if number % 2 == 0:
                options += ["--pcontrol"]
            if number % 3 == 0:
                options += ["--fault", f"stop:{chance.randrange(ranks)}:{chance.uniform(0.5, 1.5):.2f}:0.6"]
            if number % 3 == 1:
                options += ["--fault", f"slow:{chance.randrange(ranks)}:0.8:0.7"]
            run = self.run_margay(self.workload(*options, ranks=ranks), name=f"run{number}",
                                  slice_text=chance.choice(["50ms", "100ms"]))
            self.assertEqual(run.wait(), 0, run.stderr)
            self.check_replay(run)

    def test_spoiled_replay_is_noticed(self):
        run = self.run_margay(self.workload("--plan", "A:1.5,B:1.5", ranks=2))
        self.assertEqual(run.wait(), 0)
        copy = run.archive + ".copy"
        shutil.copytree(run.archive, copy)
        done = subprocess.run([CHECK, "--spoil", run.archive, copy], capture_output=True, text=True, timeout=LONG,
                              check=False)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)

    def test_slices_that_changed_after_they_were_shown(self):
        # The agent is stopped for longer than a silent source holds up the slices: they close drawn out, and change
        # when it speaks again.
        run = self.run_lammps(5)
        agent = run.child("margay-node")
        for _ in range(2):
            end_process(agent, signal.SIGSTOP)
            try:
                now = run.status()["watermark_ns"]
                wait_for(lambda now=now: run.status()["watermark_ns"] >= now + 1_200_000_000, "slices go by unheard")
            finally:
                end_process(agent, signal.SIGCONT)
            run.wait_for_slices(5)
            before = run.produced_so_far()
            wait_for(lambda before=before: run.produced_so_far() > before, "events are modelled again", poll=0.05)
        self.tell_to_end()
        self.assertEqual(run.wait(), 0)
        self.check_conservation(run, 4)
        said = self.check_replay(run)
        self.assertGreater(int(re.search(r"(\d+) slices shown again", said)[1]), 4, said)

    def margay_replay(self, *arguments):
        return subprocess.run([self.margay_program, "replay", *arguments], capture_output=True, text=True, timeout=LONG,
                              check=False)

    def test_command(self):
        run = self.run_margay(self.workload("--plan", "A:2,B:2", "--fault", "stop:1:1:0.7", ranks=3))
        self.assertEqual(run.wait(), 0)
        again = os.path.join(self.place, "again.jsonl")
        done = self.margay_replay(run.archive, "--alerts", again)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("margay: identical to what was reported live: ", done.stdout)

        def said(path):
            with open(path, encoding="utf-8") as file:
                return [{**json.loads(line), "emitted_wall_ns": 0} for line in file]
        self.assertEqual(said(again), said(run.alerts_path))
        self.assertGreaterEqual(len(said(again)), 2)
        live = json.loads(self.margay_replay(run.archive, "--json").stdout)["live"]
        alerts = len({alert["id"] for alert in run.alerts})
        self.assertEqual((live["compared"], live["identical"]), (True, True), live)
        self.assertEqual((live["alerts"], live["alerts_now"]), (alerts, alerts))
        # What if: said so, and the archive is as it was.
        before = dump("cells", run.archive)
        done = self.margay_replay(run.archive, "--slice", "200ms", "--p", "0.3", "--idle-state", "MPI_Recv", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        summary = json.loads(done.stdout)
        self.assertFalse(summary["exact"])
        self.assertEqual(summary["live"], {"compared": False, "reasons": ["slices of another duration than live"]})
        self.assertAlmostEqual(summary["slices"], len(set(csv_column(before, "slice"))) / 2, delta=2)
        self.assertEqual(dump("cells", run.archive), before)
        # A slice that no level divides: the events are sliced again.
        done = self.margay_replay(run.archive, "--slice", "30ms", "--from", "1", "--to", "4", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        summary = json.loads(done.stdout)
        self.assertEqual(summary["live"], {"compared": False, "reasons": ["the events were sliced again"]})
        self.assertAlmostEqual(summary["slices"], 100, delta=2)
        self.assertGreaterEqual(len(summary["phases"]), 1)
        bare = self.run_margay(self.workload("--plan", "A:0.5", ranks=2), flags=["--no-raw"])
        self.assertEqual(bare.wait(), 0)
        done = self.margay_replay(bare.archive, "--slice", "30ms")
        self.assertEqual((done.returncode, "the events themselves are not kept" in done.stderr), (2, True), done.stderr)
        for wrong, words in ((["--level", "3s"], "the archive has the levels 100 ms, 1 s, 10 s"),
                             (["--from", "soon"], "expected seconds from the begin"),
                             (["--from", "3", "--to", "2"], "the range ends before it begins"),
                             (["--p", "7"], "expected a number from 0 to 1"),
                             (["--speed", "0"], "how many times real time")):
            done = self.margay_replay(run.archive, *wrong)
            self.assertEqual(done.returncode, 2, wrong)
            self.assertIn(words, done.stderr)
        done = self.margay_replay(os.path.join(self.place, "none"))
        self.assertEqual((done.returncode, "no such archive" in done.stderr), (2, True), done.stderr)

    def test_what_was_said_live_beside_other_settings(self):
        example = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "viewer", "example", "sixteen.margay")
        # Of slices that are longer than the stop it is no whole one.
        done = self.margay_replay(example, "--set", "slice.duration=2s")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"\nmargay: said live only: 15\.0 s, rank6 on node1 has been stopped for 0\.9 s; ")
        self.assertNotIn("said now only", done.stdout)
        beside = json.loads(self.margay_replay(example, "--set", "slice.duration=2s", "--json").stdout)["beside"]
        self.assertEqual((len(beside["only_live"]), beside["only_now"]), (1, []))
        # Events that are sliced again have no samples of processes: what the stop did is said, and more.
        done = self.margay_replay(example, "--set", "slice.duration=130ms", "--set", "detect.every_level=false")
        self.assertNotIn("said live only", done.stdout)
        self.assertIn("\nmargay: said now only: ", done.stdout)
        beside = json.loads(self.margay_replay(example, "--set", "detect.p=0.3", "--json").stdout)["beside"]
        self.assertEqual(beside, {"only_live": [], "only_now": []})
        self.assertNotIn("beside", json.loads(self.margay_replay(example, "--json").stdout))
        for wrong, words in (("detect.p=7", '--set detect.p=7: expected "auto" or a number from 0 to 1'),
                             ("detect.p", "--set detect.p: expected KEY=VALUE"),
                             ("store.keep_raw=1d", "a replay can have other values of slice.duration, detect.min_effect")):
            done = self.margay_replay(example, "--set", wrong)
            self.assertEqual(done.returncode, 2, wrong)
            self.assertIn(words, done.stderr)
        done = self.margay_replay(example, "--slice", "1s", "--set", "slice.duration=2s")
        self.assertEqual((done.returncode, "the slice is given already" in done.stderr), (2, True), done.stderr)

    def test_trace_is_imported_on_the_way(self):
        path = self.written("two.trace", TRACE)
        scratch = os.path.join(self.place, "scratch")
        os.mkdir(scratch)
        done = subprocess.run([self.margay_program, "replay", path, "--slice", "50ms", "--json"], capture_output=True,
                              text=True, timeout=LONG, check=False, env={**os.environ, "TMPDIR": scratch})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout)["slices"], 81)
        self.assertEqual(os.listdir(scratch), [], "nothing is left")
        done = self.margay_replay("/etc/hostname")
        self.assertEqual((done.returncode, done.stdout), (2, ""))

    def test_watched(self):
        run = self.run_margay(self.workload("--plan", "A:2,B:2", ranks=2))
        self.assertEqual(run.wait(), 0)
        served = self.start([self.margay_program, "replay", run.archive, "--serve", "--name", "served"])
        status = [self.margay_program, "status", "--json", "served"]

        def there():
            done = subprocess.run(status, env=self.environment, capture_output=True, text=True, timeout=LONG, check=False)
            return done.returncode == 0 and len(json.loads(done.stdout)["phases"]) >= 2
        wait_for(there, "the replay is at its end")
        end_process(served.process.pid, signal.SIGTERM)
        self.assertEqual(served.wait(), 128 + signal.SIGTERM)
        self.assertFalse(os.path.exists(os.path.join(self.runtime, f"margay-{os.geteuid()}", "served")))

    def compact(self):
        """Flags for cells that are rounded once, when their slice closes."""
        path = self.written("compact.toml", '[store]\ncells = "compact"\n')
        return ("--config", path)

    def check_compact(self, run):
        """Durations are hundredths of a slice, and the archive says why."""
        done = subprocess.run([self.margay_program, "export", run.archive, "--format", "csv", "--table", "cells", "-o",
                               run.archive + ".csv"],
                              capture_output=True, text=True, timeout=LONG, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        durations = [int(d) for d in csv_column(read_text(run.archive + ".csv"), "duration_ns")]
        self.assertGreater(len(durations), 100)
        # The newest slice was open when the run ended: it is exact.
        exact = sum(d % 1_000_000 != 0 for d in durations)
        self.assertLess(exact, len(durations) / 10)

    def check_end(self, run, flags):
        """LAMMPS is told to end; its cells, as exact as the flags want them, and the replay are right."""
        self.tell_to_end()
        self.assertEqual(run.wait(), 0)
        self.check_conservation(run, 4)
        if flags:
            self.check_compact(run)
        else:
            self.check_cells(run)
        return self.check_replay(run)

    def test_daemon_killed(self):
        self.killed()

    def test_daemon_killed_compact(self):
        self.killed(self.compact())

    def killed(self, flags=()):
        # What was shown since the last cut is lost with the daemon, and so is what was said of it.
        run = self.run_lammps(12, name="killed", flags=flags)
        for _ in range(3):
            pid, before = run.child("margayd"), run.produced_so_far()
            end_process(pid, signal.SIGKILL)
            wait_for(lambda pid=pid: run.child("margayd") not in (None, pid), "margayd is started again")
            wait_for(lambda before=before: run.produced_so_far() > before, "events are modelled again", poll=0.05)
            rank = run.ranks("lmp", 4)[1]
            end_process(rank, signal.SIGSTOP)
            try:
                alerts = len(run.alerts) if os.path.exists(run.alerts_path) else 0
                wait_for(lambda alerts=alerts: os.path.exists(run.alerts_path) and len(run.alerts) > alerts, "an alert")
            finally:
                end_process(rank, signal.SIGCONT)
        said = self.check_end(run, flags)
        self.assertIn("of 4 daemons", said)

    def test_daemon_killed_while_slices_change(self):
        self.killed_while_slices_change()

    def test_daemon_killed_while_slices_change_compact(self):
        self.killed_while_slices_change(self.compact())

    def killed_while_slices_change(self, flags=()):
        # Changed in the archive, not yet shown again: its successor shows it.
        run = self.run_lammps(5, name="changed", flags=flags)
        agent, daemon = run.child("margay-node"), run.child("margayd")
        end_process(agent, signal.SIGSTOP)
        try:
            now = run.status()["watermark_ns"]
            wait_for(lambda: run.status()["watermark_ns"] >= now + 1_000_000_000, "slices go by unheard")
        finally:
            end_process(agent, signal.SIGCONT)
        before = run.produced_so_far()
        wait_for(lambda: run.produced_so_far() > before, "events are modelled again", poll=0.002)
        end_process(daemon, signal.SIGKILL)
        wait_for(lambda: not alive(daemon) and run.child("margayd") not in (None, daemon), "another daemon")
        run.wait_for_slices(40)
        self.check_end(run, flags)

    def test_an_archive_that_is_being_written_is_read_beside_its_daemon(self):
        run = self.run_margay(self.lammps_until_told(ranks=2))
        run.ranks("lmp", 2)
        run.wait_for_slices(10)
        seen = []
        for _ in range(2):
            done = self.margay_replay(run.archive, "--json")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("is being written; this is what it holds now", done.stderr)
            seen.append(json.loads(done.stdout)["slices"])
            run.wait_for_slices(seen[-1] + 10)
        self.assertGreaterEqual(seen[0], 5)
        self.assertGreater(seen[1], seen[0])
        for what in (("partition", run.archive, "--slices", "10", "--p", "0.1"),
                     ("export", run.archive, "--format", "csv", "--table", "cells"),
                     ("export", run.archive, "--format", "paje")):
            done = subprocess.run([self.margay_program, *what], capture_output=True, text=True, timeout=LONG, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("is being written; this is what it holds now", done.stderr)
            self.assertIn("Compute", done.stdout)
        self.tell_to_end()
        self.assertEqual(run.wait(), 0, run.stderr)
        self.check_conservation(run, 2)
        done = self.margay_replay(run.archive, "--json")
        self.assertNotIn("being written", done.stderr)
        self.assertGreater(json.loads(done.stdout)["slices"], seen[1])
        self.check_replay(run)


if __name__ == "__main__":
    unittest.main()
