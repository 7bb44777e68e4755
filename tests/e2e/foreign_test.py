"""Programs and places that are not ours: other runtimes and C libraries, little shared memory, odd paths, odd names."""
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

from e2e import BUILD, E2eTest, HERE, LONG, MARGAY, MPIRUN, PROBE, PROGRAMS, read_text

BUGGY = os.path.join(HERE, "programs", "buggy.c")
MPIRUN_MPICH = os.environ.get("MPIRUN_MPICH", "")
RECORDS = 2 * (1 + 100 + 1)  # of buggy.c: MPI_Init, MPI_Allreduce, MPI_Finalize
KILLED = 2 * (1 + 100)       # where a sanitizer ends it before MPI_Finalize


def tool(name):
    return shutil.which(name) or shutil.which(name.split(".")[0])


def library(name, compiler="gcc"):
    """The path of a library by the compiler's word, "" where it has none."""
    done = subprocess.run([compiler, "-print-file-name=" + name], capture_output=True, text=True, check=False)
    path = done.stdout.strip()
    return path if os.path.isabs(path) else ""


def without_addresses(report):
    """What a sanitizer says, as far as two runs of a program have it in common: not how many bytes of MPI's own leak."""
    if "LeakSanitizer" in report:
        return ["memory leaks"]
    kept = [line for line in report.splitlines() if re.search(r"ERROR|WARNING|SUMMARY|runtime error|^ +#\d", line)]
    return [re.sub(r"0x[0-9a-f]+|==\d+==|\(BuildId.*|\(pid=\d+\)|\+0x.*", "", line) for line in kept]


