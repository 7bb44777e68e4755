"""Programs that name their states (margay/annotate.h), with and without MPI."""
import collections
import csv
import os
import subprocess
import unittest

from e2e import CAPTURE_CHECK, LONG, PROGRAMS, ZOOM_CHECK, E2eTest, dump

ANNOTATED = os.path.join(PROGRAMS, "annotated")


def cells(run):
    """({leaf: {state: visits}}, {leaf: {state: seconds}})"""
    visits, seconds = collections.defaultdict(collections.Counter), collections.defaultdict(collections.Counter)
    for row in csv.DictReader(dump("cells", run.archive).splitlines()):
        visits[row["leaf"]][row["state"]] += int(row["visits"])
        seconds[row["leaf"]][row["state"]] += int(row["duration_ns"]) / 1e9
    return visits, seconds


class Annotate(E2eTest):
    def done(self, *arguments, resources, lossless=True, env=None):
        run = self.run_margay([ANNOTATED, *map(str, arguments)], env=env)
        self.assertEqual(run.wait(), 0, run.stderr)
        self.assertEqual(run.stdout.splitlines()[-1], "done")
        self.check_conservation(run, resources, lossless=lossless)
        self.check_cells(run)
        self.check_archive(run)
        return run

    def test_without_margay_nothing_happens(self):
        done = subprocess.run([ANNOTATED, "threads", "2", "3"], capture_output=True, text=True, timeout=60, check=True,
                              env=self.environment)
        self.assertEqual((done.stdout, done.stderr), ("done\n", ""))

    def test_threads_without_mpi(self):
        run = self.done("threads", 4, 40, resources=4)
        self.assertEqual(sorted(s["produced"] for s in run.summary["sources"]), [6 * 40] + [6 * 40 + 2] * 3, "the three threads say that they end")
        visits, seconds = cells(run)
        self.assertEqual(len(visits), 4)
        for leaf in visits:
            self.assertEqual(visits[leaf]["read"], 40)
            self.assertEqual(visits[leaf]["filter"], 40)
            self.assertEqual(visits[leaf]["transform"], 80, "before and after each filter")
            # Each part sleeps a millisecond: never less, and the innermost state alone counts.
            for state in ("read", "filter", "transform"):
                self.assertGreaterEqual(seconds[leaf][state], 0.040, state)
                self.assertLess(seconds[leaf][state], run.summary["duration_ns"] / 1e9 / 2, state)

    def test_threads_beyond_the_rings_are_counted_as_lost(self):
        run = self.done("threads", 12, 40, resources=9, lossless=False)
        events = run.summary["events"]
        self.assertEqual(events["produced"], 12 * 6 * 40 + 7 * 2)
        self.assertEqual(events["probe_dropped"], 4 * 6 * 40)

    def test_full_rings_lose_what_they_count_and_the_states_are_known_again(self):
        run = self.done("threads", 2, 400, resources=2, lossless=False, env={"MARGAY_RING_RECORDS": "64"})
        visits, _ = cells(run)
        for leaf in visits:
            self.assertEqual(set(visits[leaf]) - {"Absent", "Compute", "Unknown", "(thread end)"}, {"read", "transform", "filter"})

    def test_what_is_over_at_once_is_seen(self):
        for i in range(8):
            run = self.done("deep", 1 + 8 * i, resources=1)
            self.assertEqual(run.summary["events"]["produced"], 2 * (1 + 8 * i))

    def test_states_in_mpi_programs(self):
        run = self.run_margay(self.program("annotated", "mpi", "50", ranks=2))
        self.assertEqual(run.wait(), 0, run.stderr)
        self.check_conservation(run, 2)
        self.check_cells(run)
        self.assertEqual(sorted(run.by_rank()), [0, 1], "states named before MPI_Init are the rank's")
        visits, seconds = cells(run)
        self.assertEqual(len(visits), 2)
        for leaf in visits:
            self.assertEqual(visits[leaf]["MPI_Allreduce"], 50)
            self.assertEqual(visits[leaf]["solve"], 100, "before and after each MPI_Allreduce")
            self.assertEqual((visits[leaf]["before"], visits[leaf]["after"]), (1, 1))
            self.assertGreaterEqual(seconds[leaf]["solve"], 0.100)
            self.assertGreaterEqual(seconds[leaf]["after"], 0.100)

    def test_a_thread_that_has_ended_is_no_more(self):
        run = self.done("ends", resources=2)
        _, seconds = cells(run)
        (short,) = [leaf for leaf in seconds if "short" in seconds[leaf]]
        self.assertGreaterEqual(seconds[short]["short"], 0.05)
        self.assertGreaterEqual(seconds[short]["Absent"], 2.6)
        self.assertLess(seconds[short]["Compute"], 0.05)

    def test_what_is_computed_from_what_was_sent_is_what_was_modelled(self):
        # Nested states, threads that end, states round MPI: cells against the plain slicer, from the captured messages and
        # from the archive's single events.
        for arguments in [[ANNOTATED, "threads", "4", "900"], [ANNOTATED, "ends"], self.program("annotated", "mpi", "1200")]:
            name = f"c{len(self.jobs)}"
            capture = os.path.join(self.place, name + ".capture")
            run = self.run_margay(arguments, flags=["--capture", capture], name=name)
            self.assertEqual(run.wait(), 0, run.stderr)
            for check in CAPTURE_CHECK, ZOOM_CHECK:
                done = subprocess.run([check, capture, run.archive], capture_output=True, text=True, timeout=LONG,
                                      check=False)
                print("  " + done.stdout.strip().replace("\n", "\n  "), flush=True)
                self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_forked_child_is_a_process_of_its_own(self):
        run = self.done("fork", resources=2)
        visits, _ = cells(run)
        named = sorted(sorted(set(visits[leaf]) - {"Absent", "Compute", "Unknown"}) for leaf in visits)
        self.assertEqual(named, [["child"], ["parent"]])

    def test_states_deeper_than_the_limit_count_as_the_one_there(self):
        run = self.done("deep", 100, resources=1)
        self.assertEqual(run.summary["events"]["produced"], 200)
        visits, seconds = cells(run)
        (leaf,) = visits
        self.assertGreaterEqual(seconds[leaf]["d64"], 0.036, "what is deeper is spent in it")
        self.assertNotIn("d65", visits[leaf])

    def test_names_beyond_the_table_share_one(self):
        run = self.done("names", 700, resources=1)
        self.assertEqual(run.summary["events"]["produced"], 1400)
        visits, _ = cells(run)
        (leaf,) = visits
        named = {state: n for state, n in visits[leaf].items() if state.startswith("name ")}
        self.assertGreater(len(named), 250)
        self.assertEqual(set(named.values()), {1})
        self.assertEqual(visits[leaf]["(other states)"], 700 - len(named))

    def test_leaves_and_enters_that_do_not_match(self):
        run = self.done("unbalanced", resources=1)
        self.assertEqual(run.summary["events"]["produced"], 5)
        visits, seconds = cells(run)
        (leaf,) = visits
        self.assertGreaterEqual(seconds[leaf]["inner"], 0.1)
        self.assertLess(seconds[leaf]["outer"], 0.05, "inner is in it, and ended with it")
        self.assertGreaterEqual(seconds[leaf]["last"], 0.1, "open at the end: until the end")
        self.assertNotIn("never", seconds[leaf])


if __name__ == "__main__":
    unittest.main()
