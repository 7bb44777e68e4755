"""Signals sent to `margay run`, and what is left of a run whose `margay run` was killed."""
import os
import pty
import signal
import time
import unittest

from e2e import E2eTest, MARGAY, alive, end_process, wait_for


class Signals(E2eTest):
    def signalled(self, number):
        """The exit code of a job that is sent a signal once it is up: alone, and under margay."""
        codes = []
        for start in (self.start, self.run_margay):
            job = start(self.program("ends", "wait"))
            wait_for(lambda job=job: "ready" in job.stdout, "the job is up")
            ranks = job.ranks("ends", 2)
            end_process(job.pid, number)
            codes.append(job.wait())
            for pid in ranks.values():
                wait_for(lambda pid=pid: not alive(pid), "the ranks have ended")
        self.assertEqual(codes[0], codes[1])
        self.assertNotEqual(codes[1], 0)
        run = self.jobs[-1]
        self.assertEqual(run.summary["exit_code"], codes[1])
        self.check_conservation(run, 2)
        self.assertFalse(os.path.exists(run.control_directory()))

    def test_sigterm(self):
        self.signalled(signal.SIGTERM)

    def test_sigint(self):
        self.signalled(signal.SIGINT)

    def test_the_job_decides_what_a_signal_means(self):
        # A job that takes SIGTERM as the wish to end in order ends in order.
        run = self.run_margay(["sh", "-c", "trap 'echo asked; exit 9' TERM; echo up; while :; do sleep 0.01; done"])
        wait_for(lambda: "up" in run.stdout, "the job is up")
        end_process(run.pid, signal.SIGTERM)
        self.assertEqual(run.wait(), 9)
        self.assertEqual(run.stdout, "up\nasked\n")

    def test_interrupted_at_the_terminal(self):
        # The terminal sends SIGINT to the whole process group: the job has it once, not once more from margay.
        script = ("trap 'echo interrupted' INT; trap 'exit 9' USR1; echo up; while :; do sleep 0.01; done")
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(self.place)
            os.execve(MARGAY, [MARGAY, "run", "--name", "tty", "--", "sh", "-c", script], self.environment)
        os.set_blocking(terminal, False)
        seen = b""

        def read(until):
            nonlocal seen
            try:
                seen += os.read(terminal, 65536)
            except (BlockingIOError, OSError):
                pass  # nothing there; or, at the end, nobody
            return until in seen
        try:
            wait_for(lambda: read(b"up"), "the job is up")
            os.write(terminal, b"\x03")
            wait_for(lambda: read(b"interrupted"), "the job is interrupted")
            end_process(pid, signal.SIGUSR1)  # passed on, after everything before it
            wait_for(lambda: read(b"with exit code 9"), "the end")
            done, status = wait_for(lambda: (lambda r: r if r[0] else None)(os.waitpid(pid, os.WNOHANG)), "margay's end")
        finally:
            os.close(terminal)
        self.assertEqual((done, os.waitstatus_to_exitcode(status)), (pid, 9))
        self.assertEqual(seen.count(b"interrupted"), 1, seen)


class Killed(E2eTest):
    def test_margay_run_itself_is_killed(self):
        # The job goes on to its end; daemon and agent take the rest, close the archive and end by themselves.
        run = self.run_margay(self.workload("--plan", "A:3", ranks=2))
        run.wait_for_slices(5)
        ranks = run.ranks("margay-workload", 2)
        daemon, agent = run.child("margayd"), run.child("margay-node")
        self.assertTrue(daemon and agent)
        end_process(run.pid, signal.SIGKILL)
        run.wait()
        killed = time.monotonic()
        for pid in ranks.values():
            self.assertTrue(alive(pid))
        wait_for(lambda: not any(map(alive, ranks.values())), "the job ends by itself")
        self.assertIn("spread", run.stdout)
        ended = time.monotonic()
        wait_for(lambda: not alive(agent), "the agent ends by itself", timeout=30)
        wait_for(lambda: not alive(daemon), "the daemon ends by itself", timeout=30)
        print(f"  job over {ended - killed:.1f} s after the kill, helpers {time.monotonic() - ended:.1f} s after that; "
              f"run directory {'stays' if os.path.exists(run.control_directory()) else 'is gone'}", flush=True)
        self.check_cells(run)
        streams = run.meta()["streams"]
        self.assertEqual(len(streams), 2)
        for s in streams:
            self.assertEqual((s["produced"], s["modelled"]), (s["recorded"], s["produced"]), s)
        self.assertFalse(os.path.exists(run.control_directory()), "the run directory stays behind")


if __name__ == "__main__":
    unittest.main()
