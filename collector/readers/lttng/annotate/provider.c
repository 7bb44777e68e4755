/* libmargay-annotate-lttng.so: what a program says with margay/annotate.h becomes tracepoints of LTTng-UST,
 * for any session that has events margay:* enabled.
 *
 *   LD_PRELOAD=libmargay-annotate-lttng.so ./program
 *
 * Without such a session a call costs a test of a flag more than without the library. Under `margay run` the
 * probe comes first, and this library is not asked. A name may have any length. */
/* As glibc 2.17 has them: it is loaded into programs of containers as well (tests/checks/preloaded). */
#if defined(__x86_64__) && defined(__gnu_linux__)
__asm__(
    ".symver dlopen, dlopen@GLIBC_2.2.5\n.symver dlsym, dlsym@GLIBC_2.2.5\n.symver dlclose, "
    "dlclose@GLIBC_2.2.5");
#elif defined(__aarch64__) && defined(__gnu_linux__)
__asm__(
    ".symver dlopen, dlopen@GLIBC_2.17\n.symver dlsym, dlsym@GLIBC_2.17\n.symver dlclose, "
    "dlclose@GLIBC_2.17");
#endif

#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "tracepoints.h"

#define MARGAY_NO_ANNOTATIONS /* we are who listens */
#include "margay/annotate.h"

static void enter_state(const char* name) {
  if (name != NULL) lttng_ust_tracepoint(margay, enter, name);
}
static void leave_state(const char* name) {
  if (name != NULL) lttng_ust_tracepoint(margay, leave, name);
}

__attribute__((visibility("default"))) extern const margay_annotate_calls margay_annotate_v1;
const margay_annotate_calls margay_annotate_v1 = {enter_state, leave_state};
