"""Margay in a place like a container's (tests/sandbox/run): 64 MiB of /dev/shm, name spaces of its own, 1024 descriptors, a
user without a name and a home, a read-only root, an installation whose path has blanks. Each job is run there twice, without
Margay and with it.

By hand: E2E_KEEP=1 keeps what the jobs left; NO_BLANKS=1 installs to a path without any, which tells one fault from
another; LMP_MPICH names a LAMMPS for MPICH, which Debian does not have (tests/sandbox/README.md).
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from e2e import MPIRUN, WORKLOADS, command_line, judge, read_text

TESTS = os.path.dirname(WORKLOADS)
SOURCE = os.path.dirname(TESTS)
SANDBOX = os.path.join(TESTS, "sandbox", "run")
BUILD = os.environ["BUILD"]
PROGRAMS = os.environ["SANDBOX_PROGRAMS"]
MPIRUN_MPICH = os.environ.get("MPIRUN_MPICH")
LMP_MPICH = os.environ.get("LMP_MPICH")

LONG = 180  # s; nothing here takes so long unless it hangs
# Cores are fewer than ranks. Open MPI's shared memory is left where it is by default: in /dev/shm.
ENVIRONMENT = {"OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_mpi_yield_when_idle": "1", "OMP_NUM_THREADS": "1"}
# Runs its arguments, then waits for what margay started to end, and says what did not and which files remain.
AND_WHAT_IS_LEFT = r"""
"$@"
code=$?
tries=0
while pgrep -x 'margay.*' >/dev/null && [ $tries -lt 100 ]; do sleep 0.1; tries=$((tries + 1)); done
{ pgrep -x -l 'margay.*'; find /dev/shm -path '*margay*' ! -type d; ls -d /tmp/margay* 2>/dev/null; } >left
exit $code
"""

place = None
margay = None


def setUpModule():
    global place, margay
    if not os.access(BUILD, os.W_OK):
        raise unittest.SkipTest(f"cmake --install lists what it does in {BUILD}, which may not be written")
    checked = subprocess.run([sys.executable, SANDBOX, "--check"], capture_output=True, text=True, timeout=LONG, check=False)
    if checked.returncode != 0:
        raise unittest.SkipTest(checked.stderr.strip() or f"tests/sandbox/run --check: exit code {checked.returncode}")
    blank = "-" if os.environ.get("NO_BLANKS") else " "
    place = tempfile.mkdtemp(prefix=f"a{blank}margay{blank}place{blank}", dir="/tmp")
    unittest.addModuleCleanup(remove_place)
    os.chmod(place, 0o755)
    prefix = os.path.join(place, f"margay{blank}install")
    installed = subprocess.run(["cmake", "--install", BUILD, "--prefix", prefix], capture_output=True, text=True, timeout=LONG,
                               check=False)
    if installed.returncode != 0:
        raise AssertionError(f"cmake --install: {installed.stdout[-500:]}{installed.stderr}")
    margay = os.path.join(prefix, "bin", "margay")
    seen = in_sandbox(place, "cat", os.path.join(PROGRAMS, "plain"), os.path.join(WORKLOADS, "in.lj"))
    if seen.returncode != 0:
        raise unittest.SkipTest(f"another user may not read this build or its sources: {seen.stderr.strip()}")


def remove_place():
    if not os.environ.get("E2E_KEEP"):
        shutil.rmtree(place, ignore_errors=True)
    else:
        print(f"kept: {place}", file=sys.stderr)


def in_sandbox(folder, *command, options=(), env=None, timeout=LONG):
    """Runs it in a place of its own, in `folder`, which it may write. The completed process, its output as text."""
    arguments = [sys.executable, SANDBOX, "--keep", SOURCE, "--keep", BUILD, "--keep", place]
    arguments += [] if folder == place else ["--writable", folder]
    for name, value in (ENVIRONMENT | (env or {})).items():
        arguments += ["--env", f"{name}={value}"]
    if LMP_MPICH:
        arguments += ["--keep", os.path.dirname(os.path.realpath(LMP_MPICH))]
    try:
        return subprocess.run(arguments + ["--directory", folder, *options, "--", *command], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, errors="replace", timeout=timeout, check=False)
    except subprocess.TimeoutExpired as late:
        said = b"".join(output[-3000:] for output in (late.stdout, late.stderr) if output).decode(errors="replace")
        raise AssertionError(f"{command[0]} did not end within {timeout} s\n{said}") from None


def thermo(output):
    """LAMMPS's table of what it computed: the same whenever the same number of ranks has computed it."""
    table = re.search(r"^ *Step +Temp.*?(?=^Loop time)", output, re.MULTILINE | re.DOTALL)
    return table[0].split("\n") if table else None


