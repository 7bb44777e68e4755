#include "margay/scene/event_sums.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "events_answer.h"
#include "margay/base/text.h"

namespace margay::scene {
namespace {

// Sums of all of them fit 64 bits, whoever made them up.
std::uint64_t bounded(std::uint64_t n) {
  return std::min(n, std::uint64_t{1} << 46);
}

class SumsReader {
 public:
  explicit SumsReader(const wire::EventsAnswer& answer) : in_(answer) {}

  Result<EventSums> read() {
    if (!in_.error().empty()) return fail(ErrorCode::kUnavailable, clean_utf8(in_.error(), 4096));
    if (std::max({in_.sums_size(), in_.resources_size(), in_.names_size(), in_.notes_size()}) > kMostSums ||
        in_.blocks_size() > kMostSumPartitions)
      return fail(ErrorCode::kLimit, "the daemon's answer: it has more sums than are accepted (" +
                                         std::to_string(kMostSums) + ")");
    out_.token = in_.token();
    out_.messages = in_.question().kind() == wire::EventsQuestion::PAIRS;
    const auto time = internal::stretch_of(in_);
    if (!time) return tl::unexpected(time.error());
    out_.time = *time;
    out_.zero = TimeNs(in_.zero_ns());
    out_.left_out = in_.sums_left_out();
    out_.holes = in_.holes();
    out_.exact = in_.exact();
    for (const std::string& path : in_.resources())
      out_.resources.push_back(clean_utf8(path, 16 * kLongestName));
    for (const std::string& note : in_.notes()) out_.notes.push_back(clean_utf8(note, 4096));
    out_.names = internal::names_of(in_);
    for (const wire::EventsSum& sum : in_.sums())
      if (Status ok = add(sum); !ok) return tl::unexpected(ok.error());
    for (const wire::EventsBlocks& blocks : in_.blocks())
      if (Status ok = add_blocks(blocks); !ok) return tl::unexpected(ok.error());
    return std::move(out_);
  }

 private:
  Status add(const wire::EventsSum& in) {
    const std::string which = "sum " + std::to_string(out_.sums.size());
    EventSum s;
    s.name = in.name(), s.from = in.from(), s.to = in.to(), s.longest_resource = in.longest_resource();
    const bool known = out_.messages
                           ? std::max(s.from, s.to) < out_.resources.size()
                           : s.name < out_.names.size() && s.longest_resource < out_.resources.size();
    if (!known) return internal::bad_answer(which + " is of nothing that it names");
    s.count = bounded(in.count()), s.single = bounded(in.single()), s.untimed = bounded(in.untimed());
    s.bytes = bounded(in.bytes());
    s.mean = in.mean_ns(), s.deviation = in.deviation_ns();
    if (!std::isfinite(s.mean) || !std::isfinite(s.deviation) || s.mean < 0 || s.deviation < 0)
      return internal::bad_answer(which + " has a mean that is none");
    const std::pair<DurationNs*, std::uint64_t> lengths[] = {{&s.total, in.total_ns()},
                                                             {&s.median, in.median_ns()},
                                                             {&s.q90, in.q90_ns()},
                                                             {&s.q99, in.q99_ns()},
                                                             {&s.longest, in.longest_ns()}};
    for (const auto& [to, ns] : lengths) {
      if (ns > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
        return internal::bad_answer(which + " lasts longer than all times");
      *to = DurationNs(static_cast<std::int64_t>(ns));
    }
    std::int64_t end = 0, around = 0;
    if (__builtin_add_overflow(out_.time.from.value, in.longest_begin_ns(), &s.longest_begin.value) ||
        __builtin_add_overflow(s.longest_begin.value, s.longest.value, &end) ||
        __builtin_add_overflow(end, s.longest.value, &around) ||
        __builtin_sub_overflow(s.longest_begin.value, s.longest.value, &around) ||
        __builtin_sub_overflow(s.longest_begin.value, out_.zero.value, &around))
      return internal::bad_answer(which + " lies beyond all times");
    if (Status ok = add_bins(in, which, s); !ok) return ok;
    out_.sums.push_back(std::move(s));
    return {};
  }

  static Status add_bins(const wire::EventsSum& in, const std::string& which, EventSum& s) {
    const int n = in.bin_count_size();
    if (n > kMostSumBins)
      return fail(ErrorCode::kLimit, "the daemon's answer: " + which + " has too many bins");
    if (in.bin_from_ns_size() != n || in.bin_until_ns_size() != n)
      return internal::bad_answer("the lists of the bins of " + which + " differ in length");
    std::uint64_t all = 0;
    for (int i = 0; i < n; ++i) {
      if (in.bin_until_ns(i) > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) ||
          in.bin_from_ns(i) >= in.bin_until_ns(i) || (i > 0 && in.bin_from_ns(i) < in.bin_until_ns(i - 1)))
        return internal::bad_answer("the bins of " + which + " overlap");
      s.bins.push_back({static_cast<std::int64_t>(in.bin_from_ns(i)),
                        static_cast<std::int64_t>(in.bin_until_ns(i)), bounded(in.bin_count(i))});
      all += s.bins.back().count;
    }
    if (n > 0 && all != s.single)
      return internal::bad_answer("the bins of " + which + " hold others than its visits");
    return {};
  }

