#include "seeds.h"

#include <filesystem>
#include <fstream>

#include "margay/wire/columns.h"

namespace margay::fuzz {

namespace {
std::filesystem::path g_corpus;
}

void set_corpus(const std::string& path) {
  g_corpus = path;
}

void seed(const std::string& target, const std::string& name, const std::string& bytes) {
  std::filesystem::create_directories(g_corpus / target);
  std::ofstream(g_corpus / target / ("seed-" + name), std::ios::binary) << bytes;
}

EventRecord record(std::uint8_t kind, std::uint16_t state, std::int64_t ms, std::uint64_t bytes) {
  return {5'000'000'000 + ms * 1'000'000, bytes, MARGAY_NO_PEER, MARGAY_NO_TAG, 0, state, kind, 0};
}

// A rank that sends and receives from `ms` on, with a region and a gap.
std::vector<EventRecord> life(std::int64_t ms, bool whole) {
  std::vector<EventRecord> r = {record(MARGAY_ENTER, 1, ms),
                                record(MARGAY_LEAVE, 1, ms + 20, 800),
                                record(MARGAY_REGION_ENTER, 4, ms + 30),
                                record(MARGAY_ENTER, 2, ms + 40),
                                record(MARGAY_LEAVE, 2, ms + 190, 4096),
                                record(MARGAY_REGION_LEAVE, 4, ms + 200),
                                record(MARGAY_GAP, 0, ms + 260, 12),
                                record(MARGAY_STACK, 1, ms + 260),
                                record(MARGAY_SUM, 0, ms + 270),
                                record(MARGAY_SUM_MOVED, 1, ms + 270),
                                record(MARGAY_SUM_OPEN, 1, ms + 270),
                                record(MARGAY_SUM_INSIDE, 1, ms + 270),
                                record(MARGAY_LEAVE, 1, ms + 270)};
  if (whole) {
    r.push_back(record(MARGAY_ENTER, 3, ms + 280));
    r.push_back(record(MARGAY_LEAVE, 3, ms + 300));
  }
  return r;
}

std::string columns_of(const std::vector<EventRecord>& records) {
  std::string columns;
  wire::encode_columns(records, columns);
  return columns;
}

}  // namespace margay::fuzz