class Watched:
    """What `margay run` left of a job in the sandbox."""

    def __init__(self, test, done, folder):
        self.test, self.done, self.folder = test, done, folder

    @property
    def said(self):
        return [line for line in self.done.stderr.splitlines() if line.startswith("margay: ")]

    @property
    def own_stderr(self):
        """What the job said."""
        return "".join(line for line in self.done.stderr.splitlines(True) if not line.startswith("margay: "))

    @property
    def summary(self):
        path = os.path.join(self.folder, "summary.json")
        if not os.path.exists(path):
            self.test.fail(f"no summary\n{self.done.stderr}")
        with open(path, encoding="utf-8") as file:
            return json.load(file)


class SandboxTest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.folder = os.path.join(place, f"archive of {self.id().rsplit('.', 1)[1]}")

    def alone(self, *command, env=None):
        return in_sandbox(self.folder, *command, env=env)

    def watched(self, *command, env=None, options=(), flags=()):
        """The job under the installed `margay run`. Whatever happened, nothing of Margay may be left."""
        given = [margay, "run", "--name", "boxed", "--archive", os.path.join(self.folder, "the archive"), "--alerts",
                 "alerts.jsonl", "--summary", "summary.json", *flags, "--", *command]
        done = in_sandbox(self.folder, "sh", "-c", AND_WHAT_IS_LEFT, "sh", *given, options=options, env=env)
        self.assertNotEqual(done.returncode, 125, done.stderr)
        self.assertEqual(read_text(os.path.join(self.folder, "left")), "", "left behind")
        return Watched(self, done, self.folder)

    def check_same(self, alone, run, code):
        """The job's exit code and what it printed are those without Margay."""
        self.assertEqual(alone.returncode, code, f"without Margay:\n{alone.stderr}")
        self.assertEqual(run.done.returncode, code, run.done.stderr)
        self.assertEqual(run.done.stdout, alone.stdout)
        self.assertEqual(run.own_stderr, alone.stderr)

    def check_account(self, run, ranks):
        """Every rank is watched, or it is said that some are not; each account balances; the archive is whole."""
        summary = run.summary
        seen = len(summary["sources"])
        if seen != ranks:
            self.assertLess(seen, ranks)
            self.assertTrue(any(re.search(r"\b(not|un)\W?watched\b", line) for line in run.said),
                            f"{seen} of {ranks} ranks are watched, and nothing says so:\n{run.done.stderr}")
        self.assertEqual(judge.conservation(summary, seen), [], run.done.stderr)
        self.assertEqual(summary["exit_code"], run.done.returncode)
        if seen == ranks:
            for term in ("late_dropped", "probe_dropped", "wire_lost", "rejected"):
                self.assertEqual(summary["events"][term], 0, term)
        verified = in_sandbox(self.folder, margay, "archive", "verify", "--json", os.path.join(self.folder, "the archive"))
        self.assertEqual(verified.returncode, 0, verified.stdout + verified.stderr)
        self.assertEqual(json.loads(verified.stdout)["damages"], 0, verified.stdout)
        self.assertGreater(json.loads(verified.stdout)["slices"], 0, verified.stdout)

    def check_lammps(self, mpirun, lmp, ranks, steps):
        job = [mpirun, "-np", str(ranks), lmp, "-in", os.path.join(WORKLOADS, "in.lj"), "-log", "none", "-var", "steps",
               str(steps)]
        alone, run = self.alone(*job), self.watched(*job)
        self.assertEqual(alone.returncode, 0, alone.stderr)
        self.assertEqual(run.done.returncode, 0, run.done.stderr)
        self.assertEqual(thermo(run.done.stdout), thermo(alone.stdout))
        self.assertIsNotNone(thermo(alone.stdout), alone.stdout)
        self.assertEqual(run.own_stderr, alone.stderr)
        self.check_account(run, ranks)


