"""The account is exact where something gives way: rings, memory, a rank, the number of ranks."""
import collections
import csv
import os
import signal
import struct
import time
import unittest

from e2e import CALLCOUNT, E2eTest, MPIRUN, PROGRAMS, calls_by_rank, dump, end_process, expected_records, wait_for

STORM = os.path.join(PROGRAMS, "storm")
AGENT_MEMORY = 64 << 20  # node.memory
# Beside what waits: what ZeroMQ holds of the 8 MiB under way, the code, tables for each source and thread.
AGENT_BESIDE = 64 << 20
DAEMON_MOST = 1 << 30
RING_MEMORY = 4 << 20  # of the first ring of each process, where it need not be smaller


def memory_of(pid, what):
    """VmRSS, VmHWM or RssAnon of a process, bytes."""
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith(what + ":"))


class LimitsTest(E2eTest):
    def setUp(self):
        super().setUp()
        self.counts = os.path.join(self.place, "counts")
        os.mkdir(self.counts)
        self.go, self.stop = os.path.join(self.place, "go"), os.path.join(self.place, "stop")
        self.counted = {"LD_PRELOAD": CALLCOUNT, "CALLCOUNT_DIR": self.counts}

    def storm(self, ranks, counted=True):
        count = os.path.join(self.place, "count")
        return [MPIRUN, "-np", str(ranks), STORM, self.go, self.stop, "0"] + ([count] if counted else [])

    @staticmethod
    def touch(path):
        with open(path, "w", encoding="utf-8"):
            pass

    def own_count(self, rank):
        """Calls begun and calls returned, as the program itself has counted them; None before it began."""
        try:
            with open(os.path.join(self.place, f"count.{rank}"), "rb") as file:
                return struct.unpack("<QQ", file.read(16))
        except (FileNotFoundError, struct.error):
            return None

    def wait_until_ready(self, run, ranks):
        wait_for(lambda: run.stdout.count("ready") == ranks or not run.running, "MPI_Init of all ranks")
        self.assertTrue(run.running, run.stderr)

    def resources(self, run):
        """{rank: leaf}"""
        return {int(leaf["rank"]): i for i, leaf in enumerate(run.meta()["leaves"])}

    def records(self, run):
        """{leaf: {kind: (records, bytes)}} of the raw records in the archive."""
        found = collections.defaultdict(dict)
        for row in csv.DictReader(dump("records", run.archive).splitlines()):
            found[int(row["leaf"])][row["kind"]] = (int(row["records"]), int(row["bytes"]))
        return found

    def check_exact(self, run, ranks, killed=False):
        """Each rank's account adds up, and what it says was produced is what independent counters saw; beside that the
        probe has made two records, GAP and STACK, wherever it found room again."""
        self.check_conservation(run, ranks, lossless=False)
        calls = calls_by_rank(self.counts)
        if not killed:
            self.assertEqual(sorted(calls), list(range(ranks)))
        records, leaves, accounts = self.records(run), self.resources(run), run.by_rank()
        for rank in range(ranks):
            account, kinds = accounts[rank], records[leaves[rank]]
            self.assertEqual(account["in_flight"], 0, f"rank {rank}")
            # Every record that came is in the archive, those that came too late for the model as well.
            self.assertEqual(sum(n for n, _ in kinds.values()), account["modelled"] + account["late_dropped"],
                             f"rank {rank}")
            gaps, told = kinds.get("gap", (0, 0))
            self.assertEqual(kinds.get("stack", (0, 0))[0], gaps)
            own = self.own_count(rank)
            if killed:  # two records for MPI_Init; the call that it died in may have none, one or two
                lost_marks = account["wire_lost"]
                self.assertEqual(lost_marks, 0)
                self.assertLessEqual(2 + 2 * own[1] + 2 * gaps, account["produced"], f"rank {rank}")
                self.assertLessEqual(account["produced"], 2 + 2 * own[0] + 2 * gaps, f"rank {rank}")
            else:
                self.assertEqual(account["produced"], expected_records(calls[rank]) + 2 * gaps, f"rank {rank}")
                # Less where a ring had no room again before the end.
                self.assertLessEqual(told, account["probe_dropped"], f"rank {rank}")
                if own is not None:
                    self.assertEqual(own, (calls[rank]["MPI_Iprobe"],) * 2)
        self.check_cells(run)
        self.check_alert_lines(run)

    def check_unknown(self, run):
        """Of each rank of which nothing came too late: each slice is Unknown for as long as its gaps last in it, to the
        nanosecond, and for longer only behind the last record, where what was dropped is told at the end."""
        gaps, unknown = collections.defaultdict(dict), collections.defaultdict(dict)
        told = collections.Counter()
        for row in csv.DictReader(dump("gaps", run.archive).splitlines()):
            told[int(row["leaf"])] += int(row["lost"])
            if int(row["unknown_ns"]) > 0:
                gaps[int(row["leaf"])][int(row["slice"])] = int(row["unknown_ns"])
        for row in csv.DictReader(dump("cells", run.archive).splitlines()):
            if row["state"] == "Unknown" and int(row["duration_ns"]) > 0:
                unknown[int(row["leaf"])][int(row["slice"])] = int(row["duration_ns"])
        leaves = self.resources(run)
        for rank, account in run.by_rank().items():
            leaf = leaves[rank]
            if account["late_dropped"] > 0:
                continue
            self.assertLessEqual(told[leaf], account["probe_dropped"], f"rank {rank}")
            if told[leaf] == account["probe_dropped"]:
                self.assertEqual(unknown[leaf], gaps[leaf], f"rank {rank}, leaf {leaf}")
                continue
            for number, duration in gaps[leaf].items():
                self.assertGreaterEqual(unknown[leaf].get(number, 0), duration, f"rank {rank}, slice {number}")
            more = {n: d - gaps[leaf].get(n, 0) for n, d in unknown[leaf].items() if d > gaps[leaf].get(n, 0)}
            self.assertTrue(more, f"rank {rank}: what was dropped last is in no cell")
            self.assertGreaterEqual(min(more), max(gaps[leaf], default=0), f"rank {rank}")

    def check_loss_is_said(self, run, ranks):
        """What the probe dropped shows in cells, in slices, in an alert and in the last line."""
        events = run.summary["events"]
        self.assertGreater(events["probe_dropped"], 0)
        slices = csv.DictReader(dump("slices", run.archive).splitlines())
        in_slices = sum(int(row["lost_events"]) for row in slices)
        # A gap that came too late for its slice is in the account alone.
        if events["late_dropped"] == 0:
            self.assertEqual(in_slices, events["probe_dropped"])
        else:
            self.assertGreater(in_slices, 0)
        self.check_unknown(run)
        alerts = [a for a in run.alerts if a["kind"] == "loss"]
        self.assertTrue(alerts, run.alerts)
        named = {int(name.rsplit("/rank", 1)[1]) for a in alerts for name in a["resources"]}
        self.assertTrue(named, alerts)
        self.assertLessEqual(named, set(range(ranks)))
        lost = sum(events[term] for term in ("late_dropped", "probe_dropped", "wire_lost", "rejected"))
        self.assertTrue(any(f"{lost:,} lost" in line for line in run.said), run.said)


    def stop_daemon(self, run, seconds):
        """Stopped for so long, which is what is under test; then it goes on, until it models what came meanwhile."""
        daemon = run.child("margayd")
        before = run.produced_so_far()
        end_process(daemon, signal.SIGSTOP)
        time.sleep(seconds)
        end_process(daemon, signal.SIGCONT)
        wait_for(lambda: run.produced_so_far() > before, "events are modelled again", poll=0.05)


