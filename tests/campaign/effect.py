"""What a fault did, by the job's own account: Margay has no part in it.

A step is (begin_ns, end_ns, own_ns): own is what a rank needed for it outside of MPI, or what LAMMPS needed for one step by its own
log. The loss of a fault is the share of its time that the hurt rank lost: 1 - usual time / time in it, of the time of its own or
of the whole step, whichever lost more: a rank that has yielded its core while it waits in MPI may lose its time there, when it does not get
it back. Usual is the mean of the quiet seconds before it and after it. It counts as measurable if it is 5 % at least, and the mean of
its half seconds is three standard errors above that of the quiet ones; for a stop, if no step ended for half of its time.
"""
import math
import struct

MEASURABLE, SIGMAS = 0.05, 3.0
BLOCK_NS = 500_000_000
AROUND_NS = 4_000_000_000  # of quiet time before and after
SETTLE_NS = 500_000_000    # after a fault
APART = 1.5  # times what a bystander loses, at least, or the fault hits all alike


def read_steps(path):
    """Of a file that campaign-job has written."""
    with open(path, "rb") as file:
        return list(struct.iter_unpack("=qqq", file.read()))


def lammps_steps(lines, every):
    """[step] of LAMMPS' thermo lines: (arrival_ns, step number, seconds since the run's begin), one each `every` steps. Its
    clock is placed by the line that was seen soonest after it was written."""
    if not lines:
        return []
    zero = min(arrival - round(seconds * 1e9) for arrival, _, seconds in lines)
    times = [zero + round(seconds * 1e9) for _, _, seconds in lines]
    return [(a, b, (b - a) // every) for a, b in zip(times, times[1:])]


def own(step):
    return step[2]


def whole(step):
    return step[1] - step[0]


def mean_of(steps, time):
    return sum(map(time, steps)) / len(steps) if steps else None


def blocks(steps, begin, end, time):
    """Mean times of the whole blocks of this stretch."""
    out = []
    for at in range(begin, end - BLOCK_NS + 1, BLOCK_NS):
        mean = mean_of([s for s in steps if at <= s[1] < at + BLOCK_NS], time)
        if mean is not None:
            out.append(mean)
    return out


def longest_without_step(steps, begin, end):
    """Share of [begin, end) in which, at a stretch, no step ended."""
    marks = [begin] + [s[1] for s in steps if begin <= s[1] < end] + [end]
    return max(b - a for a, b in zip(marks, marks[1:])) / (end - begin)


def loss_of(steps, fault, others, times=(own, whole)):
    """{loss, measurable} of one rank; None where it cannot be told. `others` are the (begin, end) of the other faults."""
    begin, end = fault["begin_ns"], fault["end_ns"]
    if fault["kind"] == "stop":
        share = longest_without_step(steps, begin, end)
        return {"loss": round(share, 3), "measurable": share >= 0.5}
    before = max([begin - AROUND_NS] + [e + SETTLE_NS for _, e in others if e <= begin])
    after = min([end + SETTLE_NS + AROUND_NS] + [b for b, _ in others if b >= end])
    found = []
    for time in times:
        quiet = blocks(steps, before, begin, time) + blocks(steps, end + SETTLE_NS, after, time)
        if len(quiet) < 4:
            return None
        during = mean_of([s for s in steps if begin <= s[1] < end], time)
        if during is None:  # no step ended: all of it
            return {"loss": 1.0, "measurable": True}
        usual = sum(quiet) / len(quiet)
        variance = sum((q - usual) ** 2 for q in quiet) / (len(quiet) - 1)
        error = math.sqrt(variance * (1 / len(quiet) + 1 / max(1, len(blocks(steps, begin, end, time)))))
        loss = 1 - usual / during
        found.append({"loss": round(loss, 3), "measurable": loss >= MEASURABLE and during - usual >= SIGMAS * error})
    return max(found, key=lambda f: (f["measurable"], f["loss"]))


def effect(steps_by_rank, fault, others):
    """{loss: the greatest of the ranks of the truth, measurable: of any of them, by_rank, bystanders: what others lost of the
    time of their own, alike: nearly as much}. The key None of steps_by_rank stands for the whole job."""
    by_rank = {}
    for rank in fault["truth"]:
        steps = steps_by_rank.get(rank, steps_by_rank.get(None))
        if steps:
            by_rank[rank] = loss_of(steps, fault, others)
    bystanders = {r: loss_of(steps, fault, others, (own,)) for r, steps in steps_by_rank.items()
                  if r is not None and r not in fault["truth"] and steps}
    known = [e for e in by_rank.values() if e]
    loss = max((e["loss"] for e in known), default=None)
    most = max((e["loss"] for e in bystanders.values() if e and e["measurable"]), default=0)
    return {"loss": loss, "measurable": any(e["measurable"] for e in known),
            "alike": fault["kind"] != "stop" and loss is not None and loss < APART * most,
            "by_rank": {str(r): e["loss"] for r, e in by_rank.items() if e},
            "bystanders": {str(r): e["loss"] for r, e in bystanders.items() if e and e["measurable"]}}
