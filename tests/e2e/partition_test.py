"""`margay partition` from the outside: models in files, every option, and the answers of trying everything.

No job and no MPI here. The judge enumerates all exact covers of the grid by rectangles (leaves of a node x interval),
which knows nothing of how the command finds its partition.
"""
import csv
import io
import itertools
import json
import math
import os
import random
import subprocess
import tempfile
import unittest

MARGAY = os.environ["MARGAY"]

# 4 leaves below two nodes below the root: node 4 over 0 and 1, node 5 over 2 and 3, root 6.
PARENTS = [4, 4, 5, 5, 6, 6, -1]
PATHS = ["/a/0", "/a/1", "/b/2", "/b/3", "/a", "/b", "/"]
# Depth first, as CSV input numbers them.
CSV_NODES = ["/", "/a", "/a/0", "/a/1", "/b", "/b/2", "/b/3"]


def xlogx(x):
    return x * math.log2(x) if x > 0 else 0.0


class Model:
    """values[leaf][slice][state]"""

    def __init__(self, values, parents=None):
        self.values = values
        self.parents = parents or PARENTS
        self.leaves, self.slices, self.states = len(values), len(values[0]), len(values[0][0])

    def text(self):
        numbers = [repr(v) for leaf in self.values for row in leaf for v in row]
        return (f"{self.leaves} {self.slices} {self.states} {len(self.parents)}\n"
                + " ".join(map(str, self.parents)) + "\n" + "\n".join(numbers) + "\n")

    def csv(self, first_slice=0):
        lines = ["resource,slice,state,value"]
        for s, leaf in enumerate(self.values):
            for t, row in enumerate(leaf):
                lines += [f"{PATHS[s]},{t + first_slice},state{x},{v!r}" for x, v in enumerate(row)]
        return "\n".join(lines) + "\n"

    def below(self, node):
        def is_below(leaf):
            while leaf not in (node, -1):
                leaf = self.parents[leaf]
            return leaf == node
        return [leaf for leaf in range(self.leaves) if is_below(leaf)]

    def measure(self, leaves, first, last):
        """(gain, loss) of an area, as in RR-8524; every cell weighs 1."""
        rows = [self.values[s][t] for s in leaves for t in range(first, last + 1)]
        sums = [sum(column) for column in zip(*rows)]
        loss = sum(xlogx(v) for row in rows for v in row) - sum(
            s * math.log2(s / len(rows)) for s in sums if s > 0)
        return sum(sums) * math.log2(len(rows)) - loss, loss

    def measure_of(self, part, operator):
        node, first, last = part
        if operator == "spatiotemporal":
            return self.measure(self.below(node), first, last)
        each = [self.measure([s], first, last) for s in range(self.leaves)]
        return sum(g for g, _ in each), sum(l for _, l in each)

    def covers(self, operator):
        """Every partition, as (gain, loss, parts)."""
        root = self.parents.index(-1)
        nodes = range(len(self.parents)) if operator == "spatiotemporal" else [root]
        areas = []
        for node, first in itertools.product(nodes, range(self.slices)):
            for last in range(first, self.slices):
                part = (node, first, last)
                cells = frozenset((s, t) for s in self.below(node) for t in range(first, last + 1))
                areas.append((cells, part, *self.measure_of(part, operator)))
        everything = sorted((s, t) for s in range(self.leaves) for t in range(self.slices))
        out = []

        def extend(covered, gain, loss, parts):
            free = next((c for c in everything if c not in covered), None)
            if free is None:
                out.append((gain, loss, parts))
                return
            for cells, part, g, l in areas:
                if free in cells and not cells & covered:
                    extend(covered | cells, gain + g, loss + l, parts + [part])

        extend(frozenset(), 0.0, 0.0, [])
        return out


def pic(gain, loss, p):
    return p * gain - (1 - p) * loss


