#include "picture.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "margay/text/text.h"

namespace margay::terminal {
namespace {

constexpr std::size_t kMostShares = 64;
constexpr std::uint32_t kDeepest = 64;  // deeper nodes are drawn at this depth

int depth_of(const wire::NodeBar& node) {
  return static_cast<int>(std::min(node.depth(), kDeepest));
}

}  // namespace

std::vector<Share> clean_shares(const google::protobuf::RepeatedPtrField<wire::StateShare>& shares) {
  std::vector<Share> out;
  for (const auto& s : shares) {
    const double v = static_cast<double>(s.share());
    if (!std::isfinite(v) || v <= 0) continue;
    const auto same =
        std::find_if(out.begin(), out.end(), [&](const Share& o) { return o.state == s.state(); });
    if (same != out.end())
      same->share = std::min(same->share + std::min(v, 1.0), 1.0);
    else if (out.size() < kMostShares)
      out.push_back({s.state(), std::min(v, 1.0), s.value()});
  }
  std::stable_sort(out.begin(), out.end(), [](const Share& a, const Share& b) { return a.share > b.share; });
  double sum = 0;
  for (const Share& s : out) sum += s.share;
  if (sum > 1)
    for (Share& s : out) s.share /= sum;
  return out;
}

const wire::PhaseSpan* current_phase(const wire::Report& report) {
  for (int i = report.phases_size() - 1; i >= 0; --i)
    if (report.phases(i).current()) return &report.phases(i);
  return nullptr;
}

namespace {

const wire::PhaseDurations* known_durations(const wire::Report& report, const std::string& name) {
  for (const auto& d : report.phase_durations())
    if (d.name() == name && d.times() > 0 && d.usual_ns() > 0) return &d;
  return nullptr;
}

std::string forecast(const wire::Report& report, bool range) {
  const wire::PhaseSpan* p = current_phase(report);
  if (!report.has_forecast() || p == nullptr || report.final()) return {};
  const auto& f = report.forecast();
  if (f.phase() != p->name()) return {};
  if (f.overdue()) return "unusually long";
  const auto left = [&](std::int64_t t) {
    return text::duration_text(std::max<std::int64_t>(0, text::minus(t, report.watermark_ns())));
  };
  std::string out = "ends in " + left(f.end_ns());
  if (range) out += " (" + left(f.earliest_ns()) + " to " + left(f.latest_ns()) + ")";
  if (!f.next().empty()) out += ", then " + text::printable(f.next(), true, 12);
  return out;
}

}  // namespace

std::string usual_range(const wire::Report& report, const std::string& name) {
  const auto* d = known_durations(report, name);
  if (d == nullptr || d->times() < 4) return {};
  constexpr std::uint32_t kRemembered = 16;  // detect::PhaseDurations::kRemembered
  return "half of the newest " + std::to_string(std::min(d->times(), kRemembered)) + " lasted " +
         text::duration_text(d->low_ns()) + " to " + text::duration_text(d->high_ns());
}
std::string forecast_text(const wire::Report& report) {
  return forecast(report, true);
}
std::string forecast_short(const wire::Report& report) {
  return forecast(report, false);
}

std::optional<std::int64_t> usual_duration_ns(const wire::Report& report, const std::string& name) {
  if (const auto* known = known_durations(report, name)) return known->usual_ns();
  std::vector<std::int64_t> durations;
  const auto look = [&](const auto& phases) {
    for (const auto& span : phases)
      if (!span.current() && span.name() == name && span.end_ns() > span.begin_ns())
        durations.push_back(text::minus(span.end_ns(), span.begin_ns()));
  };
  look(report.phases());
  for (int l = 0; l < std::min(report.levels_size(), kMostLevels); ++l) look(report.levels(l).phases());
  if (durations.empty()) return std::nullopt;
  const auto middle = durations.begin() + static_cast<std::ptrdiff_t>(durations.size() / 2);
  std::nth_element(durations.begin(), middle, durations.end());
  return *middle;
}

std::string phase_name(const wire::PhaseSpan& span) {
  return span.name().empty() ? std::string(1, '?') : text::printable(span.name(), true, 12);
}

bool tells_more(const wire::LevelPhases& level) {
  return std::any_of(level.phases().begin(), level.phases().end(),
                     [](const wire::PhaseSpan& p) { return !p.told(); });
}

std::string made_of_text(const wire::PhaseSpan& span) {
  constexpr int kMostNamed = 3;
  std::string out;
  for (int i = 0; i < span.made_of_size(); ++i) {
    const bool last = i + 1 == span.made_of_size() || i == kMostNamed;
    out += i == 0 ? "" : last ? " and " : ", ";
    if (i == kMostNamed) return out + "others";
    out += text::printable(span.made_of(i).name(), true, 12);
  }
  return out;
}

std::int64_t lag_ns(const wire::Report& report, TimeNs now) {
  const std::int64_t lag = std::max<std::int64_t>(report.health().lag_ns(), 0);
  if (report.emitted_wall_ns() == 0) return lag;
  return text::plus(lag, std::max<std::int64_t>(text::minus(now.value, report.emitted_wall_ns()), 0));
}

Tree visible_tree(const wire::Report& report, const std::vector<AlertView>& alerts, int depth, int room) {
  Tree tree;
  std::unordered_set<std::string> blamed_paths;  // bounded by what read_alerts() keeps
  int spare = 0;
  std::vector<int> up_to(kDeepest + 1, 0);
  for (const auto& node : report.nodes()) {
    const int d = depth_of(node);
    tree.depth_most = std::max(tree.depth_most, d);
    ++up_to[static_cast<std::size_t>(d)];
  }
  if (depth < 0) {
    depth = std::min(1, tree.depth_most);
    int rows = 0;
    for (int d = 0; d <= tree.depth_most; ++d) {
      rows += up_to[static_cast<std::size_t>(d)];
      if (rows <= room) depth = std::max(depth, d);
      if (d == depth) spare = std::max(0, room - rows);
    }
    for (const AlertView& a : alerts)
      if (a.firing) blamed_paths.insert(a.paths.begin(), a.paths.end());
  }
  tree.depth = std::min(depth, tree.depth_most);
  for (int i = 0; i < report.nodes_size(); ++i) {
    const auto& node = report.nodes(i);
    if (depth_of(node) <= tree.depth) {
      tree.rows.push_back({});
      tree.rows.back().node = i;
      continue;
    }
    if (tree.rows.empty()) continue;
    const std::string& condition = node.condition();
    if (spare > 0 && ((!condition.empty() && condition != "ended") || blamed_paths.count(node.path()) != 0)) {
      --spare;
      Row own;
      own.node = i;
      own.singled_out = true;
      tree.rows.push_back(own);
      continue;
    }
    auto above = tree.rows.rbegin();
    while (above->singled_out) ++above;  // the first row never is
    Row& row = *above;
    row.stopped += condition == "stopped";
    row.silent += condition == "silent";
    row.lost += condition == "lost";
    row.ended += condition == "ended";
    // Leaves are those whose next node is not deeper; the daemon's count on the row itself is used for text.
    const bool leaf = i + 1 == report.nodes_size() || depth_of(report.nodes(i + 1)) <= depth_of(node);
    row.hidden_leaves += leaf;
  }
  return tree;
}

std::string node_label(const wire::NodeBar& node) {
  std::string_view rest(node.path());
  while (!rest.empty() && rest.back() == '/') rest.remove_suffix(1);
  if (rest.empty()) return "all";
  if (const std::size_t slash = rest.rfind('/'); slash != std::string_view::npos)
    rest.remove_prefix(slash + 1);
  return text::printable(rest, true, 60);
}

bool blamed(const std::vector<AlertView>& alerts, const std::string& path, bool below) {
  for (const AlertView& a : alerts) {
    if (!a.firing) continue;
    for (const std::string& p : a.paths) {
      if (p == path && !p.empty()) return true;
      if (below && path.size() > 1 && p.size() > path.size() && p.compare(0, path.size(), path) == 0 &&
          p[path.size()] == '/')
        return true;
    }
  }
  return false;
}

}  // namespace margay::terminal
