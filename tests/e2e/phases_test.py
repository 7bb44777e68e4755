"""How long phases last: what is usual outlives the daemon, what lasts too long is said, and what comes is foretold."""
import json
import os
import signal
import subprocess
import unittest

from e2e import LONG, E2eTest, again_if_disturbed, end_process, nightly, wait_for

MARGAY = os.environ["MARGAY"]


@nightly("two minutes that want the cores for themselves: PhaseDurations, Replay.PhasesOfCoarserLevels... and "
         "Replay.CoarserLevelsAreWatched... show the same with slices that are made")
class Phases(E2eTest):
    @again_if_disturbed
    def test_an_overrun_after_the_daemon_was_killed(self):
        # Ranks that mostly sleep, and ranks that exchange. How the sleepers divide the rest depends on what else the
        # machine does, and they may be several phases; those that exchange are one. One of the two has so little to
        # compute that it waits for the other for most of the time on any machine: an exchange alone takes a tenth of
        # the time on a fast one, and less than two phases have to differ by.
        cycles = 10
        plan = "F:2,D:2," * cycles + "F:2,D:14,F:2"
        # What else the machine does to two ranks for an instant is no matter here: of a stretch that an alert disturbs
        # no duration is learned.
        config = self.written("margay.toml", "[detect]\nmin_effect = 0.9\n")
        run = self.run_margay(self.workload("--grain", "0.02", "--uneven", "0.9", "--plan", plan, ranks=2), flags=["--config", config])
        # It has come often enough to be known: the daemon dies, and another one knows it.
        before = self.wait_for_times(run, 4)
        daemon = run.child("margayd")
        end_process(daemon, signal.SIGKILL)
        wait_for(lambda: run.child("margayd") not in (None, daemon), "margayd is started again")
        after = self.wait_for_times(run, 5)
        over = self.stretches(before)[:-2]  # the last two may still change
        self.assertGreaterEqual(len(over), 6)
        self.assertEqual(self.stretches(after)[:len(over)], over, "the same names")
        times = {d["name"]: d["times"] for d in after["phase_durations"]}
        for d in before["phase_durations"]:
            self.assertGreaterEqual(times[d["name"]], d["times"], d["name"])
        forecast = self.wait_for_forecast(run)
        self.assertLessEqual(forecast["earliest_ns"], forecast["end_ns"])
        self.assertLessEqual(forecast["end_ns"], forecast["latest_ns"])
        self.assertGreaterEqual(forecast["times"], 4)
        self.assertEqual(run.wait(), 0)

        self.check_conservation(run, 2)
        self.check_alert_lines(run)
        durations = {d["name"]: d for d in run.summary["phase_durations"]}
        for name, known in durations.items():
            print(f"  {name}: {known['times']} times, usual {known['usual_ns'] / 1e9:.2f} s", flush=True)
        exchange = max(run.summary["phases"], key=lambda p: p["end_ns"] - p["begin_ns"])["name"]
        self.assertAlmostEqual(durations[exchange]["usual_ns"] * 1e-9, 2, delta=0.3)
        alerts = [a for a in run.alerts if a["kind"] == "phase_duration"]
        self.assertEqual([a["status"] for a in alerts], ["firing", "resolved"], alerts)
        fired, resolved = alerts
        self.assertEqual((fired["id"], fired["phase"], fired["likely_cause"]), (resolved["id"], exchange, []))
        self.assertAlmostEqual(resolved["duration"]["lasted_ns"] * 1e-9, 14, delta=0.6)
        self.assertLess((fired["detected_ns"] - fired["onset_ns"]) * 1e-9, 10, "before it was over")
        self.assertTrue(any(f"FIRING: phase {exchange} has lasted" in line for line in run.said), run.said)
        # Derived again from the archive.
        shown = subprocess.run([MARGAY, "alerts", "show", run.archive, fired["id"]], capture_output=True, text=True,
                               timeout=LONG, check=True).stdout
        print("\n".join("  | " + line for line in shown.splitlines()[:12]), flush=True)
        self.assertIn("computed again from the archive: identical", shown)
        self.assertIn(resolved["message"], shown)
        self.assertRegex(shown, r"duration +1[34]\.\d s, usually [12]\.\d s")
        listed = subprocess.run([MARGAY, "alerts", "ls", run.archive, "--kind", "phase_duration", "--json"],
                                capture_output=True, text=True, timeout=LONG, check=True).stdout
        self.assertEqual([a["id"] for a in json.loads(listed)], [fired["id"]])

    @again_if_disturbed
    def test_long_phases_of_short_ones_after_the_daemon_was_killed(self):
        # What the ranks do by turns changes in the middle: slices of a second, and no others, show that as one edge. The
        # daemon dies and another one goes on; what it says is what a replay says.
        turns = 28
        plan = "F:0.7,D:0.7," * turns + "C:0.7,D:0.7," * turns
        config = self.written("margay.toml",
                              "[slice]\nlevels = [\"1s\"]\n[detect]\nmin_effect = 0.9\nevery_level = true\n")
        job = self.workload("--grain", "0.02", "--uneven", "0.9", "--plan", plan[:-1], ranks=2)
        run = self.run_margay(job, flags=["--config", config])
        wait_for(lambda: self.first_of(run) is not None, "a phase in slices of a second", poll=0.3)
        daemon = run.child("margayd")
        end_process(daemon, signal.SIGKILL)
        wait_for(lambda: run.child("margayd") not in (None, daemon), "margayd is started again")
        self.assertEqual(run.wait(), 0)
        self.check_conservation(run, 2)
        level = run.summary["levels"][0]
        print(f"  {len(run.summary['phases'])} phases in slices of 0.1 s, of 1 s: "
              f"{[(p['name'], round((p['end_ns'] - p['begin_ns']) / 1e9, 1)) for p in level['phases']]}", flush=True)
        self.assertEqual(level["slice_ns"], 1_000_000_000)
        for phase in level["phases"]:
            self.assertTrue(phase["name"].startswith("1s:"), phase)
        self.assertLess(len(level["phases"]), len(run.summary["phases"]))
        replayed = json.loads(subprocess.run([MARGAY, "replay", "--json", run.archive], capture_output=True, text=True,
                                             timeout=LONG, check=True).stdout)
        self.assertEqual(replayed["levels"], run.summary["levels"])
        self.assertEqual(replayed["phases"], [dict(p) for p in run.summary["phases"]])

    @staticmethod
    def first_of(run):
        levels = run.status().get("levels", [])
        return levels[0]["phases"][0] if levels and levels[0]["phases"] else None

    @staticmethod
    def stretches(status):
        return [(p["name"], p["occurrence"], p["begin_ns"]) for p in status["phases"]]

    def wait_for_times(self, run, times):
        """The status in which a phase has been learned from so many times."""
        found = []

        def known():
            self.assertTrue(run.running, "the job ended too early for this test")
            status = run.status()
            if max((d["times"] for d in status.get("phase_durations", [])), default=0) >= times:
                found.append(status)
            return bool(found)
        wait_for(known, f"a phase that has come {times} times", poll=0.2)
        return found[0]

    def wait_for_forecast(self, run):
        found = []

        def foretold():
            self.assertTrue(run.running, "the job ended too early for this test")
            status = run.status()
            forecast = status.get("forecast")
            if forecast and not forecast["overdue"]:
                found.append(forecast)
            return bool(found)
        wait_for(foretold, "a forecast", poll=0.1)
        text = subprocess.run([MARGAY, "status", run.name], env=self.environment, capture_output=True, text=True,
                              timeout=LONG, check=True).stdout
        print("\n".join("  | " + line for line in text.splitlines() if "ends in" in line), flush=True)
        return found[0]


if __name__ == "__main__":
    unittest.main()
