"""Signals sent to `margay run`, and what is left of a run whose `margay run` was killed."""
import contextlib
import os
import pty
import random
import re
import shutil
import signal
import subprocess
import sys
import textwrap
import time
import unittest

from e2e import E2eTest, LONG, MARGAY, alive, command_line, end_process, executable_of, read_text, wait_for, plant

# Those that a program may take: not its own errors, not what nobody can take, not what the C library keeps.
TAKEN = [s for s in range(1, signal.SIGRTMAX + 1) if s not in (signal.SIGKILL, signal.SIGSTOP, 32, 33)]
ERRORS = (signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGTRAP, signal.SIGSYS, signal.SIGABRT)

# Writes the number of each signal that it is sent, until SIGUSR2 comes.
LISTENER = textwrap.dedent("""
    import os, signal
    signals = [s for s in range(1, signal.SIGRTMAX + 1) if s not in (signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD, 32, 33)]
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    os.write(1, b"up\\n")
    while True:
        info = signal.sigwaitinfo(signals)
        os.write(1, b"%d\\n" % info.si_signo)
        if info.si_signo == signal.SIGUSR2:
            raise SystemExit(9)
""")


def blocks(pid, number):
    mask = re.search(r"^SigBlk:\s*(\w+)", read_text(f"/proc/{pid}/status"), re.M)
    return bool(mask and int(mask[1], 16) >> (number - 1) & 1)


class Signals(E2eTest):
    def signalled(self, number):
        """The exit code of a job that is sent a signal once it is up: alone, and under margay."""
        codes = []
        for start in (self.start, self.run_margay):
            job = start(self.program("ends", "wait"))
            wait_for(lambda job=job: "ready" in job.stdout, "the job is up")
            ranks = job.ranks("ends", 2)
            end_process(job.pid, number)
            codes.append(job.wait())
            for pid in ranks.values():
                wait_for(lambda pid=pid: not alive(pid), "the ranks have ended")
        self.assertEqual(codes[0], codes[1])
        self.assertNotEqual(codes[1], 0)
        run = self.jobs[-1]
        self.assertEqual(run.summary["exit_code"], codes[1])
        self.check_conservation(run, 2)
        self.assertFalse(os.path.exists(run.control_directory()))

    def test_sigterm(self):
        self.signalled(signal.SIGTERM)

    def test_sigint(self):
        self.signalled(signal.SIGINT)

    def test_the_job_decides_what_a_signal_means(self):
        # A job that takes SIGTERM as the wish to end in order ends in order.
        run = self.run_margay(["sh", "-c", "trap 'echo asked; exit 9' TERM; echo up; while :; do sleep 0.01; done"])
        wait_for(lambda: "up" in run.stdout, "the job is up")
        end_process(run.pid, signal.SIGTERM)
        self.assertEqual(run.wait(), 9)
        self.assertEqual(run.stdout, "up\nasked\n")

    def test_interrupted_at_the_terminal(self):
        # The terminal sends SIGINT to the whole process group: the job has it once, not once more from margay.
        script = ("trap 'echo interrupted' INT; trap 'exit 9' USR1; echo up; while :; do sleep 0.01; done")
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(self.place)
            os.execve(MARGAY, [MARGAY, "run", "--name", "tty", "--", "sh", "-c", script], self.environment)
        os.set_blocking(terminal, False)
        seen = b""

        def read(until):
            nonlocal seen
            try:
                seen += os.read(terminal, 65536)
            except (BlockingIOError, OSError):
                pass  # nothing there; or, at the end, nobody
            return until in seen
        try:
            wait_for(lambda: read(b"up"), "the job is up")
            os.write(terminal, b"\x03")
            wait_for(lambda: read(b"interrupted"), "the job is interrupted")
            end_process(pid, signal.SIGUSR1)  # passed on, after everything before it
            wait_for(lambda: read(b"with exit code 9"), "the end")
            done, status = wait_for(lambda: (lambda r: r if r[0] else None)(os.waitpid(pid, os.WNOHANG)), "margay's end")
        finally:
            os.close(terminal)
        self.assertEqual((done, os.waitstatus_to_exitcode(status)), (pid, 9))
        self.assertEqual(seen.count(b"interrupted"), 1, seen)


