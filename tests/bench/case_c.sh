#!/bin/sh
# A capture of 218 million events of 700 processes (case C of Table II of the spatiotemporal paper, which took
# 50 min to load it), from file to partition at 30 slices, and through detection at slices of 100 ms, beside a plain
# read and decoding alone.
#
#   tests/bench/case_c.sh DIR [EVENTS]     DIR takes about 1.8 GB, given back at the end
#
# BUILD names the build tree (default: build/release). Exit code: 0, or that of what failed.
set -eu
dir=${1:?usage: case_c.sh DIR [EVENTS]}
events=${2:-218000000}
build=${BUILD:-$(dirname "$0")/../../build/release}
mkdir -p "$dir"
file=$dir/case_c.capture
trap 'rm -f "$file"' EXIT INT TERM

"$build/tests/bench/generate_capture" --events "$events" "$file"
cat "$file" >/dev/null # so that all that follows reads it from memory
"$build/tests/bench/capture_bench" "$file"
python3 - "$build/bin/margay" "$file" "$events" <<'PYTHON'
import resource, subprocess, sys, time
margay, file, events = sys.argv[1], sys.argv[2], int(sys.argv[3])
def timed(command, out=subprocess.PIPE):
    begin = time.monotonic()
    out = subprocess.run(command, check=True, stdout=out, stderr=subprocess.PIPE, text=True)
    return time.monotonic() - begin, out
read, _ = timed(["cat", file], subprocess.DEVNULL)
whole, out = timed([margay, "partition", file, "--slices", "30", "--p", "0.02", "--timing"])
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
print(f"partition {whole:6.2f} s  {events / whole / 1e6:6.1f} M events/s  x cat {whole / read:5.1f}  peak {peak:.0f} MiB")
print(out.stderr.strip())
detected, phases = timed([margay, "replay", file, "--slice", "100ms"])
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
print(f"detection {detected:6.2f} s  {events / detected / 1e6:6.1f} M events/s  x cat {detected / read:5.1f}  peak {peak:.0f} MiB")
print(phases.stdout.strip())
print("\n".join(out.stdout.splitlines()[:4]))
PYTHON
