"""`margay import` from the outside: what becomes of Paje traces, with pj_dump as the judge; and that there never is half an
archive.

No job and no MPI here, but for captures. The traces are made by chance (tests/support/paje_generator.py, seeds are told on failure).
"""
import array
import collections
import fcntl
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
import unittest

from e2e import E2eTest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import paje_generator  # pylint: disable=wrong-import-position

MARGAY = os.environ["MARGAY"]
ARCHIVE_DUMP = os.environ["ARCHIVE_DUMP"]
PJ_DUMP = shutil.which("pj_dump")
LONG = 120
EXAMPLES = "/usr/share/doc/pajeng/examples/traces"


def seconds(ns):
    return f"{ns / 1e9:.6f}"


class Judge:
    """What pj_dump says of a trace. Times are rounded to microseconds: it computes with doubles."""

    def __init__(self, path):
        out = subprocess.run([PJ_DUMP, "-n", "-l", "9", path], capture_output=True, text=True, check=True, timeout=LONG).stdout
        self.kinds = collections.defaultdict(list)
        for line in out.splitlines():
            fields = line.split(", ")
            self.kinds[fields[0]].append(fields[1:])

    def states(self):
        """Container, state type, begin, end, depth, value."""
        return sorted((c, t, f"{float(b):.6f}", f"{float(e):.6f}", int(float(depth)), v)
                      for c, t, b, e, _, depth, v in self.kinds["State"])


    def variables(self):
        """Container, type, begin: value; without those that were replaced at the same time."""
        return {(c, t, f"{float(b):.6f}"): float(value) for c, t, b, _, lasts, value in self.kinds["Variable"]
                if float(lasts) > 0}


class Imported:
    """An archive as its raw events tell it."""

    def __init__(self, path):
        self.meta = json.loads(dump("meta", path))
        self.events = [json.loads(line) for line in dump("events", path).splitlines()]
        self.end = self.meta["end_ns"]

    def name(self, leaf):
        a = self.meta["leaves"][leaf]
        path = [a[f"path{i}"] for i in range(1, 10) if f"path{i}" in a]
        types = [i for i in range(1, 10) if f"type{i}" in a]
        return path[types[-1] - 1], a.get("state_type", "")

    def states(self):
        out, stacks = [], collections.defaultdict(list)
        for leaf, t, kind, name, _, _, _ in self.events:
            stack = stacks[leaf]
            container, kind_of_state = self.name(leaf)
            if kind == "enter":
                stack.append((t, name))
            while stack and kind in ("leave", "end"):
                begin, value = stack.pop()
                out.append((container, kind_of_state, seconds(begin), seconds(t), len(stack), value))
                if kind == "leave":
                    break
        return sorted(out)

    def count(self, kind):
        return sum(1 for e in self.events if e[2] == kind)

    def variables(self):
        return {(self.name(leaf)[0], name, seconds(t)): struct.unpack("<d", struct.pack("<Q", bits))[0]
                for leaf, t, kind, name, bits, _, _ in self.events if kind == "variable"}

    def links(self):
        begins = {e[6]: e for e in self.events if e[2] == "link_begin"}
        ends = {e[6]: e for e in self.events if e[2] == "link_end"}
        return sorted((begins[n][3].split("\n")[0], seconds(begins[n][1]), seconds(ends[n][1]), begins[n][3].split("\n")[1],
                       self.name(begins[n][0])[0], self.name(ends[n][0])[0]) for n in begins)


def dump(what, path):
    return subprocess.run([ARCHIVE_DUMP, what, path], capture_output=True, text=True, check=True, timeout=LONG).stdout


