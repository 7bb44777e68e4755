/* Names the states of your own program, in C and C++, for Margay to see.
 *
 *   margay_enter("decode");          this thread decodes from here on
 *   margay_leave("decode");          and no longer
 *   margay::State state("decode");   C++: until the end of the scope, whichever way it is left
 *
 * States nest, per thread; the innermost is the one that counts, and what is left open inside a state ends
 * with it. Run the program with `margay run -- ./program`: nothing has to be linked, and nothing else has to
 * be installed where it runs. In an MPI program calls of MPI are seen as ever, inside the states named here.
 *
 * Where others trace the program with LTTng, preload libmargay-annotate-lttng.so: the calls are tracepoints
 * then, margay:enter and margay:leave, which Margay reads from live sessions and from recorded traces.
 *
 * Not under Margay a call costs a test of a pointer (about half a nanosecond); under Margay about 40 ns,
 * without a lock, a system call or an allocation, but for a thread's first call and a name's first use. The
 * job is never stopped: where records find no room they are counted, and what is not known is shown as such.
 *
 * Names: 1 to 47 bytes of UTF-8, longer ones are cut; some 280 of a process, all others count as "(other
 * states)". A name is recognised fastest by its address: use literals. Up to 8 threads of a process at a
 * time; the records of others are counted as lost. Inside a call of MPI (in a function that MPI calls back)
 * and in a signal handler that interrupts one of these calls nothing is recorded. Of a program that is linked
 * statically nothing is seen.
 *
 * Safe in every thread, before main() as well, and after fork() (a child that names its states is a process
 * of its own). With MARGAY_NO_ANNOTATIONS defined all of it is compiled to nothing. */
#ifndef MARGAY_ANNOTATE_H
#define MARGAY_ANNOTATE_H

#ifdef __cplusplus
extern "C" {
#endif

/* What listens, if anything does: the probe exports one as margay_annotate_v1. */
typedef struct margay_annotate_calls { /* NOLINT(modernize-use-using): C reads this too */
  void (*enter)(const char* name);
  void (*leave)(const char* name);
} margay_annotate_calls;

#ifdef MARGAY_NO_ANNOTATIONS

static inline void margay_enter(const char* name) {
  (void)name;
}
static inline void margay_leave(const char* name) {
  (void)name;
}

#else

#include <dlfcn.h>
#include <stddef.h>

/* One for each program and library; not seen from outside of it. */
__attribute__((weak, visibility("hidden"))) const margay_annotate_calls* margay_annotate_listener = NULL;

/* When the program or library is loaded, before constructors of its own. */
__attribute__((constructor(101), unused)) static void margay_annotate_find_listener(void) {
  margay_annotate_listener = (const margay_annotate_calls*)dlsym(RTLD_DEFAULT, "margay_annotate_v1");
}

static inline void margay_enter(const char* name) {
  const margay_annotate_calls* const listener = margay_annotate_listener;
  if (__builtin_expect(listener != NULL, 0)) listener->enter(name);
}

static inline void margay_leave(const char* name) {
  const margay_annotate_calls* const listener = margay_annotate_listener;
  if (__builtin_expect(listener != NULL, 0)) listener->leave(name);
}

#endif

#ifdef __cplusplus
}

namespace margay {

/* Enters on construction, leaves on destruction. The name has to live as long. */
class State {
 public:
  explicit State(const char* name) noexcept : name_(name) { margay_enter(name_); }
  ~State() { margay_leave(name_); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

 private:
  const char* name_;
};

}  // namespace margay
#endif

#endif
