"""Who holds a mutex for too long; and what LTTng brings besides mutexes: allocations, functions, MPI programs, and sessions that others made."""
import os
import re
import shutil
import signal
import subprocess
import time
import unittest

from e2e import LONG, MARGAY, MPIRUN, PROGRAMS, Disturbed, E2eTest, OnlyUndisturbed, again_if_disturbed, end_process, executable_of, free_ports, plant, read_text, wait_for
from flood_test import Daemon
from lttng_test import MUTEXES, LttngTest, installed, states_of

ANNOTATED, EVENTS = (os.path.join(PROGRAMS, name) for name in ("annotated", "events"))
NOBODY = 65534


@unittest.skipUnless(installed(), "LTTng is not installed")
class Mutexes(LttngTest):
    @again_if_disturbed
    def test_a_mutex_bound_program_and_the_thread_that_holds_on(self):
        run = self.run_margay([MUTEXES, "4", "19", "2", "14", "3", "5"], flags=["--lttng=pthread"])
        self.assertEqual(run.wait(), 0, run.stderr)
        self.check_conservation(run, 5)
        self.check_cells(run)
        self.check_archive(run)
        rounds = [int(line) for line in run.stdout.split()]
        self.assertEqual(len(rounds), 4)
        threads = {s["resource"].rsplit("/", 1)[1]: s for s in run.summary["sources"]}
        self.assertEqual(sorted(threads), ["mutexes"] + [f"worker{i}" for i in range(4)])
        for i in range(4):  # a lock is waited for and had: ENTER and LEAVE
            self.assertGreaterEqual(threads[f"worker{i}"]["produced"], 2 * rounds[i])
            self.assertLess(threads[f"worker{i}"]["produced"], 2 * rounds[i] + 100)
        account = self.account(run)
        self.assertEqual(account["discarded"], 0)
        self.assertGreaterEqual(account["used"], 2 * sum(rounds), "request and acquisition")
        blamed = [r for a in run.firing() for r in a["resources"]]
        self.assertTrue(any(r.endswith("/worker2") for r in blamed), run.alerts)
        self.assertFalse(any(r.endswith(f"/worker{i}") for r in blamed for i in (0, 1, 3)), blamed)


@unittest.skipUnless(installed(), "LTTng is not installed")
class Helpers(LttngTest):
    def done(self, helper, *command):
        run = self.run_margay(list(command), flags=[f"--lttng={helper}"])
        self.assertEqual(run.wait(), 0, run.stderr)
        self.assertEqual(self.account(run)["discarded"], 0)
        self.check_archive(run)
        return run

    def test_allocations_are_marks(self):
        run = self.done("libc", EVENTS, "allocate", "5000")
        self.check_conservation(run, 1)
        done = subprocess.run([MARGAY, "export", run.archive, "--format", "paje"], capture_output=True, text=True,
                              timeout=LONG, check=True, env=self.environment)
        kinds = dict(re.findall(r'^3 (E\d+) \S+ "(malloc|free)"', done.stdout, re.M))
        events = [kinds.get(kind) for kind in re.findall(r"^11 \S+ (E\d+) ", done.stdout, re.M)]
        self.assertGreaterEqual(events.count("malloc"), 5000)
        self.assertGreaterEqual(events.count("free"), 5000)

    def test_functions_by_their_names(self):
        run = self.done("functions", EVENTS, "call", "3000")
        self.check_conservation(run, 1)
        self.assertIn("6000 calls of inner", run.stdout)
        states = {}
        for visits in states_of(run).values():
            for state, count in visits.items():
                states[state] = states.get(state, 0) + count
        self.assertEqual(states["inner"], 2 * 3000)
        # Each call of inner interrupts outer, which begins anew.
        self.assertGreaterEqual(states["outer"], 3000)
        self.assertIn("main", states)

    def test_ranks_and_their_threads_in_one_model(self):
        run = self.done("pthread", MPIRUN, "-np", "2", ANNOTATED, "mpi", "50")
        resources = [s["resource"] for s in run.summary["sources"]]
        ranks = [r for r in resources if "/rank" in r]
        threads = [r for r in resources if "/annotated:" in r]
        self.assertEqual(len(ranks), 2, resources)
        self.assertGreaterEqual(len(threads), 2, resources)
        names = {state for visits in states_of(run).values() for state in visits}
        self.assertTrue({"solve", "MPI_Allreduce", "mutex wait"} <= names, names)
        self.assertEqual(run.summary["events"]["produced"], run.summary["events"]["modelled"])