def hull(covers):
    """The upper envelope of pIC(p) over all covers: [(p from which on, gain, loss, parts)]."""
    now = min(covers, key=lambda c: (round(c[1], 9), -c[0]))
    p, out = 0.0, [(0.0, now)]
    while True:
        # now and c are equal at this p: p*(dgain + dloss) = dloss
        crossings = []
        for c in covers:
            dgain, dloss = c[0] - now[0], c[1] - now[1]
            if dgain + dloss > 1e-9 and dloss > 1e-12:
                at = dloss / (dgain + dloss)
                if p - 1e-12 <= at <= 1:
                    crossings.append((round(at, 12), -(dgain + dloss), at, c))
        if not crossings:
            return out
        _, _, p, now = min(crossings, key=lambda x: x[:2])
        out.append((p, now))


def random_model(seed, slices=3, states=2, scale=1.0, parents=None):
    generator = random.Random(seed)
    leaves = 4 if parents is None else sum(1 for k in range(len(parents)) if k not in parents)
    values = []
    for _ in range(leaves):
        values.append([])
        for _ in range(slices):
            row = [generator.random() for _ in range(states)]
            whole = sum(row) / generator.uniform(0.5, 1.0)
            values[-1].append([scale * v / whole for v in row])
    return Model(values, parents)


