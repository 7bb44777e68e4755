#!/usr/bin/env python3
"""Runs a job under `margay run` again and again, with faults planted or without, and compares what Margay says
with what happened.

  campaign.py stops     --runs 20     a random rank is stopped for 1 s at a random moment
  campaign.py two-stops --runs 10     two ranks, the second 5 s after the first
  campaign.py quiet     --runs 20     no fault: every alert is counted and printed
  campaign.py phases    --runs 5      margay-workload with a plan: phases against the program's truth

Each run is `margay run --slice S --archive DIR --alerts FILE --summary FILE -- mpirun -np N PROGRAM`, in a folder of its
own that is removed afterwards (--keep). The program is LAMMPS with in.lj, or margay-workload (--app workload; always in
phases). Faults happen between 25 % and 75 % of the expected duration, counted from when the ranks are there; where
--expected does not say it, a run without margay measures it first. Latency is from SIGSTOP to the alert's line being read
from the alerts file, by this program's clock (read every 2 ms).

A run is right if the job's exit code is 0, the conservation law holds for every source (campaign_judge.py), and:
stops, two-stops: every fault gave exactly one alert that blames just that rank, and nothing else fired;
quiet: nothing fired but changes of phase; phases: every edge within one slice, names one to one, nothing extra.
A fault that could not be planted makes its run wrong, not absent.

Prints a line per run, a table and, as the last line, the summary as JSON (--json FILE writes it with every run).
Exit code: 0 if all runs were right, 1 if not, 2 for a wrong call.
"""
import argparse
import json
import os
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import campaign_judge as judge
import plant

HERE = os.path.dirname(os.path.abspath(__file__))
HARMLESS = ("phase_change",)  # kinds that may fire in a quiet run
DEFAULT_PLAN = "A:5,B:4,A:5,C:4,A:5"


def parse_duration(text):
    """Nanoseconds of '100ms', '1s', '250us'."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(ns|us|ms|s)", text)
    if not match:
        raise argparse.ArgumentTypeError(f"'{text}' is no duration (100ms, 1s)")
    return round(float(match[1]) * {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}[match[2]])


def find_program(name, build, places):
    for place in places:
        path = os.path.join(build, place, name)
        if os.access(path, os.X_OK) and os.path.isfile(path):
            return path
    return shutil.which(name)


def environment():
    env = dict(os.environ)
    wanted = {"OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_mpi_yield_when_idle": "1", "OMP_NUM_THREADS": "1"}
    if os.geteuid() == 0:
        wanted |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    for name, value in wanted.items():
        env.setdefault(name, value)
    return env


def job_command(options, folder):
    """The job, and the name of its ranks' executable."""
    command = [options.mpirun, "-np", str(options.np)]
    if options.app == "lmp":
        return command + [options.lmp, "-in", os.path.join(HERE, "in.lj"), "-var", "steps", str(options.steps)], \
            os.path.basename(os.path.realpath(options.lmp))
    return command + [options.workload, "--plan", options.plan, "--truth", os.path.join(folder, "truth.jsonl")], \
        os.path.basename(options.workload)


def start(command, folder):
    with open(os.path.join(folder, "output.txt"), "wb") as output:
        return subprocess.Popen(command, cwd=folder, env=environment(), stdin=subprocess.DEVNULL, stdout=output,
                                stderr=subprocess.STDOUT, start_new_session=True)


def finish(process, timeout):
    """Exit code, or None if the process had to be ended."""
    try:
        return process.wait(max(1.0, timeout))
    except subprocess.TimeoutExpired:
        end_group(process)
        return None


