"""What the end-to-end tests share: a private place for each test, `margay run` in it, and what must hold afterwards.

Each test gets a folder of its own and a MARGAY_RUNTIME_DIR below it; everything it starts carries that variable, which
is how leftovers are found (/proc/*/environ) and ended, by their ids. A test that leaves a process or a file in the
runtime directory behind has failed, whatever it tested. Nothing waits for fixed times: wait_for() polls a condition.
"""
import collections
import contextlib
import csv
import functools
import glob
import json
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
WORKLOADS = os.path.join(os.path.dirname(HERE), "workloads")
sys.path.insert(0, WORKLOADS)

import campaign_judge as judge  # noqa: E402
import plant  # noqa: E402

BUILD = os.environ["BUILD"]
MARGAY = os.environ["MARGAY"]
MPIRUN = os.environ["MPIRUN"]
WORKLOAD = os.environ["WORKLOAD"]
CALLCOUNT = os.environ["CALLCOUNT"]
ARCHIVE_DUMP = os.environ["ARCHIVE_DUMP"]
CG = os.environ["CG"]
CAPTURE_CHECK = os.environ["CAPTURE_CHECK"]
ZOOM_CHECK = os.environ["ZOOM_CHECK"]
PROGRAMS = os.environ["E2E_PROGRAMS"]  # folder of the small MPI programs of these tests
PROBE = os.environ["PROBE"]

LONG = 120.0  # s; nothing here takes so long unless it hangs

# What the probe leaves out on purpose (collector/probe/PROBE.md): local questions and datatypes, which neither wait nor
# talk to anybody. Everything else that a program calls must have been recorded, twice.
NOT_RECORDED = ("MPI_Wtime", "MPI_Wtick", "MPI_Initialized", "MPI_Finalized", "MPI_Is_thread_main", "MPI_Query_thread",
                "MPI_Comm_rank", "MPI_Comm_size", "MPI_Comm_remote_size", "MPI_Comm_test_inter", "MPI_Comm_compare",
                "MPI_Comm_group", "MPI_Comm_get_attr", "MPI_Comm_set_errhandler", "MPI_Comm_get_errhandler",
                "MPI_Comm_create_errhandler", "MPI_Comm_create_keyval", "MPI_Comm_free_keyval",
                "MPI_Comm_set_attr", "MPI_Comm_delete_attr", "MPI_Attr_get", "MPI_Attr_put", "MPI_Keyval_create",
                "MPI_Get_count", "MPI_Get_elements", "MPI_Get_address", "MPI_Address", "MPI_Get_processor_name",
                "MPI_Get_version", "MPI_Get_library_version", "MPI_Error_string", "MPI_Error_class",
                "MPI_Errhandler_create", "MPI_Errhandler_set", "MPI_Errhandler_free", "MPI_Op_create", "MPI_Op_free",
                "MPI_Cart_rank", "MPI_Cart_coords", "MPI_Cart_shift", "MPI_Cart_get", "MPI_Cartdim_get",
                "MPI_Dims_create", "MPI_Pack", "MPI_Unpack", "MPI_Pack_size", "MPI_Alloc_mem", "MPI_Free_mem")
NOT_RECORDED_FAMILIES = ("MPI_Type_", "MPI_Group_", "MPI_Info_", "MPI_Add_error_")


def wait_for(condition, what, timeout=LONG, poll=0.01):
    """The condition's first true value. AssertionError after `timeout`."""
    deadline = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() >= deadline:
            raise AssertionError(f"{what}: not within {timeout:.0f} s")
        time.sleep(poll)


def executable_of(pid):
    try:
        return os.path.basename(os.readlink(f"/proc/{pid}/exe")).removesuffix(" (deleted)")
    except OSError:
        return None


