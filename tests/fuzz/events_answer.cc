// What a viewer receives of single events, checked and shown: a page of the list, or what they sum to.
//   input: u8 columns of the histogram, u8 flags (1 folded below the root's children), message
#include "fuzz.h"
#include "margay/scene/event_rows.h"
#include "margay/scene/event_sums.h"
#include "margay/scene/event_waits.h"
#include "proto_mutator.h"
#include "synthetic_view.h"

namespace {

using namespace margay;

const scene::ViewData& some_nodes() {
  static const scene::ViewData data = [] {
    support::ViewBuilder build(1);
    const std::uint32_t a = build.node("a", 0);
    build.node("r0", a);
    build.node("r1", a);
    build.node("b", 0);
    build.part(0, 0, 1, {});
    return *scene::view_data_untrusted(build.answer());
  }();
  return data;
}

void check_page(const wire::EventsAnswer& answer) {
  const auto page = scene::event_page_untrusted(answer);
  FUZZ_CHECK(page || !page.error().message.empty(), "a page, or a sentence");
  if (!page) return;
  FUZZ_CHECK(page->read_until >= page->time.from && page->read_until <= page->time.to,
             "read within the stretch");
  for (const scene::EventRow& row : page->rows) {
    FUZZ_CHECK(row.begin <= row.end, "rows end behind their begin");
    for (int c = 0; c < scene::kEventColumns; ++c)
      scene::event_cell(*page, row, static_cast<scene::EventColumn>(c));
    const std::string line = scene::event_csv(*page, row);
    FUZZ_CHECK(!line.empty() && line.back() == '\n', "a line");
  }
}

void check_sums(const wire::EventsAnswer& answer, std::size_t columns, unsigned flags) {
  const auto sums = scene::event_sums_untrusted(answer);
  FUZZ_CHECK(sums || !sums.error().message.empty(), "sums, or a sentence");
  if (!sums) return;
  FUZZ_CHECK(!scene::event_sums_csv(*sums).empty(), "tables have heads");
  if (!sums->messages) {
    const scene::Histogram h = scene::histogram_of(*sums, columns);
    std::uint64_t all = 0, single = 0;
    for (const scene::Histogram::Column& c : h.columns) {
      FUZZ_CHECK(c.total <= h.most, "the most is the most");
      all += c.total;
    }
    for (const scene::EventSum& s : sums->sums)
      if (!s.bins.empty()) single += s.single;
    FUZZ_CHECK(h.columns.empty() || all == single, "each visit is in one column");
    for (std::size_t i = 0; i < h.columns.size(); ++i)
      FUZZ_CHECK(h.edge(i) <= h.edge(i + 1), "columns ascend");
  } else {
    scene::Folding folding;
    if (flags & 1u) folding.most_depth = 1;
    const scene::MessageMatrix m =
        scene::matrix_of(*sums, some_nodes(), scene::rows_of(some_nodes(), folding));
    std::uint64_t all = m.unseen, sent = 0;
    for (const auto& [at, cell] : m.cells) {
      FUZZ_CHECK(at.first < m.size && at.second < m.size, "cells lie in the matrix");
      all += cell.count;
    }
    for (const scene::EventSum& s : sums->sums) sent += s.count;
    FUZZ_CHECK(all == sent, "each message is in one cell, or seen nowhere");
  }
}

void check_waits(const wire::EventsAnswer& answer) {
  const auto waits = scene::event_waits_untrusted(answer);
  FUZZ_CHECK(waits || !waits.error().message.empty(), "waits, or a sentence");
  if (!waits) return;
  double all = waits->unknown;
  for (const scene::EventWaits::Partner& p : waits->partners) {
    FUZZ_CHECK(p.time >= DurationNs(0) && p.time <= waits->waited, "no longer than all");
    all += p.share;
  }
  FUZZ_CHECK(all <= 1 + 1e-9, "shares of a whole");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input in(data, size);
  const std::size_t columns = in.u8();
  const unsigned flags = in.u8();
  const std::string_view bytes = in.rest();
  wire::EventsAnswer answer;
  if (!answer.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return 0;
  check_page(answer);
  check_sums(answer, columns, flags);
  check_waits(answer);
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most,
                                               unsigned seed) {
  return margay::fuzz::mutate_prefixed<margay::wire::EventsAnswer>(data, size, most, seed, 2);
}
