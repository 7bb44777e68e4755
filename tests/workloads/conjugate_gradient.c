/* The conjugate gradient method on a line of N unknowns (-u'' = 1, the ends fixed), with so few of them per
 * rank that it is all communication: the two neighbours' values and two sums over all ranks in each
 * iteration.
 *
 *   mpirun -np 64 margay-cg [--rows 200] [--seconds 5]
 *
 * It solves the same system again and again until the time is over, on all ranks the same number of
 * iterations. Rank 0 prints `iterations N seconds S error E`: the error of the last solution against the true
 * one. Exit code: 0; 1 if that is above 1e-6; 2 for a wrong call. */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size, rows;

/* q = A p, where A has 2 on the diagonal and -1 beside it; p has room for a neighbour's value at each end. */
static void multiply(double* p, double* q) {
  MPI_Request r[4];
  const int left = rank > 0 ? rank - 1 : MPI_PROC_NULL, right = rank + 1 < size ? rank + 1 : MPI_PROC_NULL;
  p[0] = p[rows + 1] = 0;
  MPI_Irecv(&p[0], 1, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, &r[0]);
  MPI_Irecv(&p[rows + 1], 1, MPI_DOUBLE, right, 1, MPI_COMM_WORLD, &r[1]);
  MPI_Isend(&p[1], 1, MPI_DOUBLE, left, 1, MPI_COMM_WORLD, &r[2]);
  MPI_Isend(&p[rows], 1, MPI_DOUBLE, right, 0, MPI_COMM_WORLD, &r[3]);
  MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
  for (int i = 1; i <= rows; ++i) q[i] = 2 * p[i] - p[i - 1] - p[i + 1];
}

static double dot(const double* a, const double* b) {
  double mine = 0, all = 0;
  for (int i = 1; i <= rows; ++i) mine += a[i] * b[i];
  MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return all;
}

int main(int argc, char** argv) {
  double seconds = 5;
  rows = 200;
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], "--rows") == 0 && i + 1 < argc && atoi(argv[i + 1]) > 0) {
      rows = atoi(argv[++i]);
    } else if (strcmp(argv[i], "--seconds") == 0 && i + 1 < argc && atof(argv[i + 1]) > 0) {
      seconds = atof(argv[++i]);
    } else {
      fprintf(stderr, "margay-cg [--rows N] [--seconds S]\n");
      return 2;
    }
  }
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const size_t n = (size_t)rows + 2;
  double *x = calloc(n, sizeof *x), *r = calloc(n, sizeof *r), *p = calloc(n, sizeof *p),
         *q = calloc(n, sizeof *q);
  if (x == NULL || r == NULL || p == NULL || q == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  const double unknowns = (double)rows * size;
  long iterations = 0;
  double error = 1;
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  for (int go_on = 1; go_on;) {
    for (int i = 1; i <= rows; ++i) {
      x[i] = 0;
      r[i] = p[i] = 1;
    }
    double rr = dot(r, r);
    /* In exact arithmetic it is solved after half as many steps as there are unknowns, for it is symmetric.
     */
    for (long k = 0; k < (long)unknowns && rr > 1e-12 && go_on; ++k, ++iterations) {
      multiply(p, q);
      const double a = rr / dot(p, q);
      for (int i = 1; i <= rows; ++i) {
        x[i] += a * p[i];
        r[i] -= a * q[i];
      }
      const double before = rr;
      rr = dot(r, r);
      for (int i = 1; i <= rows; ++i) p[i] = r[i] + rr / before * p[i];
      if (iterations % 100 == 99) {
        go_on = MPI_Wtime() - begin < seconds || error > 0.5; /* the first is always brought to its end */
        MPI_Bcast(&go_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
      }
    }
    if (rr <= 1e-12) {
      error = 0;
      for (int i = 1; i <= rows; ++i) {
        const double at = (double)rank * rows + i, true_value = at * (unknowns + 1 - at) / 2;
        error = fmax(error, fabs(x[i] - true_value) / (unknowns * unknowns / 8));
      }
      MPI_Allreduce(MPI_IN_PLACE, &error, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("iterations %ld seconds %.6f error %.3g\n", iterations, MPI_Wtime() - begin, error);
  MPI_Finalize();
  free(x);
  free(r);
  free(p);
  free(q);
  return error < 1e-6 ? 0 : 1;
}
