/* margay-workload: see --help (plan.c) and workload.h. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "workload.h"

/* The rank before MPI_Init, as the launcher announces it; 0 where there is none. */
static int announced_rank(void) {
  static const char* const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"};
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); ++i) {
    const char* text = getenv(names[i]);
    if (text != NULL && *text != '\0') return atoi(text);
  }
  return 0;
}

int main(int argc, char** argv) {
  if (argc == 3 && strcmp(argv[1], "--sigcont-helper") == 0) return fault_helper_main(atoi(argv[2]));

  static struct workload w;
  const int announced = announced_rank();
  const int verdict = workload_options(&w, argc, argv, announced == 0);
  if (verdict != 0) return verdict == 1 ? 0 : 2;

  fault_prepare(&w, announced);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &w.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &w.size);
  for (int i = 0; i < w.fault_count; ++i) {
    if (w.faults[i].rank < w.size) continue;
    if (w.rank == 0) fprintf(stderr, "margay-workload: --fault: there is no rank %d\n", w.faults[i].rank);
    fault_finish(&w);
    MPI_Finalize();
    return 2;
  }
  for (int i = 0; i < w.heavier_count; ++i) {
    if (w.heavier[i].rank < w.size) continue;
    if (w.rank == 0) fprintf(stderr, "margay-workload: --heavier: there is no rank %d\n", w.heavier[i].rank);
    fault_finish(&w);
    MPI_Finalize();
    return 2;
  }
  w.truth_fd = -1;
  if (w.truth_path != NULL) {
    if (w.rank == 0)
      w.truth_fd = open(w.truth_path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644);
    MPI_Barrier(MPI_COMM_WORLD); /* the file is emptied once, before others append to it */
    if (w.rank != 0) w.truth_fd = open(w.truth_path, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (w.truth_fd < 0) {
      fprintf(stderr, "margay-workload: cannot write %s\n", w.truth_path);
      MPI_Abort(MPI_COMM_WORLD, 2);
    }
  }

  /* One speed for all, or ranks that shared a core while measuring would get less work for good. */
  if (w.rank == 0 && w.loops_per_ms <= 0) w.loops_per_ms = compute_calibrate();
  MPI_Bcast(&w.loops_per_ms, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);

  MPI_Barrier(MPI_COMM_WORLD);
  w.start_s = monotonic_s();
  int64_t edge_ns = realtime_ns();
  for (int i = 0; i < w.phase_count; ++i) {
    struct phase* phase = &w.phases[i];
    const char* name = w.names[phase->name].text;
    phase->begin_ns = edge_ns; /* phases touch: one's end is the next one's begin */
    if (w.pcontrol) MPI_Pcontrol(1, name);
    pattern_run(&w, phase);
    if (w.pcontrol) MPI_Pcontrol(-1, name);
    edge_ns = realtime_ns();
    phase->end_ns = edge_ns;
    truth_phase(&w, phase);
  }
  fault_finish(&w);
  truth_print(&w);
  if (w.truth_fd >= 0) close(w.truth_fd);
  MPI_Finalize();
  return 0;
}
