#!/usr/bin/env python3
"""Each kind of hog takes what it says, goes on, and keeps to its bounds. Call: hog_test.py CAMPAIGN_HOG [test]"""
import os
import re
import subprocess
import sys
import tempfile
import time
import unittest

import network

HOG = None
LONG = 60  # seconds, on a busy machine
MIB = 1 << 20


def wait_for(condition, hog):
    end = time.monotonic() + LONG
    while not condition():
        if hog.poll() is not None:
            raise AssertionError(f"the hog ended: {hog.returncode}")
        if time.monotonic() > end:
            raise AssertionError("not within a minute")
        time.sleep(0.01)


def read(path):
    with open(path, encoding="ascii") as file:
        return file.read()


def cpu_of(pid):
    fields = read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident(pid):
    return int(read(f"/proc/{pid}/statm").split()[1]) * os.sysconf("SC_PAGE_SIZE")


def sent(pid):
    """Bytes over the loopback of its network."""
    return int(re.search(r"lo:(.*)", read(f"/proc/{pid}/net/dev"))[1].split()[8])


class Hog(unittest.TestCase):
    def start(self, *arguments, before=()):
        hog = subprocess.Popen([*before, HOG, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(hog.stdout.close)
        self.addCleanup(hog.stdin.close)
        self.addCleanup(hog.wait)
        self.addCleanup(hog.kill)
        self.assertEqual(hog.stdout.readline(), b"ready\n")
        hog.stdin.write(b"g")
        hog.stdin.flush()
        return hog

    def test_takes_a_core(self):
        for arguments in (["cpu"], ["memory"], ["cache", "2"], ["cache", "3"], ["bandwidth"]):
            with self.subTest(" ".join(arguments)):
                hog = self.start(*arguments)
                before = cpu_of(hog.pid)
                wait_for(lambda: cpu_of(hog.pid) >= before + 0.2, hog)
                hog.kill()

    def test_leaks_up_to_its_bound_and_gives_back(self):
        hog = self.start("leak", "4000")
        most = 0

        def given_back():
            nonlocal most
            now = resident(hog.pid)
            most = max(most, now)
            return now < most / 2
        wait_for(lambda: resident(hog.pid) >= 64 * MIB, hog)
        wait_for(given_back, hog)
        self.assertLess(most, 1024 * MIB + 64 * MIB)

    def test_leaks_at_the_rate_that_it_is_told(self):
        begin = time.monotonic()
        hog = self.start("leak", "100")
        wait_for(lambda: resident(hog.pid) >= 64 * MIB, hog)
        # It begins with 2 MiB or so of its own.
        self.assertGreater(time.monotonic() - begin, 0.55)

    def test_files_come_and_go(self):
        with tempfile.TemporaryDirectory() as folder:
            hog = self.start("metadata", folder)
            seen = set()

            def look():
                for entry in os.scandir(folder):
                    seen.add((entry.name, entry.inode()))
                return len(seen) > 1000
            wait_for(look, hog)
            self.assertTrue(any(name.endswith(".new") for name, _ in seen))
            hog.kill()
            hog.wait()
            self.assertLessEqual(len(os.listdir(folder)), 4 * 64 + 4)

    def test_fills_the_link_of_its_address(self):
        if problem := network.problem():
            self.skipTest(f"no network of its own: {problem}")
        holder = subprocess.Popen([*network.ENTER, "2", "sleep", str(10 * LONG)], stdin=subprocess.DEVNULL)
        self.addCleanup(holder.wait)
        self.addCleanup(holder.kill)
        wait_for(lambda: read(f"/proc/{holder.pid}/comm") == "sleep\n", holder)
        first = self.start("network", network.address(0), before=network.join(holder.pid, []))
        begin, at = time.monotonic(), sent(holder.pid)
        wait_for(lambda: sent(holder.pid) >= at + 32 * MIB, first)
        rate = 32 * MIB * 8 / (time.monotonic() - begin)
        self.assertLess(rate, 1.3e9)


class Calls(unittest.TestCase):
    def test_wrong_ones(self):
        for arguments in ([], ["flood"], ["cpu", "1"], ["leak"], ["leak", "0"], ["cache"], ["metadata"], ["network"]):
            done = subprocess.run([HOG, *arguments], stdin=subprocess.DEVNULL, capture_output=True, check=False)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertIn(b"expected", done.stderr)


if __name__ == "__main__":
    HOG = sys.argv.pop(1)
    unittest.main()
