#include "compare/comparison.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <utility>

#include "margay/base/text.h"
#include "margay/compare/align.h"
#include "margay/compare/archived_run.h"
#include "margay/model/natural_order.h"
#include "margay/model/shared_value.h"
#include "margay/query/run_views.h"
#include "margay/text/text.h"

namespace margay::daemon {
namespace {

using compare::ArchivedRun;

constexpr std::size_t kMostNamed = 4;    // resources in a line
constexpr double kMostMissing = 0.1;     // of the resources, that the other run does not have
constexpr double kUnknownToTell = 0.01;  // of all time
constexpr std::size_t kLeastSlices = 8;  // phases shorter in all runs are part of the run alone

// What a resource is called in both runs.
using Key = std::string (*)(const model::Attributes&, const std::string& path);

std::string by_path(const model::Attributes&, const std::string& path) {
  return path;
}
// Other nodes, the same ranks.
std::string by_rank(const model::Attributes& a, const std::string&) {
  const auto rank = a.find("rank"), thread = a.find("thread");
  if (rank == a.end()) return "";
  return rank->second + "/" + (thread == a.end() ? "" : thread->second);
}

// Of each run, where its leaves go; empty where too few are in all of them.
struct Matched {
  std::vector<std::vector<std::int32_t>> leaf_to;
  std::vector<std::size_t> common;  // leaves of the first run
};
Matched match_by(const std::vector<ArchivedRun>& runs, Key key) {
  std::vector<std::map<std::string, std::size_t>> known;
  for (const ArchivedRun& run : runs) {
    auto& keys = known.emplace_back();
    const model::Hierarchy usual(run.leaves());
    for (std::size_t l = 0; l < run.leaves().size(); ++l) {
      std::string k = key(run.leaves()[l], usual.path_of(LeafIndex(static_cast<std::uint32_t>(l))));
      // A key of two says of neither which it is.
      if (k.empty() || !keys.emplace(std::move(k), l).second) return {};
    }
  }
  Matched out;
  for (const ArchivedRun& run : runs) out.leaf_to.emplace_back(run.leaves().size(), -1);
  for (const auto& [name, leaf] : known.front()) {
    if (!std::all_of(known.begin(), known.end(), [&, n = &name](const auto& k) { return k.contains(*n); }))
      continue;
    out.common.push_back(leaf);
  }
  std::vector<std::string> names(runs.front().leaves().size());
  for (const auto& [name, leaf] : known.front()) names[leaf] = name;
  std::sort(out.common.begin(), out.common.end(),
            [&](std::size_t a, std::size_t b) { return model::natural_less(names[a], names[b]); });
  for (std::size_t i = 0; i < out.common.size(); ++i)
    for (std::size_t r = 0; r < runs.size(); ++r)
      out.leaf_to[r][known[r].at(names[out.common[i]])] = static_cast<std::int32_t>(i);
  for (const ArchivedRun& run : runs) {
    const auto all = static_cast<double>(run.leaves().size());
    if (static_cast<double>(out.common.size()) < (1 - kMostMissing) * all) return {};
  }
  return out;
}

class Comparing {
 public:
  explicit Comparing(const CompareRequest& request) : request_(request) {}

  Result<ComparedRuns> operator()(const std::function<void(double share)>& progress) {
    if (request_.runs.size() < 2)
      return fail(ErrorCode::kInvalidArgument, "give two archives, or a baseline of several and one more");
    auto view = view_of(request_.view);
    if (!view) return tl::unexpected(view.error());
    view_ = std::move(*view);
    bool all = true;
    for (const std::string& words : request_.runs) {
      auto run = ArchivedRun::open(words);
      if (!run) return tl::unexpected(run.error());
      if (run->leaves().empty()) return fail(ErrorCode::kNotFound, words + ": it has no resources");
      all = all && run->is_all();
      runs_.push_back(std::move(*run));
    }
    if (Status s = check_view(runs_.front().leaves(), view_); !s) return fail(s.error(), "--view");
    out_.per = request_.per == "run"      ? compare::Per::kRun
               : request_.per == "second" ? compare::Per::kSecond
               : all                      ? compare::Per::kRun
                                          : compare::Per::kSecond;
    out_.same_work = all;
    for (const ArchivedRun& run : runs_)
      out_.same_work = out_.same_work && compare::same_work(runs_.front().calls(), run.calls());
    match_resources();
    unite_states();
    align();
    if (Status s = compare_blocks(progress); !s) return tl::unexpected(s.error());
    return std::move(out_);
  }

