"""`margay run --lttng`: programs traced by LTTng, live, with its real daemons."""
import collections
import csv
import os
import shutil
import socket
import subprocess
import unittest

from e2e import LONG, MARGAY, PROGRAMS, E2eTest, dump, end_process, executable_of, plant, read_text, wait_for

MUTEXES = os.path.join(PROGRAMS, "mutexes")


def installed():
    built = os.path.join(os.path.dirname(os.path.dirname(MARGAY)), "libexec", "margay", "margay-lttng")
    return os.path.exists(built) and shutil.which("lttng-sessiond") and shutil.which("lttng-relayd")


def states_of(run):
    """{thread: {state: visits}}"""
    visits = collections.defaultdict(collections.Counter)
    for row in csv.DictReader(dump("cells", run.archive).splitlines()):
        if row["state"] not in ("Absent", "Unknown", "Compute"):
            visits[int(row["leaf"])][row["state"]] += int(row["visits"])
    return visits


class LttngTest(E2eTest):
    def account(self, run):
        """What the reader says of the events that it saw."""
        lines = [line for line in read_text(os.path.join(run.archive, "log")).splitlines() if " events seen: " in line]
        self.assertEqual(len(lines), 1, read_text(os.path.join(run.archive, "log")))
        words = lines[0].split("LTTng: ", 1)[1].replace(",", "").replace(":", "").replace(";", "").split()
        numbers = [int(word) for word in words if word.isdigit()]
        names = ("seen", "used", "ignored", "unmatched", "unbalanced", "too_deep", "left_out", "discarded")
        account = dict(zip(names, numbers))
        self.assertEqual(account["seen"], sum(account[n] for n in names[1:7]), lines[0])
        return account

    def counters(self, run):
        """Of one answer to `margay status`, while it runs: counters that are compared have to be of the same moment."""
        found = run.status().get("counters", {})
        return found if isinstance(found, dict) else {c["name"]: c["value"] for c in found}

    def counter(self, run, name):
        return self.counters(run).get(name, 0)

    def descendant(self, run, name):
        for pid in plant.descendants(run.pid):
            if executable_of(pid) == name:
                return pid
        return None


