#include "captured_job.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>
#include <random>
#include <set>

namespace margay::test {
namespace {

// Between two repetitions, so that the records of one are surely before those of the next.
constexpr std::int64_t kSeamNs = 40'000'000;
constexpr std::int64_t kHeadNs = 700'000'000;  // MPI_Init and what belongs to it
constexpr std::int64_t kTailNs = 400'000'000;
// Copies are a little later each, or their cells would be the same.
constexpr std::int64_t kCopyNs = 137'000;
// The time of the first record stands behind the version byte (margay/wire/columns.h).
constexpr std::size_t kColumnsTime = 1;

std::uint64_t source_of(const Words& w) {
  return std::visit([](const auto& x) { return x.source(); }, w);
}

void move_columns(std::string& columns, std::int64_t by) {
  std::int64_t t;
  if (columns.size() < kColumnsTime + sizeof t) return;
  std::memcpy(&t, columns.data() + kColumnsTime, sizeof t);
  t += by;
  std::memcpy(columns.data() + kColumnsTime, &t, sizeof t);
}

void move_times(Words& words, std::int64_t by) {
  if (auto* hello = std::get_if<wire::Hello>(&words)) {
    hello->mutable_clock()->set_monotonic_ns(hello->clock().monotonic_ns() + by);
    hello->mutable_clock()->set_realtime_ns(hello->clock().realtime_ns() + by);
  } else if (auto* batch = std::get_if<wire::EventBatch>(&words)) {
    batch->set_covered_until_ns(batch->covered_until_ns() + by);
    if (batch->count() > 0) move_columns(*batch->mutable_columns(), by);
  } else {
    auto& goodbye = std::get<wire::Goodbye>(words);
    goodbye.set_end_ns(goodbye.end_ns() + by);
  }
}

std::uint64_t copied_source(std::uint64_t source, std::uint32_t copy) {
  return source ^ (copy * 0x9E3779B97F4A7C15u);
}

}  // namespace

Result<CapturedJob> CapturedJob::load(const std::string& path, const JobOptions& options) {
  CapturedJob job;
  if (auto ok = job.read(path); !ok) return tl::unexpected(ok.error());
  job.write_script(options);
  return job;
}

Status CapturedJob::read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return fail(ErrorCode::kIo, path + ": cannot be read");
  std::map<std::pair<std::uint64_t, std::uint32_t>, std::uint64_t> next;
  std::set<std::uint64_t> sources, gone;
  std::int64_t begin = 0;
  for (;;) {
    char head[16];
    in.read(head, sizeof head);
    if (in.gcount() == 0) break;
    std::int64_t at;
    std::uint32_t from, size;
    std::memcpy(&at, head, 8);
    std::memcpy(&from, head + 8, 4);
    std::memcpy(&size, head + 12, 4);
    if (in.gcount() != sizeof head || from > 1024 || size > (64u << 20))
      return fail(ErrorCode::kCorrupt, path + ": is not a capture");
    std::string body(size, '\0');
    in.ignore(from);
    in.read(body.data(), size);
    wire::ToCollector m;
    if (!in || !m.ParseFromString(body)) return fail(ErrorCode::kCorrupt, path + ": is cut short");
    const auto keep = [&](Words words) {
      if (begin == 0) begin = at;
      move_times(words, -begin);  // records are older than their message: some are before 0
      said_.push_back({at - begin, std::move(words)});
    };
    if (m.has_hello()) {
      sources.insert(m.hello().source());
      keep(m.hello());
    }
    for (const auto& b : m.batches()) {
      // Each record once: what was sent again is left out.
      auto& n = next[{b.source(), b.stream()}];
      if (!sources.contains(b.source()) || gone.contains(b.source()) || b.first() != n) continue;
      n += b.count();
      records_ += b.count();
      keep(b);
    }
    if (m.has_goodbye() && gone.insert(m.goodbye().source()).second) keep(m.goodbye());
  }
  if (sources.empty() || gone != sources)
    return fail(ErrorCode::kInvalidArgument, path + ": holds no process from its hello to its goodbye");
  processes_ = static_cast<std::uint32_t>(sources.size());
  duration_ = said_.back().at;
  if (duration_ < kHeadNs + kTailNs + kHeadNs)
    return fail(ErrorCode::kInvalidArgument, path + ": is too short");
  return {};
}

