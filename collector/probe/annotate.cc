// States that a program names itself: what margay/annotate.h calls, where the probe is loaded.
#define MARGAY_NO_ANNOTATIONS  // its types only: not what looks for the probe
#include "margay/annotate.h"

#include <errno.h>
#include <string.h>

#include "probe.h"

namespace margay::probe {
namespace {

// What a thread has named so far, by the address of the text; the text itself is compared as well, for it may
// have changed.
struct Known {
  const char* text;
  std::uint16_t index;
};
constexpr std::size_t kKnown = 64;
constinit thread_local Known t_known[kKnown]{};

// 0 where there is no room, or no time, for it in the name table.
std::uint16_t index_of(const char* name) {
  const auto address = reinterpret_cast<std::uintptr_t>(name);
  Known& known = t_known[(address ^ (address >> 6)) % kKnown];
  if (known.text == name && strncmp(g_page.segment->names[known.index], name, kNameBytes - 1) == 0)
    return known.index;
  char cut[kNameBytes];
  const std::size_t n = strnlen(name, kNameBytes - 1);
  memcpy(cut, name, n);
  cut[n] = '\0';
  const std::uint16_t index = name_index(cut, Named::kState);
  if (index != 0) known = {name, index};
  return index;
}

Thread* begin(const char* name, const void* frame) {
  Mode mode = g_annotations.load(std::memory_order_acquire);
  if (mode == Mode::kUnknown) {
    attach_annotations();
    mode = g_annotations.load(std::memory_order_acquire);
  }
  if (mode != Mode::kOn || name == nullptr || *name == '\0') return nullptr;
  if (t_thread.claimed) return enter_thread(frame);
  const int saved = errno;
  Thread* const thread = enter_thread(frame);
  errno = saved;
  return thread;
}

void note(Thread& thread, std::uint8_t kind, std::uint16_t state) {
  thread.record(kind, state, MARGAY_NO_PEER, MARGAY_NO_TAG, 0, 0);
}

// The name table was taken for too long: lost, and told as such.
void nowhere() {
  g_page.segment->ringless.fetch_add(1, std::memory_order_relaxed);
}

void state_enter(const char* name) {
  Thread* const thread = begin(name, __builtin_frame_address(0));
  if (thread == nullptr) return;
  if (const std::uint16_t state = index_of(name)) {
    thread->named = true;
    note(*thread, MARGAY_ENTER, state);
    if (thread->depth < kDeepest)
      thread->open[thread->depth++] = state;
    else
      ++thread->deeper;
  } else {
    nowhere();
  }
  thread->inside = false;
}

void state_leave(const char* name) {
  Thread* const thread = begin(name, __builtin_frame_address(0));
  if (thread == nullptr) return;
  if (const std::uint16_t state = index_of(name)) {
    note(*thread, MARGAY_LEAVE, state);
    // What was left open inside it is left as well.
    std::uint32_t at = thread->depth;
    while (at > 0 && thread->open[at - 1] != state) --at;
    if (thread->deeper > 0)
      --thread->deeper;
    else if (at > 0)
      thread->depth = at - 1;
  } else {
    nowhere();
  }
  thread->inside = false;
}

}  // namespace
}  // namespace margay::probe

MARGAY_EXPORT const margay_annotate_calls margay_annotate_v1 = {&margay::probe::state_enter,
                                                                &margay::probe::state_leave};
