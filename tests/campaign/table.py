"""The table of a campaign: by kind, by workload, and together."""
import score


def percent(hits, count):
    if count == 0:
        return "-"
    low, high = score.wilson(hits, count)
    return f"{hits}/{count} {100 * low:.0f}-{100 * high:.0f}%"


def row(name, c):
    delay, loss = score.median(c["delays"]), score.median(c["losses"])
    alerts = c["alerts"]
    return [name, str(c["planted"]), "-" if loss is None else f"{100 * loss:.0f}%", str(c["apart"]), percent(c["found"], c["real"]),
            percent(c["right"], c["found"]), percent(c["seen"], c["found"]), percent(c["shown"], c["found"]), str(c["exact"]),
            f"{sum(c['jaccards']) / len(c['jaccards']):.2f}" if c["jaccards"] else "-",
            "-" if delay is None else f"{delay:.1f}", f"{c['delays'][-1]:.1f}" if c["delays"] else "-",
            f"{sum(alerts) / len(alerts):.1f}" if alerts else "-"]


def print_table(runs, faults):
    """`runs` and `faults` as the files have them."""
    head = ["", "planted", "lost", "apart", "found (95 %)", "right rank (95 %)", "seen (95 %)", "shown (95 %)", "exact", "Jaccard", "delay", "worst",
            "alerts"]
    rows = [head]
    for field in ("kind", "workload"):
        for value in sorted({f[field] for f in faults}):
            rows.append(row(value, score.counts([f for f in faults if f[field] == value], 0)))
    strong = [f for f in faults if score.is_fault(f) and f["effect"]["loss"] >= 0.25]
    rows.append(row("lost >= 25 %", score.counts(strong, 0)))
    both = [(f["kind"], f["workload"]) for f in faults]
    for kind, workload in sorted(set(both)):
        of_both = [f for f, b in zip(faults, both) if b == (kind, workload)]
        rows.append(row(f"{kind}, {workload}", score.counts(of_both, 0)))
    false_alarms = sum(len(r["false_alarms"]) for r in runs)
    total = score.counts(faults, false_alarms)
    rows.append(row("all", total))
    widths = [max(len(r[i]) for r in rows) for i in range(len(head))]
    print()
    for number, cells in enumerate(rows):
        texts = [cells[0].ljust(widths[0])] + [c.rjust(w) for c, w in zip(cells[1:], widths[1:])]
        print("  " + "  ".join(texts).rstrip())
        if number == 0:
            print("  " + "  ".join("-" * w for w in widths))
    print("  lost: the share of the hurt ranks' time, in the median of all planted; apart: without a measurable effect, or all ranks were hurt alike; found: of the others; right rank, seen (its time is a part's in the default picture), shown (the part of right ranks), exact, Jaccard, delay (slices, median and worst), "
          "alerts a fault: of those found")
    quiet = sum(r["quiet_seconds"] for r in runs)
    low, high = score.poisson(false_alarms)
    hours = max(1e-9, quiet / 3600)
    by_run = [([f for f in faults if f["run"] == r["run"]], len(r["false_alarms"])) for r in runs]
    print(f"  false alarms: {false_alarms} in {quiet / 60:.1f} minutes without faults, of {len(runs)} runs: "
          f"{false_alarms / hours:.1f} an hour ({low / hours:.1f} to {high / hours:.1f})")
    for key, text in (("f1", "found"), ("f1_right", "found and a right rank named")):
        if total[key] is not None:
            low, high = score.f1_interval(by_run, key)
            print(f"  F1, {text}: {total[key]:.3f} ({low:.3f} to {high:.3f})")
    if runs:
        print(f"  others took {100 * sum(r['others'] for r in runs) / len(runs):.0f} % of the cores on average, "
              f"{100 * max(r['others'] for r in runs):.0f} % at most; events lost: {sum(r['lost'] for r in runs)}")
