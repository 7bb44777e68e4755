#include "threads.h"

#include <algorithm>

namespace margay::lttng_rules {
namespace {

constexpr std::uint32_t kSearched = 1024;

template <class T>
std::uint32_t take_place(std::vector<T>& places, std::vector<std::uint32_t>& free) {
  if (free.empty()) {
    places.emplace_back();
    return static_cast<std::uint32_t>(places.size() - 1);
  }
  const std::uint32_t place = free.back();
  free.pop_back();
  places[place] = T();
  return place;
}

}  // namespace

std::uint32_t Threads::add(std::int64_t pid, std::int64_t tid, std::uint32_t process) {
  const std::uint32_t place = take_place(threads_, free_threads_);
  Thread& t = threads_[place];
  t.pid = pid;
  t.tid = tid;
  t.process = process;
  ++processes_[process].entries;
  ++processes_[process].live;
  by_ids_.set(static_cast<std::uint64_t>(pid), static_cast<std::uint64_t>(tid), place);
  by_tid_.set(static_cast<std::uint64_t>(tid), 0, place);
  return place;
}

std::uint32_t Threads::add_process(std::int64_t pid) {
  const std::uint32_t place = take_place(processes_, free_processes_);
  processes_[place].pid = pid;
  processes_[place].is_known = true;
  processes_[place].serial = new_serial();
  by_pid_.set(static_cast<std::uint64_t>(pid), 0, place);
  return place;
}

void Threads::remove(std::uint32_t place) {
  Thread& t = threads_[place];
  Process& p = processes_[t.process];
  --p.entries;
  if (!t.over) --p.live;
  by_ids_.erase(static_cast<std::uint64_t>(t.pid), static_cast<std::uint64_t>(t.tid));
  if (find_tid(t.tid) == place) by_tid_.erase(static_cast<std::uint64_t>(t.tid), 0);
  t = Thread();
  free_threads_.push_back(place);
}

void Threads::remove_process(std::uint32_t place) {
  by_pid_.erase(static_cast<std::uint64_t>(processes_[place].pid), 0);
  processes_[place] = Process();
  free_processes_.push_back(place);
}

std::uint32_t Threads::idle_since(TimeNs since) {
  const std::uint32_t most = std::min(kSearched, places());
  for (std::uint32_t n = 0; n < most; ++n) {
    hand_ = hand_ + 1 < places() ? hand_ + 1 : 0;
    const Thread& t = threads_[hand_];
    if (t.tid >= 0 && t.stack.empty() && t.deep == 0 && t.last < since) return hand_;
  }
  return FlatMap::kNone;
}

std::uint32_t Threads::empty_process() {
  const std::uint32_t most = std::min(kSearched, process_places());
  for (std::uint32_t n = 0; n < most; ++n) {
    process_hand_ = process_hand_ + 1 < process_places() ? process_hand_ + 1 : 0;
    const Process& p = processes_[process_hand_];
    if (p.is_known && p.entries == 0) return process_hand_;
  }
  return FlatMap::kNone;
}

}  // namespace margay::lttng_rules
