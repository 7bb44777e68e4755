"""The scorer of the recorded runs, on alerts written here."""
import contextlib
import importlib.machinery
import importlib.util
import io
import json
import os
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
LOADER = importlib.machinery.SourceFileLoader("recorded_score", os.path.join(HERE, "score"))
scorer = importlib.util.module_from_spec(importlib.util.spec_from_loader("recorded_score", LOADER))
LOADER.exec_module(scorer)

SLICE = 100_000_000


def alert(number, onset, end, rank):
    return {"id": f"a{number}", "kind": "perturbation", "status": "resolved", "onset_ns": onset * SLICE, "end_ns": end * SLICE,
            "detected_ns": (onset + 2) * SLICE, "likely_cause": [f"/vm/rank{rank}"], "message": "m"}


def truth(name, others=0.0, faults=((10, 20, 1), (40, 50, 2))):
    return {"run": name, "program": "job", "ranks": 4, "slice_ns": SLICE, "began_ns": 0, "ended_ns": 100 * SLICE,
            "load": {"others": others}, "phases": [],
            "faults": [{"kind": "stop", "ranks": [r], "begin_ns": b * SLICE, "end_ns": e * SLICE} for b, e, r in faults]}


class Scored(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory()
        self.addCleanup(self.place.cleanup)

    def run_of(self, name, alerts, **more):
        for suffix, lines in ((".json", [truth(name, **more)]), (".jsonl", alerts)):
            with open(os.path.join(self.place.name, name + suffix), "w", encoding="utf-8") as file:
                file.writelines(json.dumps(line) + "\n" for line in lines)
        return os.path.join(self.place.name, name + ".json")

    def score(self, *arguments):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            code = scorer.main(["--alerts", self.place.name, *arguments])
        return code, out.getvalue()

    def test_figures(self):
        calm = self.run_of("calm", [alert(1, 10, 20, 1), alert(2, 41, 49, 3)])
        busy = self.run_of("busy", [alert(1, 10, 20, 1), alert(2, 70, 75, 0)], others=0.5)
        code, text = self.score(calm, busy)
        self.assertEqual(code, 0)
        self.assertRegex(text, r"stop +4 +3 +2 +2\.0 +0\.67")
        self.assertIn("1 stop on [2]: MISSED", text)
        self.assertIn("calm: 1 runs, 0.2 minutes; false alarms: 0", text)
        self.assertIn("F1 1.000; where a wrong rank counts as missed and as a false alarm 0.500", text)
        self.assertIn("busy: 1 runs, 0.2 minutes; false alarms: 1", text)
        self.assertIn("FALSE ALARM at 7.0 s", text)

    def test_what_is_lost_or_too_much_is_worse(self):
        today = os.path.join(self.place.name, "today.json")
        run = self.run_of("r", [alert(1, 10, 20, 1), alert(2, 41, 49, 2)])
        self.assertEqual(self.score(run, "--write", today)[0], 0)
        self.assertEqual(self.score(run, "--check", today)[0], 0)
        self.run_of("r", [alert(1, 10, 20, 1)])
        code, text = self.score(run, "--check", today)
        self.assertEqual((code, text.splitlines()[-1]), (1, "WORSE: r: not found any more: 1"))
        self.run_of("r", [alert(1, 10, 20, 1), alert(2, 41, 49, 2), alert(3, 80, 82, 0)])
        code, text = self.score(run, "--check", today)
        self.assertEqual((code, text.splitlines()[-1]), (1, "WORSE: 1 false alarms, before 0"))

    def test_what_is_apart_counts_for_nothing(self):
        path = self.run_of("r", [alert(1, 10, 20, 1)])
        with open(path, encoding="utf-8") as file:
            changed = json.load(file)
        changed["faults"][1]["apart"] = "no measurable effect"
        with open(path, "w", encoding="utf-8") as file:
            json.dump(changed, file)
        code, text = self.score(path)
        self.assertEqual(code, 0)
        self.assertIn("F1 1.000", text)
        self.assertIn("apart: 1 faults", text)

    def test_truths_are_whole(self):
        """Each run of the set has its recording, and faults that lie in it."""
        folder = os.path.join(HERE, "runs")
        names = sorted(n for n in os.listdir(folder) if n.endswith(".json"))
        self.assertGreater(len(names), 20)
        for name in names:
            with self.subTest(name), open(os.path.join(folder, name), encoding="utf-8") as file:
                run = json.load(file)
                self.assertEqual(run["run"] + ".json", name)
                self.assertTrue(os.path.exists(os.path.join(folder, run["run"] + ".tar.xz")))
                for f in run["faults"]:
                    self.assertTrue(run["began_ns"] <= f["begin_ns"] < f["end_ns"] <= run["ended_ns"])
                    self.assertTrue(set(f["ranks"]) <= set(range(run["ranks"])) and f["ranks"])


if __name__ == "__main__":
    unittest.main()