class Foreign(E2eTest):
    def compiled(self, name, source, *options, compiler="gcc", mpi=True):
        """The program's path, or None where this compiler cannot make it."""
        path = os.path.join(self.place, name)
        command = ["mpicc.openmpi"] if mpi else [compiler]
        done = subprocess.run([*command, "-g", "-O1", *options, source, "-o", path, *(["-lpthread"] if mpi else [])],
                              env=self.environment | {"OMPI_CC": compiler}, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            print(f"  {name} is left out: {(done.stderr.strip().splitlines() or ['?'])[-1]}", flush=True)
            return None
        return path

    def one_after_the_other(self, cases):
        """[(name, environment, command)] in one shell, without Margay and with it; {name: (exit code, output, report)} of either,
        and the run."""
        script = os.path.join(self.place, "all.sh")
        with open(script, "w", encoding="utf-8") as file:
            file.write('out=$1\n')
            for name, environment, command in cases:
                file.write(f'env {environment} {command} >"$out/{name}.out" 2>"$out/{name}.err"\necho $? >"$out/{name}.code"\n')
            file.write("exit 5\n")
        outcomes = []
        for folder, margay in (("bare", False), ("watched", True)):
            folder = os.path.join(self.place, folder)
            os.mkdir(folder)
            command = ["sh", script, folder]
            job = self.run_margay(command) if margay else self.start(command)
            self.assertEqual(job.wait(), 5)
            outcomes.append({name: (read_text(f"{folder}/{name}.code").strip(), read_text(f"{folder}/{name}.out"),
                                    read_text(f"{folder}/{name}.err")) for name, _, _ in cases})
        return outcomes[0], outcomes[1], job

    def check_same(self, bare, watched, run, records):
        for name, (code, out, report) in bare.items():
            with self.subTest(name):
                self.assertEqual(watched[name][0], code, watched[name][2])
                self.assertEqual(watched[name][1], out)
                self.assertEqual(without_addresses(watched[name][2]), without_addresses(report))
                self.assertNotIn("ld.so", watched[name][2])
                self.assertNotIn("margay", watched[name][2])
        self.assertEqual(sum(s["produced"] for s in run.summary["sources"]), records)
        self.assertEqual(run.summary["exit_code"], 5)

    # -- runtimes

    def test_sanitizers(self):
        clang_runtime = os.path.dirname(library("libclang_rt.asan-x86_64.so", "clang")) if tool("clang") else ""
        cases, records = [], 0
        quiet = "ASAN_OPTIONS=detect_leaks=0"  # Open MPI's own
        for kind, options, compiler, environment, faults in (
                ("address", ["-fsanitize=address"], "gcc", quiet, ["overflow"]),
                ("address-static", ["-fsanitize=address", "-static-libasan"], "gcc", quiet, ["overflow"]),
                ("address-clang", ["-fsanitize=address"], "clang", quiet, ["overflow"]),
                ("address-clang-shared", ["-fsanitize=address", "-shared-libasan"], "clang",
                 f"{quiet} LD_LIBRARY_PATH={clang_runtime}", ["overflow"]),
                ("thread", ["-fsanitize=thread"], "gcc", "TSAN_OPTIONS=", ["race"]),
                ("thread-clang", ["-fsanitize=thread"], "clang", "TSAN_OPTIONS=", ["race"]),
                ("undefined", ["-fsanitize=undefined"], "gcc", "UBSAN_OPTIONS=", ["shift"]),
                # Without the symbolizer: it maps the files of all libraries, ours among them, where Open MPI's unloaded
                # components were, and then takes a leak of a component for one of ours.
                ("leak", ["-fsanitize=leak"], "gcc", "LSAN_OPTIONS=symbolize=0", [])):
            program = self.compiled(kind, BUGGY, *options, compiler=compiler)
            if program is None or (kind == "address-clang-shared" and not clang_runtime):
                continue
            for fault in ["", *faults]:
                cases.append((kind + fault, environment, f"{program} {fault}"))
                records += KILLED if fault == "overflow" else RECORDS
        bare, watched, run = self.one_after_the_other(cases)
        self.assertEqual(bare["address"][0], "3")
        self.assertIn("heap-buffer-overflow", bare["addressoverflow"][2])
        self.check_same(bare, watched, run, records)

    def test_allocators_and_runtimes_that_are_preloaded(self):
        plain = self.compiled("plain", BUGGY)
        preloads = {"libasan": library("libasan.so"), "libtsan": ""}
        for name in ("libjemalloc.so.2", "libtcmalloc_minimal.so.4"):
            preloads[name] = library(name)
        for name, path in preloads.items():
            if not path:
                continue
            linked = None if "asan" in name else self.compiled("with" + name, BUGGY, "-Wl,--no-as-needed", path)
            # By the user, before Margay; by a script, within.
            run = self.run_margay([plain], env={"LD_PRELOAD": path, "ASAN_OPTIONS": "detect_leaks=0"})
            self.assertEqual(run.wait(), 3, f"{name}: {run.stderr}")
            self.assertEqual(run.stdout, "sum 1, 10\n", name)
            self.assertEqual(run.own_stderr, "", name)
            self.check_conservation(run, 1)
            self.assertEqual(run.summary["sources"][0]["produced"], RECORDS)
            inner = f"LD_PRELOAD={path}:$LD_PRELOAD ASAN_OPTIONS=detect_leaks=0 {plain}; echo $?"
            run = self.run_margay(["sh", "-c", inner + (f"; {linked}; echo $?" if linked else "")])
            self.assertEqual(run.wait(), 0, f"{name}: {run.stderr}")
            times = 2 if linked else 1
            self.assertEqual(run.stdout, "sum 1, 10\n3\n" * times, name)
            self.assertEqual(sum(s["produced"] for s in run.summary["sources"]), times * RECORDS)

    # -- C libraries

    def test_other_c_libraries_and_none(self):
        source = self.written("hello.c", '#include <stdio.h>\nint main(void) { puts("hello"); return 3; }\n')
        bare_source = os.path.join(self.place, "nothing.c")
        with open(bare_source, "w", encoding="utf-8") as file:
            # Loaded by the dynamic linker, without any C library.
            file.write('void _start(void) { __asm__ volatile("syscall" : : "a"(231), "D"(3)); }\n')
        programs = [self.compiled("glibc-static", source, "-static", mpi=False)]
        if os.uname().machine == "x86_64":
            programs.append(self.compiled("none", bare_source, "-nostdlib", "-fPIE", "-pie", "-Wl,-z,stack-size=0",
                                          mpi=False))
        if tool("musl-gcc"):
            programs += [self.compiled("musl", source, compiler="musl-gcc", mpi=False),
                         self.compiled("musl-static", source, "-static", compiler="musl-gcc", mpi=False)]
        else:
            print("  musl-gcc is not installed (Debian: musl-tools)", flush=True)
        cases = [(os.path.basename(path), "", path) for path in programs if path]
        bare, watched, run = self.one_after_the_other(cases)
        for name, (code, out, report) in bare.items():
            self.assertEqual((code, report), ("3", ""), name)
            self.assertEqual(out, "" if name == "none" else "hello\n")
        self.check_same(bare, watched, run, 0)

    # -- shared memory

    def in_a_container(self, mebibytes, margay, command):
        """`margay run` with a /dev/shm of its own and of that size."""
        script = self.written(
            "container.sh",
            f"mount -t tmpfs -o size={mebibytes}m,mode=1777 none /dev/shm || exit 77\n"
            "unset MARGAY_RUNTIME_DIR OMPI_MCA_btl_vader_backing_directory XDG_RUNTIME_DIR\nexec \"$@\"\n")
        probe = subprocess.run(["unshare", "-m", "sh", script, "true"], capture_output=True, check=False)
        if probe.returncode != 0:
            self.skipTest("mounting is not allowed here")
        archive, summary = os.path.join(self.place, "c.archive"), os.path.join(self.place, "c.json")
        run = [margay, "run", "--every-call", "--archive", archive, "--summary", summary, "--"] if margay else []
        job = self.start(["unshare", "-m", "sh", script, *run, *command])
        code = job.wait()
        if not margay:
            return code, job, None
        with open(summary, encoding="utf-8") as file:
            return code, job, json.load(file)

    def test_64_mib_of_shared_memory_under_open_mpi(self):
        code, job, summary = self.in_a_container(64, MARGAY, self.program("ends", "exit", "0", ranks=16))
        self.assertEqual(code, 0, job.stderr)
        self.assertEqual(job.stdout.count("line "), 100)
        self.assertNotIn("not enough space", job.stderr)  # Open MPI's shared memory
        self.assertEqual(len(summary["sources"]), 16)
        self.assertFalse(any("not watched" in line for line in job.said), job.said)
        self.assertTrue(all(s["produced"] > 200 for s in summary["sources"]), summary["sources"])
        for term in ("late_dropped", "probe_dropped", "wire_lost", "rejected"):
            self.assertEqual(summary["events"][term], 0, term)

    @unittest.skipUnless(MPIRUN_MPICH and tool("mpicc.mpich"), "MPICH is not installed")
    def test_64_mib_of_shared_memory_under_mpich(self):
        ends = os.path.join(self.place, "ends.mpich")
        subprocess.run(["mpicc.mpich", "-O1", os.path.join(HERE, "programs", "ends.c"), "-o", ends], check=True)
        command = [MPIRUN_MPICH, "-n", "8", ends, "exit", "0"]
        code, job, _ = self.in_a_container(64, None, command)
        if code != 0:
            self.skipTest("MPICH itself has no room for 8 ranks in 64 MiB here")
        code, job, summary = self.in_a_container(64, MARGAY, command)
        self.assertEqual(code, 0, job.stderr)
        self.assertEqual(len(summary["sources"]), 8)
        self.assertFalse(any("not watched" in line for line in job.said), job.said)

    def test_no_shared_memory_to_speak_of(self):
        code, job, summary = self.in_a_container(2, MARGAY, [
            MPIRUN, "-np", "4", "--mca", "btl", "self,tcp", os.path.join(PROGRAMS, "ends"), "exit", "0"])
        self.assertEqual(code, 0, job.stderr)
        self.assertEqual(job.stdout.count("line "), 100)
        self.assertEqual(summary["sources"], [])
        self.assertEqual(sum("too little shared memory is free" in line for line in job.said), 1, job.said)
        self.assertTrue(any("4 processes were not watched" in line for line in job.said), job.said)

    # -- names and paths

    def test_blanks_and_colons_in_every_path(self):
        prefix = os.path.join(self.place, "our tools: new $LIB")
        for name in ("bin/margay", "bin/margayd", "libexec/margay/margay-node"):
            os.makedirs(os.path.dirname(os.path.join(prefix, name)), exist_ok=True)
            shutil.copy(os.path.join(BUILD, name), os.path.join(prefix, name))
        lib = os.path.join(prefix, os.path.relpath(os.path.dirname(PROBE), BUILD))
        shutil.copytree(os.path.dirname(PROBE), lib, symlinks=True)
        self.margay_program = os.path.join(prefix, "bin/margay")
        asan = self.compiled("asan", BUGGY, "-fsanitize=address")
        command = ["sh", "-c", f"{MPIRUN} -np 2 {os.path.join(PROGRAMS, 'ends')} exit 0 | grep -c '^line' && exec {asan}"]
        before = set(os.listdir("/tmp"))
        for runtime in ("", os.path.join(self.runtime, "a b:c")):
            if runtime:
                os.mkdir(runtime, 0o700)
            run = self.run_margay(command, env={"ASAN_OPTIONS": "detect_leaks=0"} |
                                  ({"MARGAY_RUNTIME_DIR": runtime} if runtime else {}))
            self.assertEqual(run.wait(), 3, run.stderr)
            self.assertEqual(run.stdout, "100\nsum 1, 10\n")
            self.assertNotIn("ld.so", run.stderr)
            self.assertEqual(run.own_stderr, "this goes to stderr\n")
            self.assertEqual(len(run.summary["sources"]), 2)
        self.assertEqual([n for n in set(os.listdir("/tmp")) - before if n.startswith("margay-probe")], [])

    def test_a_command_line_of_many_kibibytes(self):
        long = ["x" * 100_000, "y" * 100_000, "ü" * 30_000]
        run = self.run_margay(["sh", "-c", f'echo $# ${{#1}} ${{#2}}; exec {os.path.join(PROGRAMS, "ends")} exit 4', "sh",
                               *long])
        self.assertEqual(run.wait(), 4, run.stderr)
        self.assertEqual(run.stdout.splitlines()[0], "3 100000 100000")
        self.check_conservation(run, 1)
        _, info = self.check_archive(run)
        self.assertLess(len(info["command"].encode()), 5000)
        self.assertTrue(info["command"].startswith("sh -c echo"), info["command"][:80])

    @unittest.skipUnless(MPIRUN_MPICH and tool("mpicc.mpich"), "MPICH is not installed")
    def test_a_vendors_name_of_mpich(self):
        """A copy of MPICH's library by another name, inside and outside, and a program that is linked with it."""
        folder = tempfile.mkdtemp(dir=self.place)
        plain = os.path.join(folder, "plain")
        ends = os.path.join(HERE, "programs", "ends.c")
        subprocess.run(["mpicc.mpich", "-O1", ends, "-o", plain], check=True)
        real = re.search(r"=> (\S*libmpich\.so\.12)", subprocess.run(["ldd", plain], capture_output=True, text=True,
                                                                     check=True).stdout).group(1)
        vendors = "libmpi_g.so.12"  # as long as the name that is replaced
        with open(real, "rb") as file:
            text = file.read()
        self.assertIn(b"\0libmpich.so.12\0", text)
        with open(os.path.join(folder, vendors), "wb") as file:
            file.write(text.replace(b"\0libmpich.so.12\0", b"\0" + vendors.encode() + b"\0"))
        flags = subprocess.run(["mpicc.mpich", "-compile_info"], capture_output=True, text=True, check=True).stdout.split()
        program = os.path.join(folder, "program")
        subprocess.run(["gcc", "-O1", *[f for f in flags if f.startswith("-I")], ends, "-o", program,
                        os.path.join(folder, vendors), f"-Wl,-rpath,{folder}", "-Wl,--allow-shlib-undefined"], check=True)
        linked = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
        self.assertIn(vendors, linked)
        self.assertNotIn("libmpich.so.12", linked)
        run = self.run_margay([MPIRUN_MPICH, "-n", "2", program, "exit", "0"])
        self.assertEqual(run.wait(), 0, run.stderr)
        self.assertEqual(run.stdout.count("line "), 100)
        self.check_conservation(run, 2)
        self.assertEqual({s["attributes"].get("mpi") for s in run.summary["sources"] if "attributes" in s} - {"MPICH"}, set())


if __name__ == "__main__":
    unittest.main()
