// What every call passes through.
//
// Not inlined into the wrappers: one copy of it stays in the instruction cache and takes one entry of the
// TLB, whatever functions a program calls (PROBE.md, *Pages*).
#include "probe.h"

namespace margay::probe {

constinit Page g_page{};
// Preloaded objects always have room in the static TLS block, so the fast model is safe (CMakeLists.txt sets
// it).
constinit thread_local Thread t_thread{};

[[gnu::hot]] Thread* enter(const void* frame) {
  Thread& t = t_thread;
  if (__builtin_expect(g_page.mode.load(std::memory_order_acquire) != Mode::kOn || t.inside || !t.claimed, 0))
    return enter_slowly(frame);
  t.inside = true;
  t.frame = frame;
  return &t;
}

void Thread::record(std::uint8_t kind, std::uint16_t state, std::int32_t peer, std::int32_t tag,
                    std::uint32_t comm, std::uint64_t bytes, RingWriter::As as) {
  if (!writer.bound()) return nowhere();
  writer.write(
      {0, bytes, peer, tag, comm, state, kind, 0}, open, depth, [this] { return now(); }, as);
}

// In a child that was forked inside of a call.
[[gnu::cold]] void Thread::nowhere() {
  if (g_page.segment != nullptr) g_page.segment->ringless.fetch_add(1, std::memory_order_relaxed);
}

[[gnu::hot]] void Thread::begin(std::uint16_t function, std::int32_t peer, std::int32_t tag,
                                std::uint32_t comm, std::uint64_t bytes) {
  const CallArguments arguments{CallArguments::both(peer, tag), comm, bytes};
  current = function;
  if (__builtin_expect(writer.bound(), 1))
    writer.call<MARGAY_ENTER>(function, arguments, open, depth, [this] { return now(); });
  else
    nowhere();
  open[depth++] = function;
}

// Two of them, for most calls tell nothing at their end.
inline void Thread::end_with(const CallArguments& arguments) {
  if (__builtin_expect(writer.bound(), 1))
    writer.call<MARGAY_LEAVE>(current, arguments, open, depth, [this] { return now(); });
  else
    nowhere();
  --depth;
  inside = false;
}

[[gnu::hot]] void Thread::end(std::int32_t peer, std::int32_t tag, std::uint32_t comm, std::uint64_t bytes) {
  end_with({CallArguments::both(peer, tag), comm, bytes});
}

[[gnu::hot]] void Thread::end() {
  end_with({});
}

void Thread::begin_last(std::uint16_t function) {
  record(MARGAY_ENTER, function, MARGAY_NO_PEER, MARGAY_NO_TAG, 0, 0, RingWriter::As::kAlone);
  open[depth++] = current = function;
}

void Thread::end_last() {
  record(MARGAY_LEAVE, current, MARGAY_NO_PEER, MARGAY_NO_TAG, 0, 0, RingWriter::As::kAlone);
  --depth;
  inside = false;
}

}  // namespace margay::probe
