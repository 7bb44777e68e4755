"""Tests of plant.py, campaign_judge.py and campaign.py; the last against fake_margay.py. Programs and mpirun come by
environment variables (see CMakeLists.txt)."""
import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from unittest import mock

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import campaign  # noqa: E402
import campaign_judge as judge  # noqa: E402
import plant  # noqa: E402

WORKLOAD = os.environ.get("WORKLOAD")
MPIRUN = os.environ.get("MPIRUN", "mpirun")
MS = 1_000_000


class Plant(unittest.TestCase):
    def test_stops_the_rank_asked_for(self):
        with tempfile.TemporaryDirectory(prefix="margay-plant-") as folder:
            job = campaign.start([MPIRUN, "-np", "2", WORKLOAD, "--plan", "A:2"], folder)
            try:
                ranks = plant.wait_for_ranks(job.pid, "margay-workload", 2, 30)
                self.assertEqual(set(ranks), {0, 1})
                states = []
                watcher = threading.Thread(target=lambda: [states.append((plant.state_of(ranks[1]), plant.state_of(ranks[0])))
                                                           or time.sleep(0.01) for _ in range(15)])
                stopper = []
                thread = threading.Thread(target=lambda: stopper.append(plant.stop_rank(ranks[1], 0.4, 1)))
                thread.start()
                watcher.start()
                thread.join()
                watcher.join()
                self.assertIn("T", [state for state, _ in states])
                self.assertNotIn("T", [state for _, state in states])
                self.assertNotEqual(plant.state_of(ranks[1]), "T")
                self.assertGreaterEqual(stopper[0]["end_ns"] - stopper[0]["begin_ns"], 400 * MS)
                self.assertEqual(job.wait(60), 0)
                with self.assertRaises(plant.PlantError):
                    plant.stop_rank(ranks[1], 0.1, 1)
            finally:
                campaign.end_group(job)

    def test_job_that_ends_without_ranks(self):
        job = subprocess.Popen(["/bin/true"])
        with self.assertRaises(plant.PlantError):
            plant.wait_for_ranks(job.pid, "lmp", 1, 20)
        job.wait()

    def test_tail_takes_whole_lines_as_they_come(self):
        with tempfile.TemporaryDirectory(prefix="margay-tail-") as folder:
            path = os.path.join(folder, "alerts")
            over = threading.Event()
            seen = []
            reader = threading.Thread(target=lambda: seen.extend(plant.tail_alerts(path, over.is_set)))
            reader.start()
            before = time.time_ns()
            with open(path, "wb", buffering=0) as file:
                for piece in (b'{"id":', b'1}\n{"id":2}\n', b"rubbish\n[1]\n", b"\n", b'{"id":3'):
                    file.write(piece)
            over.set()
            reader.join()
            self.assertEqual([o for _, o in seen], [{"id": 1}, {"id": 2}, {"invalid_line": "rubbish"}, {"invalid_line": "[1]"},
                                                    {"invalid_line": '{"id":3'}])
            self.assertTrue(all(before <= t <= time.time_ns() for t, _ in seen))


def source(name="/h/rank0", produced=6, **changes):
    counts = {"resource": name, "produced": produced, "modelled": produced, "late_dropped": 0, "probe_dropped": 0,
              "wire_lost": 0, "rejected": 0, "in_flight": 0}
    return counts | changes


def totals(*sources):
    return {"events": {t: sum(s[t] for s in sources) for t in ("produced",) + judge.TERMS}, "sources": list(sources)}


def alert(number, rank, kind="perturbation", status="firing"):
    return {"id": number, "kind": kind, "status": status, "likely_cause": [f"/h/rank{rank}"]}


