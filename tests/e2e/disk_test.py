"""The disk is full, read-only, broken or slow: the job and the live view go on, and the archive says what it lacks."""
import argparse
import errno
import json
import os
import subprocess
import threading
import unittest

import faults
from e2e import E2eTest, LONG, MARGAY, nightly, read_text, wait_for
from kills_campaign import Campaign

# What a daemon is to say of a bad disk; anything else is wrong.
DISK_COMPLAINTS = r"(margayd: |degraded: )the archive cannot be written"


def resident_mib(pid):
    for line in read_text(f"/proc/{pid}/status").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return 0


class Disk(E2eTest):
    def setUp(self):
        super().setUp()
        page = os.path.join(self.place, "page")
        self.margay_program = faults.faulty_installation(os.path.join(self.place, "prefix"), page)
        self.disk = faults.Page(page, os.path.join(self.place, "r0.archive"))

    def trouble(self, run, word):
        """The status once it says that the archive is not written, with this word in the reason."""
        def told():
            status = run.status()
            return word in status.get("archive_trouble", "") and status
        return wait_for(told, f"'{word}' in the status", poll=0.05)

    def goes_on(self, run, status, slices):
        """The live view moves on by so many slices after `status`, and so does what is modelled."""
        def enough():
            self.assertTrue(run.running, run.stderr)
            s = run.status()
            return s and s["watermark_ns"] - status["watermark_ns"] >= slices * s["slice_ns"] and s
        later = wait_for(enough, f"{slices} slices more", poll=0.1)
        before, after = (sum(a["modelled"] for a in s["sources"]) for s in (status, later))
        self.assertGreater(after, before)
        return later

    def counters(self, status):
        return {c["name"]: c for c in status["counters"]}

    def text_status(self, run):
        return subprocess.run([MARGAY, "status", run.name], env=self.environment, capture_output=True, text=True,
                              timeout=LONG, check=False).stdout

    def test_full_for_ten_seconds(self):
        run = self.run_lammps(10)
        self.disk.full()
        status = self.trouble(run, "full")
        self.assertIn("!! THE ARCHIVE IS NOT WRITTEN since ", self.text_status(run))
        later = self.goes_on(run, status, 100)  # 10 s of the job
        self.assertEqual(later["archive_trouble_since_ns"], status["archive_trouble_since_ns"])
        self.assertEqual(later["lost_events"], 0)
        self.assertGreater(self.counters(later)["commit_errors"]["value"], 0)
        self.assertLess(resident_mib(run.child("margayd")), 700)
        self.disk.well()
        well = wait_for(lambda: (s := run.status()) and not s["archive_trouble"] and s, "a disk that is well", poll=0.05)
        self.assertIn("it is written again", self.counters(well)["commit_errors"]["detail"])
        self.assertEqual(self.counters(well)["archive_unwritable"]["value"], 0)
        self.assertNotIn("NOT WRITTEN", self.text_status(run))
        self.tell_to_end()
        self.assertEqual(run.wait(), 0)
        self.assertIn("told to end", run.stdout)
        self.assertEqual(sum("the archive cannot be written: " in line for line in run.said), 1, run.said)
        self.assertEqual(sum("the archive is written again" in line for line in run.said), 1, run.said)
        self.assertNotIn("archive_error", run.summary)
        self.check_conservation(run, 4)
        self.check_cells(run)
        for counter in ("columns_not_archived", "raw_not_archived", "alerts_not_archived"):
            self.assertEqual(self.counters(well)[counter]["value"], 0, counter)

    def test_full_from_the_start(self):
        self.disk.full()
        run = self.run_margay(self.program("ends", "exit", "3"))
        self.assertEqual(run.wait(), 3)
        self.assertIn("line 99: ", run.stdout)
        self.assertEqual(sum("the job runs without Margay" in line for line in run.said), 1, run.said)
        self.assertTrue(any("No space left on device" in line for line in run.said), run.said)
        self.assertGreater(self.disk.get("failed"), 0)

    def test_read_only_to_the_end(self):
        run = self.run_lammps(10)
        self.disk.read_only()
        status = self.trouble(run, "Read-only")
        self.goes_on(run, status, 20)
        self.tell_to_end()
        self.assertEqual(run.wait(), 0)
        self.assertIn("told to end", run.stdout)
        end = [line for line in run.said if "the archive could not be written to its end: " in line]
        self.assertEqual(len(end), 1, run.said)
        self.assertIn("Read-only file system", end[0])
        self.assertIn("Read-only file system", run.summary["archive_error"])
        # Everything was seen all the same; the archive holds what was committed, whole, and does not claim to be more.
        self.check_conservation(run, 4)
        self.disk.well()
        self.check_cells(run)
        self.assertIsNone(run.meta()["end_ns"])

    def test_slow(self):
        run = self.run_lammps(5)
        self.disk.slow(300)
        status = run.status()
        self.goes_on(run, status, 20)
        self.assertGreater(self.disk.get("slowed"), 2)
        # One write hangs: the live view moves on while it does.
        self.disk.slow(6000, faults.WRITE, faults.LOG)
        wait_for(lambda: self.disk.get("slowed") == 1, "a write that hangs")
        status = self.trouble(run, "does not answer")
        self.goes_on(run, status, 10)
        self.assertEqual(self.disk.get("slowed"), 1, "the write was over: nothing was shown")
        self.disk.well()
        wait_for(lambda: (s := run.status()) and not s["archive_trouble"], "a disk that is well", poll=0.05)
        self.tell_to_end()
        self.assertEqual(run.wait(), 0)
        self.check_conservation(run, 4)
        self.check_cells(run)

    def test_full_for_longer_than_there_is_room(self):
        # What the agent may keep is little here: the rings fill, the probes drop and count.
        config = self.written("little.toml", '[node]\nmemory = "1MiB"\n')
        run = self.run_margay(self.workload("--plan", "A:14", "--grain", "0.02"), flags=["--config", config])
        run.wait_for_slices(5)
        self.disk.full()
        self.trouble(run, "full")
        lost = wait_for(lambda: (s := run.status()) and s["lost_events"] and s, "events to be dropped", poll=0.1)
        self.assertLess(resident_mib(run.child("margayd")), 700)
        self.assertTrue(run.running, "the job ended too early for this test")
        self.disk.well()
        wait_for(lambda: (s := run.status()) and not s["archive_trouble"], "a disk that is well", poll=0.05)
        self.assertEqual(run.wait(), 0)
        self.check_conservation(run, 4, lossless=False)
        events = run.summary["events"]
        self.assertGreaterEqual(events["probe_dropped"], lost["lost_events"])
        self.assertEqual(events["wire_lost"] + events["rejected"], 0, events)
        print(f"  {events['probe_dropped']} of {events['produced']} events dropped", flush=True)
        self.check_cells(run)