class AsGiven(E2eTest):
    """The job is given the signals as `margay run` was, as env and nohup hand them on; and gets those sent to it."""

    def given(self, prefix, ignored, blocked):
        def prepare():
            for number in ignored:
                signal.signal(number, signal.SIG_IGN)
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        done = subprocess.run([*prefix, "grep", r"^Sig\(Blk\|Ign\|Cgt\)", "/proc/self/status"], preexec_fn=prepare,
                              restore_signals=False, env=self.environment, cwd=self.place, capture_output=True, text=True,
                              timeout=LONG, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_what_is_ignored_and_blocked(self):
        seed = int(os.environ.get("SIGNALS_SEED", random.randrange(1 << 32)))
        print(f"  SIGNALS_SEED={seed}", flush=True)
        dice = random.Random(seed)
        sets = [((), ()), ((signal.SIGHUP,), ()), ((signal.SIGINT, signal.SIGQUIT), ()), ((signal.SIGCHLD,), (signal.SIGTERM,)),
                (TAKEN, TAKEN), (dice.sample(TAKEN, 20), dice.sample(TAKEN, 20))]
        for i, (ignored, blocked) in enumerate(sets):
            alone = self.given(["env"], ignored, blocked)
            under = self.given([MARGAY, "run", "--name", f"g{i}", "--"], ignored, blocked)
            self.assertEqual(under, alone, f"ignored {ignored}, blocked {blocked}")
        nohup = shutil.which("nohup")
        self.assertEqual(self.given([nohup, MARGAY, "run", "--name", "n", "--"], (), ()), self.given([nohup], (), ()))

    def test_nohup_outlives_the_terminal(self):
        out, end = os.path.join(self.place, "out"), os.path.join(self.place, "end")
        script = f"echo up; while [ ! -e {end} ]; do sleep 0.01; done; exit 7"
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(self.place)
            signal.signal(signal.SIGHUP, signal.SIG_DFL)  # a shell cannot, where these tests run under nohup themselves
            shell = f"nohup {MARGAY} run --name tty -- sh -c '{script}' >{out} 2>&1; echo $? >code"
            os.execve("/bin/sh", ["sh", "-c", f"trap '' HUP; ({shell}) & trap - HUP; wait"], self.environment)
        try:
            wait_for(lambda: "up" in read_text(out), "the job is up")
        finally:
            os.close(terminal)
        os.waitpid(pid, 0)  # the shell is gone with its terminal
        self.assertFalse(os.path.exists(os.path.join(self.place, "code")))
        with open(end, "w", encoding="utf-8"):
            pass
        code = os.path.join(self.place, "code")
        wait_for(lambda: read_text(code).endswith("\n"), "margay's end")
        self.assertEqual(read_text(code), "7\n", read_text(out))
        self.assertIn("the job ended after", read_text(out))

    def test_every_signal_is_passed_on_once(self):
        run = self.run_margay([sys.executable, "-c", LISTENER])
        wait_for(lambda: "up" in run.stdout, "the job is up")
        # What stops `margay run` as well comes below.
        sent = [s for s in TAKEN if s not in ERRORS
                and s not in (signal.SIGCHLD, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU, signal.SIGUSR2)]
        for number in sent:
            end_process(run.pid, number)
            wait_for(lambda number=number: str(int(number)) in run.stdout.split(), f"signal {number} is passed on")
        end_process(run.pid, signal.SIGUSR2)
        self.assertEqual(run.wait(), 9)
        self.assertEqual(run.stdout.split(), ["up", *(str(int(s)) for s in sent), str(int(signal.SIGUSR2))])
        self.assertEqual(run.own_stderr, "")

    def test_a_signal_that_ends_the_job(self):
        for number in (signal.SIGALRM, signal.SIGXCPU, signal.SIGRTMIN + 1):
            run = self.run_margay(["sh", "-c", "echo up; exec sleep 600"], name=f"s{int(number)}")
            wait_for(lambda run=run: "up" in run.stdout and run.child("sleep"), "the job is up")
            end_process(run.pid, number)
            self.assertEqual(run.wait(), 128 + number)
            self.assertIn(f"with exit code {128 + number}", run.stderr)

    def test_an_alarm_that_was_set_before(self):
        code = ("import os, signal, sys; signal.alarm(1); "
                "os.execv(sys.argv[1], [sys.argv[1], 'run', '--name', 'a', '--', 'sleep', '600'])")
        self.assertEqual(self.start([sys.executable, "-c", code, MARGAY]).wait(), 128 + signal.SIGALRM)

    def test_stopped_and_continued(self):
        """Ctrl-Z and fg; then SIGTSTP and SIGCONT to `margay run` alone."""
        out, end = os.path.join(self.place, "out"), os.path.join(self.place, "end")
        # It waits without a child: a shell whose child is stopped between vfork and exec sleeps on, and cannot be stopped itself.
        os.mkfifo(end)
        script = f"echo up >{out}; read line <{end}; exit 6"
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(self.place)
            os.execve("/bin/bash", ["bash", "--norc", "--noprofile", "-i"], self.environment | {"PS1": "ready> "})
        os.set_blocking(terminal, False)
        seen = b""

        def shows(what):
            nonlocal seen
            with contextlib.suppress(BlockingIOError, OSError):
                seen += os.read(terminal, 65536)
            return what in seen

        def pids():
            margay = next((p for p in plant.descendants(pid) if executable_of(p) == "margay"), 0)
            job = next((p for p in plant.descendants(margay) if command_line(p).startswith("sh -c")), 0) if margay else 0
            return margay and job and (margay, job)
        try:
            wait_for(lambda: shows(b"ready> "), "the shell")
            os.write(terminal, f"{MARGAY} run --name tty -- sh -c '{script}'; echo left with $?\n".encode())
            wait_for(lambda: "up" in read_text(out), "the job is up")
            both = wait_for(pids, "both")

            def stopped():
                return all(plant.state_of(p) == "T" for p in both)

            def going():
                # `margay run` takes stops as events again once it blocks them; one that comes before stops it alone.
                return all(plant.state_of(p) not in ("T", None) for p in both) and blocks(both[0], signal.SIGTSTP)
            os.write(terminal, b"\x1a")
            wait_for(stopped, "ctrl-Z stops both")
            wait_for(lambda: shows(b"Stopped"), "the shell knows")
            os.write(terminal, b"fg\n")
            wait_for(going, "fg has both go on")
            end_process(both[0], signal.SIGTSTP)
            wait_for(stopped, "SIGTSTP stops both")
            end_process(both[0], signal.SIGCONT)
            wait_for(going, "SIGCONT has both go on")
            with open(end, "w", encoding="utf-8") as file:
                file.write("end\n")
            wait_for(lambda: shows(b"with exit code 6"), "the end")
            os.write(terminal, b"\nexit\nexit\n")
            wait_for(lambda: shows(b"exit") and os.waitpid(pid, os.WNOHANG)[0] == pid, "the shell's end")
        finally:
            os.close(terminal)


class Killed(E2eTest):
    def test_margay_run_itself_is_killed(self):
        # The job goes on to its end; daemon and agent take the rest, close the archive and end by themselves.
        run = self.run_margay(self.workload("--plan", "A:3", ranks=2))
        run.wait_for_slices(5)
        ranks = run.ranks("margay-workload", 2)
        daemon, agent = run.child("margayd"), run.child("margay-node")
        self.assertTrue(daemon and agent)
        end_process(run.pid, signal.SIGKILL)
        run.wait()
        killed = time.monotonic()
        for pid in ranks.values():
            self.assertTrue(alive(pid))
        wait_for(lambda: not any(map(alive, ranks.values())), "the job ends by itself")
        self.assertIn("spread", run.stdout)
        ended = time.monotonic()
        wait_for(lambda: not alive(agent), "the agent ends by itself", timeout=30)
        wait_for(lambda: not alive(daemon), "the daemon ends by itself", timeout=30)
        print(f"  job over {ended - killed:.1f} s after the kill, helpers {time.monotonic() - ended:.1f} s after that; "
              f"run directory {'stays' if os.path.exists(run.control_directory()) else 'is gone'}", flush=True)
        self.check_cells(run)
        streams = run.meta()["streams"]
        self.assertEqual(len(streams), 2)
        for s in streams:
            self.assertEqual((s["produced"], s["modelled"]), (s["recorded"], s["produced"]), s)
        self.assertFalse(os.path.exists(run.control_directory()), "the run directory stays behind")


if __name__ == "__main__":
    unittest.main()
