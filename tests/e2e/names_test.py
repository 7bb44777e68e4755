"""One name, one run: runs of the same name, runs that were killed, and the directory where a run's processes meet."""
import json
import os
import shutil
import subprocess
import unittest

from e2e import E2eTest, Job, LONG, MARGAY, MPIRUN, PROGRAMS, dump, end_process, wait_for, plant


class Named(Job):
    """`margay run --name NAME` with the archive that it chooses itself, in the test's place; a job that ends when told."""

    def __init__(self, test, name, *flags, end=None):
        self.name, self.end = name, os.path.join(test.place, end or f"end{len(test.jobs)}")
        self.summary_path = os.path.join(test.place, f"summary{len(test.jobs)}")
        program = [os.path.join(PROGRAMS, "ends"), "exit", "0"]
        script = (f"{MPIRUN} -np 2 {' '.join(program)} >/dev/null 2>&1; echo up; "
                  f"while [ ! -e {self.end} ]; do sleep 0.01; done")
        super().__init__(test, [MARGAY, "run", *(["--name", name] if name else []), "--summary", self.summary_path,
                                "--every-call", "--slice", "100ms", *flags, "--", "sh", "-c", script])

    def up(self):
        wait_for(lambda: "up" in self.stdout or not self.running, f"{self.name} is up")
        return self

    def tell_to_end(self):
        with open(self.end, "w", encoding="utf-8"):
            pass
        return self.wait()

    @property
    def summary(self):
        with open(self.summary_path, encoding="utf-8") as file:
            return json.load(file)


