"""srun in a Slurm of the test's own: one controller, one node, one munge, all in the test's folder."""
import os
import pwd
import secrets
import shutil
import signal
import subprocess
import unittest

from e2e import E2eTest, Job, PROGRAMS, end_process, free_port, wait_for

CONFIGURATION = """
ClusterName=margay
SlurmctldHost=localhost(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={munge}
MpiDefault=pmix
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/builtin
ReturnToService=2
KillWait=2
SlurmctldPort={controller_port}
SlurmdPort={node_port}
StateSaveLocation={place}/state
SlurmdSpoolDir={place}/spool
SlurmctldPidFile={place}/slurmctld.pid
SlurmdPidFile={place}/slurmd.pid
NodeName=localhost NodeAddr=127.0.0.1 CPUs={cpus} State=UNKNOWN
PartitionName=all Nodes=localhost Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE
"""


def program(name):
    return shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin")


class Slurm(E2eTest):
    def setUp(self):
        super().setUp()
        self.missing = [p for p in ("srun", "sinfo", "slurmctld", "slurmd", "munged") if program(p) is None]
        if self.missing:
            self.skipTest(f"no {', '.join(self.missing)} here (Debian: slurm-wlm, munge)")
        try:
            user = pwd.getpwuid(os.geteuid()).pw_name
        except KeyError:
            self.skipTest(f"Slurm wants a user that has a name; {os.geteuid()} has none here")
        place = os.path.join(self.place, "s")
        os.makedirs(os.path.join(place, "state"))
        os.makedirs(os.path.join(place, "spool"))
        key, munge = os.path.join(place, "key"), os.path.join(place, "munge")
        with open(key, "wb") as file:
            file.write(secrets.token_bytes(128))
        os.chmod(key, 0o600)
        configuration = os.path.join(place, "slurm.conf")
        with open(configuration, "w", encoding="utf-8") as file:
            file.write(CONFIGURATION.format(user=user, munge=munge, controller_port=free_port(),
                                            node_port=free_port(), place=place, cpus=os.cpu_count()))
        with open(os.path.join(place, "cgroup.conf"), "w", encoding="utf-8") as file:
            file.write("CgroupPlugin=cgroup/v1\nCgroupAutomount=no\n")
        self.environment["SLURM_CONF"] = configuration
        self.daemons = []
        self.addCleanup(self.stop_slurm)  # before the place is cleaned up
        self.daemon("munged", "--foreground", "--force", f"--socket={munge}", f"--key-file={key}",
                    f"--pid-file={place}/munge.pid", f"--log-file={place}/munge.log", f"--seed-file={place}/munge.seed")
        wait_for(lambda: os.path.exists(munge), "munge's socket", timeout=10)
        self.daemon("slurmctld", "-D", "-f", configuration)
        self.daemon("slurmd", "-D", "-f", configuration, "-N", "localhost")
        try:
            wait_for(self.node_is_idle, "Slurm's node", timeout=30, poll=0.2)
        except AssertionError:
            said = "\n".join(f"{d.process.args[0]}: {d.stderr[-500:]}" for d in self.daemons)
            self.skipTest(f"no Slurm of our own can be set up here:\n{said}")

    def daemon(self, name, *options):
        self.daemons.append(Job(self, [program(name), *options]))

    def node_is_idle(self):
        done = subprocess.run(["sinfo", "-h", "-o", "%t"], env=self.environment, capture_output=True, text=True,
                              timeout=30, check=False)
        return done.stdout.strip() == "idle"

    def stop_slurm(self):
        for daemon in reversed(self.daemons):
            if daemon.running:
                end_process(daemon.pid, signal.SIGTERM)
                daemon.wait(30)

    def test_srun(self):
        ends = os.path.join(PROGRAMS, "ends")
        run = self.run_margay(["srun", "-n", "2", "--overcommit", "--mpi=pmix", ends, "exit", "3"])
        self.assertEqual(run.wait(), 3)
        self.assertIn("line 99: ", run.stdout)
        self.check_conservation(run, 2)
        self.check_cells(run)
        self.assertTrue(all("slurm_job" in leaf for leaf in run.meta()["leaves"]), run.meta()["leaves"])


if __name__ == "__main__":
    unittest.main()
