// A trace of accesses to memory, or a list of structures: what a consumer is promised holds whatever it is;
// or it is refused with a sentence that names file and line.
//   input: a letter whose lowest two bits say what it is (0: lackey, 1: CSV, 2: perf script, 3: structures),
//   and the others how it is read (4: keep going, 8: sums, 16: a pipe, 32: 3 bytes a read), then the text
#include <limits>
#include <memory>
#include <set>
#include <vector>

#include "fuzz.h"
#include "margay/base/text.h"
#include "margay/import/format.h"
#include "memory_structures.h"

namespace {

using namespace margay;

constexpr DurationNs kSlice(10'000);

class Checker final : public trace::Consumer {
 public:
  Status on_name(std::uint16_t index, const trace::Name& name) override {
    FUZZ_CHECK(index == names_.size(), "names are numbered in order");
    names_.push_back(name.kind);
    return {};
  }
  Status on_leaf(LeafIndex index, const trace::Leaf& leaf) override {
    FUZZ_CHECK(index.value == leaves_.size(), "leaves are numbered in order");
    FUZZ_CHECK(leaf.base && *leaf.base < names_.size(), "their base is known");
    leaves_.emplace_back();
    leaves_.back().attributes = leaf.attributes;
    return {};
  }
  Status on_attributes(LeafIndex leaf, const model::Attributes& attributes) override {
    FUZZ_CHECK(leaf.value < leaves_.size(), "the leaf is known");
    leaves_[leaf.value].attributes = attributes;
    return {};
  }
  Status on_records(LeafIndex leaf, std::span<const EventRecord> records) override {
    FUZZ_CHECK(leaf.value < leaves_.size(), "the leaf is known");
    auto& l = leaves_[leaf.value];
    for (const EventRecord& r : records) {
      FUZZ_CHECK(TimeNs(r.time_ns) >= covered_, "no record before what is covered");
      FUZZ_CHECK(r.time_ns >= l.last, "in the order of time");
      l.last = r.time_ns;
      FUZZ_CHECK(!l.ended, "no record behind the end");
      FUZZ_CHECK(l.began == (r.kind != MARGAY_BEGIN), "the first is the begin");
      l.began = true;
      l.ended = r.kind == MARGAY_END;
      if (r.kind == MARGAY_BEGIN || r.kind == MARGAY_END) continue;
      FUZZ_CHECK(r.state < names_.size(), "the name is known");
      FUZZ_CHECK((names_[r.state] == trace::Name::Kind::kVariable) == (r.kind == MARGAY_VARIABLE),
                 "variables are names of variables");
      if (r.kind == MARGAY_ENTER) {
        FUZZ_CHECK(l.open < 0, "one state at a time");
        l.open = r.state;
        l.since = r.time_ns;
      } else if (r.kind == MARGAY_LEAVE) {
        FUZZ_CHECK(l.open == r.state, "what is left is open");
        FUZZ_CHECK(r.time_ns - l.since <= 1000, "an access lasts a tick at most");
        l.open = -1;
        ++visits;
      } else if (r.kind == MARGAY_SUM) {
        FUZZ_CHECK(l.open < 0, "sums stand between visits");
        if (r.state != 0) visits += r.comm;
      }
    }
    return {};
  }
  Status on_covered(TimeNs t) override {
    FUZZ_CHECK(t >= covered_, "covered grows");
    covered_ = t;
    return {};
  }
  void finish() const {
    std::set<std::string> paths;
    for (const auto& l : leaves_) {
      FUZZ_CHECK(l.ended && l.open < 0, "every leaf ends");
      FUZZ_CHECK(l.attributes.size() <= 256 && l.attributes.contains("address"), "it is somewhere");
      std::string path;
      for (int i = 1; l.attributes.contains("path" + std::to_string(i)); ++i)
        path += "/" + l.attributes.at("path" + std::to_string(i));
      FUZZ_CHECK(clean_utf8(path) == path, "safe to print");
      paths.insert(path);
    }
    FUZZ_CHECK(paths.size() == leaves_.size(), "each has a path of its own");
  }
  std::uint64_t visits = 0;

 private:
  struct LeafPart {
    bool began = false, ended = false;
    int open = -1;
    std::int64_t since = 0, last = std::numeric_limits<std::int64_t>::min();
    model::Attributes attributes;
  };
  std::vector<trace::Name::Kind> names_;
  std::vector<LeafPart> leaves_;
  TimeNs covered_{std::numeric_limits<std::int64_t>::min()};
};

void check_sentence(const std::string& e) {
  FUZZ_CHECK(e.starts_with("t:") && e.size() > 3 && e[2] >= '1' && e[2] <= '9', "it names its line");
  FUZZ_CHECK(e.size() < 1024, "it is a sentence");
  FUZZ_CHECK(clean_utf8(e) == e, "and safe to print");
}

void check_structures(trace::Input& input) {
  const auto read = trace::memory::Structures::read(input);
  if (!read) return check_sentence(read.error().message);
  std::uint64_t end = 0;
  for (const auto& s : read->within(0, std::numeric_limits<std::uint64_t>::max())) {
    FUZZ_CHECK(s.begin >= end && s.end > s.begin, "segments ascend, and do not overlap");
    end = s.end;
    const auto& of = (*read)[s.structure];
    FUZZ_CHECK(of.begin <= s.begin && s.end <= of.end, "and are parts of their structures");
    FUZZ_CHECK(!of.name.empty() && clean_utf8(of.name) == of.name, "which have names");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr const char* kFormats[] = {"lackey", "accesses", "perf"};
  fuzz::Input in(data, size);
  const unsigned how = in.u8();
  const std::string text(in.rest());
  auto input = trace::Input::of_text("t", text, (how & 32) != 0 ? 3 : 4096);
  for (const trace::Format& f : trace::formats()) static_cast<void>(f.detect(*input.head()));
  if ((how & 3) == 3) {
    check_structures(input);
    return 0;
  }
  if ((how & 16) != 0) {
    const auto whole = std::make_shared<trace::Input>(std::move(input));
    input = trace::Input(
        "t", [whole](std::span<char> into) { return whole->read(into); }, 0);
  }
  trace::ReadOptions options;
  options.keep_going = (how & 4) != 0;
  options.sums = (how & 8) != 0;
  options.slice = kSlice;
  std::uint64_t told = 0;
  options.problem = [&](const std::string& sentence) {
    ++told;
    check_sentence(sentence);
  };
  const auto format = trace::choose_format(kFormats[how & 3], input);
  Checker checker;
  const auto counts = (*format)->read(input, options, checker);
  if (!counts) {
    FUZZ_CHECK(!options.keep_going, "going on, nothing in a small trace ends it");
    check_sentence(counts.error().message);
    return 0;
  }
  checker.finish();
  FUZZ_CHECK(checker.visits == counts->states, "each access is a visit");
  FUZZ_CHECK(told == std::min(counts->rejected + counts->late, trace::ReadOptions::kMostTold),
             "the first are told");
  FUZZ_CHECK(counts->bytes == text.size(), "all of it was read");
  return 0;
}