void CapturedJob::write_script(const JobOptions& options) {
  loop_begin_ = kHeadNs;
  const std::int64_t loop_end = duration_ - kTailNs;
  loop_length_ = loop_end - loop_begin_ + kSeamNs;
  while (duration_ + loops_ * loop_length_ < options.at_least.value) ++loops_;

  // Records of the middle, by stream: repetitions have ordinals of their own.
  std::map<std::pair<std::uint64_t, std::uint32_t>, std::uint64_t> middle;
  std::uint64_t middle_records = 0;
  for (const Said& s : said_)
    if (const auto* b = std::get_if<wire::EventBatch>(&s.words);
        b != nullptr && s.at >= loop_begin_ && s.at < loop_end) {
      middle[{b->source(), b->stream()}] += b->count();
      middle_records += b->count();
    }
  const auto add = [&](std::uint32_t i, std::uint32_t loop, std::int64_t shift) {
    for (std::uint32_t copy = 0; copy < options.copies; ++copy) {
      const std::int64_t by = shift + copy * kCopyNs;
      script_.push_back({said_[i].at + by, i, copy, loop, by});
    }
  };
  const auto count = static_cast<std::uint32_t>(said_.size());
  for (std::uint32_t loop = 0; loop <= loops_; ++loop)
    for (std::uint32_t i = 0; i < count; ++i) {
      const bool head = said_[i].at < loop_begin_, tail = said_[i].at >= loop_end;
      if ((head && loop > 0) || (tail && loop < loops_)) continue;
      // A hello or goodbye in the middle is said once.
      if (!head && !tail && loop > 0 && !std::holds_alternative<wire::EventBatch>(said_[i].words)) continue;
      add(i, loop, loop * loop_length_);
    }
  // Ordinals and counters of later repetitions.
  for (const auto& [key, n] : middle) {
    for (Said& s : said_) {
      if (auto* g = std::get_if<wire::Goodbye>(&s.words); g != nullptr && g->source() == key.first)
        for (auto& total : *g->mutable_streams())
          if (total.stream() == key.second) {
            total.set_recorded(total.recorded() + loops_ * n);
            total.set_produced(total.produced() + loops_ * n);
          }
    }
  }
  middle_ = std::move(middle);
  records_ = (records_ + loops_ * middle_records) * options.copies;
  processes_ *= options.copies;
  duration_ += loops_ * loop_length_ + options.copies * kCopyNs;

  // Waves: who is late says everything at the end of it.
  std::mt19937_64 random(options.seed);
  std::set<std::uint64_t> sources;
  for (const Line& l : script_) sources.insert(copied_source(source_of(said_[l.said].words), l.copy));
  if (options.late_period.value > 0) {
    const std::int64_t period = options.late_period.value;
    for (std::int64_t t = kHeadNs + period; t + period < duration_ - kTailNs; t += period)
      waves_.push_back({t, t + period * 2 / 3});
    for (const Wave& wave : waves_) {
      std::set<std::uint64_t> late;
      for (const std::uint64_t s : sources)
        if (random() % 4 == 0) late.insert(s);
      if (late.empty()) late.insert(*sources.begin());
      for (Line& l : script_)
        if (l.due >= wave.begin && l.due < wave.end &&
            late.contains(copied_source(source_of(said_[l.said].words), l.copy)))
          l.due = wave.end;
    }
  }
  std::stable_sort(script_.begin(), script_.end(),
                   [](const Line& a, const Line& b) { return a.due < b.due; });
}

bool CapturedJob::due(std::int64_t since_begin) const {
  return next_ < script_.size() && script_[next_].due <= since_begin;
}

Words CapturedJob::take(TimeNs begin) {
  const Line& line = script_[next_++];
  Words words = said_[line.said].words;
  move_times(words, begin.value + line.shift);
  const std::uint64_t source = source_of(words);
  std::visit([&](auto& w) { w.set_source(copied_source(source, line.copy)); }, words);
  if (auto* hello = std::get_if<wire::Hello>(&words); hello != nullptr && line.copy > 0) {
    auto& a = *hello->mutable_attributes();
    for (const char* key : {"rank", "ompi_rank", "pmix_rank", "pid"})
      if (const auto it = a.find(key); it != a.end())
        it->second = std::to_string(std::stoll(it->second) +
                                    (*key == 'p' && key[1] == 'i' ? 100'000 : 1'000) * line.copy);
  }
  if (auto* batch = std::get_if<wire::EventBatch>(&words)) {
    const std::uint64_t more = line.loop * middle_[{source, batch->stream()}];
    batch->set_first(batch->first() + more);
    batch->set_produced(batch->produced() + more);
    batch->set_recorded(batch->recorded() + more);
  }
  return words;
}

}  // namespace margay::test