def command_line(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return ""


def alive(pid):
    return plant.state_of(pid) not in (None, "Z")


def end_process(pid, number=signal.SIGKILL):
    """Through a pidfd: never to a stranger with the same number."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        signal.pidfd_send_signal(handle, number)
    except ProcessLookupError:
        pass
    finally:
        os.close(handle)


class Job:
    """A program that runs: `margay run`, or the same job without it."""

    def __init__(self, test, command, env=None, cwd=None):
        self.test = test
        number = len(test.jobs)
        self.stdout_path = os.path.join(test.place, f"stdout{number}")
        self.stderr_path = os.path.join(test.place, f"stderr{number}")
        with open(self.stdout_path, "wb") as out, open(self.stderr_path, "wb") as err:
            self.process = subprocess.Popen(command, cwd=cwd or test.place, env=test.environment | (env or {}),
                                            stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True)
        self.pid = self.process.pid
        test.jobs.append(self)

    def wait(self, timeout=LONG):
        """The exit code as a shell tells it."""
        try:
            code = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.test.fail(f"did not end within {timeout:.0f} s\n{self.stderr}")
        return code if code >= 0 else 128 - code

    @property
    def running(self):
        return self.process.poll() is None

    @property
    def stdout(self):
        return read_text(self.stdout_path)

    @property
    def stderr(self):
        return read_text(self.stderr_path)

    @property
    def said(self):
        """What Margay said."""
        return [line for line in self.stderr.splitlines() if line.startswith("margay: ")]

    @property
    def own_stderr(self):
        """What the job said."""
        return "".join(line for line in self.stderr.splitlines(True) if not line.startswith("margay: "))

    def child(self, name):
        """The child of `margay run` that runs this program; None if there is none (now)."""
        for pid in plant.descendants(self.pid):
            if executable_of(pid) == name and alive(pid):
                return pid
        return None

    def ranks(self, exe, count):
        return plant.wait_for_ranks(self.pid, exe, count, LONG)


def free_ports(count):
    """TCP ports of this machine that nobody listened on just now; no two alike."""
    sockets = [socket.socket() for _ in range(count)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


def free_port():
    return free_ports(1)[0]


def read_text(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except FileNotFoundError:
        return ""


class Run(Job):
    """`margay run` with archive, alerts and summary in the test's place. Every call is recorded, whatever that costs, unless
    the test is about `sums`."""

    def __init__(self, test, command, flags=(), env=None, slice_text="100ms", name=None, sums=False):
        self.name = name or f"r{len(test.jobs)}"
        self.archive = os.path.join(test.place, self.name + ".archive")
        self.alerts_path = os.path.join(test.place, self.name + ".alerts.jsonl")
        self.summary_path = os.path.join(test.place, self.name + ".summary.json")
        given = [test.margay_program, "run", "--name", self.name, "--slice", slice_text, "--alerts", self.alerts_path,
                 "--summary", self.summary_path]
        if "--archive" not in flags:
            given += ["--archive", self.archive]
        if not sums:
            given += ["--every-call"]
        super().__init__(test, given + list(flags) + ["--"] + list(command), env)

    @property
    def summary(self):
        with open(self.summary_path, encoding="utf-8") as file:
            return json.load(file)

    @property
    def alerts(self):
        return [json.loads(line) for line in read_text(self.alerts_path).splitlines()]

    def firing(self):
        return [a for a in self.alerts if a["status"] == "firing"]

    def by_rank(self):
        """{rank: its account} of the summary."""
        return {int(s["resource"].rsplit("/rank", 1)[1].split("/")[0]): s for s in self.summary["sources"]}

    def meta(self):
        return json.loads(dump("meta", self.archive))

    def control_directory(self):
        return os.path.join(self.test.runtime, f"margay-{os.geteuid()}", self.name)

    def status(self):
        """`margay status --json`, {} while it cannot be had."""
        done = subprocess.run([MARGAY, "status", "--json", self.name], env=self.test.environment, capture_output=True,
                              text=True, timeout=LONG, check=False)
        return json.loads(done.stdout) if done.returncode == 0 else {}

    def produced_so_far(self):
        return sum(s["modelled"] for s in self.status().get("sources", []))

    def wait_for_slices(self, count):
        """Until so many slices after the begin of the run have been closed while the job runs."""
        def enough():
            if not self.running:
                self.test.fail(f"ended before {count} slices were closed\n{self.stderr}")
            s = self.status()
            return s and s["sources"] and (s["watermark_ns"] - s["run_begin_ns"]) >= count * s["slice_ns"] and s
        return wait_for(enough, f"{count} slices", poll=0.05)


def dump(what, archive):
    done = subprocess.run([ARCHIVE_DUMP, what, archive], capture_output=True, text=True, timeout=LONG, check=False)
    if done.returncode != 0:
        raise AssertionError(f"archive_dump {what}: {done.stderr}")
    return done.stdout


def calls_by_rank(folder):
    """{rank: {function: calls}} of libmargay-callcount.so; a rank that ran twice is added up."""
    ranks = collections.defaultdict(collections.Counter)
    for path in glob.glob(os.path.join(folder, "*.json")):
        with open(path, encoding="utf-8") as file:
            one = json.load(file)
        ranks[one["rank"]].update(one["calls"])
    return ranks


def expected_records(calls):
    """Records the probe must have made of these calls: two each, one for the ends of named regions."""
    total = 0
    for name, count in calls.items():
        if name in NOT_RECORDED or name.startswith(NOT_RECORDED_FAMILIES):
            continue
        total += count if name == "MPI_Pcontrol" else 2 * count
    return total


def processor_time():
    """(seconds that all cores were busy or stolen, of these what this process and its children took that have ended)."""
    with open("/proc/stat", encoding="ascii") as file:
        user, nice, system, _, _, irq, soft_irq, steal = (int(f) for f in file.readline().split()[1:9])
    own = sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return (user + nice + system + irq + soft_irq + steal) / os.sysconf("SC_CLK_TCK"), own


class StolenTime:
    """The most that the hypervisor took within half a second, of one core."""
    WINDOW, PERIOD = 0.5, 0.1

    def __enter__(self):
        self.most, self.over = 0.0, threading.Event()
        self.thread = threading.Thread(target=self.look)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()

    def look(self):
        seen = collections.deque(maxlen=1 + round(self.WINDOW / self.PERIOD))
        while not self.over.wait(self.PERIOD):
            with open("/proc/stat", encoding="ascii") as file:
                seen.append(int(file.readline().split()[8]) / os.sysconf("SC_CLK_TCK"))
            self.most = max(self.most, (seen[-1] - seen[0]) / self.WINDOW)


def nightly(why):
    """For tests that `tests/run --nightly` runs, for this reason: those whose faults the simulation (tests/simulation) plants
    from a seed each time, and which are the same with a real daemon and a real disk."""
    return unittest.skipUnless(os.environ.get("MARGAY_NIGHTLY"), f"nightly (MARGAY_NIGHTLY=1): {why}")


class Disturbed(AssertionError):
    """What a test rests on was not so, through no fault of Margay's."""


class OnlyUndisturbed(AssertionError):
    """What holds only where others leave the machine alone: that nobody else was kept from a core."""


def again_if_disturbed(test):
    """For tests of what Margay says of a job in time: it fails on a machine that others had meanwhile for a tenth and
    more, or the hypervisor a tenth of a core for half a second, or it is Disturbed; then it says nothing, and is done once
    more; a second time it counts in any case, but for what is OnlyUndisturbed: where others had the machine again, that is
    skipped."""
    def attempt(self):
        """The test; what failed, and whom it may be laid to: None if to nobody."""
        begin, before = time.monotonic(), processor_time()
        with StolenTime() as stolen:
            try:
                test(self)
                return None, None
            except AssertionError as error:
                failure = error
        # Its programs are to have ended: what they took is the test's own.
        while self._cleanups:
            function, arguments, named = self._cleanups.pop()
            with contextlib.suppress(AssertionError):
                function(*arguments, **named)
        seconds, after = time.monotonic() - begin, processor_time()
        others = (after[0] - before[0] - (after[1] - before[1])) / (seconds * os.cpu_count())
        if others < 0.1 and stolen.most < 0.1 and not isinstance(failure, Disturbed):
            return failure, None
        return failure, (f"others had {others:.0%} of the cores meanwhile, the hypervisor {stolen.most:.0%} of a core for "
                         "half a second")

    @functools.wraps(test)
    def wrapped(self):
        failure, disturbed = attempt(self)
        if failure and disturbed:
            print(f"  {failure}\n  {disturbed}: once more", file=sys.stderr, flush=True)
            self.setUp()
            failure, disturbed = attempt(self)
            if disturbed and isinstance(failure, OnlyUndisturbed):
                self.skipTest(f"{failure}; {disturbed}, twice")
        if failure:
            raise failure
    return wrapped


class E2eTest(unittest.TestCase):
    """A test in a place of its own."""
    maxDiff = None
    margay_program = MARGAY  # what run_margay() starts

    def setUp(self):
        # Short: below it lie sockets, whose path has 107 bytes at most.
        self.place = tempfile.mkdtemp(prefix="me-", dir="/tmp")
        self.runtime = tempfile.mkdtemp(prefix="me-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else "/tmp")
        self.jobs = []
        self.files_may_remain = False
        os.mkdir(os.path.join(self.place, "tmp"))
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith(("OMPI_", "PMIX_", "LD_PRELOAD"))}
        self.environment |= {
            "MARGAY_RUNTIME_DIR": self.runtime,
            "TMPDIR": os.path.join(self.place, "tmp"),
            "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_mpi_yield_when_idle": "1", "OMP_NUM_THREADS": "1",
            "OMPI_MCA_btl_vader_backing_directory": os.path.join(self.place, "tmp"),
            "LC_ALL": "C.UTF-8", "TZ": "UTC",
        }
        if os.geteuid() == 0:
            self.environment |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        self.addCleanup(self.clean_up)

    def leftovers(self):
        """Processes that carry this test's runtime directory in their environment."""
        mark = f"MARGAY_RUNTIME_DIR={self.runtime}".encode()
        found = []
        for entry in os.listdir("/proc"):
            if not entry.isdigit():
                continue
            try:
                with open(f"/proc/{entry}/environ", "rb") as file:
                    if mark in file.read().split(b"\0") and alive(int(entry)):
                        found.append(int(entry))
            except OSError:
                continue
        return found

    def clean_up(self):
        problems = []
        try:
            for job in self.jobs:
                job.process.poll()
            try:
                wait_for(lambda: not self.leftovers(), "processes", timeout=10)
            except AssertionError:
                for pid in self.leftovers():
                    problems.append(f"process {pid} was left behind: {command_line(pid)}")
                    end_process(pid)
                for job in self.jobs:
                    job.process.wait(LONG)
            remaining = [os.path.relpath(os.path.join(folder, name), self.runtime)
                         for folder, _, names in os.walk(self.runtime) for name in names]
            if remaining and not self.files_may_remain:
                problems.append(f"files were left behind: {', '.join(sorted(remaining)[:10])}")
            outcome = getattr(self, "_outcome", None)
            failed = problems or not getattr(outcome, "success", True)
            if failed:
                for job in self.jobs:
                    print(f"--- {' '.join(job.process.args)}: {job.process.returncode}\n{job.stderr[-4000:]}",
                          file=sys.stderr)
        finally:
            if os.environ.get("E2E_KEEP"):
                print(f"kept: {self.place} {self.runtime}", file=sys.stderr)
            else:
                shutil.rmtree(self.place, ignore_errors=True)
                shutil.rmtree(self.runtime, ignore_errors=True)
        if problems:
            self.fail("; ".join(problems))

    def written(self, name, text):
        """A file of the test's own, with this text; its path."""
        path = os.path.join(self.place, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    # What 4 processes' rings are of their full size in.
    FULL_RINGS_OF_4 = 128 << 20

    def need_shared_memory(self, size):
        """Skips the test where the rings (of their usual size) would not find so many bytes."""
        info = os.statvfs(self.runtime)
        if info.f_bavail * info.f_frsize < size:
            self.skipTest(f"{size >> 20} MiB are wanted in {os.path.dirname(self.runtime)}, "
                          f"{info.f_bavail * info.f_frsize >> 20} MiB are free")

    # -- jobs

    def start(self, command, env=None):
        return Job(self, command, env)

    def run_margay(self, command, **options):
        return Run(self, command, **options)

    def lammps(self, steps, ranks=4):
        return [MPIRUN, "-np", str(ranks), "lmp", "-in", os.path.join(WORKLOADS, "in.lj"), "-var", "steps", str(steps),
                "-log", "none"]

    def lammps_until_told(self, ranks=4):
        """LAMMPS that goes on until tell_to_end(): its input jumps to a file (which rank 0 alone reads) that jumps back."""
        main, self.next_path = os.path.join(self.place, "in.loop"), os.path.join(self.place, "in.next")
        with open(os.path.join(WORKLOADS, "in.lj"), encoding="utf-8") as file:
            text = re.sub(r"^run .*", "run 0\nlabel loop\nrun 20 pre no post no\n" + f"jump {self.next_path}", file.read(),
                          flags=re.M)
        with open(main, "w", encoding="utf-8") as file:
            file.write(text)
        with open(self.next_path, "w", encoding="utf-8") as file:
            file.write(f"jump {main} loop\n")
        return [MPIRUN, "-np", str(ranks), "lmp", "-in", main, "-log", "none"]

    def run_lammps(self, slices, **how):
        """A run of LAMMPS on four ranks that goes on until tell_to_end(), as soon as so many slices have come."""
        run = self.run_margay(self.lammps_until_told(), **how)
        run.ranks("lmp", 4)
        run.wait_for_slices(slices)
        return run

    def tell_to_end(self):
        path = self.next_path + ".new"
        with open(path, "w", encoding="utf-8") as file:
            file.write('print "told to end"\n')
        os.replace(path, self.next_path)

    def lammps_for(self, seconds, ranks=4):
        """LAMMPS in one uninterrupted run that ends after so much time, however busy the machine is."""
        path = os.path.join(self.place, "in.timed")
        with open(os.path.join(WORKLOADS, "in.lj"), encoding="utf-8") as file:
            text = re.sub(r"^run .*", f"timer timeout 00:00:{seconds:02} every 10\nrun 10000000", file.read(), flags=re.M)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return [MPIRUN, "-np", str(ranks), "lmp", "-in", path, "-log", "none"]

    def workload(self, *options, ranks=4):
        return [MPIRUN, "-np", str(ranks), WORKLOAD, *options]

    def program(self, name, *options, ranks=2):
        return [MPIRUN, "-np", str(ranks), os.path.join(PROGRAMS, name), *options]

    # -- what must hold

    def check_conservation(self, run, ranks, lossless=True):
        summary = run.summary
        self.assertEqual(judge.conservation(summary, ranks), [], summary)
        if lossless:
            for term in ("late_dropped", "probe_dropped", "wire_lost", "rejected"):
                self.assertEqual(summary["events"][term], 0, term)

    def check_calls(self, run, counts, ranks, hidden=0):
        """Every call that an independent counter saw was recorded, and nothing else. `hidden` calls of each rank are made
        inside others, where the counter does not count."""
        calls = calls_by_rank(counts)
        self.assertEqual(sorted(calls), list(range(ranks)))
        accounts = run.by_rank()
        for rank in range(ranks):
            self.assertEqual(accounts[rank]["produced"], expected_records(calls[rank]) + 2 * hidden,
                             f"rank {rank}: {dict(calls[rank])}")

    def check_cells(self, run):
        """The archive has every slice of the run, and each of its rows sums to the slice exactly. Returns the number of
        rows."""
        meta = run.meta()
        slice_ns = meta["levels_ns"][0]
        shape, sums, rows = {}, collections.Counter(), 0
        for row in csv.DictReader(dump("slices", run.archive).splitlines()):
            shape[int(row["slice"])] = int(row["leaves"])
        for row in csv.DictReader(dump("cells", run.archive).splitlines()):
            self.assertGreaterEqual(int(row["duration_ns"]), 0, row)
            sums[int(row["slice"]), int(row["leaf"])] += int(row["duration_ns"])
        first = meta["begin_ns"] // slice_ns
        through = meta["closed_through"]
        self.assertEqual([s for s in sorted(shape) if s <= through], list(range(first, through + 1)), "a hole")
        for number in range(first, through + 1):
            for leaf in range(shape[number]):
                self.assertEqual(sums[number, leaf], slice_ns, f"slice {number}, leaf {leaf}")
                rows += 1
        # The last slice has everything; before it, a leaf may not have been known yet.
        self.assertEqual(shape[through], len(meta["leaves"]))
        self.assertGreater(rows, 0)
        return rows

    def check_archive(self, run):
        """`margay archive` finds the archive whole, and its account is that of the run's summary."""
        def archive(command):
            done = subprocess.run([MARGAY, "archive", command, "--json", run.archive], env=self.environment,
                                  capture_output=True, text=True, timeout=LONG, check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            return json.loads(done.stdout)
        verified, info, summary = archive("verify"), archive("info"), run.summary
        self.assertEqual(verified["damages"], 0, verified)
        self.assertGreater(verified["slices"], 0)
        self.assertGreater(verified["cells"], 0)
        for term, count in info["events"].items():
            self.assertEqual(count, summary["events"][term], term)
        self.assertEqual(info["leaves"], len(summary["sources"]))
        self.assertEqual(info["run"], run.name)
        return verified, info

    def check_alert_lines(self, run):
        # Who has the CPU is told as soon as it is known: the one thing that is told of an alert that goes on.
        lines = [(a["id"], a["status"], bool(a.get("takers"))) for a in run.alerts]
        self.assertEqual(len(lines), len(set(lines)), f"said twice: {lines}")