  Status add_blocks(const wire::EventsBlocks& in) {
    const std::string which = "partition " + std::to_string(out_.blocks.size());
    const int n = in.from_size();
    if (n > kMostSumBlocks)
      return fail(ErrorCode::kLimit, "the daemon's answer: " + which + " has too many blocks");
    for (const int other : {in.to_size(), in.pairs_size(), in.count_size(), in.bytes_size(), in.timed_size(),
                            in.total_ns_size()})
      if (other != n)
        return internal::bad_answer("the lists of the blocks of " + which + " differ in length");
    SumBlocks out{in.p(), in.gain(), in.loss(), in.chosen(), {}};
    if (!(out.p >= 0 && out.p <= 1) || (!out_.blocks.empty() && out.p < out_.blocks.back().p) ||
        !std::isfinite(out.gain) || !std::isfinite(out.loss) || n == 0)
      return internal::bad_answer(which + " is of no p");
    for (int i = 0; i < n; ++i) {
      SumBlock block{in.from(i),           in.to(i),
                     bounded(in.pairs(i)), bounded(in.count(i)),
                     bounded(in.bytes(i)), bounded(in.timed(i)),
                     in.total_ns(i)};
      if (std::max(block.from, block.to) >= out_.resources.size())
        return internal::bad_answer("a block of " + which + " is of nothing that it names");
      if (!std::isfinite(block.total) || block.total < 0)
        return internal::bad_answer("a block of " + which + " has a time that is none");
      out.blocks.push_back(block);
    }
    out_.blocks.push_back(std::move(out));
    return {};
  }