# A film of a few seconds, decoded by a thread of its own in real time; as large as a slow machine can encode meanwhile.
PLAY = ("-q videotestsrc num-buffers=325 pattern=ball ! video/x-raw,width=1600,height=896,framerate=25/1 ! jpegenc ! queue ! "
        "jpegdec ! fakesink sync=true qos=true").split()


@unittest.skipUnless(installed() and shutil.which("gst-launch-1.0") and len(os.sched_getaffinity(0)) > 1,
                     "takes LTTng, GStreamer, and two cores")
class Player(LttngTest):
    def thread_of(self, run, name):
        for pid in plant.descendants(run.pid):
            if executable_of(pid) == "gst-launch-1.0":
                for tid in os.listdir(f"/proc/{pid}/task"):
                    if read_text(f"/proc/{pid}/task/{tid}/comm").strip() == name:
                        return int(tid)
        return None

    @staticmethod
    def share_of_a_core(run, tid):
        """That a thread took since it began."""
        (program,) = (pid for pid in plant.descendants(run.pid) if executable_of(pid) == "gst-launch-1.0")
        taken = int(read_text(f"/proc/{program}/task/{tid}/schedstat").split()[0])
        began = int(read_text(f"/proc/{program}/task/{tid}/stat").rsplit(")", 1)[1].split()[19]) / os.sysconf("SC_CLK_TCK")
        return max(taken, 1) / 1e9 / (time.clock_gettime(time.CLOCK_BOOTTIME) - began)

    @again_if_disturbed
    def test_the_thread_that_is_kept_from_the_cpu_is_named(self):
        self.need_shared_memory(self.FULL_RINGS_OF_4)  # of which LTTng's buffers are a share
        run = self.run_margay([shutil.which("gst-launch-1.0"), *PLAY], flags=["--lttng=pthread,libc"])
        decoder = wait_for(lambda: self.thread_of(run, "queue0:src"), "the thread that decodes")
        run.wait_for_slices(70)  # of a tenth of a second
        core = max(os.sched_getaffinity(0))
        os.sched_setaffinity(decoder, {core})
        begin = time.time_ns()
        # So many that a third of what it takes of a core is left to it, however fast that is.
        count = min(max(8, round(3 / self.share_of_a_core(run, decoder))), 100)
        hogs = [self.start(["taskset", "-c", str(core), "sh", "-c", "while :; do :; done"]) for _ in range(count)]
        run.wait_for_slices(100)
        for hog in hogs:
            end_process(hog.pid)
        end = time.time_ns()
        self.assertEqual(run.wait(), 0, run.stderr)
        self.check_archive(run)
        if lost := self.account(run)["discarded"]:
            raise Disturbed(f"LTTng's consumer was not let on a CPU in time: it discarded {lost} events")
        threads = {s["resource"].rsplit("/", 1)[1] for s in run.summary["sources"]}
        self.assertTrue({"queue0:src", "videotestsrc0:s"} <= threads, threads)
        blamed = [{r.rsplit("/", 1)[1] for r in a["resources"]} for a in run.firing()
                  if begin - 300_000_000 <= a["onset_ns"] <= end]
        self.assertTrue(blamed, run.alerts)
        self.assertIn({"queue0:src"}, blamed)
        if any(b != {"queue0:src"} for b in blamed):
            raise OnlyUndisturbed(f"others were kept from a core, too: {blamed}")


NOBODYS = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]


def nobody_can_run(path):
    return os.geteuid() == 0 and shutil.which("setpriv") and subprocess.run(
        [*NOBODYS, "test", "-x", path], check=False).returncode == 0