@unittest.skipUnless(PJ_DUMP, "pj_dump is not installed (package pajeng)")
class Import(unittest.TestCase):
    maxDiff = 4000

    def setUp(self):
        self.place = tempfile.mkdtemp(prefix="margay-import-")
        self.addCleanup(shutil.rmtree, self.place, ignore_errors=True)
        self.trace = os.path.join(self.place, "t.trace")
        self.archive = os.path.join(self.place, "a")

    def write(self, text):
        with open(self.trace, "w", encoding="utf-8") as f:
            f.write(text)

    def margay(self, *arguments, code=0, **more):
        done = subprocess.run([MARGAY, *arguments], capture_output=True, text=True, timeout=LONG, check=False, **more)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def import_trace(self, *options, code=0, trace=None, **more):
        done = self.margay("import", trace or self.trace, "--archive", self.archive, *options, code=code, **more)
        if code == 0:
            self.assertEqual(self.margay("archive", "verify", self.archive, "--json").stdout.count('"damages": 0'), 1)
        else:
            self.assertEqual([f for f in os.listdir(self.place) if f.startswith("a")], [], "nothing is left")
        return done

    def test_states_variables_events_and_links_are_those_of_pj_dump(self):
        for seed in range(1, 9):
            with self.subTest(seed=seed):
                shutil.rmtree(self.archive, ignore_errors=True)
                self.write(paje_generator.trace(seed, 3000))
                judge = Judge(self.trace)
                said = json.loads(self.import_trace("--slice", "10ms", "--json").stdout)
                self.assertEqual(said["states"], len(judge.kinds["State"]))
                self.assertEqual(said["events"], len(judge.kinds["Event"]))
                self.assertEqual(said["links"], len(judge.kinds["Link"]))
                self.assertEqual(said["containers"] + 1, len(judge.kinds["Container"]), "the root is one of theirs")
                self.assertEqual(said["records"]["produced"], said["records"]["modelled"])
                mine = Imported(self.archive)
                self.assertEqual(mine.states(), judge.states())
                values = mine.variables()
                self.assertGreater(len(judge.variables()), 50)
                for key, value in judge.variables().items():
                    # It computes them in single precision.
                    self.assertAlmostEqual(values[key], value, delta=1e-6 * max(1, abs(value)), msg=key)
                self.assertEqual(mine.count("mark"), len(judge.kinds["Event"]))
                self.assertEqual(mine.links(), sorted((t, f"{float(b):.6f}", f"{float(e):.6f}", v, s, d) for _, t, b, e, _, v,
                                                      s, d, _ in judge.kinds["Link"]))
                self.assertEqual(len(mine.events), said["records"]["modelled"], "every record is in the archive")

    @unittest.skipUnless(os.path.isdir(EXAMPLES), "the examples of pajeng are not installed")
    def test_the_examples_of_pajeng(self):
        """Traces of real tools. Of those that it takes itself."""
        taken = 0
        for name in sorted(os.listdir(EXAMPLES)):
            path = os.path.join(EXAMPLES, name)
            if not name.endswith(".trace") or subprocess.run([PJ_DUMP, "-n", "-q", path], capture_output=True, check=False,
                                                             timeout=LONG).returncode != 0:
                continue
            with self.subTest(name):
                shutil.rmtree(self.archive, ignore_errors=True)
                judge = Judge(path)
                said = json.loads(self.import_trace("--slice", "1s", "--lateness", "1h", "--json", trace=path).stdout)
                self.assertEqual([said[k] for k in ("states", "events", "links")],
                                 [len(judge.kinds[k]) for k in ("State", "Event", "Link")])
                self.assertEqual(said["containers"] + 1, len(judge.kinds["Container"]))
                taken += 1
        self.assertGreater(taken, 5)

    def test_time_in_states_is_that_of_pj_dump(self):
        """The model: innermost states, and None where none is open."""
        self.write(paje_generator.trace(77, 4000))
        self.import_trace()
        mine = Imported(self.archive)
        cells = collections.Counter()
        for line in dump("cells", self.archive).splitlines()[1:]:
            _, leaf, state, duration, _, _ = line.split(",")
            if state != "Absent":
                cells[mine.name(int(leaf))[0], mine.name(int(leaf))[1], state] += int(duration)
        judged = collections.Counter()
        exists = {}
        for parent, kind, begin, end, _, name in Judge(self.trace).kinds["Container"]:
            del parent
            exists[name] = (kind, float(end) - float(begin))
        states = Judge(self.trace).states()
        for c, t, b, e, depth, v in states:
            judged[c, t, v] += float(e) - float(b)
            if depth > 0:  # the one around it does not count meanwhile
                around = [s for s in states if s[0] == c and s[1] == t and s[4] == depth - 1 and float(s[2]) <= float(b)
                          and float(s[3]) >= float(e)]
                judged[c, t, around[0][5]] -= float(e) - float(b)
        for c, (kind, lived) in exists.items():
            for t in {"Rank": ["State"], "Machine": ["Load"]}.get(kind, []):
                judged[c, t, "None"] = lived - sum(v for (c2, t2, _), v in judged.items() if (c2, t2) == (c, t))
        for key in set(cells) | set(judged):
            self.assertAlmostEqual(cells[key] / 1e9, judged[key], delta=2e-3, msg=key)

    def test_zooms_know_variables_and_events(self):
        self.write(paje_generator.trace(21, 3000))
        self.import_trace("--slice", "10ms")
        report = json.loads(self.margay("partition", self.archive, "--operator", "mean:Memory", "--p", "1", "--json").stdout)
        self.assertEqual(report["states"], ["Memory"])
        report = json.loads(self.margay("partition", self.archive, "--operator", "occurrences", "--p", "1", "--json").stdout)
        marks = {json.loads(line)[3] for line in dump("events", self.archive).splitlines() if json.loads(line)[2] == "mark"}
        self.assertGreater(len(marks), 0)
        self.assertLessEqual(marks, set(report["states"]))

    def test_standard_input_is_the_same(self):
        text = paje_generator.trace(5, 2000)
        self.write(text)
        self.import_trace()
        from_file = dump("events", self.archive)
        shutil.rmtree(self.archive)
        self.import_trace(trace="-", input=text)
        self.assertEqual(dump("events", self.archive), from_file)
        self.assertEqual(json.loads(dump("meta", self.archive))["run"], "imported")

    def test_info_says_what_it_was_made_of(self):
        self.write(paje_generator.trace(6, 500))
        self.import_trace()
        info = json.loads(self.margay("archive", "info", self.archive, "--json").stdout)
        self.assertEqual(info["run"], "t.trace")
        self.assertEqual(info["command"], f"import {self.trace}")
        self.assertEqual(info["exit_code"], 0)
        self.assertEqual(info["begin_ns"], 0)

    def test_truncated_file(self):
        text = paje_generator.trace(9, 1000)
        self.write(text[:len(text) * 2 // 3].rsplit(" ", 1)[0])
        done = self.import_trace(code=2)
        self.assertRegex(done.stderr, r"t\.trace:\d+: Paje\w+: ")
        done = self.import_trace("--keep-going", "--json")
        self.assertEqual(json.loads(done.stdout)["records"]["rejected"], 1)
        self.assertEqual(done.stderr.count("t.trace:"), 1)

    def test_wrong_words(self):
        self.write(paje_generator.trace(9, 300))
        for arguments, sentence in [
                (("--slice", "100"), "--slice 100"),
                (("--slice", "1ns"), "expected 1us to 1d"),
                (("--lateness", "2h"), "--lateness 2h: expected 0s to 1h"),
                (("--format", "otf3"), "no format is called 'otf3'; expected auto or one of: paje, capture")]:
            self.assertIn(sentence, self.import_trace(*arguments, code=2).stderr)
        self.assertIn("no/such: No such file", self.import_trace(code=2, trace="no/such").stderr)
        # A directory may have traces of LTTng, where those are read; this one has none.
        self.assertRegex(self.import_trace(code=2, trace=self.place).stderr, "is a directory|there is no trace in it")
        with open(self.trace, "wb") as f:
            f.write(b"\x7fELF" + bytes(5000))
        self.assertIn("does not begin like any format that is known", self.import_trace(code=2).stderr)
        self.write("")
        self.assertIn("is empty", self.import_trace(code=2).stderr)

    def test_an_archive_that_is_there_is_refused(self):
        self.write(paje_generator.trace(9, 300))
        self.import_trace()
        before = sorted(os.listdir(self.archive))
        done = self.margay("import", self.trace, "--archive", self.archive, code=2)
        self.assertIn("is there already", done.stderr)
        self.assertEqual(sorted(os.listdir(self.archive)), before)

    def test_disk_full(self):
        """The partial archive cannot grow: the largest file that this process may write is small."""
        text = paje_generator.trace(4, 40000)
        done = subprocess.run(["bash", "-c", 'ulimit -f 256; trap "" XFSZ; exec "$@"', "-", MARGAY, "import", "-", "--archive",
                               self.archive], input=text, capture_output=True, text=True, timeout=LONG, check=False)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("File too large", done.stderr)
        self.assertEqual(os.listdir(self.place), [])

    def in_the_middle(self, number):
        """An import from a pipe that has taken much, and is then sent a signal while it waits for more."""
        text = paje_generator.trace(12, 20000)
        importer = subprocess.Popen([MARGAY, "import", "-", "--archive", self.archive], stdin=subprocess.PIPE,
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        with importer:
            importer.stdin.write(text)
            importer.stdin.flush()
            deadline = time.monotonic() + LONG
            while time.monotonic() < deadline and not (os.path.isdir(self.archive + ".partial/db") and taken(importer.stdin)):
                threading.Event().wait(0.01)
            self.assertFalse(os.path.exists(self.archive), "it has no name before it is whole")
            importer.send_signal(number)
            importer.stdin.close()
            importer.wait(LONG)
            return importer.returncode, importer.stderr.read()

    def test_interrupted_leaves_nothing(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            code, said = self.in_the_middle(number)
            self.assertEqual(code, 128 + number, said)
            self.assertIn("interrupted", said)
            self.assertEqual(os.listdir(self.place), [])

    def test_killed_leaves_what_says_so(self):
        code, _ = self.in_the_middle(signal.SIGKILL)
        self.assertEqual(code, -signal.SIGKILL)
        self.assertEqual(os.listdir(self.place), ["a.partial"])
        info = json.loads(self.margay("archive", "info", self.archive + ".partial", "--json").stdout)
        self.assertNotIn("end_ns", info)
        self.write(paje_generator.trace(9, 300))
        done = self.margay("import", self.trace, "--archive", self.archive, code=2)
        self.assertIn("a.partial: is there already: another import is writing it, or one was killed", done.stderr)
        shutil.rmtree(self.archive + ".partial")
        self.import_trace()


class Captured(E2eTest):
    """A run's capture, imported, beside the archive that the run made itself."""

    def cells(self, path, leaves):
        """{(rank, slice since the begin of time, state): ns}, without Absent."""
        out = {}
        for line in dump("cells", path).splitlines()[1:]:
            number, leaf, state, duration, _, _ = line.split(",")
            if state != "Absent":
                out[leaves[int(leaf)]["rank"], int(number), state] = int(duration)
        return out

    def events(self, path, leaves, offset):
        out = collections.defaultdict(list)
        for line in dump("events", path).splitlines():
            leaf, t, kind, name, count, peer, tag = json.loads(line)
            if kind != "end":  # the import's own
                out[leaves[leaf]["rank"]].append((t + offset, kind, name, count, peer, tag))
        return out

    def test_a_capture_becomes_the_archive_of_its_run(self):
        capture, imported = os.path.join(self.place, "capture"), os.path.join(self.place, "imported")
        run = self.run_margay(self.workload("--plan", "A:2,B:2,A:1", "--pcontrol"), flags=["--capture", capture])
        self.assertEqual(run.wait(), 0, run.stderr)
        for source in run.summary["sources"]:
            self.assertEqual(source["late_dropped"], 0)
        done = subprocess.run([MARGAY, "import", capture, "--archive", imported, "--json"], capture_output=True, text=True,
                              timeout=LONG, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        said = json.loads(done.stdout)
        self.assertEqual((said["format"], said["records"]["late_dropped"], said["records"]["rejected"]), ("capture", 0, 0))
        verified = subprocess.run([MARGAY, "archive", "verify", imported, "--json"], capture_output=True, text=True,
                                  timeout=LONG, check=True)
        self.assertEqual(json.loads(verified.stdout)["damages"], 0)

        live, mine = run.meta(), json.loads(dump("meta", imported))
        self.assertEqual(len(mine["leaves"]), 4)
        events = self.events(imported, mine["leaves"], 0)
        # Both have read the wall clock once, some moments apart: that is the only difference of their times.
        theirs = self.events(run.archive, live["leaves"], live["wall_offset_ns"])
        apart = events["0"][0][0] - theirs["0"][0][0]
        self.assertLess(abs(apart), 50_000_000)
        self.assertEqual(events, {rank: [(e[0] + apart, *e[1:]) for e in all_of_it] for rank, all_of_it in theirs.items()})

        regions = {e[2] for e in events["0"] if e[1] == "region_enter"}
        self.assertEqual(regions, {"A", "B"})

        a, b = self.cells(run.archive, live["leaves"]), self.cells(imported, mine["leaves"])
        total = [collections.Counter(), collections.Counter()]
        for cells, sums in ((a, total[0]), (b, total[1])):
            for (rank, _, state), ns in cells.items():
                sums[rank, state] += ns
        self.assertEqual(total[1], total[0], "to the nanosecond")
        worst = max(abs(a.get(key, 0) - b.get(key, 0)) for key in set(a) | set(b))
        print(f"  {len(b)} cells, the clocks {apart} ns apart, cells {worst} ns at most", flush=True)
        self.assertGreater(len(b), 500)
        self.assertLessEqual(worst, abs(apart), "what a slice loses at one end and gains at the other")

        # From a pipe it is the same.
        piped = os.path.join(self.place, "piped")
        with open(capture, "rb") as file:
            subprocess.run([MARGAY, "import", "-", "--archive", piped], stdin=file, stdout=subprocess.PIPE, check=True,
                           timeout=LONG)
        self.assertEqual(dump("events", piped), dump("events", imported))
        self.assertEqual(dump("cells", piped), dump("cells", imported))


def taken(pipe):
    """Whether nothing is left in a pipe that was written to."""
    unread = array.array("i", [0])
    fcntl.ioctl(pipe, termios.FIONREAD, unread)
    return unread[0] == 0


if __name__ == "__main__":
    unittest.main()
