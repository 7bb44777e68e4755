"""`margay export` of a real run: held against pj_dump, against the archive's cells, and read by R and pandas."""
import collections
import csv
import os
import shutil
import subprocess
import unittest

from e2e import E2eTest, HERE, LONG, MARGAY, dump

EXAMPLES = os.path.join(os.path.dirname(HERE), "examples")
SYSTEM_PYTHON = os.environ["SYSTEM_PYTHON"]


def nanoseconds(text):
    whole, _, part = text.lstrip("-").partition(".")
    value = int(whole) * 10**9 + int(part)
    return -value if text.startswith("-") else value


def time_in_states(path):
    """{state: ns} of a Pajé trace: of nested states, the innermost. Its times never go back."""
    names, stacks, sums, last = {}, collections.defaultdict(list), collections.Counter(), None
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line[0] in "%#":
                continue
            fields = line.split()
            if fields[0] == "5":
                names[fields[1]] = line.split('"')[1]
            if int(fields[0]) < 6:
                continue
            t = nanoseconds(fields[1])
            assert last is None or t >= last, line
            last = t
            if fields[0] not in ("8", "9"):
                continue
            stack = stacks[fields[3]]
            if stack:
                sums[stack[-1][0]] += t - stack[-1][1]
            if fields[0] == "8":
                stack.append([names[fields[4]], t])
            else:
                stack.pop()
            if stack:
                stack[-1][1] = t
    assert not any(stacks.values()), "states that do not end"
    return sums


