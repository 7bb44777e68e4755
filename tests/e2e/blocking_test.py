"""What a job feels of Margay: the probe's own part of every MPI call, while everything behind it fails.

Two libraries lie around the probe (tests/support/blockwatch.c): what passes between them is its part, without MPI's.
A call in which it waits for anything has a voluntary context switch; there must be none, whatever the machine is doing.
Nor may it compute for long: what it does itself is the processor's time. Time on the wall says no more than these two, on a
machine that others use too: a call that is long with neither was long because the kernel gave the processor to somebody else
(an involuntary switch), or because the hypervisor took the machine away (no switch at all). It is printed, not judged.
"""
import glob
import json
import os
import signal
import time
import unittest

from e2e import E2eTest, MPIRUN, PROBE, PROGRAMS, end_process, wait_for

OUTER, INNER = os.environ["BLOCKWATCH_OUTER"], os.environ["BLOCKWATCH_INNER"]
KINDS = ("init", "first", "call", "finalize")
LONG_MS = 1.0


def taken_away_ns():
    """Processor time that the hypervisor has taken from this machine since it began, in steps of a tick (10 ms)."""
    with open("/proc/stat", encoding="utf-8") as file:
        return int(file.readline().split()[8]) * 10_000_000


def micro(ns):
    return f"{ns / 1000:.1f}"


class Watched(E2eTest):
    """A run whose probe lies between the two libraries."""

    def setUp(self):
        super().setUp()
        self.taken_before = taken_away_ns()

    def watched(self, command, env=None):
        self.reports = os.path.join(self.place, "watch")
        os.makedirs(self.reports, exist_ok=True)
        # `margay run` puts its probe before what is preloaded already; the outer library must come before it.
        script = os.path.join(self.place, "between")
        with open(script, "w", encoding="utf-8") as file:
            file.write('#!/bin/sh\nexport LD_PRELOAD="' + OUTER + ":$LD_PRELOAD:" + INNER + '"\nexec "$@"\n')
        os.chmod(script, 0o700)
        # mpirun hands its environment on to the ranks; it makes no MPI calls itself.
        return self.run_margay([script, *command], env={"BLOCKWATCH_DIR": self.reports} | (env or {}))

    def storm(self, ranks=2, threads=0):
        self.go, self.stop = os.path.join(self.place, "go"), os.path.join(self.place, "stop")
        return [MPIRUN, "-np", str(ranks), os.path.join(PROGRAMS, "storm"), self.go, self.stop, str(threads)]

    @staticmethod
    def touch(path):
        with open(path, "w", encoding="utf-8"):
            pass

    def parts(self, ranks):
        found = []
        for path in glob.glob(os.path.join(self.reports, "*.json")):
            with open(path, encoding="utf-8") as file:
                found.append(json.load(file))
        found.sort(key=lambda r: r["rank"])
        self.assertEqual([r["rank"] for r in found], list(range(ranks)))
        for report in found:
            # The libraries do lie around the probe, and it has passed on what it got.
            self.assertGreater(report["functions"], 150)
            self.assertEqual([report["kinds"][k]["calls"] for k in ("init", "finalize")], [1, 1])
        return found

    def tell(self, reports):
        for kind in KINDS:
            of = [r["kinds"][kind] for r in reports if r["kinds"][kind]["calls"] > 0]
            if not of:
                continue
            print(f"  {kind:8} {sum(k['calls'] for k in of):9} calls; us of processor: half below "
                  f"{micro(max(k['cpu']['p50'] for k in of))}, 99.9 % below {micro(max(k['cpu']['p999'] for k in of))}, "
                  f"all below {micro(max(k['cpu']['max'] for k in of))}; longest on the wall "
                  f"{micro(max(k['wall']['max'] for k in of))}; waited {sum(k['voluntary'] for k in of)}; above 1 ms "
                  f"{sum(k['long_wall'] for k in of)}, of these preempted {sum(k['long_wall_preempted'] for k in of)}, the rest "
                  "without the machine",
                  flush=True)
        for report in reports:
            for offender in report["offenders"]:
                print(f"  rank {report['rank']}: {offender}", flush=True)

    def check_never_blocked(self, reports, kinds=KINDS):
        for report in reports:
            for kind in kinds:
                figures = report["kinds"][kind]
                where = f"rank {report['rank']}, {kind}: {report['offenders']}"
                # MPI_Init names the segment, a thread's first call gets its ring: those that come together take turns in the
                # kernel at the directory and at the file's memory, some tenths of a millisecond at most (printed). No other
                # call waits for anything.
                if kind not in ("init", "first"):
                    self.assertEqual(figures["voluntary"], 0, f"waited; {where}")
                # What is taken away in a call may be booked as its processor time: no more than that, and a tick.
                long = [o["cpu_ns"] for o in report["offenders"] if o["kind"] == kind and o["cpu_ns"] > LONG_MS * 1e6]
                away = taken_away_ns() - self.taken_before + 10_000_000
                self.assertTrue(figures["long_cpu"] == len(long) and sum(long) <= away,
                                f"computed for more than {LONG_MS} ms; {where}")


