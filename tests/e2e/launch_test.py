"""The ways in which people start MPI programs."""
import os
import subprocess
import unittest

from e2e import CALLCOUNT, E2eTest, HERE, MPIRUN, PROGRAMS, read_text, wait_for

PYTHON = os.environ.get("SYSTEM_PYTHON", "/usr/bin/python3")


class Launch(E2eTest):
    def test_through_a_shell(self):
        ends = os.path.join(PROGRAMS, "ends")
        run = self.run_margay(["sh", "-c", f"cd / && {MPIRUN} -np 2 {ends} exit 0 | grep -c '^line'"])
        self.assertEqual(run.wait(), 0)
        self.assertEqual(run.stdout, "100\n")
        self.check_conservation(run, 2)
        self.check_cells(run)

    def test_no_mpi_program(self):
        run = self.run_margay(["sh", "-c", "echo hi; echo there >&2; exit 4"])
        self.assertEqual(run.wait(), 4)
        self.assertEqual(run.stdout, "hi\n")
        self.assertEqual(run.own_stderr, "there\n")
        self.assertTrue(any("no MPI program was seen" in line for line in run.said), run.said)
        self.assertEqual(run.summary["exit_code"], 4)
        self.assertEqual(run.summary["sources"], [])

    def test_quiet(self):
        run = self.run_margay(self.program("ends", "exit", "0"), flags=["--quiet"])
        self.assertEqual(run.wait(), 0)
        self.assertEqual(run.said, [])
        self.check_conservation(run, 2)

    def test_input_is_passed_on(self):
        path = self.written("input", "one\ntwo\n")
        run = self.run_margay(["sh", "-c", f"exec < {path}; {MPIRUN} -np 1 cat"])
        self.assertEqual(run.wait(), 0)
        self.assertEqual(run.stdout, "one\ntwo\n")

    @unittest.skipUnless(os.access("/proc/self/autogroup", os.W_OK), "this kernel does not group processes by session")
    def test_margay_is_due_less_of_the_cores_than_the_job(self):
        end = os.path.join(self.place, "end")
        os.mkfifo(end)
        run = self.run_margay(["cat", end])
        for name in ("margayd", "margay-node"):
            pid = wait_for(lambda n=name: run.child(n), f"{name} runs")
            wait_for(lambda p=pid: read_text(f"/proc/{p}/autogroup").endswith(" nice 5\n"), f"{name} is due less")
        self.assertTrue(read_text(f"/proc/{run.pid}/autogroup").endswith(" nice 0\n"))
        with open(end, "wb"):
            pass
        self.assertEqual(run.wait(), 0)

    def test_two_programs_one_after_the_other(self):
        ends = os.path.join(PROGRAMS, "ends")
        counts = os.path.join(self.place, "counts")
        os.mkdir(counts)
        run = self.run_margay(["sh", "-c", f"{MPIRUN} -np 2 {ends} exit 0 && {MPIRUN} -np 2 {ends} exit 3"],
                              env={"LD_PRELOAD": CALLCOUNT, "CALLCOUNT_DIR": counts})
        self.assertEqual(run.wait(), 3)
        self.check_conservation(run, 2)  # each rank has come twice, and is one resource
        self.check_calls(run, counts, 2)
        self.assertEqual(len(os.listdir(counts)), 4)
        self.check_cells(run)

    def mpi4py(self, mpirun, callcount, **environment):
        counts = os.path.join(self.place, "counts")
        os.mkdir(counts)
        run = self.run_margay([mpirun, "-np", "2", PYTHON, os.path.join(HERE, "programs", "hello_mpi.py")],
                              env={"LD_PRELOAD": callcount, "CALLCOUNT_DIR": counts, "PYTHONDONTWRITEBYTECODE": "1",
                                   **environment})
        self.assertEqual(run.wait(), 0)
        self.assertEqual(run.stdout, "total 399\n")
        self.check_conservation(run, 2)
        # When mpi4py ends, an attribute's callback frees a communicator: inside MPI_Comm_delete_attr, which the probe does
        # not record, so that the MPI_Comm_free is an outermost call to it, and not to the counter.
        self.check_calls(run, counts, 2, hidden=1)

    def test_mpi4py(self):
        if subprocess.run([PYTHON, "-c", "import mpi4py"], capture_output=True, check=False).returncode != 0:
            self.skipTest(f"{PYTHON} has no mpi4py (Debian: python3-mpi4py)")
        self.mpi4py(MPIRUN, CALLCOUNT)

    @unittest.skipUnless("MPI4PY_MPICH" in os.environ, "Debian's mpi4py is Open MPI's. MPI4PY_MPICH: the folder of "
                         "one for MPICH (MPICC=mpicc.mpich python3 setup.py build)")
    def test_mpi4py_of_mpich(self):
        self.mpi4py(os.environ["MPIRUN_MPICH"], os.environ["CALLCOUNT_MPICH"], PYTHONPATH=os.environ["MPI4PY_MPICH"])


if __name__ == "__main__":
    unittest.main()
