"""Alerts against faults, and what comes of it. Pure functions; times are nanoseconds.

An alert belongs to a fault if [onset, end] overlaps the fault's time widened by two slices, and it began to fire no earlier than two
slices before it (the rules of tests/bench/detect). Kinds: perturbation and stall. One that belongs to none is a false alarm.
A fault is found if an alert belongs to it, and blamed rightly if the first of them names a rank that it was to hurt. One without a
measurable effect, or that hurt all alike, is neither found nor missed: it is left out, and so are the alerts that belong to it.
"""
import math
import random
import re

DETECTIONS = ("perturbation", "stall")
SLACK = 2  # slices


def gather(lines):
    """[alert] of the lines of an alerts file, in order: the first firing line, with `last` (the last line of it), `end_ns`."""
    alerts = {}
    for line in lines:
        if line.get("kind") not in DETECTIONS:
            continue
        alert = alerts.setdefault(line["id"], dict(line))
        alert["last"] = line
        alert["end_ns"] = line.get("end_ns")
    return list(alerts.values())


def ranks_of(paths, ranks):
    """Of paths of the hierarchy: a rank's own, or a node's with all ranks (of one machine) below."""
    out = set()
    for path in paths or []:
        hit = re.search(r"/rank(\d+)(/|$)", path)
        out |= {int(hit[1])} if hit else set(range(ranks))
    return out


def jaccard(a, b):
    return len(a & b) / len(a | b) if a | b else 1.0


def belongs(alert, fault, slice_ns):
    slack = SLACK * slice_ns
    end = alert["end_ns"]
    return (alert["onset_ns"] <= fault["end_ns"] + slack and (end is None or end >= fault["begin_ns"] - slack)
            and alert["detected_ns"] >= fault["begin_ns"] - slack)


def judge(alerts, faults, ranks, slice_ns, clock="emitted_wall_ns"):
    """Adds what was found to each fault; returns the false alarms. `clock`: the field that says when an alert was told
    (a replay's wall clock is another one: detected_ns)."""
    taken = set()
    for fault in faults:
        mine = [a for a in alerts if id(a) not in taken and belongs(a, fault, slice_ns)]
        taken |= {id(a) for a in mine}
        truth = set(fault["truth"])
        fault |= {"found": bool(mine), "alerts": [a["id"] for a in mine], "delay_slices": None,
                  "likely_cause": None, "right": False, "exact": False, "jaccard": None, "jaccard_last": None,
                  "alert_kind": None, "message": None}
        if mine:
            first = mine[0]
            named = ranks_of(first["likely_cause"], ranks)
            finally_named = set().union(*(ranks_of(a["last"]["likely_cause"], ranks) for a in mine))
            fault |= {"delay_slices": round((first[clock] - fault["begin_ns"]) / slice_ns, 2),
                      "likely_cause": sorted(named), "right": bool(named & truth), "exact": named == truth,
                      "jaccard": round(jaccard(named, truth), 3), "jaccard_last": round(jaccard(finally_named, truth), 3),
                      "alert_kind": first["kind"], "message": first["last"]["message"]}
    return [a for a in alerts if id(a) not in taken]


def shown(pictures, fault, ranks, slice_ns):
    """Adds whether the default picture has the fault as a part of its own: ranks of the truth and no other, half of its time.
    `seen`: somebody's part shares that time, of whatever ranks: where one is slow and does as ever, the others wait.
    Looked at is the first picture three seconds after it, or the last. `pictures`: lines of `archive_dump pictures`."""
    fault |= {"shown": False, "seen": False, "parts": None, "p": None}
    until = fault["end_ns"] + 3_000_000_000
    later = [p for p in pictures if p["watermark_ns"] >= until] or pictures[-1:]
    if not later:
        return
    picture, truth = later[0], set(fault["truth"])
    begin, end = fault["begin_ns"] // slice_ns, -(-fault["end_ns"] // slice_ns)
    for path, first, last in picture["parts"]:
        both, either = min(end, last + 1) - max(begin, first), max(end, last + 1) - min(begin, first)
        if 2 * both >= either:
            fault["seen"] = True
            fault["shown"] = fault["shown"] or ranks_of([path], ranks) <= truth
    fault |= {"parts": picture["count"], "p": picture["p"]}


def told(alert, began):
    """A false alarm as it is written down; `began`: when the job was in its steps."""
    return ({k: alert[k] for k in ("id", "kind", "onset_ns", "end_ns", "likely_cause")} |
            {"at_s": round((alert["onset_ns"] - began) / 1e9, 2), "message": alert["last"]["message"]})


def wilson(hits, count, z=1.96):
    """95 % interval of a proportion."""
    if count == 0:
        return 0.0, 1.0
    share = hits / count
    middle = (share + z * z / (2 * count)) / (1 + z * z / count)
    half = z / (1 + z * z / count) * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    return max(0.0, middle - half), min(1.0, middle + half)


def poisson(count, level=0.95):
    """Exact interval (Garwood) of the mean of which `count` were seen."""
    def at_most(mean, n):
        term = total = math.exp(-mean)
        for i in range(1, n + 1):
            term *= mean / i
            total += term
        return total

    def solve(holds):
        low, high = 0.0, 10.0 + 4.0 * count
        for _ in range(100):
            middle = (low + high) / 2
            low, high = (middle, high) if holds(middle) else (low, middle)
        return low
    tail = (1 - level) / 2
    lower = solve(lambda m: 1 - at_most(m, count - 1) < tail) if count else 0.0
    return lower, solve(lambda m: at_most(m, count) > tail)


def f1(hits, misses, false_alarms):
    total = 2 * hits + misses + false_alarms
    return 2 * hits / total if total else None


def is_fault(fault):
    """Has it hurt, and whom it was to hurt rather than everybody?"""
    return fault["effect"]["measurable"] and not fault["effect"].get("alike")


def counts(faults, false_alarms):
    """What the figures are made of. A hit is a fault that was found; `right` says of which the cause was right."""
    real = [f for f in faults if is_fault(f)]
    hits = [f for f in real if f["found"]]
    right = [f for f in hits if f["right"]]
    return {"planted": len(faults), "apart": len(faults) - len(real), "real": len(real), "found": len(hits),
            "right": len(right), "exact": sum(f["exact"] for f in hits), "false_alarms": false_alarms,
            "shown": sum(f.get("shown", False) for f in hits), "seen": sum(f.get("seen", False) for f in hits),
            "losses": [f["effect"]["loss"] for f in faults if f["effect"].get("loss") is not None],
            "delays": sorted(f["delay_slices"] for f in hits), "jaccards": [f["jaccard"] for f in hits],
            "alerts": [len(f["alerts"]) for f in hits],
            "f1": f1(len(hits), len(real) - len(hits), false_alarms),
            # A wrong blame is a miss and a false alarm.
            "f1_right": f1(len(right), len(real) - len(right), false_alarms + len(hits) - len(right))}


def f1_interval(runs, key, seed=1, times=2000):
    """95 %, by drawing runs with replacement. `runs`: [(faults, false alarms)]."""
    rng = random.Random(seed)
    values = []
    for _ in range(times):
        drawn = rng.choices(runs, k=len(runs))
        value = counts([f for faults, _ in drawn for f in faults], sum(n for _, n in drawn))[key]
        if value is not None:
            values.append(value)
    values.sort()
    return (values[int(0.025 * len(values))], values[int(0.975 * len(values))]) if values else (0.0, 1.0)


def median(values):
    values = sorted(values)
    middle = len(values) // 2
    return None if not values else values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) / 2
