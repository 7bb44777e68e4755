/* Threads that share one mutex: each works for a while, then holds it for a tenth of that, again and again.
 *
 *   mutexes THREADS SECONDS [SLOW AT FOR [WORK]]
 *
 * It works for WORK milliseconds (1). Thread SLOW (from 0) holds it for ten times that instead, from AT
 * seconds on, for FOR seconds; -1 for none. Threads are called worker0, worker1 ... Prints how often each had
 * it. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { kMost = 64 };
static pthread_mutex_t g_mutex = PTHREAD_MUTEX_INITIALIZER;
static double g_seconds, g_at = -1, g_for, g_work = 0.001;
static int g_slow = -1;
static long g_rounds[kMost];
static double g_begin;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}
static void rest(double seconds) {
  const struct timespec t = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
  nanosleep(&t, NULL);
}

static void* work(void* argument) {
  const long me = (long)argument;
  char name[16];
  snprintf(name, sizeof name, "worker%ld", me);
  pthread_setname_np(pthread_self(), name);
  for (;;) {
    const double since = now() - g_begin;
    if (since >= g_seconds) return NULL;
    rest(g_work);
    pthread_mutex_lock(&g_mutex);
    rest(me == g_slow && since >= g_at && since < g_at + g_for ? 10 * g_work : g_work / 10);
    pthread_mutex_unlock(&g_mutex);
    ++g_rounds[me];
  }
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const int threads = atoi(argv[1]);
  if (threads < 1 || threads > kMost) return 2;
  g_seconds = atof(argv[2]);
  if (argc > 5) {
    g_slow = atoi(argv[3]);
    g_at = atof(argv[4]);
    g_for = atof(argv[5]);
    if (argc > 6) g_work = atof(argv[6]) / 1e3;
  }
  g_begin = now();
  pthread_t id[kMost];
  for (long i = 0; i < threads; ++i)
    if (pthread_create(&id[i], NULL, work, (void*)i) != 0) return 1;
  for (int i = 0; i < threads; ++i) pthread_join(id[i], NULL);
  for (int i = 0; i < threads; ++i) printf("%ld\n", g_rounds[i]);
  return 0;
}
