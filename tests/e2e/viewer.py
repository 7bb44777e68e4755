"""A viewer's window on a display of its own (Xvfb), for tests: viewer_driver, asked line by line."""
import json
import os
import shutil
import signal
import subprocess
import unittest

from e2e import LONG, end_process, read_text, wait_for

DRIVER = os.environ.get("VIEWER_DRIVER", "")
FROZEN = 10.0  # s without an answer of the window's thread


class Display:
    """An X server of the test's own, and its name."""

    def __init__(self, test, environment, size):
        read, write = os.pipe()
        # Without -noreset it begins anew when its last client leaves, and who connects meanwhile is refused: the bus of assistive
        # technology comes and goes before the window is there.
        self.server = subprocess.Popen(["Xvfb", "-noreset", "-displayfd", str(write), "-screen", "0", f"{size}x24", "-nolisten", "tcp"],
                                       pass_fds=[write], env=environment, stdin=subprocess.DEVNULL,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        os.close(write)
        with os.fdopen(read) as file:
            number = file.readline().strip()
        test.assertTrue(number, "Xvfb did not start")
        self.name = ":" + number

    @property
    def ended(self):
        return self.server.returncode is not None

    def end(self):
        end_process(self.server.pid, signal.SIGTERM)
        self.server.wait(LONG)


class Viewer:
    """viewer_driver on a display of its own."""

    def __init__(self, test, *arguments, size="1280x720"):
        self.test = test
        environment = test.environment | {"HOME": test.place, "QT_QPA_PLATFORM": "xcb", "XDG_RUNTIME_DIR": test.runtime,
                                          "XDG_CONFIG_HOME": os.path.join(test.place, "config")}
        self.display = Display(test, environment, size)
        self.errors = os.path.join(test.place, f"viewer{self.display.server.pid}.err")
        with open(self.errors, "wb") as err:
            self.process = subprocess.Popen([DRIVER, *arguments, size], env=environment | {"DISPLAY": self.display.name},
                                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=err, text=True,
                                            start_new_session=True)
        test.addCleanup(self.end)

    def end(self):
        if self.display.ended:
            return
        if self.process.poll() is None:
            try:
                self.ask("quit")
            except AssertionError:
                end_process(self.process.pid)
        self.process.wait(LONG)
        self.process.stdin.close()
        self.process.stdout.close()
        self.display.end()

    def ask(self, command):
        """The answer; a window that is frozen or gone fails the test."""
        try:
            self.process.stdin.write(command + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass
        timer = signal.SIGALRM
        before = signal.signal(timer, self._frozen)
        signal.setitimer(signal.ITIMER_REAL, FROZEN)
        try:
            line = self.process.stdout.readline()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(timer, before)
        if not line:
            raise AssertionError(f"the viewer ended, {self.process.wait(LONG)}, at '{command}': {read_text(self.errors)}")
        return json.loads(line)

    @staticmethod
    def _frozen(*_):
        raise AssertionError(f"the window has not answered for {FROZEN:.0f} s")

    def do(self, command):
        answer = self.ask(command)
        self.test.assertFalse(answer.get("error"), f"{command}: {answer}")
        return answer

    @property
    def state(self):
        return self.ask("state")

    def wait(self, condition, what):
        """The first state that meets the condition."""
        last = {}

        def met():
            nonlocal last
            last = self.state
            return condition(last)
        try:
            wait_for(met, what, poll=0.05)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{last}\n{read_text(self.errors)}") from None
        return last

    def settled(self, what, condition=lambda s: True):
        return self.wait(lambda s: s["parts"] > 0 and not s["waiting"] and condition(s), what)


needs_window = unittest.skipUnless(os.path.exists(DRIVER) and shutil.which("Xvfb"), "Qt 6 or Xvfb is not installed")
