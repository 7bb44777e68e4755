#include "visit_surprise.h"
#include "vectors.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace margay::detect {
namespace {

constexpr float kWinsor = 3;  // deviations

}  // namespace

void VisitSurprise::set_hierarchy(const model::Hierarchy& h) {
  usual_.set_hierarchy(h);
  spread_.assign(usual_.nodes() * usual_.kinds(), {});
  own_.resize(std::max(own_.size(), usual_.leaves() * usual_.kinds()));
}

void VisitSurprise::forget() {
  usual_.forget();
  own_.assign(own_.size(), {});
  spread_.assign(spread_.size(), {});
}

void VisitSurprise::forget(std::uint32_t leaf) {
  usual_.forget(leaf);
  if (leaf < usual_.leaves())
    std::fill_n(own_.begin() + static_cast<std::ptrdiff_t>(leaf * usual_.kinds()), usual_.kinds(), OwnLogs{});
}

void VisitSurprise::reach(std::size_t columns) {
  const std::size_t before = usual_.columns(), rows = own_.size() / std::max<std::size_t>(1, usual_.kinds());
  if (!usual_.reach(columns)) return;
  own_ = widened(own_, std::max(rows, usual_.leaves()), kKindsOfLength, before, columns);
  spread_.assign(usual_.nodes() * usual_.kinds(), {});
}

// A bet on a visit of this length, which the row's cell is told of when it is settled; kNone where nothing is
// usual.
std::uint32_t VisitSurprise::bet(const Row& row, std::uint32_t x, const Length& of, float visits) {
  if (!row.usual.known(of.kind)) return kNone;
  const UsualLengths::Tail& tail = row.usual.tails[of.kind];
  const std::uint32_t i =
      bets_.add(of.log, row.usual.own[of.kind], tail, row.own[of.kind], row.spread[of.kind]);
  lengths_[i] = {row.lost + x, row.ratio + x, of.log, of.length, tail.usual, visits, of.kind};
  return i;
}

void VisitSurprise::bet_on_open(const Row& row, std::uint32_t x, float age, float weight) {
  if (!row.usual.known(x) || age <= row.usual.tails[x].usual) return;
  const float log = std::log(age);
  if (log <= row.usual.tails[x].threshold) return;
  open_bets_.push_back(
      {row.evidence + x, bet(row, x, {x, age, log}, weight), kNone, weight > 0 ? 1.0f : -1.0f});
}

// In the order in which they were made: a cell may have several.
MARGAY_VECTORS void VisitSurprise::settle() {
  const std::span<double> wins = bets_.wins(one_kind_);
  const std::span<const float> usual_logs = bets_.usual_logs();
  for (std::size_t i = 0; i < wins.size(); ++i) {
    const Gathered& g = lengths_[i];
    const float longer = g.log - usual_logs[i];
    // The mode may take for rarer what most leaves show in others.
    const double part = lately_ && wins[i] > 1 ? lately_->part(g.kind, g.log) : 0;
    if (part > 0 && part < 1)
      wins[i] = std::min(wins[i], std::max(wins[i] * usual_.part_of_all(g.kind, g.log) / part,
                                           VisitBets::on_rare(part, std::log(part))));
    if (longer <= 0) continue;
    const float usual = one_kind_ ? std::exp(usual_logs[i]) : g.usual;
    *g.lost += g.visits * std::max(0.0f, g.length - usual);
    if (g.visits > 0) *g.ratio = std::max(*g.ratio, longer);
  }
  for (const Bet& b : open_bets_) {
    const auto of = [&](std::uint32_t visit) { return visit == kNone ? 1.0 : wins[visit]; };
    if (b.sign != 0)
      *b.evidence += b.sign * static_cast<float>(std::log(std::max(1.0, of(b.one))));
    else
      *b.evidence +=
          static_cast<float>(std::log(b.other == b.one ? of(b.one) : (of(b.one) + of(b.other)) / 2));
  }
  open_bets_.clear();
}

void VisitSurprise::measure(const VisitsSeen& seen, bool one_kind, Told& to, const Unasked* unasked,
                            const Rounds* rounds, const LengthsLately* lately) {
  one_kind_ = one_kind, lately_ = lately;
  usual_.are_of_one_kind(one_kind);
  const std::size_t leaves = std::min(seen.there.size(), usual_.leaves()), columns = seen.state_of.size();
  reach(columns);
  for (Grid* g : {&to.evidence, &to.told, &to.lost, &to.ratio}) {
    g->reach(seen.there.size(), columns);
    g->fill(0);
  }
  seen_.clear(), judged_.clear();
  for (std::uint32_t l = 0; l < std::min(leaves, seen.spent.rows()); ++l)
    if (seen.there[l])
      measure_leaf(seen, l, to, unasked && !unasked->but_of[l] ? unasked->columns.data() : nullptr, rounds);
  settle();
}

