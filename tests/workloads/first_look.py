#!/usr/bin/env python3
"""Margay at work on two real MPI jobs of 4 ranks: LAMMPS, in which one rank is stopped for a second half way, and
HPCC, whose phases are known. The jobs run under `margay run`, so that phases and alerts are printed as they come;
then what Margay found is put beside what was done and beside HPCC's own output.

  first_look.py --build build/release --out margay-try [--long]

OUT is made anew: hpcc/ and lammps/ in it hold each job's output, archive, alerts (alerts.jsonl) and summary
(summary.json). Run by config/try, which builds first.

Exit code: 0 if the stop was found, blamed on the right rank alone, and both jobs ended well with every event accounted
for and none lost; 1 if not; 2 for a wrong call or a missing program.
"""
import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
import threading
import time

import campaign
import campaign_judge as judge
import plant

HERE = os.path.dirname(os.path.abspath(__file__))
RANKS = 4
STOP_S = 1.0
GRACE_NS = 3_000_000_000
MOST_ROWS = 60  # of a table


def say(text=""):
    print(text, flush=True)


def start(command, folder, **more):
    """The job's session is its own, so that it can be ended as a whole."""
    return subprocess.Popen(command, cwd=folder, env=campaign.environment(), stdin=subprocess.DEVNULL,
                            start_new_session=True, **more)


def has_watch(options):
    """config/try builds margay-watch, which has `margay watch` and `margay status`, after the look."""
    return os.path.exists(os.path.join(options.build, "libexec", "margay", "margay-watch"))


def shown(path):
    """As short as it can be typed here."""
    relative = os.path.relpath(path)
    return path if relative.startswith("..") else relative


def margay_run(options, folder, job):
    return [options.margay, "run", "--archive", os.path.join(folder, "archive"), "--alerts",
            os.path.join(folder, "alerts.jsonl"), "--summary", os.path.join(folder, "summary.json"), "--"] + job


def lammps(options, steps):
    return [options.mpirun, "-np", str(RANKS), options.lmp, "-in", os.path.join(HERE, "in.lj"), "-log", "none", "-var",
            "steps", str(steps)]


def read_summary(folder, problems):
    return campaign.read_json(os.path.join(folder, "summary.json"), problems)


def run_hpcc(options, problems):
    folder = os.path.join(options.out, "hpcc")
    os.mkdir(folder)
    shutil.copy(os.path.join(HERE, "hpccinf.txt" if options.long else "hpccinf-short.txt"),
                os.path.join(folder, "hpccinf.txt"))
    process = start(margay_run(options, folder, [options.mpirun, "-np", str(RANKS), options.hpcc]), folder)
    try:
        code = campaign.finish(process, 900)
    finally:
        campaign.end_group(process)
    if code != 0:
        problems.append(f"HPCC: exit code {code}")
    summary = read_summary(folder, problems)
    problems += [f"HPCC: {p}" for p in judge.conservation(summary, RANKS)]
    listed = subprocess.run([sys.executable, os.path.join(HERE, "hpcc_sections"), "hpccoutf.txt"], cwd=folder,
                            stdout=subprocess.PIPE, text=True, check=False)
    sections = [json.loads(line) for line in listed.stdout.splitlines()]
    if not sections:
        problems.append("HPCC printed no sections")
    return summary, sections


