// What the probe uses of the C library: all of it weak, and nothing else of anything. Every source of the
// probe includes it first (CMakeLists.txt).
//
// The probe is preloaded into every program of a job, in containers as well: with a glibc from 2.17 on, with
// another C library (musl), or none. A preloaded library that needs another library, a symbol or a version of
// one which is not there keeps that program from starting. So it is linked with nothing and names no version
// (ld.so then takes a symbol's oldest, or its only one), and what is missing is null. The linker refuses what
// is not in here (-z defs), and `ctest -R preloaded` looks at what was built.
#pragma once

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

// What glibc had of these in libc itself, while they were in libdl.
extern "C" void* __libc_dlopen_mode(const char* name, int mode);
extern "C" void* __libc_dlsym(void* handle, const char* name);
// glibc's name for what its pthread_atfork calls, which is no symbol of its shared library.
extern "C" int __register_atfork(void (*prepare)(), void (*parent)(), void (*child)(),
                                 void* library) noexcept;

// clang-format off
// Without one of these nothing is recorded.
#define MARGAY_LIBC(X)                                                                          \
  X(__errno_location) X(clock_gettime) X(close) X(fchmod) X(fcntl) X(flock) X(ftruncate)        \
  X(getenv)                                                                                     \
  X(gethostname) X(getpid) X(getrlimit) X(linkat) X(madvise) X(mmap) X(munmap) X(open)          \
  X(posix_fallocate) X(read) X(readlink) X(sigaltstack) X(snprintf) X(statvfs) X(strtoull) X(syscall)       \
  X(sysconf) X(unlink) X(usleep) X(write)
// In every C library, and overloaded in C++.
#define MARGAY_LIBC_STRINGS(X)                                                                  \
  X(memcpy) X(memset) X(strchr) X(strcmp) X(strcspn) X(strlen) X(strncmp) X(strnlen) X(strrchr) \
  X(strstr) X(strtol)
// Looked at before each use. Before glibc 2.34 most of them were in libpthread and libdl, which a program
// need not have.
#define MARGAY_LIBC_MAYBE(X)                                                                    \
  X(dlopen) X(dlsym) X(__libc_dlopen_mode) X(__libc_dlsym) X(dl_iterate_phdr)                   \
  X(pthread_key_create) X(pthread_setspecific) X(__register_atfork) X(pthread_atfork)           \
  X(process_vm_readv)
// clang-format on

// To the compiler, so that it believes a test for null; and to the assembler, for what the compiler knows as
// its own it does not mark.
#define MARGAY_WEAK(name) _Pragma(MARGAY_TEXT(weak name)) __asm__(".weak " #name);
#define MARGAY_TEXT(...) #__VA_ARGS__
MARGAY_LIBC(MARGAY_WEAK)
MARGAY_LIBC_STRINGS(MARGAY_WEAK)
MARGAY_LIBC_MAYBE(MARGAY_WEAK)
#undef MARGAY_WEAK
// What the compiler calls without having been asked to.
__asm__(".weak memmove\n.weak memcmp\n.weak __stack_chk_fail");

namespace margay::probe {

// Whether all of MARGAY_LIBC is there.
inline bool libc_is_complete() {
  const void* const all[] = {
#define MARGAY_ADDRESS(name) reinterpret_cast<const void*>(&::name),
      MARGAY_LIBC(MARGAY_ADDRESS)
#undef MARGAY_ADDRESS
  };
  for (const void* one : all)
    if (one == nullptr) return false;
  return true;
}

// The dynamic linker's; null where it cannot be asked. `ask` is called from the probe itself, as RTLD_NEXT
// wants it.
struct Linker {
  void* (*open)(const char* name, int mode);
  void* (*ask)(void* handle, const char* name);
};
const Linker& linker();  // mpi_library.cc

}  // namespace margay::probe
