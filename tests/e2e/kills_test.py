"""The daemon and the node agent are killed while they work."""
import csv
import os
import signal
import time
import unittest

from e2e import E2eTest, alive, dump, end_process, wait_for


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat", "rb") as file:
        fields = file.read().rpartition(b")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def sleeps(pid):
    """How often the process' first thread has gone to sleep by itself: the agent does after each look at the rings."""
    with open(f"/proc/{pid}/task/{pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("voluntary_ctxt_switches"))


class Kills(E2eTest):
    def kill_helper(self, run, name):
        """Kills a helper of `margay run`, and waits until another one is at work."""
        pid = run.child(name)
        self.assertIsNotNone(pid, run.stderr)
        before = run.produced_so_far()
        end_process(pid, signal.SIGKILL)
        wait_for(lambda: run.child(name) not in (None, pid), f"{name} is started again")

        def goes_on():
            self.assertTrue(run.running, "the job ended too early for this test")
            return run.produced_so_far() > before
        wait_for(goes_on, "events are modelled again", poll=0.05)
        return pid

    def test_daemon_killed_twice(self):
        run = self.run_lammps(5)
        self.kill_helper(run, "margayd")
        self.kill_helper(run, "margayd")
        self.tell_to_end()
        self.assertEqual(run.wait(), 0)
        self.assertIn("told to end", run.stdout)
        self.assertEqual(sum("the daemon ended unexpectedly (signal 9)" in line for line in run.said), 2, run.said)
        self.check_conservation(run, 4)
        for rank, account in run.by_rank().items():
            self.assertEqual(account["produced"], account["modelled"], f"rank {rank}")
        self.check_cells(run)
        verified, _ = self.check_archive(run)
        self.assertEqual(verified["raw_events"], run.summary["events"]["produced"])
        self.check_alert_lines(run)
        self.assertEqual({s["epoch"] for s in run.meta()["streams"]}, {run.meta()["streams"][0]["epoch"]})

    def test_node_agent_killed(self):
        run = self.run_lammps(5)
        ranks = run.ranks("lmp", 4)
        # With the daemon stopped, what the agent takes from the rings is confirmed by nobody and dies with it; but for what
        # is in the kernel's socket buffer (208 KiB, a KiB or more for each look), which the daemon may read when it goes on.
        daemon, agent = run.child("margayd"), run.child("margay-node")
        end_process(daemon, signal.SIGSTOP)
        try:
            before = {pid: cpu_seconds(pid) for pid in ranks.values()}
            looks = sleeps(agent)
            wait_for(lambda: all(cpu_seconds(pid) > before[pid] + 0.3 for pid in before), "the ranks go on")
            wait_for(lambda: sleeps(agent) > looks + 400, "the socket is full")
            end_process(agent, signal.SIGKILL)
            wait_for(lambda: run.child("margay-node") not in (None, agent), "another agent")
        finally:
            end_process(daemon, signal.SIGCONT)
        before = run.produced_so_far()
        wait_for(lambda: run.produced_so_far() > before, "events are modelled again", poll=0.05)
        self.tell_to_end()
        self.assertEqual(run.wait(), 0)
        self.assertIn("told to end", run.stdout)
        self.assertEqual(sum("the node agent ended unexpectedly (signal 9)" in line for line in run.said), 1, run.said)
        self.check_conservation(run, 4, lossless=False)
        events = run.summary["events"]
        for term in ("late_dropped", "probe_dropped", "rejected"):
            self.assertEqual(events[term], 0, term)
        print(f"  {events['wire_lost']} of {events['produced']} events lost with the agent", flush=True)
        for rank, account in run.by_rank().items():
            self.assertGreater(account["wire_lost"], 0, f"rank {rank}")
            self.assertLess(account["wire_lost"], account["produced"], f"rank {rank}")
        self.check_cells(run)
        self.check_archive(run)
        self.check_alert_lines(run)
        # The slices say what was lost in them.
        lost = sum(int(row["lost_events"]) for row in csv.DictReader(dump("slices", run.archive).splitlines()))
        self.assertEqual(lost, events["wire_lost"])
        unknown = [row for row in csv.DictReader(dump("cells", run.archive).splitlines()) if row["state"] == "Unknown"]
        self.assertEqual({row["leaf"] for row in unknown}, {"0", "1", "2", "3"})

    def test_killed_when_the_job_has_ended_already(self):
        # The job is over, the daemon dies before it has closed the books: its successor closes them.
        run = self.run_margay(self.workload("--plan", "A:1.5", ranks=2))
        run.wait_for_slices(3)
        ranks = run.ranks("margay-workload", 2)
        daemon = run.child("margayd")
        wait_for(lambda: "spread" in run.stdout, "the program is at its end")
        end_process(daemon, signal.SIGKILL)
        self.assertEqual(run.wait(), 0, ranks)
        self.check_conservation(run, 2)
        self.check_cells(run)

    def test_killed_while_it_closes_the_books(self):
        # When the agent has ended, everything is in the archive, and the daemon writes its last cut, answers and waits to
        # be ended. Whichever of these the kill meets, the run ends with the whole account. Several times, for it is a race.
        for i in range(4):
            run = self.run_margay(self.workload("--plan", "A:0.5", ranks=2), name=f"race{i}")
            run.wait_for_slices(3)
            agent, daemon = run.child("margay-node"), run.child("margayd")
            wait_for(lambda agent=agent: not alive(agent), "the agent's end", poll=0.0005)
            end_process(daemon, signal.SIGKILL)
            begin = time.monotonic()
            self.assertEqual(run.wait(), 0)
            self.assertLess(time.monotonic() - begin, 25, run.stderr)  # it would give up after 30 s
            self.check_conservation(run, 2)
            self.check_cells(run)
            self.assertEqual(run.meta()["exit_code"], 0)


if __name__ == "__main__":
    unittest.main()
