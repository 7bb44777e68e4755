#include <cstdio>

#include "export_parts.h"
#include "margay/base/text.h"
#include "paje_writer.h"

namespace margay::daemon::exporting {

Status write_paje(const Job& job, const std::string& output) {
  const auto survey = trace::survey_raw(job.archive, job.all);
  if (!survey) return tl::unexpected(survey.error());
  const std::string csv = "; --format csv exports the slices";
  if (survey->events == 0)
    return fail(ErrorCode::kInvalidArgument, job.archive.path() +
                                                 ": has no raw events (--no-raw, or they were deleted for "
                                                 "space), so states are not known exactly" +
                                                 csv);
  if (survey->whole_from && job.from < *survey->whole_from) {
    const TimeNs origin = PajeWriter::imported(job.all) ? TimeNs() : job.all.run.begin;
    return fail(ErrorCode::kInvalidArgument,
                job.archive.path() +
                    ": the oldest raw events were deleted, so earlier states are not known exactly; --from " +
                    seconds_text((*survey->whole_from - origin).value) + " exports what is complete" + csv);
  }
  auto out = OutFile::create(output);
  if (!out) return tl::unexpected(out.error());
  PajeWriter writer(**out, job.all, job.from, job.to);
  trace::RawStreamOptions options;
  options.to = job.to;
  options.progress = [&](std::uint64_t blocks) {
    if (job.progress) job.progress(static_cast<double>(blocks) / static_cast<double>(survey->blocks));
  };
  const auto left_out = trace::stream_raw(job.archive, job.all, options,
                                          [&](const trace::RawEvent& e) { return writer.take(e); });
  if (!left_out) return tl::unexpected(left_out.error());
  Status s = writer.finish();
  if (s) s = (*out)->commit();
  if (!s) return s;
  const PajeWriter::Counts& c = writer.counts();
  if (c.gaps != 0)
    std::fprintf(stderr,
                 "margay: events are lost or not in the archive at %s points: the state Unknown follows, and "
                 "states that were open may have ended earlier\n",
                 grouped(c.gaps).c_str());
  if (*left_out != 0)
    std::fprintf(stderr,
                 "margay: %s records were left out: their kind is unknown to this version, or they lie "
                 "behind the end of their block\n",
                 grouped(*left_out).c_str());
  if (c.links_left_out != 0)
    std::fprintf(stderr,
                 "margay: %s ends of links were left out, because their begin is not in the archive\n",
                 grouped(c.links_left_out).c_str());
  return {};
}

}  // namespace margay::daemon::exporting
