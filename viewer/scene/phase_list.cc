#include "margay/scene/phase_list.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "durations.h"
#include "margay/base/text.h"

namespace margay::scene {
namespace {

std::string listed_name(const std::string& name) {
  return clean_utf8(std::string_view(name), kLongestName);
}

// Lists the phases of one level.
class LevelLister {
 public:
  LevelLister(const wire::Report& report, std::uint32_t level, const UsualDuration& usual, PhaseList& out)
      : report_(report), level_(level), usual_(usual), out_(out) {}

  void list(const google::protobuf::RepeatedPtrField<wire::PhaseSpan>& spans) {
    const std::size_t stretches = out_.stretches.size(), phases = out_.phases.size();
    for (int i = std::max(0, spans.size() - kMostListedStretches); i < spans.size(); ++i) add(spans[i]);
    std::int64_t all = 0;
    for (std::size_t p = phases; p < out_.phases.size(); ++p)
      all = internal::plus(all, out_.phases[p].total.value);
    for (std::size_t p = phases; p < out_.phases.size(); ++p) {
      ListedPhase& phase = out_.phases[p];
      if (all > 0) phase.share = static_cast<double>(phase.total.value) / static_cast<double>(all);
    }
    for (std::size_t s = stretches; s < out_.stretches.size(); ++s) count(out_.stretches[s]);
    for (const auto& [name, of] : times_)
      if (of.most > of.listed) out_.older += of.most - of.listed;
  }

 private:
  struct Times {
    std::uint32_t most = 0, listed = 0;
  };

  void add(const wire::PhaseSpan& span) {
    ListedStretch s;
    s.level = level_;
    s.name = listed_name(span.name()), s.label = listed_name(span.label());
    s.occurrence = span.occurrence();
    s.time = {TimeNs(span.begin_ns()), TimeNs(std::max(span.begin_ns(), span.end_ns()))};
    s.goes_on = span.current() && !report_.final();
    for (const wire::PhasePart& part : span.made_of())
      if (s.made_of.size() < kMostListedLevels && part.share() > 0 && part.share() <= 1 + kShareSlack)
        s.made_of.emplace_back(listed_name(part.name()), std::min(part.share(), 1.0));
    Times& times = times_[s.name];
    times.most = std::max(times.most, s.occurrence);
    ++times.listed;
    ListedPhase& phase = phase_of(s.name, span.name());
    sum(phase, s);
    out_.stretches.push_back(std::move(s));
  }

  // A phase that has come once is as long as it usually is, which says nothing.
  void count(ListedStretch& s) const {
    s.of = times_.at(s.name).most;
    const std::optional<DurationNs>& usual = out_.phases[index_.at(s.name)].usual;
    if (s.of < 2 || !usual) return;
    const double by = static_cast<double>(s.length().value) / static_cast<double>(usual->value) - 1;
    if (!s.goes_on || by > 0) s.against_usual = by;
  }

  ListedPhase& phase_of(const std::string& name, const std::string& as_it_came) {
    const auto [at, is_new] = index_.try_emplace(name, out_.phases.size());
    if (!is_new) return out_.phases[at->second];
    ListedPhase& phase = out_.phases.emplace_back();
    phase.level = level_;
    phase.name = name;
    const std::optional<std::int64_t> usual = usual_(as_it_came);
    if (usual && *usual > 0) phase.usual = DurationNs(*usual);
    return phase;
  }

  static void sum(ListedPhase& phase, const ListedStretch& s) {
    if (!s.label.empty()) phase.label = s.label;
    ++phase.stretches;
    phase.total = DurationNs(internal::plus(phase.total.value, s.length().value));
    if (s.goes_on) return;
    phase.shortest = phase.shortest ? std::min(*phase.shortest, s.length()) : s.length();
    phase.longest = phase.longest ? std::max(*phase.longest, s.length()) : s.length();
  }

  const wire::Report& report_;
  const std::uint32_t level_;
  const UsualDuration& usual_;
  PhaseList& out_;
  std::map<std::string, std::size_t> index_;  // of the level's phases in out_
  std::map<std::string, Times> times_;
};

}  // namespace

DurationNs ListedStretch::length() const {
  return DurationNs(internal::minus(time.to.value, time.from.value));
}

std::vector<int> levels_that_tell_more(const wire::Report& report) {
  std::vector<int> out;
  for (int l = 0; l < std::min(report.levels_size(), kMostListedLevels); ++l) {
    const auto& phases = report.levels(l).phases();
    if (std::any_of(phases.begin(), phases.end(), [](const wire::PhaseSpan& p) { return !p.told(); }))
      out.push_back(l);
  }
  return out;
}

PhaseList phase_list(const wire::Report& report, const UsualDuration& usual) {
  PhaseList out;
  LevelLister(report, 0, usual, out).list(report.phases());
  for (const int l : levels_that_tell_more(report))
    LevelLister(report, static_cast<std::uint32_t>(l) + 1, usual, out).list(report.levels(l).phases());
  return out;
}

StretchContents contents_of(const ViewData& data) {
  StretchContents out{data.range(), {}, data.notes};
  const Proportions of = proportions(data, std::uint32_t{0}, 0, data.slices());
  for (std::size_t x = 0; x < of.shares.size(); ++x)
    if (of.shares[x] > 0) out.shares.emplace_back(data.states[x], of.shares[x]);
  std::sort(out.shares.begin(), out.shares.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first.name < b.first.name;
  });
  return out;
}

std::vector<StateDifference> difference_of(const StretchContents& first, const StretchContents* second) {
  std::map<std::string, StateDifference> by_name;
  for (const auto& [state, share] : first.shares) {
    StateDifference& row = by_name[state.name];
    row.state = state;
    row.first += share;
  }
  for (const auto& [state, share] :
       second != nullptr ? second->shares : std::vector<std::pair<State, double>>()) {
    StateDifference& row = by_name[state.name];
    row.state = state;
    row.second += share;
  }
  std::vector<StateDifference> out;
  for (auto& [name, row] : by_name) out.push_back(std::move(row));
  // Stable: what is equal stays in the order of names.
  std::stable_sort(out.begin(), out.end(), [&](const StateDifference& a, const StateDifference& b) {
    const double off_a = std::abs(a.more()), off_b = std::abs(b.more());
    if (second != nullptr && off_a != off_b) return off_a > off_b;
    return std::max(a.first, a.second) > std::max(b.first, b.second);
  });
  return out;
}

}  // namespace margay::scene
