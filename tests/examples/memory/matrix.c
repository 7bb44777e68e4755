/* The product of two matrices, naive or in blocks, in one thread: what an address trace is made of.
 *
 *   valgrind --tool=lackey --trace-mem=yes --log-file=naive.lackey ./matrix naive
 *   nm -S matrix >matrix.nm            (link with -no-pie, so that addresses are those of the program)
 *
 * Prints the sum of the result, which is that of any order of the products. */
#include <stdio.h>
#include <string.h>

#ifndef SIZE
#define SIZE 64
#endif
#define BLOCK 16

static double A[SIZE][SIZE] __attribute__((aligned(4096)));
static double B[SIZE][SIZE] __attribute__((aligned(4096)));
static double Result[SIZE][SIZE] __attribute__((aligned(4096)));

static void naive(void) {
  for (int i = 0; i < SIZE; ++i)
    for (int j = 0; j < SIZE; ++j)
      for (int k = 0; k < SIZE; ++k) Result[i][j] += A[i][k] * B[k][j];
}

static void blocked(void) {
  for (int kb = 0; kb < SIZE; kb += BLOCK)
    for (int jb = 0; jb < SIZE; jb += BLOCK)
      for (int i = 0; i < SIZE; ++i)
        for (int j = jb; j < jb + BLOCK; ++j)
          for (int k = kb; k < kb + BLOCK; ++k) Result[i][j] += A[i][k] * B[k][j];
}

int main(int argc, char** argv) {
  if (argc != 2 || (strcmp(argv[1], "naive") != 0 && strcmp(argv[1], "blocked") != 0)) {
    fprintf(stderr, "usage: matrix naive|blocked\n");
    return 2;
  }
  for (int i = 0; i < SIZE; ++i)
    for (int j = 0; j < SIZE; ++j) {
      A[i][j] = i + j;
      B[i][j] = i - j;
      Result[i][j] = 0;
    }
  if (argv[1][0] == 'n')
    naive();
  else
    blocked();
  double sum = 0;
  for (int i = 0; i < SIZE; ++i)
    for (int j = 0; j < SIZE; ++j) sum += Result[i][j];
  printf("%.0f\n", sum);
  return 0;
}
