"""What "flat" means, and a test that it can fail.

Samples of the warm-up, and those of a daemon younger than SETTLE (it reads its past and its caches fill anew), do not
count. A series is flat when both hold:
  - the median of the last third is at most STEP above that of the first third;
  - the line fitted to it (least squares) rises by at most RISE over the time that counts.
Each limit is a fraction of the first third's median and an absolute amount; the greater one holds.
"""
import dataclasses
import random
import statistics

WARM_UP = 0.2    # of the time
SETTLE = 15.0    # s
# name: (unit, step fraction, step amount, rise fraction, rise amount)
LIMITS = {
    "rss_mib": ("MiB", 0.10, 12, 0.15, 16),
    "descriptors": ("", 0.0, 10, 0.0, 12),
    "threads": ("", 0.0, 1, 0.0, 1),
    "disk_mib": ("MiB", 0.10, 8, 0.15, 12),
}


@dataclasses.dataclass
class Verdict:
    name: str
    unit: str
    first: float
    last: float
    most: float
    rise: float
    step_limit: float
    rise_limit: float
    good: bool
    why: str


def size(text):
    for unit, factor in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10), ("B", 1)):
        if text.endswith(unit):
            return float(text[:-len(unit)]) * factor
    raise ValueError(text)


def slope(points):
    mean_t = statistics.fmean(t for t, _ in points)
    mean_v = statistics.fmean(v for _, v in points)
    below = sum((t - mean_t) ** 2 for t, _ in points)
    return sum((t - mean_t) * (v - mean_v) for t, v in points) / below if below else 0.0


def judge_series(name, points):
    unit, step_fraction, step_amount, rise_fraction, rise_amount = LIMITS[name]
    if len(points) < 30:
        return Verdict(name, unit, 0, 0, 0, 0, 0, 0, False, f"only {len(points)} samples count")
    third = len(points) // 3
    first = statistics.median(v for _, v in points[:third])
    last = statistics.median(v for _, v in points[-third:])
    rise = slope(points) * (points[-1][0] - points[0][0])
    step_limit = max(step_fraction * first, step_amount)
    rise_limit = max(rise_fraction * first, rise_amount)
    why = []
    if last - first > step_limit:
        why.append("the last third lies above the first")
    if rise > rise_limit:
        why.append("it grows")
    return Verdict(name, unit, first, last, max(v for _, v in points), rise, step_limit, rise_limit, not why, ", ".join(why))


def judge(rows, seconds, budget_mib):
    kept = [r for r in rows if r["t"] >= WARM_UP * seconds and r["t"] <= seconds and r["age"] >= SETTLE]
    verdicts = [judge_series(name, [(r["t"], r[name]) for r in kept if name in r]) for name in LIMITS]
    most = max((r["disk_mib"] for r in rows), default=0.0)
    verdicts.append(Verdict("disk at any time", "MiB", 0, 0, most, 0, budget_mib, 0, most <= budget_mib,
                            "" if most <= budget_mib else "above limits.disk"))
    return verdicts


def table(verdicts):
    lines = [f"{'':18} {'first third':>12} {'last third':>12} {'most':>10} {'limit':>8} {'rise':>8} {'limit':>8}"]
    for v in verdicts:
        limit = v.step_limit if v.name == "disk at any time" else v.first + v.step_limit
        lines.append(f"{v.name:18} {v.first:12.1f} {v.last:12.1f} {v.most:10.1f} {limit:8.1f} {v.rise:8.1f} "
                     f"{v.rise_limit:8.1f}  {'flat' if v.good else 'NOT FLAT: ' + v.why} {v.unit if not v.good else ''}".rstrip())
    return "\n".join(lines)


def made_up(seconds, leak=None, amount=0.0, seed=1):
    """A healthy daemon's samples, with a leak of `amount` over the whole time in one of them."""
    rng = random.Random(seed)
    rows = []
    for t in range(seconds):
        row = {"t": float(t), "age": float(t % 40), "rss_mib": 90 + 6 * min(1, t / 30) + rng.uniform(-3, 3),
               "descriptors": 60 + rng.randint(-3, 3), "threads": 9, "disk_mib": min(160, t * 2) + rng.uniform(-8, 6)}
        if leak:
            row[leak] += amount * t / seconds
        rows.append(row)
    return rows


def self_test():
    bad = []
    for seconds in (300, 1800):
        for seed in range(20):
            if not all(v.good for v in judge(made_up(seconds, seed=seed), seconds, 192)):
                bad.append(f"a healthy series of {seconds} s, seed {seed}, is not taken as flat")
            for leak, amount in (("rss_mib", 40), ("descriptors", 30), ("threads", 4), ("disk_mib", 60)):
                found = {v.name: v for v in judge(made_up(seconds, leak, amount, seed), seconds, 192)}
                if found[leak].good:
                    bad.append(f"a leak of {amount} in {leak} over {seconds} s, seed {seed}, is not found")
        full = judge(made_up(seconds, "disk_mib", 60), seconds, 192)
        if full[-1].good:
            bad.append("an archive above its bound is not found")
    print("\n".join(bad) if bad else "the judge finds every leak put in, and none where none is")
    return 1 if bad else 0
