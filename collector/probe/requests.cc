// Receives that are posted, and the calls in which they complete: these say what came, and from whom.
#include "requests.h"

#include <string.h>

#include "probe.h"

namespace margay::probe {
namespace {

constinit FarRequests g_more_receives{};
constexpr Requests g_receives{g_page.receives, g_page.more_receives, g_more_receives};

// Of as many as this in one call it is known which of them completed. Those beyond count, as posted, in the
// first call that waits for them.
constexpr int kMostAtOnce = 256;
constexpr int kMostOwnStatuses = 64;  // 1.5 KiB of the program's stack
// Calls with as few as this get by with the stack's own page.
constexpr int kFew = 4;

std::uintptr_t handle_at(const MPI_Request* requests, int i) {
  const char* const at = reinterpret_cast<const char*>(requests);
  if (__builtin_expect(g_page.library.comm_c2f != nullptr, 1)) {
    std::uintptr_t handle = 0;
    memcpy(&handle, at + static_cast<std::size_t>(i) * sizeof handle, sizeof handle);
    return handle;
  }
  std::uint32_t handle = 0;
  memcpy(&handle, at + static_cast<std::size_t>(i) * sizeof handle, sizeof handle);
  return handle;
}
const char* status_at(const void* statuses, int i) {
  return static_cast<const char*>(statuses) + static_cast<std::size_t>(i) * g_page.library.is.status_bytes;
}
bool ignored(const void* status) {
  return reinterpret_cast<std::uintptr_t>(status) == g_page.library.is.status_ignore;
}

// The handle of a request that is a receive; 0: it is none.
[[gnu::noinline, gnu::hot]] std::uintptr_t receive_at(const MPI_Request* requests, int i) {
  const std::uintptr_t handle = handle_at(requests, i);
  return g_receives.has(handle) ? handle : 0;
}

// What completed in one call, added up.
struct Came {
  std::uint64_t bytes = 0;
  int receives = 0;
  int source = MARGAY_NO_PEER, tag = MARGAY_NO_TAG;  // of the only one

  // `status`: null where nobody knows.
  void add(std::uintptr_t handle, const char* status) {
    std::uint64_t posted = 0;
    if (!g_receives.complete(handle, posted)) return;
    MPI_Count got = -1;
    if (status != nullptr) {
      MPI_Status copy;
      memcpy(copy.raw, status, g_page.library.is.status_bytes);
      got = bytes_of(copy);
      memcpy(&source, status + g_page.library.is.status_source, sizeof source);
      memcpy(&tag, status + g_page.library.is.status_tag, sizeof tag);
    }
    bytes += got >= 0 ? static_cast<std::uint64_t>(got) : posted;
    if (++receives > 1 || status == nullptr) source = MARGAY_NO_PEER, tag = MARGAY_NO_TAG;
  }
};

// A call that completes some of `count` requests: what is to be known before it.
template <int kKnown, int kOwn>
struct Waiting {
  std::uintptr_t handles[kKnown];  // of receives; 0: not one
  int known;
  // As large as so many of either MPI's.
  MPI_Status own[kOwn * 24 / sizeof(MPI_Status) + 1];
  Came came;

  [[gnu::always_inline]] Waiting(int count, const MPI_Request* requests)
      : known(count < kKnown ? count : kKnown) {
    if (!g_receives.any()) known = 0;
    for (int i = 0; i < known; ++i) handles[i] = receive_at(requests, i);
    if (known == kKnown)
      for (int i = known; i < count; ++i) came.add(handle_at(requests, i), nullptr);
  }
  // Where the program wants none, a status of ours, if there is something to find out and room for it.
  MPI_Status* statuses(MPI_Status* theirs, int count) {
    if (!ignored(theirs) || count > kOwn) return theirs;
    for (int i = 0; i < known; ++i)
      if (handles[i] != 0) return own;
    return theirs;
  }
  void completed(int i, const void* statuses, int at) {
    if (i >= 0 && i < known && handles[i] != 0)
      came.add(handles[i], ignored(statuses) ? nullptr : status_at(statuses, at));
  }
  void end(Thread& t) const {
    if (came.receives == 0) return t.end();
    t.end(came.source, came.tag, 0, came.bytes);
  }
};

// The same of one request, in few instructions: programs poll with it.
struct ForOne {
  std::uintptr_t handle;  // of a receive; 0: it is none
  MPI_Status own[24 / sizeof(MPI_Status) + 1];

