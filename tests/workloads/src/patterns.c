/* The communication patterns. In each of them rank 0 alone decides, by its clock, that a phase is over, and
 * tells the others inside the pattern's own messages wherever it has a reduction or a sweep, so that all
 * ranks leave a phase at the same iteration. */
#include <stdio.h>
#include <unistd.h>

#include "workload.h"

enum { kHalo = 512, kPlane = 40, kPlanes = 8, kBlock = 64, kHaloCheckEvery = 4, kIoCheckEvery = 4 };

static double g_phase_start_s;

/* Meaningful on rank 0 only; false elsewhere. */
static bool over(const struct workload* w, const struct phase* phase) {
  if (phase->most > 0) return w->rank == 0 && phase->iterations + 1 >= phase->most;
  return w->rank == 0 && monotonic_s() - g_phase_start_s >= phase->seconds;
}

static bool broadcast_over(const struct workload* w, const struct phase* phase) {
  int last = over(w, phase);
  MPI_Bcast(&last, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return last != 0;
}

/* Conjugate-gradient-like: a matrix product with neighbour exchange, then a global sum. */
static bool iterate_cg(struct workload* w, struct phase* phase) {
  static double out[kHalo];
  static double in[2][kHalo];
  const int left = (w->rank + w->size - 1) % w->size;
  const int right = (w->rank + 1) % w->size;
  MPI_Request requests[4];
  MPI_Irecv(in[0], kHalo, MPI_DOUBLE, left, 1, MPI_COMM_WORLD, &requests[0]);
  MPI_Irecv(in[1], kHalo, MPI_DOUBLE, right, 2, MPI_COMM_WORLD, &requests[1]);
  MPI_Isend(out, kHalo, MPI_DOUBLE, right, 1, MPI_COMM_WORLD, &requests[2]);
  MPI_Isend(out, kHalo, MPI_DOUBLE, left, 2, MPI_COMM_WORLD, &requests[3]);
  compute(w, 0.7);
  for (int i = 0; i < 4; ++i) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
  compute(w, 0.3);
  double local[2] = {1.0, over(w, phase) ? 1.0 : 0.0};
  double sum[2];
  MPI_Allreduce(local, sum, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return sum[1] > 0.5;
}

/* LU-like: planes run down the line of ranks and back, each rank waiting for its neighbour's plane. The first
 * number of a plane on its way down carries rank 0's decision; the way back keeps rank 0 from running ahead.
 */
static bool iterate_lu(struct workload* w, struct phase* phase) {
  static double plane[kPlane];
  const bool first = w->rank == 0;
  const bool final = w->rank == w->size - 1;
  double last = over(w, phase) ? 1.0 : 0.0;
  for (int i = 0; i < kPlanes; ++i) {
    if (!first) {
      MPI_Recv(plane, kPlane, MPI_DOUBLE, w->rank - 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      last = plane[0];
    }
    compute(w, 0.5 / kPlanes);
    plane[0] = last;
    if (!final) MPI_Send(plane, kPlane, MPI_DOUBLE, w->rank + 1, 3, MPI_COMM_WORLD);
  }
  for (int i = 0; i < kPlanes; ++i) {
    if (!final) MPI_Recv(plane, kPlane, MPI_DOUBLE, w->rank + 1, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    compute(w, 0.5 / kPlanes);
    if (!first) MPI_Send(plane, kPlane, MPI_DOUBLE, w->rank - 1, 4, MPI_COMM_WORLD);
  }
  return last > 0.5;
}

/* Halo exchange: all four transfers under way while the inner part is computed, one MPI_Waitall. */
static bool iterate_stencil(struct workload* w, struct phase* phase) {
  static double out[2][kHalo];
  static double in[2][kHalo];
  const int left = (w->rank + w->size - 1) % w->size;
  const int right = (w->rank + 1) % w->size;
  MPI_Request requests[4];
  MPI_Irecv(in[0], kHalo, MPI_DOUBLE, left, 5, MPI_COMM_WORLD, &requests[0]);
  MPI_Irecv(in[1], kHalo, MPI_DOUBLE, right, 6, MPI_COMM_WORLD, &requests[1]);
  MPI_Isend(out[0], kHalo, MPI_DOUBLE, right, 5, MPI_COMM_WORLD, &requests[2]);
  MPI_Isend(out[1], kHalo, MPI_DOUBLE, left, 6, MPI_COMM_WORLD, &requests[3]);
  compute(w, 0.8);
  MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
  compute(w, 0.2);
  return phase->iterations % kHaloCheckEvery == kHaloCheckEvery - 1 && broadcast_over(w, phase);
}

static bool iterate_alltoall(struct workload* w, struct phase* phase) {
  static double out[kBlock * 1024];
  static double in[kBlock * 1024];
  const int block = w->size <= 1024 ? kBlock : 1;
  compute(w, 1.0);
  const double last = over(w, phase) ? 1.0 : 0.0;
  for (int peer = 0; peer < w->size; ++peer) out[peer * block] = last;
  MPI_Alltoall(out, block, MPI_DOUBLE, in, block, MPI_DOUBLE, MPI_COMM_WORLD);
  return in[0] > 0.5; /* the block that came from rank 0 */
}

/* No MPI but a barrier and a broadcast about every 50 ms. */
static bool iterate_compute(struct workload* w, struct phase* phase) {
  const double merged_ms = w->grain_ms * w->sparse;
  const int64_t every = merged_ms < 50.0 ? (int64_t)(50.0 / merged_ms) : 1;
  compute(w, 1.0);
  if (phase->iterations % every != every - 1) return false;
  MPI_Barrier(MPI_COMM_WORLD);
  return broadcast_over(w, phase);
}

/* Waiting for a device: a file of one's own written through MPI where --io-file asks for it, else a sleep. */
static bool iterate_io(struct workload* w, struct phase* phase) {
  static MPI_File file;
  static char block[65536];
  if (w->io_path != NULL) {
    if (phase->iterations == 0) {
      char path[4096];
      snprintf(path, sizeof(path), "%s.%d", w->io_path, w->rank);
      if (MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_DELETE_ON_CLOSE,
                        MPI_INFO_NULL, &file) != MPI_SUCCESS) {
        fprintf(stderr, "margay-workload: cannot write %s\n", path);
        MPI_Abort(MPI_COMM_WORLD, 2);
      }
    }
    MPI_File_write_at(file, (phase->iterations % 64) * (MPI_Offset)sizeof(block), block, sizeof(block),
                      MPI_BYTE, MPI_STATUS_IGNORE);
  }
  usleep((useconds_t)(w->grain_ms * w->sparse * 900.0));
  compute(w, 0.1);
  const bool last = phase->iterations % kIoCheckEvery == kIoCheckEvery - 1 && broadcast_over(w, phase);
  if (last && w->io_path != NULL) MPI_File_close(&file);
  return last;
}

void pattern_run(struct workload* w, struct phase* phase) {
  static bool (*const iterate[kPatternCount])(struct workload*, struct phase*) = {
      iterate_cg, iterate_lu, iterate_stencil, iterate_alltoall, iterate_compute, iterate_io};
  g_phase_start_s = monotonic_s();
  w->factor = 1.0;
  for (int i = 0; i < w->heavier_count; ++i)
    if (w->heavier[i].name == phase->name && w->heavier[i].rank == w->rank)
      w->factor *= 1.0 + w->heavier[i].percent / 100;
  bool last = false;
  while (!last) {
    last = iterate[w->names[phase->name].pattern](w, phase);
    ++phase->iterations;
  }
}
