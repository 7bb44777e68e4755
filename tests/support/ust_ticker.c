/* A program with LTTng's own tracepoint: ust_ticker N MICROSECONDS [THREADS] writes "tick i" N times a
   thread, with a pause of so many microseconds between two (0: as fast as it goes). Its session daemon is the
   one of LTTNG_HOME. */
#include <lttng/tracef.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static long count = 0;
static long pause_us = 0;

static void* ticks(void* unused) {
  for (long i = 0; i < count; ++i) {
    lttng_ust_tracef("tick %ld", i);
    if (pause_us > 0) usleep((useconds_t)pause_us);
  }
  return unused;
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  count = atol(argv[1]);
  pause_us = atol(argv[2]);
  long threads = argc > 3 ? atol(argv[3]) : 1;
  pthread_t others[64];
  if (threads < 1 || threads > 64) return 2;
  for (long i = 1; i < threads; ++i)
    if (pthread_create(&others[i], NULL, ticks, NULL) != 0) return 1;
  ticks(NULL);
  for (long i = 1; i < threads; ++i) pthread_join(others[i], NULL);
  return 0;
}
