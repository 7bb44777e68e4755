"""What a campaign's run is judged by: pure functions from what was observed to a verdict.

Nothing here reads a file, a clock or a process. All times are nanoseconds. Formats are those of margay's alerts
(one JSON object a line) and of its --summary file.
"""
import math

# produced = the sum of the other six, per source; nothing may be in flight at the end.
TERMS = ("modelled", "late_dropped", "probe_dropped", "wire_lost", "rejected", "in_flight")
DETECTIONS = ("perturbation", "stall")


def _count(value):
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _law(where, counts):
    if not isinstance(counts, dict):
        return [f"{where}: no counts"]
    missing = [term for term in ("produced",) + TERMS if not _count(counts.get(term))]
    if missing:
        return [f"{where}: no count of {', '.join(missing)}"]
    total = sum(counts[term] for term in TERMS)
    problems = []
    if counts["produced"] != total:
        problems.append(f"{where}: produced {counts['produced']} but accounted for {total}")
    if counts["in_flight"] != 0:
        problems.append(f"{where}: {counts['in_flight']} in flight at the end")
    return problems


def conservation(summary, sources):
    """Problems with a summary's conservation law, [] if it holds. `sources` is how many there must be: a law over no
    sources, or over sources that produced nothing, would hold for nothing."""
    found = summary.get("sources")
    if not isinstance(found, list) or not all(isinstance(s, dict) for s in found):
        return ["summary: no sources"]
    problems = []
    if len(found) != sources:
        problems.append(f"summary: {len(found)} sources instead of {sources}")
    for source in found:
        problems += _law(str(source.get("resource")), source)
        if source.get("produced") == 0:
            problems.append(f"{source.get('resource')}: produced nothing")
    events = summary.get("events")
    problems += _law("events", events)
    if not problems:
        for term in ("produced",) + TERMS:
            total = sum(source[term] for source in found)
            if events[term] != total:
                problems.append(f"events: {term} {events[term]} but the sources have {total}")
    return problems


def _blames(alert, rank):
    causes = alert.get("likely_cause")
    return (isinstance(causes, list) and len(causes) > 0
            and all(isinstance(c, str) and c.endswith(f"/rank{rank}") for c in causes))


def firings(alerts):
    """First `firing` line of every alert, in order of arrival: later lines with the same id are updates."""
    seen = set()
    first = []
    for arrival, alert in alerts:
        if alert.get("status") != "firing":
            continue
        if "id" in alert:
            key = str(alert["id"])
            if key in seen:
                continue
            seen.add(key)
        first.append((arrival, alert))
    return first


def judge_faults(alerts, faults, grace_ns):
    """Matches alerts to faults planted by plant.stop_rank.

    Returns (verdicts, others): one verdict per fault, and the firing alerts that belong to none. An alert belongs to a
    fault if it is a detection that arrived between the fault's begin and its end plus grace_ns, or the next fault's
    begin if that is earlier. The first such alert gives the latency and the cause; `cause_correct` means that every
    likely cause ends with /rankR and that there is one. `alerts` > 1 means that one cause made several alerts.
    """
    faults = sorted(faults, key=lambda fault: fault["begin_ns"])
    remaining = firings(alerts)
    verdicts = []
    for index, fault in enumerate(faults):
        until = fault["end_ns"] + grace_ns
        if index + 1 < len(faults):
            until = min(until, faults[index + 1]["begin_ns"])
        matched, rest = [], []
        for entry in remaining:
            mine = entry[1].get("kind") in DETECTIONS and fault["begin_ns"] <= entry[0] < until
            (matched if mine else rest).append(entry)
        remaining = rest
        verdict = {"rank": fault["rank"], "begin_ns": fault["begin_ns"], "end_ns": fault["end_ns"],
                   "alerts": len(matched), "detected": bool(matched), "cause_correct": False,
                   "cause_correct_finally": False, "latency_ns": None, "kind": None, "likely_cause": None}
        if matched:
            arrival, alert = matched[0]
            latest = [a for _, a in alerts if a.get("id") == alert.get("id") and a.get("status") == "firing"][-1]
            verdict |= {"cause_correct": _blames(alert, fault["rank"]),
                        "cause_correct_finally": _blames(latest, fault["rank"]),
                        "latency_ns": arrival - fault["begin_ns"], "kind": alert["kind"],
                        "likely_cause": alert.get("likely_cause")}
        verdicts.append(verdict)
    return verdicts, remaining


