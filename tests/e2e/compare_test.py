"""margay compare: nothing of equal runs, of a rank that got slower the phase and the rank, rules for scripts."""
import json
import os
import subprocess
import unittest
import xml.etree.ElementTree

from e2e import LONG, MARGAY, MPIRUN, WORKLOAD, E2eTest

PAIRS = int(os.environ.get("COMPARE_PAIRS", "1"))
# Of ranks that sleep instead of computing, so that other programs on this machine hardly matter.
PLAN = ["--plan", "A:100i,B:200i", "--sleep", "--grain", "16"]
EXAMPLE = os.path.join(os.path.dirname(__file__), "..", "..", "viewer", "example", "sixteen.margay")


class Compare(E2eTest):
    def margay(self, *arguments, code=0):
        done = subprocess.run([MARGAY, "compare", *arguments], env=self.environment, cwd=self.place, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=LONG, check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout if code != 2 else done.stderr

    def run_of(self, *more):
        run = self.run_margay([MPIRUN, "-n", "8", WORKLOAD, *PLAN, *more])
        self.assertEqual(run.wait(), 0, run.stderr)
        return run.archive

    def test_of_pairs_of_runs(self):
        for pair in range(PAIRS):
            with self.subTest(pair=pair):
                first, second = self.run_of(), self.run_of()
                slower = self.run_of("--heavier", "B:3:20", "--heavier", "B:5:20")
                equal = json.loads(self.margay(first, second, "--json"))
                self.assertEqual(equal["aligned_by"], "work")
                self.assertEqual(equal["changes"], [])
                changed = json.loads(self.margay(first, slower, "--json"))
                self.assertEqual(changed["aligned_by"], "work")
                # The phase in which the ranks wait for each other, by whatever name.
                waits = {}
                for m in changed["measures"]:
                    if m["measure"] == "MPI_Recv":
                        waits[m["phase"]] = m["a"]
                waits.pop("run")
                phase = max(waits, key=waits.get)
                blamed = [c for c in changed["changes"] if c["phase"] == phase and c["measure"] == "Compute" and c["change"] > 0]
                self.assertEqual([[os.path.basename(r) for r in c["resources"]] for c in blamed], [["rank3", "rank5"]], changed["changes"])
                self.assertAlmostEqual(blamed[0]["apart"] / blamed[0]["of"], 0.2, delta=0.07)
                self.assertLess(blamed[0]["low"], blamed[0]["typical"])
                text = self.margay(first, slower)
                self.assertIn(f"phase {phase}: Compute of rank3, rank5: ", text)

    def test_rules_and_their_files(self):
        result = os.path.join(self.place, "result.xml")
        text = self.margay(EXAMPLE, EXAMPLE, "--fail-if", "time > +3%", "--fail-if", "C: Bcast < -1s", "--junit", result)
        self.assertIn("Nothing differs for sure.", text)
        self.assertIn("ok  --fail-if 'time > +3%'\n", text)
        suite = xml.etree.ElementTree.parse(result).getroot()
        self.assertEqual((suite.get("tests"), suite.get("failures")), ("2", "0"))
        self.assertEqual([c.get("name") for c in suite], ["time > +3%", "C: Bcast < -1s"])

        # Two stretches that differ: other phases.
        text = self.margay(EXAMPLE + "@8..11", EXAMPLE + "@13..19", "--fail-if", "Waitall < -50%", "--junit", result, code=1)
        self.assertIn("FAILED  --fail-if 'Waitall < -50%': the run: MPI_Waitall: ", text)
        suite = xml.etree.ElementTree.parse(result).getroot()
        self.assertEqual(suite.get("failures"), "1")
        self.assertIn("MPI_Waitall", suite[0].find("failure").get("message"))
        stretches = json.loads(self.margay(EXAMPLE + "@8..11", EXAMPLE + "@13..19", "--json"))
        self.assertEqual((stretches["per"], stretches["aligned_by"]), ("second", "likeness"))
        for m in stretches["measures"]:
            self.assertTrue(0 <= m["a"] <= 1 and 0 <= m["b"] <= 1, m)

    def test_means_are_those_of_the_cells(self):
        """What `margay export` says of the example, summed here, is what is compared."""
        done = subprocess.run([MARGAY, "export", EXAMPLE, "--format", "csv", "--table", "cells"], capture_output=True, text=True,
                              timeout=LONG, check=True)
        sums, resources = {}, set()
        for line in done.stdout.splitlines()[1:]:
            _, _, resource, state, duration, _, _ = line.split(",")
            resources.add(resource)
            sums[state] = sums.get(state, 0) + int(duration)
        told = json.loads(self.margay(EXAMPLE, EXAMPLE, "--by", "run", "--json"))
        self.assertEqual(told["phases"], ["run"])
        compared = {m["measure"]: m for m in told["measures"] if m["measure"] not in ("time", "waiting for a CPU")}
        self.assertGreater(len(compared), 3)
        for state, m in compared.items():
            self.assertAlmostEqual(m["a"], sums[state] / 1e9 / len(resources), places=6)
            self.assertEqual(m["a"], m["b"])

    def test_what_is_wrong_is_said(self):
        for arguments, word in (([EXAMPLE, "nowhere"], "nowhere"), ([EXAMPLE, EXAMPLE + "@5"], "FROM..TO"),
                                ([EXAMPLE, EXAMPLE + "@90..99"], "nothing is kept"), ([EXAMPLE, EXAMPLE, "--fail-if", "x"], "neither > nor <"),
                                ([EXAMPLE, EXAMPLE, "--fail-if", "Z: time > 1%"], "no phase Z"),
                                ([EXAMPLE, EXAMPLE, "--junit", "x.xml"], "--fail-if"), ([EXAMPLE, EXAMPLE, "--view", "/"], "--view"),
                                ([EXAMPLE, EXAMPLE, "--fail-if", "time > 1%", "--junit", "no/such/x.xml"], "no/such/x.xml")):
            with self.subTest(arguments=arguments[1:]):
                self.assertIn(word, self.margay(*arguments, code=2))


if __name__ == "__main__":
    unittest.main()
