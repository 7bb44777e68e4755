#include <cstdio>

#include "export_parts.h"
#include "margay/base/text.h"
#include "paje_writer.h"

namespace margay::app::exporting {

Status write_paje(const Job& job, const std::string& output) {
  const auto survey = trace::survey_raw(job.archive, job.all);
  if (!survey) return tl::unexpected(survey.error());
  const std::string csv = "; what the slices tell goes with --format csv";
  if (survey->events == 0)
    return fail(
        ErrorCode::kInvalidArgument,
        job.archive.path() +
            ": keeps no raw events (they were not wanted, or were given up), so states cannot be told "
            "exactly" +
            csv);
  if (survey->whole_from && job.from < *survey->whole_from) {
    const TimeNs origin = PajeWriter::imported(job.all) ? TimeNs() : job.all.run.begin;
    return fail(ErrorCode::kInvalidArgument,
                job.archive.path() +
                    ": older raw events were given up, so what comes before cannot be told "
                    "exactly; --from " +
                    seconds_text((*survey->whole_from - origin).value) + " exports what is whole" + csv);
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
    std::fprintf(
        stderr,
        "margay: events were lost, or are not in the archive, at %s points: the state Unknown follows, "
        "and what was open before may have ended earlier\n",
        grouped(c.gaps).c_str());
  if (*left_out != 0)
    std::fprintf(stderr,
                 "margay: %s records were left out: of kinds that this Margay does not know, or behind the "
                 "end of their block\n",
                 grouped(*left_out).c_str());
  if (c.links_left_out != 0)
    std::fprintf(stderr, "margay: %s ends of links were left out, whose begin is not there\n",
                 grouped(c.links_left_out).c_str());
  return {};
}

}  // namespace margay::app::exporting
