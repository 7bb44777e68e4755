#!/usr/bin/env python3
"""Cases of records in the published formats, written by hand here: what runs where when, and what the truth says of it."""
import csv
import importlib.machinery
import importlib.util
import json
import os
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))


def script(name):
    loader = importlib.machinery.SourceFileLoader(name, os.path.join(HERE, name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


flowbench, nezha, judge = script("from_flowbench"), script("from_nezha"), script("judge")


def read(out, case):
    """(truth, {leaf: [(second, state)]}) of what a converter wrote."""
    with open(os.path.join(out, "truth", case + ".json"), encoding="utf-8") as file:
        truth = json.load(file)
    leaf, state, visits = {}, {}, {}
    with open(os.path.join(out, truth["trace"]), encoding="utf-8") as file:
        for line in file:
            words = line.split()
            if words[0] == "3":
                leaf[words[2]] = words[-1].strip('"')
            elif words[0] == "2":
                state[words[1]] = words[3].strip('"')
            elif words[0] == "5":
                visits.setdefault(leaf[words[3]], []).append((float(words[1]), state[words[4]]))
    return truth, visits


class Folder(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.data, self.out = os.path.join(self.folder.name, "data-set"), os.path.join(self.folder.name, "out")

    def write(self, path, rows):
        path = os.path.join(self.data, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8", newline="") as file:
            out = csv.DictWriter(file, sorted({key for row in rows for key in row}), restval="")
            out.writeheader()
            out.writerows(rows)


def task(container, begin, length, label="None", worker=1):
    """5 s to stage in, 2 s to stage out, 1 s to end."""
    return {"type": "compute", "anomaly_type": label, "kickstart_transformations": "fit", "execute_start": 1000 + begin,
            "kickstart_hostname": "poseidon-worker-%d-container-%d-%d" % (worker, container, container + 3),
            "stage_in_end": 1005 + begin, "stage_out_start": 1000 + begin + length - 3,
            "stage_out_end": 1000 + begin + length - 1, "execute_end": 1000 + begin + length}


class FlowBench(Folder):
    def setUp(self):
        super().setUp()
        usual = [task(0, 0, 20), task(4, 5, 20, worker=2), {"type": "transfer", "kickstart_hostname": "submit"}]
        for run in range(1, 21):
            self.write("data/eht_smili/eht-smili-run%04d.csv" % run, usual)
        self.write("data/eht_smili/eht-smili-run0021.csv",
                   [task(0, 0, 20), task(4, 5, 60, "hdd_5", worker=2), task(8, 5, 80, worker=2)])
        self.workflow = flowbench.Workflow(self.data, "eht_smili")

    def test_joins_runs_and_says_where_the_fault_was(self):
        name, _ = flowbench.make(self.workflow, 1, 21, self.out)
        truth, visits = read(self.out, name)
        hit = truth["perturbations"][0]
        self.assertEqual((hit["begin_s"], hit["end_s"]), (5 + 12 * 30, 5 + 12 * 30 + 85))
        self.assertEqual(hit["kind"], "hdd_5")
        of_worker = ["/flowbench/worker-2/container-4", "/flowbench/worker-2/container-8"]
        self.assertEqual(hit["resources"], of_worker, "a neighbour on the slow disk is hit, too")
        self.assertEqual((hit["strength"], hit["hurt"]), (3.5, 3.5), "60 s and 80 s instead of 20 s")
        self.assertEqual(truth["duration_s"], 12 * 30 + 90 + 8 * 30 + 5)
        self.assertEqual(visits[of_worker[1]], [(0, "idle"), (370, "stage_in"), (375, "compute"), (447, "stage_out"),
                                                (449, "compute"), (450, "idle")])
        self.assertEqual(truth["events"], sum(map(len, visits.values())))

    def test_a_clean_case_has_no_truth(self):
        name, _ = flowbench.make(self.workflow, 1, None, self.out)
        truth, _ = read(self.out, name)
        self.assertTrue(truth["clean"])
        self.assertEqual(truth["perturbations"], [])
        with self.assertRaises(SystemExit):
            flowbench.make(self.workflow, 2, None, self.out)

    def test_of_two_tasks_of_a_container_the_later_has_what_is_left(self):
        tasks = [flowbench.task({k: str(v) for k, v in row.items()}) for row in (task(0, 0, 20), task(0, 10, 25), task(0, 12, 9))]
        self.assertEqual(flowbench.visits_of_leaf(tasks, -1000),
                         [(0, "stage_in"), (5, "compute"), (17, "stage_out"), (19, "compute"), (20, "idle"),
                          (20, "stage_in"), (20, "compute"), (32, "stage_out"), (34, "compute"), (35, "idle")])


def span(name, parent, pod, operation, begin, end):
    """Seconds after 10:00:00."""
    zero = nezha.nanoseconds("2023-01-30 10:00:00")
    return {"TraceID": "t", "SpanID": name, "ParentID": parent, "PodName": pod + "-1a-2b", "OperationName": operation,
            "StartTimeUnixNano": zero + int(begin * 1e9), "EndTimeUnixNano": zero + int(end * 1e9),
            "Duration": int((end - begin) * 1e6)}


def call(at, length):
    """A request to `web`, which asks `ts-store-service`, which asks its database for all but 0.2 s."""
    name = "%g" % at
    return [span(name, "root", "web", "GET /", at, at + length + 0.2),
            span(name + "c", name, "web", "HTTP GET", at + 0.1, at + length + 0.1),
            span(name + "s", name + "c", "ts-store-service", "/items", at + 0.1, at + length + 0.1),
            span(name + "d", name + "s", "ts-store-service", "SELECT items", at + 0.2, at + length)]


class Nezha(Folder):
    def setUp(self):
        super().setUp()
        listed = [{"inject_time": "2023-01-30 10:%02d:40" % minute, "inject_timestamp": "0", "inject_type": kind,
                   "inject_pod": "ts-store-service-1a-2b"} for minute, kind in ((0, "cpu_contention"), (10, "return"))]
        os.makedirs(os.path.join(self.data, "rca_data", "2023-01-30"))
        with open(os.path.join(self.data, "rca_data", "2023-01-30", "2023-01-30-fault_list.json"), "w", encoding="utf-8") as file:
            json.dump({"10": listed}, file)
        for at in (0, 600):
            slow = 4 if at == 0 else 1
            first = [row for s in range(0, 40, 2) for row in call(at + s, 1)]
            then = [row for s in range(40, 90, 5) for row in call(at + s, slow)]
            for minute, rows in enumerate((first, first[-4:] + then)):     # the second repeats what the first has
                self.write("rca_data/2023-01-30/trace/10_%02d_trace.csv" % (at // 60 + minute), rows)
        self.day = nezha.Day(self.data, "2023-01-30")

    def test_joins_clean_parts_with_the_fault(self):
        fault = self.day.faults[0]
        name, _ = nezha.make(self.day, fault, self.out)
        truth, visits = read(self.out, name)
        part, whole = truth["parts"] if truth["parts"][1]["fault"] else truth["parts"][::-1]
        self.assertAlmostEqual(part["end_s"] - part["begin_s"], 37, 3, "of the other fault until 3 s before it")
        hit = truth["perturbations"][0]
        self.assertAlmostEqual(hit["begin_s"], whole["begin_s"] + 40, 3)
        self.assertAlmostEqual(hit["end_s"], whole["end_s"], 3)
        lane = "/trainticket/ts-store-service/lane0"
        self.assertEqual(hit["resources"], [lane])
        self.assertAlmostEqual(hit["strength"], 4, 2)
        self.assertAlmostEqual(hit["hurt_callers"], 4, 2)
        self.assertEqual(visits[lane][:6], [(0, "idle"), (whole["begin_s"] + 0.1, "self"), (whole["begin_s"] + 0.2, "db"),
                                            (whole["begin_s"] + 1, "self"), (whole["begin_s"] + 1.1, "idle"),
                                            (whole["begin_s"] + 2.1, "self")])

    def test_a_request_belongs_to_the_innermost_span(self):
        web = [r for r in nezha.requests_of(nezha.spans_of(self.data, "2023-01-30", self.day.faults[0].at)) if r.service == "web"]
        zero = nezha.nanoseconds("2023-01-30 10:00:00")
        self.assertEqual([((at - zero) / 1e9, state) for at, state in web[0].states],
                         [(0, "self"), (0.1, "wait_remote"), (1.1, "self")])
        self.assertEqual(len(web), 30, "those that two files have are there once")

    def test_requests_at_once_take_lanes_of_their_own(self):
        spans = [nezha.Span(r["SpanID"], r["ParentID"], r["PodName"], r["OperationName"], r["StartTimeUnixNano"], r["EndTimeUnixNano"])
                 for r in call(0, 5) + call(1, 1) + call(3, 1)]
        begin = min(s.begin for s in spans)
        visits = nezha.collections.defaultdict(lambda: [(0.0, "idle")])
        nezha.place(nezha.Part(spans, begin, begin + 2_500_000_000), 0, "/x", visits)
        self.assertEqual(visits["/x/web/lane0"], [(0, "idle"), (0, "self"), (0.1, "wait_remote"), (2.5, "idle")])
        self.assertEqual(visits["/x/web/lane1"][-1], (2.2, "idle"), "what begins after the part's end is not in it")

    def test_a_clean_day(self):
        name, perturbations = nezha.make(self.day, None, self.out)
        truth, _ = read(self.out, name)
        self.assertTrue(truth["clean"])
        self.assertEqual(len(truth["parts"]), 2)


class Judge(unittest.TestCase):
    TRUTH = {"slice_s": 5, "duration_s": 1000, "leaf_paths": ["/a/1", "/a/2", "/b/1"], "perturbations": [
        {"begin_s": 500, "end_s": 600, "resources": ["/a/1"], "kind": "cpu", "strength": 1, "hurt": None, "hurt_callers": 2}]}

    def judged(self, *alerts, harm=0, truth=TRUTH):
        lines = [{"id": str(i), "kind": kind, "onset_ns": onset * 1e9, "detected_ns": detected * 1e9, "resources": nodes,
                  "end_ns": None if end is None else end * 1e9} for i, (kind, onset, detected, end, nodes) in enumerate(alerts)]
        out = judge.score(lines, truth, harm)
        return out.truths, out.found, out.false

    def test_hits_and_false_alarms(self):
        self.assertEqual(self.judged(("perturbation", 490, 491, 495, ["/a"])), (1, 1, 0), "two slices are forgiven")
        self.assertEqual(self.judged(("perturbation", 480, 489, None, ["/a"])), (1, 0, 1), "it fired before")
        self.assertEqual(self.judged(("perturbation", 611, 612, None, ["/a"])), (1, 0, 1), "too late")
        self.assertEqual(self.judged(("phase_change", 1, 1, None, []), ("stall", 500, 501, None, [])), (1, 0, 0))
        self.assertEqual(self.judged(*[("perturbation", 500, 505, 510, ["/a"])] * 2), (1, 1, 0), "two on one truth are one")

    def test_what_cost_nothing_can_be_left_out(self):
        hit = ("perturbation", 500, 505, 510, ["/a"])
        self.assertEqual(self.judged(hit, harm=2), (1, 1, 0), "the callers' wait counts")
        self.assertEqual(self.judged(hit, harm=2.1), (0, 0, 0), "neither found nor false")

    def test_where(self):
        of = judge.score([{"id": "1", "kind": "perturbation", "onset_ns": 500e9, "detected_ns": 510e9, "end_ns": None,
                           "resources": ["/a"]}], self.TRUTH, 0)
        self.assertEqual((of.delay, of.jaccard), ([2], [0.5]))


if __name__ == "__main__":
    unittest.main()
