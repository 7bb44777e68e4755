#!/usr/bin/env python3
"""Margay at work on a media player: a film is made, and played in real time twice under `margay run --gst-debug`. The
first time (A) nothing disturbs it; the second time (B) it has only a tenth of a CPU, from 15 s on, for 5 s, as under a
limit that a container sets: in each 100 ms it may run for 10. Then both are shown side by side, and what Margay found is
put beside what was done and what the player itself says of it: the frames that it dropped because they were late.

  gstreamer_look.py --build build/release --out margay-try

OUT is made anew: film.mkv, and A/ and B/ with the player's messages (messages.txt), archive, alerts (alerts.jsonl), summary
(summary.json) and, where Qt is installed, a picture. Run by config/try --gstreamer, which builds first.

Exit code: 0 if the player dropped frames in B, this was found in B while the limit lasted, on a thread of the player, with
nothing found at that time in A, and no event was lost; 1 if not; 2 for a wrong call or a missing program.
"""
import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time

import campaign
import plant
from first_look import lost_of, prepare_folder, print_table, read_summary, say, shown, start

FILM_S, RATE = 25, 25
LOAD_AT_S, LOAD_S = 15, 5
LIMIT_MS, LIMIT_OF_MS = 10, 100
LEAST_DROPPED = RATE  # of a load that hurts: a second of the film
GRACE_NS = 2_000_000_000
FILM = ["-q", "videotestsrc", f"num-buffers={FILM_S * RATE}", "pattern=zone-plate", "kx2=10", "ky2=10", "kt=20", "!",
        f"video/x-raw,width=1280,height=720,framerate={RATE}/1", "!", "jpegenc", "!", "matroskamux", "name=film", "!",
        "filesink", "location=film.mkv", "audiotestsrc", f"num-buffers={FILM_S * 44100 // 1024}", "wave=ticks", "!",
        "audio/x-raw,rate=44100", "!", "audioconvert", "!", "vorbisenc", "!", "film."]
# With -m the player tells of each frame that is dropped, by the decoder or by the screen: 20 ms are what screens allow.
PLAY = ["-m", "filesrc", "location=../film.mkv", "!", "matroskademux", "name=film", "film.", "!", "queue", "!", "jpegdec",
        "!", "videoconvert", "!", "video/x-raw,format=RGB", "!", "fakesink", "sync=true", "qos=true", "max-lateness=20000000",
        "film.", "!", "queue", "!", "vorbisdec", "!", "audioconvert", "!", "fakesink", "sync=true"]


def play(options, name, load, problems):
    """(begin_ns, when the load began and ended or None)"""
    folder = os.path.join(options.out, name)
    os.mkdir(folder)
    command = [options.margay, "run", "--gst-debug", "--slice", "100ms", "--name", f"player-{name}", "--archive",
               os.path.join(folder, "archive"), "--alerts", os.path.join(folder, "alerts.jsonl"), "--summary",
               os.path.join(folder, "summary.json"), "--", "sh", "-c", 'exec "$0" "$@" >messages.txt', options.gst] + PLAY
    begin_ns = time.time_ns()
    process = start(command, folder)
    times = None
    try:
        if load:
            time.sleep(LOAD_AT_S)
            try:
                times = disturb(options, folder, process.pid)
            except plant.PlantError as error:
                problems.append(f"{name}: {error}")
        code = campaign.finish(process, 60 + FILM_S)
    finally:
        campaign.end_group(process)
    if code != 0:
        problems.append(f"{name}: the player ended with exit code {code}")
    return begin_ns, times


def disturb(options, folder, job_pid):
    """When it began and ended."""
    say(f"try: {planted_words(options)}, for {LOAD_S} s, now")
    if not options.load:
        fault = plant.limit(player_below(job_pid), LOAD_S, LIMIT_MS, LIMIT_OF_MS)
        return fault["begin_ns"], fault["end_ns"]
    hog = start(options.load, folder, stderr=subprocess.DEVNULL)
    try:
        begin_ns = time.time_ns()
        time.sleep(LOAD_S)
    finally:
        campaign.end_group(hog)
    return begin_ns, time.time_ns()


def planted_words(options):
    return f"the load '{shlex.join(options.load)}'" if options.load else f"the player may run for {LIMIT_MS} of each {LIMIT_OF_MS} ms"


def player_below(pid):
    for child in plant.descendants(pid):
        try:
            if os.path.basename(os.readlink(f"/proc/{child}/exe")).startswith("gst-launch"):
                return child
        except OSError:
            pass
    raise plant.PlantError("the player is not there any more")


def dropped_of(options, name):
    """Where in the film the frames are that the player dropped, by its own messages: seconds, in order."""
    with open(os.path.join(options.out, name, "messages.txt"), encoding="utf-8", errors="replace") as file:
        told = re.findall(r"\(qos\): .*\btimestamp=\(guint64\)(\d+)", file.read())
    return sorted({int(ns) / 1e9 for ns in told})


def dropped_words(dropped):
    if not dropped:
        return f"none of {FILM_S * RATE} frames"
    return f"{len(dropped)} of {FILM_S * RATE} frames, from {dropped[0]:.1f} s to {dropped[-1]:.1f} s of the film"


def alerts_of(options, name):
    """The first and the last line of each alert."""
    found = {}
    with open(os.path.join(options.out, name, "alerts.jsonl"), encoding="utf-8") as file:
        for line in file:
            alert = json.loads(line)
            found.setdefault(alert["id"], [alert, alert])[1] = alert
    return sorted(found.values(), key=lambda a: a[0]["onset_ns"])


def seconds(ns):
    return f"{ns / 1e9:5.1f} s"


