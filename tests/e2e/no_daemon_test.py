"""Without a daemon the job runs as without Margay, and a line says so."""
import os
import unittest

from e2e import E2eTest, Job, MARGAY, PROBE, Run


class NoDaemon(E2eTest):
    def unwatched(self, flags, code=3, env=None):
        run = Run(self, self.program("ends", "exit", str(code)), flags=flags, env=env)
        self.assertEqual(run.wait(), code)
        self.assertIn("line 99: ", run.stdout)
        self.assertEqual(sum("the job runs without Margay" in line for line in run.said), 1, run.stderr)
        self.assertEqual(run.own_stderr.splitlines().count("this goes to stderr"), 1)
        # Where descriptors are few, that is told as well.
        self.assertLessEqual(len([line for line in run.said if " descriptors at most" not in line]), 2, run.said)
        self.assertEqual(run.summary["exit_code"], code)
        self.assertIn("error", run.summary)
        return run

    def test_the_archive_is_a_file(self):
        path = self.written("file", "mine\n")
        run = self.unwatched(["--archive", path])
        self.assertTrue(any(path in line for line in run.said), run.said)
        with open(path, encoding="utf-8") as file:
            self.assertEqual(file.read(), "mine\n")

    def test_the_archive_cannot_be_made(self):
        self.unwatched(["--archive", "/proc/nowhere/archive"])

    def test_the_archive_directory_holds_other_things(self):
        folder = os.path.join(self.place, "mine")
        os.mkdir(folder)
        with open(os.path.join(folder, "thesis.tex"), "w", encoding="utf-8") as file:
            file.write("years of work\n")
        self.unwatched(["--archive", folder])
        self.assertEqual(os.listdir(folder), ["thesis.tex"])

    def test_the_runtime_directory_cannot_be_made(self):
        self.unwatched([], env={"MARGAY_RUNTIME_DIR": "/proc/nowhere"})

    def test_the_path_of_the_sockets_is_too_long(self):
        long = os.path.join(self.place, "x" * 100)
        os.mkdir(long)
        self.unwatched([], env={"MARGAY_RUNTIME_DIR": long})


class NoRunDirectory(E2eTest):
    def test_probe_without_a_run_directory(self):
        run_dir = os.path.join(self.place, "gone")
        job = Job(self, self.program("ends", "exit", "0"), env={"LD_PRELOAD": PROBE, "MARGAY_RUN_DIR": run_dir})
        self.assertEqual(job.wait(), 0)
        self.assertEqual(len([line for line in job.stderr.splitlines() if "margay" in line]), 1, job.stderr)
        self.assertIn("MARGAY_RUN_DIR", job.stderr)
        self.assertIn("is not recorded", job.stderr)
        self.assertIn("line 99: ", job.stdout)

    def test_probe_without_the_variable(self):
        job = Job(self, self.program("ends", "exit", "0"), env={"LD_PRELOAD": PROBE})
        self.assertEqual(job.wait(), 0)
        self.assertLessEqual(len([line for line in job.stderr.splitlines() if "margay" in line]), 1, job.stderr)
        self.assertIn("line 99: ", job.stdout)

    def test_version_runs_without_anything(self):
        self.assertEqual(Job(self, [MARGAY, "--version"]).wait(), 0)


if __name__ == "__main__":
    unittest.main()