@unittest.skipUnless(installed(), "LTTng is not installed")
class Lttng(LttngTest):
    def test_the_relay_daemon_dies_and_the_session_is_made_again(self):
        run = self.run_margay([MUTEXES, "2", "14"], flags=["--lttng=pthread"])
        relayd = wait_for(lambda: self.descendant(run, "lttng-relayd"), "the relay daemon")
        wait_for(lambda: run.produced_so_far() > 500, "events")
        before = run.produced_so_far()
        end_process(relayd)
        log = os.path.join(run.control_directory(), "log")
        wait_for(lambda: "the session made anew" in read_text(log), "that it is said", 10)
        wait_for(lambda: "goes on as" in read_text(log), "another session")
        wait_for(lambda: run.produced_so_far() > before + 2000, "events of it")
        self.assertEqual(run.wait(), 0, run.stderr)
        self.assertEqual(len(run.stdout.split()), 2)
        unknown = sum(int(row["duration_ns"]) for row in csv.DictReader(dump("cells", run.archive).splitlines())
                      if row["state"] == "Unknown")
        self.assertGreater(unknown, 0, "what was lost is not known")

    def test_nobody_else_reaches_the_relay_daemon(self):
        run = self.run_margay([MUTEXES, "2", "4"], flags=["--lttng=pthread"])
        relayd = wait_for(lambda: self.descendant(run, "lttng-relayd"), "the relay daemon")
        wait_for(lambda: run.produced_so_far() > 500, "events")
        with open(f"/proc/{relayd}/cmdline", encoding="utf-8") as file:
            arguments = dict(word.split("=", 1) for word in file.read().split("\0") if word.startswith("--") and "=" in word)
        ports = [int(arguments[f"--{name}-port"].rsplit(":", 1)[1]) for name in ("control", "data", "live")]

        def network(pid):
            return os.readlink(f"/proc/{pid}/ns/net")
        reader = self.descendant(run, "margay-lttng-reader")
        self.assertEqual(network(relayd), network(reader))
        if "hidepid" in run.stderr:  # then it is said that they are open to all, and where
            self.assertIn("listens on 127.0.0.1, where every user of this machine can read the trace", run.stderr)
            self.skipTest("no network namespace of its own where /proc hides others")
        self.assertNotEqual(network(relayd), network("self"))
        for port in ports:
            with socket.socket() as stranger:
                stranger.settimeout(LONG)
                self.assertNotEqual(stranger.connect_ex(("127.0.0.1", port)), 0, f"port {port} is open to all")
        # On the disk, where it counts, and not in memory.
        traces = os.path.join(run.archive, "lttng")
        self.assertEqual(arguments["--output"], traces)
        wait_for(lambda: sum(os.path.getsize(os.path.join(folder, name)) for folder, _, names in os.walk(traces)
                             for name in names) > 0, "what the relay daemon keeps")
        self.assertEqual(run.wait(), 0, run.stderr)
        self.assertNotIn("127.0.0.1", run.stderr)
        self.assertFalse(os.path.exists(traces))
        self.assertEqual(self.account(run)["discarded"], 0)

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("setpriv"), "takes root, to give up a capability")
    def test_without_a_network_of_its_own_that_is_said(self):
        wrapper = self.written("margay",
                               f'#!/bin/sh\nexec setpriv --bounding-set=-sys_admin --inh-caps=-sys_admin {MARGAY} "$@"\n')
        os.chmod(wrapper, 0o755)
        self.margay_program = wrapper
        run = self.run_margay([MUTEXES, "1", "1"], flags=["--lttng=pthread"])
        self.assertEqual(run.wait(), 0, run.stderr)
        self.assertIn("LTTng's relay daemon listens on 127.0.0.1, where every user of this machine can read the trace", run.stderr)
        self.assertIn("no network namespace can be made: Operation not permitted", run.stderr)
        self.assertGreater(self.account(run)["used"], 0)

    def test_the_reader_dies_and_is_started_again(self):
        run = self.run_margay([MUTEXES, "2", "10"], flags=["--lttng=pthread"])
        reader = wait_for(lambda: self.descendant(run, "margay-lttng-reader"), "the reader")
        wait_for(lambda: run.produced_so_far() > 500, "events")
        before = run.produced_so_far()
        end_process(reader)
        wait_for(lambda: run.produced_so_far() > before + 2000, "events of the next one")
        self.assertEqual(run.wait(), 0, run.stderr)
        self.assertIn("the reader of the LTTng trace ended unexpectedly", read_text(os.path.join(run.archive, "log")))
        # The next one is the same source: the same resources, and what was not delivered is counted.
        threads = sorted(s["resource"].rsplit("/", 1)[1] for s in run.summary["sources"])
        self.assertEqual(threads, ["mutexes", "worker0", "worker1"])
        events = run.summary["events"]
        self.assertEqual(events["produced"], sum(events[k] for k in ("modelled", "late_dropped", "probe_dropped", "wire_lost",
                                                                    "rejected")), events)
        self.assertEqual(events["in_flight"], 0)
        unknown = sum(int(row["duration_ns"]) for row in csv.DictReader(dump("cells", run.archive).splitlines())
                      if row["state"] == "Unknown")
        self.assertGreater(unknown, 0, "what they did while nobody read is not known")

    def test_rules_of_ones_own(self):
        rules = self.written("mine.toml",
                             '[[state]]\nname = "lock"\nenter = "lttng_ust_pthread:pthread_mutex_lock_req"\n'
                             'leave = "lttng_ust_pthread:pthread_mutex_lock_acq"\n')
        run = self.run_margay([MUTEXES, "2", "2"], flags=["--lttng=pthread", "--lttng-rules", rules])
        self.assertEqual(run.wait(), 0, run.stderr)
        self.assertIn("lock", {state for visits in states_of(run).values() for state in visits})

    def test_a_wrong_rule_is_told_and_the_job_runs(self):
        rules = self.written("mine.toml", '[[stat]]\nname = "lock"\n')
        run = self.run_margay([MUTEXES, "1", "0.1"], flags=["--lttng=pthread", "--lttng-rules", rules])
        self.assertEqual(run.wait(), 0, run.stderr)
        self.assertIn("mine.toml", run.stderr)
        self.assertIn("the job runs without", run.stderr)

    def test_an_unknown_helper_is_told_and_the_job_runs(self):
        run = self.run_margay([MUTEXES, "1", "0.1"], flags=["--lttng=mutexes"])
        self.assertEqual(run.wait(), 0, run.stderr)
        self.assertIn("mutexes", run.stderr)
        self.assertEqual(len(run.stdout.split()), 1)

    def test_a_program_that_is_not_traced_is_not_disturbed(self):
        alone = subprocess.run([MUTEXES, "1", "0.2"], capture_output=True, text=True, timeout=LONG, check=True)
        self.assertEqual(len(alone.stdout.split()), 1)


if __name__ == "__main__":
    unittest.main()
