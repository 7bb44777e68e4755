"""Tests of margay-workload, libmargay-callcount.so and hpcc_sections. Programs and mpirun come by environment variables
(see CMakeLists.txt)."""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import campaign  # noqa: E402

WORKLOAD = os.environ.get("WORKLOAD")
MPIRUN = os.environ.get("MPIRUN", "mpirun")
SECOND = 1_000_000_000


def mpirun(np, *command, extra=(), env=None):
    return subprocess.run([MPIRUN, "-np", str(np), *extra, *command], env=campaign.environment() | (env or {}),
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)


class Workload(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="margay-workload-")
        self.addCleanup(self.folder.cleanup)
        self.truth = os.path.join(self.folder.name, "truth.jsonl")

    def run_plan(self, np, *options):
        done = mpirun(np, WORKLOAD, "--truth", self.truth, *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        phases = [(m[1], int(m[2]), int(m[3])) for m in re.finditer(r"^phase (\S+) (\d+) (\d+)$", done.stdout, re.M)]
        faults = [(m[1], int(m[2]), int(m[3]), int(m[4]))
                  for m in re.finditer(r"^fault (\S+) rank (\d+) (\d+) (\d+)$", done.stdout, re.M)]
        with open(self.truth, encoding="utf-8") as file:
            return phases, faults, [json.loads(line) for line in file]

    def test_edges_follow_the_plan(self):
        plan = [("A", 0.3), ("B", 0.3), ("A", 0.2), ("C", 0.3), ("D", 0.2), ("E", 0.3), ("F", 0.2)]
        phases, _, lines = self.run_plan(2, "--plan", ",".join(f"{n}:{s}" for n, s in plan), "--pcontrol", "--io-file",
                                         os.path.join(self.folder.name, "io"))
        self.assertEqual([p[0] for p in phases], [name for name, _ in plan])
        for (_, begin, end), (name, seconds) in zip(phases, plan):
            # Never shorter than asked; longer by the last iterations, however late the machine lets them run.
            self.assertGreaterEqual(end - begin, seconds * SECOND * 0.99, name)
            self.assertLess(end - begin, seconds * SECOND + 2 * SECOND, name)
        for before, after in zip(phases, phases[1:]):
            self.assertEqual(before[2], after[1])
        self.assertEqual([(e["name"], e["begin_ns"], e["end_ns"]) for e in lines], phases)
        self.assertTrue(all(e["iterations"] > 0 for e in lines))
        self.assertEqual(os.listdir(self.folder.name), ["truth.jsonl"])

    def test_faults_are_planted_and_told(self):
        phases, faults, lines = self.run_plan(2, "--plan", "A:1.2,X:0.5", "--define", "X=lu", "--fault", "stop:1:0.2:0.3",
                                              "--fault", "sleep:0:0.7:0.1", "--fault", "slow:1:0.9:0.2",
                                              "--fault", "imbalance:0:1.2:0.2", "--fault", "stop:0:9:1")
        self.assertEqual([(f[0], f[1]) for f in faults], [("stop", 1), ("sleep", 0), ("slow", 1), ("imbalance", 0)])
        for (_, _, begin, end), (at, seconds) in zip(faults, [(0.2, 0.3), (0.7, 0.1), (0.9, 0.2), (1.2, 0.2)]):
            self.assertGreaterEqual(begin - phases[0][1], at * SECOND - 20_000_000)
            self.assertGreaterEqual(end - begin, seconds * SECOND * 0.9)
            self.assertLess(end - begin, seconds * SECOND + SECOND)
        told = {(e["fault"], e["rank"], e["begin_ns"], e["end_ns"]) for e in lines if e["kind"] == "fault"}
        self.assertEqual(told, set(faults))

    def test_a_stopped_rank_holds_up_the_others(self):
        _, _, plain = self.run_plan(2, "--plan", "A:1", "--loops", "1000")
        _, _, held = self.run_plan(2, "--plan", "A:1", "--loops", "1000", "--fault", "stop:1:0.1:0.8")
        iterations = [next(e["iterations"] for e in lines if e["kind"] == "phase") for lines in (plain, held)]
        self.assertLess(iterations[1], 0.6 * iterations[0])

    def test_a_number_of_iterations_is_the_same_work(self):
        for more in ([], ["--heavier", "B:1:50"]):
            _, _, lines = self.run_plan(2, "--plan", "A:20i,B:30i,D:7i", "--loops", "1000", *more)
            self.assertEqual([e["iterations"] for e in lines], [20, 30, 7])

    def test_bad_options_teach(self):
        for options, word in ((["--plan", "A:x"], "--plan"), (["--plan", "Z:1"], "--define"), (["--fault", "stop:1"], "--fault"),
                              (["--define", "A=nothing"], "pattern"), (["--mode", "odd"], "--mode"), (["--what"], "--what"), (["--plan", "A:0i"], "--plan"),
                              (["--heavier", "Z:1:5"], "--heavier"), (["--heavier", "A:1"], "--heavier")):
            done = subprocess.run([WORKLOAD, *options], capture_output=True, text=True, timeout=30, check=False)
            self.assertEqual(done.returncode, 2, options)
            self.assertIn(word, done.stderr)
        done = subprocess.run([WORKLOAD, "--help"], capture_output=True, text=True, timeout=30, check=True)
        self.assertIn("--fault KIND:RANK:AT:FOR", done.stdout)


class CallCount(unittest.TestCase):
    def counts(self, np, preload, program, *options):
        with tempfile.TemporaryDirectory(prefix="margay-callcount-") as folder:
            done = mpirun(np, program, *options, extra=["-x", f"LD_PRELOAD={preload}"], env={"CALLCOUNT_DIR": folder})
            self.assertEqual(done.returncode, 0, done.stderr)
            found = []
            for name in os.listdir(folder):
                self.assertRegex(name, r"^\d+\.json$")
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    found.append(json.load(file))
            return {entry["rank"]: entry["calls"] for entry in found}, done.stdout

    def expected(self, rank):
        calls = {"MPI_Init": 1, "MPI_Comm_rank": 1, "MPI_Comm_size": 1, "MPI_Barrier": 5, "MPI_Pcontrol": 2, "MPI_Finalize": 1}
        return calls | ({"MPI_Send": 11} if rank == 0 else {"MPI_Recv": 11})

    def test_known_counts(self):
        calls, _ = self.counts(2, os.environ["CALLCOUNT"], os.environ["CALLCOUNT_KNOWN"])
        self.assertEqual(calls, {rank: self.expected(rank) for rank in range(2)})

    def test_nested_calls_do_not_count(self):
        preload = os.environ["CALLCOUNT"] + ":" + os.environ["CALLCOUNT_INNER"]
        calls, _ = self.counts(2, preload, os.environ["CALLCOUNT_KNOWN"])
        self.assertEqual(calls, {rank: self.expected(rank) for rank in range(2)})

    def test_iterations_of_the_workload(self):
        with tempfile.TemporaryDirectory(prefix="margay-workload-") as folder:
            truth = os.path.join(folder, "truth.jsonl")
            # The helper of the planted stop must neither count nor appear.
            calls, _ = self.counts(2, os.environ["CALLCOUNT"], WORKLOAD, "--plan", "A:0.3", "--truth", truth, "--fault",
                                   "stop:1:0.1:0.05")
            with open(truth, encoding="utf-8") as file:
                iterations = next(e["iterations"] for e in map(json.loads, file) if e["kind"] == "phase")
        self.assertEqual(set(calls), {0, 1})
        for rank in (0, 1):
            self.assertEqual(calls[rank]["MPI_Allreduce"], iterations)
            self.assertEqual(calls[rank]["MPI_Wait"], 4 * iterations)

    def test_programs_without_mpi_are_left_alone(self):
        with tempfile.TemporaryDirectory(prefix="margay-callcount-") as folder:
            env = dict(os.environ) | {"LD_PRELOAD": os.environ["CALLCOUNT"], "CALLCOUNT_DIR": folder}
            done = subprocess.run(["/bin/echo", "hello"], env=env, capture_output=True, text=True, timeout=30, check=True)
            self.assertEqual((done.stdout, done.stderr, os.listdir(folder)), ("hello\n", "", []))


class HpccSections(unittest.TestCase):
    TEXT = ("Current time (100) is Fri Nov 20 10:39:56 2026\n\nBegin of MPIRandomAccess section.\nCPU time used = 0.1\n"
            "Current time (103) is Fri Nov 20 10:39:59 2026\n\nEnd of MPIRandomAccess section.\nBegin of PTRANS section.\n"
            "Current time (103) is Fri Nov 20 10:39:59 2026\n\nEnd of PTRANS section.\nBegin of HPL section.\n"
            "Current time (110) is Fri Nov 20 10:40:06 2026\n\nEnd of HPL section.\nBegin of Summary section.\n"
            "HPL_time=6\nEnd of Summary section.\n")

    def run_on(self, text):
        with tempfile.TemporaryDirectory(prefix="margay-hpcc-") as folder:
            path = os.path.join(folder, "hpccoutf.txt")
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            done = subprocess.run([sys.executable, os.path.join(HERE, "hpcc_sections"), path], capture_output=True, text=True,
                                  timeout=30, check=False)
            return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]

    def test_sections_touch(self):
        self.assertEqual(self.run_on(self.TEXT), (0, [
            {"section": "MPIRandomAccess", "begin_s": 100, "end_s": 103}, {"section": "PTRANS", "begin_s": 103, "end_s": 103},
            {"section": "HPL", "begin_s": 103, "end_s": 110}]))

    def test_unfinished_run(self):
        code, sections = self.run_on(self.TEXT[:self.TEXT.index("End of HPL")])
        self.assertEqual((code, [s["section"] for s in sections]), (0, ["MPIRandomAccess", "PTRANS"]))
        self.assertEqual(self.run_on("nothing\n"), (1, []))


if __name__ == "__main__":
    unittest.main()
