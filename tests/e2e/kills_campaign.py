"""kill -9 of the daemon at chosen moments, under load, and every cell equal to an uninterrupted run's afterwards.

    env $(cat ../../build/release/tests/e2e/environment) python3 kills_campaign.py --kills 200 --seed 7

A job of 4 ranks is captured once (`margay run --capture`). Its batches are then played (tests/support/faults/kills_run)
to a margayd that is left alone, and to margayds that are killed: inside a commit, between a commit and its
acknowledgement, in a commit that amends closed slices, and during recovery. Each kill is made by the daemon's own process
at an exact call (tests/support/faults/page.h), and says where it was. archive_compare holds the archives against each
other. --spoil changes one cell by 1 ns first, and must find it.

Exit code 0: every run ended in order, every kill hit what it was meant to, and nothing differs.
"""
import argparse
import collections
import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

KINDS = ("commit", "ack", "amendment", "recovery")
# Coarse levels that close often, and buffers so small that tables are flushed and merged all the time.
CONFIG = '[slice]\nlevels = ["500ms", "2s", "10s"]\n[store]\nmemory = "8MiB"\n'

GRAIN_MS = 0.02  # between calls of the captured job, at most
PLAN, PLAN_SECONDS = "A:1.2,B:1,D:1", 3.2  # of the captured job
LOG_INFO = re.compile(r"\S+ \S+\s+(info |warning  margayd: this process may open \d+ descriptors at most)")  # as a container gives


