"""What a job feels of Margay: the probe's own part of every MPI call, while everything behind it fails.

Two libraries lie around the probe (tests/support/blockwatch.c): what passes between them is its part, without MPI's.
A call in which it waits for anything has a voluntary context switch; there must be none, whatever the machine is doing.
Time on the wall says less on a machine that others use too: there a call may be long only because the kernel gave the
processor to somebody else, which is an involuntary switch. Or because the hypervisor took the machine away, which is no
switch at all, and may be booked as the call's own processor time: a run in which a call is long with no switch of either kind
is made again, three times at most, for what the probe does itself it does in each.
"""
import contextlib
import glob
import json
import os
import shutil
import signal
import subprocess
import time
import unittest

from e2e import E2eTest, HERE, MPIRUN, PROGRAMS, end_process, wait_for

PYTHON = os.environ.get("SYSTEM_PYTHON", "/usr/bin/python3")
OUTER, INNER = os.environ["BLOCKWATCH_OUTER"], os.environ["BLOCKWATCH_INNER"]
KINDS = ("init", "first", "call", "finalize")
LONG_MS = 1.0


def micro(ns):
    return f"{ns / 1000:.1f}"


class Watched(E2eTest):
    """A run whose probe lies between the two libraries."""

    def watched(self, command, env=None):
        self.reports = os.path.join(self.place, "watch")
        shutil.rmtree(self.reports, ignore_errors=True)
        os.makedirs(self.reports)
        # `margay run` puts its probe before what is preloaded already; the outer library must come before it.
        script = self.written("between",
                              '#!/bin/sh\nexport LD_PRELOAD="' + OUTER + ":$LD_PRELOAD:" + INNER + '"\nexec "$@"\n')
        os.chmod(script, 0o700)
        # mpirun hands its environment on to the ranks; it makes no MPI calls itself.
        return self.run_margay([script, *command], env={"BLOCKWATCH_DIR": self.reports} | (env or {}))

    def storm(self, ranks=2, threads=0):
        self.go, self.stop = os.path.join(self.place, "go"), os.path.join(self.place, "stop")
        for path in (self.go, self.stop):
            with contextlib.suppress(FileNotFoundError):
                os.remove(path)
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
                  f"{sum(k['long_wall'] for k in of)}, of these preempted {sum(k['long_wall_preempted'] for k in of)}",
                  flush=True)
        for report in reports:
            for offender in report["offenders"]:
                print(f"  rank {report['rank']}: {offender}", flush=True)

    def check_never_blocked(self, reports, kinds=KINDS):
        for report in reports:
            for kind in kinds:
                figures = report["kinds"][kind]
                where = f"rank {report['rank']}, {kind}: {report['offenders']}"
                self.assertEqual(figures["voluntary"], 0, f"waited; {where}")
                self.assertEqual(figures["long_cpu"], 0, f"computed for more than {LONG_MS} ms; {where}")
                # Off the processor without a switch: only a hypervisor or an interrupt does that, and no program.
                taken = sum(1 for o in report["offenders"] if o["kind"] == kind and o["voluntary"] == 0 and
                            o["involuntary"] == 0 and o["cpu_ns"] < LONG_MS * 1e6 <= o["wall_ns"])
                self.assertEqual(figures["long_wall"], figures["long_wall_preempted"] + taken, f"took long; {where}")


def may_be_the_machine(report, kinds):
    """Whether what is wrong is so little that it is worth another look: a hypervisor that takes the processor makes time
    on it longer, and a page that it has to fetch first is waited for. What the probe does it does again."""
    return all(sum(report["kinds"][k][what] for k in kinds) <= 2 for what in ("voluntary", "long_cpu"))


class Blocking(Watched):
    def never_blocked(self, run_it, kinds):
        """`run_it` makes a run, and returns its ranks' reports."""
        for again in (True, True, True, True, False):
            reports = run_it()
            self.tell(reports)
            try:
                return self.check_never_blocked(reports, kinds)
            except AssertionError as error:
                if not again or not all(may_be_the_machine(r, kinds) for r in reports):
                    raise
                print(f"  again: {error}"[:200], flush=True)

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
        def run_it():
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
            for report in reports:
                self.assertGreater(report["kinds"]["call"]["calls"], 100_000)
            return reports
        self.never_blocked(run_it, ["init", "call", "finalize"])

    def test_lammps_while_the_daemon_is_killed_and_stopped(self):
        def run_it():
            run = self.watched(self.lammps_until_told())
            run.ranks("lmp", 4)
            run.wait_for_slices(5)
            self.trouble(run)
            self.tell_to_end()
            self.assertEqual(run.wait(), 0, run.stderr)
            self.check_conservation(run, 4, lossless=False)
            return self.parts(4)
        self.never_blocked(run_it, ["init", "call", "finalize"])

    def test_threads(self):
        # A thread's first call takes a ring: system calls, but nothing to wait for.
        def run_it():
            run = self.watched(self.storm(ranks=2, threads=7))
            self.touch(self.go)
            run.wait_for_slices(10)
            self.touch(self.stop)
            self.assertEqual(run.wait(), 0, run.stderr)
            reports = self.parts(2)
            for report in reports:
                self.assertEqual(report["kinds"]["first"]["calls"], 7)
            return reports
        self.never_blocked(run_it, KINDS)

    def test_mpi_that_is_found_at_run_time(self):
        # Python opens the library when it imports mpi4py: nothing could be made before MPI_Init.
        if subprocess.run([PYTHON, "-c", "import mpi4py"], capture_output=True, check=False).returncode != 0:
            self.skipTest(f"{PYTHON} has no mpi4py (Debian: python3-mpi4py)")

        def run_it():
            run = self.watched([MPIRUN, "-np", "2", PYTHON, os.path.join(HERE, "programs", "hello_mpi.py")],
                               env={"PYTHONDONTWRITEBYTECODE": "1"})
            self.assertEqual(run.wait(), 0, run.stderr)
            return self.parts(2)
        self.never_blocked(run_it, ["init", "call", "finalize"])


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
