"""A standing margayd is attacked while it watches a job: its memory and descriptors stay flat, the job's account exact.

The attacks go to every endpoint in ENDPOINTS; one that listens on tcp is attacked by the same code: add it there.
FLOOD_SECONDS (default 1) is how long each attack lasts; 60 is the minute of random bytes that is promised.
"""
import contextlib
import json
import os
import signal
import socket
import subprocess
import time
import unittest

from e2e import E2eTest, LONG, MARGAY, PROBE, alive, end_process, executable_of, free_port, plant, read_text, wait_for

NODE = os.path.join(os.path.dirname(os.path.dirname(MARGAY)), "libexec", "margay", "margay-node")
ATTACKER = os.environ["ATTACKER"]
SECONDS = float(os.environ.get("FLOOD_SECONDS", "1"))

# What a round of attacks may leave behind for good, after one round that warmed everything up (the allocator, the tables
# of sources, which are bounded by limits.sources): a leak of 1 KiB a connection or of one descriptor in a thousand is
# more. The window and the archive's buffers are small, so
# that what the job itself needs is there by then.
CONFIG = "[slice]\nwindow = 32\n[store]\nmemory = \"8MiB\"\nraw_events = false\n"
MEMORY_SLACK = 16 << 20
DESCRIPTOR_SLACK = 8


class Daemon:
    """A margayd started by hand, and jobs that report to it."""

    def __init__(self, test, name="flood", config=CONFIG):
        self.test, self.name, self.shell = test, name, None
        self.archive = os.path.join(test.place, name + ".archive")
        command = [os.path.join(os.path.dirname(MARGAY), "margayd"), "--run", name, "--archive", self.archive]
        if config:
            path = os.path.join(test.place, name + ".toml")
            with open(path, "w", encoding="utf-8") as file:
                file.write(config)
            command += ["--config", path]
        self.job = test.start(command)
        self.pid = self.job.pid
        self.directory = os.path.join(test.runtime, f"margay-{os.geteuid()}", name)
        wait_for(self.status, "the daemon answers", poll=0.05)

    def status(self):
        done = subprocess.run([MARGAY, "status", "--json", self.name], env=self.test.environment, capture_output=True,
                              text=True, timeout=LONG, check=False)
        return json.loads(done.stdout) if done.returncode == 0 else {}

    def counter(self, name):
        return self.counters().get(name, 0)

    def counters(self):
        found = self.status().get("counters", {})
        return found if isinstance(found, dict) else {c["name"]: c["value"] for c in found}

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def memory(self):
        with open(f"/proc/{self.pid}/status", encoding="utf-8") as file:
            return next(int(line.split()[1]) << 10 for line in file if line.startswith("VmRSS"))

    def watch(self, command):
        """Starts a job from the shell that has asked for a node agent, as a user would."""
        if self.shell is None:
            path = os.path.join(self.test.place, f"env{len(self.test.jobs)}")
            self.shell = self.test.start(["sh", "-c", f'eval "$({MARGAY} env {self.name})"; '
                                          f'env > {path}.new && mv {path}.new {path}; unset LD_PRELOAD; exec sleep 3600'])
            wait_for(lambda: os.path.exists(path), "the shell's environment")
            wanted = ("MARGAY_RUN_DIR=", "LD_PRELOAD=")
            lines = [line for line in read_text(path).splitlines() if line.startswith(wanted)]
            self.environment = dict(line.split("=", 1) for line in lines)
            self.test.assertEqual(len(self.environment), len(wanted), lines)
        return self.test.start(command, env=self.environment)

    def endpoint(self, name):
        return f"ipc://{self.directory}/{name}.ipc"

    def accounts(self):
        """The accounts of real ranks, told from ghosts by what they produced."""
        return [s for s in self.status().get("sources", []) if s["produced"] > 0]

    def end_shell(self):
        """And with it the node agent: the next job gets another one."""
        end_process(self.shell.pid, signal.SIGTERM)
        self.shell.wait()
        wait_for(lambda: not any(executable_of(pid) == "margay-node" for pid in self.test.leftovers()), "the agent ends")
        self.shell = None

    def end(self):
        if self.shell:
            self.end_shell()
        end_process(self.pid, signal.SIGTERM)
        return self.job.wait()


