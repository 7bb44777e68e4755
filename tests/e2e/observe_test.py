"""The daemon as those see it who run it: status, Prometheus, health, systemd, its log."""
import ctypes
import json
import math
import os
import re
import resource
import signal
import socket
import subprocess
import unittest
import urllib.error
import urllib.parse
import urllib.request

from e2e import E2eTest, LONG, MARGAY, alive, end_process, read_text, wait_for

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MARGAYD = os.path.join(os.path.dirname(MARGAY), "margayd")


def parse_exposition(text):
    """{metric: (type, help, {labels: value})} of the text format 0.0.4; AssertionError where it is not exactly that."""
    name = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
    label = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"'
    sample = re.compile(rf"({name})(?:\{{({label}(?:,{label})*),?\}})? (\S+)")
    families, current = {}, None
    if not text.endswith("\n"):
        raise AssertionError("the last line has no end")
    for number, line in enumerate(text[:-1].split("\n"), 1):
        where = f"line {number}: {line!r}"
        if m := re.fullmatch(rf"# HELP ({name}) (.+)", line):
            if m[1] in families:
                raise AssertionError(f"{where}: a family twice")
            current = m[1]
            families[current] = [None, m[2], {}]
        elif m := re.fullmatch(rf"# TYPE ({name}) (counter|gauge)", line):
            if m[1] != current or families[current][0] is not None or families[current][2]:
                raise AssertionError(f"{where}: TYPE out of place")
            families[current][0] = m[2]
        elif m := sample.fullmatch(line):
            if m[1] != current or families[current][0] is None:
                raise AssertionError(f"{where}: a sample outside of its family")
            labels = tuple(re.findall(label, m[2] or ""))
            names = [part.split("=", 1)[0] for part in labels]
            value = float(m[3])
            if labels in families[current][2] or len(names) != len(set(names)) or not math.isfinite(value):
                raise AssertionError(f"{where}: twice, or no number")
            if families[current][0] == "counter" and (value < 0 or not current.endswith("_total")):
                raise AssertionError(f"{where}: no counter")
            if families[current][0] == "gauge" and current.endswith("_total"):
                raise AssertionError(f"{where}: no gauge")
            families[current][2][labels] = value
        else:
            raise AssertionError(f"{where}: neither a sample nor a comment")
    for metric, (kind, _, samples) in families.items():
        if kind is None or not samples:
            raise AssertionError(f"{metric}: without type or samples")
    return families


def metric_of(counter):
    name = "margay_" + counter["name"]
    for unit in ("us", "ms", "s"):
        if counter["unit"] == unit:
            name = name.removesuffix("_" + unit) + "_seconds"
    return name + ("_total" if counter["kind"] in ("counter", "loss") else "")


class Daemon:
    """margayd by itself, as systemd would start it."""

    def __init__(self, test, *arguments, env=None, name="night", limits=None):
        self.test, self.name = test, name
        self.log_path = os.path.join(test.place, f"log{len(test.daemons)}")
        self.archive = os.path.join(test.place, name)
        config = os.path.join(test.place, "margay.toml")
        with open(config, "w", encoding="utf-8") as file:
            file.write('[http]\nlisten = "0"\n')
        # Through a pipe and `cat`, as to a journal: a limit on the size of files does not strike the log.
        self.log = open(self.log_path, "wb")
        self.cat = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=self.log, env={"PATH": os.environ["PATH"]})
        self.process = subprocess.Popen(
            [MARGAYD, "--run", name, "--archive", self.archive, "--config", config, *arguments],
            env=test.environment | (env or {}), cwd=test.place, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=self.cat.stdin, preexec_fn=limits)
        self.cat.stdin.close()
        self.pid = self.process.pid
        test.daemons.append(self)

    @property
    def said(self):
        return read_text(self.log_path)

    def wait(self):
        code = self.process.wait(LONG)
        self.cat.wait(LONG)
        self.log.close()
        return code

    def address(self):
        return wait_for(lambda: re.search(r"(http://\S+)/metrics", self.said), "the address")[1]

    def get(self, path):
        """(status, body)"""
        try:
            with urllib.request.urlopen(self.address() + path, timeout=LONG) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def margay(self, *arguments):
        return subprocess.run([MARGAY, *arguments, self.name], env=self.test.environment, cwd=self.test.place,
                              capture_output=True, text=True, timeout=LONG, check=False)

    def status(self):
        done = self.margay("status", "--json")
        return json.loads(done.stdout) if done.returncode == 0 else {}

    def counters(self):
        return {c["name"]: c["value"] for c in self.status().get("counters", [])}


