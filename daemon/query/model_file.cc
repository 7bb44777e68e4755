#include "margay/query/model_file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <system_error>

#include "margay/partition/partition.h"
#include "margay/text/text.h"
#include "model_scan.h"

namespace margay::daemon {
namespace internal {

bool read_integer(std::string_view text, std::int64_t& value) {
  if (text.starts_with('+')) text.remove_prefix(1);
  if (text.starts_with('+')) return false;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

const char* read_value(std::string_view text, double& value) {
  const bool negative = text.starts_with('-');
  if (text.starts_with('+')) text.remove_prefix(1);
  if (text.empty() || text.starts_with('+')) return "is not a number";
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::invalid_argument || end != text.data() + text.size()) return "is not a number";
  // Out of range is either: too large, or so small that it is 0.
  if (error == std::errc::result_out_of_range) value = std::strtod(std::string(text).c_str(), nullptr);
  if (std::isnan(value)) return "is not a number";
  if (negative && value != 0) return "is negative";
  if (std::isinf(value)) return "is not finite";
  if (value > kMostModelValue) return "is over 1e280";
  value = std::abs(value);  // no -0
  return nullptr;
}

std::string quoted(std::string_view text) {
  constexpr std::size_t kShown = 60;
  const std::string all = text::printable(text.substr(0, 4 * kShown), true);
  return "'" + text::shortened(all, kShown) + "'";
}

Status Source::check_values(std::uint64_t line, std::uint64_t leaves, std::uint64_t slices,
                            std::uint64_t states, std::uint64_t already) const {
  // Below 2^60: each factor is within its bound.
  const std::uint64_t bytes = leaves * slices * states * sizeof(double);
  if (bytes <= memory_bytes && already <= memory_bytes - bytes) return {};
  return wrong(line,
               std::to_string(leaves) + " leaves x " + std::to_string(slices) + " slices x " +
                   std::to_string(states) + " states take " + std::to_string(bytes + already) +
                   " bytes, the memory budget is " + std::to_string(memory_bytes) + " bytes",
               ErrorCode::kLimit);
}

}  // namespace internal

// Rows that sum to at most 1, whatever the units of the file.
void normalise(Model& model) {
  double largest = 0;
  for (std::size_t row = 0; row < model.values.size(); row += model.states) {
    double sum = 0;
    for (std::size_t x = 0; x < model.states; ++x) sum += model.values[row + x];
    largest = std::max(largest, sum);
  }
  if (largest <= 1 + partition::kSumTolerance) return;
  model.unit = largest;
  for (double& v : model.values) v /= largest;
}

std::size_t Model::depth() const {
  // Parents come before their children when post-order is read backwards.
  const auto order = tree.post_order();
  std::vector<std::uint32_t> below(tree.size(), 0);
  std::uint32_t deepest = 0;
  for (auto k = order.rbegin(); k != order.rend(); ++k) {
    if (*k != tree.root()) below[k->value] = below[tree.parent(*k).value] + 1;
    deepest = std::max(deepest, below[k->value]);
  }
  return deepest;
}

std::string Model::path(NodeIndex node) const {
  std::vector<NodeIndex> up;
  for (NodeIndex k = node; k != tree.root(); k = tree.parent(k)) up.push_back(k);
  std::string out = up.empty() ? "/" : "";
  for (auto k = up.rbegin(); k != up.rend(); ++k) out += "/" + node_names[k->value];
  return out;
}

std::string Model::label(NodeIndex node) const {
  if (has_names()) return path(node);
  return (tree.is_leaf(node) ? "leaf " : "node ") + std::to_string(node.value);
}

std::string Model::state_label(std::size_t state) const {
  return state < state_names.size() ? state_names[state] : "state " + std::to_string(state);
}

DurationNs Model::begin_of(SliceIndex slice) const {
  const auto k = static_cast<unsigned __int128>(slice.value - first_slice.value);
  const auto length =
      static_cast<std::uint64_t>(times->to.value) - static_cast<std::uint64_t>(times->from.value);
  return times->from - times->zero + DurationNs(static_cast<std::int64_t>(k * length / slices));
}

bool looks_like_model(std::string_view head) {
  if (head.starts_with("\xEF\xBB\xBF")) head.remove_prefix(3);
  head.remove_prefix(std::min(head.find_first_not_of(" \t\r\n"), head.size()));
  std::string_view line = head.substr(0, head.find('\n'));
  if (line.find(',') != std::string_view::npos) return true;
  int integers = 0;
  while (!line.empty()) {
    const std::size_t begin = std::min(line.find_first_not_of(" \t\r"), line.size());
    line.remove_prefix(begin);
    const std::size_t end = std::min(line.find_first_of(" \t\r"), line.size());
    std::int64_t n = 0;
    if (end > 0 && !internal::read_integer(line.substr(0, end), n)) return false;
    integers += end > 0 ? 1 : 0;
    line.remove_prefix(end);
  }
  return integers == 4;
}

Result<Model> parse_model(std::string_view text, const std::string& name, std::uint64_t memory_bytes) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  const internal::Source source{name, memory_bytes};
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return source.wrong(1, "nothing in it");
  const std::string_view first = text.substr(begin, text.find('\n', begin) - begin);
  const bool csv = first.find(',') != std::string_view::npos || first.starts_with('"');
  auto model = csv ? internal::parse_csv(text, source) : internal::parse_text(text, source);
  if (model) normalise(*model);
  return model;
}

Result<std::string> read_input(const std::string& path, std::uint64_t most) {
  const auto trouble = [&](int error) {
    return fail(error == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo,
                path + ": " + std::system_category().message(error));
  };
  const auto close = [](std::FILE* f) {
    if (f != stdin) static_cast<void>(std::fclose(f));
  };
  const std::unique_ptr<std::FILE, decltype(close)> file(path == "-" ? stdin : std::fopen(path.c_str(), "rb"),
                                                         close);
  if (!file) return trouble(errno);
  std::string text;
  std::array<char, 1 << 16> piece{};
  for (;;) {
    errno = 0;
    const std::size_t n = std::fread(piece.data(), 1, piece.size(), file.get());
    if (std::ferror(file.get()) != 0) return trouble(errno);
    if (n == 0) return text;
    if (n > most || text.size() > most - n)
      return fail(ErrorCode::kLimit,
                  path + ": larger than the memory budget of " + std::to_string(most) + " bytes");
    text.append(piece.data(), n);
  }
}

}  // namespace margay::daemon
