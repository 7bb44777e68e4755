"""The viewer's window to somebody who does not see it: its picture through AT-SPI, on a display and a bus of the test's own."""
import json
import os
import re
import shutil
import subprocess
import sys
import unittest

from e2e import BUILD, LONG, E2eTest, end_process, read_text, wait_for
from viewer import Display

PYTHON = os.environ.get("SYSTEM_PYTHON", "/usr/bin/python3")
HERE = os.path.dirname(os.path.abspath(__file__))
VIEWER = os.path.join(BUILD, "bin", "margay-viewer")
EXAMPLE = os.path.join(os.path.dirname(os.path.dirname(HERE)), "viewer", "example", "sixteen.margay")
TABLE = "Overview: resources over time"


def lacking():
    """What is not installed, or an empty text."""
    if not os.path.exists(VIEWER):
        return "Qt 6: margay-viewer is not built"
    for program, package in (("Xvfb", "xvfb"), ("dbus-run-session", "dbus-daemon")):
        if shutil.which(program) is None:
            return f"{package}: there is no {program}"
    asked = subprocess.run([PYTHON, "-c", "import pyatspi"], capture_output=True, text=True, check=False)
    return "" if asked.returncode == 0 else f"python3-pyatspi: {PYTHON} cannot import pyatspi"


if why := lacking():
    print(f"skipped: nothing can read the window through AT-SPI here; not installed is {why}", file=sys.stderr)
    sys.exit(77)


class Reader:
    """accessible_reader.py of a window of the viewer."""

    def __init__(self, test, *arguments):
        self.test = test
        own = os.path.join(test.place, "session")
        os.mkdir(own, 0o700)
        environment = test.environment | {"HOME": test.place, "XDG_CONFIG_HOME": os.path.join(test.place, "config"),
                                          "XDG_RUNTIME_DIR": own, "QT_QPA_PLATFORM": "xcb", "QT_LINUX_ACCESSIBILITY_ALWAYS_ON": "1"}
        # None of the person's own session, nor a bus that somebody else has.
        for name in ("DBUS_SESSION_BUS_ADDRESS", "AT_SPI_BUS_ADDRESS", "WAYLAND_DISPLAY"):
            environment.pop(name, None)
        self.display = Display(test, environment, "1280x720")
        self.errors = os.path.join(test.place, "reader.err")
        with open(self.errors, "wb") as err:
            self.process = subprocess.Popen(["dbus-run-session", "--", PYTHON, "-B", os.path.join(HERE, "accessible_reader.py"),
                                             VIEWER, *arguments], env=environment | {"DISPLAY": self.display.name},
                                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=err, text=True,
                                            start_new_session=True)
        test.addCleanup(self.end)

    def ask(self, *words):
        self.process.stdin.write("\t".join(str(w) for w in words) + "\n")
        self.process.stdin.flush()
        for line in self.process.stdout:
            if line.startswith("= "):  # the bus's services write there as well
                return json.loads(line[2:])
        raise AssertionError(f"the reader ended, {self.process.wait(LONG)}, at {words}: {read_text(self.errors)}")

    def wait(self, condition, what):
        """The first table that meets the condition, and is the same once more: it may change while it is read."""
        last = None

        def met():
            nonlocal last
            before, last = last, self.ask("read", TABLE)
            return last is not None and "rows" in last and condition(last) and last == before
        try:
            wait_for(met, what, poll=0.1)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{last}\n{read_text(self.errors)}") from None
        return last

    def end(self):
        if self.process.poll() is None:
            self.ask("quit")
            self.process.stdin.close()
            try:
                self.process.wait(LONG)
            except subprocess.TimeoutExpired:
                end_process(self.process.pid)
                self.process.wait(LONG)
        self.process.stdout.close()
        self.display.end()


def span_of(cell):
    """Of a cell's name its who, from, to and the rest."""
    found = re.fullmatch(r"([^,]+), (\d+\.\d+) to (\d+\.\d+) s(.*)", cell)
    return found[1], float(found[2]), float(found[3]), found[4]