class Limits(LimitsTest):
    def check_nothing_lost(self, run):
        """LAMMPS is told to end, and its four ranks are all there."""
        self.tell_to_end()
        self.assertEqual(run.wait(), 0, run.stderr)
        self.check_conservation(run, 4)
        self.check_exact(run, 4)

    def test_daemon_stopped_for_three_seconds(self):
        # LAMMPS, as fast as it goes: what comes in three seconds fits the agent's memory, so nothing is lost.
        run = self.run_lammps(5, env=self.counted)
        self.stop_daemon(run, 3)
        self.check_nothing_lost(run)

    def test_far_more_slices_between_two_commits_than_can_be_amended(self):
        config = self.written("seldom.toml", '[store]\ncommit = "1min"\n')
        run = self.run_lammps(400, flags=["--config", config], env=self.counted, slice_text="10ms")
        self.check_nothing_lost(run)

    def test_daemon_stopped_for_far_more_slices_than_can_be_amended(self):
        # When it goes on they close all at once, and leave before the next commit.
        run = self.run_lammps(5, env=self.counted, slice_text="10ms")
        self.stop_daemon(run, 4)
        self.check_nothing_lost(run)

    def test_daemon_stopped_for_three_seconds_at_the_highest_rate(self):
        # More than a small memory and small rings hold: the rings fill, the probes drop and count.
        config = self.written("small.toml", '[node]\nmemory = "4MiB"\n')
        run = self.run_margay(self.storm(2), flags=["--config", config],
                              env=self.counted | {"MARGAY_RING_RECORDS": "16384"})
        self.wait_until_ready(run, 2)
        self.touch(self.go)
        run.wait_for_slices(5)
        agent = run.child("margay-node")
        self.stop_daemon(run, 3)
        peak = memory_of(agent, "VmHWM") - memory_of(agent, "RssShmem")
        self.touch(self.stop)
        self.assertEqual(run.wait(), 0, run.stderr)
        events = run.summary["events"]
        print(f"  {events['produced']:,} events, {events['probe_dropped']:,} dropped and counted; agent {peak >> 20} MiB",
              flush=True)
        self.assertEqual((events["wire_lost"], events["rejected"]), (0, 0))
        self.check_exact(run, 2)
        self.check_loss_is_said(run, 2)
        self.assertLess(peak, (4 << 20) + AGENT_BESIDE)

    def test_ring_too_small(self):
        run = self.run_margay(self.storm(2, counted=False), env=self.counted | {"MARGAY_RING_RECORDS": "64"})
        self.wait_until_ready(run, 2)
        self.touch(self.go)
        run.wait_for_slices(10)
        self.touch(self.stop)
        self.assertEqual(run.wait(), 0, run.stderr)
        events = run.summary["events"]
        print(f"  {events['produced']:,} events, {events['probe_dropped']:,} dropped and counted", flush=True)
        for term in ("late_dropped", "wire_lost", "rejected"):
            self.assertEqual(events[term], 0, term)
        for rank, account in run.by_rank().items():
            self.assertGreater(account["probe_dropped"], 0, f"rank {rank}")
            self.assertGreater(account["modelled"], 0, f"rank {rank}")
        self.check_exact(run, 2)
        self.check_loss_is_said(run, 2)

    def test_rank_killed_amid_its_calls(self):
        run = self.run_margay(self.storm(2), env=self.counted)
        self.wait_until_ready(run, 2)
        pids = run.ranks("storm", 2)
        self.touch(self.go)
        run.wait_for_slices(5)
        end_process(pids[1], signal.SIGKILL)
        self.assertNotEqual(run.wait(), 0)
        self.check_exact(run, 2, killed=True)
        events = run.summary["events"]
        print(f"  {events['produced']:,} events, {events['probe_dropped']:,} dropped and counted", flush=True)
        self.assertEqual((events["wire_lost"], events["rejected"], events["late_dropped"]), (0, 0, 0))

    def test_144_ranks_at_once(self):
        ranks = 144
        self.need_shared_memory(ranks * RING_MEMORY)
        # With so many ranks Open MPI would give the processor away in each call, and the kernel would set the rate. And
        # where there are cores for so many there is one for Margay: with a few cores for all, niceness leaves it its part.
        run = self.run_margay(["nice", "-n", "19", *self.storm(ranks)],
                              env=self.counted | {"OMPI_MCA_mpi_yield_when_idle": "0"})
        begin = time.monotonic()
        self.wait_until_ready(run, ranks)
        started = time.monotonic() - begin
        daemon, agent = run.child("margayd"), run.child("margay-node")
        self.touch(self.go)
        wait_for(lambda: all((self.own_count(r) or (0,))[0] > 0 for r in range(ranks)), "all of them call")
        first = sum(self.own_count(r)[1] for r in range(ranks))
        at = time.monotonic()
        time.sleep(4)
        rate = (sum(self.own_count(r)[1] for r in range(ranks)) - first) * 2 / (time.monotonic() - at)
        peaks = {}
        for name, pid in (("daemon", daemon), ("agent", agent)):
            # The segments are the probes' memory, mapped here as well.
            peaks[name] = memory_of(pid, "VmHWM") - memory_of(pid, "RssShmem")
        live = wait_for(lambda: run.status().get("sources"), "margay status", timeout=60)
        self.touch(self.stop)
        self.assertEqual(run.wait(), 0, run.stderr[-2000:])
        events = run.summary["events"]
        print(f"  {ranks} ranks in {started:.0f} s; {rate / 1e6:.1f} M events/s at once; of {events['produced']:,} events "
              f"{events['modelled']:,} modelled, {events['probe_dropped']:,} dropped and counted, "
              f"{events['late_dropped']:,} too late; agent {peaks['agent'] >> 20} MiB, daemon {peaks['daemon'] >> 20} MiB; "
              f"{time.monotonic() - begin:.0f} s", flush=True)
        self.assertEqual((events["wire_lost"], events["rejected"]), (0, 0))
        self.assertEqual(len(live), ranks)
        self.check_exact(run, ranks)
        if events["probe_dropped"] > 0:
            self.check_loss_is_said(run, ranks)
        self.assertLess(peaks["agent"], AGENT_MEMORY + AGENT_BESIDE)
        self.assertLess(peaks["daemon"], DAEMON_MOST)


if __name__ == "__main__":
    unittest.main()
