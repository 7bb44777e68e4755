/* Takes something of the machine from others, until it is killed or its parent ends.
 *
 *   campaign-hog cpu           a core
 *   campaign-hog memory        the way to memory: goes through 256 MiB
 *   campaign-hog disk FILE     the disk: four threads write FILE.0 to FILE.3 (256 MiB each at most) and have
 *                              them synced, over and over. (One does not slow its neighbours; four make a
 *                              small fsync take five times as long.)
 *
 * When it is prepared it says "ready" and waits for a byte on stdin; at the end of stdin it ends. It runs
 * where its parent has put it (sched_setaffinity).
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { kMemory = 256 << 20, kBlock = 8 << 20, kFile = 256 << 20, kFiles = 4 };

static char* g_block;

static void* write_on(void* number) {
  const int fd = *(int*)number;
  for (off_t at = 0; pwrite(fd, g_block, kBlock, at) == kBlock && fsync(fd) == 0;
       at = (at + kBlock) % kFile) {
  }
  perror("campaign-hog: write");
  exit(1);
}

int main(int argc, char** argv) {
  const char* kind = argc > 1 ? argv[1] : "";
  const int disk = strcmp(kind, "disk") == 0;
  const int memory = strcmp(kind, "memory") == 0;
  if ((!disk && !memory && strcmp(kind, "cpu") != 0) || argc != (disk ? 3 : 2)) {
    fprintf(stderr, "campaign-hog: expected cpu, memory or disk FILE\n");
    return 2;
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const size_t bytes = memory ? kMemory : kBlock;
  uint64_t* data = malloc(bytes);
  if (data == NULL) return 1;
  memset(data, 1, bytes);
  static int files[kFiles];
  for (int i = 0; disk && i < kFiles; ++i) {
    char path[4096];
    snprintf(path, sizeof(path), "%s.%d", argv[2], i);
    files[i] = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (files[i] < 0) {
      perror(path);
      return 1;
    }
  }
  char go;
  if (write(STDOUT_FILENO, "ready\n", 6) != 6 || read(STDIN_FILENO, &go, 1) != 1) return 1;
  if (disk) {
    g_block = (char*)data;
    for (int i = 1; i < kFiles; ++i) {
      pthread_t thread;
      if (pthread_create(&thread, NULL, write_on, &files[i]) != 0) return 1;
    }
    write_on(&files[0]);
  }
  volatile uint64_t spin = 0;
  for (;;) {
    if (memory)
      for (size_t i = 0; i < bytes / sizeof(*data); i += 8) data[i] += 1;
    else
      for (int i = 0; i < 1000000; ++i) ++spin;
  }
}
