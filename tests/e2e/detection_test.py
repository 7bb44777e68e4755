"""What Margay says of a job whose truth is known."""
import json
import os
import time
import unittest

from e2e import E2eTest, dump, judge, plant, wait_for


class Detection(E2eTest):
    def test_stopped_rank(self):
        run = self.run_margay(self.lammps_for(11))
        ranks = run.ranks("lmp", 4)
        # LAMMPS is in its time steps, and has been for long enough to be known.
        wait_for(lambda: "Step" in run.stdout, "the first step")
        self.wait_for_steady(run)
        fault = plant.stop_rank(ranks[2], 1.0, 2)
        self.assertTrue(run.running, "the job ended before the stop was over")
        self.assertEqual(run.wait(), 0)
        self.check_conservation(run, 4)
        self.check_alert_lines(run)
        alerts = [(a["emitted_wall_ns"], a) for a in run.alerts]
        verdicts, others = judge.judge_faults(alerts, [fault], 3_000_000_000)
        latency = verdicts[0]["latency_ns"]
        print(f"  stop seen after {'-' if latency is None else round(latency / 1e6)} ms as {verdicts[0]['kind']}",
              flush=True)
        self.assertEqual(verdicts[0]["alerts"], 1, run.alerts)
        self.assertTrue(verdicts[0]["cause_correct"], verdicts[0]["likely_cause"])
        self.assertEqual(others, [])
        self.assertEqual([a["status"] for a in run.alerts], ["firing", "resolved"])

    def wait_for_steady(self, run):
        """Two seconds of trace time after now."""
        now = time.time_ns()

        def reached():
            self.assertTrue(run.running, "the job ended too early for this test")
            return run.status().get("watermark_ns", 0) >= now + 2_000_000_000
        wait_for(reached, "two seconds of time steps", poll=0.05)

    def test_phases(self):
        truth_path = os.path.join(self.place, "truth.jsonl")
        run = self.run_margay(self.workload("--plan", "A:4,B:3,A:4,C:3,A:4", "--truth", truth_path))
        self.assertEqual(run.wait(), 0)
        self.check_conservation(run, 4)
        with open(truth_path, encoding="utf-8") as file:
            truth = [entry for entry in map(json.loads, file) if entry["kind"] == "phase"]
        verdict = judge.judge_phases(truth, run.summary["phases"], 100_000_000)
        print(f"  edges off by {[None if e is None else round(e / 1e6, 1) for e in verdict['edge_errors_ns']]} ms, names "
              f"{verdict['names']}", flush=True)
        self.assertEqual(verdict["problems"], [])
        # What viewers saw stays in the archive: about a report a second, the last one of the whole run.
        reports = [json.loads(line) for line in dump("reports", run.archive).splitlines()]
        self.assertGreaterEqual(len(reports), 15)
        self.assertTrue(reports[-1]["final"])
        self.assertEqual(reports[-1]["phases"], len(run.summary["phases"]))
        self.assertGreaterEqual(max(r["parts"] for r in reports), 2)


if __name__ == "__main__":
    unittest.main()