  const wire::EventsAnswer& in_;
  EventSums out_;
};

// All of the data is below it.
bool is_above(const std::string& path, const ViewData& data) {
  if (data.nodes.empty()) return false;
  const std::string& root = data.nodes[0].path;
  return path == "/" || (root.size() > path.size() && root.starts_with(path) && root[path.size()] == '/');
}

double scale_of(std::int64_t ns) {
  return std::log10(static_cast<double>(std::max<std::int64_t>(ns, 1)));
}

}  // namespace

Result<EventSums> event_sums_untrusted(const wire::EventsAnswer& answer) {
  return SumsReader(answer).read();
}

std::int64_t Histogram::edge(std::size_t column) const {
  const double at = columns.empty() ? from
                                    : from + (until - from) * static_cast<double>(column) /
                                                 static_cast<double>(columns.size());
  return static_cast<std::int64_t>(std::llround(std::pow(10.0, std::min(at, 18.0))));
}

Histogram histogram_of(const EventSums& sums, std::size_t columns) {
  Histogram out;
  columns = std::clamp<std::size_t>(columns, 1, 1000);
  double least = std::numeric_limits<double>::infinity(), most = -least;
  for (const EventSum& s : sums.sums)
    for (const LengthBin& b : s.bins) {
      least = std::min(least, scale_of(b.from));
      most = std::max(most, scale_of(b.until));
    }
  if (!(least < most)) return out;
  out.from = std::floor(least * 2) / 2, out.until = std::ceil(most * 2) / 2;  // half powers of ten
  out.columns.resize(columns);
  for (std::uint32_t i = 0; i < sums.sums.size(); ++i)
    for (const LengthBin& b : sums.sums[i].bins) {
      const double middle = (scale_of(b.from) + scale_of(b.until)) / 2;
      const double at = (middle - out.from) / (out.until - out.from) * static_cast<double>(columns);
      auto& column =
          out.columns[static_cast<std::size_t>(std::clamp(at, 0.0, static_cast<double>(columns) - 1))];
      if (column.counts.empty() || column.counts.back().first != i) column.counts.emplace_back(i, 0);
      column.counts.back().second += b.count;
      column.total += b.count;
      out.most = std::max(out.most, column.total);
    }
  return out;
}

MessageMatrix matrix_of(const EventSums& sums, const ViewData& data, const Rows& rows) {
  MessageMatrix out;
  out.size = rows.rows.size();
  std::vector<std::int64_t> row_of_resource;
  for (const std::string& path : sums.resources) {
    const std::vector<std::uint32_t> named = nodes_named(data, path);
    row_of_resource.push_back(named.size() == 1 ? row_of(rows, named[0]) : -1);
  }
  const auto add = [](MessageMatrix::Cell& to, const EventSum& s) {
    to.count += s.count, to.bytes += s.bytes, to.timed += s.single;
    to.total += static_cast<double>(s.total.value);
  };
  for (const EventSum& s : sums.sums) {
    const std::int64_t from = row_of_resource[s.from], to = row_of_resource[s.to];
    if (from < 0 || to < 0) {
      out.unseen += s.count;
      continue;
    }
    add(out.cells[{static_cast<std::uint32_t>(from), static_cast<std::uint32_t>(to)}], s);
    add(out.all, s);
  }
  for (const auto& [at, cell] : out.cells) {
    out.most.count = std::max(out.most.count, cell.count);
    out.most.bytes = std::max(out.most.bytes, cell.bytes);
    out.most.total = std::max(out.most.total, cell.total);
    out.most.timed = std::max(out.most.timed, cell.timed);
  }
  return out;
}

BlockMatrix block_matrix_of(const EventSums& sums, const SumBlocks& partition, const ViewData& data,
                            const Rows& rows) {
  BlockMatrix out;
  out.size = rows.rows.size();
  std::vector<std::int64_t> node_of;
  for (const std::string& path : sums.resources) {
    const std::vector<std::uint32_t> named = nodes_named(data, path);
    node_of.push_back(named.size() == 1 ? std::int64_t{named[0]} : is_above(path, data) ? 0 : -1);
  }
  for (const SumBlock& b : partition.blocks) {
    const std::int64_t from = node_of[b.from], to = node_of[b.to];
    const auto shown = [&](std::int64_t node) {
      return node >= 0 && rows.shows(static_cast<std::uint32_t>(node));
    };
    if (!shown(from) || !shown(to)) {
      out.unseen += b.count;
      continue;
    }
    BlockMatrix::Block block;
    block.sender = static_cast<std::uint32_t>(from), block.receiver = static_cast<std::uint32_t>(to);
    block.from = rows.first_row[block.sender], block.from_until = rows.last_row[block.sender];
    block.to = rows.first_row[block.receiver], block.to_until = rows.last_row[block.receiver];
    block.pairs = b.pairs;
    block.sum = {b.count, b.bytes, b.total, b.timed};
    out.blocks.push_back(block);
  }
  return out;
}

std::size_t partition_at(const EventSums& sums, std::optional<double> p) {
  std::size_t at = 0;
  for (std::size_t i = 0; i < sums.blocks.size(); ++i)
    if (p ? sums.blocks[i].p <= *p : sums.blocks[i].chosen) at = i;
  return at;
}

}  // namespace margay::scene
