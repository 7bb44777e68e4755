"""The memory that a daemon promises is never exceeded, whatever it is sent: it runs in a control group of just that size.

Where no group can be made (a container of others), its peak is read instead: what it promises is resident memory.
"""
import json
import os
import re
import subprocess
import unittest

from e2e import E2eTest, LONG, alive, read_text, wait_for
from flood_test import ATTACKER, Daemon

SECONDS = float(os.environ.get("FLOOD_SECONDS", "3"))
# The least that the configuration lets, so that little is promised and little is enough to go beyond.
CONFIG = """[slice]
window = 32
levels = ["1s"]
[store]
memory = "8MiB"
[limits]
sources = 512
leaves = 512
states = 640
cells = "32MiB"
memory = "64MiB"
views = "16MiB"
"""


class Group:
    """A control group for one process, with a limit of memory; None where none can be made."""

    def __init__(self, path, limit_file, peak_file):
        self.path, self.limit_file, self.peak_file = path, limit_file, peak_file

    @staticmethod
    def make(limit):
        for line in read_text("/proc/self/cgroup").splitlines():
            number, controllers, path = line.split(":", 2)
            if "memory" in controllers.split(","):
                root, files = "/sys/fs/cgroup/memory", ("memory.limit_in_bytes", "memory.max_usage_in_bytes")
            elif number == "0":
                root, files = "/sys/fs/cgroup", ("memory.max", "memory.peak")
            else:
                continue
            group = Group(os.path.join(root + path, f"margay-test-{os.getpid()}"), *files)
            try:
                os.mkdir(group.path)
                try:
                    with open(os.path.join(group.path, group.limit_file), "w", encoding="ascii") as file:
                        file.write(str(limit))
                    return group
                except OSError:
                    os.rmdir(group.path)
            except OSError:
                pass
        return None

    def command(self, command):
        return ["sh", "-c", f'echo $$ >{self.path}/cgroup.procs && exec "$@"', "sh", *command]

    def remove(self):
        wait_for(lambda: not read_text(os.path.join(self.path, "cgroup.procs")).split(), "the group is empty")
        os.rmdir(self.path)


class Memory(E2eTest):
    def setUp(self):
        super().setUp()
        self.files_may_remain = True  # a daemon by hand leaves its directory to the next one
        self.group = None

    def start(self, command, *arguments, **named):
        if self.group is not None and os.path.basename(command[0]) == "margayd":
            command = self.group.command(command)
        return super().start(command, *arguments, **named)

    def peak(self, pid):
        return next(int(line.split()[1]) << 10 for line in read_text(f"/proc/{pid}/status").splitlines()
                    if line.startswith("VmHWM"))

    def attack(self, mode, target, *options):
        return subprocess.Popen([ATTACKER, mode, target, *map(str, options)], env=self.environment,
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def test_the_worst_that_may_be_sent(self):
        first = Daemon(self, "first", CONFIG)
        promised = first.counter("memory_promised_bytes")
        said = re.search(r"memory: (\d+) MiB at most: ", first.job.stderr)
        self.assertTrue(said, first.job.stderr)
        self.assertEqual(int(said.group(1)), promised >> 20)
        self.assertEqual(first.end(), 0)
        self.group = Group.make(promised)
        daemon = Daemon(self, "worst", CONFIG)
        self.assertEqual(daemon.counter("memory_promised_bytes"), promised)
        if self.group is not None:
            self.assertEqual(daemon.counter("memory_limit_bytes"), promised // 4096 * 4096)
        # Many agents at once; as many others beside them, who ask and look and never read the answers.
        attacks = [self.attack("fill", daemon.endpoint("ingest"), "--connections", 500, "--seconds", 2 * SECONDS,
                               "--run", daemon.name),
                   self.attack("fill", daemon.endpoint("ingest"), "--connections", 20, "--seconds", 2 * SECONDS,
                               "--run", daemon.name),
                   self.attack("fill", daemon.endpoint("control"), "--connections", 50, "--seconds", SECONDS),
                   self.attack("slow-reader", daemon.endpoint("reports"), "--connections", 100, "--seconds", SECONDS)]
        for attack in attacks:
            out, _ = attack.communicate(timeout=LONG)
            self.assertEqual(attack.returncode, 0)
            print(f"  {json.loads(out.splitlines()[-1])}", flush=True)
        self.assertTrue(alive(daemon.pid), "it was ended for want of memory")
        counters = wait_for(daemon.counters, "the daemon answers")
        print("  " + json.dumps({k: v for k, v in counters.items() if v}), flush=True)
        peak = self.peak(daemon.pid)
        print(f"  promised {promised >> 20} MiB, peak {peak >> 20} MiB, now {daemon.memory() >> 20} MiB, "
              f"{'in a group' if self.group else 'no group can be made here'}", flush=True)
        self.assertLessEqual(peak, promised)
        self.assertGreater(counters["refused_by_limit"], 0, "no limit was reached")
        self.assertGreater(counters["agents_cut"], 0, "there were not too many of them")
        # And it serves who comes now.
        job = daemon.watch(self.program("ends", "exit", "0", ranks=2))
        self.assertEqual(job.wait(), 0, job.stderr)

        # Its resources may find no room beside those of the attack; that it is heard is what counts.
        wait_for(lambda: daemon.counter("messages") > counters["messages"] and daemon.counter("agents") > 0,
                 "an agent that came now is heard", timeout=20, poll=0.1)
        print("  " + json.dumps({k: v for k, v in daemon.counters().items() if v}), flush=True)
        self.assertEqual(daemon.end(), 0, daemon.job.stderr)
        if self.group is not None:
            self.group.remove()


if __name__ == "__main__":
    unittest.main()
