#include "waits.h"

#include <algorithm>
#include <map>
#include <optional>

#include "margay/model/hierarchy.h"
#include "margay/trace/raw_block.h"

namespace margay::daemon {
namespace {

constexpr DurationNs kLongest = seconds(60);
// Calls that were entered before the onset: looked for so far back.
constexpr DurationNs kBefore = seconds(10);
constexpr std::uint32_t kWorld = 0;  // its number in Open MPI

bool is_waiting(const model::StateInfo& state) {
  return state.family == model::StateFamily::kPointToPoint ||
         state.family == model::StateFamily::kCollective || state.family == model::StateFamily::kWait;
}

std::string attribute(const model::Attributes& a, const char* name) {
  const auto at = a.find(name);
  return at == a.end() ? std::string() : at->second;
}

// The calls of one leaf, event by event.
class Calls {
 public:
  Calls(TimeNs from, TimeNs to) : from_(from), to_(to) {}

  void take(const EventRecord& r, bool waits) {
    const TimeNs t(r.time_ns);
    if (r.kind == MARGAY_GAP || r.kind == MARGAY_SUM_OPEN) open_.clear();
    if (r.kind == MARGAY_SUM) {
      // Many calls; of the longest it is known who the partner was.
      const TimeNs since = last_ == TimeNs() ? t : last_;
      last_ = t;
      count({since, r.peer < 0 ? std::nullopt : std::optional(r.peer), waits}, t, std::nullopt);
      return;
    }
    last_ = t;
    if (r.kind == MARGAY_ENTER || r.kind == MARGAY_STACK || r.kind == MARGAY_SUM_OPEN ||
        r.kind == MARGAY_SUM_INSIDE) {
      if (open_.size() < kDeepest) open_.push_back({t, partner(r), waits});
    } else if (r.kind == MARGAY_LEAVE && !open_.empty()) {
      const Call call = open_.back();
      open_.pop_back();
      if (open_.empty()) count(call, t, partner(r));
    }
  }
  // What is open still.
  void finish() {
    if (!open_.empty()) count(open_.front(), to_, std::nullopt);
    open_.clear();
  }
  const std::map<std::int32_t, std::int64_t>& by_rank() const { return by_rank_; }
  std::int64_t waited() const { return waited_; }

 private:
  static constexpr std::size_t kDeepest = 64;
  struct Call {
    TimeNs since;
    std::optional<std::int32_t> partner;
    bool waits;
  };
  static std::optional<std::int32_t> partner(const EventRecord& r) {
    if (r.peer < 0 || r.comm != kWorld) return std::nullopt;
    return r.peer;
  }
  void count(const Call& call, TimeNs until, std::optional<std::int32_t> completed) {
    const std::int64_t ns = (std::min(until, to_) - std::max(call.since, from_)).value;
    if (!call.waits || ns <= 0) return;
    waited_ += ns;
    if (const auto p = completed ? completed : call.partner) by_rank_[*p] += ns;
  }
  TimeNs from_, to_;
  TimeNs last_{};
  std::vector<Call> open_;
  std::map<std::int32_t, std::int64_t> by_rank_;
  std::int64_t waited_ = 0;
};

}  // namespace

Result<Waits> read_waits(const store::Archive& archive, const store::Resume& resume, const alert::Alert& a) {
  Waits out;
  if (a.kind != alert::Kind::kPerturbation && a.kind != alert::Kind::kStall) return out;
  std::vector<model::Attributes> attributes;
  for (const store::LeafRecord& l : resume.leaves) attributes.push_back(l.attributes);
  const model::Hierarchy hierarchy(attributes, model::Hierarchy::default_view());
  // A rank's first thread, of the job that the waiting leaf belongs to.
  std::map<std::pair<std::string, std::string>, std::string> ranks;
  for (std::uint32_t l = 0; l < attributes.size(); ++l)
    ranks.emplace(std::pair(attribute(attributes[l], "pmix_namespace"), attribute(attributes[l], "rank")),
                  hierarchy.path_of(LeafIndex(l)));

  const TimeNs to = std::min(a.end.value_or(a.onset + kLongest), a.onset + kLongest);
  const trace::RawNames names(resume);
  std::map<std::string, std::int64_t> by_resource;
  std::int64_t waited = 0, told = 0;
  std::vector<EventRecord> records;
  std::size_t looked_at = 0;
  for (std::uint32_t l = 0; l < attributes.size() && looked_at < kMostWaiting; ++l) {
    const std::string& path = hierarchy.path_of(LeafIndex(l));
    const auto holds = [&](const std::string& node) { return model::at_or_below(path, node); };
    if (std::none_of(a.affected.begin(), a.affected.end(), holds) ||
        std::find(a.likely_cause.begin(), a.likely_cause.end(), path) != a.likely_cause.end())
      continue;
    ++looked_at;
    Calls calls(a.onset, to);
    Status inside;
    const Status read = archive.read_raw(LeafIndex(l), a.onset - kBefore, to, [&](store::RawBlock&& block) {
      std::uint64_t rejected = 0;
      inside = trace::decode_block(archive.path(), block, records, rejected);
      if (!inside) return false;
      const auto of_block = names.of(block);
      for (const EventRecord& r : records) {
        if (r.time_ns >= to.value) break;
        const auto state = of_block.state(r.state);
        calls.take(r, state && state->value < resume.states.size() && is_waiting(resume.states[*state]));
      }
      return true;
    });
    if (!inside) return tl::unexpected(inside.error());
    if (!read) return tl::unexpected(read.error());
    calls.finish();
    if (calls.waited() == 0) continue;
    ++out.leaves;
    waited += calls.waited();
    for (const auto& [rank, ns] : calls.by_rank()) {
      const auto who = ranks.find({attribute(attributes[l], "pmix_namespace"), std::to_string(rank)});
      if (who == ranks.end()) continue;
      by_resource[who->second] += ns;
      told += ns;
    }
  }
  if (waited == 0) return out;
  out.waited = DurationNs(waited);
  for (const auto& [resource, ns] : by_resource)
    out.partners.push_back({resource, DurationNs(ns), static_cast<double>(ns) / static_cast<double>(waited)});
  std::stable_sort(out.partners.begin(), out.partners.end(),
                   [](const WaitedFor& x, const WaitedFor& y) { return x.time > y.time; });
  if (out.partners.size() > kMostPartners) out.partners.resize(kMostPartners);
  out.untold = 1 - static_cast<double>(told) / static_cast<double>(waited);
  return out;
}

}  // namespace margay::daemon
