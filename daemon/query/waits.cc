#include "margay/query/waits.h"

#include <algorithm>
#include <map>
#include <optional>

#include "margay/trace/raw_block.h"
#include "view_tree.h"

namespace margay::daemon {
namespace {

constexpr std::uint32_t kWorld = 0;  // its number in Open MPI

bool is_waiting(const model::StateInfo& state) {
  return state.family == model::StateFamily::kPointToPoint ||
         state.family == model::StateFamily::kCollective || state.family == model::StateFamily::kWait;
}

std::string attribute_of(const model::Attributes& a, const char* name) {
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

// A rank's first thread, of the job that it belongs to.
using Ranks = std::map<std::pair<std::string, std::string>, std::string>;

bool is_at_or_below(const std::string& path, const std::vector<std::string>& nodes) {
  return std::any_of(nodes.begin(), nodes.end(),
                     [&](const std::string& node) { return model::at_or_below(path, node); });
}

// Most first; what is beyond kMostPartners has a partner that is not listed.
void put_partners(const std::map<std::string, std::int64_t>& by_resource, Waits& out) {
  const auto waited = static_cast<double>(out.waited.value);
  std::int64_t known = 0;
  for (const auto& [resource, ns] : by_resource) {
    out.partners.push_back({resource, DurationNs(ns), static_cast<double>(ns) / waited});
    known += ns;
  }
  std::stable_sort(out.partners.begin(), out.partners.end(),
                   [](const WaitedFor& x, const WaitedFor& y) { return x.time > y.time; });
  if (out.partners.size() > WaitsQuery::kMostPartners) out.partners.resize(WaitsQuery::kMostPartners);
  out.unknown = 1 - static_cast<double>(known) / waited;
}

}  // namespace

Result<Waits> read_waits(const store::Archive& archive, const store::Resume& resume,
                         const WaitsQuery& query) {
  Waits out;
  const std::vector<model::Attributes> attributes = attributes_of(resume);
  const model::Hierarchy hierarchy(attributes);
  Ranks ranks;
  for (std::uint32_t l = 0; l < attributes.size(); ++l)
    ranks.emplace(
        std::pair(attribute_of(attributes[l], "pmix_namespace"), attribute_of(attributes[l], "rank")),
        hierarchy.path_of(LeafIndex(l)));

  const TimeNs to = std::min(query.to, query.from + WaitsQuery::kLongest);
  const trace::RawNames names(resume);
  std::map<std::string, std::int64_t> by_resource;
  std::vector<EventRecord> records;
  std::size_t looked_at = 0;
  for (std::uint32_t l = 0; l < attributes.size() && looked_at < WaitsQuery::kMostWaiting; ++l) {
    const std::string& path = hierarchy.path_of(LeafIndex(l));
    if (!is_at_or_below(path, query.nodes) || is_at_or_below(path, query.except)) continue;
    ++looked_at;
    Calls calls(query.from, to);
    Status inside;
    const auto take = [&](store::RawBlock&& block) {
      if (query.go_on && !query.go_on()) inside = fail(ErrorCode::kTimeout, "the reading was ended");
      if (!inside) return false;
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
    };
    const Status read = archive.read_raw(LeafIndex(l), query.from - WaitsQuery::kBefore, to, take);
    if (!inside) return tl::unexpected(inside.error());
    if (!read) return tl::unexpected(read.error());
    calls.finish();
    if (calls.waited() == 0) continue;
    ++out.leaves;
    out.waited = out.waited + DurationNs(calls.waited());
    for (const auto& [rank, ns] : calls.by_rank()) {
      const auto who = ranks.find({attribute_of(attributes[l], "pmix_namespace"), std::to_string(rank)});
      if (who != ranks.end()) by_resource[who->second] += ns;
    }
  }
  if (out.waited > DurationNs(0)) put_partners(by_resource, out);
  return out;
}

}  // namespace margay::daemon
