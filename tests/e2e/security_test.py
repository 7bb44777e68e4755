"""A daemon that listens on the network: encrypted, each client with its key and role. Nothing is lost by it, strangers
stay outside, are told why, and are counted."""
import glob
import ctypes
import ctypes.util
import json
import os
import shutil
import signal
import socket
import subprocess
import unittest

from e2e import E2eTest, Job, LONG, MARGAY, dump, end_process, free_port, wait_for
from viewer import Viewer, needs_window

BIN = os.path.dirname(MARGAY)
NODE = os.path.join(os.path.dirname(BIN), "libexec", "margay", "margay-node")


class Security(E2eTest):
    def setUp(self):
        super().setUp()
        self.keys = os.path.join(self.place, "keys")
        self.margay("keys", "init", self.keys)
        for name, role in (("node", "source"), ("eve", "viewer"), ("boss", "operator")):
            self.margay("keys", "add", self.keys, name, "--role", role, "--out", self.key(name))
        self.ports = {d: free_port() for d in ("ingest", "reports", "control")}
        self.config = self.written("margay.toml", f'[listen]\nkeys = "{self.keys}"\n' +
                                                  "".join(f'{d} = "{self.at(d)}"\n' for d in self.ports))
        self.archive = os.path.join(self.place, "archive")
        self.start_daemon()
        self.addCleanup(self.end_daemon)

    def start_daemon(self):
        self.daemon = self.start([os.path.join(BIN, "margayd"), "--run", "net", "--archive", self.archive, "--config",
                                  self.config])
        wait_for(lambda: "the key of this daemon" in self.daemon.stderr or not self.daemon.running, "the daemon")
        self.assertTrue(self.daemon.running, self.daemon.stderr)
        self.directory = os.path.join(self.runtime, f"margay-{os.geteuid()}", "net")

    def end_daemon(self):
        if self.daemon.running:
            end_process(self.daemon.pid, signal.SIGTERM)
            self.daemon.wait()
        subprocess.run(["rm", "-rf", self.directory], check=False)

    def key(self, name):
        return os.path.join(self.place, name + ".key")

    def at(self, domain):
        return f"tcp://127.0.0.1:{self.ports[domain]}"

    def margay(self, *arguments, code=0):
        done = subprocess.run([MARGAY, *arguments], env=self.environment, cwd=self.place, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=LONG, check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout if code == 0 else done.stderr

    def status(self, name="eve"):
        return json.loads(self.margay("status", "--json", "--connect", self.at("control"), "--key", self.key(name)))

    def counter(self, name):
        """As a slice that closes tells it; the local way, which no key can spoil."""
        counters = json.loads(self.margay("status", "--json", "net"))["counters"]
        return {c["name"]: c["value"] for c in counters}.get(name, 0)

    def agent(self, key, domain="ingest"):
        return self.start([NODE, "--run-dir", self.directory, "--run", "net", "--collector", self.at(domain), "--key",
                           key, "--owner-pid", str(self.daemon.pid)])

    def job(self, *options, ranks=2):
        from e2e import PROBE, MPIRUN, WORKLOAD
        return self.start([MPIRUN, "-np", str(ranks), "-x", f"LD_PRELOAD={PROBE}", "-x", "MARGAY_RUN_DIR", WORKLOAD,
                           *options], env={"MARGAY_RUN_DIR": self.directory})

    def finish_and_check(self, *clients, ranks=2, late=False):
        """`clients` end by themselves when the run has. `late`: what came after its slice could be amended is counted."""
        summary = json.loads(self.margay("finish", "--connect", self.at("control"), "--key", self.key("boss")))
        self.assertEqual(len(summary["sources"]), ranks)
        events = summary["events"]
        self.assertGreater(events["produced"], 0)
        self.assertEqual(events["produced"], events["modelled"] + events["late_dropped"], summary)
        if not late:
            self.assertEqual(events["late_dropped"], 0, summary)
        for client in clients:
            self.assertEqual(client.wait(30), 0, client.stderr)
        self.end_daemon()
        meta = json.loads(dump("meta", self.archive))
        self.assertEqual(len(meta["leaves"]), ranks)

    def wait_for_events(self, more_than=0):
        def modelled():
            return sum(s["modelled"] for s in self.status()["sources"])
        return wait_for(lambda: modelled() > more_than and modelled(), "events", poll=0.05)

    def test_a_key_that_begins_like_an_option(self):
        # One in 85 does: a key may hold any sign of Z85.
        self.margay("keys", "trust", self.key("eve"), "-h" + "0" * 38)
        for keys in ((), ("-x", "0" * 40)):
            self.margay("keys", "trust", self.key("eve"), *keys, code=2)

    def test_a_job_watched_from_afar_and_keys_changed_meanwhile(self):
        agent = self.agent(self.key("node"))
        watch = Job(self, [MARGAY, "watch", "--exit-at-end", "--connect", self.at("control"), "--key", self.key("eve")])
        job = self.job("--plan", "A:6")
        n = self.wait_for_events()
        # The client's key: a second one, taken up by a running agent, then the first is dropped.
        self.margay("keys", "rotate", self.keys, "node", "--out", self.key("node.new"))
        os.replace(self.key("node.new"), self.key("node"))
        n = self.wait_for_events(n)
        self.margay("keys", "retire", self.keys, "node")
        n = self.wait_for_events(n)
        # The daemon's key: known to the clients before it is used.
        fingerprint = self.margay("keys", "rotate", self.keys, "--begin").strip()
        for name in ("node", "eve", "boss"):
            self.margay("keys", "trust", self.key(name), fingerprint)
        self.margay("keys", "rotate", self.keys, "--finish")
        self.wait_for_events(n)
        self.assertEqual(job.wait(), 0, job.stderr)
        self.finish_and_check(agent, watch)
        self.assertIn("watching run net", watch.stdout)

    def test_who_may_not_is_told_and_counted(self):
        agent = self.agent(self.key("node"))
        job = self.job("--plan", "A:5")
        self.wait_for_events()
        at = self.at("control")
        self.assertIn("give --key FILE", self.margay("status", "--connect", at, code=1))
        self.assertIn("does not know this key", self.margay("status", "--connect", at, "--key", self.key("node"), code=1))
        self.assertIn("only an operator", self.margay("finish", "--connect", at, "--key", self.key("eve"), code=1))
        # What is silenced a viewer may see, and an operator may change.
        boss = ("--connect", at, "--key", self.key("boss"))
        for words in (("ack", "x"), ("unack", "x"), ("silence", "--kind", "loss", "--for", "1h"), ("unsilence", "s1")):
            self.assertIn("only an operator may acknowledge or silence",
                          self.margay("alerts", *words, "--connect", at, "--key", self.key("eve"), code=1))
        self.assertIn("s1 silences kind loss", self.margay("alerts", "silence", "--kind", "loss", "--for", "1h", *boss))
        self.assertIn("s1", self.margay("alerts", "silences", "--connect", at, "--key", self.key("eve")))
        self.assertIn("s1 has ended", self.margay("alerts", "unsilence", "s1", *boss))
        os.chmod(self.key("boss"), 0o644)
        self.assertIn("chmod 600", self.margay("status", "--connect", at, "--key", self.key("boss"), code=1))
        os.chmod(self.key("boss"), 0o600)
        wait_for(lambda: self.counter("roles_refused") >= 1 and self.counter("messages_unauthorised") >= 1, "counters")
        # Revoked while at work: cut off, told so; the job goes on as if nothing had happened.
        self.margay("keys", "revoke", self.keys, "node")
        wait_for(lambda: "does not know this key" in agent.stderr, "the refusal")
        wait_for(lambda: self.counter("keys_refused") >= 1, "the counter")
        self.assertEqual(job.wait(), 0, job.stderr)
        self.assertEqual(agent.stderr.count("does not know this key"), 1, "said once")
        # Let in again with a new key, the agent sends what it kept: nothing is lost.
        self.margay("keys", "add", self.keys, "node", "--role", "source", "--out", self.key("again"))
        os.replace(self.key("again"), self.key("node"))
        self.finish_and_check(agent, late=True)

    def say(self, key, message):
        """One message to `ingest` with this key, by libzmq alone."""
        with open(self.key(key), encoding="utf-8") as file:
            words = dict(line.split(None, 1) for line in file.read().splitlines() if " " in line)
        zmq = ctypes.CDLL(ctypes.util.find_library("zmq"))
        zmq.zmq_ctx_new.restype = zmq.zmq_socket.restype = ctypes.c_void_p
        context = ctypes.c_void_p(zmq.zmq_ctx_new())
        dealer = ctypes.c_void_p(zmq.zmq_socket(context, 5))
        for option, word in ((50, "server"), (48, "public"), (49, "secret")):
            value = words[word].strip().encode()
            self.assertEqual(zmq.zmq_setsockopt(dealer, option, value, len(value) + 1), 0, word)
        none = ctypes.c_int(0)
        self.assertEqual(zmq.zmq_setsockopt(dealer, 17, ctypes.byref(none), ctypes.sizeof(none)), 0, "linger")
        self.assertEqual(zmq.zmq_connect(dealer, self.at("ingest").encode()), 0)
        self.assertEqual(zmq.zmq_send(dealer, message, len(message), 0), len(message))
        return lambda: (zmq.zmq_close(dealer), zmq.zmq_ctx_term(context))

    def test_another_key_speaks_for_nobody_else(self):
        self.margay("keys", "add", self.keys, "thief", "--role", "source", "--out", self.key("thief"))
        agent = self.agent(self.key("node"))
        job = self.job("--plan", "A:5")
        n = self.wait_for_events()
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            boot = file.read().strip()
        # The daemon looks at the keys twice a second; libzmq alone does not come back after a refusal.
        wait_for(lambda: self.counter("clients_authorised") == 4, "the thief's key is known")
        rings = [f for f in os.listdir(os.path.join(self.directory, "rings")) if f.startswith("p")]
        self.assertEqual(len(rings), 2)
        for ring in rings:
            process = "/".join(ring[1:].split("-"))  # pid, start time, PID namespace
            source = 14695981039346656037  # FNV-1a, as margay-node makes it
            for byte in f"{boot}/{process}".encode():
                source = (source ^ byte) * 1099511628211 % 2**64
            # A heartbeat of the greatest epoch that there is.
            batch = b"\x09" + source.to_bytes(8, "little") + b"\x10\xff\xff\xff\xff\x0f"
            end = self.say("thief", b"\x08\x01\x12\x03net\x5a" + bytes([len(batch)]) + batch)
            self.addCleanup(end)
        wait_for(lambda: self.counter("sources_not_theirs") >= 2, "the counter")
        self.wait_for_events(n)
        self.assertIn("belongs to another key", self.margay("status", "net"))
        self.assertIn("refused messages from key thief, 127.0.0.1: they send for rank", self.daemon.stderr)
        self.assertIn("which belongs to key node", self.daemon.stderr)
        self.assertEqual(job.wait(), 0, job.stderr)
        self.finish_and_check(agent, late=True)

    def test_a_viewers_key_sends_no_events(self):
        agent = self.agent(self.key("eve"))
        wait_for(lambda: "or its role is another" in agent.stderr, "the refusal")
        end_process(agent.pid, signal.SIGTERM)
        agent.wait()

    @needs_window
    def test_a_window_whose_key_is_wrong_or_revoked_says_so(self):
        agent = self.agent(self.key("node"))
        job = self.job("--plan", "A:8")
        self.wait_for_events()
        wrong = Viewer(self, "--connect", self.at("control"), self.key("node"))
        s = wrong.wait(lambda s: s["trouble"], "the refusal")
        self.assertIn("does not know this key", s["trouble"])
        self.assertEqual(s["parts"], 0)
        wrong.end()
        right = Viewer(self, "--connect", self.at("control"), self.key("eve"))
        right.settled("a picture from afar")
        self.margay("keys", "revoke", self.keys, "eve")
        s = right.wait(lambda s: "does not know this key" in s["trouble"], "the revocation")
        self.assertGreater(s["parts"], 0)
        self.assertEqual(job.wait(), 0, job.stderr)
        self.finish_and_check(agent)

    def test_a_storm_of_strangers_is_counted_and_hardly_logged(self):
        for i in range(500):
            try:
                with socket.create_connection(("127.0.0.1", self.ports["ingest"])) as s:
                    s.sendall(b"GET / HTTP/1.0\r\n\r\n")
            except ConnectionError:
                pass  # the gate has had enough of this address
        other = os.path.join(self.place, "other")
        self.margay("keys", "init", other)
        stranger = self.key("stranger")
        self.margay("keys", "add", other, "node", "--role", "source", "--out", stranger)
        with open(os.path.join(self.keys, "server.pub"), encoding="utf-8") as file:
            self.margay("keys", "trust", stranger, file.read().strip())
        wait_for(lambda: "does not know this key" in subprocess.run(
            [MARGAY, "status", "--connect", self.at("control"), "--key", stranger], env=self.environment, text=True,
            capture_output=True, check=False).stderr, "the refusal, once the gate lets this address in again")
        agent = self.agent(self.key("node"))
        job = self.job("--plan", "A:2")
        # Each of them has been turned away, has said what no client says, or has made way for the next.
        wait_for(lambda: sum(self.counter("gate_" + n) for n in ("refused", "strangers_refused", "evicted")) >= 500,
                 "the counters")
        self.assertLessEqual(len(self.daemon.stderr.splitlines()), 4 + 2 * 20, self.daemon.stderr)
        self.assertEqual(job.wait(), 0)
        self.finish_and_check(agent)


USER, SQUATTER = 54321, 54322  # who own nothing on this machine


def as_user(uid, command):
    return ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "--inh-caps=-all", *command]


