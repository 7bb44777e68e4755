// How joined slices are walked: each number of each cell, in order, under the model that fits it. Pure; of
// the store's own (joined_codec.h is the door).
//
// One walk over the slices, in order, codes them (Encoder) or fills them (Decoder): the two cannot part.
//
// A number that goes on from slice to slice is a Series: what is coded is its difference to what was
// expected, under a context that tells how large such differences were of late, here and in the leaf before.
// Ranks of a job mostly change together.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "bytes.h"
#include "margay/model/slice_column.h"
#include "margay/store/column_codec.h"
#include "margay/store/joined_codec.h"
#include "range_coder.h"
#include "takers_codec.h"

namespace margay::store::joined {

inline constexpr std::size_t kLongestRegion = 256;
enum : unsigned { kLongestIsDuration = 0, kLongestIsOpen = 1, kLongestStored = 2 };

// FNV-1a: not against malice, but a file system's flipped bit would else be a plausible cell.
inline constexpr std::size_t kCheckBytes = 4;  // little-endian, behind all else
inline std::uint32_t check_of(std::string_view bytes) {
  std::uint32_t h = 2166136261u;
  for (const char c : bytes) h = (h ^ static_cast<std::uint8_t>(c)) * 16777619u;
  return h;
}

// What all values of a kind have in common, taken out before they are coded.
struct Divisors {
  std::uint64_t duration = 0;
  std::uint64_t since = 0;
  std::array<std::uint64_t, 6> evidence{};  // sampled, cpu, run delay, stopped, blocked, storage
  std::size_t evidences = 4;                // that are told: all where somebody used storage
  bool takers = false;                      // who had the CPU is told
  // Bits behind the first one that numbers of this kind have at most; the rest of their bits are zero.
  std::uint64_t visits_bits = 1;
  std::uint64_t longest_bits = 1;
};

// Numbers of at most `bits` significant bits, in order: 0, 1, 2 ... without those that have more.
inline std::uint64_t to_rank(std::uint64_t v, std::uint64_t bits) {
  const auto width = static_cast<std::uint64_t>(std::bit_width(v));
  if (width <= bits) return v;
  const std::uint64_t shift = width - bits;
  return (shift << (bits - 1)) + (v >> shift);
}
inline std::uint64_t from_rank(std::uint64_t rank, std::uint64_t bits) {
  if (bits >= 64 || rank >> bits == 0) return rank;
  const std::uint64_t shift = (rank >> (bits - 1)) - 1;
  if (shift + bits > 64) return 0;  // hostile
  return (rank - (shift << (bits - 1))) << shift;
}
inline std::uint64_t significant(std::uint64_t v) {
  return v == 0 ? 1 : static_cast<std::uint64_t>(std::bit_width(v) - std::countr_zero(v));
}
inline std::uint64_t magnitude(std::int64_t v) {
  return zigzag(v) >> 1;
}

inline unsigned kind_of(std::int64_t longest, std::int64_t duration, bool is_open, std::int64_t age) {
  if (longest == duration) return kLongestIsDuration;
  return is_open && longest == age ? kLongestIsOpen : kLongestStored;
}

// A value from slice to slice. What it will be is told by the best of four guesses of late: what it was, what
// it is on average, and what it was and how the value beside it has changed: in the row, and in the leaf
// before.
struct Series {
  static constexpr std::int64_t kFar = std::int64_t{1} << 56;  // beyond it nothing is expected
  struct Beside {
    std::int64_t in_row = 0, in_leaf = 0;  // changes
  };

  std::int64_t last = 0;
  std::int64_t mean = 0;                  // running, times 16
  std::array<std::uint64_t, 4> missed{};  // how far each guess was off, running, times 16

  std::array<std::int64_t, 4> guesses(const Beside& beside) const {
    return {last, mean / 16, last + beside.in_leaf, last + beside.in_row};
  }
  std::size_t best() const {
    return static_cast<std::size_t>(std::min_element(missed.begin(), missed.end()) - missed.begin());
  }
  // How far the best is off.
  std::uint64_t spread() const { return *std::min_element(missed.begin(), missed.end()); }
  // Returns the change.
  std::int64_t see(std::int64_t v, const Beside& beside) {
    if (v >= kFar || v <= -kFar) {
      *this = {};
      return 0;
    }
    const auto g = guesses(beside);
    for (std::size_t i = 0; i < g.size(); ++i)
      missed[i] = missed[i] - missed[i] / 4 + magnitude(v - g[i]) * 4;
    mean += (v * 16 - mean) / 4;
    const std::int64_t change = v - last;
    last = v;
    return change;
  }
};

// Models of one kind of series: by how large differences were in this one, and in the leaf before.
struct SeriesModel {
  static constexpr std::size_t kSpreads = 48;
  std::array<std::array<NumberModel, 3>, kSpreads> models;