class Partition(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.place = folder.name

    def margay(self, *arguments, stdin=""):
        return subprocess.run([MARGAY, "partition", *arguments], cwd=self.place, input=stdin, capture_output=True,
                              text=True, timeout=60, check=False)

    def file(self, content, name="model"):
        with open(os.path.join(self.place, name), "w", encoding="utf-8") as file:
            file.write(content)
        return name

    def answer(self, *arguments, stdin=""):
        done = self.margay(*arguments, "--json", stdin=stdin)
        self.assertEqual((done.returncode, done.stderr), (0, ""), arguments)
        self.assertEqual(done.stdout.count("\n"), 1, "one line")
        return json.loads(done.stdout)

    def check_partition(self, model, covers, answer, operator, p):
        best = max(pic(g, l, p) for g, l, _ in covers)
        size = max(abs(g) + abs(l) for g, l, _ in covers)
        self.assertEqual(answer["p"], p)
        self.assertAlmostEqual(answer["pIC"], best, delta=1e-8 * size)
        self.assertAlmostEqual(answer["pIC"], pic(answer["gain"], answer["loss"], p), delta=1e-9 * size)
        parts = [tuple(part) for part in answer["parts"]]
        cells = sorted((s, t) for node, first, last in parts for s in model.below(node)
                       for t in range(first, last + 1))
        self.assertEqual(cells, sorted(itertools.product(range(model.leaves), range(model.slices))))
        measures = [model.measure_of(part, operator) for part in parts]
        self.assertAlmostEqual(answer["gain"], sum(g for g, _ in measures), delta=1e-9 * size)
        self.assertAlmostEqual(answer["loss"], sum(l for _, l in measures), delta=1e-9 * size)

    def test_the_best_of_all_covers(self):
        ps = [0.0, 0.05, 0.2, 0.5, 0.8, 1.0]
        for seed, operator in itertools.product(range(4), ("spatiotemporal", "temporal")):
            model = random_model(seed, states=2 + seed % 2, scale=1 if seed < 3 else 250.0)
            name, covers = self.file(model.text()), model.covers(operator)
            answers = self.answer(name, "--operator", operator, "--p", *map(str, ps))
            self.assertEqual(len(answers), len(ps))
            for p, answer in zip(ps, answers):
                with self.subTest(seed=seed, operator=operator, p=p):
                    self.check_partition(model, covers, answer, operator, p)
            self.assertEqual(answers[-1]["parts"], [[6, 0, 2]])

    def test_other_hierarchies(self):
        for parents in ([-1], [1, -1], [2, 2, -1], [3, 3, 3, -1], [3, 4, 4, 4, -1], [4, 5, 4, 6, 5, 6, -1]):
            model = random_model(len(parents), parents=parents)
            name = self.file(model.text())
            for p in (0.0, 0.3, 1.0):
                with self.subTest(parents=parents, p=p):
                    self.check_partition(model, model.covers("spatiotemporal"), self.answer(name, "--p", str(p)),
                                         "spatiotemporal", p)

    def test_every_p_at_which_the_partition_changes(self):
        for seed, operator in itertools.product(range(4), ("spatiotemporal", "temporal")):
            model = random_model(10 + seed, scale=1 if seed < 3 else 1e4)
            name = self.file(model.text())
            answer = self.answer(name, "--p-list", "--operator", operator)
            expected = hull(model.covers(operator))
            with self.subTest(seed=seed, operator=operator):
                self.assertTrue(answer["complete"])
                self.assertEqual(len(answer["p_list"]), len(expected))
                for point, (p, (gain, loss, parts)) in zip(answer["p_list"], expected):
                    self.assertAlmostEqual(point["p"], p, delta=1e-6)
                    self.assertAlmostEqual(point["gain"], gain, delta=1e-7 * (1 + gain))
                    self.assertAlmostEqual(point["loss"], loss, delta=1e-7 * (1 + gain))
                    self.assertEqual(point["aggregates"], len(parts))
                self.assertEqual(answer["p_list"][0]["p"], 0)
                self.assertEqual(answer["p_list"][-1]["aggregates"], 1)
                self.assertIn(answer["jump"], [point["p"] for point in answer["p_list"]])

    def test_the_envelope_is_as_close_as_it_says(self):
        model = random_model(20)
        name, covers = self.file(model.text()), model.covers("spatiotemporal")
        for flags in (["--envelope"], ["--p-list", "--envelope"]):
            answer = self.answer(name, *flags)
            points = answer["p_list"]
            self.assertEqual(points[0]["p"], 0)
            for p in (k / 100 for k in range(101)):
                best = max(pic(g, l, p) for g, l, _ in covers)
                shown = max(pic(q["gain"], q["loss"], p) for q in points)
                self.assertLessEqual(shown, best + 1e-9)
                self.assertGreaterEqual(shown, best - answer["error"] - 1e-9)

    def test_text_and_csv_are_the_same_model(self):
        model = random_model(30)
        text, table = self.file(model.text(), "m.txt"), self.file(model.csv(-7), "m.csv")
        for operator, p in itertools.product(("temporal", "spatiotemporal"), ("0", "0.1", "0.4")):
            a, b = (self.answer(name, "--p", p, "--operator", operator) for name in (text, table))
            self.assertEqual(b["nodes"], CSV_NODES)
            self.assertNotIn("nodes", a)
            self.assertAlmostEqual(a["gain"], b["gain"])
            self.assertAlmostEqual(a["loss"], b["loss"])
            self.assertEqual(sorted((PATHS[n], first, last) for n, first, last in a["parts"]),
                             sorted((CSV_NODES[n], first + 7, last + 7) for n, first, last in b["parts"]))
        self.assertEqual(self.answer(text, "--p", "0.2"), self.answer("-", "--p", "0.2", stdin=model.text()))

    def test_several_p_however_they_are_written(self):
        name = self.file(random_model(31).text())
        expected = self.answer(name, "--p", "0.5", "0.1")
        self.assertEqual([a["p"] for a in expected], [0.5, 0.1])
        for words in (["--p", "0.5,0.1", name], ["--p", "0.5", "--p", "0.1", name], ["--p", "0.5", "0.1", name],
                      ["--p=0.5,0.1", name]):
            self.assertEqual(self.answer(*words), expected, words)
        self.assertIsInstance(self.answer("--p", "0.5", name), dict)

    def test_what_p_is_taken_if_none_is_given(self):
        name = self.file(random_model(32).text())  # three slices tell nothing of the noise
        answer = self.answer(name)
        self.assertEqual((answer["p"], answer["p_policy"]), (0.1, "default"))
        self.assertIn("cannot be estimated", answer["p_reason"])
        answer = self.answer(name, "--p-policy", "jump")
        self.assertEqual(answer["p_policy"], "jump")
        self.assertAlmostEqual(answer["p"], self.answer(name, "--envelope")["jump"])
        # Two states and a change in the middle, over a little noise: one cut.
        generator = random.Random(5)
        values = [[[0.5 + (0.3 if t < 20 else -0.3) + generator.uniform(-0.02, 0.02)] for t in range(40)]
                  for _ in range(4)]
        model = Model([[[v, 1 - v] for (v,) in leaf] for leaf in values])
        answer = self.answer(self.file(model.text()))
        self.assertEqual(answer["p_policy"], "noise")
        self.assertEqual(answer["parts"], [[6, 0, 19], [6, 20, 39]])

    def test_strengths(self):
        model = random_model(33)
        name = self.file(model.text())
        answer = self.answer(name, "--p", "0.01", "--strength")
        self.assertGreater(len(answer["parts"]), 4)
        self.assertEqual(len(answer["strengths"]), len(answer["parts"]))
        for part, strength in zip(answer["parts"], answer["strengths"]):
            self.assertGreater(strength, 0.01)
            self.assertLessEqual(strength, 1)
            self.assertIn(part, self.answer(name, "--p", repr(0.01 + 0.99 * (strength - 0.01)))["parts"])
            if strength < 1:
                self.assertNotIn(part, self.answer(name, "--p", repr(min(1.0, strength + 1e-6)))["parts"])
        self.assertEqual(self.answer(name, "--p", "1", "--strength")["strengths"], [None])

    def test_tables_of_csv(self):
        name = self.file(random_model(34).csv(3))
        answer = self.answer(name, "--p", "0.01", "--strength")
        rows = list(csv.DictReader(io.StringIO(self.margay(name, "--p", "0.01", "--strength", "--csv").stdout)))
        self.assertEqual([[int(r["node"]), int(r["first_slice"]), int(r["last_slice"])] for r in rows], answer["parts"])
        self.assertEqual([r["resource"] for r in rows], [CSV_NODES[part[0]] for part in answer["parts"]])
        self.assertAlmostEqual(sum(float(r["gain"]) for r in rows), answer["gain"])
        self.assertEqual([float(r["strength"]) for r in rows], answer["strengths"])
        for r in rows:
            self.assertIn(r["mode"], ("state0", "state1"))
            self.assertTrue(0.5 <= float(r["mode_share"]) <= 1)
        points = list(csv.DictReader(io.StringIO(self.margay(name, "--p-list", "--csv").stdout)))
        self.assertEqual([float(q["p"]) for q in points], [q["p"] for q in self.answer(name, "--p-list")["p_list"]])
        self.assertAlmostEqual(float(points[-1]["gain_percent"]), 100)

    def test_tables_for_people(self):
        name = self.file(random_model(35).csv())
        done = self.margay(name, "--p", "0", "1", "--strength", "--timing")
        self.assertEqual(done.returncode, 0)
        self.assertIn("4 leaves, 3 slices (0..2), 2 states; a hierarchy of 7 nodes, depth 2", done.stdout)
        self.assertIn("operator spatiotemporal", done.stdout)
        self.assertIn("/b/3", done.stdout)
        self.assertIn("p 1: 1 part of 12 cells", done.stdout)
        self.assertIn("100.0 % of the complexity reduced", done.stdout)
        self.assertIn("merges at p", done.stdout)
        self.assertRegex(done.stderr, r"^margay: timing: reading [\d.]+ ms, measuring [\d.]+ ms, solving [\d.]+ ms\n$")
        done = self.margay(name, "--p-list")
        self.assertIn("largest fall of quality", done.stdout)
        self.assertIn("100.0 %", done.stdout)
        # 301 slices that all differ: the table ends, unless it may not.
        name = self.file("1 301 2 1\n-1\n" + "\n".join(f"{t % 2} {1 - t % 2}" for t in range(301)))
        self.assertIn("... and 101 parts more (--all)", self.margay(name, "--p", "0").stdout)
        self.assertEqual(self.margay(name, "--p", "0", "--all").stdout.count("leaf 0"), 301)

    def test_bad_input(self):
        text = self.file("2 2 1 3\n2 2\n-1\n0.5 0.5 0.5\n", "short.txt")
        self.file("2 2 1 3\n2 2\n-1\n0.5 0.5 0.5 1 1\n", "long.txt")
        self.file("3 1 1 6\n3 3 5\n4\n3 -1\n0 0 0\n", "cycle.txt")
        self.file("2 1 1 3\n2 -1\n-1\n0 0\n", "roots.txt")
        self.file("/a,0,s,1\n/b,0,s,1\n/a,0,s,1\n", "twice.csv")
        self.file("/a,0,s,1\n/a/b,0,s,1\n", "inner.csv")
        self.file("2000000 1000000 65536 2000001\n", "huge.txt")
        for name, line, words in ((text, 5, "only 3 values of S*T*X = 4: value 3 (leaf 1, slice 1, state 0)"),
                                  ("long.txt", 4, "too many values"), ("cycle.txt", 3, "cycle: node 3"), ("roots.txt", 3, "two roots"),
                                  ("twice.csv", 3, "line 1"), ("inner.csv", 2, "'/a/b'"), ("huge.txt", 1, "--memory")):
            done = self.margay(name)
            self.assertEqual((done.returncode, done.stdout), (2, ""), name)
            self.assertTrue(done.stderr.startswith(f"margay: {name}:{line}: "), done.stderr)
            self.assertIn(words, done.stderr)
        done = self.margay("-", stdin="nothing sensible")
        self.assertEqual(done.returncode, 2)
        self.assertTrue(done.stderr.startswith("margay: -:1: "), done.stderr)
        done = self.margay("nowhere.csv")
        self.assertEqual((done.returncode, done.stderr), (2, "margay: nowhere.csv: No such file or directory\n"))
        # Room for the values, not for the tables.
        done = self.margay(self.file(random_model(36, slices=100).text()), "--memory", "30KiB")
        self.assertEqual(done.returncode, 2)
        self.assertIn("memory budget", done.stderr)

    def test_bad_options(self):
        name = self.file(random_model(37).text())
        for words in ([], [name, name], [name, "--p", "2"], [name, "--p", "-0.1"], [name, "--p", "nan"],
                      [name, "--p", "x"], ["--p", "x", name], [name, "--p", "0.1", "--p-list"],
                      [name, "--p-list", "--strength"], [name, "--json", "--csv"], [name, "--operator", "x"],
                      [name, "--p-policy", "x"], [name, "--p", "0.1", "--p-policy", "jump"], [name, "--memory", "lots"],
                      [name, "--no-such-flag"]):
            done = self.margay(*words)
            self.assertEqual(done.returncode, 2, words)
            self.assertEqual(done.stdout, "", words)
            self.assertTrue(done.stderr, words)

    def test_models_of_nothing_but_zeros(self):
        name = self.file("2 2 2 3\n2 2 -1\n0 0 0 0 0 0 0 0\n")
        self.assertEqual(self.answer(name, "--p", "0.5"),
                         {"p": 0.5, "pIC": 0, "gain": 0, "loss": 0, "parts": [[2, 0, 1]]})
        self.assertEqual(self.margay(name).returncode, 0)
        self.assertEqual(len(self.answer(name, "--p-list")["p_list"]), 1)

    def test_help_teaches(self):
        done = self.margay("--help")
        self.assertEqual(done.returncode, 0)
        self.assertIn("margay partition model.csv", done.stdout)


if __name__ == "__main__":
    unittest.main()
