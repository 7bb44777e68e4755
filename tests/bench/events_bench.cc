// What the events of a long run cost a viewer: of a made-up run of 64 ranks the pictures on the way from the
// whole run to single calls, each read anew; and of the list of events the first page, one in the middle, one
// of a filter that finds little, the longest, and how many there are when.
//
//   events_bench [MILLIONS [ARCHIVE]]      of so many records (100), written into a new archive; or of one
//   there is
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "margay/query/event_answer.h"
#include "margay/query/view_maker.h"
#include "margay/query/view_question.h"
#include "margay/store/archive.h"
#include "support/synthetic_archive.h"
#include "support/temporary_folder.h"

namespace margay::daemon {
namespace {

struct Asked {
  double ms = 0;
  int pages = 0;
  std::uint64_t rows = 0;
};

// As many pages as it takes, or `most_pages`.
Asked ask(const store::Archive& archive, const store::Resume& resume, const ZoomExtent& extent,
          wire::EventsQuestion q, int most_pages) {
  const SystemClock clock;
  const TimeNs begin = clock.monotonic();
  Asked out;
  for (bool more = true; more && out.pages < most_pages; ++out.pages) {
    const auto request = decode_events_untrusted(q);
    if (!request) return std::fprintf(stderr, "%s\n", request.error().message.c_str()), out;
    const wire::EventsAnswer a = answer_events(archive, resume, extent, *request, clock, [] { return true; });
    if (!a.error().empty()) return std::fprintf(stderr, "%s\n", a.error().c_str()), out;
    out.rows += static_cast<std::uint64_t>(a.resource_size());
    for (const std::uint64_t n : a.density()) out.rows += n;
    more = a.has_next();
    if (more) *q.mutable_after() = a.next();
  }
  out.ms = static_cast<double>((clock.monotonic() - begin).value) / 1e6;
  return out;
}

// As the window asks: slices of the run, or 64 of what is hardly longer than they are; and the calls, where
// they are few enough.
wire::ViewQuestion closer(const ZoomExtent& extent, double s) {
  constexpr double kShort = 0.8;
  constexpr std::uint32_t kFine = 64, kMostCalls = 20'000;
  const auto length = static_cast<std::int64_t>(s * 1e9);
  const std::int64_t middle = (extent.zero.value + extent.end.value) / 2;
  wire::ViewQuestion q;
  q.set_from_ns(std::max(extent.zero.value, middle - length / 2));
  q.set_to_ns(std::min(extent.end.value, q.from_ns() + length));
  if (s < kShort) q.set_slices(kFine);
  q.set_visits(kMostCalls);
  return q;
}

void show_pictures(const store::Archive& archive, const ZoomExtent& extent) {
  const SystemClock clock;
  for (const double s : {600.0, 100.0, 25.0, 6.0, 1.6, 0.79, 0.4, 0.1, 0.05, 0.02, 0.005}) {
    const auto request = decode_view_untrusted(closer(extent, s));
    if (!request) return std::fprintf(stderr, "%s\n", request.error().message.c_str()), void();
    ViewMaker maker(archive, clock, {});
    const TimeNs begin = clock.monotonic();
    const auto answer = maker.answer(*request, [] { return true; });
    const double ms = static_cast<double>((clock.monotonic() - begin).value) / 1e6;
    std::printf("a picture of %7.3f s %31s %10.1f ms  %5d slices %6d parts %6d calls %s\n", s, "", ms,
                answer->boundaries_size() - 1, answer->part_node_size(), answer->visits().node_size(),
                answer->error().c_str());
    std::fflush(stdout);
  }
}

int run(double millions, const std::string& path) {
  if (!std::filesystem::exists(path)) {
    test::SyntheticArchive what;
    what.leaves = 64;
    what.lasts = seconds(600);
    // Two records a visit, and one visit in two steps, of twice `visit` at most.
    what.visit = DurationNs(static_cast<std::int64_t>(600e9 * 64 / (millions * 1e6)));
    if (const Status ok = what.write(path); !ok)
      return std::fprintf(stderr, "%s\n", ok.error().message.c_str()), 1;
  }
  auto archive = store::Archive::open(path, store::Mode::kReadOnly);
  if (!archive) return std::fprintf(stderr, "%s\n", archive.error().message.c_str()), 1;
  const auto resume = (*archive)->load();
  if (!resume) return std::fprintf(stderr, "%s\n", resume.error().message.c_str()), 1;
  const auto extent = zoom_extent(**archive, *resume);
  if (!extent) return std::fprintf(stderr, "%s\n", extent.error().message.c_str()), 1;
  std::uint64_t records = 0;
  for (const auto& s : resume->streams) records += s.next;
  std::printf("%.1f million records\n", static_cast<double>(records) / 1e6);
  show_pictures(**archive, *extent);
  const auto show = [&](const char* what, const wire::EventsQuestion& q, int pages) {
    const Asked a = ask(**archive, *resume, *extent, q, pages);
    std::printf("%-52s %10.1f ms  %5d pages  %12llu rows\n", what, a.ms, a.pages,
                static_cast<unsigned long long>(a.rows));
    std::fflush(stdout);
  };
  wire::EventsQuestion q;
  q.set_most(500);
  q.set_patience_ms(250);
  show("the first page", q, 1);
  show("the next 100", q, 100);
  q.set_from_ns(extent->zero.value + 300'000'000'000);
  q.set_to_ns(extent->end.value);
  show("the first page of the second half", q, 1);
  q.add_nodes("/host7/rank31");
  show("of one rank", q, 1);
  q = wire::EventsQuestion();
  q.set_most(500);
  q.set_match("rank3 S[28]$");
  show("the first page that a regular expression finds", q, 1);
  q.set_least_ns(50'000'000);  // there are none
  q.set_patience_ms(5000);
  show("all pages of an expression that finds nothing", q, 1000);
  q = wire::EventsQuestion();
  q.set_kind(wire::EventsQuestion::DENSITY);
  q.set_most(240);
  show("the density of all", q, 1000);
  q.set_kind(wire::EventsQuestion::LONGEST);
  q.set_most(1000);
  show("the longest of all, by pages", q, 1000);
  return 0;
}

}  // namespace
}  // namespace margay::daemon

int main(int argc, char** argv) {
  const margay::test::TemporaryFolder folder;
  const double millions = argc > 1 ? std::atof(argv[1]) : 100;
  return margay::daemon::run(millions, argc > 2 ? argv[2] : std::string(folder / "archive"));
}
