"""Calls that are summed in the process, for there are too many to record each (collector/probe/SUMS.md)."""
import collections
import csv
import os
import signal
import time
import unittest

from e2e import CALLCOUNT, CG, E2eTest, MPIRUN, again_if_disturbed, calls_by_rank, dump, end_process, judge, plant, wait_for

# Of functions whose calls are not simply entered and left.
APART = {"MPI_Init", "MPI_Finalize"}


class Sums(E2eTest):
    def run_cg(self, seconds, ranks=4, budget="0.0001", flags=(), **options):
        """Conjugate gradients; next to nothing may be recorded call by call."""
        config = self.written("margay.toml", f"[node]\nrecord_budget = {budget}\n")
        return self.run_margay([MPIRUN, "-np", str(ranks), CG, "--rows", "8", "--seconds", str(seconds)],
                               flags=["--config", config, *flags], sums=True, **options)

    def visits(self, run):
        """{rank: {state: visits that ended}} of the archived slices."""
        meta = run.meta()
        rank_of = {i: int(leaf["rank"]) for i, leaf in enumerate(meta["leaves"])}
        out = collections.defaultdict(collections.Counter)
        for row in csv.DictReader(dump("cells", run.archive).splitlines()):
            out[rank_of[int(row["leaf"])]][row["state"]] += int(row["visits"])
        return out

    def wait_until_summing(self, run, ranks=4):
        def all_sum():
            self.assertTrue(run.running, "the job ended too early for this test")
            counters = {c["name"]: c["value"] for c in run.status().get("counters", [])}
            return counters.get("sources_summing", 0) == ranks
        wait_for(all_sum, "the processes sum", poll=0.2)

    def counted(self):
        """The environment in which a program's calls are counted by another library, and that library's folder."""
        counts = os.path.join(self.place, "counts")
        os.mkdir(counts)
        return {"LD_PRELOAD": CALLCOUNT, "CALLCOUNT_DIR": counts}, counts

    def check_every_call(self, run, counts):
        """Nothing is lost, and the cells have each call that was counted."""
        self.check_conservation(run, 4)
        self.check_cells(run)
        verified, _ = self.check_archive(run)
        summary = run.summary
        self.assertEqual(verified["raw_events"], summary["events"]["produced"])
        calls, visits = calls_by_rank(counts), self.visits(run)
        for rank in range(4):
            for function in set(calls[rank]) - APART:
                if function in visits[rank] or calls[rank][function] == 0:
                    self.assertEqual(visits[rank][function], calls[rank][function], f"rank {rank} {function}")
        return calls, visits

    def test_every_call_is_in_the_cells(self):
        environment, counts = self.counted()
        run = self.run_cg(4, env=environment)
        self.assertEqual(run.wait(), 0, run.stderr)
        calls, visits = self.check_every_call(run, counts)
        for rank in range(4):
            self.assertGreater(visits[rank]["MPI_Waitall"], 100)
        events = 2 * sum(sum(c.values()) for c in calls.values())
        summary = run.summary
        print(f"  {events} events: {summary['summed']} summed, {summary['events']['produced']} records", flush=True)
        self.assertGreater(summary["summed"], events // 2)
        self.assertLess(summary["events"]["produced"], events)
        self.assertIn("so often that recording it would slow the job down", run.stderr)

    def test_an_agent_that_does_not_come_for_seconds_loses_nothing(self):
        # As one that is kept from the processor. Of these rings a half takes some 2,000 calls: 3 s have a hundred times as many.
        environment, counts = self.counted()
        run = self.run_cg(8, budget="0.5", env=environment | {"MARGAY_RING_RECORDS": "8192"})
        run.ranks("margay-cg", 4)
        run.wait_for_slices(10)
        agent = run.child("margay-node")
        end_process(agent, signal.SIGSTOP)
        time.sleep(3)  # the length of the fault, not a wait for anything
        end_process(agent, signal.SIGCONT)
        self.assertTrue(run.running, "the job ended before the stop was over")
        self.assertEqual(run.wait(), 0, run.stderr)
        calls, _ = self.check_every_call(run, counts)
        print(f"  {2 * sum(sum(c.values()) for c in calls.values())} events: {run.summary['summed']} summed, "
              f"{run.summary['events']['produced']} records", flush=True)
        self.assertGreater(run.summary["summed"], 0)

    @again_if_disturbed
    def test_a_stopped_rank_is_told(self):
        run = self.run_cg(14)
        ranks = run.ranks("margay-cg", 4)
        self.wait_until_summing(run)
        run.wait_for_slices(40)
        fault = plant.stop_rank(ranks[2], 1.0, 2)
        self.assertTrue(run.running, "the job ended before the stop was over")
        self.assertEqual(run.wait(), 0)
        self.check_conservation(run, 4)
        alerts = [(a["emitted_wall_ns"], a) for a in run.alerts]
        verdicts, _ = judge.judge_faults(alerts, [fault], 3_000_000_000)
        latency = verdicts[0]["latency_ns"]
        print(f"  stop seen after {'-' if latency is None else round(latency / 1e6)} ms as {verdicts[0]['kind']}", flush=True)
        self.assertGreaterEqual(verdicts[0]["alerts"], 1, run.alerts)
        self.assertTrue(verdicts[0]["cause_correct"], verdicts[0]["likely_cause"])
        self.assertGreater(run.summary["summed"], 0)
        told = f"{run.summary['summed']:,} more were summed in the process"
        self.assertTrue(any(told in line for line in run.said), run.said)

    def test_agent_killed(self):
        run = self.run_cg(6)
        run.ranks("margay-cg", 4)
        self.wait_until_summing(run)
        agent = run.child("margay-node")
        end_process(agent, signal.SIGKILL)
        wait_for(lambda: run.child("margay-node") not in (None, agent), "another agent")
        self.assertEqual(run.wait(), 0, run.stderr)
        self.check_conservation(run, 4, lossless=False)
        self.check_cells(run)
        events = run.summary["events"]
        self.assertEqual(events["rejected"] + events["probe_dropped"], 0, events)

    def test_every_call_is_recorded_where_that_is_wanted(self):
        run = self.run_cg(2, budget="0")
        self.assertEqual(run.wait(), 0, run.stderr)
        self.check_conservation(run, 4, lossless=False)
        self.assertEqual(run.summary["summed"], 0)
        self.assertFalse(any("were summed" in line for line in run.said), run.said)


if __name__ == "__main__":
    unittest.main()
