"""The power goes while a job is watched: everything that was acknowledged is in the archive, or counted to the event.

The daemon's disk is a strict one (libmargay-power.so, tests/support/power): of what it holds only that is left which an
fsync confirmed. The agent is that of another machine: it goes on, and has let go of what was acknowledged, so that the
new daemon's account shows each record that was promised and is not there as wire_lost.

POWER_SEED repeats a run.
"""
import json
import os
import random
import signal
import subprocess
import unittest

from e2e import E2eTest, LONG, MARGAY, nightly, wait_for

POWER = os.environ["POWER"]
SEED = int(os.environ.get("POWER_SEED", random.SystemRandom().randrange(1 << 32)))


@nightly("ArchivePower and Simulation.LossesOfPowerAndADiskThatFails cut the power at chosen calls; here time chooses")
class Power(E2eTest):
    def setUp(self):
        super().setUp()
        self.files_may_remain = True  # a daemon by hand leaves its directory to the next one
        self.disk = os.path.join(self.place, "disk")
        os.mkdir(self.disk)

    def daemon(self, config, env=None):
        path = self.written("margay.toml", config)
        return self.start([os.path.join(os.path.dirname(MARGAY), "margayd"), "--run", "p", "--config", path, "--archive",
                           os.path.join(self.disk, "kept", "a")], env=env)

    def status(self):
        done = subprocess.run([MARGAY, "status", "--json", "p"], env=self.environment, capture_output=True, text=True,
                              timeout=LONG, check=False)
        return json.loads(done.stdout) if done.returncode == 0 else {}

    def cut_and_go_on(self, store, seconds, calls):
        """The power is cut at one of these writes or syncs, the daemon started anew; returns its account and counters."""
        print(f"  seed {SEED}", flush=True)
        dice = random.Random(SEED)
        config = f"[slice]\nwindow = 32\n[store]\ncommit = \"10ms\"\n{store}"
        book = os.path.join(self.place, "book")
        first = self.daemon(config, {"LD_PRELOAD": POWER, "MARGAY_POWER_ROOT": self.disk, "MARGAY_POWER_LOG": book,
                                     "MARGAY_POWER_CUT": str(dice.choice(calls))})
        directory = os.path.join(self.runtime, f"margay-{os.geteuid()}", "p")
        wait_for(self.status, "the daemon answers", poll=0.05)
        load = self.start([os.environ["LOAD_GENERATOR"], "--run-dir", directory, "--run", "p", "--rate", "200000",
                           "--sources", "4", "--seconds", str(seconds)])
        self.assertEqual(first.wait(), 128 + signal.SIGKILL, first.stderr)
        self.assertTrue(load.running, "the power went too late")
        after = os.path.join(self.place, "after")
        done = subprocess.run([os.environ["POWER_IMAGE"], book, self.disk, after, str(SEED)], capture_output=True, text=True,
                              check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        os.rename(self.disk, os.path.join(self.place, "before"))
        os.rename(after, self.disk)
        second = self.daemon(config)
        wait_for(self.status, "the daemon answers", poll=0.05)
        self.assertEqual(load.wait(), 0, load.stdout)
        said = json.loads(load.stdout.splitlines()[-1])

        def settled():
            sources = self.status().get("sources", [])
            done = sum(a["produced"] for a in sources) == said["produced"] and not any(a["in_flight"] for a in sources)
            return sources if done else []
        sources = wait_for(settled, "the account settles", poll=0.1)
        counters = {c["name"]: c["value"] for c in self.status()["counters"]}
        self.assertEqual(counters["restarts"], 1, "nothing was left of the first daemon")
        second.process.send_signal(signal.SIGTERM)
        self.assertEqual(second.wait(), 0, second.stderr)
        account = {t: sum(a[t] for a in sources)
                   for t in ("produced", "modelled", "late_dropped", "probe_dropped", "wire_lost", "rejected")}
        print(f"  {account}", flush=True)
        return account, counters

    def test_nothing_acknowledged_is_lost(self):
        account, counters = self.cut_and_go_on("memory = \"8MiB\"\n", 10, range(120, 350))
        self.assertEqual(counters["acknowledged_unsynced"], 0)
        self.assertEqual(account["wire_lost"], 0, "acknowledged, and not in the archive")
        self.assertEqual(account["modelled"], account["produced"])

    def test_without_sync_what_is_missing_is_counted(self):
        # So long because a hole is waited for, 10 s: what is missing might still come. What came meanwhile is late then.
        account, counters = self.cut_and_go_on("sync = false\n", 16, range(150, 300))
        self.assertEqual(counters["acknowledged_unsynced"], 1)
        self.assertGreater(account["wire_lost"], 0)
        self.assertEqual(account["modelled"] + account["wire_lost"] + account["late_dropped"], account["produced"])


if __name__ == "__main__":
    unittest.main()