class NetworkDaemon(Daemon):
    """The same, on the network: its jobs' agents come by tcp, with a key."""

    def __init__(self, test):
        self.keys, self.key = os.path.join(test.place, "keys"), os.path.join(test.place, "node.key")
        for arguments in (("init", self.keys), ("add", self.keys, "node", "--role", "source", "--out", self.key)):
            done = subprocess.run([MARGAY, "keys", *arguments], env=test.environment, capture_output=True, text=True,
                                  timeout=LONG, check=False)
            test.assertEqual(done.returncode, 0, done.stderr)
        ports = {name: free_port() for name in ("ingest", "reports", "control")}
        self.addresses = {name: f"tcp://127.0.0.1:{port}" for name, port in ports.items()}
        super().__init__(test, "net", CONFIG + f'[listen]\nkeys = "{self.keys}"\n' +
                         "".join(f'{name} = "{address}"\n' for name, address in self.addresses.items()))

    def endpoint(self, name):
        return self.addresses[name]

    def server_key(self):
        # Any client knows it: the line "server KEY" of its file.
        return next(line.split()[1] for line in read_text(self.key).splitlines() if line.startswith("server "))

    def watch(self, command):
        if self.shell is None:
            self.shell = self.test.start([NODE, "--run-dir", self.directory, "--run", self.name, "--collector",
                                          self.endpoint("ingest"), "--key", self.key, "--owner-pid", str(self.pid)])
        return self.test.start(command, env={"MARGAY_RUN_DIR": self.directory, "LD_PRELOAD": PROBE})


