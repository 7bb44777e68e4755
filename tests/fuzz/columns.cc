// wire::decode_columns_untrusted and decode_changes_untrusted on any bytes; what it accepts, and any records
// at all, come back from a trip.
//   input: u32 count, then columns; the same bytes are taken as records too
#include <span>
#include <vector>

#include "fuzz.h"
#include "margay/wire/columns.h"

namespace {

using margay::EventRecord;

void expect_same(const std::vector<EventRecord>& records) {
  std::string columns;
  margay::wire::encode_columns(records, columns);
  std::vector<EventRecord> back;
  const auto count = static_cast<std::uint32_t>(records.size());
  FUZZ_CHECK(margay::wire::decode_columns_untrusted(columns, count, back), "what was encoded decodes");
  FUZZ_CHECK(back.size() == records.size(), "decode(encode(x)) has x's size");
  if (!records.empty())
    FUZZ_CHECK(std::memcmp(back.data(), records.data(), records.size() * sizeof(EventRecord)) == 0,
               "decode(encode(x)) == x");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  margay::fuzz::Input in(data, size);
  const auto count = in.integer<std::uint32_t>();
  const std::string_view bytes = in.rest();
  std::vector<EventRecord> records;
  const auto ok = margay::wire::decode_columns_untrusted(bytes, count, records);
  FUZZ_CHECK(records.size() == (ok ? count : 0), "as many records as were asked for, or none");
  margay::wire::Changes changes;
  FUZZ_CHECK(margay::wire::decode_changes_untrusted(bytes, count, changes).has_value() == ok.has_value(),
             "both ways refuse the same");
  FUZZ_CHECK(changes.time_ns.size() == records.size(), "and find as many");
  for (std::size_t i = 0; i < records.size(); ++i)
    FUZZ_CHECK(changes.time_ns[i] == records[i].time_ns && changes.state[i] == records[i].state &&
                   changes.kind[i] == records[i].kind,
               "and the same");
  // A constant column has no bytes, so a few bytes make many records: enough of them is enough.
  if (ok && count <= 4096) expect_same(records);

  std::vector<EventRecord> raw(bytes.size() / sizeof(EventRecord));
  if (!raw.empty()) std::memcpy(raw.data(), bytes.data(), raw.size() * sizeof(EventRecord));
  for (EventRecord& r : raw) r.flags = 0;  // not sent
  expect_same(raw);
  return 0;
}