class Place(SandboxTest):
    def test_the_place_is_what_it_says(self):
        done = self.alone("sh", "-c", "id -u; id -G; getent passwd 1234; ulimit -n; ulimit -Hn; "
                          "stat -f -c '%b %S' /dev/shm; env | cut -d= -f1 | sort | tr '\\n' ' '; echo; "
                          "grep CapEff /proc/self/status; touch mine && echo written; "
                          "for at in / /var/tmp /run \"$HOME\" \"$0\"; do touch \"$at/x\" 2>&1; done; "
                          "ls -d /proc/[0-9]*/ | wc -l; [ -e /proc/1 ] || echo hidden", place)
        lines = done.stdout.splitlines()
        self.assertEqual(lines[:4], ["1234", "1234", "1024", "1024"], done)
        blocks, size = lines[4].split()
        self.assertEqual(int(blocks) * int(size), 64 << 20)
        self.assertEqual(lines[5].split(), sorted({"HOME", "LC_ALL", "PATH", "PWD"} | ENVIRONMENT.keys()))
        self.assertEqual(lines[6].split(), ["CapEff:", "0" * 16])
        self.assertEqual(lines[7], "written")
        self.assertEqual(len(lines[8:13]), 5)
        for line in lines[8:13]:
            self.assertRegex(line, "Read-only file system|Permission denied")
        self.assertLess(int(lines[13]), 5)
        self.assertEqual(lines[14:], ["hidden"])

    def test_nothing_outlives_it(self):
        # Told by a number of seconds that nobody else waits for.
        mark = f"3{os.getpid()}.125"
        done = self.alone("sh", "-c", f"setsid sleep {mark} >/dev/null 2>&1 & setsid sleep {mark} >/dev/null 2>&1 & exit 7")
        self.assertEqual(done.returncode, 7)
        left = [pid for pid in os.listdir("/proc") if pid.isdigit() and mark in command_line(pid)]
        self.assertEqual(left, [])
        with open("/proc/self/mountinfo", encoding="utf-8") as file:
            self.assertNotIn(self.folder.replace(" ", "\\040"), file.read())