  explicit ForOne(const MPI_Request* request) : handle(receive_at(request, 0)) {}
  MPI_Status* status(MPI_Status* theirs) { return handle != 0 && ignored(theirs) ? own : theirs; }
  void end(Thread& t, bool completed, const MPI_Status* status) const {
    if (completed && handle != 0)
      end_received(t, ignored(status) ? nullptr : status);
    else
      t.end();
  }

 private:
  [[gnu::noinline, gnu::hot]] void end_received(Thread& t, const MPI_Status* status) const {
    Came came;
    came.add(handle, reinterpret_cast<const char*>(status));
    if (came.receives == 0) return t.end();
    t.end(came.source, came.tag, 0, came.bytes);
  }
};
using ForFew = Waiting<kFew, kFew>;
using ForMany = Waiting<kMostAtOnce, kMostOwnStatuses>;
static_assert(sizeof(ForMany::own) >= kMostOwnStatuses * std::size_t{24} &&
              sizeof(ForFew::own) >= kFew * std::size_t{24} && sizeof(ForOne::own) >= std::size_t{24});

}  // namespace

// The request of a receive that was posted: true if it will be known what came.
bool track_receive(const MPI_Request* request, std::uint64_t posted, bool persistent) {
  return g_receives.add(handle_at(request, 0), posted, persistent);
}
}  // namespace margay::probe

// NOLINTBEGIN: the names and signatures are MPI's.
using namespace margay::probe;

namespace {

template <class Fn>
Thread* begin(Fn* function, std::uint16_t name, const void* frame) {
  Thread* const thread = function == nullptr ? nullptr : enter(frame);
  if (thread != nullptr) thread->begin(name, MARGAY_NO_PEER, MARGAY_NO_TAG, 0, 0);
  return thread;
}

[[gnu::always_inline]] inline int wait(Entry entry, const void* frame, MPI_Request* request,
                                       MPI_Status* status) {
  auto* const call = real<decltype(MPI_Wait)>(k_MPI_Wait, entry);
  Thread* const thread = begin(call, k_MPI_Wait, frame);
  if (thread == nullptr) return call == nullptr ? kNowhere : call(request, status);
  ForOne w(request);
  MPI_Status* const mine = w.status(status);
  const int result = call(request, mine);
  w.end(*thread, result == MPI_SUCCESS, mine);
  return result;
}

// MPI_Waitall and its like, which complete `number()` of `count` requests: those at `indices`, or the first
// ones where that is null. `most`: statuses that the call fills in. `more`: what it takes between requests
// and statuses.
template <class For, class Fn, class Number, class... More>
[[gnu::always_inline]] inline int complete(std::uint16_t name, Entry entry, const void* frame, int count,
                                           MPI_Request* requests, MPI_Status* statuses, int most,
                                           const int* indices, const Number& number, More... more) {
  auto* const call = real<Fn>(name, entry);
  Thread* const thread = begin(call, name, frame);
  if (thread == nullptr) return call == nullptr ? kNowhere : call(count, requests, more..., statuses);
  For w(count, requests);
  MPI_Status* const mine = w.statuses(statuses, most);
  const int result = call(count, requests, more..., mine);
  const int completed = result == MPI_SUCCESS ? number() : 0;
  for (int i = 0; i < completed; ++i) w.completed(indices == nullptr ? i : indices[i], mine, i);
  w.end(*thread);
  return result;
}

[[gnu::always_inline]] inline int test(Entry entry, const void* frame, MPI_Request* request, int* flag,
                                       MPI_Status* status) {
  auto* const call = real<decltype(MPI_Test)>(k_MPI_Test, entry);
  Thread* const thread = begin(call, k_MPI_Test, frame);
  if (thread == nullptr) return call == nullptr ? kNowhere : call(request, flag, status);
  ForOne w(request);
  MPI_Status* const mine = w.status(status);
  const int result = call(request, flag, mine);
  w.end(*thread, result == MPI_SUCCESS && *flag != 0, mine);
  return result;
}

int request_free(Entry entry, const void* frame, MPI_Request* request) {
  auto* const call = real<decltype(MPI_Request_free)>(k_MPI_Request_free, entry);
  Thread* const thread = begin(call, k_MPI_Request_free, frame);
  if (thread == nullptr) return call == nullptr ? kNowhere : call(request);
  if (g_receives.any()) g_receives.forget(handle_at(request, 0));
  const int result = call(request);
  thread->end();
  return result;
}

// A frame of its own, for what takes much of the stack.
template <class F>
[[gnu::noinline]] int apart(const F& f) {
  return f();
}

}  // namespace

