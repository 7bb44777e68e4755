#include "daemon.h"

#include <utility>

#include "margay/live/durability.h"

namespace margay::simulation {

Result<std::unique_ptr<Daemon>> Daemon::start(daemon::Options options, const HandClock& clock,
                                              std::shared_ptr<FaultyFiles> files, Send send) {
  std::unique_ptr<Daemon> daemon(new Daemon);
  daemon->options_ = std::move(options);
  store::ArchiveOptions archive_options;
  archive_options.files = std::move(files);
  auto opened = daemon::open_run(daemon->options_, clock, daemon::this_boot(), archive_options);
  if (!opened) return tl::unexpected(opened.error());
  daemon->archive_ = std::move(opened->archive);
  daemon->resume_ = std::move(opened->resume);
  daemon::IngestStage::Ports ports;
  ports.send = std::move(send);
  ports.stepped = true;
  auto stage = daemon::IngestStage::make(daemon->options_, *daemon->archive_, daemon->resume_, opened->back,
                                         daemon->exchange_, clock, std::move(ports));
  if (!stage) return tl::unexpected(stage.error());
  daemon->ingest_ = std::move(*stage);
  daemon::AnalysisStage::Ports viewers;
  viewers.publish = [d = daemon.get()](const wire::Report& report) { d->report_ = report; };
  viewers.reply = [](const daemon::Client&, const wire::ControlReply&) {};
  auto analysis = daemon::AnalysisStage::make(daemon->options_, *daemon->archive_, daemon->resume_,
                                              opened->back, daemon->exchange_, clock, std::move(viewers));
  if (!analysis) return tl::unexpected(analysis.error());
  daemon->analysis_ = std::move(*analysis);
  daemon->ingest_->begin();
  daemon->analysis_->begin();
  return daemon;
}

void Daemon::receive(const std::string& agent, const std::string& message) {
  ingest_->receive(message, agent, ingest::kLocalOwner, "");
}

void Daemon::step(bool disk) {
  ingest_->step();
  analysis_->take_slices();
  analysis_->step();
  if (disk) static_cast<void>(ingest_->commits().write_next());
}

void Daemon::finish() {
  const std::lock_guard lock(exchange_.mutex);
  if (!exchange_.finish) exchange_.finish = daemon::FinishRequest{};
}

}  // namespace margay::simulation
