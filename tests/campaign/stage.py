"""One run of a campaign: a job under `margay run`, faults planted into it, and what came of it.

Needs the environment that the build writes for the end-to-end tests (load_environment() before the import of this module).
Whatever this program starts is ended by it: hogs die with it (PR_SET_PDEATHSIG), a stopped rank is continued, and whoever
carries the run's MARGAY_RUNTIME_DIR at the end is killed, by its id.
"""
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time

import effect
import network
import score
import e2e
from e2e import plant

SLICE_NS = 100_000_000
THERMO = 10  # steps of LAMMPS between two lines of its log
LOOK_S = 2.0  # before the first fault Margay is looked at: is it there, and does it follow?
MEASURE_S = 1.0  # how much of a core a rank uses, before it is slowed


class Failed(Exception):
    """The run could not be done as planned; the text says why."""


class Place(e2e.E2eTest):
    """A folder and an environment for a run, as the end-to-end tests have it."""

    def runTest(self):
        """None: this is a place, not a test."""

    def fail(self, msg=None):
        raise Failed(msg)

    def check_left(self):
        """Failed if a process of the run goes on after its end."""
        try:
            e2e.wait_for(lambda: not self.leftovers(), "the end of all processes", timeout=10)
        except AssertionError:
            raise Failed("left behind: " + "; ".join(e2e.command_line(p) for p in self.leftovers())) from None

    def leave(self):
        try:  # mpirun ends its ranks, and takes their exit codes
            e2e.wait_for(lambda: not self.leftovers(), "the end of all processes", timeout=5)
        except AssertionError:
            for pid in self.leftovers():
                e2e.end_process(pid)
        for job in self.jobs:
            job.process.wait(e2e.LONG)
        shutil.rmtree(self.place, ignore_errors=True)
        shutil.rmtree(self.runtime, ignore_errors=True)


class Clock:
    """Stamps the lines of LAMMPS' output as they come: its log has no dates."""
    LINE = re.compile(r"^\s+(\d+)\s+([\d.e+-]+)\s*$")

    def __init__(self, path):
        self.path, self.lines, self.over = path, [], threading.Event()
        self.thread = threading.Thread(target=self.follow)
        self.thread.start()

    def follow(self):
        with open(self.path, encoding="utf-8", errors="replace") as file:
            while True:
                last = self.over.is_set()
                text = file.readline()
                if text.endswith("\n"):
                    if hit := self.LINE.match(text):
                        self.lines.append((time.time_ns(), int(hit[1]), float(hit[2])))
                    continue
                if last:
                    return
                file.seek(file.tell() - len(text.encode()))
                time.sleep(0.005)

    def end(self):
        self.over.set()
        self.thread.join()
        first = next((i for i, line in enumerate(self.lines) if line[1] == 0), 0)
        return effect.lammps_steps(self.lines[first:], THERMO)


def write_lammps_input(path, stop):
    with open(os.path.join(e2e.WORKLOADS, "in.lj"), encoding="utf-8") as file:
        text = file.read()
    text = re.sub(r"^thermo .*\n", "", text, flags=re.M)
    text = re.sub(r"^run .*", f"thermo {THERMO}\nthermo_style custom step cpu\nthermo_modify flush yes\n"
                  f"variable over equal is_file({stop})\nfix over all halt 20 v_over == 1 error soft message no\n"
                  "run 1000000000", text, flags=re.M)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