// What programs call most lies with its like (PROBE.md, *Pages*).
#define HERE __builtin_frame_address(0)
#define BOTH(how, name, params, function)    \
  MARGAY_EXPORT how int name params {        \
    constexpr Entry mg_entry = Entry::kMpi;  \
    return function;                         \
  }                                          \
  MARGAY_EXPORT int P##name params {         \
    constexpr Entry mg_entry = Entry::kPmpi; \
    return function;                         \
  }
// Where a call waits for few, it takes no more of the stack than these need.
#define BY_COUNT(name, statuses, most, indices, number, ...)                                               \
  [&](const void* frame) {                                                                                 \
    const auto completed = [&] { return number; };                                                         \
    if (count <= kFew)                                                                                     \
      return complete<ForFew, decltype(name)>(k_##name, mg_entry, frame, count, requests, statuses, most,  \
                                              indices, completed __VA_OPT__(, ) __VA_ARGS__);              \
    return apart([&] {                                                                                     \
      return complete<ForMany, decltype(name)>(k_##name, mg_entry, frame, count, requests, statuses, most, \
                                               indices, completed __VA_OPT__(, ) __VA_ARGS__);             \
    });                                                                                                    \
  }(HERE)

BOTH([[gnu::hot]], MPI_Wait, (MPI_Request * request, MPI_Status* status),
     wait(mg_entry, HERE, request, status))
BOTH([[gnu::hot]], MPI_Waitall, (int count, MPI_Request requests[], MPI_Status* statuses),
     BY_COUNT(MPI_Waitall, statuses, count, nullptr, count))
BOTH(, MPI_Waitany, (int count, MPI_Request requests[], int* index, MPI_Status* status),
     BY_COUNT(MPI_Waitany, status, 1, index, 1, index))
BOTH(, MPI_Waitsome, (int count, MPI_Request requests[], int* out, int indices[], MPI_Status statuses[]),
     BY_COUNT(MPI_Waitsome, statuses, count, indices, *out, out, indices))
BOTH([[gnu::hot]], MPI_Test, (MPI_Request * request, int* flag, MPI_Status* status),
     test(mg_entry, HERE, request, flag, status))
BOTH(, MPI_Testall, (int count, MPI_Request requests[], int* flag, MPI_Status statuses[]),
     BY_COUNT(MPI_Testall, statuses, count, nullptr, *flag != 0 ? count : 0, flag))
BOTH(, MPI_Testany, (int count, MPI_Request requests[], int* index, int* flag, MPI_Status* status),
     BY_COUNT(MPI_Testany, status, 1, index, *flag != 0 ? 1 : 0, index, flag))
BOTH(, MPI_Testsome, (int count, MPI_Request requests[], int* out, int indices[], MPI_Status statuses[]),
     BY_COUNT(MPI_Testsome, statuses, count, indices, *out, out, indices))
BOTH(, MPI_Request_free, (MPI_Request * request), request_free(mg_entry, HERE, request))
// NOLINTEND
