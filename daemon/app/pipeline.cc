#include "pipeline.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace margay::app {
namespace {

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof(name) - 1) == 0 ? name : "host";
}

std::string boot_id() {
  std::ifstream in("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(in, id);
  return id;
}

store::RunMeta new_run(const Options& o, const Clock& clock) {
  store::RunMeta run;
  run.run = o.run;
  run.command = o.command;
  run.host = host_name();
  run.boot_id = boot_id();
  run.margay_version = MARGAY_VERSION;
  const TimeNs mono = clock.monotonic();
  run.begin = clock.realtime();
  run.wall_offset = run.begin - mono;
  run.levels = o.levels;
  run.lateness = o.lateness;
  run.silence_hold_slices = o.silence_hold_slices;
  return run;
}

}  // namespace

Result<std::unique_ptr<Pipeline>> Pipeline::start(Options options) {
  std::unique_ptr<Pipeline> p(new Pipeline(std::move(options)));
  Options& o = p->options_;
  store::ArchiveOptions archive_options;
  archive_options.memory_bytes = o.store_memory_bytes;
  archive_options.disk_budget = o.disk_budget_bytes;

  std::error_code ec;
  const bool exists = std::filesystem::exists(o.archive, ec) && !std::filesystem::is_empty(o.archive, ec);
  auto archive = exists ? store::Archive::open(o.archive, store::Mode::kWrite, archive_options)
                        : store::Archive::create(o.archive, new_run(o, p->clock_), archive_options);
  if (!archive) return tl::unexpected(archive.error());
  p->archive_ = std::move(*archive);
  auto resume = p->archive_->load();
  if (!resume) return tl::unexpected(resume.error());
  if (resume->run.run != o.run)
    return fail(ErrorCode::kInvalidArgument, o.archive + ": holds the run '" + resume->run.run +
                                                 "'; give --archive a directory of its own");
  // A daemon that died after its last cut has a successor, which says again how the run ended.
  if (resume->run.end && o.restarts == 0)
    return fail(ErrorCode::kInvalidArgument,
                o.archive + ": this run is over; a new run needs a directory of its own");
  o.levels = resume->run.levels;
  if (resume->run.boot_id != boot_id())
    resume->run.wall_offset = p->clock_.realtime() - p->clock_.monotonic();

  auto ingest = IngestStage::make(o, p->context_, *p->archive_, *resume, p->exchange_, p->clock_);
  if (!ingest) return tl::unexpected(ingest.error());
  p->ingest_ = std::move(*ingest);
  auto analysis = AnalysisStage::make(o, p->context_, *p->archive_, *resume, p->exchange_, p->clock_);
  if (!analysis) return tl::unexpected(analysis.error());
  p->analysis_ = std::move(*analysis);
  p->ingest_->start();
  p->analysis_->start();
  return p;
}

void Pipeline::wait() {
  if (analysis_) analysis_->join();
  if (ingest_) ingest_->join();
}

Pipeline::~Pipeline() {
  request_stop();
  wait();
}

}  // namespace margay::app
