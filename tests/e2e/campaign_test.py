"""The campaign of planted faults (tests/campaign) in its short form: two faults in one job of coupled ranks."""
import json
import os
import subprocess
import sys
import unittest

from e2e import HERE, LONG, E2eTest, OnlyUndisturbed, again_if_disturbed

CAMPAIGN = os.path.join(os.path.dirname(HERE), "campaign", "run")
BUILD = os.environ["BUILD"]


class Campaign(E2eTest):
    def campaign(self, *options):
        done = subprocess.run([sys.executable, "-B", CAMPAIGN, "--build", BUILD, *options], env=self.environment,
                              cwd=self.place, capture_output=True, text=True, timeout=2 * LONG, check=False)
        print(done.stdout, flush=True)
        return done

    def lines(self, name):
        with open(os.path.join(self.place, "out", name), encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    @again_if_disturbed
    def test_stopped_and_slowed(self):
        options = ("--only", "stop", "--only", "slow", "--workload", "coupled", "--count", "2", "--seed", "7", "--out",
                   "out")
        done = self.campaign(*options)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        faults, (_, run) = self.lines("faults.jsonl"), self.lines("runs.jsonl")
        self.assertEqual(sorted(f["kind"] for f in faults), ["slow", "stop"])
        self.assertGreater(run["steps"], 0)
        for fault in faults:
            # Of one that the machine's other users drown nothing can be asked; a stopped rank is stopped on any machine.
            strong = fault["effect"]["measurable"] and fault["effect"]["loss"] >= 0.5
            if fault["kind"] == "stop":
                self.assertTrue(strong, fault)
                if run["false_alarms"] and not fault["shown"]:
                    # The picture has what is told of a rank within a second as one area.
                    raise OnlyUndisturbed(f"something else hurt a rank beside its stop: {run['false_alarms']}")
                self.assertTrue(fault["shown"], fault)
            if strong:
                self.assertTrue(fault["found"], fault)
                self.assertTrue(fault["right"], fault)
        # What is there is not done again, and another campaign does not write into it.
        again = self.campaign(*options)
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertEqual((self.lines("faults.jsonl"), self.lines("runs.jsonl")[1:]), (faults, [run]))
        self.assertEqual(self.campaign(*options, "--count", "3").returncode, 2)


if __name__ == "__main__":
    unittest.main()
