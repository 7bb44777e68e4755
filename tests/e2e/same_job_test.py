"""The job under `margay run` is the job: its output, its exit code, its errors."""
import os
import signal
import unittest

from e2e import E2eTest, Job, MARGAY

SAID = "this goes to stderr"


class SameJob(E2eTest):
    def both(self, command, code):
        """The job alone and under margay; the two are the same. Where a rank dies, mpirun's own remarks depend on who
        notices first, so only what the program says is compared."""
        alone = self.start(command)
        self.assertEqual(alone.wait(), code)
        run = self.run_margay(command)
        self.assertEqual(run.wait(), code)
        self.assertEqual(run.stdout, alone.stdout)
        if code == 0:
            self.assertEqual(run.own_stderr, alone.own_stderr)
        else:
            self.assertIn(SAID, alone.own_stderr.splitlines())
            self.assertEqual(run.own_stderr.splitlines().count(SAID), 1)
        self.assertNotIn("margay:", run.own_stderr)
        self.assertEqual(run.summary["exit_code"], code)
        return run

    def test_output_and_exit_code_0(self):
        run = self.both(self.program("ends", "exit", "0"), 0)
        self.assertIn("line 99: ", run.stdout)
        self.assertEqual(run.own_stderr, SAID + "\n")
        self.check_conservation(run, 2)

    def test_exit_code_3(self):
        self.check_conservation(self.both(self.program("ends", "exit", "3"), 3), 2)

    def test_abort(self):
        run = self.both(self.program("ends", "abort", "5"), 5)
        self.check_conservation(run, 2)

    def test_killed_by_a_signal(self):
        # mpirun itself ends with 128 + the signal.
        run = self.both(self.program("ends", "signal", str(int(signal.SIGKILL))), 128 + signal.SIGKILL)
        self.check_conservation(run, 2)

    def test_segmentation_fault(self):
        run = self.run_margay(self.program("ends", "signal", str(int(signal.SIGSEGV))))
        self.assertEqual(run.wait(), 128 + signal.SIGSEGV)
        self.check_conservation(run, 2)

    def test_signal_that_ends_the_launcher(self):
        run = self.run_margay(["sh", "-c", "kill -USR1 $$"])
        self.assertEqual(run.wait(), 128 + signal.SIGUSR1)

    def test_workload_prints_the_same_apart_from_its_times(self):
        command = self.workload("--plan", "A:0.3,B:0.3", "--pcontrol")
        alone, run = self.start(command), None
        self.assertEqual(alone.wait(), 0)
        run = self.run_margay(command)
        self.assertEqual(run.wait(), 0)

        def shape(text):
            return [[w for w in line.split() if not w.isdigit()] for line in text.splitlines()]
        self.assertEqual(shape(run.stdout), shape(alone.stdout))
        self.assertEqual(run.own_stderr, alone.own_stderr)


class CannotRun(E2eTest):
    def test_not_found(self):
        run = self.run_margay(["/nowhere/at/all", "x"])
        self.assertEqual(run.wait(), 127)
        self.assertIn("/nowhere/at/all", run.stderr)
        run = self.run_margay(["no-such-program-anywhere"])
        self.assertEqual(run.wait(), 127)

    def test_not_executable(self):
        path = self.written("plain.txt", "no program\n")
        run = self.run_margay([path])
        self.assertEqual(run.wait(), 126)
        self.assertIn(path, run.stderr)
        run = self.run_margay([self.place])
        self.assertEqual(run.wait(), 126)

    def test_wrong_options_do_not_start_the_job(self):
        mark = os.path.join(self.place, "started")
        bad_config = self.written("bad.toml", "[slice]\nduration = 'soon'\n")
        for flags in (["--slice", "nonsense"], ["--slice", "1ns"], ["--p", "2"], ["--p", "x"], ["--no-such-flag"],
                      ["--config", "/nowhere.toml"], ["--config", bad_config], ["--name", "a/b"]):
            job = Job(self, [MARGAY, "run", *flags, "--", "touch", mark])
            self.assertEqual(job.wait(), 2, f"{flags}: {job.stderr}")
            self.assertFalse(os.path.exists(mark), flags)
            self.assertTrue(job.stderr.strip(), flags)
            self.assertEqual(job.stdout, "", flags)
        for arguments in ([MARGAY, "run"], [MARGAY, "run", "--"], [MARGAY], [MARGAY, "nonsense"]):
            self.assertEqual(Job(self, arguments).wait(), 2, arguments)


if __name__ == "__main__":
    unittest.main()
