"""The same run from several points of view: attributes that its processes were given, `margay views`, and what
`margay partition` and `margay render` make of them."""
import collections
import csv
import json
import os
import subprocess
import unittest

from e2e import LONG, MARGAY, MPIRUN, WORKLOAD, E2eTest

RANKS = 4
GROUPS = "# by hand\nsome: *rank1 *rank2\nlast: *rank3\n"


class Views(E2eTest):
    def margay(self, *arguments, code=0):
        done = subprocess.run([MARGAY, *arguments], env=self.environment, cwd=self.place, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=LONG, check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout if code == 0 else done.stderr

    def leaves(self, *arguments):
        """The paths of all resources."""
        nodes = json.loads(self.margay("partition", self.archive, "--slices", "20", "--p", "0.5", "--json", *arguments))["nodes"]
        return {n for n in nodes if not any(m.startswith(n.rstrip("/") + "/") for m in nodes if m != n)}

    def test_of_a_job_whose_ranks_say_what_they_are(self):
        # The even ones are of a rack of their own.
        told = "MARGAY_ATTRIBUTES=rack=$((OMPI_COMM_WORLD_RANK % 2)),rank=77,role=\"a b\" exec \"$@\""
        run = self.run_margay([MPIRUN, "-n", str(RANKS), "sh", "-c", told, "sh", WORKLOAD, "--plan", "A:1.5"])
        self.assertEqual(run.wait(), 0, run.stderr)
        self.archive = run.archive

        views = json.loads(self.margay("views", run.archive, "--json"))
        attributes = {a["name"]: a for a in views["attributes"]}
        self.assertEqual(views["resources"], RANKS)
        self.assertEqual(attributes["rack"], {"name": "rack", "resources": RANKS, "values": 2, "examples": ["0", "1"]})
        self.assertEqual(attributes["role"]["examples"], ["a b"])
        self.assertEqual(attributes["rank"]["examples"], ["0", "1", "2", "3"], "what Margay tells itself is nobody else's to say")
        self.assertIn("user", attributes)
        self.assertIn("rack", views["views"])
        text = self.margay("views", run.archive)
        self.assertIn("rack", text)
        self.assertIn("  --view 'rank mod 2'\n", text)
        for view in views["views"]:
            self.margay("partition", run.archive, "--view", view)

        host = os.uname().nodename
        usual = self.leaves()
        self.assertEqual(usual, {f"/{host}/rank{r}" for r in range(RANKS)})
        racks = self.leaves("--view", "rack/host")
        self.assertEqual(racks, {f"/rack{r % 2}/{host}/rank{r}" for r in range(RANKS)})
        rests = self.leaves("--view", "rank mod 2")
        self.assertEqual(rests, {f"/rank mod 2 = {r % 2}/rank{r}" for r in range(RANKS)})
        groups = os.path.join(self.place, "groups")
        with open(groups, "w", encoding="utf-8") as f:
            f.write(GROUPS)
        named = self.leaves("--view", f"group@{groups}")
        self.assertEqual(named, {"/others/rank0", "/some/rank1", "/some/rank2", "/last/rank3"})
        one = self.leaves("--view", "rack", "--node", "/rack1")
        self.assertEqual(one, {"/rack1/rank1", "/rack1/rank3"})
        same = self.leaves("--view", "rack", "--node", f"/{host}/rank3")
        self.assertEqual(same, {"/rack1/rank3"})

        # One part of everything is the same whatever the order.
        whole = [json.loads(self.margay("partition", run.archive, "--p", "1", "--json", "--view", v))["gain"]
                 for v in ("", "rack/host", "rank mod 3", f"group/rank mod 2@{groups}")]
        for gain in whole:
            self.assertAlmostEqual(gain, whole[0], places=6)

        # A picture of it, and of one node: paths are those of the view.
        table = os.path.join(self.place, "racks.csv")
        for node, top in (([], "/"), (["--node", "/rack1"], "/rack1")):
            self.margay("render", run.archive, "--view", "rack", "-o", table, *node)
            with open(table, encoding="utf-8") as f:
                rows = list(csv.DictReader(f))
            paths = collections.Counter(row["resource"] for row in rows)
            self.assertTrue(all(p == top or p.startswith("/rack1") or (not node and p.startswith("/rack")) for p in paths), paths)
        # And of a node of the usual view.
        self.margay("render", run.archive, "--node", f"/{host}", "-o", table)
        with open(table, encoding="utf-8") as f:
            for row in csv.DictReader(f):
                self.assertIn(row["resource"], {f"/{host}"} | usual)

    def test_of_a_job_that_goes_on(self):
        run = self.run_margay(self.workload("--plan", "A:8"), name="live")
        run.ranks("margay-workload", RANKS)
        run.wait_for_slices(12)
        table = os.path.join(self.place, "live.csv")
        for view, groups in (("rank mod 2", {"/rank mod 2 = 0", "/rank mod 2 = 1"}), ("rank div 3", {"/rank 0-2", "/rank 3-5"})):
            self.margay("render", "live", "--view", view, "--p", "0", "-o", table)
            with open(table, encoding="utf-8") as f:
                paths = {row["resource"] for row in csv.DictReader(f)}
            self.assertTrue(paths, view)
            self.assertTrue(all(p == "/" or any(p == g or p.startswith(g + "/") for g in groups) for p in paths), paths)
        self.assertTrue(run.running, "it went on all the while")
        self.assertEqual(run.wait(), 0, run.stderr)

    def test_errors_name_the_place(self):
        empty = os.path.join(self.place, "nobody.margay")
        self.assertIn("nobody.margay", self.margay("views", empty, code=2))
        model = os.path.join(self.place, "model.csv")
        with open(model, "w", encoding="utf-8") as f:
            f.write("resource,slice,state,value\n/a/x,0,s,1\n/a/y,0,s,0.5\n")
        self.assertIn("--view", self.margay("partition", model, "--view", "host", code=2))
        for view, words in (("host//rank", "--view host//rank: a level is the name of an attribute"),
                            ("rank mod", "'rank mod': a level is an attribute"),
                            ("group", "which groups there are is not said"),
                            ("group@nosuch", "nosuch: No such file")):
            self.assertIn(words, self.margay("partition", model, "--view", view, code=2))


if __name__ == "__main__":
    unittest.main()