MARGAY_VECTORS void VisitSurprise::measure_leaf(const VisitsSeen& seen, std::uint32_t l, Told& to,
                                                const char* unasked, const Rounds* rounds) {
  const std::size_t own = l * usual_.kinds(), above = usual_.node(l) * usual_.kinds();
  const Row row{l,          usual_.row(l), own_.data() + own, spread_.data() + above, to.evidence[l],
                to.told[l], to.lost[l],    to.ratio[l]};
  const OpenVisit before = seen.before[l], after = seen.after[l];
  const auto columns = static_cast<std::uint32_t>(seen.state_of.size());
  const auto others = static_cast<std::uint32_t>(usual_.columns());
  const float *const ended = seen.ended[l], *const spent = seen.spent[l], *const longest = seen.longest[l];
  const std::uint16_t* const state_of = seen.state_of.data();
  const char* const counted = seen.counted.data();
  for (std::uint32_t x = 0; x < columns; ++x) {
    const float n = ended[x];
    if ((n <= 0 && spent[x] <= 0) || !counted[x]) continue;
    const bool asked = !unasked || !unasked[x];
    const bool open = after.state == state_of[x] && after.age > kOpenFrom;
    const bool was_open = before.state == state_of[x] && before.age > kOpenFrom;
    const bool goes_on = open && was_open && after.age >= before.age + 0.999f;
    const float unit = rounds ? rounds->now[x] : 1, unit_before = rounds ? rounds->before[x] : 1;
    if (asked) {
      if (bets_.room() < 4) settle();  // as many as a cell has at most
      if (row.usual.known(x) && unit > 0) row.told[x] = 1;
      if (was_open && (goes_on || n >= 1) && unit_before > 0)
        bet_on_open(row, x, before.age / unit_before, -unit_before);
      if (open && unit > 0) bet_on_open(row, x, after.age / unit, unit);
    }
    if (n < 1 || goes_on || unit <= 0) continue;
    float total = std::max(0.0f, spent[x] - (open ? std::min(1.0f, after.age) : 0.0f));
    if (was_open) total += before.age;
    const bool two = n >= 2 && longest[x] > after.age * (open ? 1.001f : 0.0f) && longest[x] < total;
    const float length = two ? longest[x] : total / n, visits = two ? 1 : n;
    const Length longest_one = see(row, two || n <= 1 ? x : others + x, length / unit);
    std::uint32_t one = kNone;
    if (asked) one = bet(row, x, longest_one, visits * unit);
    if (one != kNone) judged_.push_back({l, longest_one.kind, longest_one.log});
    std::uint32_t other = one;
    if (two) {
      const Length mean = see(row, others + x, (total - length) / (n - 1) / unit);
      if (asked) other = bet(row, x, mean, (n - 1) * unit);
      if (asked && other != kNone) judged_.push_back({l, mean.kind, mean.log});
    }
    if (asked) open_bets_.push_back({row.evidence + x, one, other, 0});
  }
}

// Visits of a leaf, one of a kind at most: those of several kinds are independent. A visit moves what is
// usual no further than one that is as far off as few are.
MARGAY_VECTORS void VisitSurprise::learn_usual(std::span<const UsualLengths::Visit> visits) {
  using Floats = std::array<float, 16>;
  Floats log{}, own_log{}, own_square{}, of_own{}, square{}, of{}, add_log{}, add_square{};
  const std::uint32_t l = visits.front().leaf;
  OwnLogs* const own = own_.data() + l * usual_.kinds();
  Spread* const spread = spread_.data() + usual_.node(l) * usual_.kinds();
  while (!visits.empty()) {
    const auto now = visits.first(std::min(visits.size(), log.size()));
    visits = visits.subspan(now.size());
    for (std::size_t i = 0; i < now.size(); ++i) {
      const std::uint32_t x = now[i].kind;
      log[i] = now[i].log, own_log[i] = own[x].log, own_square[i] = own[x].square;
      of_own[i] = own[x].visits;
      square[i] = spread[x].square, of[i] = spread[x].visits;
    }
    for (std::size_t i = 0; i < log.size(); ++i) {
      // Its first is where it begins, however far from its siblings'.
      const float n = of_own[i];
      const float usual = n > 0 ? own_log[i] / n : log[i];
      const float variance = OwnLogs::variance(own_square[i], n, square[i], of[i]);
      const float most = kWinsor * std::sqrt(variance * (1 + 1 / std::max(n, 1.0f)));
      const float away = std::clamp(log[i] - usual, -most, most);
      add_log[i] = usual + away;
      add_square[i] = away * away * n / (n + 1);
    }
    for (std::size_t i = 0; i < now.size(); ++i) {
      const std::uint32_t x = now[i].kind;
      own[x].visits += 1, own[x].log += add_log[i], own[x].square += add_square[i];
      spread[x].square += add_square[i], spread[x].visits += of_own[i] > 0 ? 1.0f : 0.0f;
    }
    usual_.add(now);
  }
}

void VisitSurprise::learn(const std::vector<char>& but) {
  if (const float keep = usual_.fade(); keep < 1) {
    for (OwnLogs& o : own_) o.visits *= keep, o.log *= keep, o.square *= keep;
    for (Spread& s : spread_) s.square *= keep, s.visits *= keep;
  }
  for (std::size_t first = 0, end = 0; first < seen_.size(); first = end) {
    const std::uint32_t l = seen_[first].leaf;
    while (end < seen_.size() && seen_[end].leaf == l) ++end;
    if (l >= but.size() || !but[l]) learn_usual(std::span(seen_).subspan(first, end - first));
  }
  usual_.end_slice();
}

}  // namespace margay::detect
