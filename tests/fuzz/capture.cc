// A capture of any bytes, through the reader and the re-slicer: no crash, nothing unbounded, and what the
// reader promises its consumer holds; in parts it tells the same leaves and as many records.
//   input: the file
#include <optional>
#include <vector>

#include "fuzz.h"
#include "margay/trace/capture.h"
#include "margay/trace/resampler.h"

namespace {

using namespace margay;

class Judge final : public trace::Consumer {
 public:
  Status on_name(std::uint16_t index, const trace::Name& name) override {
    FUZZ_CHECK(index == names_, "names are numbered in order");
    FUZZ_CHECK(!name.text.empty(), "a name is not empty");
    ++names_;
    return {};
  }
  Status on_leaf(LeafIndex index, const trace::Leaf&) override {
    FUZZ_CHECK(index.value == leaves, "leaves are numbered in order");
    ++leaves;
    return {};
  }
  Status on_records(LeafIndex leaf, std::span<const EventRecord> some) override {
    FUZZ_CHECK(leaf.value < leaves, "records are of a leaf that was told");
    for (const EventRecord& r : some) {
      FUZZ_CHECK(r.state < names_ || r.state == 0, "records have names that were told");
      FUZZ_CHECK(r.kind >= MARGAY_ENTER && r.kind <= MARGAY_END, "kinds are those of a run");
    }
    records += some.size();
    return {};
  }
  Status on_covered(TimeNs t) override {
    FUZZ_CHECK(!covered_ || t >= *covered_, "what is covered grows");
    covered_ = t;
    return {};
  }
  std::uint64_t leaves = 0, records = 0;

 private:
  std::uint64_t names_ = 0;
  std::optional<TimeNs> covered_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes = fuzz::text_of(data, size);
  static_cast<void>(trace::looks_like_capture(bytes));
  Judge whole;
  const auto counts = trace::read_capture_bytes(bytes, "fuzz", {}, whole);
  // A constant column has no bytes: a small file can claim many records. Enough of them is enough.
  if (!counts || counts->records > 100'000) return 0;
  FUZZ_CHECK(counts->bytes + counts->cut_off == size, "all bytes are accounted for");
  FUZZ_CHECK(counts->leaves == whole.leaves && counts->records == whole.records, "what is told is counted");
  std::uint64_t records = 0;
  for (std::uint32_t part = 0; part < 2; ++part) {
    Judge judge;
    trace::CaptureOptions options;
    options.part = part;
    options.parts = 2;
    FUZZ_CHECK(trace::read_capture_bytes(bytes, "fuzz", options, judge),
               "a part can be read as the whole can");
    FUZZ_CHECK(judge.leaves == whole.leaves, "a part tells of all leaves");
    records += judge.records;
  }
  FUZZ_CHECK(records == whole.records, "the parts are the whole");

  if (!counts->begin || counts->end <= *counts->begin) return 0;
  const auto grid = slicer::Grid::make(*counts->begin, counts->end, 3);
  if (!grid) return 0;
  trace::Resampler model(slicer::Reslicer::Options{*grid, {}, {}, std::uint64_t{64} << 20});
  if (!trace::read_capture_bytes(bytes, "fuzz", {}, model) || !model.finish()) return 0;
  const slicer::Reslicer& r = model.cells();
  for (std::uint32_t l = 0; l < r.leaves(); ++l)
    for (std::uint32_t k = 0; k < 3; ++k) {
      std::uint64_t sum = r.not_there(LeafIndex(l), k);
      for (std::size_t c = 0; c < r.columns(); ++c) sum += r.count(LeafIndex(l), k, c);
      FUZZ_CHECK(sum == static_cast<std::uint64_t>((grid->boundary(k + 1) - grid->boundary(k)).value),
                 "a row sums to its slice");
    }
  return 0;
}
