"""The samples as curves: SVG by hand, one panel for each measure, all over the same time."""
from xml.sax.saxutils import escape

WIDTH, HEIGHT, LEFT, RIGHT, TOP, GAP = 1000, 110, 90, 20, 40, 26
PANELS = (("rss_mib", "memory, MiB"), ("disk_mib", "archive, MiB"), ("descriptors", "descriptors"), ("threads", "threads"),
          ("lag_s", "lag, s"), ("behind_s", "load behind, s"), ("lost", "events lost"), ("viewers", "viewers"))


def svg(rows, events, title):
    end = max((r["t"] for r in rows), default=1.0) or 1.0
    x = lambda t: LEFT + (WIDTH - LEFT - RIGHT) * t / end
    height = TOP + len(PANELS) * (HEIGHT + GAP) + 20
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" font-family="sans-serif" font-size="11">',
           '<rect width="100%" height="100%" fill="white"/>',
           f'<text x="{LEFT}" y="20" font-size="14">{escape(title)}</text>',
           f'<text x="{WIDTH - RIGHT}" y="20" text-anchor="end" fill="#888">red: kill -9; grey: stopped for 3 s</text>']
    for i, (name, label) in enumerate(PANELS):
        top = TOP + i * (HEIGHT + GAP)
        points = [(r["t"], r[name]) for r in rows if name in r]
        most = max((v for _, v in points), default=1) or 1
        out.append(f'<text x="{LEFT - 8}" y="{top + HEIGHT / 2}" text-anchor="end">{label}</text>')
        out.append(f'<rect x="{LEFT}" y="{top}" width="{WIDTH - LEFT - RIGHT}" height="{HEIGHT}" fill="none" stroke="#ccc"/>')
        for at, what in events:
            colour = "#e99" if what == "restart" else "#ccc"
            out.append(f'<line x1="{x(at):.1f}" x2="{x(at):.1f}" y1="{top}" y2="{top + HEIGHT}" stroke="{colour}"/>')
        line = " ".join(f"{x(t):.1f},{top + HEIGHT - (HEIGHT - 8) * v / most:.1f}" for t, v in points)
        out.append(f'<polyline points="{line}" fill="none" stroke="#1667a8" stroke-width="1.3"/>')
        out.append(f'<text x="{LEFT + 4}" y="{top + 12}" fill="#888">{most:,.6g}</text>')
    for k in range(11):
        out.append(f'<text x="{x(end * k / 10):.1f}" y="{height - 8}" text-anchor="middle">{end * k / 10:.0f} s</text>')
    return "\n".join(out + ["</svg>"]) + "\n"
