"""`margay import` of accesses to memory: every cell is counted again here, from the same trace, by other means.

The product of two matrices, naive and in blocks (tests/examples/memory): by threads that take turns, as CSV; and in one thread under
valgrind's lackey, where that is installed.
"""
import collections
import csv
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

from e2e import E2eTest

EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "examples", "memory")
sys.path.insert(0, EXAMPLES)
import matrix  # pylint: disable=wrong-import-position

MARGAY, ARCHIVE_DUMP, MATRIX = (os.environ[name] for name in ("MARGAY", "ARCHIVE_DUMP", "MATRIX"))
VALGRIND = shutil.which("valgrind")
LONG = 120
PAGE, TICK, SLICE = 4096, 1000, 1_000_000
KINDS = {"I": "Fetch", "L": "Read", "S": "Write", "R": "Read", "W": "Write", "M": "Modify"}


class Cells:
    """Time and visits by address, thread, slice and state; a visit is of the slice in which it ends."""

    def __init__(self):
        self.time, self.visits = collections.Counter(), collections.Counter()

    def count(self, key, t, state):
        self.time[(*key, t // SLICE, state)] += TICK
        self.visits[(*key, (t + TICK) // SLICE, state)] += 1

    def __eq__(self, other):
        return (+self.time, +self.visits) == (+other.time, +other.visits)


class Addresses(E2eTest):
    def setUp(self):
        super().setUp()
        self.place = tempfile.mkdtemp(prefix="margay-addresses-")
        self.addCleanup(shutil.rmtree, self.place, True)
        self.trace = os.path.join(self.place, "t.csv")

    def margay(self, *arguments, code=0, **more):
        done = subprocess.run([MARGAY, *arguments], capture_output=True, text=True, timeout=LONG, check=False, **more)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def imported(self, trace, *options, name="a", **more):
        archive = os.path.join(self.place, name)
        shutil.rmtree(archive, ignore_errors=True)
        said = json.loads(self.margay("import", trace, "--archive", archive, "--slice", "1ms", "--json", *options, **more).stdout)
        self.assertEqual(json.loads(self.margay("archive", "verify", archive, "--json").stdout)["damages"], 0)
        return archive, said

    def leaves(self, archive):
        """Attributes of each leaf, by its path."""
        meta = subprocess.run([ARCHIVE_DUMP, "meta", archive], capture_output=True, text=True, timeout=LONG, check=True).stdout
        out = {}
        for a in json.loads(meta)["leaves"]:
            path = "".join("/" + a[f"path{i}"] for i in range(1, 60) if f"path{i}" in a)
            self.assertNotIn(path, out)
            out[path] = a
        return out

    def cells(self, archive):
        leaves = self.leaves(archive)
        out, idle = Cells(), collections.Counter()
        table = self.margay("export", archive, "--format", "csv", "--table", "cells").stdout
        for row in csv.DictReader(table.splitlines()):
            a = leaves[row["resource"]]
            key = (a["structure"], int(a["address"], 16), a.get("tid"), int(row["slice"]), row["state"])
            if row["state"] in ("None", "Absent"):
                idle[row["state"]] += int(row["duration_ns"])
                continue
            self.assertLessEqual(int(row["longest_ns"]), TICK)
            out.time[key] += int(row["duration_ns"])
            out.visits[key] += int(row["visits"])
        return out, idle

    def write_matrix(self, order, size, threads=2):
        with open(self.trace, "w", encoding="utf-8") as f:
            f.writelines(matrix.trace(order, size, 8, threads))
        structures = os.path.join(self.place, "structures")
        with open(structures, "w", encoding="utf-8") as f:
            f.writelines(matrix.structures(size, threads))
        return structures

    def judged(self, size):
        """What the CSV says, counted without a line of Margay."""
        begins = matrix.begins(size)
        accesses, users = [], collections.defaultdict(set)
        with open(self.trace, encoding="utf-8") as f:
            for row in csv.DictReader(f):
                t, address = round(float(row["time"]) * 1e9), int(row["address"], 16)
                accesses.append((t, row["thread"], address, row["kind"]))
                users[address // PAGE, t // SLICE].add(row["thread"])
        out = Cells()
        for t, thread, address, kind in accesses:
            shared = len(users[address // PAGE, t // SLICE]) > 1
            structure = next((n for n, b in begins.items() if b <= address < b + size * size * 8), f"stack{thread}")
            out.count((structure, address // PAGE * PAGE, thread), t, ("Shared" if shared else "Private") + KINDS[kind])
        return out, len(accesses)

    def test_every_cell_of_threads_that_share_pages(self):
        for order in ("naive", "blocked"):
            with self.subTest(order):
                structures = self.write_matrix(order, 32)
                expected, accesses = self.judged(32)
                self.assertGreater(len(expected.time), 500)
                for options in ((), ("--no-raw",)):
                    archive, said = self.imported(self.trace, "--structures", structures, *options)
                    self.assertEqual((said["format"], said["states"]), ("accesses", accesses))
                    cells, idle = self.cells(archive)
                    self.assertEqual(cells, expected, options)
                    self.assertEqual(set(idle), {"None"} if accesses % 1000 == 0 else {"None", "Absent"})

    def test_layout_and_sharing_are_seen_and_from_another_point_of_view(self):
        """The chapter's case: naive, all of B is used all the time; in blocks, a part of it. The first thread alone fills."""
        used = {}
        for order in ("naive", "blocked"):
            structures = self.write_matrix(order, 64)
            archive, said = self.imported(self.trace, "--structures", structures, "--no-raw", name=order)
            self.assertEqual(len(self.leaves(archive)), 3 * 8 * 3 + 3, "matrices of 8 pages, 3 threads; stacks")
            cells, _ = self.cells(archive)
            pages = collections.defaultdict(set)
            for structure, address, thread, number, state in cells.time:
                if structure == "B" and thread != "0":
                    pages[number].add(address)
                    self.assertEqual(state, "SharedRead")
                elif structure.startswith("stack") or thread == "0":
                    self.assertTrue(state.startswith("Private") or number == 12, "but where they begin")
            used[order] = [len(p) for _, p in sorted(pages.items())][1:-1]
            self.assertEqual(said["slices"], len(pages) + 12)
        self.assertEqual(set(used["naive"]), {8})
        self.assertLessEqual(max(used["blocked"]), 2)
        # Who uses what, from the same archive: nothing is read again.
        os.unlink(self.trace)
        archive = os.path.join(self.place, "naive")
        words = ("--state", "!None", "--p", "0", "--json")
        for view, first in (("tid/structure/page", {"tid0", "tid1", "tid2"}), ("structure", {"A", "B", "Result", "stack0", "stack1",
                                                                                              "stack2"})):
            report = json.loads(self.margay("partition", archive, "--view", view, *words).stdout)
            nodes = [report["nodes"][part[0]] for part in report["parts"]]
            self.assertEqual({node.split("/")[1] for node in nodes} - {""}, first)

    def test_from_a_pipe_leaves_come_later_and_all_else_is_the_same(self):
        structures = self.write_matrix("naive", 32)
        archive, _ = self.imported(self.trace, "--structures", structures)
        with open(self.trace, encoding="utf-8") as f:
            piped, _ = self.imported("-", "--structures", structures, name="p", input=f.read())
        (cells, idle), (later, less) = self.cells(archive), self.cells(piped)
        self.assertEqual(cells, later)
        self.assertEqual(sorted(self.leaves(archive)), sorted(self.leaves(piped)))
        self.assertLess(less["None"], idle["None"])

    @unittest.skipUnless(VALGRIND, "valgrind is not installed: no trace of lackey is made here")
    def test_every_cell_of_a_trace_of_lackey(self):
        trace, symbols = os.path.join(self.place, "t.lackey"), os.path.join(self.place, "t.nm")
        done = subprocess.run([VALGRIND, "--tool=lackey", "--trace-mem=yes", f"--log-file={trace}", MATRIX, "naive"],
                              capture_output=True, text=True, timeout=LONG, check=True)
        self.assertEqual(done.stdout, subprocess.run([MATRIX, "blocked"], capture_output=True, text=True, check=True).stdout)
        with open(symbols, "w", encoding="utf-8") as f:
            subprocess.run(["nm", "-S", MATRIX], stdout=f, check=True)
        matrices = {}
        with open(symbols, encoding="utf-8") as f:
            for words in map(str.split, f):
                if words[-1] in ("A", "B", "Result"):
                    matrices[words[-1]] = (int(words[0], 16), int(words[1], 16))
        self.assertEqual(len(matrices), 3)
        expected, counted, t = Cells(), collections.Counter(), 0
        with open(trace, encoding="utf-8") as f:
            for line in f:
                if line.startswith("=="):
                    continue
                kind, place = line.split()
                address = int(place.split(",")[0], 16)
                name = next((n for n, (b, size) in matrices.items() if b <= address < b + size), None)
                expected.count((name, address // PAGE * PAGE, None), t, KINDS[kind])
                counted[name] += 1
                t += TICK
        self.assertGreaterEqual(counted["B"], 32 ** 3)
        for options in ((), ("--no-raw",)):
            archive, said = self.imported(trace, "--structures", symbols, *options)
            self.assertEqual((said["format"], said["states"]), ("lackey", t // TICK))
            cells, _ = self.cells(archive)
            mine = Cells()
            for mapped, table in ((mine.time, cells.time), (mine.visits, cells.visits)):
                for (structure, *key), n in table.items():
                    mapped[(structure if structure in matrices else None, *key)] += n
            self.assertEqual(mine, expected, options)

    def test_what_is_wrong_is_said(self):
        structures = self.write_matrix("naive", 4)
        archive = os.path.join(self.place, "a")

        def refused(sentence, *options):
            done = self.margay("import", self.trace, "--archive", archive, *options, code=2)
            self.assertIn(sentence, done.stderr)
            self.assertFalse(os.path.exists(archive) or os.path.exists(archive + ".partial"))

        refused("--page 3000B: expected a power of two, 8B to 1TiB", "--page", "3000B")
        refused("no/such: No such file", "--structures", "no/such")
        with open(structures, "a", encoding="utf-8") as f:
            f.write("0x10,what,A,\n")
        refused("structures:8: expected numbers like 0x1f00", "--structures", structures)
        with open(self.trace, encoding="utf-8") as f:
            text = f.read()
        with open(self.trace, "w", encoding="utf-8") as f:
            f.write(text[:len(text) // 2].rsplit(",", 2)[0])
        refused("fields; expected 5")
        said = json.loads(self.margay("import", self.trace, "--archive", archive, "--keep-going", "--json").stdout)
        self.assertEqual(said["records"]["rejected"], 1)
        shutil.rmtree(archive)
        # Pages at random places: more than are taken.
        with open(self.trace, "w", encoding="utf-8") as f:
            f.writelines(f" L {n * 7919 * PAGE:x},8\n" for n in range(70000))
        refused("more than 65,536 leaves")


if __name__ == "__main__":
    unittest.main()
