/* No MPI, and linked statically: nothing can be preloaded into it.
 *
 *   plain [N]    prints two lines and ends with exit code N
 */
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  const int code = argc > 1 ? atoi(argv[1]) : 0;
  printf("plain: this goes to stdout\n");
  fflush(stdout);
  fprintf(stderr, "plain: this goes to stderr\n");
  return code;
}