class Flood(E2eTest):
    def setUp(self):
        super().setUp()
        self.files_may_remain = True  # a daemon by hand leaves its directory to the next one

    def attack(self, mode, target, *options):
        done = subprocess.run([ATTACKER, mode, target, *map(str, options)], env=self.environment, capture_output=True,
                              text=True, timeout=LONG + SECONDS, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        result = json.loads(done.stdout.splitlines()[-1])
        print(f"  {mode} {os.path.basename(target)}: {result['seen']} in {result['seconds']:.1f} s, seed {result['seed']}",
              flush=True)
        self.assertGreater(result["seen"].get("tried", 0), 0)
        return result["seen"]

    def check_flat(self, daemon, before, what):
        descriptors, memory = before
        self.assertTrue(alive(daemon.pid), what)
        peak = 0

        def flat():
            nonlocal peak
            now = daemon.memory()
            peak = max(peak, now)
            return daemon.descriptors() <= descriptors + DESCRIPTOR_SLACK and now < memory + MEMORY_SLACK
        try:
            wait_for(flat, f"{what}: descriptors and memory", timeout=20, poll=0.1)
        finally:
            print(f"  {what}: descriptors {descriptors} -> {daemon.descriptors()}, "
                  f"memory {memory >> 20} -> {daemon.memory() >> 20} MiB (peak {peak >> 20})", flush=True)
        self.assertTrue(daemon.status(), f"{what}: `margay status` does not answer")

    def served(self, daemon):
        """A job that starts now is taken in whole. It has more ranks than the one that runs, whose resources it shares:
        ranks 2 and 3 are its own. Every record of theirs is in the account, none is lost."""
        def own():
            return {s["resource"]: s for s in daemon.accounts() if s["resource"].endswith(("/rank2", "/rank3"))}
        before = {resource: s["produced"] for resource, s in own().items()}
        job = daemon.watch(self.program("ends", "exit", "0", ranks=4))
        self.assertEqual(job.wait(), 0, job.stderr)

        def settled():
            mine = [s for r, s in own().items() if s["produced"] > before.get(r, 0) and s["in_flight"] == 0]
            return len(mine) == 2 and mine
        for s in wait_for(settled, "a job that began now is in the account", timeout=30, poll=0.1):
            self.check_whole(s)

    def check_whole(self, account):
        lost = {t: account[t] for t in ("late_dropped", "probe_dropped", "wire_lost", "rejected") if account[t]}
        self.assertEqual(lost, {}, account)
        self.assertEqual(account["produced"], account["modelled"], account)

    def measured(self, daemon):
        wait_for(lambda: len({(time.sleep(0.05), daemon.descriptors())[1] for _ in range(5)}) == 1, "descriptors settle")
        return daemon.descriptors(), daemon.memory()

    def started(self, kind=Daemon):
        """A daemon with a job that goes on."""
        daemon = kind(self)
        job = daemon.watch(self.lammps_until_told(2))
        plant.wait_for_ranks(job.pid, "lmp", 2, LONG)
        self.served(daemon)
        return daemon, job

    @staticmethod
    def let_in(target):
        host, port = target.removeprefix("tcp://").rsplit(":", 1)
        try:
            with socket.create_connection((host, int(port)), timeout=0.2) as s:
                return s.recv(1) != b""
        except TimeoutError:
            return True
        except OSError:
            return False

    def attack_all(self, target, seconds):
        for mode, options in (("open-flood", ("--connections", 200)), ("half-open", ("--connections", 200)),
                              ("garbage", ("--connections", 8)), ("big-frames", ("--connections", 8)),
                              ("slow-reader", ("--connections", 8)), ("scan", ("--count", 2000))):
            if mode != "scan":
                options += ("--seconds", seconds if mode == "garbage" else min(seconds, 2))
            elif target.startswith("tcp://"):
                # A gate whose rate is used up by the attack before resets whoever comes.
                wait_for(lambda: self.let_in(target), "the gate lets somebody in again", poll=0.05)
            seen = self.attack(mode, target, *options)
            if mode != "slow-reader":
                self.assertGreater(seen.get("connected", 0), 0, f"{mode}: nobody was attacked")

    def test_connections_and_bytes(self):
        daemon, job = self.started()
        targets = [daemon.endpoint(name) for name in ("ingest", "reports", "control")]
        for target in targets:
            self.attack_all(target, 1)
        before = self.measured(daemon)
        for target in targets:
            self.attack_all(target, SECONDS)
            self.check_flat(daemon, before, f"after attacks on {os.path.basename(target)}")
        self.served(daemon)
        self.check_end(daemon, job)

    def test_hello_and_vanish(self):
        daemon, job = self.started()
        storm = ("hello-and-vanish", daemon.endpoint("ingest"), "--count", 10_000, "--run", daemon.name)
        self.attack(*storm)
        before = self.measured(daemon)
        self.assertEqual(self.attack(*storm)["said hello"], 10_000)
        self.check_flat(daemon, before, "after 10,000 sources that vanished")
        counters = {k: v for k, v in daemon.counters().items() if v}
        print("  counters: " + json.dumps(counters), flush=True)
        self.assertGreaterEqual(counters["messages"], 15_000, "the storm did not reach the daemon")
        self.served(daemon)
        self.check_end(daemon, job)

    def test_from_the_network(self):
        daemon, job = self.started(NetworkDaemon)
        targets = [daemon.endpoint(name) for name in ("ingest", "reports", "control")]

        def wrong_keys(seconds):
            seen = self.attack("wrong-key", targets[0], "--seconds", seconds, "--server-key", daemon.server_key())
            self.assertGreater(seen.get("handshake failed", 0), 0, seen)
            self.assertEqual(seen.get("LET IN", 0), 0, seen)
        for target in targets:
            self.attack_all(target, 1)
        wrong_keys(1)
        before = self.measured(daemon)
        for target in targets:
            self.attack_all(target, SECONDS)
            self.check_flat(daemon, before, f"after attacks on {target}")
        refused = daemon.counter("keys_refused")
        wrong_keys(SECONDS)
        self.check_flat(daemon, before, "after a storm of wrong keys")
        wait_for(lambda: daemon.counter("keys_refused") > refused, "wrong keys are counted")
        for name in ("gate_evicted", "gate_refused", "gate_strangers_refused"):
            self.assertGreater(daemon.counter(name), 0, name)
        self.assertLess(len(read_text(daemon.job.stderr_path).splitlines()), 200, "the log grows with the attacks")
        self.served(daemon)
        self.check_end(daemon, job)

    def check_end(self, daemon, job, ranks=2):
        """The job that was there all the time: exact to the event, nothing lost."""
        self.tell_to_end()
        self.assertEqual(job.wait(), 0)

        def settled():
            mine = daemon.accounts()
            return len(mine) >= ranks and all(s["in_flight"] == 0 for s in mine) and mine
        for s in wait_for(settled, "all accounts settle", timeout=30, poll=0.1):
            self.check_whole(s)
        daemon.end_shell()
        self.served(daemon)  # also through an agent that came after the storm
        self.assertEqual(daemon.end(), 0, daemon.job.stderr)


if __name__ == "__main__":
    unittest.main()
