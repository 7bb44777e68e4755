#!/usr/bin/env python3
"""Stands in for `margay run` in the campaign's own tests: same options, same files, no tracing. It finds stopped ranks
by looking at /proc every 5 ms, and takes phases from the truth file of margay-workload.

FAKE_MARGAY in the environment makes it wrong, one word each: cause (blames another rank), repeat (an alert line more,
with an id of its own), unbalanced (one event unaccounted), nosources, shift (phase edges off by 150 ms), names (a repeated
phase gets a new name), noise (one alert for nothing), garbage (a line that is not JSON), exit (exit code 3).
"""
import json
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import plant  # noqa: E402


def main(argv):
    wrong = os.environ.get("FAKE_MARGAY", "").split()
    if argv[1] != "run" or "--" not in argv:
        return 2
    split = argv.index("--")
    options = dict(zip(argv[2:split:2], argv[3:split:2]))
    if set(options) != {"--slice", "--archive", "--alerts", "--summary"}:
        return 2
    job = argv[split + 1:]
    np = int(job[job.index("-np") + 1])
    begin = time.time_ns()
    process = subprocess.Popen(job)
    count = 0

    with open(options["--alerts"], "a", encoding="utf-8", buffering=1) as alerts:
        def alert(status, number, cause):
            alerts.write(json.dumps({"id": f"a{number}", "kind": "stall", "status": status, "likely_cause": [cause],
                                     "emitted_wall_ns": time.time_ns()}) + "\n")

        firing = {}
        ranks = {}
        while process.poll() is None:
            if len(ranks) < np:
                ranks = plant.ranks_below(os.getpid(), None)
                ranks = {rank: pid for rank, pid in ranks.items() if pid != process.pid}
            for rank, pid in ranks.items():
                stopped = plant.state_of(pid) == "T"
                blamed = (rank + 1) % np if "cause" in wrong else rank
                if stopped and rank not in firing:
                    count += 1
                    firing[rank] = count
                    alert("firing", count, f"/host/rank{blamed}")
                    alert("firing", count, f"/host/rank{blamed}")  # an update: same id
                    if "repeat" in wrong:
                        alert("firing", f"{count}r", f"/host/rank{blamed}")
                elif not stopped and rank in firing:
                    alert("resolved", firing.pop(rank), f"/host/rank{blamed}")
            time.sleep(0.005)
        if "noise" in wrong:
            alert("firing", "noise", "/host/rank0")
        if "garbage" in wrong:
            alerts.write("firing: rank 0\n")

    phases = []
    if "--truth" in job:
        shift = 150_000_000 if "shift" in wrong else 40_000_000
        with open(job[job.index("--truth") + 1], encoding="utf-8") as file:
            truth = [entry for entry in map(json.loads, file) if entry["kind"] == "phase"]
        for i, phase in enumerate(truth):
            name = f"{phase['name']}{i}" if "names" in wrong else phase["name"].lower()
            phases.append({"name": name, "begin_ns": phase["begin_ns"] + shift, "end_ns": phase["end_ns"] + shift})
        phases.insert(0, {"name": "init", "begin_ns": begin, "end_ns": phases[0]["begin_ns"]})

    zero = {"late_dropped": 0, "probe_dropped": 0, "wire_lost": 0, "rejected": 0, "in_flight": 0}
    sources = [{"resource": f"/host/rank{rank}", "produced": 10, "modelled": 10} | zero for rank in range(np)]
    if "unbalanced" in wrong:
        sources[0]["modelled"] = 9
    events = {"produced": 10 * np, "modelled": sum(s["modelled"] for s in sources)} | zero
    code = 3 if "exit" in wrong else process.returncode
    with open(options["--summary"], "w", encoding="utf-8") as file:
        json.dump({"exit_code": code, "duration_ns": time.time_ns() - begin, "events": events,
                   "sources": [] if "nosources" in wrong else sources, "phases": phases, "alerts": count}, file)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv))