class Blocking(Watched):
    def make_progress(self, run):
        before = run.produced_so_far()
        wait_for(lambda: run.produced_so_far() > before, "events are modelled again", poll=0.05)

    def trouble(self, run):
        """Everything behind the probe fails, one after the other, while the ranks call as fast as they can."""
        daemon = run.child("margayd")
        end_process(daemon, signal.SIGKILL)
        wait_for(lambda: run.child("margayd") not in (None, daemon), "another daemon")
        self.make_progress(run)
        for helper in ("margayd", "margay-node"):
            pid = run.child(helper)
            end_process(pid, signal.SIGSTOP)
            time.sleep(3)  # what is under test is three seconds of it
            end_process(pid, signal.SIGCONT)
            self.make_progress(run)
        agent = run.child("margay-node")
        end_process(agent, signal.SIGKILL)
        wait_for(lambda: run.child("margay-node") not in (None, agent), "another agent")
        self.make_progress(run)

    def test_everything_behind_the_probe_fails(self):
        run = self.watched(self.storm(ranks=2))
        self.touch(self.go)
        run.wait_for_slices(5)
        self.trouble(run)
        self.touch(self.stop)
        self.assertEqual(run.wait(), 0, run.stderr)
        self.check_conservation(run, 2, lossless=False)
        # The stopped agent left the rings full: those calls are among the measured ones.
        self.assertGreater(run.summary["events"]["probe_dropped"], 0)
        reports = self.parts(2)
        self.tell(reports)
        for report in reports:
            self.assertGreater(report["kinds"]["call"]["calls"], 100_000)
        self.check_never_blocked(reports, ["init", "call", "finalize"])

    def test_lammps_while_the_daemon_is_killed_and_stopped(self):
        run = self.watched(self.lammps_until_told())
        run.ranks("lmp", 4)
        run.wait_for_slices(5)
        self.trouble(run)
        self.tell_to_end()
        self.assertEqual(run.wait(), 0, run.stderr)
        self.check_conservation(run, 4, lossless=False)
        reports = self.parts(4)
        self.tell(reports)
        self.check_never_blocked(reports, ["init", "call", "finalize"])

    def test_threads(self):
        # A thread's first call takes a ring: system calls, but nothing to wait for.
        run = self.watched(self.storm(ranks=2, threads=7))
        self.touch(self.go)
        run.wait_for_slices(10)
        self.touch(self.stop)
        self.assertEqual(run.wait(), 0, run.stderr)
        reports = self.parts(2)
        self.tell(reports)
        for report in reports:
            self.assertEqual(report["kinds"]["first"]["calls"], 7)
        self.check_never_blocked(reports, KINDS)


class Noticed(Watched):
    """The check sees a probe that waits or computes inside a call."""

    def spoilt(self, how):
        run = self.watched(self.workload("--plan", "A:0.5", ranks=2), env={"BLOCKWATCH_INJECT": f"{how}:MPI_Allreduce"})
        self.assertEqual(run.wait(), 0, run.stderr)
        reports = self.parts(2)
        with self.assertRaises(AssertionError) as caught:
            self.check_never_blocked(reports, ["call"])
        for report in reports:
            self.assertIn("MPI_Allreduce", [o["function"] for o in report["offenders"]])
        return str(caught.exception)

    def test_a_sleep(self):
        self.assertIn("waited", self.spoilt("sleep"))

    def test_a_computation(self):
        self.assertIn("computed", self.spoilt("spin"))


if __name__ == "__main__":
    unittest.main()
