// What the raw events of an archive take, and what it costs to write and read them, beside the same columns
// in one plain zstd frame each (as version 1 of raw values kept them) in the same run.
//
//   raw_bench ARCHIVE [events]     at most so many events are looked at; default: 4000000
//
// Of a run that was archived exactly, also what it would take with store.resolution = "16ns".
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "compress.h"
#include "margay/store/archive.h"
#include "margay/trace/raw_block.h"
#include "margay/wire/columns.h"
#include "record_codec.h"

namespace margay::store {
namespace {

constexpr int kRepeats = 5;
constexpr double kKeyBytes = 20;

double best_seconds(const std::function<bool()>& work) {
  double best = std::numeric_limits<double>::max();
  for (int i = 0; i < kRepeats; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    if (!work()) return -1;
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return best;
}

bool measure(const std::vector<RawBlock>& blocks, const char* name) {
  double events = 0;
  for (const RawBlock& b : blocks) events += b.count;
  std::vector<std::string> values(blocks.size()), plain(blocks.size());
  std::string columns;
  std::vector<EventRecord> records;
  RawBlock back;
  const auto each = [&](const std::function<bool(std::size_t)>& one) {
    return best_seconds([&] {
      for (std::size_t i = 0; i < blocks.size(); ++i)
        if (!one(i)) return false;
      return true;
    });
  };
  const double encode = each([&](std::size_t i) { return encode_raw(blocks[i], values[i]).has_value(); });
  const double encode_plain = each([&](std::size_t i) {
    plain[i].clear();
    return compress(blocks[i].columns, plain[i]).has_value();
  });
  const double decode = each([&](std::size_t i) {
    return decode_raw_untrusted(values[i], back) && back.columns == blocks[i].columns &&
           wire::decode_columns_untrusted(back.columns, back.count, records);
  });
  const double decode_plain = each([&](std::size_t i) {
    return expand_untrusted(plain[i], blocks[i].columns.size(), columns) && columns == blocks[i].columns &&
           wire::decode_columns_untrusted(columns, blocks[i].count, records);
  });
  if (std::min({encode, encode_plain, decode, decode_plain}) <= 0) return false;
  double bytes = 0, plain_bytes = 0;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    bytes += static_cast<double>(values[i].size()) + kKeyBytes;
    plain_bytes += static_cast<double>(plain[i].size()) + kKeyBytes;
  }
  std::printf("%-5s %5.3f bytes an event, key included (plain zstd %.3f)\n", name, bytes / events,
              plain_bytes / events);
  std::printf(
      "      encode %6.1f M events/s, %.2f x plain; decode to records %6.1f M events/s, %.2f x plain\n",
      events / encode / 1e6, encode_plain / encode, events / decode / 1e6, decode_plain / decode);
  return true;
}

int run(const std::string& path, std::uint64_t most) {
  const auto archive = Archive::open(path, Mode::kReadOnly);
  if (!archive) {
    std::fprintf(stderr, "%s\n", archive.error().message.c_str());
    return 1;
  }
  std::vector<RawBlock> blocks;
  std::uint64_t events = 0;
  constexpr std::int64_t kFirst = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::max();
  const Status read = (*archive)->read_raw({}, TimeNs(kFirst), TimeNs(kLast), [&](RawBlock&& b) {
    events += b.count;
    blocks.push_back(std::move(b));
    return events < most;
  });
  if (!read || events == 0) {
    std::fprintf(stderr, "%s\n", read ? "no raw events in it" : read.error().message.c_str());
    return 1;
  }
  std::printf("%s: %zu blocks, %llu events\n", path.c_str(), blocks.size(),
              static_cast<unsigned long long>(events));
  bool ok = measure(blocks, "kept");
  std::vector<EventRecord> scratch;
  for (RawBlock& b : blocks) ok = ok && trace::round_times(b, DurationNs(16), scratch).has_value();
  ok = ok && measure(blocks, "16ns");
  return ok ? 0 : 1;
}

}  // namespace
}  // namespace margay::store

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: raw_bench ARCHIVE [events]\n");
    return 2;
  }
  return margay::store::run(argv[1], argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 4'000'000);
}
