#!/usr/bin/env python3
"""Plants faults in running MPI jobs from outside, and watches alerts with a clock of its own.

  plant.py stop --job-pid P --pid-of-rank R --at S --for S [--exe lmp] [--ranks N] [--timeout S]
      finds the ranks below process P, waits --at seconds, stops rank R for --for seconds, prints
      {"kind":"fault","fault":"stop","rank":R,"pid":..,"begin_ns":..,"end_ns":..}
  plant.py ranks --job-pid P [--exe lmp] [--ranks N] [--timeout S]
      prints {"rank":R,"pid":..} for each rank
  plant.py tail FILE
      prints {"arrival_ns":..,"alert":{..}} for each line of an alerts file as it grows, until interrupted

Times are nanoseconds of CLOCK_REALTIME (time.time_ns()). --at counts from when the ranks were found. A fault's
begin is taken just before SIGSTOP, its end just before SIGCONT; SIGCONT is sent whatever happens to this
program short of SIGKILL. A process that exits meanwhile is reported as an error; signals go through a pidfd, so
never to a stranger that got the same number.

Exit code: 0; 1 if there is no such rank or it ended before the stop was over; 2 for a wrong call.
As a module: ranks_below, wait_for_ranks, stop_rank, limit, tail_alerts. Thread safety: the functions share nothing.
"""
import argparse
import json
import os
import signal
import sys
import time

RANK_VARIABLES = (b"OMPI_COMM_WORLD_RANK", b"PMIX_RANK", b"PMI_RANK")


class PlantError(Exception):
    """What was asked for could not be done; the text says why."""


def _stat(pid):
    """(parent, state) of a process, or None if it is gone. The name may hold blanks and parentheses."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
        return int(fields[1]), fields[0].decode()
    except (OSError, IndexError, ValueError):
        return None


def state_of(pid):
    """The letter /proc gives for a process's state ('T' = stopped), or None if it is gone."""
    stat = _stat(pid)
    return stat[1] if stat else None


def descendants(pid):
    """Processes below pid, parents before their children. Cost: one read per process of the machine."""
    children = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit() and (stat := _stat(entry)):
            children.setdefault(stat[0], []).append(int(entry))
    found = []
    level = [pid]
    while level:
        level = [child for parent in level for child in children.get(parent, [])]
        found += level
    return found


def _rank_of(pid):
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            variables = dict(v.split(b"=", 1) for v in file.read().split(b"\0") if b"=" in v)
    except OSError:
        return None
    for name in RANK_VARIABLES:
        if variables.get(name, b"").isdigit():
            return int(variables[name])
    return None


def ranks_below(job_pid, exe=None):
    """{rank: pid} of the MPI ranks below job_pid whose executable is named exe (any, if None). Where a rank has
    forked, the process nearest to job_pid is the rank."""
    ranks = {}
    for pid in descendants(job_pid):
        try:
            name = os.path.basename(os.readlink(f"/proc/{pid}/exe"))
        except OSError:
            continue
        if exe is not None and name.removesuffix(" (deleted)") != exe:
            continue
        rank = _rank_of(pid)
        if rank is not None:
            ranks.setdefault(rank, pid)
    return ranks


def wait_for_ranks(job_pid, exe, n, timeout):
    """Waits until ranks 0..n-1 are there and returns {rank: pid}. PlantError after timeout seconds, or when
    job_pid has ended."""
    deadline = time.monotonic() + timeout
    while True:
        ranks = ranks_below(job_pid, exe)
        if set(range(n)) <= ranks.keys():
            return ranks
        if state_of(job_pid) in (None, "Z"):
            raise PlantError(f"job {job_pid} ended before its {n} ranks were seen")
        if time.monotonic() >= deadline:
            raise PlantError(f"{len(ranks)} of {n} ranks of {exe or 'any program'} below {job_pid} in {timeout} s")
        time.sleep(0.01)


def stop_rank(pid, seconds, rank=None):
    """Stops a process for so many seconds and returns the fault with its true times. PlantError if the process is
    gone or ends meanwhile. Blocks for the whole time."""
    try:
        handle = os.pidfd_open(pid)
    except OSError as error:
        raise PlantError(f"process {pid} is gone: {error.strerror}") from None
    try:
        begin = time.time_ns()
        start = time.monotonic()
        signal.pidfd_send_signal(handle, signal.SIGSTOP)
        try:
            time.sleep(max(0.0, start + seconds - time.monotonic()))
            state = state_of(pid)
        finally:
            end = time.time_ns()
            signal.pidfd_send_signal(handle, signal.SIGCONT)
    except ProcessLookupError:
        raise PlantError(f"process {pid} ended before its stop was over") from None
    finally:
        os.close(handle)
    if state != "T":
        raise PlantError(f"process {pid} was not stopped at the end of its stop (state {state})")
    return {"kind": "fault", "fault": "stop", "rank": rank, "pid": pid, "begin_ns": begin, "end_ns": end}