 private:
  void note(std::string sentence) { out_.notes.push_back(std::move(sentence)); }

  void match_resources() {
    Matched matched = match_by(runs_, by_path);
    if (matched.common.empty()) matched = match_by(runs_, by_rank);
    if (matched.common.empty()) {
      for (const ArchivedRun& run : runs_) leaf_to_.emplace_back(run.leaves().size(), 0);
      out_.leaves.push_back({{"path1", "all"}});
      out_.resources.emplace_back("/all");
      note("the runs have other resources: only their means are compared");
      return;
    }
    leaf_to_ = std::move(matched.leaf_to);
    const model::Hierarchy usual(runs_.front().leaves());
    for (const std::size_t leaf : matched.common) {
      out_.leaves.push_back(runs_.front().leaves()[leaf]);
      out_.resources.push_back(usual.path_of(LeafIndex(static_cast<std::uint32_t>(leaf))));
    }
    for (const ArchivedRun& run : runs_)
      if (const std::size_t left = run.leaves().size() - matched.common.size(); left > 0)
        note(run.name() + ": " + grouped(left) + " of " + grouped(run.leaves().size()) +
             " resources are not in all of the runs and are left out");
  }

  void unite_states() {
    for (const ArchivedRun& run : runs_) {
      auto& to = state_to_.emplace_back();
      for (std::size_t x = 0; x < run.states().size(); ++x) {
        if (x == kAbsent.value || x == kUnknown.value) {
          to.push_back(-1);
          continue;
        }
        const std::string& name = run.states()[x].name;
        const auto at = std::find(out_.states.begin(), out_.states.end(), name);
        to.push_back(static_cast<std::int32_t>(at - out_.states.begin()));
        if (at == out_.states.end()) out_.states.push_back(name);
      }
    }
    // As a state, though it is what they were in meanwhile.
    out_.options.waiting = static_cast<std::int32_t>(out_.states.size());
    out_.states.emplace_back("waiting for a CPU");
  }

  // Shares of the run's own states as those of the comparison.
  std::vector<compare::PhaseOfRun> united(std::size_t run) const {
    std::vector<compare::PhaseOfRun> out = runs_[run].phases();
    for (compare::PhaseOfRun& p : out) {
      std::vector<double> shares(out_.states.size());
      for (std::size_t x = 0; x < p.shares.size(); ++x)
        if (state_to_[run][x] >= 0) shares[static_cast<std::size_t>(state_to_[run][x])] += p.shares[x];
      p.shares = std::move(shares);
    }
    return out;
  }

  void align() {
    std::vector<compare::PhaseOfRun> known;
    if (request_.by == "phase") known = united(0);
    for (std::size_t r = 0; r < runs_.size(); ++r) {
      std::vector<std::uint32_t> phase_of;
      if (request_.by != "phase") {
        phase_of.assign(runs_[r].slices().size(), compare::kNoPhase);
      } else if (r > 0 && out_.same_work) {
        phase_of = compare::by_work(runs_.front().slices(), runs_[r].slices());
      } else {
        std::vector<std::uint32_t> own(runs_[r].phases().size());
        for (std::uint32_t i = 0; i < own.size(); ++i) own[i] = i;
        if (r > 0) own = compare::by_likeness(known, united(r));
        for (const compare::SliceOf& s : runs_[r].slices())
          phase_of.push_back(s.phase == compare::kNoPhase ? compare::kNoPhase : own[s.phase]);
      }
      for (std::uint32_t& p : phase_of)
        if (p != compare::kNoPhase) ++p;  // the first is all of the run
      phase_of_.push_back(std::move(phase_of));
    }
    leave_out_short(known);
  }

