"""GStreamer's debug log, read live: functions are states, threads are resources."""
import collections
import contextlib
import csv
import os
import re
import shutil
import signal
import subprocess
import sys
import textwrap
import time
import unittest

from e2e import E2eTest, LONG, MARGAY, WORKLOADS, dump, end_process, nightly, read_text, wait_for, plant

# Writes a log as GStreamer does, of two threads that take turns, and the same lines into a file of its own.
WRITER = textwrap.dedent("""
    import os, sys, time
    begin = time.monotonic_ns()
    pid = os.getpid()
    log_name = os.environ["GST_DEBUG_FILE"].replace("%p", str(pid)).replace("%r", "4711")  # as GStreamer does
    pace, longest = int(os.environ.get("PACE", "10")), 0
    with open(log_name, "w") as log, open("copy", "w") as copy:
        for i in range(int(sys.argv[1])):
            at = time.monotonic_ns() - begin
            line = (f"0:00:{at // 10**9:02}.{at % 10**9:09} {pid} 0x{(i % 2) + 1:x} DEBUG     GST_X "
                    f"f.c:{i}:function{i % 7}:<o> text {i}\\n")
            if i % 50 == 49:
                line += "and more of it\\n"
            before = time.monotonic_ns()
            log.write(line)
            log.flush()
            longest = max(longest, time.monotonic_ns() - before)
            copy.write(line)
            if i % pace == 0:
                time.sleep(0.002)
                while i == 5000 and os.path.exists("hold"):
                    time.sleep(0.01)
    print("longest write", longest, flush=True)
    assert os.environ["GST_DEBUG"] == os.environ.get("EXPECTED", "*:6"), os.environ["GST_DEBUG"]
""")


def visits_of(run):
    visits = collections.defaultdict(collections.Counter)
    for row in csv.DictReader(dump("cells", run.archive).splitlines()):
        if row["state"] not in ("Absent", "Unknown", "Compute"):
            visits[row["leaf"]][row["state"]] += int(row["visits"])
    return visits


def account_of_lines(run):
    """(lines read, became states, further text, not understood, left out, dropped) as the reader's last words have them."""
    found = re.findall(r"GStreamer: (\d+) lines: (\d+) became states, (\d+) were further text, (\d+) could not be understood, "
                       r"(\d+) left out, (\d+) were dropped before they were read", read_text(os.path.join(run.archive, "log")))
    return tuple(map(int, found[-1]))