class Judge(unittest.TestCase):
    def test_conservation_holds(self):
        lossy = source(modelled=1, late_dropped=1, probe_dropped=1, wire_lost=2, rejected=1)
        self.assertEqual(judge.conservation(totals(lossy, source("/h/rank1")), 2), [])

    def test_conservation_broken_in_each_way(self):
        for broken in (totals(source(modelled=5)), totals(source(modelled=5, in_flight=1)), totals(source(produced=0)),
                       totals(source()) | {"sources": []}, totals(source()) | {"events": source(produced=7)}, {},
                       totals(source()) | {"events": None}, totals(source(), source("/h/rank1"))):
            self.assertNotEqual(judge.conservation(broken, 1), [], broken)
        unnamed = source()
        del unnamed["wire_lost"]
        self.assertIn("wire_lost", judge.conservation({"sources": [unnamed], "events": source()}, 1)[0])

    def test_alerts_are_matched_to_faults(self):
        faults = [{"rank": 1, "begin_ns": 1000, "end_ns": 2000}, {"rank": 10, "begin_ns": 6000, "end_ns": 7000}]
        alerts = [(500, alert("early", 1)), (1200, alert("a", 1)), (1300, alert("a", 1)), (1900, alert("c", 0, "phase_change")),
                  (2100, alert("a", 1, status="resolved")), (6300, alert("b", 0, "stall")), (6400, alert("b", 10, "stall"))]
        verdicts, others = judge.judge_faults(alerts, faults, 3000)
        self.assertEqual([(v["alerts"], v["latency_ns"], v["cause_correct"], v["cause_correct_finally"]) for v in verdicts],
                         [(1, 200, True, True), (1, 300, False, True)])
        self.assertEqual([a["id"] for _, a in others], ["early", "c"])

    def test_rank_names_are_not_mixed_up(self):
        fault = {"rank": 0, "begin_ns": 0, "end_ns": 10}
        for causes, right in ((["/h/rank0"], True), (["/h/rank10"], False), ([], False), (["/h/rank0", "/h/rank1"], False),
                              (None, False)):
            verdicts, _ = judge.judge_faults([(5, alert("a", 0) | {"likely_cause": causes})], [fault], 0)
            self.assertEqual(verdicts[0]["cause_correct"], right, causes)

    def test_missed_fault(self):
        verdicts, others = judge.judge_faults([(99, alert("late", 1))], [{"rank": 1, "begin_ns": 0, "end_ns": 10}], 20)
        self.assertEqual((verdicts[0]["detected"], verdicts[0]["latency_ns"], len(others)), (False, None, 1))

    @staticmethod
    def phases(*entries):
        return [{"name": n, "begin_ns": b, "end_ns": e} for n, b, e in entries]

    def test_phases_right(self):
        truth = self.phases(("A", 100, 200), ("B", 200, 300), ("A", 300, 400))
        found = self.phases(("P", 0, 90), ("Q", 90, 205), ("R", 205, 298), ("Q", 298, 450))
        verdict = judge.judge_phases(truth, found, 10)
        self.assertEqual(verdict, {"problems": [], "edge_errors_ns": [5, -2], "names": {"A": ["Q"], "B": ["R"]}})

    def test_phases_wrong_in_each_way(self):
        truth = self.phases(("A", 100, 200), ("B", 200, 300), ("A", 300, 400))
        for word, found in (("off by", (("Q", 90, 220), ("R", 220, 300), ("Q", 300, 400))),
                            ("off by", (("Q", 90, 200), ("R", 215, 300), ("Q", 300, 400))),
                            ("several names", (("Q", 90, 200), ("R", 200, 300), ("S", 300, 400))),
                            ("share the name", (("Q", 90, 200), ("Q", 201, 300), ("Q", 300, 400))),
                            ("not seen", (("Q", 90, 400),)), ("not recognised", ()),
                            ("none of the plan's", (("Q", 90, 200), ("R", 200, 260), ("S", 260, 300), ("Q", 300, 400)))):
            problems = judge.judge_phases(truth, self.phases(*found), 10)["problems"]
            self.assertTrue(any(word in problem for problem in problems), (word, problems))
        self.assertNotEqual(judge.judge_phases([], [], 10)["problems"], [])

    def test_percentile(self):
        self.assertEqual([judge.percentile(v, 0.95) for v in ([], [3], list(range(1, 101)))], [None, 3, 95])


class Campaign(unittest.TestCase):
    """The whole command on margay-workload, against a margay that is right and ones that are wrong."""

    def run_campaign(self, mode, *options, wrong="", plan="A:1.6"):
        with tempfile.TemporaryDirectory(prefix="margay-campaign-test-") as folder:
            path = os.path.join(folder, "summary.json")
            text = io.StringIO()
            with contextlib.redirect_stdout(text), mock.patch.dict(os.environ, {"FAKE_MARGAY": wrong}):
                code = campaign.main([mode, "--margay", os.path.join(HERE, "fake_margay.py"), "--workload", WORKLOAD, "--mpirun",
                                      MPIRUN, "--app", "workload", "--np", "2", "--runs", "1", "--plan", plan, "--expected", "1.6",
                                      "--stop-for", "0.3", "--seed", "7", "--json", path, *options])
            with open(path, encoding="utf-8") as file:
                summary = json.load(file)
        self.assertEqual(json.loads(text.getvalue().splitlines()[-1])["runs"], 1)
        return code, summary, text.getvalue()

    def test_stops(self):
        code, summary, text = self.run_campaign("stops")
        self.assertEqual(code, 0, text)
        self.assertEqual([summary[k] for k in ("right", "detected", "one_alert", "cause_correct", "other_alerts")], [1, 1, 1, 1, 0])
        self.assertGreater(summary["latency_median_ns"], 0)
        self.assertLess(summary["latency_median_ns"], 300 * MS)

    def test_two_stops(self):
        code, summary, text = self.run_campaign("two-stops", "--apart", "0.6", plan="A:2")
        self.assertEqual((code, summary["faults_planted"], summary["cause_correct"]), (0, 2, 2), text)

    def test_stops_judged_wrong(self):
        code, summary, text = self.run_campaign("stops", wrong="cause repeat unbalanced")
        problems = " ".join(summary["details"][0]["problems"])
        self.assertEqual((code, summary["right"], summary["cause_correct"]), (1, 0, 0), text)
        for word in ("blamed on", "2 alerts", "accounted for"):
            self.assertIn(word, problems)

    def test_stop_after_the_end_is_wrong(self):
        code, summary, text = self.run_campaign("stops", "--expected", "8", plan="A:0.5")
        self.assertEqual((code, summary["faults_planted"]), (1, 0), text)
        self.assertIn("fault not planted", text)

    def test_quiet(self):
        code, summary, text = self.run_campaign("quiet", plan="A:0.3")
        self.assertEqual((code, summary["other_alerts"]), (0, 0), text)
        code, summary, text = self.run_campaign("quiet", wrong="noise garbage nosources exit", plan="A:0.3")
        problems = " ".join(summary["details"][0]["problems"])
        self.assertEqual((code, summary["other_alerts"]), (1, 1), text)
        for word in ("1 other alerts", "not JSON", "0 sources", "exit code 3"):
            self.assertIn(word, problems)
        self.assertIn('other: {"id": "anoise"', text)

    def test_phases(self):
        plan = "A:0.5,B:0.4,A:0.4"
        code, summary, text = self.run_campaign("phases", plan=plan)
        self.assertEqual((code, summary["edges"], summary["edge_error_max_ns"]), (0, 2, 40 * MS), text)
        code, summary, text = self.run_campaign("phases", wrong="shift names", plan=plan)
        self.assertEqual(code, 1, text)
        self.assertIn("off by 150000000 ns", text)
        self.assertIn("several names", text)


if __name__ == "__main__":
    unittest.main()
