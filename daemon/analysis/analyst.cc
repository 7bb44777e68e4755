#include "margay/analysis/analyst.h"

#include <algorithm>

#include "margay/analysis/detector_settings.h"

namespace margay::daemon {

Analyst::Analyst(const Options& options, TimeNs run_begin)
    : options_(options),
      run_begin_(run_begin),
      levels_(detector_options(options), coarser_levels(options)),
      updates_(options.updates),
      topology_(std::make_shared<detect::Topology>()),
      watermark_(run_begin) {
  if (options.op != slicer::Operator{}) measured_.emplace(measured_window_options(options));
}

std::vector<alert::Alert> Analyst::take(const ClosedSlice& message) {
  std::vector<alert::Alert> out;
  if (message.topology) {
    topology_ = message.topology;
    levels_.set_topology(topology_);
    if (measured_) measured_->set_topology(topology_);
  }
  position_ = std::max(position_, message.position);
  watermark_ = std::max(watermark_, message.watermark);
  if (message.column)
    out = message.amended ? levels_.on_amended(*message.column, message.watermark)
                          : levels_.on_slice(*message.column, message.watermark);
  if (message.column && measured_) {
    const Status ok = message.amended ? measured_->amend(*message.column) : measured_->push(*message.column);
    if (!ok) measured_error_ = ok.error().message;
    measured_->set_apart(detector().window().apart());
    // Noise is that of slices which detection takes for homogeneous, each time that it looks.
    if (const auto& steady = detector().steady(); steady && !message.amended &&
                                                  measured_->holds(steady->first) &&
                                                  steady->second == measured_->last() + 1)
      measured_->learn_noise(steady->first, steady->second);
  }
  if (message.final) {
    end_ = message.end;
    final_ = true;
    for (alert::Alert& a : levels_.finish(message.end, message.watermark)) out.push_back(std::move(a));
  }
  for (alert::Alert& a : out) updates_.said(a);
  // Only where the journal tells of it, so that a replay says the same.
  if (message.column && !message.amended)
    for (const alert::Alert* a : levels_.firing()) updates_.look(*a, message.watermark, out);
  std::erase_if(out, [&](const alert::Alert& a) { return !raised_.insert(a.id + '/' + alert::step(a)); });
  return out;
}

void Analyst::remember(alert::Alert alert) {
  if (const std::string id = alert::update_of(alert); !id.empty()) {
    const auto before = std::find_if(recent_.begin(), recent_.end(),
                                     [&](const alert::Alert& a) { return alert::update_of(a) == id; });
    if (before != recent_.end()) recent_.erase(before);
  }
  recent_.push_back(std::move(alert));
  if (recent_.size() > kMostReportedAlerts) recent_.pop_front();
}

ReportInput Analyst::input() const {
  ReportInput in{options_,   levels_, *topology_, nullptr, recent_, run_begin_,
                 watermark_, {},      {},         0,       final_,  true};
  in.position = position_;
  in.measured = measured_ ? &*measured_ : nullptr;
  in.measured_error = measured_error_;
  return in;
}

}  // namespace margay::daemon
