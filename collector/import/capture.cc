// A capture as a format of traces that can be imported (capture.h tells what is read).
//
// What a run counted and went on without (messages that do not decode, records that make no sense or were
// lost) is counted and told here, with or without ReadOptions::keep_going; `lateness` has no meaning, for the
// messages say themselves what is covered.
#include <algorithm>

#include "margay/base/text.h"
#include "margay/import/format.h"
#include "margay/trace/capture.h"

namespace margay::trace::capture {
namespace {

// Passes everything on and counts what goes by.
class Counting final : public Consumer {
 public:
  Counting(Consumer& next, ReadCounts& counts) : next_(next), counts_(counts) {}

  Status on_name(std::uint16_t index, const Name& name) override { return next_.on_name(index, name); }
  Status on_leaf(LeafIndex index, const Leaf& leaf) override {
    ++counts_.containers;
    return next_.on_leaf(index, leaf);
  }
  Status on_records(LeafIndex leaf, std::span<const EventRecord> records) override {
    counts_.records += records.size();
    counts_.states += static_cast<std::uint64_t>(std::count_if(
        records.begin(), records.end(), [](const EventRecord& r) { return r.kind == MARGAY_ENTER; }));
    return next_.on_records(leaf, records);
  }
  Status on_covered(TimeNs t) override { return next_.on_covered(t); }

 private:
  Consumer& next_;
  ReadCounts& counts_;
};

void tell(const std::string& name, const CaptureCounts& c, const ReadOptions& options) {
  const auto say = [&](std::uint64_t n, const char* what) {
    if (n > 0 && options.problem) options.problem(name + ": " + grouped(n) + " " + what);
  };
  say(c.cut_off, "bytes at the end are an incomplete message; all before them was read");
  say(c.undecodable, "messages cannot be decoded and were left out");
  say(c.foreign, "messages are of another run or version and were left out");
  say(c.nameless, "messages are of sources that have not introduced themselves and were left out");
  say(c.rejected, "records are invalid and were left out");
  say(c.lost, "records were lost; the time that they would describe is Unknown");
}

}  // namespace

bool detect(std::string_view head) {
  return looks_like_capture(head);
}

// Errors: those of read_capture.
Result<ReadCounts> read(Input& input, const ReadOptions& options, Consumer& consumer) {
  ReadCounts counts;
  Counting counting(consumer, counts);
  CaptureOptions how;
  if (options.step)
    how.step = [&](std::uint64_t bytes) {
      counts.bytes = bytes;
      return options.step(counts);
    };
  const auto read = read_capture(input, how, counting);
  if (!read) return tl::unexpected(read.error());
  tell(input.name(), *read, options);
  counts.bytes = read->bytes + read->cut_off;
  counts.rejected = read->rejected;
  counts.begin = read->begin;
  counts.end = read->end;
  return counts;
}

}  // namespace margay::trace::capture