def end_group(process):
    """Ends a process we started and all of its session."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if process.poll() is None:
            try:
                os.killpg(process.pid, number)
                process.wait(10)
            except (ProcessLookupError, subprocess.TimeoutExpired):
                pass


def measure(options):
    """Seconds from the ranks being there to the job's end, without margay."""
    folder = tempfile.mkdtemp(prefix="margay-campaign-")
    try:
        command, exe = job_command(options, folder)
        process = start(command, folder)
        try:
            plant.wait_for_ranks(process.pid, exe, options.np, 60)
            begin = time.monotonic()
            code = finish(process, options.timeout)
        finally:
            end_group(process)
        if code != 0:
            raise SystemExit(f"campaign: the job alone failed (exit code {code}):\n{tail_of(folder)}")
        return time.monotonic() - begin
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def tail_of(folder, lines=15):
    try:
        with open(os.path.join(folder, "output.txt"), encoding="utf-8", errors="replace") as file:
            return "".join("    " + line for line in file.readlines()[-lines:])
    except OSError:
        return ""


def choose_faults(options, rng):
    """[(seconds after the ranks are there, rank)]"""
    if options.mode not in ("stops", "two-stops"):
        return []
    count = 2 if options.mode == "two-stops" else 1
    latest = max(0.25 * options.expected, 0.75 * options.expected - options.apart * (count - 1))
    first = rng.uniform(0.25 * options.expected, latest)
    return [(first + i * options.apart, rank) for i, rank in enumerate(rng.sample(range(options.np), count))]


def read_json(path, problems):
    try:
        with open(path, encoding="utf-8") as file:
            value = json.load(file)
        if isinstance(value, dict):
            return value
        problems.append("summary: not an object")
    except (OSError, ValueError) as error:
        problems.append(f"summary: {error}")
    return {}


def read_truth(path):
    try:
        with open(path, encoding="utf-8") as file:
            return [entry for entry in map(json.loads, file) if entry["kind"] == "phase"]
    except (OSError, ValueError, KeyError):
        return []


def watched_run(options, folder, wanted):
    """One run. Returns (exit code, alerts, faults that were planted, problems)."""
    alerts_path = os.path.join(folder, "alerts.jsonl")
    command, exe = job_command(options, folder)
    command = [options.margay, "run", "--slice", options.slice_text, "--archive", os.path.join(folder, "archive"),
               "--alerts", alerts_path, "--summary", os.path.join(folder, "summary.json"), "--"] + command
    alerts, faults, problems = [], [], []
    over = threading.Event()
    reader = threading.Thread(target=lambda: alerts.extend(plant.tail_alerts(alerts_path, over.is_set)))
    begin = time.monotonic()
    process = start(command, folder)
    reader.start()
    try:
        try:
            if wanted:
                ranks = plant.wait_for_ranks(process.pid, exe, options.np, 60)
                there = time.monotonic()
                for at, rank in wanted:
                    time.sleep(max(0.0, there + at - time.monotonic()))
                    faults.append(plant.stop_rank(ranks[rank], options.stop_for, rank))
        except plant.PlantError as error:
            problems.append(f"fault not planted: {error}")
        code = finish(process, begin + options.timeout - time.monotonic())
        if code is None:
            problems.append(f"did not end within {options.timeout:.0f} s")
    finally:
        end_group(process)
        over.set()
        reader.join()
    return code, alerts, faults, problems


def one_run(options, number, rng, folder):
    wanted = choose_faults(options, rng)
    code, alerts, faults, problems = watched_run(options, folder, wanted)
    if code not in (0, None):
        problems.append(f"exit code {code}")
    summary = read_json(os.path.join(folder, "summary.json"), problems)
    if summary:
        if summary.get("exit_code") != code:
            problems.append(f"summary: exit code {summary.get('exit_code')}, the process had {code}")
        problems += judge.conservation(summary, options.np)
    problems += [f"alerts: not JSON: {a['invalid_line']}" for _, a in alerts if "invalid_line" in a]
    verdicts, others = judge.judge_faults(alerts, faults, options.grace_ns)
    unexpected = [a for _, a in others if a.get("kind") not in HARMLESS]
    run = {"run": number, "exit_code": code, "faults": verdicts, "others": [a for _, a in others],
           "firing": len(judge.firings(alerts)), "produced": None, "phases": None}
    if isinstance(summary.get("events"), dict):
        run["produced"] = summary["events"].get("produced")
    for verdict in verdicts:
        if not verdict["detected"]:
            problems.append(f"stop of rank {verdict['rank']} not detected")
        elif not verdict["cause_correct"]:
            problems.append(f"stop of rank {verdict['rank']} blamed on {verdict['likely_cause']}")
        if verdict["alerts"] > 1:
            problems.append(f"stop of rank {verdict['rank']} gave {verdict['alerts']} alerts")
    if unexpected:
        problems.append(f"{len(unexpected)} other alerts")
    if options.mode == "phases":
        found = summary.get("phases")
        good = isinstance(found, list) and all(
            isinstance(p, dict) and isinstance(p.get("name"), str)
            and all(isinstance(p.get(k), int) for k in ("begin_ns", "end_ns")) for p in found)
        if not good:
            problems.append("summary: no phases")
        run["phases"] = judge.judge_phases(read_truth(os.path.join(folder, "truth.jsonl")), found if good else [],
                                           options.slice_ns)
        problems += run["phases"]["problems"]
    run["problems"] = problems
    return run


