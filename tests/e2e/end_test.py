"""The end of a job with a daemon that is killed, stopped or starved: what `margay run` says of it is right, or said to be
unknown, and nobody waits without knowing for what.

END_ROUNDS=50 for so many rounds of each (2 in ctest)."""
import contextlib
import ctypes
import json
import multiprocessing
import os
import re
import signal
import subprocess
import time
import unittest

from e2e import CALLCOUNT, E2eTest, LONG, MARGAY, alive, calls_by_rank, end_process, expected_records, wait_for

ROUNDS = int(os.environ.get("END_ROUNDS", "2"))
UNTOLD = 5  # s from the job's end on, after which it must have been said what is waited for (2 s, on a busy machine)


def spin():
    os.setsid()
    while True:
        pass


def starve(pid):
    """As little of the cores as the kernel gives: only what nobody else wants."""
    for thread in os.listdir(f"/proc/{pid}/task"):
        try:
            os.sched_setscheduler(int(thread), os.SCHED_IDLE, os.sched_param(0))
        except ProcessLookupError:
            pass
    try:
        with open(f"/proc/{pid}/autogroup", "w", encoding="ascii") as file:
            file.write("19")
    except OSError:
        pass  # there are no such groups, or the kernel has granted one in the last tenth of a second


@contextlib.contextmanager
def held(pid):
    """A process that does not go on, whatever signal it gets: as under a debugger, or in a frozen cgroup. Within one thread."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]

    def ptrace(request, thread):
        if libc.ptrace(request, thread, None, None) != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    seize, interrupt, detach, every_thread = 0x4206, 0x4207, 17, 0x40000000
    threads = set()
    try:
        while new := {int(t) for t in os.listdir(f"/proc/{pid}/task")} - threads:
            for thread in new:
                ptrace(seize, thread)
                threads.add(thread)
                ptrace(interrupt, thread)
                os.waitpid(thread, every_thread)
        yield
    finally:
        for thread in threads:
            ptrace(detach, thread)


class End(E2eTest):
    def job(self, number):
        """A job that is about to end: (run, folder of an independent counter of its calls, its launcher)."""
        counts = os.path.join(self.place, f"counts{number}")
        os.mkdir(counts)
        run = self.run_margay(self.workload("--plan", "A:0.8", ranks=2), name=f"end{number}",
                              env={"LD_PRELOAD": CALLCOUNT, "CALLCOUNT_DIR": counts})
        launcher = wait_for(lambda: run.child("orterun") or run.child("mpirun"), "mpirun", poll=0.002)
        return run, counts, launcher

    def archived(self, run):
        done = subprocess.run([MARGAY, "archive", "info", "--json", run.archive], env=self.environment, capture_output=True,
                              text=True, timeout=LONG, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)["events"]

    def check_end(self, run, counts, launcher):
        """Whether everything is known."""
        wait_for(lambda: not alive(launcher), "the job's end", poll=0.002)
        ended = time.monotonic()
        self.assertEqual(run.wait(), 0)
        waited = time.monotonic() - ended
        said, summary = "\n".join(run.said), run.summary
        if waited > UNTOLD:
            self.assertIn("waiting for", said)
        self.assertEqual(summary["exit_code"], 0)
        self.assertIn("the job ended after", said)
        self.assertNotIn("without Margay", said + json.dumps(summary))
        expected = {rank: expected_records(calls) for rank, calls in calls_by_rank(counts).items()}
        self.assertEqual(sorted(expected), [0, 1])
        archived = self.archived(run)
        for term in ("modelled", "late_dropped", "probe_dropped", "wire_lost", "rejected"):
            self.assertEqual(summary["events"][term], archived[term], term)
        if summary["complete"]:
            self.assertEqual({rank: a["produced"] for rank, a in run.by_rank().items()}, expected)
            self.check_conservation(run, 2)
            self.assertRegex(said, r" events of 2 resources, none lost; ")
            self.assertNotIn("unknown", said)
        else:
            self.assertRegex(said, r"is unknown|it is unknown|never arrived")
            self.assertNotIn("none lost", said)
            self.assertLessEqual(summary["events"]["modelled"], sum(expected.values()))
            self.assertIn("error", summary)
        self.assertNotIn("damage", subprocess.run([MARGAY, "archive", "verify", run.archive], env=self.environment, text=True,
                                                  capture_output=True, timeout=LONG, check=True).stdout.lower()
                         .replace("no damage", ""))
        return summary["complete"], waited

    def rounds(self, fault):
        complete, longest = 0, 0.0
        for number in range(ROUNDS):
            run, counts, launcher = self.job(number)
            daemon = run.child("margayd")
            # Each round a little later: before the program's last word, at it, behind it.
            wait_for(lambda run=run: "spread" in run.stdout or not alive(launcher), "the program is at its end", poll=0.0005)
            time.sleep((number % 5) * 0.02)
            undo = fault(run, daemon)
            known, waited = self.check_end(run, counts, launcher)
            if undo:
                undo()
            complete, longest = complete + known, max(longest, waited)
        print(f"  {ROUNDS} ends, {complete} with everything known; up to {longest:.1f} s from the job's end to margay's",
              flush=True)
        return complete

    def test_the_daemon_is_killed(self):
        self.assertEqual(self.rounds(lambda run, daemon: end_process(daemon)), ROUNDS)

    def test_the_daemon_is_stopped(self):
        # `margay run` has it go on.
        self.assertEqual(self.rounds(lambda run, daemon: end_process(daemon, signal.SIGSTOP)), ROUNDS)

    def test_the_daemon_is_starved(self):
        def fault(run, daemon):
            spinners = [multiprocessing.Process(target=spin, daemon=True) for _ in range(os.cpu_count())]
            for s in spinners:
                s.start()
            starve(daemon)

            def undo():
                for s in spinners:
                    s.kill()
                    s.join()
            self.addCleanup(undo)
            return undo
        self.rounds(fault)

    def test_a_daemon_that_stays_stopped_is_left_when_asked(self):
        run, counts, launcher = self.job(0)
        daemon = run.child("margayd")
        with held(daemon):
            wait_for(lambda: "waiting for the daemon" in run.stderr, "it is said what is waited for")
            self.assertFalse(alive(launcher))
            self.assertRegex(run.stderr, rf"process {daemon}.*stopped.*Ctrl-C")
            end_process(run.pid, signal.SIGINT)
            self.assertEqual(run.wait(), 0)
            summary, said = run.summary, "\n".join(run.said)
            self.assertEqual((summary["told_by"], summary["complete"], summary["exit_code"]), ("archive", False, 0))
            self.assertRegex(said, r"the archive has [\d,]+ events of \d resources?, .* is unknown")
            self.assertNotIn("none lost", said)
        # Left to itself, it writes what was still to come, and clears up.
        wait_for(lambda: not alive(daemon), "the daemon ends by itself", timeout=60)
        wait_for(lambda: not os.path.exists(run.control_directory()), "the run's directory is gone")
        meta = run.meta()
        self.assertIsNotNone(meta["end_ns"])
        expected = sum(expected_records(calls) for calls in calls_by_rank(counts).values())
        self.assertEqual(self.archived(run)["modelled"], expected)
        self.assertLessEqual(summary["events"]["modelled"], expected)

    def test_the_agent_is_stopped(self):
        # It has records that nobody else has: had it not gone on, "none lost" could not be said.
        stopped = []

        def fault(run, _):
            agent = run.child("margay-node")
            if agent is not None:  # else it has said all already
                end_process(agent, signal.SIGSTOP)
                stopped.append(agent)
        self.assertEqual(self.rounds(fault), ROUNDS)
        self.assertTrue(stopped, "each agent had ended before it could be stopped: nothing was shown")


if __name__ == "__main__":
    unittest.main()