class OrdinaryUser(LttngTest):
    @unittest.skipUnless(installed() and nobody_can_run(MARGAY), "takes root, and a place that nobody can read")
    def test_the_same_as_an_ordinary_user(self):
        wrapper = self.written("margay", f'#!/bin/sh\nexec {" ".join(NOBODYS)} {MARGAY} "$@"\n')
        os.chmod(wrapper, 0o755)
        for place in (self.place, self.runtime, os.path.join(self.place, "tmp")):
            os.chown(place, NOBODY, NOBODY)
        self.margay_program = wrapper
        self.environment |= {"HOME": self.place, "USER": "nobody"}
        run = self.run_margay([EVENTS, "locks", "2", "500"], flags=["--lttng=pthread"])
        self.assertEqual(run.wait(), 0, run.stderr)
        account = self.account(run)
        self.assertEqual(account["discarded"], 0)
        self.assertGreaterEqual(account["used"], 2 * 2 * 500)
        self.assertEqual(len(run.summary["sources"]), 3)
        if subprocess.run([*NOBODYS, "unshare", "--user", "--net", "true"], stderr=subprocess.DEVNULL,
                          check=False).returncode == 0:
            self.assertNotIn("127.0.0.1", run.stderr, "the relay daemon has a network of its own")


class OthersLttng:
    """LTTng's daemons as somebody else runs them: an ordinary user, where the test is root's; on another host, as far
    as its name goes."""

    def __init__(self, test, host=None):
        self.test = test
        self.home = os.path.join(test.place, "lttng")
        os.mkdir(self.home)
        self.prefix = []
        if os.geteuid() == 0:
            os.chmod(test.place, 0o755)
            os.chown(self.home, NOBODY, NOBODY)
            self.prefix = NOBODYS
        self.environment = test.environment | {"LTTNG_HOME": self.home, "HOME": self.home, "TMPDIR": self.home}
        self.control, self.data, self.live = free_ports(3)
        at = "tcp://127.0.0.1:"
        names = ["unshare", "--uts", "/bin/sh", "-c", f'hostname {host}; exec "$@"', "sh"] if host else []
        self.jobs = [
            test.start(names + self.prefix + ["lttng-relayd", "-C", f"{at}{self.control}", "-D", f"{at}{self.data}", "-L",
                                              f"{at}{self.live}", "-o", self.home], env=self.environment),
            test.start(names + self.prefix + ["lttng-sessiond", "--no-kernel"], env=self.environment)]
        test.addCleanup(self.end)
        wait_for(lambda: self.lttng("list").returncode == 0, "the session daemon", poll=0.1)

    def lttng(self, *arguments):
        return subprocess.run([*self.prefix, "lttng", *arguments], env=self.environment, capture_output=True, text=True,
                              timeout=LONG, check=False)

    def session(self, name):
        def made():
            return self.lttng("create", name, "--live=100000",
                              f"--set-url=net://127.0.0.1:{self.control}:{self.data}").returncode == 0
        wait_for(made, "a live session", poll=0.1)
        for command in (("enable-event", "-u", "margay:*", "-s", name),
                        ("add-context", "-u", "-s", name, "-t", "vpid", "-t", "vtid", "-t", "procname"),
                        ("start", name)):
            done = self.lttng(*command)
            self.test.assertEqual(done.returncode, 0, done.stderr)

    def run(self, program, *arguments):
        # Nobody may not be able to read where they were built.
        copies = [shutil.copy(path, self.home) for path in (program, os.environ["ANNOTATE_LTTNG"])]
        for copy in copies:
            os.chmod(copy, 0o755)
        given = [f"LD_PRELOAD={copies[1]}", "LTTNG_UST_REGISTER_TIMEOUT=-1"]
        return subprocess.run([*self.prefix, "env", *given, copies[0], *arguments], timeout=LONG, check=True,
                              capture_output=True, text=True, env=self.environment)

    def end(self):
        for job in reversed(self.jobs):
            if job.running:
                end_process(job.pid, signal.SIGTERM)
            job.wait()


