/* locks COUNT PAUSE_US: locks and unlocks a mutex COUNT times, and says that it did. Knows nothing of LTTng.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char** argv) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  const long count = argc > 1 ? atol(argv[1]) : 1;
  const long pause = argc > 2 ? atol(argv[2]) : 0;
  for (long i = 0; i < count; ++i) {
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    if (pause > 0) usleep((useconds_t)pause);
  }
  puts("done");
  return 0;
}