def seconds_a_step(options):
    """Measured, so that the run is as long on a fast machine as on a slow one."""
    result = subprocess.run(lammps(options, 200), env=campaign.environment(), stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
    loop = re.search(r"^Loop time of (\S+) on \d+ procs for (\d+) steps", result.stdout, re.MULTILINE)
    if result.returncode != 0 or not loop:
        sys.exit(f"first_look: LAMMPS does not run here (exit code {result.returncode}):\n{result.stdout[-2000:]}")
    return max(1e-6, float(loop[1]) / int(loop[2]))


def run_lammps(options, steps, problems):
    folder = os.path.join(options.out, "lammps")
    os.mkdir(folder)
    alerts_path = os.path.join(folder, "alerts.jsonl")
    rank = random.SystemRandom().randrange(RANKS)
    exe = os.path.basename(os.path.realpath(options.lmp))
    alerts, faults = [], []
    over = threading.Event()
    reader = threading.Thread(target=lambda: alerts.extend(plant.tail_alerts(alerts_path, over.is_set)))
    begin_ns = None
    with open(os.path.join(folder, "output.txt"), "wb") as output:
        process = start(margay_run(options, folder, lammps(options, steps)), folder, stdout=output)
    reader.start()
    try:
        try:
            ranks = plant.wait_for_ranks(process.pid, exe, RANKS, 60)
            begin_ns = time.time_ns()
            time.sleep(options.seconds / 2)
            say(f"try: rank {rank} (process {ranks[rank]}) is stopped for {STOP_S:.0f} s now")
            faults.append(plant.stop_rank(ranks[rank], STOP_S, rank))
        except plant.PlantError as error:
            problems.append(f"LAMMPS: fault not planted: {error}")
        code = campaign.finish(process, 120 + 10 * options.seconds)
    finally:
        campaign.end_group(process)
        over.set()
        reader.join()
    if code != 0:
        problems.append(f"LAMMPS: exit code {code}")
    summary = read_summary(folder, problems)
    problems += [f"LAMMPS: {p}" for p in judge.conservation(summary, RANKS)]
    return summary, alerts, faults, begin_ns


def lost_of(summary):
    events = summary.get("events") or {}
    return sum(events.get(term, 0) for term in judge.TERMS[1:])


def print_table(rows):
    """The first row is the head."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for number, row in enumerate(rows):
        say("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())
        if number == 0:
            say("  " + "  ".join("-" * width for width in widths))


def seconds_into(ns, begin_ns):
    return f"{(ns - begin_ns) / 1e9:.2f} s"


def planted_against_found(alerts, faults, begin_ns, problems):
    """Prints the table; adds what is wrong to problems."""
    verdicts, others = judge.judge_faults(alerts, faults, GRACE_NS)
    rows = [("", "rank", "from", "for", "latency", "state of it")]
    for fault, verdict in zip(faults, verdicts):
        rows.append(("planted", str(fault["rank"]), seconds_into(fault["begin_ns"], begin_ns),
                     f"{(fault['end_ns'] - fault['begin_ns']) / 1e9:.2f} s", "", "stopped and continued"))
        first = next((a for at, a in judge.firings(alerts) if at - fault["begin_ns"] == verdict["latency_ns"]), None)
        if first is None:
            rows.append(("found", "-", "-", "-", "-", "no alert"))
            problems.append(f"the stop of rank {fault['rank']} was not found")
            continue
        resolved = next((a for _, a in alerts if a.get("id") == first.get("id") and a.get("status") == "resolved"), None)
        length, state = "-", "still firing at the end"
        if resolved and isinstance(resolved.get("end_ns"), int):
            length = f"{(resolved['end_ns'] - first['onset_ns']) / 1e9:.2f} s"
            state = f"{first['kind']}, resolved at {seconds_into(resolved['end_ns'], begin_ns)}"
        else:
            problems.append(f"the alert for rank {fault['rank']} was not resolved")
        causes = ", ".join(first.get("likely_cause") or ["nobody"])
        rows.append(("found", causes, seconds_into(first["onset_ns"], begin_ns), length,
                     f"{verdict['latency_ns'] / 1e6:.0f} ms", state))
        if not verdict["cause_correct"]:
            problems.append(f"the stop of rank {fault['rank']} was blamed on {causes}")
    print_table(rows)
    say("  from: seconds after the ranks were there; latency: from the stop to the line in alerts.jsonl")
    for _, alert in others:
        say(f"  also: {alert.get('message') or alert.get('kind')}")


def phases_beside_sections(summary, sections):
    """HPCC's clock has whole seconds; where it says that a section began and ended in the same one, it was shorter."""
    phases = [p for p in summary.get("phases") or [] if isinstance(p.get("begin_ns"), int)]
    if not phases:
        say("  no phases")
        return
    zero = phases[0]["begin_ns"]
    rows = [("phase", "from", "to", "lasted", "sections that HPCC printed for this time (s, whole)")]
    for p in phases[:MOST_ROWS]:
        beside = [f"{s['section']} {s['begin_s'] - zero // 10**9}-{s['end_s'] - zero // 10**9}" for s in sections
                  if s["begin_s"] is not None and s["begin_s"] * 10**9 < p["end_ns"]
                  and max(s["end_s"] * 10**9, s["begin_s"] * 10**9 + 1) > p["begin_ns"]]
        name = p.get("name", "?") + (f" ({p['label']})" if p.get("label") else "")
        rows.append((name, seconds_into(p["begin_ns"], zero), seconds_into(p["end_ns"], zero),
                     f"{(p['end_ns'] - p['begin_ns']) / 1e9:.2f} s", ", ".join(beside) or "-"))
    print_table(rows)
    if len(phases) > MOST_ROWS:
        say(f"  ... and {len(phases) - MOST_ROWS} more in summary.json")


def print_events(name, summary):
    events = summary.get("events") or {}
    summed = f" and {summary['summed']:,} summed in the process" if summary.get("summed") else ""
    say(f"  {name:<8}{events.get('produced', 0):>12,} events recorded{summed}, {lost_of(summary):,} lost")


def parse_options(arguments):
    parser = argparse.ArgumentParser(formatter_class=argparse.RawDescriptionHelpFormatter, description=__doc__)
    parser.add_argument("--build", default="build/release", help="build folder (build/release)")
    parser.add_argument("--out", default="margay-try", help="folder for what is left, replaced (margay-try)")
    parser.add_argument("--long", action="store_true", help="longer jobs: HPCC's sections have time to show")
    parser.add_argument("--mpirun", default=shutil.which("mpirun.openmpi") or "mpirun")
    parser.add_argument("--lmp", default=shutil.which("lmp") or "lmp")
    parser.add_argument("--hpcc", default=shutil.which("hpcc") or "hpcc")
    options = parser.parse_args(arguments)
    options.seconds = 24.0 if options.long else 14.0
    options.margay = os.path.abspath(os.path.join(options.build, "bin", "margay"))
    options.out = os.path.abspath(options.out)
    for program in (options.margay, options.mpirun, options.lmp, options.hpcc):
        if shutil.which(program) is None:
            parser.error(f"{program} is not there (config/try installs and builds it)")
    return options


def prepare_folder(path):
    """Makes the folder anew. One that is not ours is left alone."""
    mark = os.path.join(path, ".margay-try")
    if os.path.isdir(path) and os.listdir(path) and not os.path.exists(mark):
        sys.exit(f"first_look: {path} is there and was not made by this program")
    shutil.rmtree(path, ignore_errors=True)
    os.makedirs(path)
    with open(mark, "w", encoding="utf-8"):
        pass


def main(arguments=None):
    options = parse_options(arguments)
    prepare_folder(options.out)
    problems = []
    say()
    steps = max(200, round(options.seconds / seconds_a_step(options)))
    say(f"== 3/4  LAMMPS, {RANKS} ranks, {steps} steps (about {options.seconds:.0f} s), under margay run; half way a rank is "
        f"stopped for {STOP_S:.0f} s")
    if has_watch(options):
        say(f"        meanwhile, in another terminal:  {shown(options.margay)} watch")
    lammps_summary, alerts, faults, begin_ns = run_lammps(options, steps, problems)
    say()
    say("== LAMMPS: planted against found")
    if faults:
        planted_against_found(alerts, faults, begin_ns, problems)
    say()
    say(f"== 4/4  HPCC, {RANKS} ranks, under margay run ({'60 to 90 s' if options.long else 'about 20 s'} on 2 cores)")
    hpcc_summary, sections = run_hpcc(options, problems)
    say()
    say("== HPCC: the phases Margay found, beside the sections HPCC printed")
    phases_beside_sections(hpcc_summary, sections)
    say()
    say("== Events")
    for name, summary in (("LAMMPS", lammps_summary), ("HPCC", hpcc_summary)):
        print_events(name, summary)
        if lost_of(summary) != 0:
            problems.append(f"{name}: {lost_of(summary)} events were lost")
    say()
    for problem in problems:
        say(f"  WRONG: {problem}")
    say(f"== {'Found: the right rank, nothing lost.' if not problems else 'Not as it should be, see above.'}"
        f"  Everything is in {shown(options.out)}/")
    margay = shown(options.margay)
    viewer = os.path.join(os.path.dirname(options.margay), "margay-viewer")
    if os.path.exists(viewer):
        archive = shown(os.path.join(options.out, "lammps", "archive"))
        say(f"   To look at it: {shown(viewer)} {archive}    (or {margay} render {archive} -o lammps.png)")
    say(f"   Next: {margay} run -- mpirun -np 4 YOUR-PROGRAM    and beside it: {margay} watch, {margay} status" +
        ("" if has_watch(options) else "  (both are built next)"))
    return 1 if problems else 0


if __name__ == "__main__":
    campaign.run_program(main)
