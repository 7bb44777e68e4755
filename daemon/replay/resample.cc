#include "margay/replay/resample.h"

#include <stdlib.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "margay/import/archive_writer.h"
#include "margay/trace/archive_trace.h"

namespace margay::daemon {

Scratch::~Scratch() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

Status Scratch::make() {
  std::error_code error;
  std::string name = (std::filesystem::temp_directory_path(error) / "margay-replay-XXXXXX").string();
  if (error || mkdtemp(name.data()) == nullptr)
    return fail(ErrorCode::kIo, name + ": cannot be made, for the trace's model: " + std::strerror(errno));
  path_ = name;
  return {};
}

Result<Resampled> resample(const store::Archive& archive, const store::Resume& resume,
                           const ResampleRequest& request, const std::string& path) {
  const DurationNs slice = request.slice, finest = resume.run.levels[0];
  trace::ArchiveTraceOptions range;
  range.from = request.from.value_or(resume.run.begin);
  range.to = request.to.value_or(TimeNs(INT64_MAX));
  range.values = request.op.measure == slicer::Operator::Measure::kMean;
  TimeNs end = resume.run.begin;
  for (const auto& c : resume.closed)
    if (c.level == LevelIndex(0)) end = slice_end(c.through, finest);
  end = std::min(end, range.to);
  const auto raw = trace::has_raw(archive, resume, range.from);
  if (!raw) return tl::unexpected(raw.error());
  if (!*raw && request.planes_only)
    return fail(ErrorCode::kInvalidArgument,
                archive.path() + ": --operator " + request.op.text() +
                    " wants the events themselves, which are not kept" +
                    (resume.run.settings.contains(store::kOperatorSetting)
                         ? " (without --operator it is " + resume.run.settings.at(store::kOperatorSetting) +
                               ", as the run had it)"
                         : ""));
  if (!*raw)
    return fail(ErrorCode::kInvalidArgument,
                archive.path() + ": no level of it divides a slice of " + std::to_string(slice.value) +
                    " ns (its finest has " + std::to_string(finest.value) +
                    " ns), and the events themselves are not kept: expected a multiple");
  // Records of one leaf come a block at a time, so that all slices of the range are open at once.
  const auto slices =
      static_cast<std::uint64_t>(std::max<std::int64_t>(0, (end - range.from).value) / slice.value + 1);
  const bool measures = request.op != slicer::Operator{};
  const std::uint64_t row = resume.leaves.size() * (resume.states.size() * (measures ? 28 : 20) + 128);
  const bool too_many = row != 0 && slices > kMostCellBytes / row;
  if (too_many && !request.planes_only)
    return fail(ErrorCode::kLimit, archive.path() + ": " + std::to_string(slices) + " slices of " +
                                       std::to_string(resume.leaves.size()) + " leaves are more than " +
                                       std::to_string(kMostCellBytes >> 20) +
                                       " MiB; expected a shorter range (--from, --to) or a longer slice");
  trace::ArchiveWriter::Options options;
  options.run = resume.run;
  options.run.levels = {slice};
  if (!request.planes_only) options.run.levels = {slice, slice * 10, slice * 100, slice * 600};
  options.raw = false;
  options.op = request.op;
  auto writer = trace::ArchiveWriter::create(path, std::move(options));
  if (!writer) return tl::unexpected(writer.error());
  range.step = [&](TimeNs reached) -> Status {
    if (request.progress) request.progress(reached);
    // Blocks come in the order of their begins: nothing from before is still to come.
    return too_many ? (*writer)->on_covered(reached) : Status();
  };
  const auto read = trace::read_archive(archive, resume, range, **writer);
  if (!read) return tl::unexpected(read.error());
  const auto made = (*writer)->finish(0, read->rejected);
  if (!made) return fail(made.error(), archive.path());
  return Resampled{read->exact, made->begin};
}

}  // namespace margay::daemon
