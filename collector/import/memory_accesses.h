// Accesses to memory as a trace: leaves, states and records (MEMORY.md says what becomes what).
//
// Promise to the consumer: of each leaf a visit for each access, in the order of time, all within the slice
// of the access; what lies in a slice that is over is told at once. Where threads are known a visit is
// Private or Shared, by what all threads do with the page in that slice.
//
// Thread safety: none. Memory: the leaves (memory_pages.h), and, where records are kept, the accesses of one
// slice, kMostHeld at most.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "margay/import/format.h"
#include "margay/model/hierarchy.h"
#include "memory_pages.h"
#include "memory_paths.h"
#include "paje_names.h"

namespace margay::trace::memory {

enum class Kind : std::uint8_t { kFetch, kRead, kWrite, kModify };
inline constexpr std::size_t kKinds = 4;

struct Access {
  std::int64_t time_ns = 0;
  std::uint64_t address = 0;  // of its first byte, whose page it is of
  Kind kind = Kind::kRead;
  std::uint32_t thread = kNobody;  // as thread() gave it
  std::uint32_t space = kOnlySpace;
  std::int32_t cpu = -1;  // -1: not said
  double latency = -1;    // -1: not said
};

class Accesses {
 public:
  static constexpr DurationNs kTick{1000};  // an access lasts so long, or up to the leaf's next one
  static constexpr std::size_t kMostHeld = std::size_t{1} << 20;
  static constexpr std::size_t kMostThreads = 65'535;
  static constexpr std::size_t kLongestThread = 256;

  // All outlive it.
  Accesses(const ReadOptions& options, const Structures& structures, ReadCounts& counts, Consumer& consumer);

  // The number of a thread of a process, or of a process. Errors: kLimit.
  Result<std::uint32_t> thread(std::string_view name, std::uint32_t space, std::string_view program);
  Result<std::uint32_t> space(std::string_view id);

  // Before the first take(), of a trace that can be read twice: all accesses once, and then that this was
  // all. Their leaves are there from the begin of the trace; others from the slice in which they are accessed
  // first. Errors: kLimit, those of the consumer.
  Status survey(const Access& a) {
    if (!counts_.begin) counts_.begin = TimeNs(a.time_ns);
    const std::uint32_t page = pages_.page_of(a.address, a.space);
    const std::uint32_t structure = pages_.structure_of(page, a.address);
    if (pages_.find(page, a.thread, structure) != kNobody) return {};
    const auto added = pages_.add(page, a.thread, structure);
    return added ? Status() : tl::unexpected(added.error());
  }
  Status end_survey();

  // Times do not decrease. Errors: kLimit, those of the consumer; none of them is the line's fault.
  Status take(const Access& a) {
    if (a.time_ns >= window_end_)
      if (Status ok = next_window(a.time_ns); !ok) return ok;
    if (held_.size() >= kMostHeld)
      if (Status ok = make_room(a); !ok) return ok;
    const std::uint32_t page = pages_.page_of(a.address, a.space);
    const std::uint32_t structure = pages_.structure_of(page, a.address);
    std::uint32_t leaf = pages_.find(page, a.thread, structure);
    if (leaf == kNobody) {
      const auto added = add_leaf(page, a.thread, structure);
      if (!added) return tl::unexpected(added.error());
      leaf = *added;
    }
    share(pages_[page], a.thread);
    Part& part = parts_[leaf];
    if (part.accesses == 0) touched_.push_back(leaf);
    ++counts_.states;
    last_time_ = a.time_ns;
    return sums_ ? sum(part, a) : hold(part, leaf, a);
  }
  // No more accesses come: what is held, the ends of all leaves, and what they are called.
  Status finish();

 private:
  // Of a leaf in the slice that is open.
  struct Sum {
    std::uint32_t visits = 0;
    std::int64_t time = 0, longest = 0;
  };
  struct Visit {
    std::int64_t time = 0;
    Kind kind = Kind::kRead;
  };
  struct Part {
    std::uint32_t accesses = 0;
    bool exists = false;
    std::int32_t cpu = -1;      // told last
    std::uint32_t records = 0;  // that hold() will make
    std::size_t place = 0;      // in places_, meanwhile
    Visit first, last;
    std::int64_t first_end = 0;
    std::array<Sum, kKinds> middle{};  // between the first and the last
    std::int64_t outside = 0, longest_outside = 0;
  };
  struct Held {
    std::int64_t time;
    std::uint32_t leaf;
    Kind kind;
    bool has_cpu;
    std::int32_t cpu;
    double latency;
  };

  void share(Pages::Page& page, std::uint32_t thread) const {
    if (page.sharing_of != window_) {
      page.sharing_of = window_;
      page.thread = thread;
      page.shared = false;
    } else if (page.thread != thread) {
      page.shared = true;
    }
  }
  // The end of a visit that no other has followed before `next`.
  static std::int64_t end_of(const Visit& v, std::int64_t next) {
    return next - v.time < kTick.value ? next : v.time + kTick.value;
  }
  Status sum(Part& part, const Access& a);
  Status make_room(const Access& a);
  Status hold(Part& part, std::uint32_t leaf, const Access& a);
  Result<std::uint32_t> add_leaf(std::uint32_t page, std::uint32_t thread, std::uint32_t structure);
  Status next_window(std::int64_t time);
  Status close_window();
  Status tell_sums();
  Status tell_held();
  Status tell_leaf(std::uint32_t leaf, const model::Attributes& attributes);
  Status begin_records(std::uint32_t leaf, Part& part);
  void add_record(std::uint8_t kind, std::int64_t time, std::uint16_t name);
  Status give(std::uint32_t leaf);
  // The name of a state, or of a variable, told when it is first wanted.
  enum Variable : std::size_t { kLatency, kCpu, kVariables };
  Result<std::uint16_t> state(Kind kind, std::uint32_t leaf);
  Result<std::uint16_t> variable(Variable v);
  Result<std::uint16_t> name(std::optional<std::uint16_t>& known, const Name& name);

  const bool sums_;
  const DurationNs slice_;
  ReadCounts& counts_;
  Consumer& consumer_;
  Pages pages_;
  std::vector<Part> parts_;
  bool began_ = false;
  std::size_t surveyed_ = 0;  // leaves
  std::vector<std::uint32_t> touched_;
  std::vector<Held> held_;
  std::vector<EventRecord> records_;
  std::vector<std::size_t> places_;  // of each leaf that was touched, in records_
  std::uint64_t window_ = 0;         // a count
  std::int64_t window_begin_ = 0, window_end_;
  std::int64_t last_time_ = 0;
  paje::NameMap thread_numbers_, shown_threads_, space_numbers_;
  Names names_;
  std::uint16_t next_name_ = 0;
  std::optional<std::uint16_t> none_;
  std::optional<std::uint16_t> states_[kKinds][3];  // of nobody in particular, private, shared
  std::optional<std::uint16_t> variables_[kVariables];
};

}  // namespace margay::trace::memory
