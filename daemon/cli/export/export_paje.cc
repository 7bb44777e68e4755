#include <algorithm>
#include <cstdio>

#include "export_parts.h"
#include "margay/base/text.h"
#include "margay/query/message_list.h"
#include "paje_writer.h"

namespace margay::daemon::exporting {
namespace {

// Messages as links, told between the events of other times.
class MessageLinks {
 public:
  // Those that begin and end in what is written. Errors: those of list_messages.
  Status read(const Job& job) {
    MessageQuery query;
    query.from = job.from, query.to = job.to, query.progress = job.progress;
    const auto counts = list_messages(job.archive, job.all, query, [&](const MessageRow& row) -> Status {
      const trace::Message& m = row.what;
      if (!m.completed || m.sent < job.from || m.received >= job.to) return ++left_out_, Status();
      const auto number = static_cast<std::int32_t>(ends_.size() / 2);
      ends_.push_back({m.sent, m.from, number, true});
      ends_.push_back({std::max(m.sent, m.received), m.to, number, false});
      return {};
    });
    if (!counts) return tl::unexpected(counts.error());
    notes_ = unpaired_notes(counts->calls);
    std::stable_sort(ends_.begin(), ends_.end(), [](const End& a, const End& b) { return a.time < b.time; });
    return {};
  }
  // Those before `t` that were not told yet.
  Status tell(TimeNs t, PajeWriter& writer) {
    for (; next_ < ends_.size() && ends_[next_].time < t; ++next_) {
      const End& end = ends_[next_];
      trace::RawEvent e;
      e.time = end.time, e.leaf = end.leaf, e.name = "Message\nmessage";
      e.record.kind = end.begins ? MARGAY_LINK_BEGIN : MARGAY_LINK_END;
      e.record.time_ns = end.time.value, e.record.tag = end.number;
      if (Status ok = writer.take(e); !ok) return ok;
    }
    return {};
  }
  void say_what_is_left_out() const {
    if (left_out_ > 0)
      std::fprintf(
          stderr,
          "margay: %s messages are no links: they begin or end outside of the time range, or no call "
          "says when they were there\n",
          grouped(left_out_).c_str());
    for (const std::string& note : notes_) std::fprintf(stderr, "margay: messages: %s\n", note.c_str());
  }

 private:
  struct End {
    TimeNs time;
    LeafIndex leaf;
    std::int32_t number;
    bool begins;
  };
  std::vector<End> ends_;  // by time
  std::size_t next_ = 0;
  std::uint64_t left_out_ = 0;
  std::vector<std::string> notes_;
};

}  // namespace

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
  MessageLinks messages;
  if (job.request.messages)
    if (Status ok = messages.read(job); !ok) return ok;
  auto out = OutFile::create(output);
  if (!out) return tl::unexpected(out.error());
  PajeWriter writer(**out, job.all, job.from, job.to);
  trace::RawStreamOptions options;
  options.to = job.to;
  options.progress = [&](std::uint64_t blocks) {
    if (job.progress) job.progress(static_cast<double>(blocks) / static_cast<double>(survey->blocks));
  };
  const auto left_out =
      trace::stream_raw(job.archive, job.all, options, [&](const trace::RawEvent& e) -> Status {
        if (Status ok = messages.tell(e.time, writer); !ok) return ok;
        return writer.take(e);
      });
  if (!left_out) return tl::unexpected(left_out.error());
  Status s = messages.tell(job.to, writer);
  if (s) s = writer.finish();
  if (s) s = (*out)->commit();
  if (!s) return s;
  messages.say_what_is_left_out();
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
