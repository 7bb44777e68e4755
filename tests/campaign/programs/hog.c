/* Takes something of the machine from others, until it is killed or its parent ends.
 *
 *   campaign-hog cpu               a core
 *   campaign-hog memory            the way to memory: goes through 256 MiB
 *   campaign-hog disk FILE         the disk: four threads write FILE.0 to FILE.3 (256 MiB each at most) and
 *                                  have them synced, over and over. (One does not slow its neighbours; four
 *                                  make a small fsync take five times as long.)
 *   campaign-hog cache LEVEL       a cache: copies one half of a buffer of its size (2 or 3: L2, L3) to the
 * other campaign-hog bandwidth         the way to memory: writes past the caches, 256 MiB after 256 MiB
 *   campaign-hog leak MIB          memory: takes MIB a second, in pieces of 1 MiB, and touches all of it. At
 *                                  1 GiB, or an eighth of what the machine has left, it gives all back
 *   campaign-hog metadata FOLDER   the file system: four threads create, stat, rename and delete small files
 *   campaign-hog network ADDRESS   the network: connections from this address of the machine to itself
 *
 * When it is prepared it says "ready" and waits for a byte on stdin; at the end of stdin it ends. It runs
 * where its parent has put it (sched_setaffinity).
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum {
  kMemory = 256 << 20,
  kBlock = 8 << 20,
  kFile = 256 << 20,
  kThreads = 4,
  kPiece = 1 << 20,
  kMostLeaked = 1024, /* pieces */
  kNames = 64,        /* files of a thread at a time */
  kConnections = 16,  /* each has no more than some 100 KiB under way: so many fill the queue of a link */
  kSent = 256 << 10
};

struct task {
  char* data; /* filled */
  size_t bytes;
  const char* what; /* the argument */
  int files[kThreads];
  int ends[kConnections][2]; /* of connections: who sends, who receives */
};

static struct task g_task;
static volatile uint64_t g_sink; /* keeps the compiler from removing the work */

static void fail(const char* what) {
  fprintf(stderr, "campaign-hog: ");
  perror(what);
  exit(1);
}

static void use_cpu(int thread) {
  (void)thread;
  for (;;) ++g_sink;
}

static void use_memory(int thread) {
  (void)thread;
  uint64_t* data = (uint64_t*)g_task.data;
  for (;;)
    for (size_t i = 0; i < g_task.bytes / sizeof(*data); i += 8) data[i] += 1;
}

static void use_cache(int thread) {
  (void)thread;
  char* data = g_task.data;
  const size_t half = g_task.bytes / 2;
  for (;;) {
    memcpy(data + half, data, half);
    g_sink = (uint64_t)data[g_task.bytes - 1];
    data[0] += 1;
  }
}

static void use_bandwidth(int thread) {
  (void)thread;
  for (;;) {
#ifdef __SSE2__
    const __m128i value = _mm_set1_epi8(1);
    __m128i* data = (__m128i*)g_task.data;
    for (size_t i = 0; i < g_task.bytes / sizeof(value); ++i) _mm_stream_si128(&data[i], value);
    _mm_sfence();
#else
    memset(g_task.data, 1, g_task.bytes);
#endif
    g_sink = (uint64_t)g_task.data[0];
  }
}

static void use_disk(int thread) {
  const int fd = g_task.files[thread];
  for (off_t at = 0; pwrite(fd, g_task.data, kBlock, at) == kBlock && fsync(fd) == 0;
       at = (at + kBlock) % kFile) {
  }
  fail("write");
}

static long most_leaked(void) {
  const long pieces = sysconf(_SC_AVPHYS_PAGES) / 8 / (kPiece / sysconf(_SC_PAGESIZE));
  return pieces < kMostLeaked ? pieces : kMostLeaked;
}