class Names(E2eTest):
    def margay(self, *arguments):
        return subprocess.run([MARGAY, *arguments], env=self.environment, cwd=self.place, capture_output=True, text=True,
                              timeout=LONG, check=False)

    def runs(self):
        return self.margay("runs").stdout.split()

    def directory(self, name=""):
        return os.path.join(self.runtime, f"margay-{os.geteuid()}", name)

    def whole(self, job, archive):
        self.assertEqual(job.wait(), 0)
        self.assertTrue(job.summary["complete"], job.summary)
        self.assertEqual(len(job.summary["sources"]), 2)
        meta = json.loads(dump("meta", os.path.join(self.place, archive)))
        self.assertEqual(sum(s["modelled"] for s in meta["streams"]), job.summary["events"]["modelled"])
        return meta

    def test_the_same_name_twice_at_once(self):
        first, second = Named(self, "step").up(), Named(self, "step").up()
        self.assertEqual(sorted(self.runs()), ["step", "step-2"], second.stderr)
        self.assertRegex(second.stderr, rf"margay: the name 'step' is taken \(process {first.pid}, since .*\); this run is 'step-2'")
        second.tell_to_end()
        self.assertTrue(os.path.exists(self.directory("step/control.ipc")), "the first one's directory is its own")
        self.assertIn(first.pid, plant.descendants(os.getpid()))
        first.tell_to_end()
        self.assertNotIn("taken", first.stderr)
        self.assertEqual(self.whole(first, "margay-step")["run"], "step")
        self.assertEqual(self.whole(second, "margay-step-2")["run"], "step-2")

    def test_the_same_name_one_after_the_other(self):
        first = Named(self, "step").up()
        first.tell_to_end()
        second = Named(self, "step").up()
        second.tell_to_end()
        self.assertIn("margay-step: holds another run; this run is 'step-2'", second.stderr)
        self.whole(first, "margay-step")
        self.whole(second, "margay-step-2")

    def test_the_same_archive_twice(self):
        jobs = []
        for _ in range(2):
            jobs.append(Named(self, "", "--archive", "arch").up())
            jobs[-1].tell_to_end()
        self.assertRegex(jobs[1].stderr, r"arch: holds another run; this run's archive is .*/arch-2")
        self.whole(jobs[0], "arch")
        self.whole(jobs[1], "arch-2")

    def test_many_at_once(self):
        jobs = [Named(self, "many", end="all") for _ in range(6)]
        for job in jobs:
            job.up()
        self.assertEqual(sorted(self.runs()), ["many"] + [f"many-{n}" for n in range(2, 7)])
        for job in jobs:
            self.assertEqual(job.tell_to_end(), 0)
            self.assertTrue(job.summary["complete"], job.stderr)

    def test_everything_killed(self):
        self.files_may_remain = True  # by what is killed; looked at below
        run = Named(self, "night").up()
        # Helpers are in sessions of their own: everything of this test.
        for pid in self.leftovers():
            end_process(pid)
        run.wait()
        wait_for(lambda: not self.leftovers(), "all are gone")
        self.assertTrue(os.path.exists(self.directory("night/control.ipc")))
        self.assertEqual(self.runs(), [])
        status = self.margay("status")
        self.assertEqual(status.returncode, 3, status)
        self.assertIn("no run is live", status.stderr)
        self.assertIn("margay archive info margay-night", status.stderr)
        # Another run is not in its way, and clears what is left.
        second = Named(self, "other").up()
        self.assertFalse(os.path.exists(self.directory("night")))
        status = self.margay("status", "--json")
        self.assertEqual(json.loads(status.stdout)["run"], "other")
        second.tell_to_end()
        self.assertEqual(os.listdir(self.directory()), [])

    def test_the_same_name_after_everything_was_killed(self):
        run = Named(self, "night").up()
        for pid in self.leftovers():
            end_process(pid)
        run.wait()
        wait_for(lambda: not self.leftovers(), "all are gone")
        second = Named(self, "night", "--archive", "second").up()
        self.assertEqual(self.runs(), ["night"])
        second.tell_to_end()
        self.whole(second, "second")

    def test_status_without_a_name_takes_one_that_lives(self):
        self.files_may_remain = True
        live = Named(self, "a").up()
        dead = Named(self, "z").up()
        for pid in plant.descendants(dead.pid) + [dead.pid]:
            end_process(pid)
        dead.wait()
        status = wait_for(lambda: (lambda s: s if s.returncode == 0 else None)(self.margay("status", "--json")), "an answer")
        self.assertEqual(json.loads(status.stdout)["run"], "a")
        live.tell_to_end()
        shutil.rmtree(self.directory("z"), ignore_errors=True)

    def test_the_directory_is_taken_away(self):
        # As logind does when the last session of a user ends (RemoveIPC), with everything the user has in /dev/shm.
        run = self.run_margay(self.lammps_until_told(ranks=2))
        run.wait_for_slices(3)
        before = run.produced_so_far()
        shutil.rmtree(run.control_directory())
        wait_for(lambda: "was taken away" in run.stderr, "it is noticed")
        wait_for(lambda: run.produced_so_far() > before, "the daemon is found again", poll=0.05)
        self.tell_to_end()
        self.assertEqual(run.wait(), 0)
        self.check_conservation(run, 2)
        self.assertTrue(run.summary["complete"])
        self.check_cells(run)
        self.assertNotIn("ended unexpectedly", run.stderr)
        self.assertFalse(os.path.exists(run.control_directory()))

    @unittest.skipUnless(os.geteuid() == 0, "mounts a file system")
    def test_full_of_what_is_left(self):
        small = os.path.join(self.runtime, "s")
        os.mkdir(small)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "margay-test", small], check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", small], check=True)
        self.environment["MARGAY_RUNTIME_DIR"] = small
        rings = os.path.join(small, f"margay-{os.geteuid()}", "left", "rings")
        os.makedirs(rings, 0o700)
        for folder in (rings, os.path.dirname(rings), os.path.dirname(os.path.dirname(rings))):
            os.chmod(folder, 0o700)
        for name, text in (("owner.pid", "1\n1 another-boot\n2026-01-01 00:00:00\n"), ("lock", "")):
            with open(os.path.join(os.path.dirname(rings), name), "w", encoding="utf-8") as file:
                file.write(text)
        with self.assertRaises(OSError), open(os.path.join(rings, "p1-1"), "wb", buffering=0) as file:
            while True:
                file.write(bytes(1 << 16))
        run = Named(self, "next").up()
        self.assertEqual(run.tell_to_end(), 0)
        self.assertTrue(run.summary["complete"], run.stderr)
        self.assertEqual(len(run.summary["sources"]), 2)


if __name__ == "__main__":
    unittest.main()