class Campaign:
    def __init__(self, options):
        self.options = options
        self.place = tempfile.mkdtemp(prefix="mk-", dir="/tmp")
        self.runtime = tempfile.mkdtemp(prefix="mk-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else "/tmp")
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith(("OMPI_", "PMIX_", "LD_PRELOAD"))}
        self.environment |= {"MARGAY_RUNTIME_DIR": self.runtime, "OMPI_MCA_rmaps_base_oversubscribe": "1",
                             "OMPI_MCA_mpi_yield_when_idle": "1", "OMP_NUM_THREADS": "1"}
        if os.geteuid() == 0:
            self.environment |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        self.config = self.path("margay.toml")
        with open(self.config, "w", encoding="utf-8") as file:
            file.write(CONFIG)

    def path(self, name):
        return os.path.join(self.place, name)

    def call(self, *command):
        # A hang ends here; nothing else depends on the time.
        return subprocess.run(command, env=self.environment, cwd=self.place, capture_output=True, text=True, timeout=600,
                              check=False)

    def capture(self):
        """How fast the job calls depends on the machine: one that is too fast gets a coarser grain, one that is too slow is
        played in several copies."""
        rate = self.capture_at(GRAIN_MS)
        if rate > 1.25 * self.options.rate:
            rate = self.capture_at(GRAIN_MS * rate / self.options.rate)
        self.copies = max(1, round(self.options.rate / rate))

    def capture_at(self, grain):
        """Events a second."""
        shutil.rmtree(self.path("captured"), ignore_errors=True)
        with contextlib.suppress(FileNotFoundError):
            os.remove(self.path("capture"))
        done = self.call(os.environ["MARGAY"], "run", "--name", "capture", "--archive", self.path("captured"), "--capture",
                         self.path("capture"), "--summary", self.path("summary"), "--every-call", "--", os.environ["MPIRUN"], "-np", "4",
                         os.environ["WORKLOAD"], "--plan", PLAN, "--grain", f"{grain:.3f}", "--pcontrol")
        if done.returncode != 0:
            raise SystemExit(f"the job to be captured failed\n{done.stderr}")
        with open(self.path("summary"), encoding="utf-8") as file:
            summary = json.load(file)
        # The start, in which nothing is called, is not played.
        return summary["events"]["produced"] / PLAN_SECONDS

    def play(self, name, kills, seed, expected=None):
        """A run; (its JSON object, the lines of its kills, what is wrong). What the daemon complains of is wrong, unless it
        matches the pattern `expected`."""
        folder = self.path(name)
        os.mkdir(folder)
        done = self.call(os.environ["KILLS_RUN"], "--capture", self.path("capture"), "--archive",
                         os.path.join(folder, "archive"), "--daemon",
                         os.path.join(os.path.dirname(os.environ["MARGAY"]), "margayd"), "--faults", os.environ["FAULTS"],
                         "--place", folder, "--config", self.config, "--run", name, "--kills", str(kills), "--seed",
                         str(seed), "--copies", str(self.copies), "--seconds", str(self.options.seconds))
        *lines, last = done.stdout.strip().splitlines() or [""]
        result = json.loads(last) if last.startswith("{") else {}
        wrong = [] if done.returncode == 0 else [f"exit code {done.returncode}: {done.stderr.strip()}"]
        events = (result.get("summary") or {}).get("events", {})
        if not events or events["produced"] != result["records"] or events["modelled"] != events["produced"]:
            wrong.append(f"the account is {events}")
        with open(os.path.join(folder, "daemon.log"), encoding="utf-8") as file:
            wrong += [f"the daemon said: {line.strip()}" for line in file
                      if not LOG_INFO.match(line) and not (expected and re.search(expected, line))]
        return result, lines, wrong

    def compare(self, name, spoil=False):
        done = self.call(os.environ["ARCHIVE_COMPARE"], *(["--spoil"] if spoil else []), self.path("reference/archive"),
                         self.path(f"{name}/archive"))
        return done.returncode, done.stdout.strip(), done.stderr.strip()

    def run(self):
        o = self.options
        for _ in range(4):
            self.capture()
            whole, _, wrong = self.play("reference", 0, o.seed)
            dropped = (whole.get("summary") or {}).get("events", {}).get("probe_dropped", 0)
            if dropped == 0:
                break
            # What this machine cannot carry undisturbed says nothing about kills.
            o.rate //= 2
            print(f"{dropped:,} records were dropped without any kill: again at {o.rate:,} events a second", flush=True)
            shutil.rmtree(self.path("reference"))
        if wrong:
            raise SystemExit("the uninterrupted run: " + "; ".join(wrong))
        print(f"seed {o.seed}: {whole['records']:,} records of {whole['processes']} processes in "
              f"{whole['job_seconds']:.1f} s: {whole['records'] / whole['job_seconds'] / 1e3:.0f} thousand a second",
              flush=True)
        total, places, failures, number, useless = collections.Counter(), collections.Counter(), [], 0, 0
        while sum(total.values()) < o.kills:
            name = f"run{number}"
            number += 1
            want = min(o.kills_a_run, o.kills - sum(total.values()))
            result, lines, wrong = self.play(name, want, o.seed + number)
            code, figures, differences = self.compare(name)
            total.update(result.get("kills", {}))
            for line in lines:
                # "  2.81 s  commit: torn a write of log, ..." without the figures
                if hit := re.match(r" *[-\d.]+ s  (\w+: \w+ a \w+ of \w+), .* by ([\w:/-]+)", line):
                    places[hit[1] + ", by " + hit[2]] += 1
            print(f"{name}: {' '.join(f'{k} {v}' for k, v in result.get('kills', {}).items())}; {figures}", flush=True)
            if o.verbose or wrong:
                print("\n".join(lines))
            if wrong or code != 0:
                failures.append(f"{name} (seed {o.seed + number}): " + "; ".join(wrong + [differences]))
                print(failures[-1], flush=True)
            else:
                if number == 1 or o.spoil:
                    code, _, differences = self.compare(name, spoil=True)
                    if code != 1 or differences.count("\n") != 0:
                        failures.append(f"a changed cell was not noticed: {differences}")
                    elif o.spoil:
                        print(f"  spoiled: {differences}")
                shutil.rmtree(self.path(name))
            useless = useless + 1 if not sum(result.get("kills", {}).values()) else 0
            if useless == 3:
                failures.append("kills do not hit any more")
                break
        print(f"\n{'kill':<66} times")
        for place, times in sorted(places.items()):
            print(f"{place:<66} {times:>5}")
        print(f"\n{sum(total.values())} kills: " + ", ".join(f"{total[k]} {k}" for k in KINDS) +
              f"; {len(failures)} of {number} runs failed")
        for kind in KINDS:
            if o.kills >= 8 and total[kind] == 0:
                failures.append(f"no kill of the kind {kind}")
        return failures

    def clean_up(self, keep):
        if keep:
            print(f"kept: {self.place}", file=sys.stderr)
        else:
            shutil.rmtree(self.place, ignore_errors=True)
        shutil.rmtree(self.runtime, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=int, default=24, help="how long the job of one run lasts")
    parser.add_argument("--kills-a-run", type=int, default=28)
    parser.add_argument("--rate", type=int, default=1_000_000, help="events a second, about: the load")
    parser.add_argument("--spoil", action="store_true", help="show that a changed cell is found, in every run")
    parser.add_argument("--verbose", action="store_true", help="a line for each kill")
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args()
    campaign = Campaign(options)
    failures = ["it was interrupted"]
    try:
        failures = campaign.run()
    finally:
        campaign.clean_up(options.keep or bool(failures))
    for failure in failures:
        print(f"FAILED: {failure}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