class GStreamer(E2eTest):
    def write(self, lines, **more):
        with open(os.path.join(self.place, "writer.py"), "w", encoding="utf-8") as file:
            file.write(WRITER)
        return self.run_margay([shutil.which("python3"), "writer.py", str(lines)], flags=["--gst-debug"], **more)

    def test_every_line_is_a_visit(self):
        run = self.write(5000)
        self.assertEqual(run.wait(), 0, run.stderr)
        self.check_conservation(run, 2)
        self.check_cells(run)
        self.check_archive(run)
        self.assertIn("GStreamer: 5100 lines: 5000 became states, 100 were further text, 0 could not be understood, 0 left out, 0 were "
                      "dropped before they were read",
                      read_text(os.path.join(run.archive, "log")))
        visits = visits_of(run)
        self.assertEqual(len(visits), 2)
        counts = [visits[leaf] for leaf in sorted(visits)]
        for thread in (0, 1):
            for function in range(7):
                expected = sum(1 for i in range(5000) if i % 2 == thread and i % 7 == function)
                self.assertEqual(counts[thread][f"function{function}"], expected, (thread, function))

    def test_a_reader_that_is_stopped_is_not_waited_for(self):
        # Far more than is kept for it: 600,000 lines of 70 bytes and more, 32 MiB.
        lines, hold = 600_000, os.path.join(self.place, "hold")
        with open(hold, "w", encoding="utf-8"):
            pass
        run = self.write(lines, env={"PACE": "1000"})
        reader = wait_for(lambda: run.child("margay-gst"), "the reader")
        wait_for(lambda: run.produced_so_far() > 1000, "events")
        end_process(reader, signal.SIGSTOP)
        wait_for(lambda: plant.state_of(reader) == "T", "the reader is stopped")
        os.unlink(hold)
        most = 0

        def kept():
            nonlocal most
            folder = os.path.join(run.control_directory(), "gst")
            with contextlib.suppress(OSError):
                most = max(most, sum(os.stat(os.path.join(folder, name)).st_blocks * 512 for name in os.listdir(folder)))
            return "longest write" in run.stdout
        # `margay run` has the reader go on when the job has ended, and not before.
        wait_for(kept, "the program writes to its end", poll=0.002)
        self.assertEqual(run.wait(), 0, run.stderr)
        read, states, text, bad, left_out, dropped = account_of_lines(run)
        print(f"  {read} lines read, {dropped} dropped; {most >> 20} MiB kept; {run.stdout.strip()} ns", flush=True)
        self.assertEqual(read + dropped, lines + lines // 50)
        self.assertEqual((read, bad, left_out), (states + text, 0, 0))
        self.assertGreater(dropped, 0)
        self.assertLess(most, 64 << 20)
        # Where they are counted: the account, the last line.
        events = run.summary["events"]
        self.assertEqual(events["probe_dropped"], 2 * dropped)
        # Those that had waited so long that their slices could no longer be amended are late.
        self.assertEqual(events["produced"], events["modelled"] + events["late_dropped"] + events["probe_dropped"], events)
        self.assertRegex(run.stderr, r"[\d,]+ lost; ")

    def begin_unread(self):
        """A program that writes its log while its reader is stopped, which has not begun with it."""
        with open(os.path.join(self.place, "writer.py"), "w", encoding="utf-8") as file:
            file.write(WRITER)
        run = self.run_margay(["sh", "-c", f"until [ -e go ]; do sleep 0.01; done; exec {shutil.which('python3')} writer.py 2000"],
                              flags=["--gst-debug"])
        reader = wait_for(lambda: run.child("margay-gst"), "the reader")
        end_process(reader, signal.SIGSTOP)
        wait_for(lambda: plant.state_of(reader) == "T", "the reader is stopped")
        with open(os.path.join(self.place, "go"), "w", encoding="utf-8"):
            pass
        wait_for(lambda: "longest write" in run.stdout, "the program has written")
        return run, reader

    def test_a_reader_that_begins_late_is_waited_for(self):
        run, reader = self.begin_unread()
        # `margay run` has it go on again and again, and asks the daemon for the end after a second of no other reason.
        until = time.monotonic() + 3
        while time.monotonic() < until:
            end_process(reader, signal.SIGSTOP)
        end_process(reader, signal.SIGCONT)
        self.assertEqual(run.wait(), 0, run.stderr)
        self.assertEqual(account_of_lines(run), (2040, 2000, 40, 0, 0, 0))
        self.check_conservation(run, 2)

    @nightly("it waits for as long as `margay run` does")
    def test_a_reader_that_does_not_begin_is_told(self):
        run, reader = self.begin_unread()
        while run.running:
            if reader := run.child("margay-gst"):
                end_process(reader)
        self.assertEqual(run.wait(), 0, run.stderr)
        self.assertIn("GStreamer's log was not read", run.stderr)
        self.assertFalse(run.summary["complete"], run.summary)

    def test_several_programs_write_at_once(self):
        with open(os.path.join(self.place, "writer.py"), "w", encoding="utf-8") as file:
            file.write(WRITER)
        python = shutil.which("python3")
        run = self.run_margay(["sh", "-c", " & ".join([f"{python} writer.py 2000"] * 3) + " & wait"], flags=["--gst-debug"])
        self.assertEqual(run.wait(), 0, run.stderr)
        self.assertEqual(account_of_lines(run), (6120, 6000, 120, 0, 0, 0))
        self.assertEqual(len(run.summary["sources"]), 6)
        self.check_conservation(run, 6)

    def test_what_the_user_has_set_goes_before(self):
        run = self.write(10, env={"GST_DEBUG": "3", "EXPECTED": "3"})
        self.assertEqual(run.wait(), 0, run.stderr)

    def test_a_program_that_writes_no_log_is_told(self):
        run = self.run_margay(["/bin/true"], flags=["--gst-debug"])
        self.assertEqual(run.wait(), 0, run.stderr)
        self.assertIn("no GStreamer program was seen", run.stderr)

    def test_a_real_player(self):
        gst = shutil.which("gst-launch-1.0")
        if gst is None:
            self.skipTest("gst-launch-1.0 is not installed")
        # A machine's first player starts a scanner of plugins as well, which is a source of its own; so does each one of a
        # user who has no home in which its findings are kept.
        self.environment["GST_REGISTRY"] = os.path.join(self.place, "registry")
        subprocess.run([gst, "--version"], env=self.environment, capture_output=True, timeout=LONG, check=True)
        run = self.run_margay([gst, "-q", "videotestsrc", "num-buffers=50", "!", "video/x-raw,width=160,height=120,framerate=25/1",
                               "!", "jpegenc", "!", "queue", "!", "jpegdec", "!", "fakesink", "sync=true"], flags=["--gst-debug"])
        self.assertEqual(run.wait(), 0, run.stderr)
        self.check_conservation(run, 3)
        self.check_archive(run)
        threads = sorted(s["resource"].rsplit("/", 1)[1] for s in run.summary["sources"])
        self.assertEqual(threads, ["main", "queue0:src", "videotestsrc0:src"])
        # The sink waits for the clock: 50 frames at 25 a second.
        waited = collections.Counter()
        for row in csv.DictReader(dump("cells", run.archive).splitlines()):
            waited[row["state"]] += int(row["duration_ns"]) / 1e9
        self.assertGreater(waited["gst_system_clock_id_wait_jitter_unlocked"], 1.0)

    @nightly("two films are played in real time, on a machine that leaves them alone")
    def test_a_thread_that_plays_is_named_where_frames_are_dropped(self):
        # config/try --gstreamer without its build: fails, too, where the player drops no frames.
        build = os.path.dirname(os.path.dirname(MARGAY))
        look = subprocess.run([sys.executable, "-B", os.path.join(WORKLOADS, "gstreamer_look.py"), "--build", build, "--out",
                               os.path.join(self.place, "look")],
                              env=self.environment, capture_output=True, text=True, timeout=3 * LONG, check=False)
        self.assertEqual(look.returncode, 0, look.stdout + look.stderr)
        print(re.search(r".*B: the player dropped.*", look.stdout)[0], flush=True)

    def test_the_reader_may_die_and_the_program_does_not_notice(self):
        run = self.write(40_000)
        reader = wait_for(lambda: run.child("margay-gst"), "the reader")
        wait_for(lambda: run.produced_so_far() > 1000, "events")
        end_process(reader)
        self.assertEqual(run.wait(), 0, run.stderr)
        self.assertIn("the reader of GStreamer's log ended unexpectedly", run.stderr)
        # The next one is the same source, and what had not been delivered is counted.
        self.assertEqual(sorted(s["resource"].rsplit("/", 1)[1] for s in run.summary["sources"]), ["main", "thread1"])
        events = run.summary["events"]
        self.assertEqual(events["produced"], events["modelled"] + events["wire_lost"] + events["probe_dropped"], events)


if __name__ == "__main__":
    unittest.main()