def limit(pid, seconds, run_ms, of_ms):
    """Lets a process run for run_ms of each of_ms only, for so many seconds, as a limit of a container does, and returns
    the fault with its true times. PlantError if the process is gone or ends meanwhile. Blocks for the whole time."""
    begin = time.time_ns()
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        fault = stop_rank(pid, (of_ms - run_ms) / 1e3)
        time.sleep(run_ms / 1e3)
    return fault | {"fault": "limit", "begin_ns": begin}


def tail_alerts(path, finished=lambda: False, poll_s=0.002, max_line=1 << 20):
    """Yields (arrival_ns, object) for each line appended to a JSON-lines file, which need not exist yet.
    arrival_ns is this program's clock when the line's end was read: up to poll_s after it was written. A line that
    is no JSON object comes as {"invalid_line": text}; a longer one than max_line is cut there. Ends when finished()
    is true and the file has nothing more; an unfinished last line then comes as invalid."""
    file = None
    rest = b""
    try:
        while True:
            last_look = finished()  # asked before reading: what was written until then is not missed
            if file is None:
                try:
                    file = open(path, "rb", buffering=0)
                except FileNotFoundError:
                    pass
            data = file.read(65536) if file else b""
            if data:
                arrival = time.time_ns()
                *lines, rest = (rest + data).split(b"\n")
                for line in lines:
                    if line.strip():
                        yield arrival, _object(line)
                if len(rest) > max_line:
                    yield arrival, {"invalid_line": rest[:200].decode(errors="replace")}
                    rest = b""
            elif last_look:
                if rest.strip():
                    yield time.time_ns(), {"invalid_line": rest[:200].decode(errors="replace")}
                return
            else:
                time.sleep(poll_s)
    finally:
        if file:
            file.close()


def _object(line):
    try:
        value = json.loads(line)
    except ValueError:
        value = None
    return value if isinstance(value, dict) else {"invalid_line": line[:200].decode(errors="replace")}


def _terminate(_signal, _frame):
    raise SystemExit(143)  # unwinds through stop_rank, which sends SIGCONT


def main():
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n\n")[0], epilog="See the head of this file for the output.")
    commands = parser.add_subparsers(dest="command", required=True)
    for name, text in (("stop", "stop a rank for a while"), ("ranks", "list the ranks of a job")):
        command = commands.add_parser(name, help=text)
        command.add_argument("--job-pid", type=int, required=True, help="process the ranks are below (mpirun, margay)")
        command.add_argument("--exe", help="name of the ranks' executable, e.g. lmp; any if not given")
        command.add_argument("--ranks", type=int, default=0, help="wait until so many ranks are there")
        command.add_argument("--timeout", type=float, default=30, help="how long to wait for them, s (30)")
        if name == "stop":
            command.add_argument("--pid-of-rank", "--rank", dest="rank", type=int, required=True, help="rank to stop")
            command.add_argument("--at", type=float, default=0, help="seconds after the ranks were found (0)")
            command.add_argument("--for", dest="seconds", type=float, default=1, help="length of the stop, s (1)")
    commands.add_parser("tail", help="print alerts as they arrive").add_argument("file")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, _terminate)
    signal.signal(signal.SIGHUP, _terminate)
    try:
        if options.command == "tail":
            for arrival, alert in tail_alerts(options.file):
                print(json.dumps({"arrival_ns": arrival, "alert": alert}), flush=True)
            return 0
        needed = max(options.ranks, options.rank + 1 if options.command == "stop" else 1)
        ranks = wait_for_ranks(options.job_pid, options.exe, needed, options.timeout)
        if options.command == "ranks":
            for rank, pid in sorted(ranks.items()):
                print(json.dumps({"rank": rank, "pid": pid}))
            return 0
        time.sleep(options.at)
        print(json.dumps(stop_rank(ranks[options.rank], options.seconds, options.rank)), flush=True)
        return 0
    except PlantError as error:
        print(f"plant.py: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
