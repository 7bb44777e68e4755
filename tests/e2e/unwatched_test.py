"""What cannot be looked at is counted, and "none lost" is not said: few descriptors, other PID namespaces, processes without a
segment, a segment that is cut short."""
import glob
import json
import os
import re
import signal
import subprocess
import sys
import unittest

from e2e import LONG, MARGAY, MPIRUN, PROGRAMS, E2eTest, end_process, wait_for

ANNOTATED = os.path.join(PROGRAMS, "annotated")
# As root, or as whoever may make a namespace of users.
UNSHARE = ["unshare", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"]), "--pid", "--fork", "--mount-proc"]


def namespaces_can_be_made():
    try:
        return subprocess.run([*UNSHARE, "true"], capture_output=True, timeout=30, check=False).returncode == 0
    except OSError:
        return False


class UnwatchedTest(E2eTest):
    def last_lines(self, run):
        return [line for line in run.said if "events of" in line or "watched" in line]

    def check_all_watched(self, run, resources):
        self.assertEqual(run.wait(), 0, run.stderr)
        self.check_conservation(run, resources)
        self.assertEqual(run.summary["processes"]["unwatched"], 0)
        self.assertRegex("\n".join(self.last_lines(run)), f"of {resources} resources, none lost;", run.stderr)

    def limited(self, descriptors):
        """`margay run` itself, and what it starts, may have so many files open."""
        path = self.written("limited", f"#!/bin/sh\nulimit -n {descriptors} && exec {MARGAY} \"$@\"\n")
        os.chmod(path, 0o755)
        self.margay_program = path

    def test_far_more_processes_than_descriptors(self):
        self.limited(256)
        # All of them are there at the same time.
        count = 150
        go = os.path.join(self.place, "go")
        run = self.run_margay(["sh", "-c", f"for i in $(seq {count}); do {ANNOTATED} linger {go} >/dev/null & done; wait"])
        wait_for(lambda: len(glob.glob(os.path.join(self.runtime, "*", "*", "rings", "p*"))) == count or not run.running,
                 "all processes")
        agent = wait_for(lambda: run.child("margay-node"), "the agent")
        with open(f"/proc/{agent}/limits", encoding="utf-8") as file:
            self.assertRegex(file.read(), r"Max open files +256 ")
        wait_for(lambda: self.status(run)["sources_live"] == count, "all processes to be watched")
        self.assertLess(len(os.listdir(f"/proc/{agent}/fd")), 256)
        with open(go, "w", encoding="utf-8"):
            pass
        self.check_all_watched(run, count)

    def status(self, run):
        done = subprocess.run([MARGAY, "status", "--json", run.name], capture_output=True, text=True, timeout=LONG,
                              env=self.environment, check=False)
        return json.loads(done.stdout) if done.returncode == 0 else {"sources_live": -1}

    @unittest.skipUnless(namespaces_can_be_made(), "no PID namespaces here")
    def test_the_job_in_a_pid_namespace_of_its_own(self):
        # Whoever has such a namespace may be root in it.
        run = self.run_margay([*UNSHARE, MPIRUN, "-np", "3", ANNOTATED, "mpi", "40"],
                              env={"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"})
        self.check_all_watched(run, 3)
        # before, after, MPI_Init, MPI_Finalize; solve and MPI_Allreduce
        self.assertEqual([s["produced"] for s in run.summary["sources"]], [2 * 4 + 40 * 4] * 3)

    @unittest.skipUnless(namespaces_can_be_made(), "no PID namespaces here")
    def test_each_process_in_a_namespace_of_its_own(self):
        """All are called 1 there, and some begin in the same hundredth of a second."""
        one = " ".join([*UNSHARE, ANNOTATED, "threads", "1", "30"])
        run = self.run_margay(["sh", "-c", f"for i in 1 2 3 4 5 6; do {one} >/dev/null & done; wait"])
        self.check_all_watched(run, 6)
        self.assertEqual([s["produced"] for s in run.summary["sources"]], [6 * 30] * 6)

    def test_processes_without_a_segment(self):
        """Their probes count them, in a file of the run."""
        count = "import os, struct, sys; f = os.open(os.environ['MARGAY_RUN_DIR'] + '/unwatched', os.O_RDWR); " \
                "os.pwrite(f, struct.pack('=Q', 2), 0)"
        run = self.run_margay(["sh", "-c", f"{ANNOTATED} threads 1 5; {sys.executable} -c \"{count}\""])
        self.assertEqual(run.wait(), 0, run.stderr)
        self.assertEqual(run.summary["processes"],
                         {"there": 3, "unwatched": 2, "why": "2 got no shared memory for events"})
        lines = self.last_lines(run)
        self.assertIn("none lost of those that were watched;", lines[-2])
        self.assertEqual(lines[-1], "margay: 2 of 3 processes were not watched, or not to the end "
                                    "(2 got no shared memory for events)")
        done = subprocess.run([MARGAY, "archive", "info", run.archive], capture_output=True, text=True, timeout=LONG,
                              env=self.environment, check=True)
        self.assertRegex(done.stdout, r"none lost of those that were watched\n")
        self.assertRegex(done.stdout, r"not watched +2 processes, or not to the end: 2 got no shared memory")

    def test_a_segment_is_cut_short(self):
        """Under a process that does not notice, for it is stopped. The agent goes on, for the others too."""
        go = os.path.join(self.place, "go")
        run = self.run_margay(["sh", "-c", f"{ANNOTATED} linger {go} >/dev/null & {ANNOTATED} linger {go} >/dev/null & wait; true"])
        rings = wait_for(lambda: (lambda r: r if len(r) == 2 else None)(
            sorted(glob.glob(os.path.join(self.runtime, "*", "*", "rings", "p*")))), "two segments")
        wait_for(lambda: self.status(run)["sources_live"] == 2, "both to be watched")
        victim = int(re.match(r"p(\d+)-", os.path.basename(rings[0])).group(1))
        os.kill(victim, signal.SIGSTOP)
        os.truncate(rings[0], 4096)
        status = wait_for(lambda: (lambda s: s if s.get("processes_unwatched") else None)(self.status(run)), "a word")
        self.assertEqual(status["unwatched_why"], "1 had its shared memory cut short or written over")
        self.assertTrue(os.path.exists(rings[0]), "its process lives")
        end_process(victim)
        with open(go, "w", encoding="utf-8"):
            pass
        self.assertEqual(run.wait(), 0, run.stderr)
        self.assertNotIn("the node agent ended unexpectedly", run.stderr)
        self.assertEqual(run.summary["processes"]["unwatched"], 1)
        self.assertEqual(run.summary["processes"]["there"], 2)
        self.assertRegex(self.last_lines(run)[-1], "1 of 2 processes was not watched, or not to the end")
        self.assertRegex(run.stderr, "NOT WATCHED: 1 of 2 processes")


if __name__ == "__main__":
    unittest.main()
