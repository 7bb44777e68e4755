#include "margay/model/shared_value.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <string_view>

namespace margay::model {
namespace {

constexpr std::size_t kLeast = 2, kLeastOfRest = 3;

bool is_one_of(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Hosts are what the hierarchy tells; of the others nobody speaks.
bool is_group(std::string_view attribute) {
  static constexpr std::array<std::string_view, 7> kNone = {"host",  "slurm_node", "slurm_step",    "core",
                                                            "clock", "mpi",        "pmix_namespace"};
  return !tells_processes_apart(attribute) && !is_one_of(kNone, attribute);
}

// The ones that a person gave come first, for they are the words that he looks for.
int precedence(std::string_view attribute) {
  static constexpr std::array<std::string_view, 12> kKnown = {
      "site",    "cluster", "switch", "socket",          "numa",         "container", "program",
      "command", "user",    "reader", "slurm_partition", "slurm_cluster"};
  const auto at = std::find(kKnown.begin(), kKnown.end(), attribute);
  return at == kKnown.end() ? 0 : 1 + static_cast<int>(at - kKnown.begin());
}

std::string shown(const std::string& attribute, const std::string& value) {
  const bool number = !value.empty() && std::all_of(value.begin(), value.end(),
                                                    [](unsigned char c) { return std::isdigit(c) != 0; });
  return number ? attribute + value : value;
}

const std::string* value_of(const Attributes& leaf, const std::string& attribute) {
  const auto at = leaf.find(attribute);
  return at == leaf.end() ? nullptr : &at->second;
}

std::optional<std::uint64_t> rank_of(const Attributes& leaf) {
  const std::string* text = value_of(leaf, "rank");
  std::uint64_t rank = 0;
  if (text == nullptr) return std::nullopt;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), rank);
  return error == std::errc() && end == text->data() + text->size() ? std::optional(rank) : std::nullopt;
}

class Search {
 public:
  Search(std::span<const Attributes> leaves, std::span<const LeafIndex> some)
      : leaves_(leaves), some_(some) {}

  // `has`: whether a leaf is of the group.
  template <class Has>
  void offer(int precedence, const std::string& level, const std::string& value, Has has) {
    if (!std::all_of(some_.begin(), some_.end(), [&](LeafIndex l) { return has(leaves_[l.value]); })) return;
    const auto n = static_cast<std::size_t>(std::count_if(leaves_.begin(), leaves_.end(), has));
    const bool few_others = 3 * n <= 4 * some_.size();
    if (!few_others || n == leaves_.size()) return;
    if (best_ && (n > best_->of || (n == best_->of && precedence >= precedence_))) return;
    best_ = SharedValue{level, value, n};
    precedence_ = precedence;
  }
  std::optional<SharedValue> take() { return std::move(best_); }

 private:
  std::span<const Attributes> leaves_;
  std::span<const LeafIndex> some_;
  std::optional<SharedValue> best_;
  int precedence_ = 0;
};

}  // namespace

bool tells_processes_apart(std::string_view attribute) {
  static constexpr std::array<std::string_view, 14> kOwn = {
      "rank",      "process",   "thread",   "pid",          "start_time", "boot_id", "pid_namespace",
      "pmix_rank", "ompi_rank", "pmi_rank", "slurm_procid", "world_size", "base",    "state_type"};
  return is_one_of(kOwn, attribute) || attribute.starts_with("path") || attribute.starts_with("type");
}

std::optional<SharedValue> shared_by(std::span<const Attributes> leaves, std::span<const LeafIndex> some) {
  if (some.size() < kLeast) return std::nullopt;
  Search search(leaves, some);
  const Attributes& first = leaves[some[0].value];
  const std::string* host = value_of(first, "host");
  for (const auto& said : first) {
    const std::string &attribute = said.first, &value = said.second;
    if (!is_group(attribute)) continue;
    const auto has = [&](const Attributes& leaf) {
      const std::string* other = value_of(leaf, attribute);
      return other != nullptr && *other == value;
    };
    search.offer(2 * precedence(attribute), attribute, shown(attribute, value), has);
    if (host == nullptr) continue;
    search.offer(2 * precedence(attribute) + 1, "host/" + attribute, *host + "/" + shown(attribute, value),
                 [&](const Attributes& leaf) {
                   const std::string* other = value_of(leaf, "host");
                   return other != nullptr && *other == *host && has(leaf);
                 });
  }
  const auto rank = rank_of(first);
  for (std::uint64_t n = 2;
       rank && some.size() >= kLeastOfRest && n <= std::min<std::uint64_t>(kMostDivisor, leaves.size() / 2);
       ++n)
    search.offer(1000, "rank mod " + std::to_string(n),
                 "rank mod " + std::to_string(n) + " = " + std::to_string(*rank % n),
                 [&](const Attributes& leaf) {
                   const auto other = rank_of(leaf);
                   return other && *other % n == *rank % n;
                 });
  return search.take();
}

}  // namespace margay::model
