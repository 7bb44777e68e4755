"""The other commands, beside a run: status, watch, runs, config."""
import json
import os
import subprocess
import unittest

from e2e import E2eTest, Job, LONG, MARGAY, dump, wait_for


class Commands(E2eTest):
    def margay(self, *arguments):
        return subprocess.run([MARGAY, *arguments], env=self.environment, cwd=self.place, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=LONG, check=False)

    def test_no_run_is_live(self):
        for arguments in (["status"], ["status", "--json"], ["status", "nobody"], ["watch"], ["watch", "nobody"]):
            done = self.margay(*arguments)
            self.assertEqual(done.returncode, 3, arguments)
            self.assertEqual(done.stdout, "")
            self.assertTrue(done.stderr.startswith("margay: "), done.stderr)
        done = self.margay("runs")
        self.assertEqual((done.returncode, done.stdout), (0, ""))

    def test_what_is_missing_or_unknown_is_named(self):
        for arguments, words in ((["run"], "no job was given"), (["run", "--name", "n"], "no job was given"),
                                 (["nosuch"], "there is no command 'nosuch'")):
            done = self.margay(*arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""), arguments)
            self.assertRegex(done.stderr, f"^margay: .*{words}")
        for arguments, sentence in ((["run", "--archiv", "x", "--", "true"], "margay run: unexpected: --archiv;"),
                                    (["--foo"], "margay: unexpected: --foo;"), ([], "margay: no command was given;"),
                                    (["archive", "lss"], "margay archive: there is no command 'lss';"),
                                    (["alerts", "show"], "margay alerts show: archive is required;")):
            done = self.margay(*arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""), arguments)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
            self.assertTrue(done.stderr.startswith(sentence), done.stderr)
            self.assertIn(" --help lists ", done.stderr)

    def test_beside_a_run(self):
        run = self.run_margay(self.workload("--plan", "A:2.5", "--pcontrol", ranks=2), name="night")
        run.wait_for_slices(3)
        status = wait_for(lambda: (s := run.status()) and len(s["sources"]) == 2 and s, "both ranks")
        watch = Job(self, [MARGAY, "watch", "night"])

        self.assertEqual(status["run"], "night")
        self.assertIn("margay-workload", status["command"])
        self.assertFalse(status["final"])
        self.assertEqual(status["slice_ns"], 100_000_000)
        self.assertEqual(len(status["sources"]), 2)
        for source in status["sources"]:
            terms = ("modelled", "late_dropped", "probe_dropped", "wire_lost", "rejected", "in_flight")
            self.assertEqual(source["produced"], sum(source[t] for t in terms), source)
            self.assertTrue(source["balanced"])
        done = self.margay("status")
        self.assertEqual(done.returncode, 0)
        self.assertIn("night", done.stdout)
        self.assertIn("rank1", done.stdout)
        done = self.margay("status", "--json")  # the newest
        self.assertEqual(json.loads(done.stdout)["run"], "night")
        self.assertEqual(self.margay("runs").stdout, "night\n")
        self.assertEqual(self.margay("status", "another").returncode, 3)

        self.assertEqual(run.wait(), 0)
        self.assertEqual(watch.wait(), 0)
        self.assertTrue(watch.stdout.strip(), "watch said nothing")
        self.assertNotIn("\x1b", watch.stdout)
        self.assertEqual(watch.stderr, "")
        self.assertEqual(self.margay("runs").stdout, "")
        self.assertEqual(self.margay("status", "night").returncode, 3)

    def test_archives_that_are_none(self):
        for arguments in (["ls", "nowhere"], ["ls", "--json", "nowhere"], ["info", "nowhere"], ["verify", self.place]):
            done = self.margay("archive", *arguments)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertEqual(done.stdout, "")
            self.assertTrue(done.stderr.startswith("margay: "), done.stderr)
        # A directory that cannot be read does not hide the others.
        os.mkdir(os.path.join(self.place, "half"))
        with open(os.path.join(self.place, "half", "MARGAY"), "w", encoding="utf-8") as file:
            file.write("Margay archive, format 999\n")
        done = self.margay("archive", "ls", "nowhere", ".")
        self.assertEqual(done.returncode, 2)
        self.assertIn("newer Margay", done.stdout)
        self.assertIn("nowhere", done.stderr)
        self.assertEqual(self.margay("archive", "ls").returncode, 0)

    def test_an_archive_is_pruned_compacted_and_taken_away(self):
        run = self.run_margay(self.workload("--plan", "A:1.5", ranks=2), name="old")
        run.wait_for_slices(5)
        done = self.margay("archive", "rm", "--force", run.archive)
        self.assertEqual(done.returncode, 2)
        self.assertIn("is being written by process", done.stderr)
        self.assertEqual(run.wait(), 0)
        verified, _ = self.check_archive(run)
        self.assertGreater(verified["raw_events"], 0)
        done = self.margay("archive", "prune", run.archive, "--keep-raw", "0", "--keep-level", "100ms=1s", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([g["what"] for g in json.loads(done.stdout)["gone"]][0], "raw")
        verified, _ = self.check_archive(run)
        self.assertEqual(verified["raw_events"], 0)
        self.assertEqual(self.margay("archive", "compact", run.archive).returncode, 0)
        self.check_archive(run)
        done = self.margay("archive", "rm", run.archive)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--force", done.stderr)
        self.assertEqual(self.margay("archive", "rm", "--force", run.archive).returncode, 0)
        self.assertFalse(os.path.exists(run.archive))

    def test_config_is_what_config_reads(self):
        text = self.margay("config")
        self.assertEqual(text.returncode, 0)
        path = self.written("margay.toml", text.stdout)
        run = self.run_margay(self.program("ends", "exit", "0"), flags=["--config", path])
        self.assertEqual(run.wait(), 0, run.stderr)
        self.check_conservation(run, 2)
        self.assertEqual(run.meta()["levels_ns"][0], 100_000_000)

    def test_a_configuration_is_checked(self):
        path = os.path.join(self.place, "m.toml")

        def check(text):
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            done = self.margay("config", "--check", path)
            return done.returncode, done.stdout, done.stderr

        self.assertEqual(check(self.margay("config").stdout), (0, path + ": ok\n", ""))
        code, text, problem = check('[slice]\nduration = "soon"\n[store]\nsync = "\\u001b[31m"\n')
        self.assertEqual((code, text), (2, ""))
        first, second = problem.splitlines()
        self.assertTrue(first.startswith(f"margay: {path}:2: slice.duration: expected a duration"), first)
        self.assertTrue(second.startswith(f"margay: {path}:4: store.sync: expected true or false"), second)
        self.assertNotIn("\x1b", problem)
        code, text, problem = check('[alerts]\n\ncommand = ["/no/such/program"]\n')
        self.assertEqual((code, text), (2, ""))
        self.assertEqual(problem, f"margay: {path}:3: alerts.command: '/no/such/program' is no program that may be run\n")
        for nothing in (os.path.join(self.place, "nothing"), ""):
            done = self.margay("config", "--check", nothing)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn("No such file", done.stderr)

    def test_slice_from_the_configuration(self):
        path = self.written("margay.toml", '[slice]\nduration = "50ms"\nlevels = ["1s"]\n')
        job = Job(self, [MARGAY, "run", "--config", path, "--archive", os.path.join(self.place, "a"), "--",
                         *self.program("ends", "exit", "0")])
        self.assertEqual(job.wait(), 0, job.stderr)
        self.assertEqual(json.loads(dump("meta", os.path.join(self.place, "a")))["levels_ns"],
                         [50_000_000, 1_000_000_000])


if __name__ == "__main__":
    unittest.main()
