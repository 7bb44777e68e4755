/* libmargay-faults.so: makes the disk of a margayd fail, stall or fill, and kills it at a chosen call. For
 * tests.
 *
 * Preloaded into margayd only. It stands in front of the C library's file and socket calls, looks up what
 * each descriptor is (/proc/self/fd: nothing to keep in step), and does what the page (page.h) says. Without
 * MARGAY_TEST_FAULTS it does nothing. No allocation, no lock; the counters are atomic.
 */
#define _GNU_SOURCE
#include "../open_mode.h"
#include "page.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static struct faults_page* g_page;
static size_t g_archive_length;
/* The kernel's time that this thread read last: realtime is derived from it, so that the difference is exact.
 */
static __thread int64_t t_monotonic __attribute__((tls_model("initial-exec")));

static int64_t load(int64_t* field) {
  return __atomic_load_n(field, __ATOMIC_ACQUIRE);
}
static int64_t add(int64_t* field, int64_t n) {
  return __atomic_add_fetch(field, n, __ATOMIC_ACQ_REL);
}

__attribute__((constructor)) static void start(void) {
  const char* path = getenv("MARGAY_TEST_FAULTS");
  if (path == NULL) return;
  const int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC, 0);
  if (fd < 0) return;
  void* page = mmap(NULL, kFaultsPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  syscall(SYS_close, fd);
  if (page == MAP_FAILED) return;
  struct faults_page* p = page;
  p->calls = p->reads_analyse = p->log_bytes = p->syncs = 0;
  g_archive_length = strnlen(p->archive, kFaultsPathBytes);
  g_page = p;
}

/* ---- what is it? */

static int class_of_path(const char* path) {
  if (g_archive_length == 0 || strncmp(path, g_page->archive, g_archive_length) != 0) return 0;
  const char* rest = path + g_archive_length;
  if (*rest != '/' && *rest != '\0') return 0;
  const char* name = strrchr(path, '/') + 1;
  const char* dot = strrchr(name, '.');
  if (strncmp(name, "MANIFEST-", 9) == 0) return FAULTS_MANIFEST;
  if (dot != NULL && strcmp(dot, ".log") == 0) return FAULTS_WAL;
  if (dot != NULL && strcmp(dot, ".sst") == 0) return FAULTS_SST;
  return FAULTS_OTHER;
}

static int class_of_socket(int fd) {
  struct sockaddr_un address;
  socklen_t length = sizeof(address) - 1;
  memset(&address, 0, sizeof address);
  if (getsockname(fd, (struct sockaddr*)&address, &length) != 0 || address.sun_family != AF_UNIX) return 0;
  return strstr(address.sun_path, "/ingest.ipc") != NULL ? FAULTS_INGEST : 0;
}

