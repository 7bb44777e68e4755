#include "suggest.h"

#include <algorithm>
#include <string_view>

namespace margay::config {
namespace {

// Edits (insert, delete, replace) from one name to the other.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string suggest(const std::string& name, const std::vector<std::string>& names) {
  if (name.size() > 64) return "";
  std::size_t best = std::max<std::size_t>(2, name.size() / 3) + 1;
  std::string nearest;
  for (const std::string& n : names)
    if (const std::size_t d = distance(name, n); d < best) {
      best = d;
      nearest = n;
    }
  return nearest.empty() ? "" : "; did you mean '" + nearest + "'?";
}

}  // namespace margay::config
