// What a viewer receives of a stretch of the run, checked and made a picture of.
//   input: u8 width, u8 height, u8 threshold, u8 flags (1 rows by leaf, 2 folded below the root's children, 4
//   a search for "1", 8 scrolled), message
#include <cmath>

#include "fuzz.h"
#include "margay/scene/layout.h"
#include "margay/scene/navigation.h"
#include "margay/scene/quality.h"
#include "margay/scene/statistics.h"
#include "margay/scene/temporal_bars.h"
#include "margay/scene/time_axis.h"
#include "proto_mutator.h"

namespace {

using namespace margay;

// Rows come in stretches: what is drawn fills what there is to see.
void check_picture(const scene::ViewData& d, const scene::Rows& rows, const scene::Viewport& v,
                   double threshold) {
  const scene::Layout l = scene::layout(d, rows, v, {threshold});
  double area = 0;
  for (const scene::Rect& r : l.rects) {
    FUZZ_CHECK(r.x0 >= 0 && r.x0 < r.x1 && r.x1 <= v.width, "within the width");
    FUZZ_CHECK(r.y0 >= 0 && r.y0 < r.y1 && r.y1 <= v.height, "within the height");
    FUZZ_CHECK(r.strength >= 0 && r.strength <= 1 && r.known >= 0 && r.known <= 1, "shares are shares");
    FUZZ_CHECK(r.state < static_cast<std::int32_t>(d.states.size()), "of a state that there is");
    area += (r.x1 - r.x0) * (r.y1 - r.y0);
  }
  if (rows.rows.empty()) return;
  const auto x = [&](TimeNs t) { return std::min(std::max(scene::x_of(v, t), 0.0), v.width); };
  const auto y = [&](double u) { return std::min(std::max(scene::y_of(v, u), 0.0), v.height); };
  const double whole = (x(d.range().to) - x(d.range().from)) * (y(rows.height) - y(0));
  FUZZ_CHECK(std::fabs(area - whole) <= 1e-6 * (1 + whole), "nothing is lost, nothing comes twice");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input in(data, size);
  const double width = in.u8(), height = in.u8(), threshold = in.u8() / 16.0;
  const unsigned flags = in.u8();
  const std::string_view bytes = in.rest();
  wire::ViewAnswer answer;
  if (!answer.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return 0;
  const auto read = scene::view_data_untrusted(answer);
  FUZZ_CHECK(read || !read.error().message.empty(), "data, or a sentence");
  if (!read) return 0;
  const scene::ViewData& d = *read;
  scene::Folding folding;
  if (flags & 1u) folding.unit = scene::RowUnit::kLeaf;
  if (flags & 2u) folding.most_depth = 1;
  if (flags & 4u) folding.search = "1";
  const scene::Rows rows = scene::rows_of(d, folding);
  scene::Viewport v{width, height, d.range(), scene::whole(rows)};
  if ((flags & 8u) && !d.empty()) {
    v.time.to = d.boundaries[(d.boundaries.size() + 1) / 2];
    v.rows = scene::zoomed(rows, v.rows, 0.5, rows.height / 3, 0.1);
  }
  if (!d.empty() && width > 0 && height > 0) check_picture(d, rows, v, threshold);
  for (const scene::Bar& bar : scene::temporal_bars(d))
    FUZZ_CHECK(bar.first < bar.last && (bar.segments.empty() || bar.segments.back().to > 0),
               "bars are of something");
  const scene::Statistics s = scene::statistics(d, {0, 0, d.slices()});
  FUZZ_CHECK(!s.pro_rata, "the whole is no estimate");
  FUZZ_CHECK(!scene::csv_of(s, d).empty() && !scene::parts_csv(d).empty(), "tables have heads");
  const scene::Steps steps = scene::steps_of(d);
  FUZZ_CHECK(steps.steps.empty() == (steps.jump < 0), "of steps one is the jump's");
  FUZZ_CHECK(scene::time_axis(d.range(), scene::Times{d.zero}, {width}).ticks.size() <= scene::kMostTicks,
             "ticks are bounded");
  const scene::Times clock{d.zero, 3600, true, true};
  FUZZ_CHECK(scene::time_axis(d.range(), clock, {width}).ticks.size() <= scene::kMostTicks,
             "ticks of the clock are bounded");
  FUZZ_CHECK(
      !scene::range_text(d.range(), clock).empty() && !scene::short_time_text(d.range().from, clock).empty(),
      "times of day have words");
  const scene::Subject subject = scene::subject_of(d.question);
  FUZZ_CHECK(!scene::text_of(subject, d.zero).empty(), "what is looked at has words");
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most,
                                               unsigned seed) {
  return margay::fuzz::mutate_prefixed<margay::wire::ViewAnswer>(data, size, most, seed, 4);
}
