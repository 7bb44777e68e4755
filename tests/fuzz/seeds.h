// What makes the seeds of the corpora: where they go, and records to make them of.
#pragma once

#include <string>
#include <vector>

#include "margay/base/record.h"

namespace margay::fuzz {

void set_corpus(const std::string& path);
void seed(const std::string& target, const std::string& name, const std::string& bytes);

EventRecord record(std::uint8_t kind, std::uint16_t state, std::int64_t ms, std::uint64_t bytes = 0);
// A rank that sends and receives from `ms` on, with a region and a gap.
std::vector<EventRecord> life(std::int64_t ms, bool whole);
std::string columns_of(const std::vector<EventRecord>& records);

// Of the target archive_values.
void archive_seeds();

}  // namespace margay::fuzz