  SeriesModel() {
    for (std::size_t own = 0; own < kSpreads; ++own)
      for (int other = 0; other < 3; ++other)
        models[own][static_cast<std::size_t>(other)].expect(std::max(0, static_cast<int>(own) - 4 + other));
  }
  NumberModel& of(std::uint64_t spread, std::uint64_t beside) {
    const auto width = [](std::uint64_t v) {
      return std::min<std::size_t>(static_cast<std::size_t>(std::bit_width(v)), kSpreads - 1);
    };
    const std::size_t own = width(spread), other = width(beside);
    return models[own][other + 1 < own ? 0 : other <= own + 1 ? 1 : 2];
  }
};

struct Cell {
  Series duration, visits, longest;
  std::int64_t average = 0;                // rank of a visit's average length
  std::uint8_t kind = kLongestIsDuration;  // of `longest`
  bool present = false;
};
struct Leaf {
  std::vector<Cell> cells;
  std::array<Series, 6> evidence;
  model::OpenState open;
  char process_state = 0;
  TimeNs stopped_since{}, silent_since{};
  bool drawn_out = false;
};

template <class Coder>
class Walk {
 public:
  Walk(Coder& coder, DurationNs slice, const Divisors& divisors)
      : coder_(coder), slice_(slice.value), divisors_(divisors) {}

  // False when what was decoded cannot be; never while encoding.
  // `after`: the slice that is expected, the one after the slice before.
  bool head(model::SliceColumn& column, SliceIndex after);
  bool rows(model::SliceColumn& column);

 private:
  static constexpr std::size_t kStates = 32;  // that have models of their own; higher ones share

  std::uint64_t number(NumberModel& model, std::uint64_t value) {
    model.code(coder_, value);
    return value;
  }
  bool flag(Bit& model, bool value) {
    coder_.bit(model, value);
    return value;
  }
  // What is known of the series' neighbours in this slice.
  struct Near {
    std::uint64_t missed = 0;  // by the leaf before, times 16
    std::int64_t change = 0;   // of the leaf before
  };
  std::int64_t series(SeriesModel& models, Series& s, Near& leaf_before, std::int64_t& row_change,
                      std::int64_t value) {
    const Series::Beside beside{row_change, leaf_before.change};
    const std::int64_t expected = s.guesses(beside)[s.best()];
    const std::int64_t coded =
        unzigzag(number(models.of(s.spread(), leaf_before.missed), zigzag(wrapping_sub(value, expected))));
    if constexpr (Coder::kDecodes) value = wrapping_add(expected, coded);
    leaf_before.missed = std::min(magnitude(coded), std::uint64_t{1} << 56) * 16;
    row_change = leaf_before.change = s.see(value, beside);
    return value;
  }
  bool takers(model::SliceColumn& column);
  // The `size` bytes of a text.
  void letters(std::string& text, std::uint64_t size) {
    text.resize(size);
    for (char& c : text) {
      std::uint64_t letter = static_cast<std::uint8_t>(c);
      coder_.plain(letter, 8);
      c = static_cast<char>(letter);
    }
  }
  bool row(model::SliceColumn& column, LeafIndex leaf, std::int64_t end);
  bool cells(model::SliceColumn& column, LeafIndex leaf, std::int64_t end);
  void open(model::SliceColumn& column, LeafIndex leaf, std::int64_t end);
  void evidence(model::NodeEvidence& e, Leaf& leaf, std::int64_t end);
  TimeNs since(NumberModel& model, Bit& same, TimeNs before, TimeNs value, std::int64_t end);

