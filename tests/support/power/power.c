/* libmargay-power.so: keeps a book of what of a directory would survive a loss of power. For tests.
 *
 * Preloaded into a program that writes below MARGAY_POWER_ROOT, it appends to the file MARGAY_POWER_LOG a
 * line for each thing that happens to a name there, and for each sync. power_image.h makes of the book, and
 * of the files as the killed program left them, the directory as a strict disk would have it after a cut at
 * that moment: bytes that no fsync confirmed are gone, and so are names whose directory was not synced since.
 *
 * With MARGAY_POWER_CUT=n the program kills itself right before the n-th write or sync of a file of the
 * archive.
 *
 * Lines, fields separated by tabs; a file is its inode number, for names change:
 *   P path inode size   was there at the start     D path        its entries are on the disk
 *   C path inode        a new file, empty          S inode size  so many of its bytes are
 *   M path              a new directory            T inode size  cut to this size
 *   L path inode        another name for a file    R from to     renamed
 *   U path              gone
 * A file that loses its last name while the disk may still have it is kept in MARGAY_POWER_ROOT.kept/INODE.
 *
 * What happens to names and sizes, and syncs of directories, are under one lock: the order of the lines is
 * theirs, and the program kills itself amid none of them, for then the book would lack what had happened.
 */
#define _GNU_SOURCE
#include "../open_mode.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

static char g_root[PATH_MAX];
static size_t g_root_length;
static int g_log = -1;
static int64_t g_cut;
static pthread_mutex_t g_names = PTHREAD_MUTEX_INITIALIZER;

