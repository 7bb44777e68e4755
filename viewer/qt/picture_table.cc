#include "picture_table.h"

#include <QCoreApplication>
#include <algorithm>
#include <cmath>

#include "margay/scene/statistics.h"
#include "margay/scene/temporal_bars.h"
#include "margay/scene/time_axis.h"
#include "paint.h"
#include "sheet.h"

namespace margay::viewer {
namespace {

constexpr double kLeastTold = 0.001;  // smaller remainders are what rounding leaves
constexpr double kLeastRead = 0.01;   // smaller shares are one number

QString in_words(const char* text) {
  return QCoreApplication::translate("PictureTable", text);
}

// Of the root what a person would call it.
QString name_of(const scene::ViewData& data, std::uint32_t node) {
  const std::string& name = data.nodes[node].name;
  return name.empty() ? in_words("all") : text_of(name);
}

// The part that covers all of a node in a slice; null: there are several below it.
const scene::Part* covering(const scene::ViewData& data, std::uint32_t node, std::size_t slice) {
  for (;; node = data.nodes[node].parent) {
    for (const scene::Part& part : data.parts_of(node))
      if (part.first <= slice && slice < part.last) return &part;
    if (node == 0) return nullptr;
  }
}

// One is the other, or lies below it.
bool of_one_branch(std::string_view a, std::string_view b) {
  if (a.size() > b.size()) std::swap(a, b);
  if (a.empty() || a == "/") return true;
  return b.starts_with(a) && (b.size() == a.size() || b[a.size()] == '/');
}

}  // namespace

QString share_text(double share) {
  if (share > 0 && share < 0.001) return "< 0.1 %";
  return QString::number(100 * share, 'f', share < 0.1 ? 1 : 0) + " %";
}

PictureTable::PictureTable(const Session& session)
    : session_(session), data_(session.data()), together_(temporal_of(session)) {
  if (data_.empty()) return;
  const scene::TimeRange all = data_.range();
  resources_ = static_cast<int>(session.rows().rows.size());
  together_rows_ = 1;
  if (session.report() != nullptr) {
    for (scene::PhaseStretch& s : phases_of(session)) {
      s.from = std::max(s.from, all.from);
      s.to = std::min(s.to, all.to);
      if (s.from < s.to) phases_.push_back(std::move(s));
    }
    phase_rows_ = phases_.empty() ? 0 : 1;
  }
  cuts_ = {all.from, all.to};
  std::vector<bool> cut(data_.slices());
  for (const scene::Part& p : data_.parts) cut[p.first] = true;
  for (std::size_t i = 0; i < cut.size(); ++i)
    if (cut[i]) cuts_.push_back(data_.boundaries[i]);
  for (const std::uint32_t i : scene::shared_cuts(together_, 0)) cuts_.push_back(together_.boundaries[i]);
  for (const scene::PhaseStretch& s : phases_) cuts_.insert(cuts_.end(), {s.from, s.to});
  std::sort(cuts_.begin(), cuts_.end());
  cuts_.erase(std::unique(cuts_.begin(), cuts_.end()), cuts_.end());
  const double slice = data_.seconds(0, data_.slices()) / static_cast<double>(data_.slices());
  decimals_ = slice > 0 ? std::clamp(static_cast<int>(std::ceil(-std::log10(slice) - 1e-9)), 1, 9) : 9;
}

PictureTable::Kind PictureTable::kind(int row) const {
  if (row < resources_) return Kind::kResource;
  return row < resources_ + phase_rows_ ? Kind::kPhase : Kind::kTogether;
}

const scene::Row& PictureTable::row(int row) const {
  return session_.rows().rows[static_cast<std::size_t>(row)];
}

int PictureTable::column_at(TimeNs time) const {
  const auto after = std::upper_bound(cuts_.begin(), cuts_.end(), time);
  return std::clamp(static_cast<int>(after - cuts_.begin()) - 1, std::min(0, columns() - 1), columns() - 1);
}

const std::vector<int>& PictureTable::ends_of(int row) const {
  if (ends_row_ == row) return ends_;
  ends_row_ = row;
  ends_.clear();
  const auto add = [&](TimeNs end) {
    const int column = end == cuts_.back() ? columns() : column_at(end);
    if (column > (ends_.empty() ? 0 : ends_.back())) ends_.push_back(column);
  };
  const auto add_cuts = [&](const scene::ViewData& data, std::uint32_t node) {
    for (const std::uint32_t i : scene::shared_cuts(data, node)) add(data.boundaries[i]);
  };
  switch (kind(row)) {
    case Kind::kResource:
      add_cuts(data_, this->row(row).node);
      break;
    case Kind::kPhase:
      for (const scene::PhaseStretch& s : phases_) {
        add(s.from);
        add(s.to);
      }
      break;
    case Kind::kTogether:
      add_cuts(together_, 0);
  }
  add(cuts_.back());
  return ends_;
}

PictureTable::Cell PictureTable::cell(int row, int column) const {
  const std::vector<int>& ends = ends_of(row);
  const auto end = std::upper_bound(ends.begin(), ends.end(), column);
  return {row, end == ends.begin() ? 0 : end[-1], *end};
}

scene::TimeRange PictureTable::time(const Cell& cell) const {
  return {cuts_[static_cast<std::size_t>(cell.first)], cuts_[static_cast<std::size_t>(cell.last)]};
}

Session::Selection PictureTable::selection(const Cell& cell) const {
  const scene::TimeRange t = time(cell);
  return {kind(cell.row) == Kind::kResource ? row(cell.row).node : 0,
          static_cast<std::uint32_t>(data_.slice_at(t.from)),
          static_cast<std::uint32_t>(data_.slice_at(t.to - DurationNs(1)) + 1)};
}

PictureTable::Cell PictureTable::cell_of(const Session::Selection& selection) const {
  const std::int64_t row = scene::row_of(session_.rows(), selection.node);
  if (row < 0 || selection.first >= data_.slices()) return {};
  return cell(static_cast<int>(row), column_at(data_.boundaries[selection.first]));
}

// "15.0 to 16.0 s".
QString PictureTable::span(scene::TimeRange time) const {
  const auto seconds = [&](TimeNs t) {
    return QString::number(static_cast<double>((t - data_.zero).value) * 1e-9, 'f', decimals_);
  };
  return in_words("%1 to %2 s").arg(seconds(time.from), seconds(time.to));
}

// Of how many resources it is, where it is not of one alone: ", as all 4 of node1", ", 4 resources alike".
QString PictureTable::who(std::uint32_t node, std::size_t first, std::size_t last) const {
  const scene::Node& here = data_.nodes[node];
  const scene::Part* part = covering(data_, node, first);
  const scene::Node* of = part != nullptr ? &data_.nodes[part->node] : nullptr;
  if (of != nullptr && of->leaf_count > here.leaf_count)
    return part->node == 0 ? in_words(", as all %1 resources").arg(of->leaf_count)
                           : in_words(", as all %1 of %2").arg(of->leaf_count).arg(text_of(of->name));
  if (here.leaf_count <= 1) return {};
  if (part != nullptr && last <= part->last) return in_words(", %1 resources alike").arg(here.leaf_count);
  return in_words(", %1 resources in %2 parts")
      .arg(here.leaf_count)
      .arg(scene::proportions(data_, node, first, last).parts);
}

// ", MPI_Wait 50 %, MPI_Send 25 %, 3 others 4.0 %, not there 10 %".
QString PictureTable::states(const scene::ViewData& data, const scene::Proportions& of) const {
  const bool measured = !data.unit.empty();
  const auto amount = [&](double share) {
    if (!measured) return share_text(share);
    const double total = scene::total_of(data, share, of.leaf_seconds);
    // It is read aloud: no "B".
    return data.unit == "bytes" ? QString::number(total, 'g', 4) + " bytes"
                                : text_of(scene::amount_text(data.unit, total));
  };
  std::vector<std::uint32_t> order;
  double absent = 0, shown = 0;
  for (std::uint32_t x = 0; x < of.shares.size(); ++x) {
    if (data.states[x].family == wire::FAMILY_ABSENT) absent += of.shares[x];
    if (!data.states[x].known() || !(of.shares[x] > 0)) continue;
    shown += of.shares[x];
    order.push_back(x);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return of.shares[a] > of.shares[b]; });
  QString out;
  double pooled = 0;
  std::size_t told = std::min(order.size(), kMostStatesRead);
  while (told > 1 && of.shares[order[told - 1]] < kLeastRead) --told;
  if (told + 1 == order.size()) ++told;  // one alone has a name
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i < told)
      out += ", " + text_of(data.states[order[i]].name) + " " + amount(of.shares[order[i]]);
    else
      pooled += of.shares[order[i]];
  }
  if (order.size() > told) out += in_words(", %1 others %2").arg(order.size() - told).arg(amount(pooled));
  const auto rest = [&](const char* what, double share) {
    if (share > kLeastTold) out += ", " + in_words(what) + " " + share_text(share);
  };
  // Amounts that are measured do not add up to the time.
  if (!measured) rest("not shown", of.known - shown);
  rest("not there", absent);
  rest("not known", of.unknown - absent);
  return out;
}

