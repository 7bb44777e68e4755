"""The daemon and the node agent are killed while they work."""
import signal
import unittest

from e2e import E2eTest, end_process, wait_for


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
        run = self.run_margay(self.lammps(900))
        run.ranks("lmp", 4)
        run.wait_for_slices(5)
        self.kill_helper(run, "margayd")
        self.kill_helper(run, "margayd")
        self.assertEqual(run.wait(), 0)
        self.assertIn("Total wall time", run.stdout)
        self.assertEqual(sum("the daemon ended unexpectedly (signal 9)" in line for line in run.said), 2, run.said)
        self.check_conservation(run, 4)
        for rank, account in run.by_rank().items():
            self.assertEqual(account["produced"], account["modelled"], f"rank {rank}")
        self.check_cells(run)
        self.check_alert_lines(run)
        for stream in run.meta()["streams"]:
            self.assertEqual((stream["epoch"], stream["wire_lost"]), (run.meta()["streams"][0]["epoch"], 0))

    def test_node_agent_killed(self):
        run = self.run_margay(self.lammps(500))
        run.ranks("lmp", 4)
        run.wait_for_slices(5)
        self.kill_helper(run, "margay-node")
        self.assertEqual(run.wait(), 0)
        self.assertIn("Total wall time", run.stdout)
        self.assertEqual(sum("the node agent ended unexpectedly (signal 9)" in line for line in run.said), 1, run.said)
        self.check_conservation(run, 4, lossless=False)
        events = run.summary["events"]
        for term in ("late_dropped", "probe_dropped", "rejected"):
            self.assertEqual(events[term], 0, term)
        # What it had taken from the rings and not delivered is gone, and counted: at most what one period holds.
        print(f"  {events['wire_lost']} of {events['produced']} events lost with the agent", flush=True)
        self.assertLess(events["wire_lost"], events["produced"] // 4)
        self.check_cells(run)
        self.check_alert_lines(run)

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


if __name__ == "__main__":
    unittest.main()
