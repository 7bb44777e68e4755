#include "memory_accesses.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "margay/base/text.h"

namespace margay::trace::memory {
namespace {

constexpr const char* kKindNames[kKinds] = {"Fetch", "Read", "Write", "Modify"};
constexpr std::size_t kAnybody = 0, kPrivate = 1, kShared = 2;
constexpr const char* kWhose[] = {"", "Private", "Shared"};
constexpr std::uint32_t kMostAccesses = std::numeric_limits<std::uint32_t>::max() - 1;

}  // namespace

Accesses::Accesses(const ReadOptions& options, const Structures& structures, ReadCounts& counts,
                   Consumer& consumer)
    : sums_(options.sums),
      slice_(options.slice),
      counts_(counts),
      consumer_(consumer),
      pages_(options.page, structures),
      window_end_(std::numeric_limits<std::int64_t>::min()) {}

Result<std::uint32_t> Accesses::thread(std::string_view name, std::uint32_t space, std::string_view program) {
  if (const std::uint32_t known = thread_numbers_.find(name, space); known != paje::kNone) return known;
  if (thread_numbers_.size() >= kMostThreads) return fail(ErrorCode::kLimit, "more than 65,535 threads");
  // Who is shown as another is the same thread: "7" and "tid7", or two names that are no text.
  const Thread thread{clean_utf8(name, kLongestThread), clean_utf8(program, kLongestThread)};
  std::uint32_t number = shown_threads_.find(thread.shown(), space);
  if (number == paje::kNone) {
    number = static_cast<std::uint32_t>(names_.threads.size());
    names_.threads.push_back(thread);
    shown_threads_.put(thread.shown(), space, number);
  }
  thread_numbers_.put(name, space, number);
  return number;
}

Result<std::uint32_t> Accesses::space(std::string_view id) {
  if (const std::uint32_t known = space_numbers_.find(id, 0); known != paje::kNone) return known;
  const std::string text = clean_utf8(id, kLongestThread);
  if (text != id) return space(text);
  const auto number = static_cast<std::uint32_t>(names_.spaces.size());
  if (number >= kMostThreads) return fail(ErrorCode::kLimit, "more than 65,535 processes");
  space_numbers_.put(text, 0, number);
  names_.spaces.push_back(text);
  return number;
}

Result<std::uint32_t> Accesses::add_leaf(std::uint32_t page, std::uint32_t thread, std::uint32_t structure) {
  auto leaf = pages_.add(page, thread, structure);
  if (!leaf) return leaf;
  // What it is called is known in the end; until then, where it is.
  if (Status ok = tell_leaf(*leaf, {{"path1", std::to_string(pages_[page].number)}, {"base", "None"}}); !ok)
    return tl::unexpected(ok.error());
  return leaf;
}

Status Accesses::tell_leaf(std::uint32_t leaf, const model::Attributes& attributes) {
  const auto none = name(none_, {Name::Kind::kState, "None", model::StateFamily::kIdle});
  if (!none) return tl::unexpected(none.error());
  parts_.emplace_back();
  counts_.containers = pages_.size();
  return consumer_.on_leaf(LeafIndex(leaf), {attributes, *none});
}

Status Accesses::end_survey() {
  surveyed_ = pages_.leaves().size();
  if (surveyed_ == 0) return {};
  std::vector<model::Attributes> all(surveyed_);
  const auto keep = [&all](std::uint32_t leaf, const model::Attributes& attributes) -> Status {
    all[leaf] = attributes;
    return {};
  };
  if (Status ok = describe(pages_, names_, keep); !ok) return ok;
  window_begin_ = counts_.begin->value;
  if (Status ok = consumer_.on_covered(*counts_.begin); !ok) return ok;
  for (std::uint32_t leaf = 0; leaf < surveyed_; ++leaf) {
    if (Status ok = tell_leaf(leaf, all[leaf]); !ok) return ok;
    if (Status ok = begin_records(leaf, parts_[leaf]); !ok) return ok;
  }
  return {};
}

Status Accesses::sum(Part& part, const Access& a) {
  if (part.accesses == 0) {
    part.first = {a.time_ns, a.kind};
  } else {
    const std::int64_t end = end_of(part.last, a.time_ns);
    if (part.accesses == 1) {
      part.first_end = end;
    } else {
      Sum& s = part.middle[static_cast<std::size_t>(part.last.kind)];
      const std::int64_t lasted = end - part.last.time;
      ++s.visits;
      s.time += lasted;
      s.longest = std::max(s.longest, lasted);
    }
    const std::int64_t outside = a.time_ns - end;
    part.outside += outside;
    part.longest_outside = std::max(part.longest_outside, outside);
    if (part.accesses >= kMostAccesses)
      return fail(ErrorCode::kLimit,
                  "more than 4,294,967,294 accesses to a page within a slice; expected a shorter --slice");
  }
  part.last = {a.time_ns, a.kind};
  ++part.accesses;
  counts_.variables += (a.latency >= 0 ? 1 : 0) + (a.cpu >= 0 && a.cpu != part.cpu ? 1 : 0);
  if (a.cpu >= 0) part.cpu = a.cpu;
  return {};
}

// Who shares a page is known when the slice is over; where there are no threads nothing has to be waited for.
Status Accesses::make_room(const Access& a) {
  if (a.thread == kNobody) return close_window();
  return fail(ErrorCode::kLimit,
              "more than 1,048,576 accesses lie within a slice; expected a shorter --slice, or --no-raw");
}

Status Accesses::hold(Part& part, std::uint32_t leaf, const Access& a) {
  const bool has_cpu = a.cpu >= 0 && a.cpu != part.cpu;
  if (has_cpu) part.cpu = a.cpu;
  held_.push_back({a.time_ns, leaf, a.kind, has_cpu, a.cpu, a.latency});
  ++part.accesses;
  const std::uint32_t values = (has_cpu ? 1u : 0u) + (a.latency >= 0 ? 1u : 0u);
  part.records += 2 + values;
  counts_.variables += values;
  return {};
}

Status Accesses::next_window(std::int64_t time) {
  if (!began_) {
    began_ = true;
    counts_.begin = TimeNs(time);
    window_begin_ = time;
  } else {
    if (Status ok = close_window(); !ok) return ok;
    window_begin_ = slice_begin(slice_of(TimeNs(time), slice_), slice_).value;
  }
  // The consumer may refuse the time: it lies too far ahead.
  if (Status ok = consumer_.on_covered(TimeNs(window_begin_)); !ok) return ok;
  window_end_ = slice_end(slice_of(TimeNs(time), slice_), slice_).value;
  ++window_;
  return {};
}

Status Accesses::close_window() {
  if (touched_.empty()) return {};
  Status ok = sums_ ? tell_sums() : tell_held();
  touched_.clear();
  held_.clear();
  return ok;
}

void Accesses::add_record(std::uint8_t kind, std::int64_t time, std::uint16_t name) {
  EventRecord& r = records_.emplace_back();
  r = {time, 0, MARGAY_NO_PEER, MARGAY_NO_TAG, 0, name, kind, 0};
}

Status Accesses::give(std::uint32_t leaf) {
  counts_.records += records_.size();
  return consumer_.on_records(LeafIndex(leaf), records_);
}

// A leaf is there from the begin of the slice in which it is accessed first.
Status Accesses::begin_records(std::uint32_t leaf, Part& part) {
  if (part.exists) return {};
  part.exists = true;
  records_.clear();
  add_record(MARGAY_BEGIN, window_begin_, 0);
  return give(leaf);
}

// The first and the last visit of each leaf stand for themselves, so that what lies around them reaches over
// slices as it does without sums.
Status Accesses::tell_sums() {
  for (const std::uint32_t leaf : touched_) {
    Part& part = parts_[leaf];
    if (Status ok = begin_records(leaf, part); !ok) return ok;
    const bool one = part.accesses == 1;
    const auto first = state(part.first.kind, leaf), last = state(part.last.kind, leaf);
    if (!first || !last) return tl::unexpected((first ? last : first).error());
    records_.clear();
    const std::int64_t end = end_of(part.last, window_end_);
    add_record(MARGAY_ENTER, part.first.time, *first);
    add_record(MARGAY_LEAVE, one ? end : part.first_end, *first);
    std::int64_t at = part.first_end;
    const auto add_sum = [&](std::uint16_t name, const Sum& s) {
      at += s.time;
      add_record(MARGAY_SUM, at, name);
      records_.back().comm = s.visits;
      records_.back().bytes = static_cast<std::uint64_t>(s.longest);
    };
    for (std::size_t k = 0; k < kKinds; ++k) {
      if (part.middle[k].visits == 0) continue;
      const auto name = state(static_cast<Kind>(k), leaf);
      if (!name) return tl::unexpected(name.error());
      add_sum(*name, part.middle[k]);
    }
    if (part.accesses > 2) add_sum(*none_, {part.accesses - 2, part.outside, part.longest_outside});
    if (!one) {
      add_record(MARGAY_ENTER, part.last.time, *last);
      add_record(MARGAY_LEAVE, end, *last);
    }
    const Part fresh;
    part.accesses = 0;
    part.middle = fresh.middle;
    part.outside = part.longest_outside = 0;
    counts_.end = std::max(counts_.end, TimeNs(end));
    if (Status ok = give(leaf); !ok) return ok;
  }
  return {};
}

// The visits, sorted by leaf: one pass over what was held, for how many records each makes is known.
Status Accesses::tell_held() {
  std::size_t total = 0;
  places_.clear();
  for (const std::uint32_t leaf : touched_) {
    Part& part = parts_[leaf];
    if (Status ok = begin_records(leaf, part); !ok) return ok;
    places_.push_back(total);
    part.place = places_.size() - 1;
    total += part.records;
  }
  std::vector<std::size_t> begins = places_;
  begins.push_back(total);
  std::vector<EventRecord> all(total);
  for (const Held& h : held_) {
    Part& part = parts_[h.leaf];
    std::size_t& at = places_[part.place];
    const auto put = [&](std::uint8_t kind, std::int64_t time, std::uint16_t name, std::uint64_t bytes) {
      all[at++] = {time, bytes, MARGAY_NO_PEER, MARGAY_NO_TAG, 0, name, kind, 0};
    };
    const auto name = state(h.kind, h.leaf);
    if (!name) return tl::unexpected(name.error());
    // A visit that goes on ends here.
    if (at > begins[part.place]) all[at - 1].time_ns = std::min(all[at - 1].time_ns, h.time);
    put(MARGAY_ENTER, h.time, *name, 0);
    if (h.has_cpu) {
      const auto v = variable(kCpu);
      if (!v) return tl::unexpected(v.error());
      put(MARGAY_VARIABLE, h.time, *v, std::bit_cast<std::uint64_t>(static_cast<double>(h.cpu)));
    }
    if (h.latency >= 0) {
      const auto v = variable(kLatency);
      if (!v) return tl::unexpected(v.error());
      put(MARGAY_VARIABLE, h.time, *v, std::bit_cast<std::uint64_t>(h.latency));
    }
    put(MARGAY_LEAVE, end_of({h.time, h.kind}, window_end_), *name, 0);
  }
  for (std::size_t i = 0; i < touched_.size(); ++i) {
    const std::span<const EventRecord> records(all.data() + begins[i], all.data() + begins[i + 1]);
    Part& part = parts_[touched_[i]];
    part.accesses = part.records = 0;
    counts_.records += records.size();
    counts_.end = std::max(counts_.end, TimeNs(records.back().time_ns));
    if (Status ok = consumer_.on_records(LeafIndex(touched_[i]), records); !ok) return ok;
  }
  return {};
}

Status Accesses::finish() {
  if (Status ok = close_window(); !ok) return ok;
  for (std::uint32_t leaf = 0; leaf < parts_.size(); ++leaf) {
    records_.clear();
    add_record(MARGAY_END, counts_.end.value, 0);
    if (Status ok = give(leaf); !ok) return ok;
  }
  if (parts_.size() == surveyed_) return {};
  return describe(pages_, names_, [this](std::uint32_t leaf, const model::Attributes& attributes) {
    return consumer_.on_attributes(LeafIndex(leaf), attributes);
  });
}

Result<std::uint16_t> Accesses::state(Kind kind, std::uint32_t leaf) {
  const Pages::Leaf& l = pages_.leaves()[leaf];
  const std::size_t whose = l.thread == kNobody ? kAnybody : pages_[l.page].shared ? kShared : kPrivate;
  auto& known = states_[static_cast<std::size_t>(kind)][whose];
  if (known) return *known;
  return name(known,
              {Name::Kind::kState, std::string(kWhose[whose]) + kKindNames[static_cast<std::size_t>(kind)]});
}

Result<std::uint16_t> Accesses::variable(Variable v) {
  if (variables_[v]) return *variables_[v];
  return name(variables_[v], {Name::Kind::kVariable, v == kCpu ? "cpu" : "latency"});
}

Result<std::uint16_t> Accesses::name(std::optional<std::uint16_t>& known, const Name& name) {
  if (known) return *known;
  if (Status ok = consumer_.on_name(next_name_, name); !ok) return tl::unexpected(ok.error());
  known = next_name_++;
  return *known;
}

}  // namespace margay::trace::memory