class Accessible(E2eTest):
    def test_the_stopped_rank_of_the_example(self):
        reader = Reader(self, EXAMPLE)
        # All of the run, phases and all: the replay is at its end.
        table = reader.wait(lambda t: len(t["rows"]) == 18 and "36." in t["description"] and "phases" in t["rows"][16]["description"]
                            and any("alert" in name for name, _ in t["rows"][6]["cells"]), "the whole picture")
        stopped = [(row["description"], name) for row in table["rows"][:16] for name, _ in row["cells"] if "stopped" in name]
        self.assertEqual([path for path, _ in stopped], ["/node1/rank6"])
        print("  " + stopped[0][1], file=sys.stderr)
        who, begin, end, rest = span_of(stopped[0][1])
        self.assertEqual(who, "rank6")
        self.assertAlmostEqual(begin, 15, delta=0.2)
        self.assertAlmostEqual(end, 16, delta=0.2)
        self.assertIn("has been stopped", rest)

        # The others wait at that time: the cells below and above it, in the same columns.
        column, at = 0, 0
        for at, (name, span) in enumerate(table["rows"][6]["cells"]):
            if name == stopped[0][1]:
                break
            column += span
        for row, other in enumerate(table["rows"][:16]):
            if row == 6:
                continue
            cell = reader.ask("cell", TABLE, row, column)
            self.assertEqual(cell["role"], "table cell")
            self.assertRegex(cell["name"], r"^rank\d+, 15\.\d to 16\.\d s.*, MPI_Allreduce \d+ %", other["description"])

        # Each row tells all of the time, without gaps, in the columns there are.
        for row in table["rows"]:
            self.assertEqual(sum(span for _, span in row["cells"]), len(table["columns"]))
            spans = [span_of(name) for name, _ in row["cells"]]
            self.assertEqual(spans[0][1], 0)
            self.assertAlmostEqual(spans[-1][2], 36.2, delta=0.3)
            for before, after in zip(spans, spans[1:]):
                self.assertEqual(before[2], after[1])

        # What the keys select is announced: the first resource, then the next one.
        wait_for(lambda: reader.ask("focus", TABLE), "the keyboard", poll=0.1)
        downwards = 0xff54  # XK_Down
        for first, row in ((True, 0), (False, 1)):
            reader.ask("key", TABLE, downwards)
            name = table["rows"][row]["cells"][0][0]
            wait_for(lambda: name in reader.ask("heard", TABLE), name, poll=0.1)

        # A row is selected, and told; a cell is gone into: the picture is that stretch.
        self.assertTrue(reader.ask("select", TABLE, 6))
        reader.wait(lambda t: "selected: rank6" in t["description"], "the selected rank")
        self.assertIn("selected", reader.ask("cell", TABLE, 6, column)["states"])
        self.assertNotIn("selected", reader.ask("cell", TABLE, 7, column)["states"])
        self.assertTrue(reader.ask("press", TABLE, 6, column))
        closer = reader.wait(lambda t: span_of(t["rows"][0]["cells"][0][0])[1] > 14, "the stretch in which it is stopped")
        self.assertLess(span_of(closer["rows"][0]["cells"][-1][0])[2], 17)

        # A place that there is not harms nobody.
        self.assertIsNone(reader.ask("cell", TABLE, 5000, 5000))
        self.assertEqual(reader.ask("extent", TABLE, 5000, 5000), 0)
        self.assertEqual(len(reader.wait(lambda t: True, "the table")["rows"]), len(closer["rows"]))

        # The window goes while somebody has its cells.
        reader.ask("key", TABLE, ord("q"))
        wait_for(lambda: reader.ask("code") is not None, "the end of the viewer", poll=0.1)
        self.assertEqual(reader.ask("code"), 0, read_text(reader.errors))


if __name__ == "__main__":
    unittest.main()
