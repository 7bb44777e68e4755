"""Models of one's own in pictures and in the window: the parts that `margay partition` computes of the same file."""
import csv
import json
import os
import random
import subprocess
import unittest

from e2e import E2eTest, LONG, MARGAY, wait_for
from viewer import Viewer, needs_window

CLOSE = 1e-5  # a picture's table has single precision


def rows(time=None, seed=5):
    """Three hosts, four ranks each, 48 slices: a change for all at 16, for the second host at 30, one rank alone from 36 to 40."""
    chance = random.Random(seed)
    for host in range(3):
        for rank in range(4 * host, 4 * host + 4):
            for t in range(48):
                run = 0.8 if t < 16 else 0.35 if host == 1 and t >= 30 else 0.55
                if rank == 6 and 36 <= t < 40:
                    run = 0.02
                run = min(1.0, max(0.0, run + chance.gauss(0, 0.01)))
                for state, value in (("run", run), ("wait", 1 - run)):
                    yield f"/host{host}/rank{rank}", t if time is None else f"{time + 0.5 * t:.3f}", state, value


def table(path, time=None):
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["resource", "slice" if time is None else "time", "state", "value"])
        writer.writerows(rows(time))


@needs_window
class Models(E2eTest):
    def margay(self, *arguments, code=0):
        done = subprocess.run([MARGAY, *arguments], env=self.environment, cwd=self.place, capture_output=True, text=True, timeout=LONG,
                              check=False)
        self.assertEqual(done.returncode, code, f"{arguments}: {done.stderr}")
        return done

    def of_command(self, model, *arguments):
        report = json.loads(self.margay("partition", model, "--json", *arguments).stdout)
        return {(report["nodes"][node], first, last) for node, first, last in report["parts"]}, report["gain"], report["loss"]

    def of_picture(self, model, *arguments):
        self.margay("render", model, "-o", "parts.csv", *arguments)
        with open(os.path.join(self.place, "parts.csv"), encoding="utf-8", newline="") as file:
            found = list(csv.DictReader(file))
        parts = {(r["resource"], int(r["first slice"]), int(r["last slice"])) for r in found}
        self.assertEqual(len(parts), len(found))
        return parts, sum(float(r["gain (bits)"]) for r in found), sum(float(r["loss (bits)"]) for r in found)

    def check_same(self, model, *arguments):
        (command, *measures), (picture, *drawn) = self.of_command(model, *arguments), self.of_picture(model, *arguments)
        self.assertEqual(picture, command)
        for one, other in zip(measures, drawn):
            self.assertAlmostEqual(one, other, delta=CLOSE * max(1, abs(measures[0])))
        return picture

    def test_pictures(self):
        table(os.path.join(self.place, "model.csv"))
        table(os.path.join(self.place, "timed.csv"), time=1000.25)
        for model in ("model.csv", "timed.csv"):
            for arguments in ((), ("--p", "0.001"), ("--p", "0.01"), ("--p", "0.05"), ("--p", "0.9")):
                with self.subTest(model=model, p=arguments):
                    self.check_same(model, *arguments)
            self.assertIn(("/host1/rank6", 36, 39), self.of_picture(model, "--p", "0.01")[0])

        with self.subTest("a text of numbers, in its own units"):
            self.written("model.txt", "2 3 2 3\n2 2 -1\n10 20  30 40  50 50\n10 90  20 80  30 30\n")
            self.assertEqual(self.of_picture("model.txt", "--p", "0")[0],
                             {("/leaf 0", 0, 0), ("/leaf 0", 1, 1), ("/leaf 0", 2, 2), ("/leaf 1", 0, 0), ("/leaf 1", 1, 1), ("/leaf 1", 2, 2)})

        with self.subTest("its own times, in the words of the axis"):
            self.margay("render", "timed.csv", "-o", "part.csv", "--from", "1008.25", "--to", "1010.25", "--node", "/host1", "--p", "0")
            with open(os.path.join(self.place, "part.csv"), encoding="utf-8", newline="") as file:
                part = list(csv.DictReader(file))
            self.assertEqual({r["resource"] for r in part}, {f"/host1/rank{r}" for r in range(4, 8)})
            self.assertEqual((min(float(r["begin (s)"]) for r in part), max(float(r["end (s)"]) for r in part)), (1008.25, 1010.25))

        with self.subTest("what needs no events is drawn, the rest says why not"):
            for kind in ("overview", "curve", "bars", "treemap"):
                self.margay("render", "model.csv", "-o", f"{kind}.png", "--picture", kind)
                self.assertGreater(os.path.getsize(os.path.join(self.place, f"{kind}.png")), 1000)
            for kind in ("matrix", "histogram", "blocks"):
                done = self.margay("render", "model.csv", "-o", "none.png", "--picture", kind, code=1)
                self.assertIn("this is a model: it has no single events", done.stderr)
            self.assertFalse(os.path.exists(os.path.join(self.place, "none.png")))

        with self.subTest("bad files"):
            for text, sentence in (("resource,time,state,value\n/a,0,x,1\n/a,1,x,1\n/a,2.5,x,1\n/a,4,x,1\n",
                                    "bad.csv:4: the time 2.5 s is not a whole number of steps of 1 s"),
                                   ("resource,slice,state,value\n/a,0,x,-1\n", "bad.csv:2: the value, '-1', is negative"),
                                   ("resource,slice,state,value\n/a,0,x\n", "bad.csv:2: 3 fields, expected 4"),
                                   ("2 1 1 1\n-1\n1 1\n", "bad.csv:1: 1 nodes (H) cannot hold 2 leaves (S)")):
                self.written("bad.csv", text)
                self.assertIn(sentence, self.margay("partition", "bad.csv", code=2).stderr)
                self.assertIn(sentence, self.margay("render", "bad.csv", "-o", "bad.png", code=1).stderr)
                self.assertIn(sentence, self.margay("replay", "--serve", "bad.csv", code=2).stderr)
            self.assertFalse(os.path.exists(os.path.join(self.place, "bad.png")))

        with self.subTest("a model is not replayed"):
            self.assertIn("nothing is detected in it", self.margay("replay", "model.csv", code=2).stderr)
            self.assertIn("only --serve, --name and --quiet", self.margay("replay", "--serve", "--p", "0.1", "model.csv", code=2).stderr)

    def test_window(self):
        table(os.path.join(self.place, "timed.csv"), time=1000)
        served = self.start([MARGAY, "replay", "--serve", "--name", "own", "timed.csv"])
        wait_for(lambda: "own" in self.margay("runs").stdout, "the model's server")
        viewer = Viewer(self, "own")
        first = viewer.settled("the model's picture")
        self.assertEqual(first["run"], "timed.csv")
        self.assertEqual(first["parts"], len(self.of_command("timed.csv")[0]))
        self.assertAlmostEqual(first["from"], 1000, delta=1e-6)
        self.assertAlmostEqual(first["to"], 1024, delta=1e-6)
        # A stretch is dragged, and back.
        viewer.do("drag 0.25 0.75")
        near = viewer.settled("the stretch", lambda s: s["to"] - s["from"] < 13)
        self.assertAlmostEqual(near["from"], 1006, delta=1)
        viewer.do("key Alt+Left")
        viewer.settled("what was before", lambda s: abs(s["from"] - 1000) < 1e-6)
        # p: the next step of the curve has fewer parts.
        viewer.settled("the curve", lambda s: s["steps"] > 1)
        viewer.do("curve 0")
        self.assertGreaterEqual(viewer.settled("all details", lambda s: s["parts"] >= first["parts"])["parts"], first["parts"])
        viewer.end()
        served.process.terminate()
        self.assertEqual(served.wait(), 128 + 15, served.stderr)


if __name__ == "__main__":
    unittest.main()