class Systemd:
    """The other end of NOTIFY_SOCKET."""

    def __init__(self, test):
        self.path = os.path.join(test.place, "notify")
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self.path)
        self.socket.setblocking(False)
        self.heard = []
        test.addCleanup(self.socket.close)

    def environment(self, watchdog_s=None):
        return {"NOTIFY_SOCKET": self.path} | ({"WATCHDOG_USEC": str(int(watchdog_s * 1e6))} if watchdog_s else {})

    def listen(self):
        try:
            while True:
                self.heard.append(self.socket.recv(4096).decode())
        except BlockingIOError:
            return self.heard

    def pings(self):
        return self.listen().count("WATCHDOG=1")


class Observe(E2eTest):
    def setUp(self):
        super().setUp()
        self.daemons = []
        self.files_may_remain = True  # a standing daemon leaves its run open
        self.addCleanup(self.end_daemons)  # before clean_up looks for what was left behind

    def end_daemons(self):
        for daemon in self.daemons:
            if daemon.process.poll() is None:
                end_process(daemon.pid)
            daemon.wait()

    def test_status_and_metrics_and_health_agree(self):
        config = self.written("http.toml", '[http]\nlisten = "127.0.0.1:0"\n')
        run = self.run_margay(self.workload("--plan", "A:3", ranks=2), flags=["--config", config], name="night")
        run.wait_for_slices(5)
        before = wait_for(lambda: (s := run.status()) and len(s["sources"]) == 2 and s, "both ranks")
        log = os.path.join(run.control_directory(), "log")
        address = wait_for(lambda: re.search(r"(http://\S+)/metrics", read_text(log)), "the address")[1]
        published = {c["name"]: c["value"] for c in before["counters"]}["reports_published"]

        def scrape():
            """Of a report that came after `before`."""
            with urllib.request.urlopen(address + "/metrics", timeout=LONG) as answer:
                self.assertEqual(answer.headers["Content-Type"], "text/plain; version=0.0.4; charset=utf-8")
                found = parse_exposition(answer.read().decode())
            (count,) = found["margay_reports_published_total"][2].values()
            return count > published and found
        metrics = wait_for(scrape, "a newer report")
        after = wait_for(lambda: (s := run.status()) and s["sequence"] > before["sequence"] and s, "a newer report")
        with urllib.request.urlopen(address + "/health", timeout=LONG) as answer:
            health = json.load(answer)
        self.assertEqual((health["healthy"], health["verdict"], health["run"]), (True, "healthy", "night"))
        self.assertEqual(before["health"]["state"], "healthy", before["health"])
        check = subprocess.run([MARGAY, "status", "--check", "night"], env=self.environment, capture_output=True,
                               text=True, timeout=LONG, check=False)
        self.assertEqual((check.returncode, check.stdout), (0, "night: healthy\n"))

        # The same counters, with the values of a moment in between.
        earlier = {c["name"]: c["value"] for c in before["counters"]}
        scale = {"us": 1e-6, "ms": 1e-3}
        names = set()
        for counter in after["counters"]:
            metric = metric_of(counter)
            names.add(metric)
            self.assertIn(metric, metrics)
            kind, text, samples = metrics[metric]
            self.assertEqual(kind, "counter" if counter["kind"] in ("counter", "loss") else "gauge")
            self.assertIn(counter["help"], text)
            ((labels, value),) = samples.items()
            self.assertEqual(labels, ('run="night"',))
            if kind == "counter":
                factor = scale.get(counter["unit"], 1)
                self.assertGreaterEqual(value, earlier[counter["name"]] * factor * (1 - 1e-9), metric)
                self.assertLessEqual(value, counter["value"] * factor * (1 + 1e-9), metric)
        own = {"margay_build_info", "margay_healthy", "margay_sources_left_out", "margay_source_events_total",
               "margay_source_events_in_flight"}
        self.assertEqual(set(metrics) - names, own)

        # The account holds in one answer: per source, and the sums are those of the sources.
        series = metrics["margay_source_events_total"][2]
        flying = metrics["margay_source_events_in_flight"][2]
        self.assertEqual(len(series), 2 * 6)
        terms = ("modelled", "late_dropped", "probe_dropped", "wire_lost", "rejected")
        for labels, in_flight in flying.items():
            of = {t: series[labels + (f'term="{t}"',)] for t in ("produced", *terms)}
            self.assertEqual(of["produced"], sum(of[t] for t in terms) + in_flight)
        for term in ("produced", *terms):
            self.assertEqual(sum(v for k, v in series.items() if f'term="{term}"' in k),
                             metrics[f"margay_events_{term}_total"][2][('run="night"',)])

        # The rules that are shipped speak of what there is.
        rules = read_text(os.path.join(ROOT, "config", "prometheus", "margay-rules.yml"))
        mentioned = set(re.findall(r"\bmargay_\w+", rules))
        self.assertTrue(mentioned)
        self.assertLessEqual(mentioned, set(metrics))

        self.assertEqual(run.wait(), 0)
        self.check_conservation(run, 2)
        said = read_text(os.path.join(run.archive, "log"))
        self.assertIn("info     margayd: version", said)
        self.assertIn("the run is over: ", said)
        self.assertLess(len(said.splitlines()), 20, said)

    def test_slow_clients_delay_nobody_and_other_hosts_are_refused(self):
        daemon = Daemon(self)
        address = daemon.address()
        place = urllib.parse.urlsplit(address)
        slow = []
        for text in (b"GET /hea", b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nX: "):
            slow.append(socket.create_connection((place.hostname, place.port), LONG))
            self.addCleanup(slow[-1].close)
            slow[-1].sendall(text)
        self.assertEqual(daemon.get("/live")[0], 200)
        wait_for(lambda: daemon.get("/health")[0] == 200, "health")
        for client in slow:  # they had not to be ended first
            client.setblocking(False)
            with self.assertRaises(BlockingIOError):
                client.recv(1)
        for host, code in (("attacker.example", 421), (f"attacker.example:{place.port}", 421), ("localhost", 200),
                           (f"127.0.0.1:{place.port}", 200), (socket.gethostname(), 200)):
            request = urllib.request.Request(address + "/live", headers={"Host": host})
            try:
                with urllib.request.urlopen(request, timeout=LONG) as answer:
                    self.assertEqual(answer.status, code, host)
            except urllib.error.HTTPError as error:
                self.assertEqual(error.code, code, host)
        wait_for(lambda: "a request for 'attacker.example' is refused" in daemon.said, "the log names the host")

    def test_systemd(self):
        systemd = Systemd(self)
        daemon = Daemon(self, env=systemd.environment(watchdog_s=1))
        wait_for(lambda: "READY=1" in systemd.listen(), "READY")
        wait_for(lambda: "STATUS=healthy" in systemd.listen(), "STATUS")
        wait_for(lambda: systemd.pings() >= 3, "pings")
        wait_for(lambda: daemon.counters().get("commits"), "a commit")
        # Killed, and started again as systemd does: the same arguments.
        end_process(daemon.pid)
        daemon.wait()
        systemd.heard.clear()
        again = Daemon(self, env=systemd.environment(watchdog_s=1))
        wait_for(lambda: "READY=1" in systemd.listen(), "READY")
        wait_for(lambda: again.counters().get("restarts") == 1, "the restart")
        self.assertIn("restart number 1", again.said)
        end_process(again.pid, signal.SIGTERM)
        self.assertEqual(again.wait(), 0)
        self.assertEqual(systemd.listen()[-1], "STOPPING=1")
        self.assertRegex(again.said, "SIGTERM from process .*: ends in order\n.*ends, the run stays open")
        done = again.margay("status", "--check")
        self.assertEqual((done.returncode, done.stdout), (2, ""))

    def test_a_thread_that_hangs(self):
        """One thread alone is held by ptrace: the pings stop, /health tells, and both come back."""
        systemd = Systemd(self)
        daemon = Daemon(self, env=systemd.environment(watchdog_s=1))
        wait_for(lambda: systemd.pings() >= 2 and daemon.get("/health")[0] == 200, "a healthy daemon")
        (thread,) = [int(t) for t in os.listdir(f"/proc/{daemon.pid}/task")
                     if read_text(f"/proc/{daemon.pid}/task/{t}/comm").strip() == "margay-ingest"]
        seize, interrupt, detach = 0x4206, 0x4207, 17
        libc = ctypes.CDLL(None, use_errno=True)
        libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
        libc.ptrace.restype = ctypes.c_long
        if libc.ptrace(seize, thread, None, None) != 0:
            self.skipTest("threads may not be held here: " + os.strerror(ctypes.get_errno()))
        self.assertEqual(libc.ptrace(interrupt, thread, None, None), 0)
        # A thread that is held cannot even be killed for good.
        self.addCleanup(lambda: libc.ptrace(detach, thread, None, None))
        os.waitpid(thread, 0x40000000)  # __WALL
        # The kernel keeps ten datagrams for who does not listen; then the sender waits.
        wait_for(lambda: systemd.listen() and daemon.get("/health")[0] == 503, "/health")
        self.assertIn("margay-ingest has made no progress", daemon.get("/health")[1])
        self.assertEqual(daemon.margay("status", "--check").returncode, 1)
        wait_for(lambda: systemd.listen() and "the watchdog of systemd is not served" in daemon.said, "the log")
        count = systemd.pings()
        asked = daemon.get("/live")[0]
        self.assertEqual((asked, systemd.pings()), (200, count))
        self.assertEqual(libc.ptrace(detach, thread, None, None), 0)
        wait_for(lambda: systemd.pings() > count and daemon.get("/health")[0] == 200, "all well again")

    def test_a_disk_that_takes_nothing(self):
        def ignore():
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # margayd itself must withstand it
        daemon = Daemon(self, limits=ignore)
        wait_for(lambda: daemon.counters().get("commits"), "a commit")
        self.assertEqual(daemon.margay("status", "--check").returncode, 0)
        hard = resource.prlimit(daemon.pid, resource.RLIMIT_FSIZE)[1]
        resource.prlimit(daemon.pid, resource.RLIMIT_FSIZE, (1, hard))
        wait_for(lambda: daemon.margay("status", "--check").returncode == 1, "degraded")
        self.assertTrue(alive(daemon.pid))
        check = daemon.margay("status", "--check").stdout
        self.assertRegex(check, r"^night: degraded: the archive cannot be written since \d\d:\d\d:\d\d \(.+\)\n$")
        page = daemon.margay("status").stdout
        self.assertTrue(page.startswith("DEGRADED: the archive cannot be written since"), page)
        self.assertIn("!!  archive_unwritable", page)
        self.assertLessEqual(max(len(line) for line in page.splitlines() if "/" not in line), 80)
        status, body = daemon.get("/health")
        self.assertEqual(status, 503)
        self.assertIn("the archive cannot be written", json.loads(body)["reasons"][0])
        self.assertIn(('run="night"',), parse_exposition(daemon.get("/metrics")[1])["margay_archive_unwritable"][2])
        resource.prlimit(daemon.pid, resource.RLIMIT_FSIZE, (hard, hard))
        wait_for(lambda: daemon.margay("status", "--check").returncode == 0, "healthy again")
        wait_for(lambda: "healthy again" in daemon.said, "the log")
        for line in ("the archive cannot be written", "the archive is written again"):
            self.assertEqual(len(re.findall(f"margayd: {line}", daemon.said)), 1, daemon.said)

    def test_descriptors(self):
        def few():
            resource.setrlimit(resource.RLIMIT_NOFILE, (100, 600))
        daemon = Daemon(self, limits=few)
        wait_for(lambda: daemon.counters().get("descriptors_limit") == 600, "the limit")
        self.assertIn("this process may open 600 descriptors at most", daemon.said)
        self.assertIn("LimitNOFILE", daemon.said)

    def test_what_no_restart_mends(self):
        daemon = Daemon(self)
        wait_for(lambda: daemon.counters().get("commits"), "a commit")
        end_process(daemon.pid, signal.SIGTERM)
        self.assertEqual(daemon.wait(), 0)
        os.rename(daemon.archive, os.path.join(self.place, "other"))
        other = Daemon(self, name="other")
        self.assertEqual(other.wait(), 2)  # RestartPreventExitStatus of the unit
        self.assertIn("holds the run 'night'", other.said)


if __name__ == "__main__":
    unittest.main()
