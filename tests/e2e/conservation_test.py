"""Every event is accounted for, and the cells are those of the events: on real programs."""
import os
import re
import shutil
import subprocess
import unittest

from e2e import CALLCOUNT, CAPTURE_CHECK, E2eTest, LONG, MPIRUN, WORKLOADS


class Conservation(E2eTest):
    def counted(self, command, ranks, captured=True):
        """A run beside an independent counter of the program's calls, and, from the captured messages, its cells computed
        three times over."""
        counts = os.path.join(self.place, "counts")
        os.mkdir(counts)
        capture = os.path.join(self.place, "capture")
        run = self.run_margay(command, flags=["--capture", capture] if captured else [],
                              env={"LD_PRELOAD": CALLCOUNT, "CALLCOUNT_DIR": counts})
        self.assertEqual(run.wait(), 0, run.stderr)
        self.check_conservation(run, ranks)
        self.check_calls(run, counts, ranks)
        rows = self.check_cells(run)
        self.check_alert_lines(run)
        print(f"  {run.summary['events']['produced']} events in {rows} rows", flush=True)
        if captured:
            done = subprocess.run([CAPTURE_CHECK, capture, run.archive], capture_output=True, text=True, timeout=LONG,
                                  check=False)
            print("  " + done.stdout.strip(), flush=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            figures = dict(re.findall(r"(\w+) (\d+)", done.stdout))
            self.assertEqual(int(figures["records"]), run.summary["events"]["produced"])
            self.assertEqual(int(figures["leaves"]), ranks)
            self.assertGreater(int(figures["cells"]), 0)
            self.assertGreater(int(figures["summed"]), 0)
            self.assertEqual(int(figures["undecodable"]), 0)
            # And the comparison would notice one record that is off by a nanosecond.
            done = subprocess.run([CAPTURE_CHECK, "--spoil", capture, run.archive], capture_output=True, text=True,
                                  timeout=LONG, check=False)
            self.assertEqual(done.returncode, 1, done)
        return run

    def test_lammps(self):
        self.counted(self.lammps(200), 4)

    def test_hpcc(self):
        self.need_shared_memory(self.FULL_RINGS_OF_4)
        # Small, for the machine's sake; it still goes through all of HPCC's sections.
        with open(os.path.join(WORKLOADS, "hpccinf-short.txt"), encoding="utf-8") as file:
            text = re.sub(r"^2400( +Ns)", r"600\1", file.read(), flags=re.M)
        with open(os.path.join(self.place, "hpccinf.txt"), "w", encoding="utf-8") as file:
            file.write(text)
        self.counted([MPIRUN, "-np", "4", shutil.which("hpcc")], 4)
        with open(os.path.join(self.place, "hpccoutf.txt"), encoding="utf-8") as file:
            self.assertIn("End of HPC Challenge tests", file.read())

    def test_workload_with_regions(self):
        self.counted(self.workload("--plan", "A:0.5,B:0.5,C:0.5,D:0.5,E:0.3,F:0.3", "--pcontrol"), 4)

    def test_more_ranks_than_cores(self):
        self.counted(self.workload("--plan", "A:1,C:1", "--mode", "sparse", ranks=12), 12)


if __name__ == "__main__":
    unittest.main()
