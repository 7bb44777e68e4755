"""What Margay says of a job whose truth is known."""
import json
import os
import subprocess
import sys
import time
import unittest

from e2e import E2eTest, LONG, MARGAY, again_if_disturbed, dump, judge, plant, read_text, wait_for


class Detection(E2eTest):
    @again_if_disturbed
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
        # Seldom: each look is a process of its own, which takes its time from the job.
        wait_for(reached, "two seconds of time steps", poll=0.5)

    @unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "one core")
    @again_if_disturbed
    def test_who_has_the_core_instead(self):
        """Something else runs on a rank's core: the alert says what, and a replay does, too."""
        run = self.run_margay(self.lammps_until_told(ranks=2))
        ranks = run.ranks("lmp", 2)
        cores = sorted(os.sched_getaffinity(0))[:2]
        for rank, core in zip(sorted(ranks), cores):
            for thread in os.listdir(f"/proc/{ranks[rank]}/task"):
                os.sched_setaffinity(int(thread), {core})
        wait_for(lambda: "Step" in run.stdout, "the first step")
        self.wait_for_steady(run)
        hog = self.take_core(run, ranks[sorted(ranks)[1]], cores[1])
        self.tell_to_end()
        self.assertEqual(run.wait(), 0)
        self.check_conservation(run, 2)
        told = [a for a in run.alerts if any(t["pid"] == hog.pid for t in a.get("takers", []))]
        print("\n".join(a["message"] for a in told), flush=True)
        for alert in told:
            taker = next(t for t in alert["takers"] if t["pid"] == hog.pid)
            if hog.alone:
                self.assertIs(taker, alert["takers"][0])
            self.assertEqual({k: taker[k] for k in ("kind", "name", "pid", "cpu")},
                             {"kind": "other", "name": hog.command, "pid": hog.pid, "cpu": cores[1]})
            self.assertTrue(taker["resource"].endswith("/rank1"), taker)
            # Others that had the cores already go to the other one then, and both ranks are told.
            if hog.alone:
                self.assertEqual(alert["likely_cause"], [taker["resource"]])
            self.assertIn(taker["resource"], alert["likely_cause"])
            if taker is alert["takers"][0]:
                self.assertIn(f"without a CPU: {hog.command} (pid {hog.pid}, not of this job) takes ", alert["message"])
        self.assertEqual([a["status"] for a in told][-1], "resolved")
        # What it rests on is in the archive.
        again = os.path.join(self.place, "again.jsonl")
        subprocess.run([MARGAY, "replay", "-q", "--alerts", again, run.archive], env=self.environment, check=True,
                       stdin=subprocess.DEVNULL, timeout=LONG)
        keys = ("id", "status", "message", "takers")
        with open(again, encoding="utf-8") as file:
            replayed = [{k: a.get(k) for k in keys} for a in map(json.loads, file)]
        self.assertEqual(replayed, [{k: a.get(k) for k in keys} for a in run.alerts])

    def take_core(self, run, pid, core):
        """Runs something beside a rank until an alert names it: the hog that is named.

        Where others already have the machine for themselves a hog takes little more from the rank than is usual, and nothing
        is to be told: what it does take tells, by the kernel's account. Usual is what it was at any time before."""
        taken, usual = [], 0.0
        for _ in range(8):
            before = self.denied_meanwhile(pid, lambda: self.wait_for_steady(run))
            usual = max(usual, before)
            with subprocess.Popen([sys.executable, "-c", "while True: pass"], stdin=subprocess.DEVNULL) as hog:
                try:
                    os.sched_setaffinity(hog.pid, {core})
                    hog.command = read_text(f"/proc/{hog.pid}/comm").strip()
                    until = time.time_ns() + 6_000_000_000

                    def named():
                        self.assertTrue(run.running, run.stderr)
                        return [a for a in run.firing() if any(t["pid"] == hog.pid for t in a.get("takers", []))]
                    during = self.denied_meanwhile(pid, lambda: wait_for(
                        lambda: named() or run.status().get("watermark_ns", 0) >= until,
                        "six seconds of the job beside a hog", poll=0.5))
                    hog.alone = usual < 0.25
                    if named():
                        # What it takes after it was looked at last is something's that has ended: let that be little.
                        self.wait_for_steady(run)
                        return hog
                finally:
                    hog.kill()
            taken.append(f"{before:.2f} without, {during:.2f} with it")
            self.assertFalse(usual < 0.25 and during - usual >= 0.35, f"the rank was not let on the CPU: {taken}; {run.stderr}")
        self.tell_to_end()
        self.assertEqual(run.wait(), 0)
        return self.skipTest(f"others have the cores; the share of the time in which the rank was not let: {taken}")

    @staticmethod
    def denied_meanwhile(pid, wait):
        """The share of the time of `wait` in which the process was ready to run, and not let."""
        begin, denied = time.monotonic_ns(), int(read_text(f"/proc/{pid}/schedstat").split()[1])
        wait()
        return (int(read_text(f"/proc/{pid}/schedstat").split()[1]) - denied) / (time.monotonic_ns() - begin)

    @again_if_disturbed
    def test_phases(self):
        truth_path = os.path.join(self.place, "truth.jsonl")
        run = self.run_margay(self.workload("--plan", "A:4,B:3,A:4,C:3,A:4", "--truth", truth_path))
        self.assertEqual(run.wait(), 0)
        self.check_conservation(run, 4)
        with open(truth_path, encoding="utf-8") as file:
            truth = [entry for entry in map(json.loads, file) if entry["kind"] == "phase"]
        # What else a machine does to four ranks for a moment may move an edge: that is looked at at night.
        tolerance = 100_000_000 if os.environ.get("MARGAY_NIGHTLY") else 1_000_000_000
        verdict = judge.judge_phases(truth, run.summary["phases"], tolerance)
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