class Staged:
    def __init__(self, planned, programs, place):
        self.planned, self.programs, self.place = planned, programs, place
        self.stop = os.path.join(place.place, "stop")
        self.log = os.path.join(place.place, "steps")
        self.files = os.path.join(place.place, "files")  # of the ranks that write
        self.allowed = sorted(os.sched_getaffinity(0))[:2]
        self.lammps = planned["workload"] == "lammps"

    def core(self, number):
        return self.allowed[number % len(self.allowed)]

    def command(self):
        p = self.planned
        launch = [e2e.MPIRUN, "--bind-to", "none", "-np", str(p["ranks"])]
        if p.get("network"):
            launch = network.command(launch, p["ranks"])
        if self.lammps:
            path = os.path.join(self.place.place, "in.campaign")
            write_lammps_input(path, self.stop)
            return launch + ["lmp", "-in", path, "-log", "none"]
        files = self.files
        os.mkdir(files)

        def listed(ranks):
            return ",".join(map(str, ranks))
        return launch + [os.path.join(self.programs, "campaign-job"), p["workload"], self.log, self.stop, "--work",
                         str(p["work_ms"]), "--streams", listed(p["streams"]), "--writers", listed(p["writers"]),
                         "--folder", files]

    def pin(self):
        """Each rank, with all its threads, to its core."""
        for rank, pid in self.ranks.items():
            for thread in os.listdir(f"/proc/{pid}/task"):
                try:
                    os.sched_setaffinity(int(thread), {self.core(self.planned["cores"][rank])})
                except ProcessLookupError:
                    pass

    def run(self):
        """The alerts file's lines, the faults with their times and effects, and figures of the run."""
        p = self.planned
        busy, mine, since = machine_busy(), children_cpu(), time.monotonic()
        job = e2e.Run(self.place, self.command(), name="r", slice_text=f"{SLICE_NS // 1_000_000}ms")
        clock = Clock(job.stdout_path) if self.lammps else None
        try:
            self.ranks = job.ranks("lmp" if self.lammps else "campaign-job", p["ranks"])
            self.pin()
            mark = r"^\s+10 " if self.lammps else r"^steps$"
            e2e.wait_for(lambda: re.search(mark, job.stdout, re.M) or not job.running, "the first steps", poll=0.05)
            began = time.time_ns()
            faults = self.plant_all(job, began)
            self.sleep_until(job, began, p["seconds"])
            ended = time.time_ns()
            with open(self.stop, "w", encoding="utf-8"):
                pass
            code = job.wait()
        except plant.PlantError as error:
            raise Failed(f"{error}\n{job.stderr[-2000:]}") from None
        finally:
            steps = {None: clock.end()} if clock else {}
        if code != 0:
            raise Failed(f"the job ended with exit code {code}\n{job.stderr[-2000:]}")
        for rank in range(0 if self.lammps else p["ranks"]):
            steps[rank] = effect.read_steps(f"{self.log}.{rank}")
        spans = [(f["begin_ns"], f["end_ns"]) for f in faults]
        for fault in faults:
            own = (fault["begin_ns"], fault["end_ns"])
            fault["effect"] = effect.effect(steps, fault, [s for s in spans if s != own])
        alerts = score.gather(job.alerts)
        false_alarms = score.judge(alerts, faults, p["ranks"], SLICE_NS)
        pictures = [json.loads(line) for line in e2e.dump("pictures", job.archive).splitlines()]
        for fault in faults:
            score.shown(pictures, fault, p["ranks"], SLICE_NS)
        took = time.monotonic() - since
        others = machine_busy() - busy - (children_cpu() - mine)
        summary = job.summary
        return job, faults, {
            "began_ns": began, "ended_ns": ended, "seconds": round(took, 2), "steps": max(map(len, steps.values())),
            # What others took of the machine's cores meanwhile: a campaign wants none.
            "others": round(max(0.0, others) / took / os.cpu_count(), 3),
            "quiet_seconds": round((ended - began - sum(e - b + 4 * SLICE_NS for b, e in spans)) / 1e9, 2),
            "false_alarms": [score.told(a, began) for a in false_alarms],
            "phases": len(summary.get("phases") or []),
            "lost": summary["events"]["produced"] - summary["events"]["modelled"]}

    def sleep_until(self, job, began, seconds):
        while (left := began / 1e9 + seconds - time.time()) > 0:
            if not job.running:
                raise Failed(f"the job ended before its time\n{job.stderr[-2000:]}")
            time.sleep(min(left, 0.2))

    def plant_all(self, job, began):
        faults = []
        for number, wanted in enumerate(self.planned["faults"]):
            if number == 0:
                self.sleep_until(job, began, wanted["at_s"] - LOOK_S)
                # On a busy machine Margay may be late: what is planted before it knows the job says nothing.
                e2e.wait_for(lambda: not job.running or job.status().get("watermark_ns", 0) >=
                             began + (wanted["at_s"] - LOOK_S - 1) * 1e9, "Margay follows", poll=0.5)
            self.sleep_until(job, began, wanted["at_s"])
            fault = dict(wanted)
            planting = {"stop": self.plant_stop, "slow": self.plant_slow}.get(fault["kind"], self.plant_hog)
            fault |= planting(fault)
            fault["planted_s"] = round((fault["begin_ns"] - began) / 1e9, 3)
            faults.append(fault)
        return faults

    def plant_stop(self, fault):
        done = plant.stop_rank(self.ranks[fault["rank"]], fault["seconds"], fault["rank"])
        return {k: done[k] for k in ("begin_ns", "end_ns")}

    def plant_slow(self, fault):
        pid = self.ranks[fault["rank"]]
        handle = os.pidfd_open(pid)
        used = cpu_of(pid)
        time.sleep(MEASURE_S)
        percent = max(1, round(100 * fault["share"] * (cpu_of(pid) - used) / MEASURE_S))
        begin = time.time_ns()
        limiter = subprocess.Popen(["cpulimit", "-p", str(pid), "-l", str(percent)], env=self.place.environment,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            time.sleep(fault["seconds"])
            if limiter.poll() is not None:
                raise Failed("cpulimit ended by itself")
        finally:
            end_child(limiter, signal.SIGTERM)
            # It slows by stopping, and may have ended in between.
            signal.pidfd_send_signal(handle, signal.SIGCONT)
            os.close(handle)
        return {"begin_ns": begin, "end_ns": time.time_ns(), "percent": percent}

    def plant_hog(self, fault):
        kind, core = fault["kind"], fault.get("core")
        command = [os.path.join(self.programs, "campaign-hog"), kind]
        if kind == "disk":
            command.append(os.path.join(self.place.place, "hog"))
        elif kind == "metadata":
            command.append(self.files)
        elif kind in ("cache", "leak"):
            command.append(str(fault["level" if kind == "cache" else "mib_per_s"]))
        elif kind == "network":
            core = self.planned["cores"][fault["rank"]]  # it takes a tenth of it: from whom it is to hurt
            command = network.join(self.ranks[fault["rank"]], [*command, network.address(fault["rank"])])
        # It disturbs while it gets ready, too: 256 MiB want to be filled.
        begin = time.time_ns()
        hog = subprocess.Popen(command, env=self.place.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            os.sched_setaffinity(hog.pid, {self.core(core)})
            if hog.stdout.readline() != b"ready\n":
                raise Failed(f"the hog did not get ready: {' '.join(command)}")
            hog.stdin.write(b"g")
            hog.stdin.flush()
            time.sleep(fault["seconds"])
            if hog.poll() is not None:
                raise Failed("the hog ended by itself")
        finally:
            end_child(hog, signal.SIGKILL)
            hog.stdin.close()
            hog.stdout.close()
        return {"begin_ns": begin, "end_ns": time.time_ns()}


def end_child(process, number):
    if process.poll() is None:
        process.send_signal(number)
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def cpu_of(pid):
    """Seconds for which a process ran."""
    with open(f"/proc/{pid}/stat", "rb") as file:
        fields = file.read().rpartition(b")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def machine_busy():
    """Seconds of all cores, since boot, in which somebody ran."""
    with open("/proc/stat", encoding="ascii") as file:
        fields = [int(f) for f in file.readline().split()[1:]]
    return (sum(fields[:3]) + sum(fields[5:8])) / os.sysconf("SC_CLK_TCK")


def children_cpu():
    """Seconds that this program and its ended children ran."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def stage(planned, programs, keep=None):
    """(faults, figures of the run). `keep(job, faults, figures)` may take what the run left before it goes. Failed if it could
    not be done."""
    place = Place()
    place.setUp()
    try:
        job, faults, figures = Staged(planned, programs, place).run()
        place.check_left()
        if keep:
            keep(job, faults, figures)
        return faults, figures
    except AssertionError as error:
        raise Failed(str(error)) from None
    finally:
        for job in place.jobs:
            if job.running:
                job.process.terminate()
                try:
                    job.process.wait(10)
                except subprocess.TimeoutExpired:
                    pass
        place.leave()
