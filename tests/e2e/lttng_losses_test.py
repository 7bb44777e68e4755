"""`margay run --lttng` when things are lost, or could be: LTTng's own counters and Margay's account agree to the event."""
import csv
import os
import re
import signal
import time
import unittest

from e2e import PROGRAMS, dump, end_process, read_text, wait_for
from lttng_test import LttngTest, installed

EVENTS = os.path.join(PROGRAMS, "events")


@unittest.skipUnless(installed(), "LTTng is not installed")
class LttngLosses(LttngTest):
    def locks(self, threads, rounds, **options):
        run = self.run_margay([EVENTS, "locks", str(threads), str(rounds)], flags=["--lttng=pthread"] +
                              options.pop("flags", []), **options)
        self.assertEqual(run.wait(), 0, run.stderr)
        return run

    def discarded_by_lttng(self, run):
        """What the session daemon says."""
        found = re.findall(r"LTTng discarded (\d+) events", read_text(os.path.join(run.archive, "log")))
        return int(found[0]) if found else 0

    def check_balance(self, run):
        """Recorded + discarded = modelled + counted elsewhere."""
        account, events = self.account(run), run.summary["events"]
        self.assertEqual(account["discarded"], self.discarded_by_lttng(run))
        self.assertEqual(events["produced"], sum(events[k] for k in ("modelled", "late_dropped", "probe_dropped",
                                                                    "wire_lost", "rejected")), events)
        self.assertEqual(events["in_flight"], 0)
        self.assertEqual(events["probe_dropped"], account["discarded"])
        return account

    def test_buffers_far_too_small(self):
        # What LTTng's helper adds in the program's threads is always the same. Its own threads, which the rules ignore, lock
        # one time more or less before the program begins, as they come to it.
        few = self.account(self.locks(2, 500))
        known = few["seen"] - few["ignored"] - 2 * 2 * 500
        config = self.written("small.toml", '[lttng]\nsub_buffer = "16KiB"\nsub_buffers = 2\n')
        run = self.locks(2, 100000, flags=["--config", config])
        account = self.check_balance(run)
        self.assertGreater(account["discarded"], 10000, "the buffers were to be too small")
        self.assertEqual(account["seen"] - account["ignored"] + account["discarded"], known + 2 * 2 * 100000)
        unknown = sum(int(row["duration_ns"]) for row in csv.DictReader(dump("cells", run.archive).splitlines())
                      if row["state"] == "Unknown")
        self.assertGreater(unknown, 0, "what was lost is not known")
        self.assertIn("loss", {a["kind"] for a in run.alerts}, run.alerts)

    def test_the_reader_is_stopped_for_five_seconds(self):
        run = self.run_margay([EVENTS, "on"], flags=["--lttng=pthread"])
        reader = wait_for(lambda: self.descendant(run, "margay-lttng-reader"), "the reader")
        program = wait_for(lambda: self.descendant(run, "events"), "the program")
        wait_for(lambda: run.produced_so_far() > 1000, "events")
        os.kill(reader, signal.SIGSTOP)
        try:
            until = time.monotonic() + 5
            wait_for(lambda: time.monotonic() > until, "five seconds", poll=0.1)
        finally:
            os.kill(reader, signal.SIGCONT)
        before = run.produced_so_far()
        wait_for(lambda: run.produced_so_far() > before + 2000, "what waited on the disk")
        end_process(program)
        self.assertNotEqual(run.wait(), 0)
        account = self.check_balance(run)
        self.assertEqual(account["discarded"], 0, "the relay daemon's disk has it")
        self.assertEqual(run.summary["events"]["late_dropped"], 0)

    def test_the_program_is_killed(self):
        run = self.run_margay([EVENTS, "on"], flags=["--lttng=pthread"])
        program = wait_for(lambda: self.descendant(run, "events"), "the program")
        wait_for(lambda: run.produced_so_far() > 1000, "events")
        wait_for(lambda: self.counter(run, "reader_used") > 1000, "the reader's account")
        counters = self.counters(run)
        self.assertGreaterEqual(counters["reader_events"], counters["reader_used"], counters)
        end_process(program)
        self.assertEqual(run.wait(), 128 + signal.SIGKILL)
        account = self.check_balance(run)
        self.assertEqual(account["discarded"], 0)
        self.assertGreater(account["used"], 1000)

    def test_two_hundred_short_lived_processes(self):
        run = self.run_margay(["/bin/sh", "-c", f"for i in $(seq 200); do {EVENTS} locks 2 10 >/dev/null; done"],
                              flags=["--lttng=pthread"])
        self.assertEqual(run.wait(), 0, run.stderr)
        account = self.check_balance(run)
        self.assertEqual(account["discarded"], 0)
        self.assertGreaterEqual(account["used"], 200 * 2 * 2 * 10)
        programs = {s["resource"].split("/")[2] for s in run.summary["sources"] if "/events:" in s["resource"]}
        self.assertEqual(len(programs), 200)

    def test_a_thousand_threads_at_once(self):
        run = self.run_margay([EVENTS, "many", "1000"], flags=["--lttng=pthread"])
        self.assertEqual(run.wait(), 0, run.stderr)
        self.assertIn("1000 threads", run.stdout)
        account = self.check_balance(run)
        self.assertEqual(account["discarded"], 0)
        self.assertGreaterEqual(account["used"], 1000 * 2 * 10)
        # One process: its threads, and nothing else, below one node.
        self.assertEqual(len(run.summary["sources"]), 1001)
        self.assertEqual(len({s["resource"].rsplit("/", 1)[0] for s in run.summary["sources"]}), 1)
        self.assertEqual(run.summary["events"]["late_dropped"], 0)


if __name__ == "__main__":
    unittest.main()