class Export(E2eTest):
    def export(self, run, *arguments, code=0):
        done = subprocess.run([MARGAY, "export", run.archive, *arguments], env=self.environment, cwd=self.place,
                              capture_output=True, text=True, timeout=LONG, check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def example(self, *command):
        done = subprocess.run(command, env=self.environment, cwd=self.place, capture_output=True, text=True, timeout=LONG,
                              check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = {}
        for line in done.stdout.splitlines():
            phase, state, share = line.split()
            rows[phase, state] = float(share)
        return rows

    def test_a_real_run(self):
        run = self.run_margay(self.workload("--plan", "A:3,B:3,A:3", "--truth", os.path.join(self.place, "truth")))
        self.assertEqual(run.wait(), 0, run.stderr)
        self.check_conservation(run, 4)

        with self.subTest("Pajé sums to the cells"):
            done = self.export(run, "--format", "paje", "--output", "run.paje")
            self.assertEqual((done.stdout, done.stderr), ("", ""))
            cells = collections.Counter()
            for row in csv.DictReader(dump("cells", run.archive).splitlines()):
                cells[row["state"]] += int(row["duration_ns"])
            del cells["Absent"]
            self.assertEqual(time_in_states(os.path.join(self.place, "run.paje")), cells)
            self.assertGreater(len(cells), 5)

        with self.subTest("pj_dump"):
            if shutil.which("pj_dump") is None:
                self.skipTest("pj_dump is not installed")
            done = subprocess.run(["pj_dump", "-l", "9", "run.paje"], cwd=self.place, capture_output=True, text=True, timeout=LONG,
                                  check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            rows = [line.split(", ") for line in done.stdout.splitlines()]
            self.assertEqual({r[6] for r in rows if r[:3:2] == ["Container", "rank"]}, {f"rank{i}" for i in range(4)})
            calls = sum(r[0] == "State" and r[-1].startswith("MPI_") for r in rows)
            self.assertEqual(2 * calls, run.summary["events"]["produced"])

        with self.subTest("margay events lists the visits that pj_dump has"):
            if shutil.which("pj_dump") is None:
                self.skipTest("pj_dump is not installed")
            visits = collections.Counter((r[1], r[-1], nanoseconds(r[3]), nanoseconds(r[4]) - nanoseconds(r[3]))
                                         for r in rows if r[0] == "State")
            # A rank is in Compute for no time between two calls of the same nanosecond.
            visits = collections.Counter({v: n for v, n in visits.items() if v[1] != "Compute" or v[3] > 0})
            self.assertGreater(sum(visits.values()), 1000)
            done = subprocess.run([MARGAY, "events", run.archive, "--csv"], env=self.environment, capture_output=True, text=True,
                                  timeout=LONG, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            listed = list(csv.DictReader(done.stdout.splitlines()))
            self.assertEqual(collections.Counter((r["resource"].split("/")[-1], r["name"], nanoseconds(r["begin_s"]),
                                                  int(r["duration_ns"])) for r in listed if r["kind"] == "state"), visits)
            self.assertEqual([r["begin_s"] for r in listed], sorted((r["begin_s"] for r in listed), key=nanoseconds))

        with self.subTest("margay events --messages has each message that was sent, and when it was there"):
            done = subprocess.run([MARGAY, "events", run.archive, "--messages", "--csv"], env=self.environment, capture_output=True,
                                  text=True, timeout=LONG, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            messages = list(csv.DictReader(done.stdout.splitlines()))
            sends = collections.Counter((r["resource"].split("/")[-1], "rank" + r["peer"], r["tag"], r["bytes"], nanoseconds(r["begin_s"]))
                                        for r in listed if r["name"] in ("MPI_Send", "MPI_Isend"))
            self.assertGreater(sum(sends.values()), 1000)
            self.assertEqual(collections.Counter((m["from"].split("/")[-1], m["to"].split("/")[-1], m["tag"], m["bytes"],
                                                  nanoseconds(m["sent_s"])) for m in messages), sends)
            # In a call of the receiver's that ends then, and that says how much came.
            ends = collections.Counter((r["resource"], nanoseconds(r["begin_s"]) + int(r["duration_ns"]), r["bytes"])
                                       for r in listed if r["name"] in ("MPI_Recv", "MPI_Wait"))
            self.assertTrue(all(m["received_s"] and nanoseconds(m["received_s"]) > nanoseconds(m["sent_s"]) for m in messages))
            self.assertEqual(collections.Counter((m["to"], nanoseconds(m["received_s"]), m["bytes"]) for m in messages),
                             collections.Counter({e: n for e, n in ends.items() if e[2]}))

        with self.subTest("margay export --messages has them as links"):
            if shutil.which("pj_dump") is None:
                self.skipTest("pj_dump is not installed")
            done = self.export(run, "--format", "paje", "--messages", "--output", "messages.paje")
            self.assertEqual((done.stdout, done.stderr), ("", ""))
            done = subprocess.run(["pj_dump", "-l", "9", "messages.paje"], cwd=self.place, capture_output=True, text=True, timeout=LONG,
                                  check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            dumped = [line.split(", ") for line in done.stdout.splitlines()]
            self.assertEqual(collections.Counter((r[-3], r[-2], nanoseconds(r[3]), nanoseconds(r[4])) for r in dumped if r[0] == "Link"),
                             collections.Counter((m["from"].split("/")[-1], m["to"].split("/")[-1], nanoseconds(m["sent_s"]),
                                                  nanoseconds(m["received_s"])) for m in messages))
            self.assertEqual([r for r in dumped if r[0] != "Link"], rows)

        with self.subTest("a part of it, on standard output"):
            done = self.export(run, "--format", "paje", "--from", "3", "--to", "3.5")
            times = [nanoseconds(line.split()[1]) for line in done.stdout.splitlines()
                     if line[0] not in "%#" and int(line.split()[0]) > 5]
            self.assertEqual((times[0], times[-1]), (3_000_000_000, 3_500_000_000))

        with self.subTest("tables, read by pandas and R"):
            self.export(run, "--format", "csv", "--output", "tables")
            self.assertEqual(sorted(os.listdir(os.path.join(self.place, "tables"))),
                             ["alerts.jsonl", "cells.csv", "partition.csv", "phases.csv"])
            missing = [p for p in ("Rscript",) if shutil.which(p) is None]
            if subprocess.run([SYSTEM_PYTHON, "-c", "import pandas"], capture_output=True, check=False).returncode != 0:
                missing.append("pandas")
            if missing:
                self.skipTest(f"{', '.join(missing)} not installed")
            python = self.example(SYSTEM_PYTHON, os.path.join(EXAMPLES, "phases.py"), "tables")
            r = self.example("Rscript", os.path.join(EXAMPLES, "phases.R"), "tables")
            self.assertEqual(python, r)
            for phase in ("A", "B"):
                self.assertAlmostEqual(sum(v for (p, _), v in python.items() if p == phase), 1, places=4)

        with self.subTest("without raw events"):
            pruned = subprocess.run([MARGAY, "archive", "prune", run.archive, "--keep-raw", "2s"], env=self.environment,
                                    capture_output=True, text=True, timeout=LONG, check=False)
            self.assertEqual(pruned.returncode, 0, pruned.stderr)
            done = self.export(run, "--format", "paje", "--output", "none.paje", code=2)
            self.assertIn("--from", done.stderr)
            begin = done.stderr.split("--from ")[1].split()[0]
            self.assertFalse(os.path.exists(os.path.join(self.place, "none.paje")))
            self.export(run, "--format", "paje", "--from", begin, "--output", "some.paje")
            self.assertGreater(sum(time_in_states(os.path.join(self.place, "some.paje")).values()), 0)


if __name__ == "__main__":
    unittest.main()
