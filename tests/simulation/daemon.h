// A daemon of the simulation: everything of margayd but its threads and sockets, stepped by hand. Its
// destruction is a kill: nothing is committed by it.
#pragma once

#include <memory>
#include <string>

#include "faulty_files.h"
#include "margay/live/analysis_stage.h"
#include "margay/live/ingest_stage.h"
#include "margay/live/open_run.h"

namespace margay::simulation {

// Both clocks go on together, by hand.
class HandClock final : public Clock {
 public:
  TimeNs monotonic() const override { return now; }
  TimeNs realtime() const override { return now + kOffset; }
  TimeNs processor() const override { return {}; }
  static constexpr DurationNs kOffset = seconds(1'000'000);
  TimeNs now{seconds(5).value};
};

class Daemon {
 public:
  using Send = std::function<void(const std::string& agent, const wire::ToAgent& message)>;
  // Errors: those of open_run and of the stages.
  static Result<std::unique_ptr<Daemon>> start(daemon::Options options, const HandClock& clock,
                                               std::shared_ptr<FaultyFiles> files, Send send);

  void receive(const std::string& agent, const std::string& message);
  // Everything that is due; the disk takes the next cut if `disk`.
  void step(bool disk);
  void finish();
  bool finished() const { return exchange_.finished; }
  void end() { ingest_->end(); }
  const daemon::IngestModel& model() const { return ingest_->model(); }
  const store::Archive& archive() const { return *archive_; }
  const store::Resume& resume() const { return resume_; }
  // The newest report; of the first there is none yet.
  const wire::Report& report() const { return report_; }

 private:
  Daemon() = default;
  daemon::Options options_;
  daemon::Exchange exchange_;
  std::unique_ptr<store::Archive> archive_;
  store::Resume resume_;
  std::unique_ptr<daemon::IngestStage> ingest_;
  std::unique_ptr<daemon::AnalysisStage> analysis_;
  wire::Report report_;
};

}  // namespace margay::simulation
