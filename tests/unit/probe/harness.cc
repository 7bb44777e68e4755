// The probe itself, linked into a program and on top of an MPI that does nothing (fake_mpi.c), so that
// sanitizers see all of it. What it does is the first argument; it prints how many calls it made.
#include <margay/annotate.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "mpi_abi.h"

extern "C" {
int MPI_Send(const void*, int, MPI_Datatype, int, int, MPI_Comm);
int MPI_Recv(void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Status*);
int MPI_Barrier(MPI_Comm);
int PMPI_Barrier(MPI_Comm);
int MPI_Comm_dup(MPI_Comm, MPI_Comm*);
int MPI_Comm_free(MPI_Comm*);
extern char ompi_mpi_comm_world[], ompi_mpi_byte[];
void fake_mpi_call_back(int (*function)());
}

namespace {

std::atomic<long> g_calls{0};
MPI_Comm world() {
  return reinterpret_cast<MPI_Comm>(ompi_mpi_comm_world);
}
MPI_Datatype byte() {
  return reinterpret_cast<MPI_Datatype>(ompi_mpi_byte);
}

void exchange(int times) {
  char buffer[16];
  for (int i = 0; i < times; ++i) {
    MPI_Send(buffer, 3, byte(), 1, 7, world());
    MPI_Recv(buffer, 3, byte(), 1, 7, world(), nullptr);
    g_calls += 2;
  }
}

// `total` threads, `together` of them at a time.
template <class Work>
void in_threads(int total, int together, Work work) {
  std::atomic<int> next{0};
  std::vector<std::thread> runners;
  for (int r = 0; r < together; ++r)
    runners.emplace_back([&] {
      for (int n = next++; n < total; n = next++) std::thread([&, n] { work(n); }).join();
    });
  for (std::thread& t : runners) t.join();
}

void communicators(int count) {
  std::vector<MPI_Comm> all(static_cast<std::size_t>(count));
  MPI_Comm last = world();
  for (MPI_Comm& c : all) {
    MPI_Comm_dup(last, &c);
    last = c;
    MPI_Barrier(c);
    PMPI_Barrier(c);
  }
  for (MPI_Comm& c : all) MPI_Comm_free(&c);
  g_calls += 4L * count;
}

volatile sig_atomic_t g_interrupted = 0;
// MPI in a signal handler, and in what MPI calls back, is passed on and not recorded.
int from_inside() {
  return MPI_Barrier(world());
}
void on_signal(int) {
  MPI_Barrier(world());
  margay_enter("handler");
  margay_leave("handler");
  g_interrupted = g_interrupted + 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  const int n = argc > 2 ? atoi(argv[2]) : 100;
  if (what == "late") {  // threads race for the first call of all
    in_threads(n, n, [](int) { MPI_Init(nullptr, nullptr); });
    g_calls += n;
  } else {
    int provided = 0;
    MPI_Init_thread(&argc, &argv, 3, &provided);
    ++g_calls;
  }
  if (what == "threads") in_threads(n, 16, [](int) { exchange(20); });
  if (what == "communicators") communicators(n);
  if (what == "names")
    in_threads(n, 8, [](int t) {
      for (int i = 0; i < 20; ++i) {
        const std::string name = "state " + std::to_string((t * 20 + i) % 600);
        margay_enter(name.c_str());
        exchange(1);
        margay_leave(name.c_str());
        MPI_Pcontrol(1, name.c_str());
        MPI_Pcontrol(-1, name.c_str());
      }
    });
  if (what == "inside") {
    fake_mpi_call_back(from_inside);
    exchange(n);
    fake_mpi_call_back(nullptr);
  }
  if (what == "signals") {
    struct sigaction action {};
    action.sa_handler = on_signal;
    sigaction(SIGUSR1, &action, nullptr);
    const pthread_t self = pthread_self();
    std::atomic<bool> over{false};
    std::thread sender([&] {
      for (int i = 0; i < n; ++i) {
        pthread_kill(self, SIGUSR1);
        usleep(100);
      }
      over = true;
    });
    while (!over) {
      exchange(2);
      usleep(20);
    }
    sender.join();
  }
  if (what == "fork") {
    const pid_t child = fork();
    if (child == 0) {
      exchange(10);
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    exchange(n);
    if (status != 0) return 1;
  }
  MPI_Finalize();
  ++g_calls;
  printf("%ld\n", g_calls.load());
  return 0;
}
