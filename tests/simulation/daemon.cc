#include "daemon.h"

#include <utility>

#include "margay/live/durability.h"

namespace margay::simulation {

Result<std::unique_ptr<Daemon>> Daemon::start(app::Options options, const HandClock& clock,
                                              std::shared_ptr<FaultyFiles> files, Send send) {
  std::unique_ptr<Daemon> daemon(new Daemon);
  daemon->options_ = std::move(options);
  store::ArchiveOptions archive_options;
  archive_options.files = std::move(files);
  auto opened = app::open_run(daemon->options_, clock, app::this_boot(), archive_options);
  if (!opened) return tl::unexpected(opened.error());
  daemon->archive_ = std::move(opened->archive);
  daemon->resume_ = std::move(opened->resume);
  app::IngestStage::Ports ports;
  ports.send = std::move(send);
  ports.stepped = true;
  auto stage = app::IngestStage::make(daemon->options_, *daemon->archive_, daemon->resume_, opened->back,
                                      daemon->exchange_, clock, std::move(ports));
  if (!stage) return tl::unexpected(stage.error());
  daemon->stage_ = std::move(*stage);
  daemon->stage_->begin();
  return daemon;
}

void Daemon::receive(const std::string& agent, const std::string& message) {
  stage_->receive(message, agent, ingest::kLocalOwner, "");
}

void Daemon::step(bool disk) {
  stage_->step();
  analyse();
  if (disk) static_cast<void>(stage_->commits().write_next());
}

// In the place of the analysis: it takes what it is shown, and has found nothing.
void Daemon::analyse() {
  while (const auto shown = exchange_.slices.try_pop()) {
    if (shown->standing) --exchange_.standings;
    if (!shown->final) continue;
    app::Findings findings;
    findings.final = true;
    static_cast<void>(exchange_.findings.try_push(std::move(findings)));
  }
}

void Daemon::finish() {
  const std::lock_guard lock(exchange_.mutex);
  if (!exchange_.finish) exchange_.finish = app::FinishRequest{};
}

}  // namespace margay::simulation
