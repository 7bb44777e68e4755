#!/usr/bin/env python3
"""The campaign's own arithmetic: the plan, the effect by the job's account, alerts against faults, the intervals."""
import hashlib
import json
import os
import struct
import subprocess
import sys
import tempfile
import unittest

import effect
import plan
import score

S = 100_000_000  # a slice


def alert(name, onset, end, causes, kind="perturbation", detected=None):
    detected = onset + 2 * S if detected is None else detected
    line = {"id": name, "kind": kind, "status": "firing", "onset_ns": onset, "detected_ns": detected, "end_ns": None,
            "emitted_wall_ns": detected + S // 2, "likely_cause": [f"/vm/rank{r}" for r in causes], "message": name}
    return [line] if end is None else [line, line | {"status": "resolved", "end_ns": end}]


def fault(begin, end, truth, measurable=True):
    return {"kind": "cpu", "begin_ns": begin * S, "end_ns": end * S, "truth": truth,
            "effect": {"measurable": measurable, "loss": 0.5}}


class Shown(unittest.TestCase):
    def shown(self, *parts, truth=(1,), watermark=60):
        of = fault(10, 20, list(truth))
        pictures = [{"watermark_ns": at * S, "p": 0.1, "count": len(parts), "parts": list(parts)} for at in (15, watermark)]
        score.shown(pictures, of, 4, S)
        return of["shown"]

    def test_a_part_of_the_rank_that_shares_half_of_the_time(self):
        self.assertTrue(self.shown(["/vm/rank1", 10, 19], ["/", 0, 9]))
        self.assertTrue(self.shown(["/vm/rank1", 12, 16]))
        self.assertTrue(self.shown(["/vm/rank1", 5, 24]))
        self.assertFalse(self.shown(["/vm/rank1", 12, 15]), "less than half of it")
        self.assertFalse(self.shown(["/vm/rank1", 5, 25]), "more than as much again")
        self.assertFalse(self.shown(["/vm/rank2", 10, 19]))
        self.assertFalse(self.shown(["/vm", 10, 19]), "others are in it")
        self.assertTrue(self.shown(["/vm", 10, 19], truth=(0, 1, 2, 3)))
        self.assertTrue(self.shown(["/vm/rank1", 10, 19], watermark=30), "the last picture, where none is later")


class Plan(unittest.TestCase):
    def test_is_the_same_for_the_same_seed(self):
        self.assertEqual(plan.plan(3, 40, quiet=2), plan.plan(3, 40, quiet=2))
        self.assertNotEqual(plan.plan(3, 40), plan.plan(4, 40))

    def test_old_seeds_say_what_they_said_before_there_was_a_second_group(self):
        """Of the published results (README.md)."""
        for seed, digest in ((211, "51a31189d134fa71d0d2865c134ea4c6f9ae80ca79a8ce4dbd2a1ebf81b2df0a"),
                             (97, "c20d2f6e6c75a1e25e0afbdc80c483046306cf4514064ebf5995d2eca28f396c")):
            runs = plan.plan(seed, 100, plan.GROUPS[0], quiet=5)
            self.assertEqual(hashlib.sha256(json.dumps(runs, sort_keys=True).encode()).hexdigest(), digest)

    def test_a_group_is_the_same_with_and_without_the_other(self):
        def without_numbers(runs):
            return sorted(json.dumps([r | {"run": 0, "faults": [f | {"fault": 0} for f in r["faults"]]}]) for r in runs)
        both = without_numbers(plan.plan(11, 60))
        apart = [without_numbers(plan.plan(11, 30, group)) for group in plan.GROUPS]
        self.assertEqual(both, sorted(apart[0] + apart[1]))

    def test_plants_what_was_asked_for(self):
        for count in (1, 2, 7, 100):
            runs = plan.plan(1, count)
            faults = [f for r in runs for f in r["faults"]]
            self.assertEqual([f["fault"] for f in faults], list(range(count)))
            by_kind = [sum(f["kind"] == k for f in faults) for k in plan.KINDS]
            self.assertLessEqual(max(by_kind) - min(by_kind), 1)
        self.assertEqual({f["kind"] for r in plan.plan(1, 9, ["slow"]) for f in r["faults"]}, {"slow"})
        self.assertEqual({r["workload"] for r in plan.plan(1, 9, workloads=["farm"])}, {"farm"})
        self.assertRaises(ValueError, plan.plan, 1, 5, ["disk"], ["lammps"])
        twice = plan.plan(1, 3, workloads=["farm", "farm"], quiet=3)
        self.assertEqual({r["workload"] for r in twice}, {"farm"}, "named twice, it is the same one")

    def test_faults_are_apart_and_their_truth_is_where_they_are(self):
        for seed in range(20):
            for run in plan.plan(seed, 60, quiet=3):
                at = plan.WARM_UP_S[0]
                for f in run["faults"]:
                    self.assertGreaterEqual(f["at_s"] + 0.001, at)
                    at = f["at_s"] + f["seconds"] + plan.GAP_S[0]
                    self.assertTrue(f["truth"])
                    self.assertLess(max(f["truth"]), run["ranks"])
                    if f["kind"] in ("disk", "metadata"):
                        self.assertEqual(f["truth"], run["writers"])
                        self.assertTrue(f["beside"])
                    self.assertEqual(f["kind"] == "network", run.get("network", False), "only there messages use it")
                    self.assertEqual(f.get("mib_per_s") in plan.LEAK_MIB_PER_S, f["kind"] == "leak")
                    self.assertEqual(f.get("level"), {True: 3, None: 2}[f.get("beside")] if f["kind"] == "cache" else None)
                    if f.get("beside"):
                        self.assertNotIn(f["core"], run["cores"])
                        self.assertLess(len(f["truth"]), run["ranks"])
                    elif "core" in f:
                        self.assertEqual({run["cores"][r] for r in f["truth"]}, {f["core"]})
                    if run["workload"] == "farm":
                        self.assertNotIn(0, f["truth"])
                self.assertGreaterEqual(run["seconds"] + 0.001, at)


def steps(*stretches):
    """[(from slice, to slice, ns of its own a step)]: steps without a gap."""
    out = []
    for begin, end, own in stretches:
        at = begin * S
        while at < end * S:
            out.append((at, at + own + 1_000_000, own))
            at += own + 1_000_000
    return out


class Effect(unittest.TestCase):
    def test_loss_is_the_share_that_is_missing(self):
        slowed = steps((0, 100, 5_000_000), (100, 140, 10_000_000), (140, 200, 5_000_000))
        found = effect.effect({1: slowed, 0: steps((0, 200, 5_000_000))}, fault(100, 140, [1]), [])
        self.assertAlmostEqual(found["loss"], 0.5, delta=0.01)
        self.assertTrue(found["measurable"])
        self.assertEqual(found["bystanders"], {})
        unhurt = effect.effect({1: slowed, 0: steps((0, 200, 5_000_000))}, fault(100, 140, [0]), [])
        self.assertFalse(unhurt["measurable"])
        self.assertEqual(list(unhurt["bystanders"]), ["1"])
        self.assertFalse(found["alike"])
        self.assertTrue(effect.effect({0: slowed, 1: slowed}, fault(100, 140, [0]), [])["alike"])

    def test_usual_is_taken_from_quiet_time_alone(self):
        slowed = steps((0, 60, 5_000_000), (60, 100, 20_000_000), (100, 140, 10_000_000), (140, 180, 20_000_000))
        others = [(60 * S, 95 * S), (140 * S, 180 * S)]
        self.assertIsNone(effect.loss_of(slowed, fault(100, 140, [0]), others))
        self.assertAlmostEqual(effect.loss_of(slowed, fault(100, 140, [0]), [])["loss"], -1.0, delta=0.1)

    def test_a_small_change_in_a_restless_job_is_not_measurable(self):
        restless = steps(*((i, i + 5, 5_000_000 if i % 10 else 7_000_000) for i in range(0, 200, 5)))
        restless += steps((200, 240, 6_500_000)) + steps((240, 300, 6_000_000))
        self.assertFalse(effect.loss_of(restless, fault(200, 240, [0]), [])["measurable"])

    def test_time_that_is_lost_in_mpi_is_lost(self):
        waits = [(at, at + (5 if not 100 * S <= at < 140 * S else 10) * 1_000_000, 2_000_000)
                 for at in range(0, 200 * S, 10_000_000)]
        found = effect.loss_of(waits, fault(100, 140, [0]), [])
        self.assertAlmostEqual(found["loss"], 0.5, delta=0.01)
        self.assertTrue(found["measurable"])

    def test_stop(self):
        stopped = steps((0, 100, 5_000_000), (140, 200, 5_000_000))
        self.assertTrue(effect.effect({0: stopped}, fault(100, 140, [0]) | {"kind": "stop"}, [])["measurable"])
        self.assertFalse(effect.effect({0: stopped}, fault(0, 40, [0]) | {"kind": "stop"}, [])["measurable"])

    def test_lammps_lines(self):
        # Seen 3, 0 and 9 ms late.
        lines = [(1_003_000_000, 0, 0.0), (1_100_000_000, 10, 0.1), (1_309_000_000, 20, 0.3)]
        self.assertEqual(effect.lammps_steps(lines, 10), [(1_000_000_000, 1_100_000_000, 10_000_000),
                                                          (1_100_000_000, 1_300_000_000, 20_000_000)])

    def test_a_file_of_steps(self):
        with tempfile.NamedTemporaryFile() as file:
            file.write(struct.pack("=qqq", 1, 2, 3))
            file.flush()
            self.assertEqual(effect.read_steps(file.name), [(1, 2, 3)])


class Score(unittest.TestCase):
    def judge(self, lines, faults):
        return [a["id"] for a in score.judge(score.gather(sum(lines, [])), faults, 4, S)]

    def test_found_and_blamed(self):
        f = fault(100, 140, [1, 3])
        self.assertEqual(self.judge([alert("a", 101 * S, 142 * S, [1])], [f]), [])
        self.assertEqual((f["found"], f["right"], f["exact"], f["jaccard"], f["delay_slices"]),
                         (True, True, False, 0.5, 3.5))

    def test_edges(self):
        for onset, end, detected, belongs in ((142, 150, 144, True), (143, 150, 145, False), (90, 97, 98, False),
                                              (90, 98, 98, True), (90, 120, 97, False), (90, None, 99, True)):
            f = fault(100, 140, [1])
            false = self.judge([alert("a", onset * S, end and end * S, [1], detected=detected * S)], [f])
            self.assertEqual((f["found"], false), (belongs, [] if belongs else ["a"]), (onset, end, detected))

    def test_several_alerts_are_one_find_and_the_first_counts(self):
        f = fault(100, 140, [1])
        self.assertEqual(self.judge([alert("a", 101 * S, 110 * S, [2]), alert("b", 112 * S, 140 * S, [1])], [f]), [])
        self.assertEqual((f["right"], f["jaccard"], f["jaccard_last"], f["alerts"]), (False, 0.0, 0.5, ["a", "b"]))

    def test_other_kinds_are_none(self):
        f = fault(100, 140, [1])
        self.assertEqual(self.judge([alert("a", 101 * S, None, [1], kind="phase_duration")], [f]), [])
        self.assertFalse(f["found"])

    def test_a_node_is_all_its_ranks(self):
        self.assertEqual(score.ranks_of(["/vm"], 3), {0, 1, 2})
        self.assertEqual(score.ranks_of(["/vm/rank1", "/vm/rank12/thread3"], 20), {1, 12})

    def test_counts(self):
        faults = [fault(100, 140, [1]), fault(200, 240, [1]), fault(300, 340, [1]),
                  fault(400, 440, [1], measurable=False)]
        alike = fault(600, 640, [1])
        alike["effect"]["alike"] = True
        faults.append(alike)
        false = self.judge([alert("a", 101 * S, 140 * S, [1]), alert("b", 201 * S, 240 * S, [2]),
                            alert("c", 401 * S, 440 * S, [1]), alert("d", 500 * S, 510 * S, [1])], faults)
        c = score.counts(faults, len(false))
        self.assertEqual((c["real"], c["found"], c["right"], c["apart"], c["false_alarms"]), (3, 2, 1, 2, 1))
        self.assertEqual(c["losses"], [0.5] * 5)
        self.assertAlmostEqual(c["f1"], 4 / 6)
        self.assertAlmostEqual(c["f1_right"], 2 / 6)

    def test_intervals(self):
        low, high = score.wilson(8, 10)
        self.assertAlmostEqual(low, 0.4901, places=3)
        self.assertAlmostEqual(high, 0.9433, places=3)
        self.assertEqual(score.wilson(0, 0), (0.0, 1.0))
        for count, low, high in ((0, 0.0, 3.689), (3, 0.619, 8.767), (20, 12.217, 30.888)):
            got = score.poisson(count)
            self.assertAlmostEqual(got[0], low, places=2)
            self.assertAlmostEqual(got[1], high, places=2)


class Command(unittest.TestCase):
    def call(self, *arguments):
        run = os.path.join(os.path.dirname(os.path.abspath(__file__)), "run")
        return subprocess.run([sys.executable, "-B", run, *arguments], capture_output=True, text=True, check=False)

    def test_plan_is_printed(self):
        done = self.call("--plan", "--count", "5", "--seed", "2")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sum(line.startswith("  fault ") for line in done.stdout.splitlines()), 5)
        self.assertEqual(done.stdout, self.call("--plan", "--count", "5", "--seed", "2").stdout)

    def test_wrong_calls(self):
        for arguments in (["--only", "flood"], ["--count", "0", "--quiet", "0"],
                          ["--only", "disk", "--workload", "lammps"], ["--only", "network", "--workload", "files"]):
            done = self.call("--plan", *arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""), arguments)


if __name__ == "__main__":
    unittest.main()
