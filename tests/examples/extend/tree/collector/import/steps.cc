// An importer, as an example: a text whose first line is "# steps", and then a line for each change of state,
//
//   1.5 rank0 solve
//
// "at 1.5 s rank0 begins to solve", in the order of the times. A resource exists from its first line to the
// last line of all. The first line that is wrong ends it: what else ReadOptions asks for, paje.cc does.
#include <algorithm>
#include <cstdlib>
#include <map>
#include <span>
#include <string>

#include "margay/base/text.h"
#include "margay/import/format.h"

namespace margay::trace::steps {
namespace {

constexpr std::string_view kFirstLine = "# steps\n";
constexpr std::size_t kLongest = 16 << 20;  // of a file, which is read whole

class Reader {
 public:
  Reader(const std::string& file, Consumer& consumer) : file_(file), consumer_(consumer) {}

  Status take(std::string_view line) {
    ++counts_.lines;
    if (line.empty() || line.front() == '#') return {};
    char* end = nullptr;
    const std::string text(line);
    const double seconds = std::strtod(text.c_str(), &end);
    const std::string rest(end);
    const std::size_t gap = rest.find(' ', 1);
    if (end == text.c_str() || rest.front() != ' ' || gap == std::string::npos)
      return wrong("expected a time in seconds, a resource and a state");
    const TimeNs at{static_cast<std::int64_t>(seconds * 1e9)};
    if (at < counts_.end) return wrong("is earlier than the line before");
    return change(rest.substr(1, gap - 1), rest.substr(gap + 1), at);
  }

  Result<ReadCounts> finish(std::uint64_t bytes) {
    for (auto& [name, leaf] : leaves_) {
      if (auto ok = tell(leaf, MARGAY_LEAVE, leaf.state, counts_.end); !ok) return tl::unexpected(ok.error());
      if (auto ok = tell(leaf, MARGAY_END, 0, counts_.end); !ok) return tl::unexpected(ok.error());
    }
    if (auto ok = consumer_.on_covered(counts_.end); !ok) return tl::unexpected(ok.error());
    counts_.bytes = bytes;
    return counts_;
  }

 private:
  struct Leaf {
    LeafIndex index{};
    std::uint16_t state = 0;  // that it is in
  };

  Status change(const std::string& resource, const std::string& state, TimeNs at) {
    const auto [name, new_name] = names_.try_emplace(state, static_cast<std::uint16_t>(names_.size()));
    if (new_name)
      if (auto ok = consumer_.on_name(name->second, {Name::Kind::kState, state}); !ok) return ok;
    const LeafIndex next{static_cast<std::uint32_t>(leaves_.size())};
    const auto [at_leaf, new_leaf] = leaves_.try_emplace(resource, Leaf{next});
    Leaf& leaf = at_leaf->second;
    if (new_leaf) {
      if (auto ok = consumer_.on_leaf(leaf.index, {{{"path1", resource}}, {}}); !ok) return ok;
      if (auto ok = tell(leaf, MARGAY_BEGIN, 0, at); !ok) return ok;
    } else if (auto ok = tell(leaf, MARGAY_LEAVE, leaf.state, at); !ok) {
      return ok;
    }
    leaf.state = name->second;
    ++counts_.states;
    counts_.containers = leaves_.size();
    if (!counts_.begin) counts_.begin = at;
    counts_.end = at;
    if (auto ok = tell(leaf, MARGAY_ENTER, leaf.state, at); !ok) return ok;
    return consumer_.on_covered(at);
  }

  Status tell(const Leaf& leaf, std::uint8_t kind, std::uint16_t state, TimeNs at) {
    const EventRecord record{at.value, 0, MARGAY_NO_PEER, MARGAY_NO_TAG, 0, state, kind, 0};
    ++counts_.records;
    return consumer_.on_records(leaf.index, {&record, 1});
  }

  Status wrong(const char* what) const {
    return fail(ErrorCode::kInvalidArgument, file_ + ":" + std::to_string(counts_.lines) + ": " + what);
  }

  const std::string& file_;
  Consumer& consumer_;
  ReadCounts counts_;
  std::map<std::string, std::uint16_t> names_;
  std::map<std::string, Leaf> leaves_;
};

}  // namespace

bool detect(std::string_view head) {
  return head.starts_with(kFirstLine);
}

Result<ReadCounts> read(Input& input, const ReadOptions&, Consumer& consumer) {
  std::string text;
  for (std::size_t n = 1; n > 0;) {
    const std::size_t held = text.size();
    text.resize(held + 65536);
    const auto got = input.read(std::span(text).subspan(held));
    if (!got) return tl::unexpected(got.error());
    n = *got;
    text.resize(held + n);
    if (text.size() > kLongest) return fail(ErrorCode::kLimit, input.name() + ": is longer than 16 MiB");
  }
  Reader reader(input.name(), consumer);
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    if (auto ok = reader.take(rest.substr(0, end)); !ok) return tl::unexpected(ok.error());
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return reader.finish(text.size());
}

}  // namespace margay::trace::steps
