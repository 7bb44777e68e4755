"""`margay export --format sqlite` and the tables of `--format csv`: the same rows in both, and the archive's own totals."""
import collections
import csv
import math
import os
import re
import resource
import shutil
import sqlite3
import subprocess
import unittest

from e2e import E2eTest, HERE, LONG, MARGAY, dump

SOURCES = os.path.dirname(os.path.dirname(HERE))
EXAMPLES = os.path.join(SOURCES, "tests", "examples")
PAGE = os.path.join(SOURCES, "daemon", "cli", "export", "TABLES.md")
SYSTEM_PYTHON = os.environ["SYSTEM_PYTHON"]
TABLES = ["run", "resources", "resource_attributes", "states", "levels", "cells", "partition", "phases", "alerts", "alert_resources",
          "events", "statistics", "messages"]


def nanoseconds(text):
    whole, _, part = text.lstrip("-").partition(".")
    value = int(whole) * 10**9 + int(part)
    return -value if text.startswith("-") else value


def statements(kind):
    """SQL of the page: CREATE or SELECT."""
    with open(PAGE, encoding="utf-8") as file:
        blocks = re.findall(r"```sql\n(.*?)```", file.read(), re.S)
    return [s.strip() for block in blocks for s in block.split(";") if s.strip().startswith(kind)]


