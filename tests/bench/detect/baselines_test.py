#!/usr/bin/python3
"""Each textbook detector finds a plain step, and tells of nothing in a quiet series, at the thresholds that `baselines` gives it."""
import importlib.machinery
import importlib.util
import math
import os
import random
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "strangers"))
import cases as written


def script(name):
    loader = importlib.machinery.SourceFileLoader(name, os.path.join(HERE, name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


baselines = script("baselines")
LEAVES = ["/site/m%d/r%d" % (rank // 2, rank) for rank in range(4)]
SLOW = LEAVES[2]
SLICES, BEGIN, END = 240, 150, 190


def write(folder, slow, seed=7):
    """Four ranks that compute 0.4 s of each second, give or take a hundredth; one of them 0.8 s for 40 s."""
    chance = random.Random(seed)
    visits = {}
    for leaf in LEAVES:
        visits[leaf] = []
        for t in range(SLICES):
            share = 0.8 if slow and leaf == SLOW and BEGIN <= t < END else 0.4
            visits[leaf] += [(t, "compute"), (t + share + chance.gauss(0, 0.01), "wait")]
    truths = [{"begin_s": BEGIN, "end_s": END, "resources": [SLOW], "kind": "slow", "strength": 2}] if slow else []
    written.write_case(folder, "case", "plain", 1.0, ["site", "machine", "rank"], ["idle", "compute", "wait"], visits, SLICES, truths, {})
    return baselines.of_case(None, folder, os.path.join(folder, "truth", "case.json"), list(baselines.DETECTORS))


class Baselines(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def test_cuts_time_into_shares_and_visits(self):
        write(self.folder, slow=True)
        with open(os.path.join(self.folder, "truth", "case.json"), encoding="utf-8") as file:
            case = baselines.Case(self.folder, baselines.json.load(file))
        self.assertEqual(case.share.shape, (SLICES, 4, 2))  # without idle
        self.assertTrue(abs(case.share.sum(axis=2) - 1).max() < 1e-9)
        self.assertAlmostEqual(case.share[BEGIN:END, 2, 0].mean(), 0.8, delta=0.01)
        self.assertAlmostEqual(case.share[:BEGIN, 2, 0].mean(), 0.4, delta=0.01)
        self.assertEqual(len(case.visit_length), 4 * (2 * SLICES - 1))  # the last has no end
        # Warm-up, and the truth widened by two slices, are not quiet.
        self.assertEqual([t for t in range(SLICES) if not case.quiet[t]], list(range(12)) + list(range(BEGIN - 2, END + 3)))

    def test_finds_a_step(self):
        _, found = write(self.folder, slow=True)
        for name in baselines.DETECTORS:
            with self.subTest(name):
                rule = baselines.best({"plain": [("plain", found)]}, name)["plain"]
                score = found[name, rule]
                self.assertEqual((score.truths, score.found, score.false, score.jaccard), (1, 1, 0, [1.0]), rule)
                self.assertLess(score.delay[0], 5)

    def test_finds_a_step_at_the_budget(self):
        _, found = write(self.folder, slow=True)
        # Of a histogram the rarest that there can be is one in as many as were seen: too often for half a false alarm a day.
        for name in set(baselines.DETECTORS) - {"hbos"}:
            with self.subTest(name):
                for rule in ("live", "quiet"):
                    score = found[name, (rule, baselines.BUDGET)]
                    self.assertEqual((score.found, score.false), (1, 0), rule)

    def test_tells_of_nothing_in_a_quiet_series(self):
        for seed in (7, 8, 9):
            _, found = write(self.folder, slow=False, seed=seed)
            for name in baselines.DETECTORS:
                with self.subTest(name, seed=seed):
                    self.assertEqual([found[name, (rule, baselines.BUDGET)].false for rule in ("live", "quiet")], [0, 0])
                    loosest = found[name, ("threshold", baselines.DETECTORS[name].thresholds[0])]
                    if name in ("zscore", "cusum", "hbos"):
                        self.assertGreater(loosest.false, 0)  # what is quiet is not flat

    def test_thresholds_are_exceeded_as_often_as_asked(self):
        """A tail that is exponential is gone on with: ten times as seldom, further by its scale times log 10."""
        import numpy as np
        draws = np.random.default_rng(5).exponential(2.0, 4000)
        far, near = baselines.exceeded(draws, 1e-6), baselines.exceeded(draws, 1e-5)
        self.assertAlmostEqual((far - near) / math.log(10), 2.0, delta=0.2)
        self.assertAlmostEqual(baselines.exceeded(draws, 0.01), 2 * math.log(100), delta=0.6)
        limit = baselines.live(0.001)
        told = sum(draw > limit(draw) for draw in draws)
        self.assertGreater(told, 0)
        self.assertLess(told, 20)  # 4 are asked for
        before = limit(0)
        limit(1e9)
        self.assertAlmostEqual(limit(0), before, delta=0.01)  # what is told of is not learned from

    def test_alerts_join_what_belongs_together(self):
        import numpy as np
        incidents = baselines.Incidents(0.5, ["/a", "/b", "/c"])
        alarms = {10: [1, 0, 0], 11: [1, 1, 0], 14: [1, 1, 0], 16: [0, 0, 1], 30: [1, 0, 0]}
        for t, alarm in alarms.items():
            incidents.step(t, np.array(alarm, bool), np.full(3, t - 1))
        told = [(a["onset_ns"] / 5e8, a["detected_ns"] / 5e8, a["end_ns"] / 5e8, a["resources"]) for a in incidents.alerts()]
        self.assertEqual(told, [(9, 11, 15, ["/a", "/b"]), (15, 17, 17, ["/c"]), (29, 31, 31, ["/a"])])

    def test_best_is_what_has_most_f1_of_all(self):
        """By itself a family does better with nine found and 100 false alarms than with nothing; all together do worse."""
        def case(family, **scores):
            return family, {("x", rule): score(*of) for rule, of in scores.items()}

        def score(truths, found, false):
            out = baselines.JUDGE.Score()
            out.truths, out.found, out.false = truths, found, false
            return out
        cases = {"easy": [case("easy", low=(100, 90, 900), high=(100, 80, 0))], "hard": [case("hard", low=(10, 9, 100), high=(10, 0, 0))]}
        self.assertEqual(baselines.best(cases, "x"), {"easy": "high", "hard": "high"})

    def test_tables_have_each_rule(self):
        cases = [write(self.folder, slow=True), write(self.folder, slow=False)]
        rows, by_family = baselines.tables(cases, ["zscore"])
        self.assertEqual([row[:5] for row in rows[1:]], [("zscore", rule, "1", "1", "0") for rule in ("live", "quiet", "best")])
        self.assertEqual(by_family, [("F1", "plain")] + [("zscore, " + rule, "1.000") for rule in ("live", "quiet", "best")])


if __name__ == "__main__":
    unittest.main()