static void leak(int thread) {
  (void)thread;
  static char* pieces[kMostLeaked];
  const long most = most_leaked();
  const int64_t between = 1000000000 / atol(g_task.what);
  struct timespec due;
  clock_gettime(CLOCK_MONOTONIC, &due);
  for (;;) {
    for (long i = 0; i < most; ++i) {
      /* Its own mapping: what is given back goes to the system, and the next piece is touched for the first
       * time again. */
      pieces[i] = mmap(NULL, kPiece, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (pieces[i] == MAP_FAILED) fail("mmap");
      memset(pieces[i], 1, kPiece);
      due.tv_nsec += between;
      due.tv_sec += due.tv_nsec / 1000000000;
      due.tv_nsec %= 1000000000;
      clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
    }
    for (long i = 0; i < most; ++i) munmap(pieces[i], kPiece);
  }
}

static void use_metadata(int thread) {
  char name[4096];
  char renamed[sizeof(name) + 8];
  for (unsigned number = 0;; number = (number + 1) % kNames) {
    snprintf(name, sizeof(name), "%s/hog.%d.%u", g_task.what, thread, number);
    snprintf(renamed, sizeof(renamed), "%s.new", name);
    unlink(renamed); /* that of the last time round */
    const int fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    struct stat status;
    if (fd < 0 || write(fd, "hog", 3) != 3 || close(fd) != 0 || stat(name, &status) != 0 ||
        rename(name, renamed) != 0)
      fail(name);
  }
}

static void use_network(int thread) {
  const int end = g_task.ends[thread % kConnections][thread / kConnections];
  if (thread < kConnections)
    while (send(end, g_task.data, kSent, MSG_NOSIGNAL) > 0) {
    }
  else {
    char* into = malloc(kSent);
    while (into != NULL && recv(end, into, kSent, 0) > 0) {
    }
  }
  fail("network");
}

/* From the address to the machine itself. */
static void connect_all(void) {
  struct sockaddr_in from = {.sin_family = AF_INET};
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof(to);
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (inet_pton(AF_INET, g_task.what, &from.sin_addr) != 1) fail(g_task.what);
  if (listener < 0 || bind(listener, (struct sockaddr*)&to, size) != 0 ||
      listen(listener, kConnections) != 0 || getsockname(listener, (struct sockaddr*)&to, &size) != 0)
    fail("listen");
  for (int i = 0; i < kConnections; ++i) {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr*)&from, sizeof(from)) != 0 ||
        connect(fd, (struct sockaddr*)&to, sizeof(to)) != 0)
      fail(g_task.what);
    g_task.ends[i][0] = fd;
    g_task.ends[i][1] = accept(listener, NULL, NULL);
    if (g_task.ends[i][1] < 0) fail("accept");
  }
}

static void open_files(void) {
  for (int i = 0; i < kThreads; ++i) {
    char path[4096];
    snprintf(path, sizeof(path), "%s.%d", g_task.what, i);
    g_task.files[i] = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (g_task.files[i] < 0) fail(path);
  }
}

static size_t cache_size(void) {
  const long size = sysconf(strcmp(g_task.what, "3") == 0 ? _SC_LEVEL3_CACHE_SIZE : _SC_LEVEL2_CACHE_SIZE);
  return size < kPiece ? kPiece : size > kMemory ? kMemory : (size_t)size;
}

static size_t none(void) {
  return 0;
}

static size_t block(void) {
  return kBlock;
}

static size_t memory(void) {
  return kMemory;
}

static const struct {
  const char* name;
  const char* argument; /* what is expected, or NULL */
  int threads;
  void (*use)(int thread);
  size_t (*bytes)(void); /* that it needs, filled */
  void (*prepare)(void);
} kKinds[] = {
    {"cpu", NULL, 1, use_cpu, none, NULL},
    {"memory", NULL, 1, use_memory, memory, NULL},
    {"disk", "FILE", kThreads, use_disk, block, open_files},
    {"cache", "2|3", 1, use_cache, cache_size, NULL},
    {"bandwidth", NULL, 1, use_bandwidth, memory, NULL},
    {"leak", "MIB", 1, leak, none, NULL},
    {"metadata", "FOLDER", kThreads, use_metadata, none, NULL},
    {"network", "ADDRESS", 2 * kConnections, use_network, block, connect_all},
};
static int g_kind;

static void* run(void* number) {
  kKinds[g_kind].use((int)(intptr_t)number);
  return NULL;
}

int main(int argc, char** argv) {
  const int kinds = (int)(sizeof(kKinds) / sizeof(*kKinds));
  while (g_kind < kinds && (argc < 2 || strcmp(argv[1], kKinds[g_kind].name) != 0)) ++g_kind;
  if (g_kind == kinds || argc != (kKinds[g_kind].argument != NULL ? 3 : 2) ||
      (kKinds[g_kind].use == leak && atol(argv[2]) <= 0)) {
    fprintf(stderr, "campaign-hog: expected one of\n");
    for (int i = 0; i < kinds; ++i)
      fprintf(stderr, "  %s %s\n", kKinds[i].name, kKinds[i].argument != NULL ? kKinds[i].argument : "");
    return 2;
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  g_task.what = argc == 3 ? argv[2] : NULL;
  g_task.bytes = kKinds[g_kind].bytes();
  if (g_task.bytes > 0) {
    g_task.data = aligned_alloc(64, g_task.bytes);
    if (g_task.data == NULL) fail("memory");
    memset(g_task.data, 1, g_task.bytes);
  }
  if (kKinds[g_kind].prepare != NULL) kKinds[g_kind].prepare();
  char go;
  if (write(STDOUT_FILENO, "ready\n", 6) != 6 || read(STDIN_FILENO, &go, 1) != 1) return 1;
  for (int i = 1; i < kKinds[g_kind].threads; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, run, (void*)(intptr_t)i) != 0) return 1;
  }
  run(0);
}