def milliseconds(ns):
    return "-" if ns is None else f"{ns / 1e6:.1f} ms"


def print_run(run):
    parts = [f"run {run['run']}: {'right' if not run['problems'] else 'WRONG'}", f"exit {run['exit_code']}"]
    for v in run["faults"]:
        parts.append(f"rank {v['rank']} stopped: {v['alerts']} alerts, {v['kind'] or 'none'}, latency "
                     f"{milliseconds(v['latency_ns'])}, cause {'right' if v['cause_correct'] else 'wrong'}")
    if run["phases"]:
        errors = [e for e in run["phases"]["edge_errors_ns"] if e is not None]
        parts.append(f"{len(errors)} edges, worst {milliseconds(max(map(abs, errors), default=None))}, "
                     f"names {run['phases']['names']}")
    parts.append(f"{len(run['others'])} other alerts")
    print("; ".join(parts), flush=True)
    for problem in run["problems"]:
        print(f"    {problem}", flush=True)
    for alert in run["others"]:
        print(f"    other: {json.dumps(alert)}", flush=True)


def summarise(options, runs):
    verdicts = [v for run in runs for v in run["faults"]]
    latencies = [v["latency_ns"] for v in verdicts if v["latency_ns"] is not None]
    edges = [abs(e) for run in runs if run["phases"] for e in run["phases"]["edge_errors_ns"] if e is not None]
    return {"mode": options.mode, "seed": options.seed, "runs": len(runs),
            "right": sum(not run["problems"] for run in runs),
            "faults_planted": len(verdicts), "detected": sum(v["detected"] for v in verdicts),
            "one_alert": sum(v["alerts"] == 1 for v in verdicts), "cause_correct": sum(v["cause_correct"] for v in verdicts),
            "cause_correct_finally": sum(v["cause_correct_finally"] for v in verdicts),
            "latency_median_ns": round(statistics.median(latencies)) if latencies else None,
            "latency_p95_ns": judge.percentile(latencies, 0.95), "latency_max_ns": max(latencies, default=None),
            "other_alerts": sum(len(run["others"]) for run in runs), "edges": len(edges),
            "edge_error_max_ns": max(edges, default=None), "produced": sum(run["produced"] or 0 for run in runs)}


