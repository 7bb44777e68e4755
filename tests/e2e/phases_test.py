"""How long phases last: what is usual outlives the daemon, what lasts too long is said, and what comes is foretold."""
import json
import os
import signal
import subprocess
import unittest

from e2e import LONG, E2eTest, end_process, wait_for

MARGAY = os.environ["MARGAY"]


class Phases(E2eTest):
    def test_an_overrun_after_the_daemon_was_killed(self):
        cycles = 8
        run = self.run_margay(self.workload("--plan", "A:2,B:2," * cycles + "A:2,B:12,A:2"))
        # It has come often enough to be known: the daemon dies, and another one knows it.
        before = self.wait_for_times(run, "B", 4)
        daemon = run.child("margayd")
        end_process(daemon, signal.SIGKILL)
        wait_for(lambda: run.child("margayd") not in (None, daemon), "margayd is started again")
        after = self.wait_for_times(run, "B", max(5, before["B"]["times"]))
        self.assertEqual(sorted(after), sorted(before), "the same names")
        self.assertGreaterEqual(after["A"]["times"], before["A"]["times"])
        forecast = self.wait_for_forecast(run)
        self.assertEqual(forecast["next"], "B" if forecast["phase"] == "A" else "A")
        self.assertLessEqual(forecast["earliest_ns"], forecast["latest_ns"])
        self.assertEqual(run.wait(), 0)

        self.check_conservation(run, 4)
        self.check_alert_lines(run)
        for name, known in ((d["name"], d) for d in run.summary["phase_durations"]):
            print(f"  {name}: {known['times']} times, usual {known['usual_ns'] / 1e9:.2f} s", flush=True)
        durations = {d["name"]: d for d in run.summary["phase_durations"]}
        for name in "AB":
            self.assertAlmostEqual(durations[name]["usual_ns"] * 1e-9, 2, delta=0.3)
        alerts = [a for a in run.alerts if a["kind"] == "phase_duration"]
        self.assertEqual([a["status"] for a in alerts], ["firing", "resolved"], alerts)
        fired, resolved = alerts
        self.assertEqual((fired["id"], fired["phase"], fired["likely_cause"]), (resolved["id"], "B", []))
        self.assertGreaterEqual(fired["duration"]["times"], 6)
        self.assertAlmostEqual(resolved["duration"]["lasted_ns"] * 1e-9, 12, delta=0.6)
        self.assertLess((fired["detected_ns"] - fired["onset_ns"]) * 1e-9, 8, "long before it was over")
        self.assertTrue(any("FIRING: phase B has lasted" in line for line in run.said), run.said)
        # Derived again from the archive.
        shown = subprocess.run([MARGAY, "alerts", "show", run.archive, fired["id"]], capture_output=True, text=True,
                               timeout=LONG, check=True).stdout
        print("\n".join("  | " + line for line in shown.splitlines()[:12]), flush=True)
        self.assertIn("comes out again of the archive: the same, to the last bit", shown)
        self.assertIn(resolved["message"], shown)
        self.assertRegex(shown, r"duration +1[12]\.\d s, usually 2\.\d s")
        listed = subprocess.run([MARGAY, "alerts", "ls", run.archive, "--kind", "phase_duration", "--json"],
                                capture_output=True, text=True, timeout=LONG, check=True).stdout
        self.assertEqual([a["id"] for a in json.loads(listed)], [fired["id"]])

    def durations(self, run):
        self.assertTrue(run.running, "the job ended too early for this test")
        return {d["name"]: d for d in run.status().get("phase_durations", [])}

    def wait_for_times(self, run, name, times):
        wait_for(lambda: self.durations(run).get(name, {"times": 0})["times"] >= times, f"{name} has come {times} times",
                 poll=0.2)
        return self.durations(run)

    def wait_for_forecast(self, run):
        found = []

        def foretold():
            self.assertTrue(run.running, "the job ended too early for this test")
            status = run.status()
            forecast = status.get("forecast")
            if forecast and forecast["next"] and not forecast["overdue"]:
                found.append(forecast)
            return bool(found)
        wait_for(foretold, "a forecast", poll=0.1)
        text = subprocess.run([MARGAY, "status", run.name], env=self.environment, capture_output=True, text=True,
                              timeout=LONG, check=True).stdout
        print("\n".join("  | " + line for line in text.splitlines() if "ends in" in line), flush=True)
        return found[0]


if __name__ == "__main__":
    unittest.main()
