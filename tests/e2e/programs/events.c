/* Makes a known number of events for LTTng's preloaded helpers.
 *
 *   events locks THREADS ROUNDS   each thread locks a mutex of its own so often, as fast as it can
 *
 *   events many THREADS           so many threads at once: each locks ten times, then waits for all others
 *
 *   events allocate ROUNDS        malloc and free of 100,003 bytes, so often
 *
 *   events call ROUNDS            outer() calls inner() twice, so often (built with -finstrument-functions)
 *
 *   events on                     locks, a thousand times a second, until it is ended
 *
 * Prints "begun" before the first event, and what it did at the end. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kMostThreads = 2000 };
static long g_rounds;
static pthread_barrier_t g_all;
static volatile int g_sum;

static void rest_ms(long ms) {
  const struct timespec t = {0, ms * 1000000};
  nanosleep(&t, NULL);
}

static void call_me(const char* name, long number) {
  char text[16];
  snprintf(text, sizeof text, "%s%ld", name, number);
  pthread_setname_np(pthread_self(), text);
}

static void lock_rounds(long rounds) {
  pthread_mutex_t mine;
  pthread_mutex_init(&mine, NULL);
  for (long i = 0; i < rounds; ++i) {
    pthread_mutex_lock(&mine);
    pthread_mutex_unlock(&mine);
  }
  pthread_mutex_destroy(&mine);
}

static void* lock_work(void* argument) {
  call_me("locker", (long)argument);
  lock_rounds(g_rounds);
  return NULL;
}
static void* many_work(void* argument) {
  call_me("one", (long)argument);
  lock_rounds(10);
  pthread_barrier_wait(&g_all);
  return NULL;
}

static int run_threads(long threads, void* (*work)(void*)) {
  static pthread_t id[kMostThreads];
  if (threads < 1 || threads > kMostThreads) return 2;
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 256 << 10);
  pthread_barrier_init(&g_all, NULL, (unsigned)threads);
  for (long i = 0; i < threads; ++i)
    if (pthread_create(&id[i], &small, work, (void*)i) != 0) return 1;
  for (long i = 0; i < threads; ++i) pthread_join(id[i], NULL);
  printf("%ld threads\n", threads);
  return 0;
}

static void inner(void) {
  ++g_sum;
}
static void outer(void) {
  inner();
  inner();
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const long number = argc > 2 ? atol(argv[2]) : 0;
  g_rounds = argc > 3 ? atol(argv[3]) : number;
  printf("begun\n");
  fflush(stdout);
  if (strcmp(argv[1], "locks") == 0) return run_threads(number, lock_work);
  if (strcmp(argv[1], "many") == 0) return run_threads(number, many_work);
  if (strcmp(argv[1], "allocate") == 0) {
    for (long i = 0; i < g_rounds; ++i) {
      char* volatile p = malloc(100003);
      if (p == NULL) return 1;
      free(p);
    }
    printf("%ld allocations\n", g_rounds);
    return 0;
  }
  if (strcmp(argv[1], "call") == 0) {
    for (long i = 0; i < g_rounds; ++i) outer();
    printf("%d calls of inner\n", g_sum);
    return 0;
  }
  if (strcmp(argv[1], "on") == 0)
    for (;;) {
      lock_rounds(1);
      rest_ms(1);
    }
  return 2;
}
