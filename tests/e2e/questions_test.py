"""Ten questions to a run, each answered with the keyboard alone: the table in viewer/VIEWER.md, on a real display. The keys are
pressed as they stand there; what the window says then, through AT-SPI, is held against what margay prints."""
import csv
import io
import os
import re
import shutil
import subprocess
import sys
import unittest

from accessible_test import EXAMPLE, HERE, TABLE, Reader, span_of
from e2e import E2eTest, LONG, MARGAY, read_text, wait_for

PAGE = os.path.join(os.path.dirname(os.path.dirname(HERE)), "viewer", "VIEWER.md")
MOST = 64  # rows of a list that are read
STATES, DURATIONS, EVENTS = "States, and their share of the selection", "What visits sum to, by state", "Events, one by one"

if shutil.which("xdotool") is None:
    print("skipped: xdotool is not installed", file=sys.stderr)
    sys.exit(77)


def questions():
    """Of each row of the table the question, and what is pressed or, in quotes, typed."""
    rows = re.findall(r"^\| (\d+) \| ([^|]+) \| ([^|]+) \|", read_text(PAGE), re.MULTILINE)
    return {int(n): (question, re.findall(r"`([^`]+)`", keys)) for n, question, keys in rows}


class Questions(E2eTest):
    def setUp(self):
        super().setUp()
        self.reader = Reader(self, EXAMPLE)
        self.reader.wait(lambda t: len(t["rows"]) == 18 and "36." in t["description"] and any(
            "alert" in name for name, _ in t["rows"][6]["cells"]), "the whole picture")
        wait_for(lambda: self.reader.ask("focus", TABLE), "the keyboard", poll=0.1)

    def xdotool(self, *words):
        subprocess.run(["xdotool", *words], env=self.environment | {"DISPLAY": self.reader.display.name}, check=True,
                       timeout=LONG, stdout=subprocess.DEVNULL)

    def press(self, number):
        # Without a window manager nobody gives the keyboard back when a dialog closes.
        wait_for(lambda: self.reader.ask("focus", TABLE), "the keyboard", poll=0.1)
        self.xdotool("key", "ctrl+Home", "1", "Escape", "Home")
        self.reader.wait(lambda t: t["rows"] and span_of(t["rows"][0]["cells"][0][0])[1] == 0 and "36." in t["description"], "the whole run")
        for keys in questions()[number][1]:
            if keys.startswith('"'):
                self.xdotool("type", "--delay", "40", keys.strip('"'))
            else:  # as X calls them: a large letter would be one with Shift
                self.xdotool("key", {"/": "slash"}.get(keys, keys.lower() if len(keys) == 1 else keys.replace("Ctrl+K", "ctrl+k")))

    def margay(self, *arguments):
        done = subprocess.run([MARGAY, *arguments], env=self.environment, capture_output=True, text=True, timeout=LONG, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return list(csv.DictReader(io.StringIO(done.stdout)))

    def table(self, name, condition, what):
        """Rows of texts of a list, when they meet the condition."""
        found = []

        def met():
            nonlocal found
            read = self.reader.ask("read", name, MOST)
            found = [[cell for cell, _ in row["cells"]] for row in (read or {}).get("rows", [])]
            return found and condition(found)
        try:
            wait_for(met, what, poll=0.2)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{found}\n{read_text(self.reader.errors)}") from None
        return found

    def test_ten_questions(self):
        asked = questions()
        self.assertEqual(sorted(asked), list(range(1, 11)))
        totals = {row["name"]: row for row in self.margay("events", EXAMPLE, "--statistics", "--csv")}
        for number in sorted(asked):
            with self.subTest(asked[number][0]):
                self.press(number)
                answer = getattr(self, f"answer_{number}")(totals)
                print(f"  {number}. {asked[number][0]} {answer}", file=sys.stderr)

    def answer_1(self, _):
        table = self.reader.wait(lambda t: "selected: rank6" in t["description"], "the stopped rank")
        said = next(name for name, _ in table["rows"][6]["cells"] if "stopped" in name)
        self.assertRegex(said, r"rank6, 1[45]\.\d to 1[56]\.\d s.*has been stopped for 0\.9 s")
        return said

    def answer_2(self, _):
        def waiting(table):
            return [row["description"] for row in table["rows"][:16]
                    if any(int(share) >= 95 for name, _ in row["cells"] for share in re.findall(r"MPI_Allreduce (\d+) %", name))]
        table = self.reader.wait(lambda t: t["rows"] and span_of(t["rows"][0]["cells"][0][0])[1] > 13 and "stopped" in str(t["rows"][6]) and
                             len(waiting(t)) == 15, "its time")
        self.assertNotIn("/node1/rank6", waiting(table))
        return "15 ranks, in MPI_Allreduce"

    def answer_3(self, totals):
        sent = f"{int(totals['MPI_Isend']['bytes']) / (1 << 20):.1f} MiB"
        rows = self.table(STATES, lambda rows: any("MPI_Isend" in row and sent in row for row in rows), sent)
        return str(next(row for row in rows if "MPI_Isend" in row))

    def answer_4(self, totals):
        longest = max(totals.values(), key=lambda row: int(row["longest_ns"]))
        rows = self.table(DURATIONS, lambda rows: len(rows) == len(totals), "what visits sum to")
        row = next(row for row in rows if longest["name"] in row)
        self.assertIn(longest["longest_resource"], row)
        return f"{longest['name']}: {row}"

    def answer_5(self, totals):
        rows = self.table(DURATIONS, lambda rows: len(rows) == len(totals), "what visits sum to")
        row = next(row for row in rows if "MPI_Wait" in row)
        self.assertIn(f"{int(totals['MPI_Wait']['count']):,}", row)
        self.assertIn(f"{totals['MPI_Wait']['median_ns']} ns", row)
        return str(row)

    def answer_6(self, _):
        pairs = self.margay("events", EXAMPLE, "--messages", "--statistics", "--csv")
        most = max(int(row["bytes"]) for row in pairs)
        best = [f"{row['name'].rsplit('/', 1)[1]} to {row['resource'].rsplit('/', 1)[1]}" for row in pairs if int(row["bytes"]) == most]
        said = ""

        def met():
            nonlocal said
            said = self.reader.ask("description", "Messages by who sent them to whom") or ""
            return said.startswith("most: ")
        wait_for(met, "the matrix", poll=0.2)
        self.assertIn(said.removeprefix("most: ").split(":")[0], best)
        return said

    def answer_7(self, _):
        rows = self.table("Phases", lambda rows: len(rows) >= 4, "the phases")
        share = {row[0]: float(next(c for c in row if c.endswith(" %")).split()[0]) for row in rows}
        most = max(share, key=share.get)
        self.assertEqual(most, "B", rows)
        return f"{most}, {share[most]:.0f} %"

    def answer_8(self, _):
        table = self.reader.wait(lambda t: t["rows"] and 12 < span_of(t["rows"][3]["cells"][0][0])[1] < 12.8, "that time")
        cells = [name for name, _ in table["rows"][3]["cells"]]
        self.assertRegex(cells[0], r"^rank3, 12\.\d.*%")
        return cells[0]

    def answer_9(self, _):
        rows = self.table(EVENTS, lambda rows: len(rows) > 3 and all("/node1/rank6" in row for row in rows), "its calls")
        self.assertTrue(any("MPI_Allreduce" in row for row in rows), rows)
        return f"{len(rows)} rows, the first: {rows[0]}"

    def answer_10(self, _):
        stretch = self.margay("events", EXAMPLE, "--statistics", "--csv", "--from", "2", "--to", "6", "--node", "/node2")
        share = 100 * int(next(row for row in stretch if row["name"] == "Compute")["total_ns"]) / (4 * 4e9)
        rows = self.table(STATES, lambda rows: any("Compute" in row and f"{share:.0f} %" in row for row in rows), f"{share:.1f} %")
        return str(next(row for row in rows if "Compute" in row))


if __name__ == "__main__":
    unittest.main()