QString PictureTable::words_of(std::uint32_t node, std::size_t first, std::size_t last) const {
  return name_of(data_, node) + ", " + span({data_.boundaries[first], data_.boundaries[last]}) +
         who(node, first, last) + states(data_, scene::proportions(data_, node, first, last));
}

QString PictureTable::phase_words(scene::TimeRange time) const {
  const auto at = std::find_if(phases_.begin(), phases_.end(), [&](const scene::PhaseStretch& s) {
    return s.from <= time.from && time.from < s.to;
  });
  return in_words("phases") + ", " + span(time) + ", " +
         (at != phases_.end() ? text_of(scene::phase_text(*at)) : in_words("none"));
}

QString PictureTable::alert_words(scene::TimeRange time, std::string_view path) const {
  QString out;
  std::size_t told = 0;
  for (const terminal::AlertView& a : session_.alerts()) {
    const TimeNs from(a.onset_ns);
    const TimeNs to = a.end_ns && !a.firing ? TimeNs(*a.end_ns) : std::max(from, session_.now());
    // The end of a slice beside the picture's cut is none of the neighbour's.
    const DurationNs both = std::min(to, time.to) - std::max(from, time.from);
    if (both.value < 0 || 2 * both.value < std::min(to - from, time.to - time.from).value) continue;
    if (std::none_of(a.paths.begin(), a.paths.end(),
                     [&](const std::string& p) { return of_one_branch(p, path); }))
      continue;
    if (told++ < kMostAlertsRead) out += "; " + in_words("alert: %1").arg(text_of(terminal::told_text(a)));
  }
  if (told > kMostAlertsRead) out += "; " + in_words("%1 alerts more").arg(told - kMostAlertsRead);
  return out;
}

