"""What both converters share: a case is a Pajé trace with its truth, written as files.

A leaf's states are a list of (second, state), in order, each lasting until the next. Several may begin in one instant:
a visit of no time is a visit. Truths are in the format of the twelve development cases of the scorer.
"""
import json
import os

HEADER = """%EventDef PajeDefineContainerType 0
%       Alias string
%       Type string
%       Name string
%EndEventDef
%EventDef PajeDefineStateType 1
%       Alias string
%       Type string
%       Name string
%EndEventDef
%EventDef PajeDefineEntityValue 2
%       Alias string
%       Type string
%       Name string
%       Color color
%EndEventDef
%EventDef PajeCreateContainer 3
%       Time date
%       Alias string
%       Type string
%       Container string
%       Name string
%EndEventDef
%EventDef PajeDestroyContainer 4
%       Time date
%       Type string
%       Name string
%EndEventDef
%EventDef PajeSetState 5
%       Time date
%       Type string
%       Container string
%       Value string
%EndEventDef
"""
COLOURS = ["0.9 0.2 0.2", "0.2 0.7 0.2", "0.2 0.3 0.9", "0.9 0.8 0.2"]


def containers(leaves):
    """[(path, depth)] of all containers above and at the leaves, parents first."""
    out, seen = [], set()
    for leaf in leaves:
        parts = leaf.strip("/").split("/")
        for depth in range(len(parts)):
            path = "/" + "/".join(parts[:depth + 1])
            if path not in seen:
                seen.add(path)
                out.append((path, depth))
    return out


def write_trace(path, levels, states, leaves, visits, end):
    """visits: {leaf: [(second, state)]}; end: the trace's last second. Returns the number of events."""
    tree = containers(leaves)
    alias = {name: "c%d" % i for i, (name, _) in enumerate(tree)}
    value = {state: "v%d" % i for i, state in enumerate(states)}
    events = sorted(((at, alias[leaf], value[state]) for leaf in leaves for at, state in visits[leaf]),
                    key=lambda event: event[0])
    with open(path, "w", encoding="utf-8") as out:
        out.write(HEADER)
        for depth, level in enumerate(levels):
            out.write('0 L%d %s "%s"\n' % (depth, "L%d" % (depth - 1) if depth else "0", level))
        out.write('1 S L%d "STATE"\n' % (len(levels) - 1))
        for i, state in enumerate(states):
            out.write('2 v%d S "%s" "%s"\n' % (i, state, COLOURS[i]))
        for name, depth in tree:
            parent = alias.get(name.rsplit("/", 1)[0], "0")
            out.write('3 %.6f %s L%d %s "%s"\n' % (0, alias[name], depth, parent, name))
        for at, container, state in events:
            out.write("5 %.6f S %s %s\n" % (at, container, state))
        for name, depth in reversed(tree):
            out.write("4 %.6f L%d %s\n" % (end, depth, alias[name]))
    return len(events)


def write_case(folder, case, group, slice_s, levels, states, visits, end, perturbations, more):
    """Writes traces/CASE.trace and truth/CASE.json, and enters the case in index.json; the first state is the idle one."""
    os.makedirs(os.path.join(folder, "traces"), exist_ok=True)
    os.makedirs(os.path.join(folder, "truth"), exist_ok=True)
    leaves = list(visits)
    trace, truth = "traces/%s.trace" % case, "truth/%s.json" % case
    events = write_trace(os.path.join(folder, trace), levels, states, leaves, visits, end)
    whole = {"case": case, "group": group, "trace": trace, "duration_s": end, "slice_s": slice_s,
             "hierarchy_levels": levels, "leaves": len(leaves), "leaf_paths": leaves, "states": states,
             "events": events, "idle_states": states[:1], "perturbations": perturbations, "clean": not perturbations}
    whole.update(more)
    with open(os.path.join(folder, truth), "w", encoding="utf-8") as out:
        json.dump(whole, out)
    enter(folder, {"case": case, "group": group, "trace": trace, "truth": truth, "clean": not perturbations})


def enter(folder, entry):
    path = os.path.join(folder, "index.json")
    index = []
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            index = json.load(file)
    index = sorted([e for e in index if e["case"] != entry["case"]] + [entry], key=lambda e: e["case"])
    with open(path, "w", encoding="utf-8") as out:
        json.dump(index, out, indent=1)
        out.write("\n")
