"""The viewer's window on a real display (Xvfb), attached to jobs that run, driven by mouse and keys."""
import csv
import glob
import os
import shutil
import signal
import struct
import subprocess
import unittest

from e2e import MPIRUN, WORKLOADS, E2eTest, again_if_disturbed, end_process, plant, read_text, wait_for
from viewer import Viewer, needs_window

@needs_window
class Window(E2eTest):
    def hpcc(self):
        shutil.copy(os.path.join(WORKLOADS, "hpccinf-short.txt"), os.path.join(self.place, "hpccinf.txt"))
        return [MPIRUN, "-np", "4", shutil.which("hpcc")]

    @again_if_disturbed
    def test_hpcc_live(self):
        run = self.run_margay(self.hpcc(), name="hpcc", sums=True)
        ranks = run.ranks("hpcc", 4)
        run.wait_for_slices(20)
        viewer = Viewer(self, "hpcc")
        first = viewer.settled("a picture")
        self.assertEqual(first["run"], "hpcc")
        self.assertIn("live", first["status"])
        self.assertGreater(first["drawn"], 0)
        # It follows the run.
        viewer.wait(lambda s: s["parts"] > 0 and s["to"] > first["to"] + 1, "a later picture")

        # A rank is stopped: the alert comes, and a click goes there.
        plant.stop_rank(ranks[2], 1.0, 2)
        def stopped(cells):
            return cells[-1].startswith("rank2 ") and "stopped" in cells[-1]
        s = viewer.wait(lambda s: any(stopped(row) for row in s["alerts"]), "the alert")
        row = next(i for i, cells in enumerate(s["alerts"]) if stopped(cells))
        viewer.do("key Space")  # held
        viewer.do(f"alert {row}")
        s = viewer.settled("the alert's picture", lambda s: s.get("selected", "").endswith("/rank2"))
        self.assertTrue(s["held"])
        onset = next(a["onset_ns"] for a in run.alerts if "stopped" in a["message"] and a["resources"][0].endswith("/rank2"))
        onset = (onset - s["zero_ns"]) / 1e9
        self.assertLessEqual(s["from"], onset)
        self.assertGreater(s["to"], onset)
        self.assertLessEqual(s["selected_from"], onset)
        self.assertGreater(s["selected_to"], onset)

        # A stretch is dragged: that, within a pixel, in slices of its own; and back.
        length = s["to"] - s["from"]
        viewer.do("drag 0.25 0.75")
        dragged = viewer.settled("the stretch", lambda d: d["to"] - d["from"] < 0.7 * length)
        slack = 0.01 * length + length / s["slices"]
        self.assertAlmostEqual(dragged["from"], s["from"] + 0.25 * length, delta=slack)
        self.assertAlmostEqual(dragged["to"], s["from"] + 0.75 * length, delta=slack)
        viewer.do("key Alt+Left")
        viewer.settled("what was before", lambda d: abs(d["from"] - s["from"]) < 1e-6 and abs(d["to"] - s["to"]) < 1e-6)

        # Closer by the calls themselves are seen; E goes back to aggregates, and to calls again.
        viewer.do("key Alt+Right")
        near, steps = viewer.settled("the stretch again", lambda d: d["to"] - d["from"] < 0.7 * length), 1
        while not near["calls"] and steps < 15:
            viewer.do("drag 0.3 0.7")
            near, steps = viewer.settled("a shorter one", lambda d, n=near: d["to"] - d["from"] < 0.6 * (n["to"] - n["from"])), steps + 1
        self.assertGreater(near["calls"], 0)
        if keep := os.environ.get("MARGAY_PICTURES"):
            viewer.do("grab " + os.path.join(keep, "calls-window.png"))
        viewer.do("key E")
        viewer.settled("aggregates", lambda d: d["calls"] == 0)
        viewer.do("key E")
        viewer.settled("calls", lambda d: d["calls"] > 0)
        for _ in range(steps):
            viewer.do("key Alt+Left")
        viewer.settled("what was before", lambda d: abs(d["from"] - s["from"]) < 1e-6 and abs(d["to"] - s["to"]) < 1e-6)

        # p: a step to less detail has fewer parts, and the picture says which p it shows.
        s = viewer.settled("the curve", lambda d: d["steps"] > 1)
        self.assertEqual(s["step_parts"], s["parts"])
        viewer.do("curve 0")  # the first step, however many there are
        fine = viewer.settled("all detail", lambda d: d["step"] == 0)
        self.assertEqual(fine["step_parts"], fine["parts"])
        viewer.do("key >")
        coarser = viewer.settled("a step", lambda d: d["step"] == 1)
        self.assertGreater(coarser["p"], fine["p"])
        self.assertLess(coarser["parts"], fine["parts"])
        viewer.do("curve 1")
        coarsest = viewer.settled("least detail", lambda d: d["step"] == d["steps"] - 1)
        self.assertLess(coarsest["parts"], fine["parts"])
        viewer.do("curve 0")
        viewer.settled("all detail", lambda d: d["step"] == 0)

        # A node is folded, and unfolded.
        host = next(n for n in s["nodes"] if n.count("/") == 1 and n != "/")
        viewer.do("fold " + host)
        folded = viewer.settled("the folded node", lambda d: d["rows"] < s["rows"])
        self.assertEqual(folded["rows"], 1)

        self.check_export(viewer, fine)

        # The job ends, the daemon goes: a sentence, and the picture stays.
        self.assertEqual(run.wait(), 0, run.stderr)
        self.check_conservation(run, 4)
        s = viewer.wait(lambda d: not d["there"], "the end of the run")
        self.assertIn("ended", s["trouble"])
        self.assertGreater(s["parts"], 0)

    @again_if_disturbed
    def test_the_calls_of_an_alert_one_by_one(self):
        """From the alert to the list of the calls there; from a call back to the picture."""
        run = self.run_lammps(20, name="list")
        ranks = run.ranks("lmp", 4)
        viewer = Viewer(self, "list")
        viewer.settled("a picture")
        plant.stop_rank(ranks[1], 1.0, 1)
        def stopped(cells):
            return cells[-1].startswith("rank1 ") and "stopped" in cells[-1]
        s = viewer.wait(lambda s: any(stopped(row) for row in s["alerts"]), "the alert")
        viewer.do("key Space")  # held
        viewer.do(f"alert {next(i for i, cells in enumerate(s['alerts']) if stopped(cells))}")
        viewer.settled("the alert's picture", lambda s: s.get("selected", "").endswith("/rank1"))
        viewer.do("key Return")  # its time
        s = viewer.settled("the alert's time")
        self.assertEqual(s["events"]["rows"], 0, "nobody looks at the list yet")
        # Until the calls of that time are over, and in the archive: else the list says that they go on.
        viewer.wait(lambda d: d["closed"] > s["to"] + 3, "what comes after it")

        viewer.do("key 2")
        listed = viewer.wait(lambda s: s["page"] == "Events" and s["events"]["rows"] > 0 and not s["events"]["reading"],
                             "the list")["events"]
        self.assertAlmostEqual(listed["from_ns"], s["zero_ns"] + s["from"] * 1e9, delta=1e3)
        for cells in listed["first"]:
            self.assertLess(float(cells[0]), s["to"])

        viewer.do("only MPI_*")
        calls = viewer.wait(lambda s: s["events"]["rows"] > 0 and not s["events"]["reading"] and s["events"]["complete"] and
                            all(c[3].startswith("MPI_") for c in s["events"]["first"]), "the calls")["events"]
        self.check_listed(run, viewer, calls)

        # A click on a call selects its rank and its time, which the picture shows.
        viewer.do("event 0")
        s = viewer.state
        self.assertEqual(s["selected"], calls["first"][0][2])
        self.assertLessEqual(s["selected_from"], max(float(calls["first"][0][0]), s["from"]))
        if keep := os.environ.get("MARGAY_PICTURES"):
            viewer.do("grab " + os.path.join(keep, "events-window.png"))
        viewer.do("key 1")
        viewer.settled("the picture", lambda s: s["page"] == "Overview")

        # A daemon that does not answer freezes nothing, and what is asked meanwhile comes when it does.
        daemon = run.child("margayd")
        os.kill(daemon, signal.SIGSTOP)
        viewer.do("key 2")
        name = calls["first"][0][3]
        viewer.do("only " + name)
        s = viewer.wait(lambda s: not s["there"], "the silence told")
        self.assertIn("does not answer", s["events"]["status"])
        viewer.do("key Escape")
        os.kill(daemon, signal.SIGCONT)
        viewer.wait(lambda s: s["there"] and s["events"]["rows"] > 0 and not s["events"]["reading"] and
                    all(c[3] == name for c in s["events"]["first"]), "the list again")
        self.tell_to_end()
        self.assertEqual(run.wait(), 0, run.stderr)

    def check_listed(self, run, viewer, calls):
        """What the list saves is what `margay events` lists of the same stretch."""
        path = os.path.join(self.place, "events.csv")
        viewer.do("save " + path)
        with open(path, encoding="utf-8") as file:
            saved = list(csv.DictReader(file))
        self.assertEqual(len(saved), calls["rows"])
        printed = os.path.join(self.place, "printed.csv")
        with open(printed, "wb") as file:
            subprocess.run([os.environ["MARGAY"], "events", run.archive, "--from", f"@{calls['from_ns']}", "--to", f"@{calls['to_ns']}",
                            "--state", "MPI_*", "--csv"], stdout=file, env=self.environment, check=True)
        with open(printed, encoding="utf-8") as file:
            listed = list(csv.DictReader(file))
        columns = ["duration_ns", "kind", "resource", "name", "depth", "calls", "bytes", "peer", "tag"]
        def rows(of):
            return sorted(tuple(r[c] for c in columns) for r in of)
        self.assertEqual(rows(saved), rows(listed))

    def check_export(self, viewer, state):
        paths = {e: os.path.join(self.place, "picture." + e) for e in ("png", "svg", "csv", "grab.png")}
        for ending in ("png", "svg", "csv"):
            viewer.do("save " + paths[ending])
        self.assertTrue(viewer.do("grab " + paths["grab.png"])["saved"])
        for name in ("png", "grab.png"):
            with open(paths[name], "rb") as file:
                head = file.read(24)
            self.assertEqual(head[:8], b"\x89PNG\r\n\x1a\n")
            self.assertGreater(struct.unpack(">I", head[16:20])[0], 500)
        self.assertIn("<svg", read_text(paths["svg"]))
        with open(paths["csv"], encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual(len(rows), state["parts"])
        cells = sum((int(r["last slice"]) - int(r["first slice"]) + 1) * int(r["leaves"]) for r in rows)
        self.assertEqual(cells, 4 * state["slices"])
        if keep := os.environ.get("MARGAY_PICTURES"):
            for path in glob.glob(os.path.join(self.place, "picture.*")):
                shutil.copy(path, keep)
        answer = viewer.ask("save " + os.path.join(self.place, "no", "such", "folder.png"))
        self.assertIn("not written", answer["error"])

    def test_daemon_away_killed_and_another_run(self):
        run = self.run_lammps(10, name="same")
        viewer = Viewer(self, "same")
        viewer.settled("a picture")
        daemon = run.child("margayd")
        os.kill(daemon, signal.SIGSTOP)
        s = viewer.wait(lambda s: not s["there"], "the silence told")
        self.assertIn("does not answer", s["trouble"])
        self.assertGreater(s["parts"], 0)
        os.kill(daemon, signal.SIGCONT)
        s = viewer.wait(lambda s: s["there"], "the daemon again")
        viewer.wait(lambda d: d["there"] and d["parts"] > 0 and d["to"] > s["to"] + 1, "what it did meanwhile")

        # `margay run` starts another daemon for the same run.
        end_process(daemon)
        wait_for(lambda: run.child("margayd") not in (None, daemon), "another daemon")
        s = viewer.state
        viewer.wait(lambda d: d["there"] and d["parts"] > 0 and d["to"] > s["to"] + 1, "the run, gone on")

        # The run ends, and another one of that name begins.
        self.tell_to_end()
        self.assertEqual(run.wait(), 0, run.stderr)
        s = viewer.wait(lambda d: not d["there"], "the end of the run")
        self.assertIn("ended", s["trouble"])
        shutil.rmtree(run.archive)
        again = self.run_margay(self.lammps_until_told(ranks=2), name="same")
        again.ranks("lmp", 2)
        s = viewer.wait(lambda d: d["there"] and d["parts"] > 0 and
                        sum("/rank" in n for n in d["nodes"]) == 2, "the other run")
        self.assertIn("another run", s["said"])
        self.tell_to_end()
        self.assertEqual(again.wait(), 0, again.stderr)

    def test_no_such_run_yet(self):
        viewer = Viewer(self, "later")
        s = viewer.wait(lambda s: s["trouble"], "a sentence")
        self.assertIn("later", s["trouble"])
        run = self.run_margay(self.workload("--plan", "A:3"), name="later")
        viewer.settled("a picture")
        self.assertEqual(run.wait(), 0, run.stderr)


if __name__ == "__main__":
    unittest.main()
