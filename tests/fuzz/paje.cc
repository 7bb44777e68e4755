// A Pajé trace: what a consumer is promised holds whatever the trace is; or it is refused with a sentence
// that names file and line.
//   input: a letter whose bits say how to read (1: keep going, 2: lateness of 1 s, 4: 3 bytes a read, 8:
//   behind the tests' header), then the trace
#include "paje.h"

#include <limits>
#include <map>
#include <vector>

#include "fuzz.h"
#include "margay/base/text.h"
#include "support/paje_header.h"

namespace {

using namespace margay;

class Checker final : public trace::Consumer {
 public:
  Status on_name(std::uint16_t index, const trace::Name& name) override {
    FUZZ_CHECK(index == names_.size(), "names are numbered in order");
    FUZZ_CHECK(name.text.size() < 10'000, "names are bounded");
    names_.push_back(name.kind);
    return {};
  }
  Status on_leaf(LeafIndex index, const trace::Leaf& leaf) override {
    FUZZ_CHECK(index.value == leaves_.size(), "leaves are numbered in order");
    FUZZ_CHECK(leaf.base && *leaf.base < names_.size(), "their base is known");
    FUZZ_CHECK(leaf.attributes.size() <= 256, "attributes are bounded");
    leaves_.emplace_back();
    return {};
  }
  Status on_records(LeafIndex leaf, std::span<const EventRecord> records) override {
    FUZZ_CHECK(leaf.value < leaves_.size(), "the leaf is known");
    auto& l = leaves_[leaf.value];
    for (const EventRecord& r : records) {
      FUZZ_CHECK(TimeNs(r.time_ns) >= covered_, "no record before what is covered");
      FUZZ_CHECK(r.time_ns >= last_, "in the order of time");
      last_ = r.time_ns;
      FUZZ_CHECK(!l.ended, "no record behind the end");
      FUZZ_CHECK(l.began == (r.kind != MARGAY_BEGIN), "the first is the begin");
      l.began = true;
      l.ended = r.kind == MARGAY_END;
      if (r.kind == MARGAY_BEGIN || r.kind == MARGAY_END) continue;
      FUZZ_CHECK(r.state < names_.size(), "the name is known");
      const auto kind = names_[r.state];
      if (r.kind == MARGAY_ENTER) l.stack.push_back(r.state);
      if (r.kind == MARGAY_LEAVE) {
        FUZZ_CHECK(!l.stack.empty() && l.stack.back() == r.state, "what is left is open, and innermost");
        l.stack.pop_back();
      }
      FUZZ_CHECK((kind == trace::Name::Kind::kState) == (r.kind == MARGAY_ENTER || r.kind == MARGAY_LEAVE),
                 "states are names of states");
      if (r.kind == MARGAY_LINK_BEGIN || r.kind == MARGAY_LINK_END)
        FUZZ_CHECK((++links_[{r.tag, r.kind}] == 1), "a link begins and ends once");
    }
    return {};
  }
  Status on_covered(TimeNs t) override {
    FUZZ_CHECK(t >= covered_, "covered grows");
    covered_ = t;
    return {};
  }
  void finish() const {
    for (const auto& l : leaves_) FUZZ_CHECK(l.ended, "every leaf ends");
  }

 private:
  struct LeafPart {
    bool began = false, ended = false;
    std::vector<std::uint16_t> stack;
  };
  std::vector<trace::Name::Kind> names_;
  std::vector<LeafPart> leaves_;
  std::map<std::pair<std::int32_t, unsigned>, int> links_;
  std::int64_t last_ = std::numeric_limits<std::int64_t>::min();
  TimeNs covered_{std::numeric_limits<std::int64_t>::min()};
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input in(data, size);
  const unsigned how = in.u8();
  std::string text = (how & 8) != 0 ? test_support::paje_header() : std::string();
  text += in.rest();
  trace::ReadOptions options;
  options.keep_going = (how & 1) != 0;
  if ((how & 2) != 0) options.lateness = seconds(1);
  std::uint64_t told = 0;
  const auto check_sentence = [](const std::string& e) {
    FUZZ_CHECK(e.starts_with("t:") && e.size() > 3 && e[2] >= '1' && e[2] <= '9', "it names its line");
    FUZZ_CHECK(e.size() < 1024, "it is a sentence");
    FUZZ_CHECK(clean_utf8(e) == e, "and safe to print");
  };
  options.problem = [&](const std::string& sentence) {
    ++told;
    check_sentence(sentence);
  };
  auto input = trace::Input::of_text("t", text, (how & 4) != 0 ? 3 : 4096);
  static_cast<void>(trace::paje::detect(*input.head()));
  Checker checker;
  const auto counts = trace::paje::read(input, options, checker);
  if (!counts) {
    FUZZ_CHECK(!options.keep_going, "going on, nothing in a small trace ends it");
    check_sentence(counts.error().message);
    return 0;
  }
  checker.finish();
  FUZZ_CHECK(told == std::min(counts->rejected + counts->late, trace::ReadOptions::kMostTold),
             "the first are told");
  FUZZ_CHECK(counts->bytes == text.size(), "all of it was read");
  return 0;
}