  Coder& coder_;
  const std::int64_t slice_;
  const Divisors divisors_;
  std::vector<Leaf> leaves_;
  std::string region_;
  std::uint64_t leaves_before_ = 0, states_before_ = 0;
  // Differences of the leaf before, in this slice, by state.
  struct State {
    Near duration, visits, longest;
    bool changed = false;  // of presence
  };
  std::vector<State> beside_;
  std::array<Near, 6> evidence_beside_{};

  NumberModel gap_model_, leaves_model_, states_model_, lost_model_, text_model_, rest_model_;
  Bit provisional_, same_region_, has_takers_;
  std::array<std::array<Bit, 4>, kStates> present_;
  SeriesModel duration_model_, visits_model_, longest_model_;
  std::array<std::array<Bit, 2>, 3 * 3 * 2> longest_kind_;
  std::array<Bit, 2> same_open_;
  std::array<Bit, 12> open_state_;
  NumberModel other_state_;
  std::array<Bit, 4> since_is_duration_;
  SeriesModel since_model_;
  NumberModel stopped_model_, silent_model_, letter_model_;
  Bit same_stopped_, same_silent_, same_letter_;
  std::array<Bit, 2> drawn_out_;
  std::array<SeriesModel, 6> evidence_model_;
};

template <class Coder>
bool Walk<Coder>::head(model::SliceColumn& column, SliceIndex after) {
  const std::uint64_t gap = number(
      gap_model_, static_cast<std::uint64_t>(column.index.value) - static_cast<std::uint64_t>(after.value));
  column.index = SliceIndex(wrapping_add(after.value, static_cast<std::int64_t>(gap)));
  // Leaves and states of a run seldom change, and only grow.
  const std::uint64_t leaves = number(leaves_model_, zigzag(static_cast<std::int64_t>(column.leaves()) -
                                                            static_cast<std::int64_t>(leaves_before_)));
  const std::uint64_t states = number(states_model_, zigzag(static_cast<std::int64_t>(column.states()) -
                                                            static_cast<std::int64_t>(states_before_)));
  leaves_before_ += static_cast<std::uint64_t>(unzigzag(leaves));
  states_before_ += static_cast<std::uint64_t>(unzigzag(states));
  if (leaves_before_ > kMostJoinedLeaves || states_before_ > kMostColumnStates) return false;
  if constexpr (Coder::kDecodes)
    column.resize(static_cast<std::uint32_t>(leaves_before_), static_cast<std::uint32_t>(states_before_));
  column.provisional = flag(provisional_, column.provisional);
  column.lost_events = number(lost_model_, column.lost_events);
  if (!flag(same_region_, column.region == region_)) {
    region_ = column.region;
    const std::uint64_t size = number(text_model_, std::min(region_.size(), kLongestRegion));
    if (size > kLongestRegion) return false;
    letters(region_, size);
  }
  column.region = region_;
  return !divisors_.takers || takers(column);
}

template <class Coder>
bool Walk<Coder>::takers(model::SliceColumn& column) {
  if (!flag(has_takers_, !column.takers.empty())) return true;
  std::string bytes;
  if constexpr (!Coder::kDecodes) encode_takers(column.takers, bytes);
  const std::uint64_t size = number(text_model_, bytes.size());
  if (size > kLongestTakers) return false;
  letters(bytes, size);
  if constexpr (Coder::kDecodes)
    return decode_takers_untrusted(bytes, column.takers) && !column.takers.empty();
  return true;
}

template <class Coder>
bool Walk<Coder>::rows(model::SliceColumn& column) {
  leaves_.resize(column.leaves());
  for (Leaf& l : leaves_) l.cells.resize(column.states());
  beside_.assign(column.states(), {});
  evidence_beside_ = {};
  const auto end = static_cast<std::int64_t>((static_cast<std::uint64_t>(column.index.value) + 1) *
                                             static_cast<std::uint64_t>(slice_));
  for (std::uint32_t l = 0; l < column.leaves(); ++l)
    if (!row(column, LeafIndex(l), end)) return false;
  return true;
}

template <class Coder>
bool Walk<Coder>::row(model::SliceColumn& column, LeafIndex leaf, std::int64_t end) {
  if (!cells(column, leaf, end)) return false;
  evidence(column.evidence(leaf), leaves_[leaf.value], end);
  if constexpr (Coder::kDecodes) return !coder_.beyond();
  return true;
}

template <class Coder>
bool Walk<Coder>::cells(model::SliceColumn& column, LeafIndex leaf, std::int64_t end) {
  Leaf& l = leaves_[leaf.value];
  const auto duration = column.duration_ns(leaf);
  const auto longest = column.longest_ns(leaf);
  const auto visits = column.visits(leaf);
  const std::size_t states = duration.size();
  // What is there.
  std::size_t implied = states;  // the state whose duration follows from the others'
  for (std::size_t x = 0; x < states; ++x) {
    Cell& c = l.cells[x];
    State& b = beside_[x];
    const bool here = duration[x] != 0 || longest[x] != 0 || visits[x] != 0;
    const bool told =
        flag(present_[std::min(x, kStates - 1)][(c.present ? 2 : 0) + (b.changed ? 1 : 0)], here);
    b.changed = told != c.present;
    c.present = told;
    if (told && (implied == states || c.duration.last > l.cells[implied].duration.last)) implied = x;
  }
  // How often, and for how long.
  std::uint64_t rest = static_cast<std::uint64_t>(slice_);
  std::int64_t more_visits = 0, more_time = 0;
  const auto unit = static_cast<std::int64_t>(divisors_.duration);
  for (std::size_t x = 0; x < states; ++x) {
    Cell& c = l.cells[x];
    if (!c.present) continue;
    const auto rank = static_cast<std::uint64_t>(
        series(visits_model_, c.visits, beside_[x].visits, more_visits,
               static_cast<std::int64_t>(to_rank(visits[x], divisors_.visits_bits))));
    if constexpr (Coder::kDecodes) {
      const std::uint64_t v = from_rank(rank, divisors_.visits_bits);
      if (v > 0xffffffffu) return false;
      visits[x] = static_cast<std::uint32_t>(v);
    }
    if (x == implied) continue;
    const std::int64_t n =
        series(duration_model_, c.duration, beside_[x].duration, more_time, duration[x] / unit);
    if constexpr (Coder::kDecodes)
      duration[x] = static_cast<std::int64_t>(static_cast<std::uint64_t>(n) * divisors_.duration);
    rest -= static_cast<std::uint64_t>(duration[x]);
  }
  if (implied != states) {
    std::int64_t& d = duration[implied];
    const std::int64_t off =
        unzigzag(number(rest_model_, zigzag(wrapping_sub(d, static_cast<std::int64_t>(rest)))));
    if constexpr (Coder::kDecodes) d = wrapping_add(static_cast<std::int64_t>(rest), off);
    l.cells[implied].duration.see(d / unit, {});
  }
  open(column, leaf, end);
  // The longest visit.
  const model::OpenState& o = column.open(leaf);
  for (std::size_t x = 0; x < states; ++x) {
    Cell& c = l.cells[x];
    if (!c.present) continue;
    const bool is_open = o.state.value == x;
    const std::int64_t age = wrapping_sub(end, o.since.value);
    const unsigned kind = kind_of(longest[x], duration[x], is_open, age);
    auto& models =
        longest_kind_[(c.kind * 3 + std::min<std::uint32_t>(visits[x], 2)) * 2 + (is_open ? 1 : 0)];
    unsigned told = kLongestIsDuration;
    if (flag(models[0], kind != kLongestIsDuration))
      told = is_open && flag(models[1], kind == kLongestIsOpen) ? kLongestIsOpen : kLongestStored;
    c.kind = static_cast<std::uint8_t>(told);
    std::int64_t value = told == kLongestIsDuration ? duration[x] : age;
    if (told == kLongestStored) {
      // It goes with how long a visit is on average.
      const std::uint64_t each =
          static_cast<std::uint64_t>(duration[x]) / std::max<std::uint64_t>(1, visits[x]);
      const auto average = static_cast<std::int64_t>(to_rank(each, divisors_.longest_bits));
      std::int64_t usual = average - c.average;
      c.average = average;
      const std::int64_t rank = series(
          longest_model_, c.longest, beside_[x].longest, usual,
          static_cast<std::int64_t>(to_rank(static_cast<std::uint64_t>(longest[x]), divisors_.longest_bits)));
      value = static_cast<std::int64_t>(from_rank(static_cast<std::uint64_t>(rank), divisors_.longest_bits));
    }
    if constexpr (Coder::kDecodes) longest[x] = value;
  }
  return true;
}

template <class Coder>
void Walk<Coder>::open(model::SliceColumn& column, LeafIndex leaf, std::int64_t end) {
  model::OpenState& before = leaves_[leaf.value].open;
  model::OpenState& now = column.open(leaf);
  // A visit that goes on is not open in the row's other states; one that ended here was counted.
  const bool ended = before.state.value < column.states() && column.visits(leaf)[before.state.value] != 0;
  if (flag(same_open_[ended ? 1 : 0], now == before)) {
    now = before;
    return;
  }
  // One of the states that the row has, mostly one of the longer ones.
  const auto duration = column.duration_ns(leaf);
  const std::vector<Cell>& present = leaves_[leaf.value].cells;
  bool found = false;
  for (std::size_t x = 0; x < duration.size() && !found; ++x) {
    if (!present[x].present) continue;
    const std::uint64_t share = static_cast<std::uint64_t>(slice_) /
                                std::max<std::uint64_t>(1, static_cast<std::uint64_t>(duration[x]));
    const auto model =
        std::min<std::size_t>(static_cast<std::size_t>(std::bit_width(share)), open_state_.size() - 1);
    found = flag(open_state_[model], now.state.value == x);
    if (Coder::kDecodes && found) now.state = StateId(static_cast<std::uint16_t>(x));
  }
  if (!found) {
    const std::uint64_t state = number(other_state_, now.state.value);
    if constexpr (Coder::kDecodes)
      now.state = StateId(static_cast<std::uint16_t>(std::min<std::uint64_t>(state, 0xffff)));
  }
  const bool known = now.state.value < column.states();
  const std::int64_t spent = known ? column.duration_ns(leaf)[now.state.value] : 0;
  const bool visited = known && column.visits(leaf)[now.state.value] != 0;
  std::int64_t age = wrapping_sub(end, now.since.value);
  if (flag(since_is_duration_[visited ? 1 : 0], age == spent)) {
    age = spent;
  } else {
    const std::uint64_t scale = static_cast<std::uint64_t>(spent) / divisors_.since;
    const std::uint64_t told =
        number(since_model_.of(scale, scale), static_cast<std::uint64_t>(age) / divisors_.since);
    age = static_cast<std::int64_t>(told * divisors_.since);
  }
  if constexpr (Coder::kDecodes) now.since = TimeNs(wrapping_sub(end, age));
  before = now;
}

template <class Coder>
TimeNs Walk<Coder>::since(NumberModel& model, Bit& same, TimeNs before, TimeNs value, std::int64_t end) {
  if (flag(same, value == before)) return before;
  // 0 is never.
  const std::uint64_t told =
      number(model, value == TimeNs() ? 0 : zigzag(wrapping_sub(end, value.value)) + 1);
  return told == 0 ? TimeNs() : TimeNs(wrapping_sub(end, unzigzag(told - 1)));
}

template <class Coder>
void Walk<Coder>::evidence(model::NodeEvidence& e, Leaf& leaf, std::int64_t end) {
  if (!flag(same_letter_, e.process_state == leaf.process_state))
    leaf.process_state =
        static_cast<char>(number(letter_model_, static_cast<std::uint8_t>(e.process_state)) & 0x7f);
  e.process_state = leaf.process_state;
  e.stopped_since = leaf.stopped_since =
      since(stopped_model_, same_stopped_, leaf.stopped_since, e.stopped_since, end);
  e.silent_since = leaf.silent_since =
      since(silent_model_, same_silent_, leaf.silent_since, e.silent_since, end);
  std::int64_t* const times[] = {&e.sampled_ns, &e.cpu_ns,     &e.run_delay_ns,
                                 &e.stopped_ns, &e.blocked_ns, &e.storage_bytes};
  for (std::size_t i = 0; i < divisors_.evidences; ++i) {
    const auto unit = divisors_.evidence[i];
    std::int64_t change = 0;
    const std::int64_t n = series(evidence_model_[i], leaf.evidence[i], evidence_beside_[i], change,
                                  *times[i] / static_cast<std::int64_t>(unit));
    if constexpr (Coder::kDecodes)
      *times[i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(n) * unit);
  }
  e.drawn_out = leaf.drawn_out = flag(drawn_out_[leaf.drawn_out ? 1 : 0], e.drawn_out);
}

}  // namespace margay::store::joined