class Jobs(SandboxTest):
    @unittest.skipUnless(shutil.which("lmp"), "no lmp here (Debian: lammps)")
    def test_lammps_of_4_ranks(self):
        self.check_lammps(MPIRUN, "lmp", 4, 200)

    @unittest.skipUnless(shutil.which("lmp"), "no lmp here (Debian: lammps)")
    def test_lammps_of_16_ranks(self):
        # Four times as many as cores, and as much shared memory as all of them want at once.
        self.check_lammps(MPIRUN, "lmp", 16, 20)

    @unittest.skipUnless(LMP_MPICH, "Debian's lmp is Open MPI's. LMP_MPICH: one for MPICH (tests/sandbox/README.md)")
    def test_lammps_of_mpich(self):
        self.check_lammps(MPIRUN_MPICH, LMP_MPICH, 2, 200)

    @unittest.skipUnless(MPIRUN_MPICH, "no MPICH here (Debian: mpich, libmpich-dev)")
    def test_mpich(self):
        job = [MPIRUN_MPICH, "-np", "2", os.path.join(PROGRAMS, "ends-mpich"), "exit", "3"]
        run = self.watched(*job)
        self.check_same(self.alone(*job), run, 3)
        self.check_account(run, 2)

    @unittest.skipUnless(MPIRUN_MPICH, "no MPICH here (Debian: mpich, libmpich-dev)")
    def test_mpich_workload(self):
        run = self.watched(MPIRUN_MPICH, "-np", "2", os.path.join(PROGRAMS, "workload-mpich"), "--plan", "A:0.5,B:0.5")
        self.assertEqual(run.done.returncode, 0, run.done.stderr)
        self.assertEqual(run.own_stderr, "")
        self.check_account(run, 2)

    def test_asan_program_that_ends_with_3(self):
        job = [MPIRUN, "-np", "2", os.path.join(PROGRAMS, "ends-asan"), "exit", "3"]
        # Open MPI itself does not give back all of its memory.
        env = {"ASAN_OPTIONS": "detect_leaks=0"}
        alone, run = self.alone(*job, env=env), self.watched(*job, env=env)
        self.check_same_but_mpiruns(alone, run, 3)
        self.check_account_or_sentence(run, 2)

    def test_asan_program_that_finds_something(self):
        job = [MPIRUN, "-np", "2", os.path.join(PROGRAMS, "overrun")]
        env = {"ASAN_OPTIONS": "detect_leaks=0:exitcode=42"}
        alone, run = self.alone(*job, env=env), self.watched(*job, env=env)
        self.assertEqual(alone.returncode, 42, alone.stderr)
        self.assertEqual(run.done.returncode, 42, run.done.stderr)
        self.assertEqual(run.done.stdout, alone.stdout)
        for output in (alone.stderr, run.own_stderr):
            self.assertEqual(len(re.findall(r"ERROR: AddressSanitizer: heap-buffer-overflow", output)), 1, output)
        self.check_account_or_sentence(run, 2)

    def test_static_program(self):
        job = [os.path.join(PROGRAMS, "plain"), "4"]
        run = self.watched(*job)
        self.check_same(self.alone(*job), run, 4)
        self.assertTrue(any("no MPI program was seen" in line for line in run.said), run.said)

    def test_script_that_starts_both(self):
        os.makedirs(os.path.join(place, "a script"), exist_ok=True)
        script = os.path.join(place, "a script", "my job.sh")
        with open(script, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\n{PROGRAMS}/plain 4\necho plain: $?\n"
                       f"{MPIRUN} -np 2 {PROGRAMS}/ends exit 3\necho ends: $?\n")
        os.chmod(script, 0o755)
        run = self.watched(script)
        self.check_same_but_mpiruns(self.alone(script), run, 0)
        self.assertIn("plain: 4\n", run.done.stdout)
        self.assertIn("ends: 3\n", run.done.stdout)
        self.check_account(run, 2)

    def test_nohup_in_the_background(self):
        # What a shell sends to the process group of each of its jobs when its terminal is gone.
        script = ("setsid nohup \"$@\" >out 2>err </dev/null & job=$!\n"
                  "tries=0; until grep -qs ready out || [ $tries -ge 600 ]; do sleep 0.1; tries=$((tries + 1)); done\n"
                  "kill -HUP -- -$job; touch over; wait $job")
        job = ["sh", "-c", f"grep SigIgn /proc/self/status; {MPIRUN} -np 2 {PROGRAMS}/ends exit 0; "
               "echo ready; until [ -e over ]; do sleep 0.05; done; echo \"still here\"; exit 5"]
        alone = in_sandbox(self.folder, "sh", "-c", script, "sh", *job)
        self.assertEqual(alone.returncode, 5, alone.stderr)
        expected = read_text(os.path.join(self.folder, "out"))
        self.assertIn("still here", expected)
        os.remove(os.path.join(self.folder, "over"))
        os.remove(os.path.join(self.folder, "out"))
        given = [margay, "run", "--archive", os.path.join(self.folder, "the archive"), "--summary", "summary.json", "--", *job]
        done = in_sandbox(self.folder, "sh", "-c", script, "sh", *given)
        said = read_text(os.path.join(self.folder, "err"))
        self.assertEqual(done.returncode, 5, said)
        self.assertEqual(read_text(os.path.join(self.folder, "out")), expected)
        done.stderr = said
        self.check_account(Watched(self, done, self.folder), 2)

    def test_as_process_1(self):
        job = ["sh", "-c", f"{MPIRUN} -np 2 {PROGRAMS}/ends exit 0; sleep 300 & exit 6"]
        given = [margay, "run", "--archive", os.path.join(self.folder, "the archive"), "--summary", "summary.json", "--", *job]
        done = in_sandbox(self.folder, *given, options=("--pid-1",))
        self.assertEqual(done.returncode, 6, done.stderr)
        self.assertEqual(done.stdout.count("line 99: "), 1)
        self.check_account(Watched(self, done, self.folder), 2)

    def check_same_but_mpiruns(self, alone, run, code):
        """As check_same(), where a rank ends with an error: mpirun's own remarks on that depend on who notices first."""
        self.assertEqual(alone.returncode, code, f"without Margay:\n{alone.stderr}")
        self.assertEqual(run.done.returncode, code, run.done.stderr)
        self.assertEqual(run.done.stdout, alone.stdout)
        for output in (alone.stderr, run.own_stderr):
            self.assertEqual(output.splitlines().count("this goes to stderr"), 1, output)
            self.assertNotRegex(output, "ld[.]so|A(ddress)?San")

    def check_account_or_sentence(self, run, ranks):
        """The job may also be left alone, if a sentence says so."""
        if not run.summary["sources"]:
            self.assertTrue(any(re.search(r"\b(not|un)\W?watched\b|no MPI program was seen", line) for line in run.said),
                            run.said)
            return
        self.check_account(run, ranks)


class Look(SandboxTest):
    @unittest.skipUnless(shutil.which("lmp") and shutil.which("hpcc"), "no lmp or hpcc here (Debian: lammps, hpcc)")
    def test_config_try(self):
        # One rank of LAMMPS is stopped for a second, and must be found and blamed; nothing of HPCC and LAMMPS may be lost.
        done = in_sandbox(self.folder, os.path.join(SOURCE, "config", "try"), "--build",
                          os.path.dirname(os.path.dirname(margay)), timeout=2 * LONG)
        self.assertEqual(done.returncode, 0, done.stdout[-6000:] + done.stderr[-3000:])
        self.assertIn("Found: the right rank, nothing lost.", done.stdout)
        self.assertTrue(os.path.isdir(os.path.join(self.folder, "margay-try", "lammps", "archive")))


if __name__ == "__main__":
    unittest.main()