def phases_of(summary):
    phases = [p for p in summary.get("phases") or [] if isinstance(p.get("begin_ns"), int)]
    zero = phases[0]["begin_ns"] if phases else 0
    return [f"{seconds(p['begin_ns'] - zero)}  {p['name']:4}  {seconds(p['end_ns'] - p['begin_ns'])}" for p in phases]


def side_by_side(summaries, alerts, begins):
    rows = [("A: nothing disturbs it", f"B: disturbed from {LOAD_AT_S} s on, for {LOAD_S} s")]
    left, right = (phases_of(s) for s in summaries)
    rows.append(("from     phase  lasted", "from     phase  lasted"))
    for i in range(max(len(left), len(right))):
        rows.append((left[i] if i < len(left) else "", right[i] if i < len(right) else ""))
    print_table(rows)
    say()
    for name, found, begin in zip("AB", alerts, begins):
        if not found:
            say(f"  {name}: no alert")
        for first, last in found:
            state = seconds(last["end_ns"] - begin).strip() if last.get("end_ns") else "the end"
            say(f"  {name}: {seconds(first['onset_ns'] - begin).strip()} to {state}: {last['message']}")


def pictures(options):
    for name in "AB":
        target = os.path.join(options.out, name, "picture.png")
        made = subprocess.run([options.margay, "render", os.path.join(options.out, name, "archive"), "-o", target],
                              env=campaign.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, check=False)
        if made.returncode == 0:
            say(f"  the picture of {name}: {shown(target)}")


def judge(options, alerts, times, problems):
    """Did it hurt in B, was it found there, on a thread of the player, and nothing at that time in A?"""
    dropped = [dropped_of(options, name) for name in "AB"]
    for name, frames in zip("AB", dropped):
        say(f"  {name}: the player dropped {dropped_words(frames)}")
    say()
    if len(dropped[1]) < LEAST_DROPPED:
        problems.append(f"B: what was done did not hurt the player: it dropped {len(dropped[1])} frames")
    if times is None:
        return
    begin, end = times
    inside = [first for first, _ in alerts[1] if begin - 10**9 // 4 <= first["onset_ns"] <= end + GRACE_NS]
    rows = [("", "from", "for", "whose")]
    rows.append(("planted", "0.0 s", f"{(end - begin) / 1e9:.1f} s", planted_words(options)))
    for alert in inside:
        last = next(last for first, last in alerts[1] if first["id"] == alert["id"])
        lasted = f"{(last['end_ns'] - alert['onset_ns']) / 1e9:.1f} s" if last.get("end_ns") else "-"
        rows.append(("found", f"{(alert['onset_ns'] - begin) / 1e9:.1f} s", lasted, ", ".join(alert["resources"])))
    print_table(rows)
    if not inside:
        problems.append("it was not found in B")
    elif not any("queue" in r or "matroskademux" in r for a in inside for r in a["resources"]):
        problems.append("it was found in B, but not on a thread that plays")
    # The same stretch of the film.
    offset = [first for first, _ in alerts[0] if LOAD_AT_S * 10**9 <= first["onset_ns"] - alerts[2] <=
              (LOAD_AT_S + LOAD_S) * 10**9]
    if offset:
        problems.append(f"A: {offset[0]['message']}: nothing was done there")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--load", default="", metavar="COMMAND",
                        help="disturb it with this command instead, e.g. 'chrt --fifo 20 stress-ng --cpu 16 --quiet': real-time "
                        "processes, which need root")
    options = parser.parse_args()
    options.margay = os.path.join(os.path.abspath(options.build), "bin", "margay")
    options.out = os.path.abspath(options.out)
    options.gst = shutil.which("gst-launch-1.0")
    try:
        options.load = shlex.split(options.load)
    except ValueError as error:
        print(f"gstreamer_look: --load {options.load}: {error}", file=sys.stderr)
        return 2
    for program in ["gst-launch-1.0"] + options.load[:1]:
        if not shutil.which(program):
            print(f"gstreamer_look: {program} is missing (config/install-dependencies)", file=sys.stderr)
            return 2
    prepare_folder(options.out)
    problems = []
    say(f"\n== 3/4  A film of {FILM_S} s, and A: it is played, and nothing disturbs it")
    if subprocess.run([options.gst] + FILM, cwd=options.out, stdin=subprocess.DEVNULL, check=False).returncode != 0:
        print("gstreamer_look: the film cannot be made", file=sys.stderr)
        return 2
    begin_a, _ = play(options, "A", False, problems)
    say(f"\n== 4/4  B: the same, disturbed after {LOAD_AT_S} s")
    begin_b, times = play(options, "B", True, problems)
    summaries = [read_summary(os.path.join(options.out, name), problems) for name in "AB"]
    for name, summary in zip("AB", summaries):
        if lost_of(summary):
            problems.append(f"{name}: {lost_of(summary)} events were lost")
        if not (summary.get("events") or {}).get("produced"):
            problems.append(f"{name}: no event came")
    alerts = [alerts_of(options, name) for name in "AB"]
    say("\nSide by side (times since the first slice, of alerts since the start)\n")
    side_by_side(summaries, alerts, (begin_a, begin_b))
    say("\nWhat was done, and what was found (times since it began)\n")
    judge(options, alerts + [begin_a], times, problems)
    say()
    pictures(options)
    for problem in problems:
        say(f"  WRONG: {problem}")
    say(f"== {'It hurt the player, and was found, on a thread that plays; nothing lost.' if not problems else 'Not as it should be, see above.'}"
        f"  Everything is in {shown(options.out)}/")
    return 1 if problems else 0


if __name__ == "__main__":
    campaign.run_program(main)