@unittest.skipUnless(installed() and shutil.which("lttng") and "ANNOTATE_LTTNG" in os.environ, "LTTng is not installed")
class SessionsOfOthers(E2eTest):
    def watch(self, live, pattern=""):
        self.files_may_remain = True  # a daemon of its own keeps its place
        return Daemon(self, "others", f'[lttng]\nsessions = ["net://127.0.0.1:{live}{pattern}"]\n')

    def sources(self, daemon):
        return daemon.status().get("sources", [])

    def end(self, daemon):
        end_process(daemon.pid, signal.SIGTERM)
        self.assertEqual(daemon.job.wait(), 0, daemon.job.stderr)

    # One at a time: LTTng 2.13's `destroy` of one of two live sessions does not come back.
    def test_margayd_finds_sessions_and_takes_up_new_ones(self):
        lttng = OthersLttng(self)
        lttng.session("mine-1")
        daemon = self.watch(lttng.live, "/host/*/mine-*")
        said = lambda text: text in daemon.job.stderr  # noqa: E731
        wait_for(lambda: said("reading the LTTng session") and said("/mine-1"), "the first session", poll=0.05)
        lttng.run(ANNOTATED, "threads", "2", "40")
        wait_for(lambda: sum(s["modelled"] for s in self.sources(daemon)) >= 2 * 6 * 40, "its states", poll=0.05)
        self.assertEqual(len(self.sources(daemon)), 2)
        self.assertEqual(lttng.lttng("destroy", "mine-1").returncode, 0)
        wait_for(lambda: said("/mine-1 is over"), "that the first is over", poll=0.05)
        lttng.session("mine-2")
        lttng.session("other")
        wait_for(lambda: said("/mine-2"), "the second session", poll=0.05)
        lttng.run(ANNOTATED, "threads", "3", "40")
        wait_for(lambda: sum(s["modelled"] for s in self.sources(daemon)) >= 5 * 6 * 40, "its states", poll=0.05)
        self.end(daemon)
        self.assertNotRegex(daemon.job.stderr, r"LTTng session \S+/other\b")
        states = {}
        for visits in states_of(daemon).values():
            for state, count in visits.items():
                states[state] = states.get(state, 0) + count
        self.assertEqual((states["read"], states["transform"], states["filter"]), (5 * 40, 2 * 5 * 40, 5 * 40))

    def test_a_relay_daemon_that_is_not_there_is_told_of_and_waited_for(self):
        control, data, live = free_ports(3)
        daemon = self.watch(live)
        wait_for(lambda: "no relay daemon answers there" in daemon.job.stderr, "that nobody answers", poll=0.05)
        relay = self.start(["lttng-relayd", "-C", f"tcp://127.0.0.1:{control}", "-D", f"tcp://127.0.0.1:{data}", "-L",
                            f"tcp://127.0.0.1:{live}", "-o", self.place])
        wait_for(lambda: "a relay daemon answers" in daemon.job.stderr, "that it does now", poll=0.05)
        end_process(relay.pid, signal.SIGTERM)
        relay.wait()
        end_process(daemon.pid, signal.SIGTERM)
        self.assertEqual(daemon.job.wait(), 0)
        self.assertLessEqual(daemon.job.stderr.count("no relay daemon answers there"), 2, "once each time")

    @unittest.skipUnless(os.geteuid() == 0 and subprocess.run(["unshare", "--uts", "true"], check=False,
                                                              capture_output=True).returncode == 0,
                         "a host's name of one's own takes root")
    def test_programs_of_another_host(self):
        lttng = OthersLttng(self, host="node7")
        lttng.session("far")
        daemon = self.watch(lttng.live, "/host/node7/far")
        wait_for(lambda: "reading the LTTng session" in daemon.job.stderr, "the session", poll=0.05)
        lttng.run(ANNOTATED, "threads", "2", "40")
        found = wait_for(lambda: len(self.sources(daemon)) == 2 and self.sources(daemon), "its threads", poll=0.05)
        for source in found:
            self.assertTrue(source["resource"].startswith("node7/") or "/node7/" in source["resource"], source)
        status = daemon.status()
        self.assertLess(abs(status["watermark_ns"] - status["run_begin_ns"]), 120e9, "on one clock")
        self.end(daemon)


if __name__ == "__main__":
    unittest.main()
