#!/usr/bin/env python3
"""A real margayd under a steady load, for minutes or hours: is anything growing, and is everything accounted for?

    tests/soak/soak.py --build build/release [--seconds 300] [--rate 1000000] [--sources 16] [--disk 192MiB]
                       [--out DIR] [--seed N]
    tests/soak/soak.py --leak        # no daemon: does the judge find leaks that are put into made-up series?

README.md tells what happens during a soak, what is measured and what is promised. Exit code: 0 all promises were kept;
1 one was not; 2 the soak itself could not be made.
"""
import argparse
import csv
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import judge
import plot

RESTART_EVERY = 40.0      # kill -9, then a new daemon, as `margay run` would
STOP_EVERY = 23.0         # SIGSTOP for STOP_FOR
STOP_FOR = 3.0
VIEWERS_EVERY = 11.0      # one viewer goes, another comes
READY_WITHIN = 60.0
SETTLED_WITHIN = 120.0


class Failed(Exception):
    """The soak could not be made; the sentence says why."""


def read(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def directory_bytes(path):
    total = 0
    for place, _, names in os.walk(path):
        for name in names:
            try:
                total += os.lstat(os.path.join(place, name)).st_blocks * 512
            except OSError:
                pass  # gone meanwhile
    return total


class Soak:
    def __init__(self, options):
        self.o = options
        self.random = random.Random(options.seed)
        self.place = tempfile.mkdtemp(prefix="margay-soak-", dir=options.work)
        self.runtime = tempfile.mkdtemp(prefix="ms", dir="/dev/shm")
        self.environment = dict(os.environ, MARGAY_RUNTIME_DIR=self.runtime)
        self.run = "soak"
        self.directory = os.path.join(self.runtime, f"margay-{os.geteuid()}", self.run)
        self.archive = os.path.join(self.place, "archive")
        self.config = os.path.join(self.place, "margay.toml")
        with open(self.config, "w", encoding="utf-8") as file:
            file.write(f'[limits]\ndisk = "{options.disk}"\n[store]\nmemory = "16MiB"\n')
        self.daemon = None
        self.daemon_since = 0.0
        self.restarts = self.stops = 0
        self.load = None
        self.viewers = []
        self.viewers_seen = 0
        self.rows = []
        self.status_at = 0.0
        self.last = {}
        self.events = []  # (t, what) for the plot
        self.log = open(os.path.join(self.place, "daemon.log"), "ab")
        self.begin = 0.0

    def program(self, name):
        for folder in ("bin", "libexec/margay", "tests/support"):
            path = os.path.join(self.o.build, folder, name)
            if os.path.exists(path):
                return path
        raise Failed(f"{name} is not built in {self.o.build}")

    # ---- the daemon
    def start_daemon(self):
        self.daemon = subprocess.Popen([self.program("margayd"), "--run", self.run, "--archive", self.archive, "--config",
                                        self.config, "--restarts", str(self.restarts)], env=self.environment,
                                       stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        self.daemon_since = time.monotonic()

    def status(self, timeout=2.0):
        try:
            done = subprocess.run([self.program("margay"), "status", "--json", self.run], env=self.environment,
                                  capture_output=True, text=True, timeout=timeout, check=False)
            return json.loads(done.stdout) if done.returncode == 0 else None
        except (subprocess.TimeoutExpired, ValueError):
            return None

    def wait_ready(self):
        end = time.monotonic() + READY_WITHIN
        while time.monotonic() < end:
            if self.daemon.poll() is not None:
                raise Failed(f"margayd ended with {self.daemon.returncode}: {read(self.log.name)[-500:]}")
            if self.status():
                return
            time.sleep(0.1)
        raise Failed(f"margayd did not answer within {READY_WITHIN:.0f} s")

    # ---- viewers
    def add_viewer(self, kind):
        if kind == "watch":
            # A terminal of its own, whose output somebody takes.
            command = ["script", "-qefc", f"{self.program('margay')} watch {self.run}", "/dev/null"]
        else:
            pause = "0" if kind == "stopped" else "1500"
            command = [self.program("slow_viewer"), f"ipc://{self.directory}/reports.ipc", pause]
        process = subprocess.Popen(command, env=dict(self.environment, TERM="xterm", LINES="24", COLUMNS="80"),
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        stop_at = time.monotonic() + 2 if kind == "stopped" else None
        self.viewers.append({"kind": kind, "process": process, "stop_at": stop_at})
        self.viewers_seen += 1

    def end_viewer(self, viewer):
        try:
            os.killpg(viewer["process"].pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        viewer["process"].wait()

    def turn_viewers(self):
        if len(self.viewers) >= 6:
            self.end_viewer(self.viewers.pop(self.random.randrange(len(self.viewers))))
        self.add_viewer(self.random.choice(("watch", "slow", "stopped")))

    def tend_viewers(self):
        now = time.monotonic()
        for v in self.viewers:
            if v["stop_at"] and now >= v["stop_at"]:
                v["process"].send_signal(signal.SIGSTOP)
                v["stop_at"] = None

    # ---- what is measured, once a second
    def sample(self, t):
        pid = self.daemon.pid
        memory = {l.split(":")[0]: l.split() for l in read(f"/proc/{pid}/status").splitlines() if ":" in l}
        row = {"t": round(t, 2), "age": round(time.monotonic() - self.daemon_since, 2), "restarts": self.restarts}
        try:
            row["rss_mib"] = int(memory["VmRSS"][1]) / 1024
            row["threads"] = int(memory["Threads"][1])
            row["descriptors"] = len(os.listdir(f"/proc/{pid}/fd"))
        except (KeyError, OSError):
            return
        row["disk_mib"] = directory_bytes(self.archive) / 2**20
        row["viewers"] = len(self.viewers)
        if t >= self.status_at:  # not every second: it is a viewer, too
            self.status_at = t + 3
            status = self.status()
            if status:
                counters = {c["name"]: c["value"] for c in status["counters"]}
                self.last = {"lag_s": status["lag_ns"] / 1e9, "lost": status["lost_events"],
                             "raw_dropped_mib": counters.get("raw_retired_bytes", 0) / 2**20,
                             "slices_dropped": counters.get("slices_retired", 0),
                             "raw_not_archived": counters.get("raw_not_archived", 0)}
        row.update(self.last)
        try:
            row["behind_s"] = json.loads(self.load_lines()[-1])["behind_s"]
        except (IndexError, ValueError):
            pass
        self.rows.append(row)

    def load_lines(self):
        with open(os.path.join(self.place, "load.jsonl"), "rb") as file:
            file.seek(0, 2)
            file.seek(max(0, file.tell() - 16384))
            return file.read().decode().splitlines()

    def soak(self):
        self.start_daemon()
        self.wait_ready()
        self.begin = time.monotonic()
        with open(os.path.join(self.place, "load.jsonl"), "wb") as out:
            self.load = subprocess.Popen([self.program("load_generator"), "--run-dir", self.directory, "--run", self.run,
                                          "--rate", str(self.o.rate), "--sources", str(self.o.sources), "--seconds",
                                          str(self.o.seconds)], env=self.environment, stdin=subprocess.DEVNULL, stdout=out,
                                         stderr=self.log)
        for kind in ("watch", "slow", "stopped") * 2:
            self.add_viewer(kind)
        restart_at, stop_at, viewers_at, go_on_at = RESTART_EVERY, STOP_EVERY, VIEWERS_EVERY, None
        while self.load.poll() is None:
            t = time.monotonic() - self.begin
            if t > self.o.seconds + SETTLED_WITHIN + 30:
                raise Failed("the load generator did not end")
            if self.daemon.poll() is not None:
                raise Failed(f"margayd ended by itself with {self.daemon.returncode}")
            if go_on_at and t >= go_on_at:
                self.daemon.send_signal(signal.SIGCONT)
                go_on_at = None
            if t < self.o.seconds - 10 and go_on_at is None:
                if t >= restart_at:
                    restart_at = t + RESTART_EVERY * self.random.uniform(0.8, 1.2)
                    self.daemon.kill()
                    self.daemon.wait()
                    self.restarts += 1
                    self.events.append((t, "restart"))
                    self.start_daemon()
                    self.status_at = t + 3
                elif t >= stop_at:
                    stop_at = t + STOP_EVERY * self.random.uniform(0.8, 1.2)
                    self.stops += 1
                    self.events.append((t, "stop"))
                    self.daemon.send_signal(signal.SIGSTOP)
                    go_on_at = t + STOP_FOR
                    self.status_at = go_on_at + 1
            if t >= viewers_at:
                viewers_at = t + VIEWERS_EVERY * self.random.uniform(0.5, 1.5)
                self.turn_viewers()
            self.tend_viewers()
            self.sample(t)
            time.sleep(max(0.0, 1.0 - (time.monotonic() - self.begin - t)))

    def account(self):
        """The generator's own count against the daemon's, source by source."""
        said = json.loads(self.load_lines()[-1])
        end = time.monotonic() + SETTLED_WITHIN
        while True:
            status = self.status()
            mine = status["sources"] if status else []
            if len(mine) == self.o.sources and all(s["condition"] == "ended" and s["in_flight"] == 0 for s in mine):
                break
            if time.monotonic() > end:
                break
            time.sleep(0.5)
        faults = []
        if self.load.returncode != 0:
            faults.append(f"the load generator ended with {self.load.returncode}: not all was confirmed")
        if len(mine) != self.o.sources:
            faults.append(f"{len(mine)} sources in the account, not {self.o.sources}")
        total = {k: sum(s[k] for s in mine)
                 for k in ("produced", "modelled", "late_dropped", "probe_dropped", "wire_lost", "rejected", "in_flight")}
        by_rank = {int(s["resource"].rsplit("rank", 1)[1]): s for s in mine}
        for rank, (produced, dropped) in enumerate(said["sources"]):
            s = by_rank.get(rank)
            if s is None:
                continue
            right = {"produced": produced, "modelled": produced - dropped, "late_dropped": 0, "probe_dropped": dropped,
                     "wire_lost": 0, "rejected": 0, "in_flight": 0}
            wrong = {k: (s[k], v) for k, v in right.items() if s[k] != v}
            if wrong:
                faults.append(f"rank {rank}: " + ", ".join(f"{k} is {a:,}, should be {b:,}" for k, (a, b) in wrong.items()))
        return total, faults, status

    def end(self):
        for viewer in self.viewers:
            self.end_viewer(viewer)
        for process in (self.load, self.daemon):
            if process and process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.kill()
                process.wait()
        self.log.close()
        shutil.rmtree(self.runtime, ignore_errors=True)
        if not self.o.keep:
            shutil.rmtree(self.archive, ignore_errors=True)

    def write(self, out):
        os.makedirs(out, exist_ok=True)
        names = sorted({k for row in self.rows for k in row}, key=lambda k: (k != "t", k))
        with open(os.path.join(out, "soak.csv"), "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, names, restval="")
            writer.writeheader()
            writer.writerows(self.rows)
        with open(os.path.join(out, "soak.svg"), "w", encoding="utf-8") as file:
            file.write(plot.svg(self.rows, self.events, f"soak: {self.o.rate:,} events/s, {self.restarts} restarts, "
                                f"{self.stops} stops, seed {self.o.seed}"))
        for name in ("daemon.log", "load.jsonl"):
            shutil.copy(os.path.join(self.place, name), out)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--seconds", type=int, default=300)
    parser.add_argument("--rate", type=int, default=1_000_000)
    parser.add_argument("--sources", type=int, default=16)
    parser.add_argument("--disk", default="96MiB", help="limits.disk: small, so that retention works all the time")
    parser.add_argument("--out", default=None, help="for soak.csv, soak.svg and the log (default: build/soak)")
    parser.add_argument("--work", default=None, help="where the archive lies meanwhile (default: the temporary directory)")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--keep", action="store_true", help="leave the archive")
    parser.add_argument("--leak", action="store_true", help="only test the judge")
    options = parser.parse_args()
    if options.leak:
        return judge.self_test()
    if options.seed is None:
        options.seed = random.SystemRandom().randrange(2**32)
    options.build = os.path.abspath(options.build)
    out = os.path.abspath(options.out or os.path.join(os.path.dirname(options.build), "soak"))
    print(f"soak: {options.seconds} s at {options.rate:,} events/s from {options.sources} sources, seed {options.seed}",
          flush=True)
    soak = Soak(options)
    try:
        soak.soak()
        total, faults, status = soak.account()
        if not status:
            raise Failed("margayd does not answer at the end")
        soak.write(out)
    except Failed as e:
        print(f"soak: {e}", file=sys.stderr)
        soak.write(out)
        return 2
    finally:
        soak.end()
        if options.keep:
            print(f"kept: {soak.place}")
        else:
            shutil.rmtree(soak.place, ignore_errors=True)
    verdicts = judge.judge(soak.rows, options.seconds, judge.size(options.disk) / 2**20)
    print(judge.table(verdicts))
    print(f"restarts {soak.restarts}, stops {soak.stops}, viewers {soak.viewers_seen}; {status.get('retention') or 'no retention'}")
    print("account: " + ", ".join(f"{k} {v:,}" for k, v in total.items()))
    for fault in faults:
        print("FAULT: " + fault)
    if not any(r.get("raw_dropped_mib", 0) > 0 for r in soak.rows):
        faults.append("retention never worked")
        print("FAULT: retention never worked: the soak did not test it")
    print(f"written: {out}/soak.csv, {out}/soak.svg")
    good = not faults and all(v.good for v in verdicts)
    print("soak: " + ("all promises kept" if good else "FAILED"))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