#define NEXT(name)                 \
  static __typeof__(&(name)) next; \
  if (next == NULL) *(void**)&next = dlsym(RTLD_NEXT, #name)

__attribute__((format(printf, 1, 2))) static void note(const char* format, ...) {
  const int saved = errno;
  char line[3 * PATH_MAX];
  va_list rest;
  va_start(rest, format);
  const int n = vsnprintf(line, sizeof line, format, rest);
  va_end(rest);
  if (n > 0 && (size_t)n < sizeof line && syscall(SYS_write, g_log, line, (size_t)n) != n) abort();
  errno = saved;
}

static bool below(const char* path) {
  return g_log >= 0 && strncmp(path, g_root, g_root_length) == 0 && path[g_root_length] == '/';
}

/* Of an open file below the root; false for others. */
static bool file_of(int fd, char* path, struct stat* st) {
  if (g_log < 0) return false;
  const int saved = errno;
  char link[40];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t n = readlink(link, path, PATH_MAX - 1);
  bool ours = false;
  if (n > 0) {
    path[n] = '\0';
    ours = (below(path) || strcmp(path, g_root) == 0) && fstat(fd, st) == 0;
  }
  errno = saved;
  return ours;
}

static void one_more(void) {
  if (g_cut > 0 && __atomic_sub_fetch(&g_cut, 1, __ATOMIC_ACQ_REL) == 0) {
    pthread_mutex_lock(&g_names);
    syscall(SYS_kill, (int)syscall(SYS_getpid), SIGKILL);
    for (;;) pause();
  }
}

static int was_there(const char* path, const struct stat* st, int kind, struct FTW* where) {
  (void)where;
  if (kind == FTW_F || kind == FTW_D)
    note("P\t%s\t%lu\t%ld\n", path, (unsigned long)st->st_ino, kind == FTW_D ? -1L : (long)st->st_size);
  return 0;
}

__attribute__((constructor)) static void start(void) {
  const char *root = getenv("MARGAY_POWER_ROOT"), *log = getenv("MARGAY_POWER_LOG"),
             *cut = getenv("MARGAY_POWER_CUT");
  if (root == NULL || log == NULL || strlen(root) >= sizeof g_root) return;
  strcpy(g_root, root);
  g_root_length = strlen(g_root);
  g_log = (int)syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (g_log < 0) return;
  nftw(g_root, was_there, 16, FTW_PHYS);
  g_cut = cut != NULL ? atoll(cut) : 0;
}

/* ---- bytes */

static void to_be_written(int fd) {
  struct stat st;
  char path[PATH_MAX];
  if (g_cut > 0 && file_of(fd, path, &st)) one_more();
}
ssize_t write(int fd, const void* buffer, size_t size) {
  NEXT(write);
  to_be_written(fd);
  return next(fd, buffer, size);
}
ssize_t pwrite(int fd, const void* buffer, size_t size, off_t at) {
  NEXT(pwrite);
  to_be_written(fd);
  return next(fd, buffer, size, at);
}
ssize_t pwrite64(int fd, const void* buffer, size_t size, off64_t at) {
  NEXT(pwrite64);
  to_be_written(fd);
  return next(fd, buffer, size, at);
}

/* What was written before the call is on the disk after it. */
static int synced(int fd, int (*next)(int)) {
  struct stat st;
  char path[PATH_MAX];
  if (!file_of(fd, path, &st)) return next(fd);
  one_more();
  if (!S_ISDIR(st.st_mode)) {
    const int result = next(fd);
    if (result == 0) note("S\t%lu\t%ld\n", (unsigned long)st.st_ino, (long)st.st_size);
    return result;
  }
  pthread_mutex_lock(&g_names);
  const int result = next(fd);
  if (result == 0) note("D\t%s\n", path);
  pthread_mutex_unlock(&g_names);
  return result;
}
int fsync(int fd) {
  NEXT(fsync);
  return synced(fd, next);
}
int fdatasync(int fd) {
  NEXT(fdatasync);
  return synced(fd, next);
}

static int resized(int fd, off64_t size, int (*next)(int, off64_t)) {
  struct stat st;
  char path[PATH_MAX];
  pthread_mutex_lock(&g_names);
  const int result = next(fd, size);
  if (result == 0 && file_of(fd, path, &st)) note("T\t%lu\t%ld\n", (unsigned long)st.st_ino, (long)size);
  pthread_mutex_unlock(&g_names);
  return result;
}
int ftruncate(int fd, off_t size) {
  NEXT(ftruncate);
  return resized(fd, size, next);
}
int ftruncate64(int fd, off64_t size) {
  NEXT(ftruncate64);
  return resized(fd, size, next);
}

/* ---- names */

/* `path` is about to stand for something else, or for nothing. */
static void keep(const char* path) {
  struct stat st;
  if (lstat(path, &st) != 0 || !S_ISREG(st.st_mode)) return;
  char kept[PATH_MAX + 64];
  snprintf(kept, sizeof kept, "%s.kept", g_root);
  mkdir(kept, 0700); /* not below the root: not noted */
  snprintf(kept, sizeof kept, "%s.kept/%lu", g_root, (unsigned long)st.st_ino);
  unlink(kept);
  const int saved = errno;
  static int (*real_link)(const char*, const char*);
  if (real_link == NULL) *(void**)&real_link = dlsym(RTLD_NEXT, "link");
  if (real_link(path, kept) != 0) errno = saved;
}

int rename(const char* from, const char* to) {
  NEXT(rename);
  if (!below(to)) return next(from, to);
  pthread_mutex_lock(&g_names);
  keep(to);
  const int result = next(from, to);
  if (result == 0) note("R\t%s\t%s\n", from, to);
  pthread_mutex_unlock(&g_names);
  return result;
}
int link(const char* from, const char* to) {
  NEXT(link);
  if (!below(to)) return next(from, to);
  pthread_mutex_lock(&g_names);
  struct stat st;
  const int result = next(from, to);
  if (result == 0 && lstat(to, &st) == 0) note("L\t%s\t%lu\n", to, (unsigned long)st.st_ino);
  pthread_mutex_unlock(&g_names);
  return result;
}
int unlink(const char* path) {
  NEXT(unlink);
  if (!below(path)) return next(path);
  pthread_mutex_lock(&g_names);
  const int result = next(path);
  if (result == 0) note("U\t%s\n", path);
  pthread_mutex_unlock(&g_names);
  return result;
}
int mkdir(const char* path, mode_t mode) {
  NEXT(mkdir);
  if (!below(path)) return next(path, mode);
  pthread_mutex_lock(&g_names);
  const int result = next(path, mode);
  if (result == 0) note("M\t%s\n", path);
  pthread_mutex_unlock(&g_names);
  return result;
}

static int opened(const char* path, int flags, mode_t mode, int (*next)(const char*, int, ...)) {
  if (!below(path) || (flags & (O_CREAT | O_TRUNC)) == 0) return next(path, flags, mode);
  pthread_mutex_lock(&g_names);
  struct stat st;
  const bool before = lstat(path, &st) == 0;
  const int fd = next(path, flags, mode);
  if (fd >= 0 && fstat(fd, &st) == 0) {
    if (!before)
      note("C\t%s\t%lu\n", path, (unsigned long)st.st_ino);
    else if ((flags & O_TRUNC) != 0)
      note("T\t%lu\t0\n", (unsigned long)st.st_ino);
  }
  pthread_mutex_unlock(&g_names);
  return fd;
}

int open(const char* path, int flags, ...) {
  OPEN_MODE();
  NEXT(open);
  return opened(path, flags, mode, next);
}
int open64(const char* path, int flags, ...) {
  OPEN_MODE();
  NEXT(open64);
  return opened(path, flags, mode, next);
}
