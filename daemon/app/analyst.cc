#include "analyst.h"

#include <algorithm>

#include "detector_settings.h"

namespace margay::app {

Analyst::Analyst(const Options& options, TimeNs run_begin)
    : options_(options),
      run_begin_(run_begin),
      detector_(detector_options(options)),
      topology_(std::make_shared<detect::Topology>()),
      watermark_(run_begin) {}

std::vector<alert::Alert> Analyst::take(const ClosedSlice& message) {
  std::vector<alert::Alert> out;
  if (message.topology) {
    topology_ = message.topology;
    detector_.set_topology(topology_);
  }
  position_ = std::max(position_, message.position);
  watermark_ = std::max(watermark_, message.watermark);
  if (message.column)
    out = message.amended ? detector_.on_amended(*message.column, message.watermark)
                          : detector_.on_slice(*message.column, message.watermark);
  if (message.final) {
    end_ = message.end;
    final_ = true;
    for (alert::Alert& a : detector_.finish(message.end, message.watermark)) out.push_back(std::move(a));
  }
  std::erase_if(
      out, [&](const alert::Alert& a) { return !raised_.insert(a.id + '/' + alert::to_string(a.status)); });
  return out;
}

void Analyst::remember(std::string json) {
  recent_.push_back(std::move(json));
  if (recent_.size() > kMostReportedAlerts) recent_.pop_front();
}

ReportInput Analyst::input() const {
  ReportInput in{options_,   detector_, *topology_, nullptr, recent_, run_begin_,
                 watermark_, {},        {},         0,       final_,  true};
  in.position = position_;
  return in;
}

}  // namespace margay::app