class Tables(E2eTest):
    def export(self, archive, *arguments, code=0, **how):
        done = subprocess.run([MARGAY, "export", archive, *arguments], env=self.environment, cwd=self.place, capture_output=True,
                              text=True, timeout=LONG, check=False, **how)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def csv_of(self, name):
        with open(os.path.join(self.place, "tables", name + ".csv"), encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))

    def database(self, name="run.sqlite"):
        db = sqlite3.connect(f"file:{os.path.join(self.place, name)}?mode=ro", uri=True)
        self.addCleanup(db.close)
        return db

    def same_rows(self, db, name, origin):
        """Each field of CSV is the column of SQLite that is called so; of a time both columns."""
        rows = self.csv_of(name)
        cursor = db.execute(f'SELECT * FROM "{name}" ORDER BY rowid')
        columns = [c[0] for c in cursor.description]
        kinds = {c[1]: c[2] for c in db.execute(f'PRAGMA table_xinfo("{name}")')}
        found = [dict(zip(columns, r)) for r in cursor]
        self.assertEqual(len(found), len(rows), name)
        for row, there in zip(rows, found):
            moments = [c for c in row if c.endswith("_s")]
            self.assertEqual(set(row) | {c[:-2] + "_ns" for c in moments}, set(there))
            for column, text in row.items():
                value = there[column]
                if column in moments and text:
                    self.assertEqual(there[column[:-2] + "_ns"], origin + nanoseconds(text))
                if kinds[column] == "TEXT":
                    self.assertEqual(value or "", text)
                elif text in ("TRUE", "FALSE"):
                    self.assertEqual(value, int(text == "TRUE"))
                else:
                    self.assertEqual(value, None if text == "" else float(text) if "." in text or "e" in text else int(text), column)
        return rows

    def check_questions(self, db, tables):
        """The page's questions, answered by SQLite and from CSV."""
        states, phases, hosts = statements("SELECT")
        by_state = collections.Counter()
        for row in tables["cells"]:
            if row["state"] not in ("Absent", "Unknown"):
                by_state[row["state"], row["resource"]] += int(row["duration_ns"])
        expected = sorted(((s, r, ns / 1e9) for (s, r), ns in by_state.items()), key=lambda x: (-x[2], x[0], x[1]))[:10]
        self.assertEqual(db.execute(states).fetchall(), expected)

        slice_ns = next(int(r["value"]) for r in self.csv_of("run") if r["key"] == "cell_slice_ns")
        of_phases = collections.Counter()
        for row in tables["cells"]:
            middle = nanoseconds(row["time_s"]) + slice_ns // 2
            for phase in tables["phases"]:
                if nanoseconds(phase["begin_s"]) <= middle < nanoseconds(phase["end_s"]):
                    of_phases[phase["name"], row["state"]] += int(row["duration_ns"])
        self.assertEqual(db.execute(phases).fetchall(), sorted((p, s, ns) for (p, s), ns in of_phases.items()))

        by_hosts = collections.defaultdict(lambda: [0, 0])
        host = {r["resource"]: r["value"] for r in tables["resource_attributes"] if r["attribute"] == "host"}
        for row in tables["messages"]:
            if host[row["from"]] != host[row["to"]]:
                sums = by_hosts[host[row["from"]], host[row["to"]]]
                sums[0] += 1
                sums[1] += int(row["bytes"])
        expected = sorted(((a, b, *sums) for (a, b), sums in by_hosts.items()), key=lambda x: (-x[3], -x[2], x[0], x[1]))[:10]
        self.assertEqual(db.execute(hosts).fetchall(), expected)

    def check_all(self, archive):
        self.export(archive, "--format", "sqlite", "--output", "run.sqlite")
        self.export(archive, "--format", "csv", "--table", "all", "--output", "tables")
        self.assertEqual(sorted(os.listdir(os.path.join(self.place, "tables"))),
                         sorted(t + (".jsonl" if t == "alerts" else ".csv") for t in TABLES))
        db = self.database()
        self.assertEqual(db.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
        self.assertEqual(db.execute("PRAGMA user_version").fetchall(), [(1,)])
        origin = int(db.execute("SELECT value FROM run WHERE key = 'begin_ns'").fetchone()[0])

        made = [re.sub(r"- -?\d+\)", "- BEGIN)", sql) for (sql,) in
                db.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY type DESC, rowid")]
        self.assertEqual(["".join(s.split()) for s in made], ["".join(s.split()) for s in statements("CREATE")])

        with open(os.path.join(self.place, "tables", "alerts.jsonl"), encoding="utf-8") as file:
            self.assertEqual([r[0] for r in db.execute("SELECT json FROM alerts ORDER BY rowid")], file.read().splitlines())
        rows = {}
        for name in TABLES:
            # What is left out of both is said once, in the file that has all.
            if name not in ("alerts", "run"):
                rows[name] = self.same_rows(db, name, origin)
        self.check_questions(db, rows)

        cells = collections.Counter()
        for row in csv.DictReader(dump("cells", archive).splitlines()):
            cells[row["state"]] += int(row["duration_ns"])
        self.assertEqual(dict(db.execute("SELECT state, SUM(duration_ns) FROM cells GROUP BY state")), dict(cells))
        for what, arguments in (("events", []), ("messages", ["--messages"]), ("statistics", ["--statistics", "--by", "both"])):
            done = subprocess.run([MARGAY, "events", archive, "--csv", *arguments], env=self.environment, capture_output=True, text=True,
                                  timeout=LONG, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(os.path.join(self.place, "tables", what + ".csv"), encoding="utf-8", newline="") as file:
                self.assertEqual(file.read(), done.stdout)
        # What statistics say is what their events sum to.
        self.assertEqual(db.execute("""SELECT name, resource, COUNT(*), SUM(duration_ns), MIN(duration_ns), MAX(duration_ns) FROM events
                                       WHERE kind = 'state' AND calls = 1 GROUP BY name, resource""").fetchall(),
                         db.execute("""SELECT name, resource, count, total_ns, shortest_ns, longest_ns FROM statistics
                                       WHERE single = count GROUP BY name, resource""").fetchall())
        return db

    def test_a_real_run(self):
        run = self.run_margay(self.workload("--plan", "A:2,B:2"))
        self.assertEqual(run.wait(), 0, run.stderr)
        self.check_conservation(run, 4)
        db = self.check_all(run.archive)
        calls = db.execute("SELECT COUNT(*) FROM events WHERE name LIKE 'MPI!_%' ESCAPE '!'").fetchone()[0]
        self.assertEqual(2 * calls, run.summary["events"]["produced"])  # a call's begin and its end

        with self.subTest("the run without raw events: what it lacks is said, and is an error where it is asked for"):
            pruned = subprocess.run([MARGAY, "archive", "prune", run.archive, "--keep-raw", "0s"], env=self.environment,
                                    capture_output=True, text=True, timeout=LONG, check=False)
            self.assertEqual(pruned.returncode, 0, pruned.stderr)
            done = self.export(run.archive, "--format", "sqlite", "--output", "pruned.sqlite")
            self.assertIn("margay: events: left out: ", done.stderr)
            short = self.database("pruned.sqlite")
            self.assertEqual(short.execute("SELECT COUNT(*) FROM events").fetchone()[0], 0)
            self.assertGreater(short.execute("SELECT COUNT(*) FROM cells").fetchone()[0], 0)
            self.assertEqual(short.execute("SELECT COUNT(*) FROM run WHERE key = 'note' AND value LIKE 'events: %'").fetchone()[0], 1)
            self.export(run.archive, "--format", "sqlite", "--table", "events", "--output", "none.sqlite", code=2)
            self.assertFalse(os.path.exists(os.path.join(self.place, "none.sqlite")))

    def test_the_run_that_is_shipped(self):
        archive = os.path.join(self.place, "sixteen.margay")
        shutil.copytree(os.path.join(SOURCES, "viewer", "example", "sixteen.margay"), archive)
        db = self.check_all(archive)
        self.assertEqual(db.execute("SELECT role, resource FROM alert_resources WHERE role = 'likely cause'").fetchall(),
                         [("likely cause", "/node1/rank6")])

        with self.subTest("a part of it"):
            self.export(archive, "--format", "sqlite", "--output", "part.sqlite", "--from", "10", "--to", "11", "--view", "rank mod 2",
                        "--table", "cells,events,partition,resources")
            part = self.database("part.sqlite")
            whole = """SELECT COUNT(*) FROM events WHERE begin_s + duration_ns / 1e9 > 10 AND begin_s < 11"""
            self.assertEqual(part.execute("SELECT COUNT(*) FROM events").fetchone(), db.execute(whole).fetchone())
            self.assertEqual(part.execute("SELECT COUNT(*) FROM messages").fetchone(), (0,))
            self.assertLessEqual(part.execute("SELECT COUNT(DISTINCT slice) FROM cells").fetchone()[0], 11)
            self.assertEqual(part.execute("SELECT COUNT(*) FROM resources WHERE in_view LIKE '/rank mod 2 = _/rank%'").fetchone(), (16,))
            views = {r[0] for r in part.execute("SELECT resource FROM partition")}
            self.assertTrue(all(v == "/" or v.startswith("/rank mod 2 = ") for v in views), views)

        with self.subTest("pandas and R, with plots"):
            missing = [p for p in ("Rscript", "sqlite3") if shutil.which(p) is None]
            if subprocess.run([SYSTEM_PYTHON, "-c", "import pandas"], capture_output=True, check=False).returncode != 0:
                missing.append("pandas")
            if missing:
                self.skipTest(f"{', '.join(missing)} not installed")
            said = set()
            for command, plot, begins in (([SYSTEM_PYTHON, os.path.join(EXAMPLES, "phases.py")], "plot.svg", (b"<svg", b"<?xml")),
                                          (["Rscript", os.path.join(EXAMPLES, "phases.R")], "plot.pdf", (b"%PDF",))):
                for source in ("tables", "run.sqlite"):
                    done = subprocess.run([*command, source, plot], env=self.environment, cwd=self.place, capture_output=True, text=True,
                                          timeout=LONG, check=False)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    said.add(done.stdout)
                    with open(os.path.join(self.place, plot), "rb") as file:
                        self.assertTrue(file.read().startswith(begins))
                    os.remove(os.path.join(self.place, plot))
            self.assertEqual(len(said), 1)
            sums = collections.Counter()
            for line in said.pop().splitlines():
                sums[line.split()[0]] += float(line.split()[-1])
            self.assertTrue(sums and all(math.isclose(s, 1, abs_tol=1e-4) for s in sums.values()), sums)

        with self.subTest("whole or not at all"):
            before = sorted(os.listdir(self.place))
            with open(os.path.join(self.place, "run.sqlite"), "rb") as file:
                old = file.read()

            def little_room():
                resource.setrlimit(resource.RLIMIT_FSIZE, (4 << 20, 4 << 20))
            for name in ("new.sqlite", "run.sqlite"):
                done = self.export(archive, "--format", "sqlite", "--output", name, code=2, preexec_fn=little_room)
                self.assertEqual(done.stderr, f"margay: export: {name}: could not be written: File too large\n")
            self.assertEqual(sorted(os.listdir(self.place)), before)
            with open(os.path.join(self.place, "run.sqlite"), "rb") as file:
                self.assertEqual(file.read(), old)
            # A file that is there is replaced, and so is what a run that was killed has left.
            self.written("run.sqlite.partial", "half a file")
            self.export(archive, "--format", "sqlite", "--output", "run.sqlite")
            self.assertEqual(self.database().execute("PRAGMA integrity_check").fetchall(), [("ok",)])
            self.assertEqual(sorted(os.listdir(self.place)), before)

        with self.subTest("wrong calls"):
            for arguments, sentence in ((["--format", "sqlite"], "writes a file, not standard output: give --output FILE"),
                                        (["--format", "sqlite", "-o", "-"], "writes a file, not standard output"),
                                        (["--format", "sqlite", "-o", "x", "--messages"], "--messages is for --format paje"),
                                        (["--format", "csv", "--table", "evnts"], "no such table; there are run, resources"),
                                        (["--format", "csv", "--view", "hos", "-o", "y"], "did you mean 'host'?"),
                                        (["--format", "sqlite", "-o", "no/where"], "no/where.partial: No such file")):
                self.assertIn(sentence, self.export(archive, *arguments, code=2).stderr)


if __name__ == "__main__":
    unittest.main()