  // Phases that are short in all runs say nothing by themselves.
  void leave_out_short(const std::vector<compare::PhaseOfRun>& known) {
    const std::size_t phases = known.size() + 1;
    std::vector<std::vector<std::size_t>> slices;
    for (const auto& of : phase_of_) slices.push_back(ArchivedRun::slices_of(of, phases));
    std::vector<std::uint32_t> to(phases, compare::kNoPhase);
    for (std::size_t p = 0; p < phases; ++p) {
      std::size_t most = 0, least = ~std::size_t{0};
      for (const auto& of : slices) most = std::max(most, of[p]), least = std::min(least, of[p]);
      if (p > 0 && most < kLeastSlices) continue;
      to[p] = static_cast<std::uint32_t>(out_.phases.size());
      const bool labelled = p > 0 && !known[p - 1].label.empty();
      out_.phases.push_back(p == 0 ? "run" : labelled ? known[p - 1].label : known[p - 1].name);
      blocks_.push_back(compare::blocks_for(least));
    }
    for (auto& of : phase_of_)
      for (std::uint32_t& p : of)
        if (p != compare::kNoPhase) p = to[p];
  }

  Status compare_blocks(const std::function<void(double share)>& progress) {
    std::vector<compare::RunInBlocks> blocks;
    for (std::size_t r = 0; r < runs_.size(); ++r) {
      ArchivedRun::Place place{phase_of_[r],         blocks_,
                               state_to_[r],         leaf_to_[r],
                               out_.options.waiting, out_.states.size(),
                               out_.leaves.size(),   runs_.size()};
      auto in_blocks = runs_[r].in_blocks(place, [&](double share) {
        if (progress) progress((static_cast<double>(r) + share) / static_cast<double>(runs_.size()));
      });
      if (!in_blocks) return tl::unexpected(in_blocks.error());
      ComparedRuns::OfRun of{runs_[r].name(),
                             runs_[r].seconds(),
                             runs_[r].calls(),
                             in_blocks->unknown,
                             runs_[r].leaves().size(),
                             runs_[r].is_live(),
                             {}};
      for (const compare::PhaseInBlocks& p : in_blocks->phases) of.phase_seconds.push_back(p.seconds);
      if (of.live) note(of.name + ": is being written; this is what it holds now");
      if (of.unknown > kUnknownToTell) {
        char text[96];
        std::snprintf(text, sizeof text, ": %.1f %% of the time is Unknown and is left out",
                      100 * of.unknown);
        note(of.name + text);
      }
      out_.runs.push_back(std::move(of));
      blocks.push_back(std::move(*in_blocks));
    }
    const model::Hierarchy hierarchy(out_.leaves, view_);
    out_.options.per = out_.per;
    out_.options.same_work = out_.same_work;
    out_.changes = compare::changes(std::span(blocks).first(blocks.size() - 1), blocks.back(),
                                    out_.states.size(), hierarchy, out_.options);
    return {};
  }

  const CompareRequest& request_;
  ComparedRuns out_;
  model::View view_;
  std::vector<ArchivedRun> runs_;
  std::vector<std::vector<std::int32_t>> leaf_to_, state_to_;
  std::vector<std::vector<std::uint32_t>> phase_of_;
  std::vector<std::size_t> blocks_;
};

}  // namespace

std::string ComparedRuns::where(const std::vector<std::uint32_t>& of) const {
  if (of.empty()) return "";
  std::vector<LeafIndex> some;
  some.reserve(of.size());
  for (const std::uint32_t r : of) some.emplace_back(r);
  const auto shared = model::shared_by(leaves, some);
  if (shared && shared->of == of.size() && of.size() > 1)
    return "all " + grouped(of.size()) + " of " + shared->value;
  std::string out;
  for (std::size_t i = 0; i < of.size() && i < kMostNamed; ++i) {
    const std::string& path = resources[of[i]];
    out += (out.empty() ? "" : ", ") + text::printable(path.substr(path.rfind('/') + 1));
  }
  return of.size() > kMostNamed ? grouped(of.size()) + " resources: " + out + " ..." : out;
}

Result<ComparedRuns> compare_runs(const CompareRequest& request,
                                  const std::function<void(double share)>& progress) {
  return Comparing(request)(progress);
}

}  // namespace margay::daemon