def parse_options(arguments):
    parser = argparse.ArgumentParser(formatter_class=argparse.RawDescriptionHelpFormatter, description=__doc__)
    parser.add_argument("mode", choices=("stops", "two-stops", "quiet", "phases"))
    parser.add_argument("--runs", type=int, default=5, help="how many (5)")
    parser.add_argument("--build", default="build/release", help="build folder to find programs in (build/release)")
    parser.add_argument("--margay", help="the margay program (from the build folder, else PATH)")
    parser.add_argument("--mpirun", default=shutil.which("mpirun.openmpi") or "mpirun")
    parser.add_argument("--lmp", default=shutil.which("lmp") or "lmp")
    parser.add_argument("--workload", help="the margay-workload program (from the build folder, else PATH)")
    parser.add_argument("--app", choices=("lmp", "workload"), default="lmp")
    parser.add_argument("--np", type=int, default=4, help="ranks (4)")
    parser.add_argument("--steps", type=int, help="LAMMPS steps (2000; two-stops 3000)")
    parser.add_argument("--plan", help=f"margay-workload's plan (phases: {DEFAULT_PLAN}; else A:15)")
    parser.add_argument("--slice", dest="slice_text", default="100ms", help="slice duration (100ms)")
    parser.add_argument("--stop-for", type=float, default=1.0, help="length of a stop, s (1)")
    parser.add_argument("--apart", type=float, default=5.0, help="two-stops: from begin to begin, s (5)")
    parser.add_argument("--grace", type=float, default=3.0, help="an alert may come so long after the stop, s (3)")
    parser.add_argument("--expected", type=float, help="the job's duration, s (measured)")
    parser.add_argument("--timeout", type=float, help="a run may last, s (60 + 5 times the expected duration)")
    parser.add_argument("--seed", type=int, help="for ranks and moments (random, printed)")
    parser.add_argument("--json", help="file for the summary with every run")
    parser.add_argument("--keep", action="store_true", help="keep the runs' folders")
    options = parser.parse_args(arguments)
    if options.mode == "phases":
        options.app = "workload"
    if options.steps is None:
        options.steps = 3000 if options.mode == "two-stops" else 2000
    if options.plan is None:
        options.plan = DEFAULT_PLAN if options.mode == "phases" else "A:15"
    options.build = os.path.abspath(options.build)
    options.margay = options.margay or find_program("margay", options.build, ("bin", "."))
    options.workload = options.workload or find_program("margay-workload", options.build, ("tests/workloads", "."))
    if options.margay is None:
        parser.error("no margay program: --margay or --build")
    if shutil.which(options.margay) is None:
        parser.error(f"cannot run {options.margay}")
    options.margay = os.path.abspath(shutil.which(options.margay))
    if options.app == "workload":
        if options.workload is None:
            parser.error("no margay-workload program: --workload or --build")
        options.workload = os.path.abspath(options.workload)
    if options.np < (2 if options.mode == "two-stops" else 1) or options.runs < 1:
        parser.error("too few ranks or runs")
    try:
        options.slice_ns = parse_duration(options.slice_text)
    except argparse.ArgumentTypeError as error:
        parser.error(str(error))
    options.grace_ns = round(options.grace * 1e9)
    if options.seed is None:
        options.seed = random.SystemRandom().randrange(1 << 31)
    return options


def main(arguments=None):
    options = parse_options(arguments)
    known_timeout = options.timeout is not None
    options.timeout = options.timeout or 600.0
    if options.expected is None:
        options.expected = measure(options)
    if not known_timeout:
        options.timeout = 60 + 5 * options.expected
    print(f"campaign {options.mode}: {options.runs} runs of {options.app} on {options.np} ranks, seed {options.seed}, "
          f"expected duration {options.expected:.1f} s", flush=True)
    rng = random.Random(options.seed)
    runs = []
    for number in range(1, options.runs + 1):
        folder = tempfile.mkdtemp(prefix="margay-campaign-")
        try:
            run = one_run(options, number, rng, folder)
            print_run(run)
            if run["exit_code"] != 0:
                print(tail_of(folder), end="", flush=True)
            runs.append(run)
        finally:
            if options.keep:
                print(f"    kept in {folder}", flush=True)
            else:
                shutil.rmtree(folder, ignore_errors=True)
    summary = summarise(options, runs)
    print()
    for name, value in summary.items():
        print(f"{name:<24}{milliseconds(value) if name.endswith('_ns') else value}")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(summary | {"details": runs}, file, indent=1)
    print(json.dumps(summary), flush=True)
    return 0 if summary["right"] == len(runs) else 1


def run_program(program):
    """Runs a main() and exits with what it returns; SIGTERM and Ctrl-C end it as an exception, so that it cleans up."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        sys.exit(program())
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    run_program(main)
