"""What is planted where and when: a function of the seed and the options.

A campaign is a list of runs, a run a job with its placement and up to three faults. `plan()` gives the same list for the
same arguments (and number of cores, of which two are used).
"""
import random

# Two groups, each of its own random numbers: what is planted of one is the same with and without the other, so that seeds of before the
# second still say what they said. The second has what HPAS has beyond the first (README.md).
GROUPS = (("stop", "slow", "cpu", "memory", "disk"), ("cache", "bandwidth", "leak", "metadata", "network"))
KINDS = GROUPS[0] + GROUPS[1]
WORKLOADS = ("coupled", "halo", "files", "farm", "lammps")
FAULTS_A_RUN = 3
WARM_UP_S, FAULT_S, GAP_S = (8.0, 10.0), (3.0, 5.0), (4.0, 6.0)

# Ranks -> the core (first or second) of each. A core with several ranks is shared by yielding.
PLACEMENTS = ([0, 1], [0, 1, 0, 1], [0, 0, 1, 1], [0, 1, 1])
# Where the hog is beside, on a core of its own: of the ranks on the other one goes through memory, or some write files.
BESIDE = ([0, 0], [0, 0, 0])
BESIDE_SHARE = {"disk": 1, "metadata": 1, "memory": 0.34, "cache": 0.34, "bandwidth": 0.67}  # of faults; of the last three where ranks compute
LEAK_MIB_PER_S = (100, 400, 1600)  # HPAS' is the first
FARM_PLACEMENTS = ([0, 0, 1], [0, 0, 1, 1], [0, 1, 0, 1])  # the master is never alone on a core


def workloads_of(kind, wanted):
    """Those that this kind of fault is planted in. Only `files` uses the disk, and is seldom used for others."""
    if kind in ("disk", "metadata"):
        fitting = ["files"]
    else:
        fitting = ["coupled", "halo", "farm", "lammps"] * 2 + ["files"] * (kind != "network")
    return [w for w in fitting if w in wanted]


def plan(seed, count, kinds=KINDS, workloads=WORKLOADS, quiet=0):
    """[run], in the order in which they are done. ValueError where no kind fits a workload."""
    kinds = [k for k in kinds if workloads_of(k, workloads)]
    if not kinds and count:
        raise ValueError("no such fault is planted in such a workload")
    groups = [[k for k in kinds if k in group] for group in GROUPS]
    kinds = groups[0] + groups[1]
    shares = [sum(kinds[n % len(kinds)] in group for n in range(count)) if group else 0 for group in groups]
    runs = []
    for number, (group, share) in enumerate(zip(groups, shares)):
        # Runs without a fault are the first's.
        here = quiet if number == (0 if groups[0] or not groups[1] else 1) else 0
        if share or here:
            runs.append(plan_group(random.Random(f"{seed} {number}" if number else seed), share, group, workloads, here))
    if len(runs) == 2:
        runs = [random.Random(f"{seed} order").sample(runs[0] + runs[1], len(runs[0]) + len(runs[1]))]
    runs, fault_number = sum(runs, []), 0
    for number, run in enumerate(runs):
        run["run"] = number
        for fault in run["faults"]:
            fault["fault"] = fault_number
            fault_number += 1
    return runs


def plan_group(rng, count, kinds, workloads, quiet):
    """[run] of these kinds, without numbers."""
    by_workload = {}
    places = {k: rng.sample(workloads_of(k, workloads), len(workloads_of(k, workloads))) for k in kinds}
    for number in range(count):
        kind = kinds[number % len(kinds)]
        of_kind = places[kind]
        by_workload.setdefault(of_kind[number // len(kinds) % len(of_kind)], []).append(kind)
    runs = []
    for workload in WORKLOADS:
        faults = by_workload.get(workload, [])
        rng.shuffle(faults)
        # A hog beside wants a placement of its own (writing takes a core, too), the network a job that uses it.
        beside = [k for k in faults if BESIDE_SHARE.get(k) == 1 or
                  k in BESIDE_SHARE and workload in ("coupled", "halo") and rng.random() < BESIDE_SHARE[k]]
        network = [k for k in faults if k == "network"]
        for kind in beside + network:
            faults.remove(kind)
        for group, way in ((faults, None), (beside, "beside"), (network, "network")):
            for first in range(0, len(group), FAULTS_A_RUN):
                runs.append(make_run(rng, workload, group[first:first + FAULTS_A_RUN], way))
    watched = [w for w in WORKLOADS if w in workloads]
    for number in range(quiet):
        runs.append(make_run(rng, watched[number % len(watched)], [], None))
    rng.shuffle(runs)
    return runs


def make_run(rng, workload, kinds, way):
    """`way`: "beside" (the hog has a core of its own), "network" (messages go over TCP), or None."""
    beside = way == "beside"
    cores = rng.choice(BESIDE if beside else FARM_PLACEMENTS if workload == "farm" else PLACEMENTS)
    ranks = len(cores)
    run = {"workload": workload, "ranks": ranks, "cores": cores, "work_ms": rng.choice((2, 5, 10)), "streams": [],
           "writers": [], "faults": []}
    if way == "network":
        run["network"] = True
    if beside and workload == "files":
        run["writers"] = sorted(rng.sample(range(ranks), rng.randrange(1, ranks)))  # all would be a change of phase
    elif beside:
        run["streams"] = [rng.randrange(ranks)]
    elif workload in ("coupled", "halo", "farm") and rng.random() < 0.5:
        run["streams"] = list(range(ranks))
    elif workload == "files":
        core = rng.choice(cores)
        run["writers"] = [r for r in range(ranks) if cores[r] == core]
    at = rng.uniform(*WARM_UP_S)
    for kind in kinds:
        fault = make_fault(rng, run, kind, beside)
        fault["at_s"] = round(at, 3)
        fault["seconds"] = round(rng.uniform(*FAULT_S), 3)
        at += fault["seconds"] + rng.uniform(*GAP_S)
        run["faults"].append(fault)
    # What follows the last fault is a gap; a quiet run is as long as one of three faults.
    run["seconds"] = round(at if kinds else at + FAULTS_A_RUN * (sum(FAULT_S) + sum(GAP_S)) / 2, 3)
    return run


def make_fault(rng, run, kind, beside):
    """{kind, place, truth}: truth are the ranks that it is to hurt."""
    cores, farm = run["cores"], run["workload"] == "farm"
    workers = list(range(1 if farm else 0, len(cores)))
    if kind in ("stop", "slow"):
        rank = rng.choice(workers)
        fault = {"kind": kind, "rank": rank, "truth": [rank]}
        if kind == "slow":
            fault["share"] = round(rng.uniform(0.25, 0.6), 3)  # that is left to it of what it used before
        return fault
    if kind in ("disk", "metadata"):
        return {"kind": kind, "core": 1 - cores[0], "truth": list(run["writers"]), "beside": True}
    if kind == "network":
        rank = rng.choice(workers)
        return {"kind": kind, "rank": rank, "truth": [rank]}
    more = {"level": 3 if beside else 2} if kind == "cache" else {}
    if kind == "leak":
        more = {"mib_per_s": rng.choice(LEAK_MIB_PER_S)}
    if beside:
        return {"kind": kind, "core": 1 - cores[0], "truth": list(run["streams"]), "beside": True} | more
    core = cores[rng.choice(workers)]
    # A farm's master does next to nothing: what slows it hurts nobody.
    return {"kind": kind, "core": core, "truth": [r for r in workers if cores[r] == core]} | more