@nightly("Simulation.LossesOfPowerAndADiskThatFails and BackgroundErrors have the faults; this takes 75 s")
class UnderLoad(unittest.TestCase):
    """A captured job played at hundreds of thousands of events a second (kills_campaign.py), its cells held against those
    of a run with a good disk."""

    def test_full_for_ten_seconds_and_background_errors(self):
        # What comes in ten seconds is to fit what an agent keeps (64 MiB, some 10 bytes a record).
        options = argparse.Namespace(kills=0, seed=1, seconds=18, rate=400_000)
        campaign = Campaign(options)
        self.addCleanup(lambda: campaign.clean_up(bool(os.environ.get("E2E_KEEP"))))
        campaign.capture()
        _, _, wrong = campaign.play("reference", 0, 1)
        self.assertEqual(wrong, [])
        result, seen = self.play(campaign, "full", self.full_for_ten_seconds)
        self.assertGreater(seen["failed"], 0)
        print(f"  {result['records']:,} records in {result['job_seconds']:.1f} s, the disk full for 10 s of them; "
              f"{seen['failed']} calls failed", flush=True)
        _, seen = self.play(campaign, "broken", self.errors_in_the_background)
        self.assertEqual(seen["broken"], ["table", "manifest", "log"])

    def play(self, campaign, name, disturb):
        """A run during which `disturb` is at work; nothing may be missing afterwards."""
        seen, played = {}, []
        player = threading.Thread(target=lambda: played.append(campaign.play(name, 0, 1, DISK_COMPLAINTS)))
        player.start()
        try:
            path = os.path.join(campaign.path(name), "page")
            wait_for(lambda: os.path.exists(path) and os.path.getsize(path) == 4096 or not player.is_alive(), "the page")
            disk = faults.Page(path)

            def status():
                done = subprocess.run([MARGAY, "status", "--json", name], env=campaign.environment, capture_output=True,
                                      text=True, timeout=LONG, check=False)
                return json.loads(done.stdout) if done.returncode == 0 else {}
            try:
                disturb(disk, status, seen)
            finally:
                disk.well()
        finally:
            player.join()
        result, _, wrong = played[0]
        self.assertEqual(wrong, [])
        code, figures, differences = campaign.compare(name)
        self.assertEqual(code, 0, f"{figures}\n{differences}")
        code, _, differences = campaign.compare(name, spoil=True)
        self.assertEqual(code, 1, "a changed cell was not noticed")
        return result, seen

    def full_for_ten_seconds(self, disk, status, seen):
        before = wait_for(lambda: (s := status()) and s["sources"] and s["watermark_ns"] > s["run_begin_ns"] + 2e9 and s,
                          "2 s of the job", poll=0.05)
        disk.full()
        modelled, now = 0, before
        end = before["watermark_ns"] + 10e9
        # The live view goes on all the time: a second or more after the other, with more events in each.
        while now["watermark_ns"] < end:
            later = min(now["watermark_ns"] + 1e9, end)
            now = wait_for(lambda t=later: (x := status()) and x["watermark_ns"] >= t and x, "another second", poll=0.05)
            sum_now = sum(a["modelled"] for a in now["sources"])
            self.assertGreater(sum_now, modelled, f"at {(now['watermark_ns'] - before['watermark_ns']) / 1e9:.1f} s")
            modelled = sum_now
        self.assertIn("full", now["archive_trouble"])
        self.assertEqual(now["lost_events"], 0)
        seen["failed"] = disk.get("failed")

    def errors_in_the_background(self, disk, status, seen):
        wait_for(lambda: (s := status()) and s["sources"], "the job", poll=0.05)
        seen["broken"] = []
        for name, classes in (("table", faults.TABLE), ("manifest", faults.MANIFEST), ("log", faults.LOG)):
            errors = self.errors(status())
            disk.fail(errno.EIO, faults.WRITE | faults.SYNC, classes, most=1)
            wait_for(lambda e=errors: disk.get("failed") == 1 and self.errors(status()) > e, f"an error of the {name}",
                     poll=0.05)
            seen["broken"].append(name)
            wait_for(lambda: (s := status()) and not s["archive_trouble"], "a disk that is well", poll=0.05)

    def errors(self, status):
        return next(c["value"] for c in status["counters"] if c["name"] == "commit_errors") if status else 0


if __name__ == "__main__":
    unittest.main()