static int class_of(int fd) {
  if (g_page == NULL) return 0;
  const int saved = errno;
  char link[40], path[PATH_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t n = readlink(link, path, sizeof(path) - 1);
  errno = saved;
  if (n <= 0) return 0;
  path[n] = '\0';
  if (strncmp(path, "socket:", 7) == 0) {
    const int c = class_of_socket(fd);
    errno = saved;
    return c;
  }
  return class_of_path(path);
}

/* ---- what shall happen? */

struct call {
  int op, class;
  const void* bytes; /* to be written, or NULL */
  size_t size;
};

enum verdict { GO_ON, KILL_AFTER, KILL_TORN, FAIL };

static void killed(const struct call* c, int64_t done) {
  struct faults_page* p = g_page;
  p->killed_op = c->op;
  p->killed_class = c->class;
  p->killed_bytes = (int64_t)c->size;
  p->killed_done = done;
  p->killed_call = p->calls;
  p->killed_log_bytes = p->log_bytes;
  prctl(PR_GET_NAME, p->killed_thread);
  __atomic_store_n(&p->killed_order, p->kill_order, __ATOMIC_RELEASE);
  syscall(SYS_kill, (int)syscall(SYS_getpid), SIGKILL);
  for (;;) pause();
}

static bool wanted(const struct call* c) {
  struct faults_page* p = g_page;
  if (load(&p->kill_order) == load(&p->killed_order)) return false;
  if ((c->op & p->kill_op) == 0 || (c->class & p->kill_class) == 0) return false;
  if (p->kill_needs_write != 0 && load(&p->log_bytes) == 0) return false;
  if (p->kill_not_before != 0) {
    struct timespec t;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
    if ((int64_t)t.tv_sec * 1000000000 + t.tv_nsec < p->kill_not_before) return false;
  }
  if (p->kill_thread[0] != '\0') {
    char name[16] = "";
    prctl(PR_GET_NAME, name);
    if (strcmp(name, p->kill_thread) != 0) return false;
  }
  const size_t n = (size_t)p->kill_pattern_bytes;
  if (n != 0 && (c->bytes == NULL || memmem(c->bytes, c->size, p->kill_pattern, n) == NULL)) return false;
  return add(&p->kill_countdown, -1) == 0;
}

static enum verdict judge(const struct call* c) {
  struct faults_page* p = g_page;
  if (c->op == FAULTS_READ) {
    char name[16] = "";
    prctl(PR_GET_NAME, name);
    if (strcmp(name, "margay-analyse") == 0) add(&p->reads_analyse, 1);
  } else if (c->op != FAULTS_SEND) {
    add(&p->calls, 1);
    if (c->op == FAULTS_SYNC) add(&p->syncs, 1);
  }
  if (wanted(c)) {
    if (p->kill_when == FAULTS_BEFORE) killed(c, 0);
    return p->kill_when == FAULTS_TORN && c->bytes != NULL ? KILL_TORN : KILL_AFTER;
  }
  if (load(&p->slow_on) != 0 && (c->op & p->slow_op) != 0 && (c->class & p->slow_class) != 0) {
    const int64_t nth = add(&p->slowed, 1);
    const struct timespec t = {p->slow_ms / 1000, p->slow_ms % 1000 * 1000000};
    if (p->slow_most == 0 || nth <= p->slow_most) nanosleep(&t, NULL);
  }
  if (load(&p->fail_on) != 0 && (c->op & p->fail_op) != 0 && (c->class & p->fail_class) != 0) {
    const int64_t nth = add(&p->failed, 1);
    if (p->fail_most == 0 || nth <= p->fail_most) return FAIL;
    add(&p->failed, -1);
  }
  return GO_ON;
}

static void log_written(const struct call* c, ssize_t n) {
  if (c->op == FAULTS_WRITE && c->class == FAULTS_WAL && n > 0) add(&g_page->log_bytes, n);
  if (c->op == FAULTS_SEND && n > 0) __atomic_store_n(&g_page->log_bytes, 0, __ATOMIC_RELEASE);
}

/* ---- the calls */

#define NEXT(name)                 \
  static __typeof__(&(name)) next; \
  if (next == NULL) *(void**)&next = dlsym(RTLD_NEXT, #name)

/* A write of `length` bytes; `write_some` writes the first `some` of them. The same for files and sockets. */
#define WRITING(operation, fd, buffer, length, write_some)                                           \
  const int class = class_of(fd);                                                                    \
  size_t some = (length);                                                                            \
  if (class == 0) return write_some;                                                                 \
  const struct call c = {class == FAULTS_INGEST ? FAULTS_SEND : (operation), class, buffer, length}; \
  const enum verdict v = judge(&c);                                                                  \
  if (v == FAIL) {                                                                                   \
    if (g_page->fail_half != 0 && (length) > 1) {                                                    \
      some = (length) / 2;                                                                           \
      const ssize_t half = write_some;                                                               \
      if (half > 0 && class == FAULTS_WAL) add(&g_page->log_bytes, half);                            \
    }                                                                                                \
    errno = (int)g_page->fail_errno;                                                                 \
    return -1;                                                                                       \
  }                                                                                                  \
  if (v == KILL_TORN) {                                                                              \
    some = (size_t)((unsigned __int128)(length) * (unsigned)g_page->kill_torn_permille / 1000);      \
    killed(&c, some > 0 ? write_some : 0);                                                           \
  }                                                                                                  \
  const ssize_t n = write_some;                                                                      \
  if (v == KILL_AFTER) killed(&c, n);                                                                \
  log_written(&c, n);                                                                                \
  return n

ssize_t write(int fd, const void* buffer, size_t size) {
  NEXT(write);
  WRITING(FAULTS_WRITE, fd, buffer, size, next(fd, buffer, some));
}
ssize_t pwrite(int fd, const void* buffer, size_t size, off_t at) {
  NEXT(pwrite);
  WRITING(FAULTS_WRITE, fd, buffer, size, next(fd, buffer, some, at));
}
ssize_t pwrite64(int fd, const void* buffer, size_t size, off64_t at) {
  NEXT(pwrite64);
  WRITING(FAULTS_WRITE, fd, buffer, size, next(fd, buffer, some, at));
}
ssize_t send(int fd, const void* buffer, size_t size, int flags) {
  NEXT(send);
  WRITING(FAULTS_SEND, fd, buffer, size, next(fd, buffer, some, flags));
}

/* A call without bytes: `result` is what it does. */
#define PLAIN(operation, class_expression, result, failed_value) \
  const int class = g_page == NULL ? 0 : (class_expression);     \
  if (class == 0) return result;                                 \
  const struct call c = {operation, class, NULL, 0};             \
  const enum verdict v = judge(&c);                              \
  if (v == FAIL) {                                               \
    errno = (int)g_page->fail_errno;                             \
    return failed_value;                                         \
  }                                                              \
  if (v != KILL_AFTER) return result;                            \
  (void)(result);                                                \
  killed(&c, 0);                                                 \
  return failed_value

ssize_t pread64(int fd, void* buffer, size_t size, off64_t at) {
  NEXT(pread64);
  PLAIN(FAULTS_READ, class_of(fd), next(fd, buffer, size, at), -1);
}
ssize_t pread(int fd, void* buffer, size_t size, off_t at) {
  NEXT(pread);
  PLAIN(FAULTS_READ, class_of(fd), next(fd, buffer, size, at), -1);
}
int fsync(int fd) {
  NEXT(fsync);
  PLAIN(FAULTS_SYNC, class_of(fd), next(fd), -1);
}
int fdatasync(int fd) {
  NEXT(fdatasync);
  PLAIN(FAULTS_SYNC, class_of(fd), next(fd), -1);
}
int sync_file_range(int fd, off64_t from, off64_t to, unsigned flags) {
  NEXT(sync_file_range);
  // Without flags it only asks whether the file system has it, and no disk is involved.
  PLAIN(FAULTS_SYNC, flags == 0 ? 0 : class_of(fd), next(fd, from, to, flags), -1);
}
int ftruncate(int fd, off_t size) {
  NEXT(ftruncate);
  PLAIN(FAULTS_RESIZE, class_of(fd), next(fd, size), -1);
}
int ftruncate64(int fd, off64_t size) {
  NEXT(ftruncate64);
  PLAIN(FAULTS_RESIZE, class_of(fd), next(fd, size), -1);
}
int fallocate(int fd, int mode, off_t from, off_t size) {
  NEXT(fallocate);
  PLAIN(FAULTS_RESIZE, class_of(fd), next(fd, mode, from, size), -1);
}
int fallocate64(int fd, int mode, off64_t from, off64_t size) {
  NEXT(fallocate64);
  PLAIN(FAULTS_RESIZE, class_of(fd), next(fd, mode, from, size), -1);
}
int rename(const char* from, const char* to) {
  NEXT(rename);
  PLAIN(FAULTS_RENAME, class_of_path(to), next(from, to), -1);
}
int link(const char* from, const char* to) {
  NEXT(link);
  PLAIN(FAULTS_RENAME, class_of_path(to), next(from, to), -1);
}
int unlink(const char* path) {
  NEXT(unlink);
  PLAIN(FAULTS_UNLINK, class_of_path(path), next(path), -1);
}
int mkdir(const char* path, mode_t mode) {
  NEXT(mkdir);
  PLAIN(FAULTS_OPEN, class_of_path(path), next(path, mode), -1);
}

#define OPENING(name) \
  OPEN_MODE();        \
  NEXT(name);         \
  PLAIN(FAULTS_OPEN, (flags & O_ACCMODE) == O_RDONLY ? 0 : class_of_path(path), next(path, flags, mode), -1)

int open(const char* path, int flags, ...) {
  OPENING(open);
}
int open64(const char* path, int flags, ...) {
  OPENING(open64);
}

ssize_t sendmsg(int fd, const struct msghdr* message, int flags) {
  NEXT(sendmsg);
  PLAIN(FAULTS_SEND, class_of(fd), next(fd, message, flags), -1);
}

int clock_gettime(clockid_t clock, struct timespec* t) {
  NEXT(clock_gettime);
  if (g_page == NULL || g_page->realtime_anchor == 0) return next(clock, t);
  if (clock == CLOCK_MONOTONIC) {
    const int result = next(clock, t);
    t_monotonic = (int64_t)t->tv_sec * 1000000000 + t->tv_nsec;
    return result;
  }
  if (clock != CLOCK_REALTIME) return next(clock, t);
  if (t_monotonic == 0) {
    struct timespec now;
    next(CLOCK_MONOTONIC, &now);
    t_monotonic = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
  }
  int64_t none = 0;
  __atomic_compare_exchange_n(&g_page->realtime_offset, &none, g_page->realtime_anchor - t_monotonic, false,
                              __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
  const int64_t real = t_monotonic + load(&g_page->realtime_offset);
  t->tv_sec = real / 1000000000;
  t->tv_nsec = real % 1000000000;
  return 0;
}