def merge_phases(phases):
    """Neighbours of the same name are one phase."""
    merged = []
    for phase in phases:
        if merged and merged[-1]["name"] == phase["name"]:
            merged[-1]["end_ns"] = phase["end_ns"]
        else:
            merged.append({key: phase[key] for key in ("name", "begin_ns", "end_ns")})
    return merged


def judge_phases(truth, found, tolerance_ns):
    """Compares recognised phases with the true ones.

    Each true phase is matched with the recognised one it shares most time with. Judged are the edges between true
    phases (the outer ones touch start-up and shutdown, which are not the plan's), each against both the end of the one
    match and the begin of the next; that names correspond one to one, the same in every repetition; and that no
    recognised phase lies between the outer edges without being a match.
    """
    truth = merge_phases(truth)
    found = merge_phases(sorted(found, key=lambda phase: phase["begin_ns"]))
    problems = []
    matches = []
    for phase in truth:
        shared = [min(phase["end_ns"], f["end_ns"]) - max(phase["begin_ns"], f["begin_ns"]) for f in found]
        best = max(range(len(found)), key=lambda i: shared[i], default=None)
        matches.append(best if best is not None and shared[best] > 0 else None)
        if matches[-1] is None:
            problems.append(f"phase {phase['name']} at {phase['begin_ns']} was not recognised")
    errors = []
    for i in range(len(truth) - 1):
        left, right = matches[i], matches[i + 1]
        if left is None or right is None:
            errors.append(None)
            continue
        edge = truth[i + 1]["begin_ns"]
        if left == right:
            errors.append(None)
            problems.append(f"edge {truth[i]['name']}|{truth[i + 1]['name']} at {edge} was not seen")
            continue
        error = max(found[left]["end_ns"] - edge, found[right]["begin_ns"] - edge, key=abs)
        errors.append(error)
        if abs(error) > tolerance_ns:
            problems.append(f"edge {truth[i]['name']}|{truth[i + 1]['name']} at {edge} is off by {error} ns")
    names = {}
    for phase, match in zip(truth, matches):
        if match is not None:
            names.setdefault(phase["name"], set()).add(found[match]["name"])
    for name, recognised in names.items():
        if len(recognised) > 1:
            problems.append(f"phase {name} was given several names: {', '.join(sorted(recognised))}")
    for recognised in sorted({r for group in names.values() for r in group}):
        sharing = sorted(name for name, group in names.items() if recognised in group)
        if len(sharing) > 1:
            problems.append(f"phases {', '.join(sharing)} share the name {recognised}")
    if truth:
        extra = [f for i, f in enumerate(found) if i not in matches and f["end_ns"] > truth[0]["begin_ns"] + tolerance_ns
                 and f["begin_ns"] < truth[-1]["end_ns"] - tolerance_ns]
        problems += [f"phase {f['name']} at {f['begin_ns']} for {f['end_ns'] - f['begin_ns']} ns is none of the plan's"
                     for f in extra]
    else:
        problems.append("the program printed no phases")
    return {"problems": problems, "edge_errors_ns": errors,
            "names": {name: sorted(group) for name, group in sorted(names.items())}}


def percentile(values, fraction):
    """Nearest-rank percentile of a list, None if it is empty."""
    if not values:
        return None
    return sorted(values)[max(0, math.ceil(fraction * len(values)) - 1)]
