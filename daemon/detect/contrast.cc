#include "contrast.h"

#include <algorithm>
#include <cmath>

#include "margay/statistics/order_statistics.h"
#include "vectors.h"

namespace margay::detect {
namespace {

constexpr std::size_t kMostModes = 8;
constexpr float kContrastMemory = 96;      // slices
constexpr std::size_t kMostSampled = 128;  // leaves that a median is taken of
// Half of what a cell can hold must be known.
constexpr double kLeastWeight = 0.5;
constexpr float kLeastVisits = 3;  // that a usual duration rests on
// A new mode: so many slices alike; or so many, if they never are.
constexpr double kAlike = 3, kUnlike = 8;
constexpr float kNoLog = -1e9f;
constexpr std::uint16_t kNoState = 0xffff;
// A leaf's own visits are believed as much as those of all after so many.
constexpr float kOwnVisits = 8;
// What fewer visits take, of all leaves, is not believed.
constexpr float kLeastLogs = 8;
constexpr float kSeldom = 0.1f, kLongMemory = 512;        // share of the time; slices
constexpr std::size_t kRecently = 64, kSeldomSlices = 5;  // slices; in one of so many
constexpr std::size_t kFewEnded = 4;                      // one in so many leaves must have ended a visit
constexpr float kWorks = 0.2f;  // of the time: less is a rank that mostly waits for others
constexpr float kIdleShare = 0.1f;
constexpr float kFewLeft = 0.5f;  // of those that there were recently
// What as many slices count in sums that forget.
float summed(double slices) {
  return kContrastMemory * -std::expm1(static_cast<float>(slices) * std::log1p(-1 / kContrastMemory));
}

template <class Get>
float median(const std::vector<std::uint32_t>& of, statistics::OrderStatistics& scratch, Get get) {
  scratch.clear();
  for (const std::uint32_t l : of) scratch.add(get(l));
  return scratch.median();
}

}  // namespace

void Contrast::reach(Mode& mode) const {
  const std::size_t leaves = there_.size();
  if (mode.share.rows() >= leaves && mode.share.columns() >= columns_) return;
  mode.share.reach(leaves, columns_);
  mode.spent.reach(leaves, columns_);
  mode.visits.reach(leaves, columns_);
  for (Grid* g : {&mode.logs, &mode.log_sum}) g->reach(leaves, columns_);
  mode.n.resize(std::max(mode.n.size(), leaves), 0.0f);
}

Contrast::Fit Contrast::fit(const Mode& mode) const {
  statistics::OrderStatistics scratch;
  std::vector<std::uint32_t> of;
  for (const std::uint32_t l : sample_)
    if (l < mode.n.size() && mode.n[l] > 0) of.push_back(l);
  Fit fit;
  if (of.empty()) return fit;
  fit.share = median(of, scratch, [&](std::uint32_t l) {
    float apart = 0;
    for (std::size_t x = kMachine; x < columns_; ++x) apart += std::abs(row_[l][x] - mode.share[l][x]);
    return apart / 2;
  });
  // By the logarithms of visits that ended: whoever is in the middle of one says nothing.
  std::vector<float> logs(columns_), log_sum(columns_);
  for (const std::uint32_t l : of)
    for (std::size_t x = 0; x < columns_; ++x) logs[x] += mode.logs[l][x], log_sum[x] += mode.log_sum[l][x];
  fit.work = fit.least_work = 0;
  scratch.clear();
  const float slices = summed(mode.slices);
  std::size_t sure = 0;
  for (const std::uint32_t l : of) {
    float apart = 0;
    // Of a slice in which little work is done the mean of few visits may be anything.
    bool ended = false, much = false;
    for (std::size_t x = 0; x < columns_; ++x) {
      if (!kinds_.work[x] || ended_[l][x] <= kNoLog || logs[x] < kLeastLogs) continue;
      ended = true;
      much = much || 2 * row_[l][x] >= mode.share[l][x] || 2 * visits_[l][x] * slices >= mode.visits[l][x];
      const float k = kOwnVisits / (kOwnVisits + mode.logs[l][x]), own = std::max(mode.logs[l][x], 1e-3f);
      const float usual = k * log_sum[x] / logs[x] + (1 - k) * mode.log_sum[l][x] / own;
      apart += mode.share[l][x] * std::min(1.0f, std::abs(ended_[l][x] - usual));
    }
    if (ended) scratch.add(apart);
    sure += ended && much;
  }
  if (scratch.size() * kFewEnded < of.size()) return fit;
  for (const auto& [part, to] : {std::pair(0.5, &fit.work), std::pair(0.25, &fit.least_work)})
    *to = scratch.smallest(static_cast<std::size_t>(part * static_cast<double>(scratch.size() - 1)));
  fit.told = sure * 2 >= of.size();
  if (!fit.told) fit.least_work = 0;
  return fit;
}

bool Contrast::fits(const Mode& mode, const Fit& fit) const {
  return fit.share <= kNear + kNearTimes * mode.fit.share && fit.work <= kNear + kNearTimes * mode.fit.work;
}

// What one leaf did in the slice.
MARGAY_VECTORS void Contrast::look_at(const Window::Rows& rows, const model::SliceColumn& column,
                                      std::size_t l) {
  const LeafIndex leaf(static_cast<std::uint32_t>(l));
  const float one = 1 / static_cast<float>(slice_.value);
  const TimeNs end = slice_end(column.index, slice_);
  const auto scale = static_cast<float>(1 / rows.weights[l]);
  const auto durations = column.duration_ns(leaf);
  const auto ended = column.visits(leaf);
  const auto longest = column.longest_ns(leaf);
  const auto& open = column.open(leaf);
  after_[l] = {open.state.value, static_cast<float>((end - open.since).value) * one};
  const auto& evidence = column.evidence(leaf);
  sampled_[l] = evidence.sampled_ns > 0;
  take_sample(l, evidence);
  float *const row = row_[l], *const spent = spent_[l], *const visits = visits_[l], *const ages = age_[l],
               *const logs = ended_[l];
  const double* const values = rows.values.data() + l * rows.columns;
  const float open_age = after_[l].age;
  std::fill_n(logs, kMachine, kNoLog);
  float works = 0, busy = 0;  // works, or would, if it were let
  for (std::size_t x = kMachine; x < columns_; ++x) {
    const std::size_t at = x - kMachine, state = state_of_[x];
    row[x] = at < rows.columns ? static_cast<float>(values[at]) * scale : 0.0f;
    spent[x] = state < durations.size() ? static_cast<float>(durations[state]) * one : 0.0f;
    const float n = visits[x] = state < ended.size() ? static_cast<float>(ended[state]) : 0.0f;
    const float age = ages[x] = state < longest.size() ? static_cast<float>(longest[state]) * one : 0.0f;
    // A visit that ended, if it can be told from the one that is open. How long waits take says nothing of
    // the mode.
    const bool is_open = open.state.value == state && open_age >= age * 0.999f;
    float one_visit = -1;
    if (n == 1 && !is_open)
      one_visit = age;
    else if (n > 1)
      one_visit = std::min(age, spent[x] / n);
    logs[x] = one_visit > 0 && kinds_.work[x] ? std::log(one_visit) : kNoLog;
    if (counted_[x]) busy += spent[x];
    if (kinds_.work[x] || kinds_.sleeps[x]) works += row[x];
  }
  busy_[l] = busy;
  // Who waits for others and gives the core away meanwhile, as an MPI does that polls, is ready to run as
  // well. Who slept, and is ready now, has been woken.
  process_[l].counts = std::min(1.0f, works / kWorks);
  row_[l][kDenied] *= process_[l].counts;
}

void Contrast::measure(const Window& window, const model::SliceColumn& column,
                       const std::set<std::uint16_t>& idle, const Columns& columns) {
  ++clock_;
  const Window::Rows rows = window.rows(window.last());
  const std::size_t leaves = std::min(rows.weights.size(), window.leaves());  // nobody has named the others
  make_room(window, leaves, idle, columns);
  look_at_leaves(rows, column, leaves);
  find_mode();
  departure_.fill(0);
  machine_departures();
  common_.assign(cells(), 0);
  if (!mode_) return;
  depart_from(modes_[*mode_]);
  std::erase_if(sample_, [&](std::uint32_t l) { return !known_[l]; });
  find_common();
  follow_work(idle.empty());
  take_off_common();
}

void Contrast::make_room(const Window& window, std::size_t leaves, const std::set<std::uint16_t>& idle,
                         const Columns& columns) {
  columns_ = std::max(columns_, kMachine + window.columns());
  for (Grid* g : {&row_, &spent_, &visits_, &age_, &ended_}) g->reach(leaves, columns_);
  if (departure_.columns() != cells()) departure_ = Grid();
  departure_.reach(std::max(there_.size(), leaves), cells());
  there_.assign(std::max(there_.size(), leaves), 0);
  for (auto* const of : {&known_, &sampled_}) of->assign(there_.size(), 0);
  process_.resize(there_.size()), storage_.resize(there_.size());
  for (Storage& s : storage_) s.now = {};
  kinds_ = columns;
  for (auto* const of : {&kinds_.work, &kinds_.sleeps, &kinds_.polls, &kinds_.returns_when_done})
    of->resize(columns_, 0);
  counted_.assign(columns_, 1);
  state_of_.resize(columns_);
  overall_.resize(columns_, 0.0f);
  recently_.resize(columns_);
  std::fill_n(state_of_.begin(), kMachine, kNoState);
  for (std::size_t x = kMachine; x < columns_; ++x) {
    state_of_[x] = window.state_of(x - kMachine).value;
    counted_[x] = !idle.contains(state_of_[x]);
  }
}

void Contrast::look_at_leaves(const Window::Rows& rows, const model::SliceColumn& column,
                              std::size_t leaves) {
  std::swap(before_, after_);
  after_.assign(there_.size(), {});
  if (last_ + 1 != column.index) before_.clear();
  before_.resize(there_.size());
  last_ = column.index;
  sample_.clear();
  std::size_t present = 0;
  for (std::size_t l = 0; l < leaves; ++l) present += rows.weights[l] >= kLeastWeight;
  few_left_ = static_cast<float>(present) < kFewLeft * usually_;
  usually_ += (static_cast<float>(present) - usually_) /
              static_cast<float>(std::min<std::uint64_t>(kRecently, clock_));
  const std::size_t stride = present / kMostSampled + 1;
  std::size_t seen = 0;
  busy_.assign(there_.size(), 0.0f);
  cpus_.begin_slice();
  cpus_.see(column.takers, slice_);
  for (std::size_t l = 0; l < leaves; ++l) {
    if (rows.weights[l] < kLeastWeight || l >= column.leaves()) continue;
    if (column.evidence(LeafIndex(static_cast<std::uint32_t>(l))).drawn_out) continue;  // nobody knows
    there_[l] = 1;
    if (seen++ % stride == 0) sample_.push_back(static_cast<std::uint32_t>(l));
    look_at(rows, column, l);
  }
}

void Contrast::find_mode() {
  for (Mode& m : modes_) reach(m);
  unsettled_ = true;
  if (mode_) {
    fit_now_ = fit(modes_[*mode_]);
    unsettled_ = !fits(modes_[*mode_], fit_now_);
    if (unsettled_) {
      Fit best;
      std::optional<std::size_t> other;
      for (std::size_t m = 0; m < modes_.size(); ++m) {
        if (m == *mode_) continue;
        const Fit f = fit(modes_[m]);
        if (fits(modes_[m], f) && (!other || f.share + f.work < best.share + best.work)) best = f, other = m;
      }
      if (other) {
        mode_ = other;
        fit_now_ = best;
        unsettled_ = false;
      }
    }
  }
  // Slices in which few end a visit of work do not tell: what all have been seen to do twice goes on.
  if (mode_ && fit_now_.told)
    all_moved_ = fit_now_.least_work > kNear + kNearTimes * modes_[*mode_].fit.work ? all_moved_ + 1 : 0;
  else if (!mode_ || !unsettled_ || all_moved_ < 2)
    all_moved_ = 0;
}

MARGAY_VECTORS void Contrast::depart_from(const Mode& mode) {
  // What visits of a state usually take, of all leaves together, for those that have seen few.
  std::vector<double> spent(columns_), visits(columns_);
  for (const std::uint32_t l : sample_)
    for (std::size_t x = 0; x < columns_; ++x) spent[x] += mode.spent[l][x], visits[x] += mode.visits[l][x];
  std::vector<float> pooled(columns_, -1);
  for (std::size_t x = 0; x < columns_; ++x)
    if (visits[x] >= static_cast<double>(kLeastLogs)) pooled[x] = static_cast<float>(spent[x] / visits[x]);
  const float slices = summed(mode.slices);
  std::vector<std::size_t> looked_at, waits, idle_in;  // columns
  for (std::size_t x = kMachine; x < columns_; ++x) {
    (counted_[x] ? looked_at : idle_in).push_back(x);
    if (counted_[x] && !kinds_.work[x]) waits.push_back(x);
  }
  for (std::size_t l = 0; l < there_.size(); ++l) {
    if (!there_[l] || mode.n[l] <= 0) continue;
    known_[l] = 1;
    float* const share = departure_[l] + kShare * columns_;
    float* const excess = departure_[l] + kExcess * columns_;
    const float *const row = row_[l], *const usual = mode.share[l], *const spent_in = mode.spent[l],
                       *const visits_in = mode.visits[l];
    // Where a leaf often has nothing to do, how much it does is a matter of what it is given. By and by: of
    // measures that begin at once the variance would not be known.
    float usually_idle = 0, idle_now = 0;
    for (const std::size_t x : idle_in) usually_idle += usual[x], idle_now += row[x];
    const float busy = std::max(0.0f, 1 - std::max(usually_idle, idle_now) / kIdleShare);
    for (const std::size_t x : looked_at) {
      const float each = visits_in[x] >= kLeastVisits ? spent_in[x] / visits_in[x] : pooled[x];
      // More of some work is what the program does; what hurts it makes work take longer.
      if (!kinds_.work[x]) share[x] = busy * waits_more(mode, slices, l, x, {each, visits[x]});
      // A visit of several slices that ends early does not make up for more than this one. A poll returns at
      // once where it is let.
      if (each >= 0 && !kinds_.polls[x]) excess[x] = busy * std::max(-1.0f, beyond(l, x, each));
    }
    balance_waits(waits, {row, usual, busy, share, excess});
  }
}

MARGAY_VECTORS void Contrast::find_common() {
  // Mostly nobody departs, or few: then the median is 0, as counting tells.
  const std::size_t n = sample_.size();
  std::vector<std::uint32_t> below(cells()), above(cells());
  for (const std::uint32_t l : sample_) {
    const float* const from = departure_[l];
    for (std::size_t c = 0; c < below.size(); ++c) {
      below[c] += from[c] < 0 ? 1 : 0;
      above[c] += from[c] > 0 ? 1 : 0;
    }
  }
  statistics::OrderStatistics scratch;
  for (std::size_t c = kMachine; c < cells(); ++c)
    if (below[c] >= n - n / 2 || above[c] >= n - n / 2)
      common_[c] = median(sample_, scratch, [&](std::uint32_t l) { return departure_[l][c]; });
}

// How much of each work all leaves do, in all modes, and whether most do what they seldom do. Who waits for
// work to come (not `never_idle`) does what comes.
void Contrast::follow_work(bool never_idle) {
  seldom_ = false;
  statistics::OrderStatistics scratch;
  const std::size_t n = sample_.size();
  for (std::size_t x = kMachine; x < columns_; ++x) {
    float now = 0;
    for (const std::uint32_t l : sample_) now += row_[l][x] / static_cast<float>(n);
    // Nor is seldom what is done as much now and then.
    std::vector<float>& recently = recently_[x];
    const auto near = static_cast<float>(kNear);
    if (!seldom_ && never_idle && kinds_.work[x] && overall_[x] <= kSeldom && now > overall_[x] + near) {
      scratch.clear();
      for (const float r : recently) scratch.add(r);
      const std::size_t often = scratch.size() / kSeldomSlices;
      seldom_ = scratch.size() == 0 || now > scratch.smallest(scratch.size() - 1 - often) + near;
    }
    if (recently.size() < kRecently)
      recently.push_back(now);
    else
      recently[clock_ % kRecently] = now;
    overall_[x] += (now - overall_[x]) / std::min<float>(kLongMemory, static_cast<float>(clock_));
  }
}

std::vector<char> Contrast::side_work() const {
  std::vector<char> out(columns_);
  std::size_t main = 0;
  for (std::size_t x = kMachine; x < columns_; ++x) {
    if (!counted_[x] || !kinds_.work[x]) continue;
    out[x] = 1;
    if (main == 0 || overall_[x] > overall_[main]) main = x;
  }
  if (main > 0) out[main] = 0;
  return out;
}

// Time that visits took beyond what they usually do, as far as it is known: of a visit that goes on what is
// beyond already, or where a call falls into slices would look like one that takes longer.
float Contrast::beyond(std::size_t l, std::size_t x, float usual) const {
  const auto age = [&](const OpenVisit& v) {
    return v.state == state_of_[x] && v.age > kOpenFrom ? v.age : 0.0f;
  };
  const float ends = age(after_[l]), n = visits_[l][x];
  // One that is older than the slice was open where it begins, whether the slice before was seen or not.
  const bool goes_on = ends > 1;
  const float begins = goes_on ? ends - 1 : age(before_[l]);
  const auto over = [&](float open) { return std::max(0.0f, open - usual); };
  // Of those that ended, what lies before the slice as well.
  const float ended = goes_on ? 0 : spent_[l][x] - ends + begins;
  return ended - n * usual + over(ends) - over(begins);
}

// More of its time in a wait than usual, less what more calls explain: what hurts a program makes it call no
// more often what it waits in. Of calls that are made again and again meanwhile, how many says nothing.
// `slices`: that the mode's sums of visits are of.
float Contrast::waits_more(const Mode& mode, float slices, std::size_t l, std::size_t x,
                           const Length& usual) const {
  const float longer = row_[l][x] - mode.share[l][x];
  if (longer <= 0 || !kinds_.returns_when_done[x] || visits_[l][x] <= kLeastVisits) return longer;
  if (usual.mean < 0) return 0;
  const float more = std::max(0.0f, visits_[l][x] - mode.visits[l][x] / slices);
  // The mean of few is as doubtful as that of lengths that are exponential.
  const float doubt = 1 / std::sqrt(static_cast<float>(usual.visits));
  return std::max(0.0f, longer - more * usual.mean * (1 + doubt));
}

// Waiting is waiting, in one call or in asking again and again: which of the two is a matter of where the
// program is. So what a leaf polls more, and what more calls explain, comes off what it waits less otherwise;
// what it polls less off what it waits more, and what it waits less otherwise off what polls take longer.
void Contrast::balance_waits(const std::vector<std::size_t>& waits, const Waiting& of) const {
  const auto& [row, usual, busy, share, excess] = of;
  const char* const is_poll = kinds_.polls.data();
  float polls_more = 0, polls_less = 0, waits_more = 0, waits_less = 0, explained = 0;
  for (const std::size_t x : waits) {
    const float s = share[x];
    (s > 0 ? is_poll[x] ? polls_more : waits_more : is_poll[x] ? polls_less : waits_less) += std::abs(s);
    explained += std::max(0.0f, busy * (row[x] - usual[x]) - std::max(0.0f, s));
  }
  const float moved = std::min(polls_more + explained, polls_less + waits_less);
  const float from_polls = std::min(moved, polls_less);
  const float from_polling = std::min(waits_more, polls_less - from_polls);
  const auto left = [](float all, float off) { return all > 0 ? std::max(0.0f, 1 - off / all) : 1.0f; };
  const float more[] = {left(waits_more, from_polling), left(polls_more + explained, moved)};
  const float less[] = {left(waits_less, moved - from_polls), left(polls_less, from_polls + from_polling)};
  for (const std::size_t x : waits) {
    const bool polls = is_poll[x] != 0;
    share[x] *= (share[x] > 0 ? more : less)[polls];
    if (excess[x] > 0) excess[x] = std::max(0.0f, excess[x] - (polls ? waits_less : polls_less));
  }
}

MARGAY_VECTORS void Contrast::take_off_common() {
  const float* const common = common_.data();
  for (std::size_t l = 0; l < there_.size(); ++l) {
    if (!known_[l]) continue;
    float* const d = departure_[l];
    // Who waits as ever while the others have stopped waiting does not depart.
    for (std::size_t c = 0; c < columns_; ++c) d[c] = std::min(d[c] - common[c], std::max(d[c], 0.0f));
    for (std::size_t c = columns_; c < cells(); ++c) d[c] -= common[c];
  }
}

MARGAY_VECTORS void Contrast::add(Mode& mode) {
  reach(mode);
  mode.slices += 1;
  const float keep = 1 - 1 / kContrastMemory;
  for (std::size_t l = 0; l < there_.size(); ++l) {
    if (!there_[l]) continue;
    mode.n[l] = std::min(mode.n[l] + 1, kContrastMemory);
    const float rate = 1 / mode.n[l];
    const float *const row = row_[l], *const now = spent_[l], *const ended = visits_[l],
                       *const log = ended_[l];
    float *const share = mode.share[l], *const spent = mode.spent[l], *const visits = mode.visits[l],
                 *const logs = mode.logs[l], *const log_sum = mode.log_sum[l];
    for (std::size_t x = kMachine; x < columns_; ++x) {
      share[x] += rate * (row[x] - share[x]);
      spent[x] = keep * spent[x] + now[x];
      visits[x] = keep * visits[x] + ended[x];
      if (log[x] <= kNoLog) continue;
      logs[x] = keep * logs[x] + 1;
      log_sum[x] = keep * log_sum[x] + log[x];
    }
  }
}

bool Contrast::learn() {
  cpus_.learn();
  for (std::size_t l = 0; l < there_.size(); ++l) {
    if (!sampled_[l]) continue;
    learn_machine(l);
    learn_storage(l);
  }
  if (!unsettled_) {
    Mode& mode = modes_[*mode_];
    mode.used = clock_;
    const double rate = std::max(1 / 32.0, 1 / (mode.slices + 1));
    mode.fit.share += rate * (fit_now_.share - mode.fit.share);
    mode.fit.work += rate * (fit_now_.work - mode.fit.work);
    add(mode);
    forget();
    return false;
  }
  if (sample_.empty() && !mode_) {
    // Nobody is there.
    forget();
    return false;
  }
  if (alike_.slices > 0) {
    reach(alike_);
    const Fit apart = fit(alike_);
    // The mean of few slices is itself apart from the mode's.
    if (mode_ && !fits(modes_[*mode_], apart)) {
      alike_ = {};
    } else if (alike_.slices > 1) {
      alike_.fit.share = std::max(alike_.fit.share, apart.share);
      alike_.fit.work = std::max(alike_.fit.work, apart.work);
    } else {
      alike_.fit = apart;
      // How restless a job is does not change from mode to mode so much as what it does.
      if (mode_) alike_.fit.work = std::max(apart.work, modes_[*mode_].fit.work);
    }
  }
  // A job whose slices are never alike has a mode, too.
  if (any_.slices > 0) {
    reach(any_);
    const Fit apart = fit(any_);
    const double rate = 1 / any_.slices;
    any_.fit.share += rate * (apart.share - any_.fit.share);
    any_.fit.work += rate * (apart.work - any_.fit.work);
  }
  add(alike_);
  add(any_);
  // Where others wait longer, and work takes what it takes, it may well be a perturbation.
  const bool waits =
      mode_ && fit_now_.work > 0 && fit_now_.work <= kNear + kNearTimes * modes_[*mode_].fit.work;
  if (alike_.slices >= (waits ? kUnlike : kAlike) && (mode_ || alike_.fit.share <= kNear)) {
    adopt(std::move(alike_));
    return true;
  }
  if (any_.slices < kUnlike) return false;
  adopt(std::move(any_));
  return true;
}

void Contrast::begin_anew() {
  modes_.clear();
  mode_.reset();
  unsettled_ = true;
  for (Process& p : process_) p.slices = 0;
  std::fill(storage_.begin(), storage_.end(), Storage());
  forget();
}

void Contrast::adopt(Mode&& mode) {
  if (modes_.size() >= kMostModes) {
    const auto oldest = std::min_element(modes_.begin(), modes_.end(),
                                         [](const Mode& a, const Mode& b) { return a.used < b.used; });
    *oldest = std::move(mode);
    mode_ = static_cast<std::size_t>(oldest - modes_.begin());
  } else {
    modes_.push_back(std::move(mode));
    mode_ = modes_.size() - 1;
  }
  modes_[*mode_].used = clock_;
  modes_[*mode_].number = ++adopted_;
  all_moved_ = 0;
  forget();
}

}  // namespace margay::detect
