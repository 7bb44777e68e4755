// The open episode: who is blamed, and how long it goes on.
#include <algorithm>
#include <cmath>

#include "departures.h"

namespace margay::detect {
namespace {

constexpr std::size_t kMeasures = Contrast::kMeasures;
constexpr float kBelongs = 0.5f;  // of the strongest's way, to be blamed with it
// Beyond so many deviations more of them say nothing more. Who works longer is the cause if this is as
// strong as the waiting of others, or nearly.
constexpr float kMostDeviations = 30, kWorkBefore = 0.3f;
// A leaf that has been in a state for so many slices since the onset could show that it takes longer; a node
// is told by two leaves that are blamed, and one in so many that could show it.
constexpr float kCouldShow = 0.5f;
constexpr std::uint32_t kFewestOfNode = 2, kFewOfNode = 4;
constexpr float kTaken = 0.1f;  // share of the time that the machine takes, to be a cause
// Who keeps storage busy takes CPU time from others, too: so many times as much.
constexpr float kStorageFirst = 2;
constexpr double kExplains = 0.5;        // of what is lost, by those who are blamed
constexpr int kRounds = 4;               // until who goes with whom is settled
constexpr std::size_t kLeastSample = 4;  // leaves of which it can be said that nearly all do
constexpr std::size_t kMany = 4;         // one in so many leaves
constexpr float kGoesOn = 0.3f;          // of its usual strength, to go on
// One that has lasted is over when it has gone back so much of its way, or was not there for so many slices.
constexpr float kComesBack = 0.5f;
constexpr float kReturns = 0.25f;  // of its way, not to be told as a departure from what it does by now
constexpr std::uint32_t kGone = 8;
constexpr std::uint32_t kLearners =
    32;  // slices until what is usual of a leaf that has become another is known

}  // namespace

Departures::Begun Departures::begin(const Window& window, const std::vector<Alarm>& alarmed) {
  const auto strongest = std::max_element(alarmed.begin(), alarmed.end(),
                                          [](const Alarm& a, const Alarm& b) { return a.times < b.times; });
  const auto slices = static_cast<std::uint32_t>(std::min<std::uint64_t>(
      std::max(strongest->slices, alarms_in_a_row_), std::min<std::uint64_t>(kLong, run_ + 1)));
  episode_.emplace();
  episode_->number = 2 * ++episodes_;  // those of long visits are odd
  episode_->onset = window.last() + 1 - slices;
  back_ = 0;
  everybody_ = false;
  since_slices_ = slices;
  since_ = Grid();
  since_.reach(leaves_, kMeasures * columns_);
  for (std::size_t l = 0; l < leaves_; ++l) add_last(l, slices, since_[l]);
  time_in_ = Grid();
  time_in_.reach(leaves_, columns_);
  take_time();
  blame();
  // Those in a collective wait for somebody else, and many do not work longer at once: in a single slice
  // either may lie in how calls fall into slices.
  const auto in = static_cast<std::size_t>(std::find(state_of_.begin(), state_of_.end(), episode_->state) -
                                           state_of_.begin());
  const bool wait = !episode_->works && in < collective_.size() && collective_[in];
  const bool many = episode_->works && leaves_ >= kLeastSample && episode_->leaves.size() * kMany > leaves_;
  if ((wait || many) && alarms_in_a_row_ < 2) {
    episode_.reset();
    return Begun::kNotYet;
  }
  // Who waits longer waits for somebody who works as much longer, nearly: what many do a little otherwise
  // than usual explains nothing.
  const bool machine =
      std::any_of(alarmed.begin(), alarmed.end(), [](const Alarm& a) { return a.effect <= 0; });
  if (!machine && effect(way_.data(), 1) < kExplains * strongest->effect) {
    episode_.reset();
    return Begun::kNobody;
  }
  // What turns out to come again and again raises the limit.
  pending_.clear();
  for (std::size_t g = 0; g < limits_.size(); ++g)
    if (std::isfinite(limit_now_[g]) && greatest_[g].score > 0 && has(Ingredient::kAlarmLearning))
      limits_[g].add(static_cast<float>(std::min<double>(greatest_[g].score, 1.5 * limit_now_[g])),
                     greatest_[g].told);
  contrast_.forget();
  return Begun::kYes;
}

void Departures::take_time() {
  const Grid& spent = contrast_.spent();
  time_in_.reach(leaves_, columns_);
  for (std::size_t l = 0; l < std::min(leaves_, spent.rows()); ++l)
    for (std::size_t x = 0; x < std::min(columns_, spent.columns()); ++x) time_in_[l][x] += spent[l][x];
}

// The slice belongs to the episode, or is one of those after it.
void Departures::follow(const Window& window) {
  if (back_ == 0) {
    const Grid& now = contrast_.departure();
    since_.reach(leaves_, kMeasures * columns_);
    for (std::size_t l = 0; l < std::min(leaves_, now.rows()); ++l)
      for (std::size_t c = 0; c < kMeasures * columns_; ++c) since_[l][c] += now[l][c];
    since_slices_ += 1;
    take_time();
  }
  bool on = goes_on();
  if (on) {
    blame();
    // In the mean since the onset they still do what is worth telling, nearly.
    on = !everybody_ && effect(way_.data(), 1) >= kExplains * options_.min_effect;
  }
  if (on) {
    back_ = 0;
    if (window.last().value + 1 - episode_->onset.value >= std::int64_t{options_.usual_slices}) last();
    return;
  }
  if (back_++ == 0) episode_->end = window.last();
  if (back_ < options_.back_slices) return;
  episode_->over = true;
  back_ = 0;
}

// Of all leaves, by what they have done since the onset, those that are the cause.
void Departures::blame() {
  const std::size_t leaves = since_.rows(), cells = kMeasures * columns_;
  const auto one = static_cast<float>(1 / since_slices_);
  // Of each leaf, what it does more among what is work, or is not: the most of it, and in usual deviations.
  std::array<std::size_t, 2> strongest_of{};
  std::array<float, 2> most{-1, -1};
  for (std::size_t l = 0; l < leaves; ++l) {
    const float own = n_[l] / (n_[l] + kOwnSlices);
    std::array<float, 2> amount{}, deviations{};
    for (std::size_t c = 0; c < cells; ++c) {
      const float d = since_[l][c] * one;
      if (d <= 0) continue;
      const bool work = works(c % columns_);
      const auto base = static_cast<float>(pooled_[0][0][c]);
      const float least = least_deviation(c);
      const float v = std::max(own * variance_[l][c] + (1 - own) * base, least * least);
      const float lasts = base > 0 ? static_cast<float>(pooled_[0].back()[c]) / base : 1.0f;
      amount[work] = std::max(amount[work], d);
      deviations[work] = std::max(deviations[work], d / std::sqrt(v * std::max(lasts, one)));
    }
    for (const std::size_t work : {0, 1}) {
      const float weight = std::min(deviations[work], kMostDeviations) * amount[work];
      if (weight > most[work]) most[work] = weight, strongest_of[work] = l;
    }
  }
  const bool by_work = most[1] >= (has(Ingredient::kWorkBeforeWaiters) ? kWorkBefore : 1.0f) * most[0];
  // Who goes the way of the strongest goes with it; their mean is the way.
  std::vector<std::uint32_t> members{static_cast<std::uint32_t>(strongest_of[by_work])};
  // From whom the machine takes time is to blame before all others: it explains what they do.
  const auto taken = [&](std::size_t l) {
    return std::max(since_[l][Contrast::kDenied] + since_[l][Contrast::kStopped],
                    kStorageFirst * since_[l][Contrast::kBlocked]) *
           one;
  };
  std::uint32_t robbed = 0;
  for (std::uint32_t l = 1; l < leaves; ++l)
    if (taken(l) > taken(robbed)) robbed = l;
  const bool by_machine = leaves > 0 && taken(robbed) >= kTaken;
  if (by_machine) members = {robbed};
  const auto set_way = [&] {
    way_.assign(cells, 0.0f);
    for (const std::uint32_t l : members)
      for (std::size_t c = 0; c < cells; ++c)
        if (by_machine ? c < Contrast::kMachine : !by_work || works(c % columns_))
          way_[c] += since_[l][c] * one / static_cast<float>(members.size());
    // What becomes less is no way to go, for it says not why.
    for (float& v : way_) v = std::max(v, 0.0f);
  };
  std::vector<float> way_before = way_;
  for (int round = 0; round < kRounds; ++round) {
    set_way();
    float length = 0;
    for (const float v : way_) length += v * v;
    std::vector<std::uint32_t> next;
    for (std::uint32_t l = 0; l < leaves; ++l) {
      float along = 0;
      for (std::size_t c = 0; c < cells; ++c) along += way_[c] * since_[l][c] * one;
      if (along >= kBelongs * length && length > 0) next.push_back(l);
    }
    if (next.empty() || next == members) break;
    members = std::move(next);
  }
  set_way();
  // That nearly all go the same way says that the job does something else now; who it was stands.
  everybody_ = !episode_->leaves.empty() && leaves >= kLeastSample && members.size() * 3 > leaves * 2;
  if (everybody_) {
    way_ = std::move(way_before);
    return;
  }
  episode_->leaves = {members.begin(), members.end()};
  episode_->works = by_work || by_machine;
  std::size_t column = 0;
  float longest = 0;
  for (std::size_t c = 0; c < cells; ++c)
    if (way_[c] > longest) longest = way_[c], column = c % columns_;
  if (by_work && !by_machine) blame_whole_nodes(column);
  episode_->excess =
      way_[(column < Contrast::kMachine ? Contrast::kShare : Contrast::kExcess) * columns_ + column];
  episode_->state = column < state_of_.size() ? state_of_[column] : 0;
}

// Work that comes in visits hurts a leaf only while it is at it: a disk is slow for whoever reads. Where of a
// node's leaves those that could show it do, it is the node's matter, and the others' turn has not come.
void Departures::blame_whole_nodes(std::size_t x) {
  const auto excess = [&](std::uint32_t l) { return since_[l][Contrast::kExcess * columns_ + x]; };
  float all = 0, longer = 0;
  for (const std::uint32_t l : episode_->leaves) all += time_in_[l][x], longer += excess(l);
  if (all <= 0 || longer <= 0) return;
  const float part = longer / all;
  const auto order = topology_->hierarchy.leaf_order();
  const std::size_t before = episode_->leaves.size();
  const Inner* whole = nullptr;
  for (const Inner& i : inner_) {
    std::uint32_t could = 0, do_so = 0, blamed = 0;
    for (std::uint32_t k = 0; k < i.count; ++k) {
      const std::uint32_t l = order[i.first + k].value;
      blamed += episode_->leaves.contains(l);
      if (time_in_[l][x] < kCouldShow) continue;
      could += 1;
      do_so += excess(l) >= kBelongs * part * time_in_[l][x];
    }
    if (blamed < kFewestOfNode || blamed * 3 < before * 2) continue;
    if (could * kFewOfNode < i.count || do_so * 3 < could * 2) continue;
    if (whole == nullptr || i.count < whole->count) whole = &i;
  }
  for (std::uint32_t k = 0; whole != nullptr && k < whole->count; ++k)
    episode_->leaves.insert(order[whole->first + k].value);
}

// Do the blamed go on in their way?
bool Departures::goes_on() const {
  if (everybody_) return false;
  float length = 0;
  for (const float v : way_) length += v * v;
  // In this slice, or in this one and the one before.
  float along = 0;
  for (std::size_t k = 0; k < std::min<std::uint64_t>(2, run_ + 1); ++k) {
    for (const std::uint32_t l : episode_->leaves) {
      const float* const then = ring_[(slices_ + kLong - k) % kLong][l];
      for (std::size_t c = 0; c < way_.size(); ++c) along += way_[c] * then[c];
    }
    const auto cells = static_cast<float>(episode_->leaves.size() * (k + 1));
    if (length > 0 && cells > 0 && along >= kGoesOn * length * cells) return true;
  }
  return false;
}

// The episode has gone on for so long that waiting for its end would be blindness: it is the usual from now
// on, and is learned as the usual is learned in the beginning.
void Departures::last() {
  if (lasting_.size() >= kMostLasting) {
    lasting_.front().over = true;
    lasting_.front().end = episode_->onset;
  }
  lasting_.push_back({*episode_, way_});
  learn_anew(episode_->leaves);
  episode_.reset();
}

void Departures::learn_anew(const std::set<std::uint32_t>& leaves) {
  contrast_.begin_anew();
  learners_.resize(std::max(learners_.size(), leaves_), 0);
  learning_ = kLearners;
  for (const std::uint32_t l : leaves) {
    learners_[l] = kLearners;
    n_[l] = 0;
    std::fill_n(variance_[l], kMeasures * columns_, 0.0f);
  }
}

// Of leaves that have just become others little is known; a node that holds one is no better.
bool Departures::learns_anew(std::size_t item) const {
  const auto learns = [&](std::size_t l) { return l < learners_.size() && learners_[l] > 0; };
  if (item < leaves_) return learns(item);
  const auto order = topology_->hierarchy.leaf_order();
  const Inner& i = inner_[item - leaves_];
  for (std::uint32_t k = 0; k < i.count; ++k)
    if (learns(order[i.first + k].value)) return true;
  return false;
}

// What of these is no more than that a leaf of an episode that lasts goes back: it departs from what has
// become usual of it, and nobody wants to be told.
void Departures::leave_out_returning(std::vector<Alarm>& alarms) const {
  if (returning_.empty()) return;
  const auto order = topology_->hierarchy.leaf_order();
  std::erase_if(alarms, [&](const Alarm& a) {
    if (a.item < leaves_) return returning_.contains(a.item);
    const Inner& i = inner_[a.item - leaves_];
    const auto from = order.begin() + i.first;
    return std::any_of(from, from + i.count, [&](LeafIndex l) { return returning_.contains(l.value); });
  });
}

// Do the leaves of an episode that lasts do as they did before it?
bool Departures::come_back(const Window& window) {
  bool any = false;
  returning_.clear();
  for (Lasting& l : lasting_) {
    if (l.over || contrast_.history() <= 0) continue;
    float length = 0, along = 0, known = 0;
    for (const float v : l.way) length += v * v;
    for (const std::uint32_t leaf : l.leaves) {
      if (leaf >= contrast_.leaves() || !contrast_.known(leaf)) continue;
      known += 1;
      for (std::size_t c = 0; c < l.way.size(); ++c) along += l.way[c] * contrast_.departure()[leaf][c];
    }
    l.gone = known > 0 ? 0 : l.gone + 1;
    // In the mean of the slices since the first that did: single ones vary.
    if (l.back == 0) l.way_back = 0, l.end = window.last();
    l.way_back += known > 0 && length > 0 ? -along / (length * known) : 0;
    l.back += 1;
    if (known > 0 && l.way_back >= kReturns * static_cast<float>(l.back))
      returning_.insert(l.leaves.begin(), l.leaves.end());
    const bool back = known > 0 && l.way_back >= kComesBack * static_cast<float>(l.back);
    if (!back) l.back = 0;
    any = any || back;
    if (l.gone == kGone) l.end = window.last() + 1 - std::int64_t{kGone};
    l.over = l.back > options_.back_slices || l.gone >= kGone;
    if (l.over && l.back > 0) learn_anew(l.leaves);
  }
  return any;
}

}  // namespace margay::detect
