#include "margay/query/zoom.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <numeric>

#include "margay/base/time_of_day.h"
#include "margay/settings/run_moment.h"
#include "margay/trace/capture.h"
#include "model_scan.h"
#include "zoom_parts.h"

namespace margay::daemon {
namespace internal {
namespace {

constexpr std::size_t kNamesShown = 8;

// Letters to be changed, added or left out.
std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row[b.size()];
}

std::string seconds_text(DurationNs d) {
  char text[48];
  std::snprintf(text, sizeof text, "%.9g s", static_cast<double>(d.value) / 1e9);
  return text;
}

}  // namespace

std::string hint(const std::string& word, const std::vector<std::string>& names) {
  std::size_t best = std::max<std::size_t>(2, std::min<std::size_t>(word.size(), 64) / 3) + 1;
  const std::string* nearest = nullptr;
  for (const std::string& n : names)
    if (word.size() <= 256 && n.size() <= 256)
      if (const std::size_t d = distance(word, n); d < best) {
        best = d;
        nearest = &n;
      }
  if (nearest != nullptr) return "; did you mean " + quoted(*nearest) + "?";
  std::string out = names.empty() ? "; there is none" : "; there is ";
  for (std::size_t i = 0; i < std::min(names.size(), kNamesShown); ++i)
    out += (i > 0 ? ", " : "") + quoted(names[i]);
  if (names.size() > kNamesShown) out += " and " + std::to_string(names.size() - kNamesShown) + " more";
  return out;
}

Result<TimeNs> time_of(const std::string& text, const char* option, TimeNs zero, TimeNs end) {
  auto t = config::parse_run_moment(text, zero, end);
  if (!t && looks_like_time_of_day(text)) return wrong(std::string(option) + ": " + t.error().message);
  if (!t) return wrong(std::string(option) + " " + quoted(text) + ": " + t.error().message);
  return *t;
}

Result<slicer::Grid> range_of(const ZoomRequest& r, TimeNs zero, TimeNs end, std::uint64_t slices) {
  TimeNs from = zero, to = end;
  if (r.from) {
    const auto t = time_of(*r.from, "--from", zero, end);
    if (!t) return tl::unexpected(t.error());
    from = *t;
  }
  if (r.to) {
    const auto t = time_of(*r.to, "--to", zero, end);
    if (!t) return tl::unexpected(t.error());
    to = *t;
  }
  if (end <= zero) return wrong(r.input + ": nothing happened in it");
  if (from < zero) return wrong("--from " + quoted(*r.from) + ": is before the begin");
  if (from >= end) return wrong("--from " + quoted(*r.from) + ": the run lasted " + seconds_text(end - zero));
  if (to <= from)
    return wrong("the range from " + seconds_text(from - zero) + " to " + seconds_text(to - zero) +
                 " is empty");
  if (!r.past_end) to = std::min(to, end);
  const auto grid = slicer::Grid::make(from, to, slices);
  if (!grid) return fail(grid.error(), "partition: --slices " + std::to_string(slices));
  return *grid;
}

std::function<bool(std::string_view)> state_filter(const ZoomRequest& request,
                                                   std::vector<model::StateInfo> states) {
  if (request.states.empty() && request.filter.states.empty()) return {};
  return [&request, states = std::move(states)](std::string_view name) {
    if (!request.states.empty() &&
        std::find(request.states.begin(), request.states.end(), name) == request.states.end())
      return false;
    const auto known =
        std::find_if(states.begin(), states.end(), [&](const model::StateInfo& s) { return s.name == name; });
    const auto family =
        known != states.end() ? static_cast<wire::StateFamily>(known->family) : wire::FAMILY_MARK;
    return request.filter.states.shows(name, family);
  };
}

Status check_some_state(const ZoomRequest& request, const std::vector<model::StateInfo>& states) {
  const auto wanted = state_filter(request, states);
  if (!wanted || std::any_of(states.begin(), states.end(), [&](const auto& s) { return wanted(s.name); }))
    return {};
  return wrong("filter: it leaves none of the states of " + request.input);
}

Status check_states(const ZoomRequest& request, const std::vector<std::string>& names) {
  for (const std::string& s : request.states)
    if (std::find(names.begin(), names.end(), s) == names.end())
      return wrong("--state " + quoted(s) + ": " + request.input + " has no such state" + hint(s, names));
  return {};
}

Result<Looked> look_at(std::span<const model::Attributes> leaves, const ZoomRequest& request) {
  if (Status ok = ViewTree::check(leaves, request.view); !ok)
    return wrong("--view " + quoted(request.view.text()) + ": " + ok.error().message);
  ViewTree tree(leaves, request.view);
  auto at = tree.find(request.node);
  if (!at) return wrong("--node " + at.error().message);
  return Looked{std::move(tree), std::move(*at)};
}

Result<Model> model_of(const Cells& cells, const ZoomRequest& request) {
  const ViewTree& tree = cells.of.tree;
  // What the filter leaves of the resources.
  std::vector<bool> is_shown = cells.of.at.leaves, counts = is_shown;
  for (std::uint32_t l = 0; l < is_shown.size(); ++l) {
    is_shown[l] = is_shown[l] && tree.shows(LeafIndex(l), request.filter.resources);
    if (request.filter.of_the_rest) counts[l] = is_shown[l];
  }
  const auto any = [](const std::vector<bool>& of) {
    return std::find(of.begin(), of.end(), true) != of.end();
  };
  if (!any(cells.of.at.leaves)) return wrong(request.input + ": no resource in it");
  if (!any(is_shown)) return wrong("filter: it leaves none of the resources of " + request.input);
  auto shape = tree.shape(cells.of.at.node, counts);
  if (!shape) return tl::unexpected(shape.error());
  const std::vector<LeafIndex>& leaves = shape->leaves;
  const auto value = [&](LeafIndex l, std::uint32_t k, std::size_t x) {
    return is_shown[l.value] ? cells.value(l, k, x) : 0.0;
  };
  Model m;
  m.slices = cells.grid.slices;
  m.times = {cells.grid.from, cells.grid.to, cells.zero};
  m.tree = std::move(shape->tree);
  m.node_names = std::move(shape->names);
  if (!request.view.is_usual()) {
    for (const LeafIndex l : leaves) m.resources.push_back(tree.resource(l));
    m.usual_order = tree.usual_order(leaves);
  }

  // States that occur.
  std::vector<std::size_t> used;
  for (std::size_t x = 0; x < cells.columns.size(); ++x) {
    bool some = false;
    for (std::uint32_t k = 0; k < cells.grid.slices && !some; ++k)
      some = std::any_of(leaves.begin(), leaves.end(), [&](LeafIndex l) { return value(l, k, x) > 0; });
    if (some) used.push_back(x);
  }
  if (used.empty())
    return wrong(
        request.input + ": " +
        (request.states.empty() && request.filter.states.empty() ? "nothing" : "none of these states") +
        " is in this range of it");
  const std::uint64_t rows = std::uint64_t{m.slices} * leaves.size();
  if (rows * (used.size() + 1) * sizeof(double) > request.memory_bytes)
    return fail(ErrorCode::kLimit, "partition: " + std::to_string(leaves.size()) + " leaves x " +
                                       std::to_string(m.slices) + " slices x " + std::to_string(used.size()) +
                                       " states take more than the memory budget");
  m.states = used.size();
  for (const std::size_t x : used) m.state_names.push_back(cells.columns[x]);
  m.values.reserve(rows * m.states);
  m.weights.reserve(rows);
  for (std::uint32_t k = 0; k < cells.grid.slices; ++k) {
    const auto length = static_cast<double>((cells.grid.boundary(k + 1) - cells.grid.boundary(k)).value);
    for (const LeafIndex l : leaves) {
      double sum = 0;
      for (const std::size_t x : used) {
        m.values.push_back(value(l, k, x) / (cells.durations ? length : 1));
        sum += m.values.back();
      }
      const double there = 1 - static_cast<double>(cells.not_there(l, k)) / length;
      if (request.filter.of_the_rest && cells.durations) {
        m.weights.push_back(std::min(sum, 1.0));
        continue;
      }
      // Rounding makes no row longer than its weight.
      m.weights.push_back(cells.durations ? std::clamp(there, std::min(sum, 1.0), 1.0)
                                          : (there > 0 || sum > 0 ? 1.0 : 0.0));
    }
  }
  normalise(m);
  return m;
}

Result<Model> model_of(const trace::Resampler& trace, TimeNs zero, const ZoomRequest& request) {
  const slicer::Reslicer& r = trace.cells();
  const auto of = look_at(trace.leaves(), request);
  if (!of) return tl::unexpected(of.error());
  Cells cells{r.grid(),
              zero,
              *of,
              {},
              [&r](LeafIndex l, std::uint32_t k, std::size_t x) { return r.value(l, k, x); },
              [&r](LeafIndex l, std::uint32_t k) { return r.not_there(l, k); },
              r.op().measure == slicer::Operator::Measure::kDuration};
  for (std::size_t x = 0; x < r.columns(); ++x) cells.columns.push_back(r.column_name(x));
  return model_of(cells, request);
}

}  // namespace internal

ZoomInput zoom_input(const std::string& path) {
  struct stat s {};
  if (path == "-" || stat(path.c_str(), &s) != 0) return ZoomInput::kNone;
  if (S_ISDIR(s.st_mode)) return ZoomInput::kArchive;
  if (!S_ISREG(s.st_mode)) return ZoomInput::kNone;  // what can be read once only
  std::array<char, 2048> head{};
  std::FILE* const file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) return ZoomInput::kNone;
  const std::size_t got = std::fread(head.data(), 1, head.size(), file);
  static_cast<void>(std::fclose(file));
  return trace::looks_like_capture({head.data(), got}) ? ZoomInput::kCapture : ZoomInput::kNone;
}

Result<Zoomed> zoom(const ZoomRequest& request) {
  switch (zoom_input(request.input)) {
    case ZoomInput::kArchive:
      return internal::zoom_archive(request);
    case ZoomInput::kCapture:
      return internal::zoom_capture(request);
    case ZoomInput::kNone:
      break;
  }
  return fail(ErrorCode::kInvalidArgument,
              "partition: " + request.input + ": is neither an archive nor a capture, which a zoom needs");
}

}  // namespace margay::daemon
