"""margay alerts: what disturbed a run, and what each alert rests on."""
import copy
import json
import os
import re
import subprocess
import unittest

from e2e import LONG, E2eTest, again_if_disturbed, plant, wait_for

MARGAY = os.environ["MARGAY"]


def margay(*arguments):
    done = subprocess.run([MARGAY, *arguments], capture_output=True, text=True, timeout=LONG, check=False)
    return done.returncode, done.stdout, done.stderr


class Alerts(E2eTest):
    def disturbed(self, plan):
        run = self.run_margay(self.workload("--plan", plan))
        ranks = run.ranks("margay-workload", 4)
        run.wait_for_slices(30)
        plant.stop_rank(ranks[2], 1.0, 2)
        self.assertTrue(run.running, "the job ended before the stop was over")
        self.assertEqual(run.wait(), 0)
        return run

    @again_if_disturbed
    def test_of_a_stopped_rank(self):
        run = self.disturbed("A:7")
        self.assertEqual([a["status"] for a in run.alerts], ["firing", "resolved"])
        fired, resolved = run.alerts
        code, text, problem = margay("alerts", "ls", run.archive)
        self.assertEqual((code, problem), (0, ""))
        self.assertEqual(len(text.splitlines()), 2, text)
        self.assertIn(fired["id"], text)
        code, text, _ = margay("alerts", "ls", os.path.dirname(run.archive), "--json")
        self.assertEqual(code, 0)
        listed, = json.loads(text)
        self.assertEqual(os.path.realpath(listed.pop("archive")), os.path.realpath(run.archive))
        self.assertEqual(listed, resolved)
        self.assertEqual(margay("alerts", "ls", run.archive, "--firing"), (0, "no alerts\n", ""))

        code, text, problem = margay("alerts", "show", run.archive, fired["id"])
        print("\n".join("  | " + line for line in text.splitlines()), flush=True)
        self.assertEqual((code, problem), (0, ""), text)
        self.assertIn("computed again from the archive: identical", text)
        self.assertIn(resolved["message"], text)
        self.assertRegex(text, r"likely cause +/\S+/rank2\n")
        self.assertRegex(text, r"(?m)^ *[0-9.]+ s +onset ")

        code, text, _ = margay("alerts", "show", run.archive, fired["id"][-8:], "--json")
        self.assertEqual(code, 0)
        shown = json.loads(text)
        self.assertEqual(shown["alert"], resolved)
        self.assertTrue(shown["again"]["exact"] and shown["again"]["same"])
        again = copy.deepcopy(shown["again"]["alert"])
        again["emitted_wall_ns"] = resolved["emitted_wall_ns"]
        self.assertEqual(again, resolved)
        self.assertEqual(shown["cells"]["cause"], fired["likely_cause"])
        slices = [s["slice"] for s in shown["cells"]["of_cause"]]
        onset = fired["onset_ns"] // fired["level_ns"]
        self.assertIn(onset, slices)
        self.assertEqual(slices, list(range(slices[0], slices[-1] + 1)))

        code, text, problem = margay("alerts", "show", run.archive, "no-such")
        self.assertEqual((code, text), (1, ""))
        self.assertIn("no alert 'no-such'; it has 1", problem)

    @again_if_disturbed
    def test_whom_the_others_waited_for(self):
        # Sweeps along the ranks, by blocking calls: two wait for the stopped one, the fourth for one of these.
        run = self.disturbed("B:7")
        # What else a busy machine does to them is other alerts.
        alert, = (a for a in run.firing() if "stopped" in a["message"])
        code, text, _ = margay("alerts", "show", run.archive, alert["id"])
        self.assertEqual(code, 0)
        print("\n".join("  | " + line for line in text.splitlines() if "waited for" in line), flush=True)
        self.assertRegex(text, r"waited for +/\S+/rank2 \d\d %")
        code, text, _ = margay("alerts", "show", run.archive, alert["id"], "--json")
        self.assertEqual(code, 0)
        shown = json.loads(text)
        first = shown["waits_for"][0]
        self.assertEqual([first["resource"]], shown["alert"]["likely_cause"])
        self.assertGreater(first["share"], 0.4)
        self.assertEqual(shown["waited"]["leaves"], 3)
        told = sum(w["share"] for w in shown["waits_for"])
        self.assertAlmostEqual(told + shown["waited"]["untold_share"], 1)
        # Three of them for about a second.
        self.assertAlmostEqual(shown["waited"]["ns"] * 1e-9, 3, delta=1)

    def test_wrong_calls(self):
        code, _, problem = margay("alerts", "ls", os.path.join(self.place, "nothing"))
        self.assertEqual(code, 2)
        self.assertIn("nothing", problem)
        code, text, _ = margay("alerts", "ls", "--kind", "earthquake")
        self.assertNotEqual(code, 0)
        code, text, problem = margay("alerts", "ls", self.place)
        self.assertEqual((code, text), (2, ""))
        self.assertTrue(re.search(r"has none in it", problem), problem)


if __name__ == "__main__":
    unittest.main()