QString PictureTable::words(const Cell& cell) const {
  const Session::Selection s = selection(cell);
  const scene::TimeRange t = time(cell);
  switch (kind(cell.row)) {
    case Kind::kResource:
      return words_of(s.node, s.first, s.last) + alert_words(t, data_.nodes[s.node].path);
    case Kind::kPhase:
      return phase_words(t) + alert_words(t, "/");
    case Kind::kTogether:
      break;
  }
  const std::size_t first = together_.slice_at(t.from), last = together_.slice_at(t.to - DurationNs(1)) + 1;
  return in_words("all together") + ", " + span(t) +
         states(together_, scene::proportions(together_, 0u, first, last));
}

QString PictureTable::more(const Cell& cell) const {
  const scene::TimeRange t = time(cell);
  QString out =
      row_words(cell.row) + ", " + in_words("%1 long").arg(text_of(scene::duration_text(t.to - t.from)));
  if (kind(cell.row) != Kind::kResource) return out;
  const Session::Selection s = selection(cell);
  const scene::Proportions of = scene::proportions(data_, s.node, s.first, s.last);
  out += ", " + in_words("gain %1 bits, loss %2 bits").arg(of.gain, 0, 'g', 4).arg(of.loss, 0, 'g', 4);
  if (of.pro_rata) out += ", " + in_words("in proportion: a part reaches beyond this");
  return out;
}

QString PictureTable::row_words(int row) const {
  if (kind(row) == Kind::kPhase) return in_words("phases");
  if (kind(row) == Kind::kTogether) return in_words("all together");
  const scene::Row& r = this->row(row);
  const std::string& path = data_.nodes[r.node].path;
  const QString name = text_of(path.empty() ? "/" : path);
  return r.folded ? name + ", " + in_words("folded, %1 resources").arg(data_.nodes[r.node].leaf_count) : name;
}

QString PictureTable::column_words(int column) const {
  return span(time({0, column, column + 1}));
}

QString PictureTable::summary() const {
  if (data_.empty())
    return session_.trouble().isEmpty() ? in_words("there is no picture yet") : session_.trouble();
  QString out = in_words("%1 rows of resources, %2, p %3, %4 parts")
                    .arg(resources_)
                    .arg(span(data_.range()), text_of(scene::p_text(data_.p)))
                    .arg(data_.parts.size());
  if (!session_.there() && !session_.trouble().isEmpty()) out += "; " + session_.trouble();
  if (session_.follows() && session_.there())
    out += "; " + in_words("it goes on with the run, Space holds it");
  if (!data_.visits.empty()) out += "; " + in_words("the page Events lists the single calls");
  if (const auto& s = session_.selection())
    out += "; " + in_words("selected: %1").arg(words_of(s->node, s->first, s->last));
  return out;
}

}  // namespace margay::viewer