def others_can_run(path):
    return os.geteuid() == 0 and shutil.which("setpriv") and subprocess.run(
        as_user(USER, [path, "--version"]), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode == 0


class LocalUsers(E2eTest):
    """Other users of the same machine."""

    def setUp(self):
        super().setUp()
        self.files_may_remain = True  # a standing daemon leaves its run open

    def run_as(self, uid, command, **keys):
        keys.setdefault("env", self.environment)
        keys.setdefault("cwd", self.place)
        return subprocess.run(command if uid is None else as_user(uid, command), stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=LONG, check=False, **keys)

    def daemon(self, name, uid=None, env=None):
        command = [os.path.join(BIN, "margayd"), "--run", name, "--archive", os.path.join(self.place, name)]
        job = self.start(command if uid is None else as_user(uid, command), env=env)

        def end():
            if job.running:
                end_process(job.pid, signal.SIGTERM)
                job.wait()
        self.addCleanup(end)
        return job

    def answers(self, name, *options, uid=None, env=None):
        return wait_for(lambda: (done := self.run_as(uid, [MARGAY, "status", "--json", name, *options],
                                                     env=env or self.environment)).returncode == 0 and json.loads(done.stdout),
                        "its daemon")

    def test_margay_env_is_one_word_of_a_shell_each(self):
        self.runtime_of_ours = os.path.join(self.runtime, "a'b \"$(touch x)`touch x`\n$HOME;*")
        os.mkdir(self.runtime_of_ours, 0o700)
        env = self.environment | {"MARGAY_RUNTIME_DIR": self.runtime_of_ours}
        daemon = self.daemon("night", env={"MARGAY_RUNTIME_DIR": self.runtime_of_ours})
        self.answers("night", env=env)
        # The agent is ended with the shell, and is its last child.
        script = ('unset LD_PRELOAD; text=$("$0" env night) && eval "$text" && printf "%s" "$MARGAY_RUN_DIR" && '
                  'preload=$LD_PRELOAD && unset LD_PRELOAD && test -e "$preload" && kill $! && wait')
        done = self.run_as(None, ["sh", "-c", script, MARGAY], env=env)
        self.assertEqual(done.stdout, os.path.join(self.runtime_of_ours, f"margay-{os.geteuid()}", "night"), done.stderr)
        self.assertEqual(done.stderr, "")
        self.assertFalse(os.path.exists(os.path.join(self.place, "x")))
        end_process(daemon.pid, signal.SIGTERM)
        daemon.wait()
        shutil.rmtree(self.runtime_of_ours)

    @unittest.skipUnless(others_can_run(MARGAY), "takes root, and a place that others can read")
    def test_what_another_user_left_under_our_name_is_not_used(self):
        squatted = f"/dev/shm/margay-{USER}"
        def clean():
            for path in glob.glob(squatted + "*"):
                shutil.rmtree(path, ignore_errors=True)
        clean()
        self.addCleanup(clean)
        os.chmod(self.place, 0o755)
        home = os.path.join(self.place, "home")
        os.mkdir(home)
        os.chown(home, USER, USER)
        # What was shown: `eval "$(margay env)"` runs a part of the newest run's name.
        made = self.run_as(SQUATTER, ["mkdir", "-p", "-m", "777", squatted, f"{squatted}/z';touch pwned;'/rings"])
        self.assertEqual(made.returncode, 0, made.stderr)
        env = {k: v for k, v in self.environment.items() if k not in ("MARGAY_RUNTIME_DIR", "XDG_RUNTIME_DIR")} | {
            "HOME": home, "TMPDIR": home}
        done = self.run_as(USER, ["sh", "-c", 'eval "$("$0" env)"', MARGAY], env=env, cwd=home)
        self.assertEqual(os.listdir(home), [], "a command of the squatter's was run")
        self.assertIn("no run is live", done.stderr)
        self.assertEqual(self.run_as(USER, [MARGAY, "runs"], env=env, cwd=home).stdout, "")
        # And a run has a place all the same, which its own user finds.
        done = self.run_as(USER, [MARGAY, "run", "--name", "mine", "--archive", os.path.join(home, "a"), "--", "sh", "-c",
                                  f"unset LD_PRELOAD; echo $MARGAY_RUN_DIR; {MARGAY} status --json mine"], env=env, cwd=home)
        self.assertEqual(done.returncode, 0, done.stderr)
        directory, status = done.stdout.split("\n", 1)
        self.assertTrue(directory.startswith(squatted + "."), directory)
        self.assertEqual(json.loads(status)["run"], "mine")
        self.assertFalse(os.path.exists(directory))

    @unittest.skipUnless(others_can_run(MARGAY), "takes root, and a place that others can read")
    def test_a_daemon_of_another_user_is_refused_unless_told(self):
        os.chmod(self.place, 0o755)
        for path in (self.runtime, os.path.join(self.place, "tmp")):
            os.chown(path, USER, USER)
        archive = os.path.join(self.place, "theirs")
        os.mkdir(archive, 0o700)
        os.chown(archive, USER, USER)
        self.daemon("theirs", uid=USER)
        self.answers("theirs", uid=USER)
        control = f"ipc://{self.runtime}/margay-{USER}/theirs/control.ipc"
        done = self.run_as(None, [MARGAY, "status", "--connect", control])
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn(f"belongs to user {USER}", done.stderr)
        self.assertIn(f"add --trust-user {USER}", done.stderr)
        self.assertNotEqual(self.run_as(None, [MARGAY, "status", "theirs"]).returncode, 0)
        told = f"--trust-user={USER}"
        self.assertEqual(self.answers("theirs", told)["run"], "theirs")
        self.assertEqual(self.run_as(None, [MARGAY, "status", "--check", "--connect", control, told]).returncode, 0)
        self.assertEqual(self.run_as(None, [MARGAY, "runs", told]).stdout, "theirs\n")
        for other in ("no-such-user", ""):
            self.assertEqual(self.run_as(None, [MARGAY, "status", f"--trust-user={other}"]).returncode, 2)
        # An agent of root's would not read what lies there.
        done = self.run_as(None, [NODE, "--run-dir", control[6:-len("/control.ipc")], "--run", "theirs"])
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"belongs to user {USER}", done.stderr)
        os.chown(self.runtime, 0, 0)

    def test_an_archive_is_for_its_owner_alone(self):
        archive = os.path.join(self.place, "deep", "archive")
        done = self.run_as(None, ["sh", "-c", 'umask 0; exec "$@"', "sh", MARGAY, "run", "--archive", archive, "--",
                                  *self.workload("--plan", "A:1", ranks=2)])
        self.assertEqual(done.returncode, 0, done.stderr)
        found = {os.path.relpath(os.path.join(folder, name), archive)
                 for folder, folders, files in os.walk(archive) for name in (*folders, *files, ".")
                 if os.stat(os.path.join(folder, name)).st_mode & 0o077}
        self.assertEqual(found, set())
        self.assertTrue(os.path.exists(os.path.join(archive, "MARGAY")))


if __name__ == "__main__":
    unittest.main()
