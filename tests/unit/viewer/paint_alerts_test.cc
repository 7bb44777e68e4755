// How alerts are framed in the picture.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QImage>
#include <QPainter>
#include <vector>

#include "paint.h"
#include "session.h"
#include "shown.h"

namespace margay::viewer {
namespace paint_alerts_test {

// Of a thousand resources in 500 pixels every other one of sixty is blamed, and one far below. Frames of each
// would hide all sixty of them.
TEST(Alerts, OfThinRowsBesideEachOtherHaveOneFrame) {
  Session session(nullptr, scene::Theme::kLight);
  session.show(cluster());
  const scene::ViewData& data = session.data();
  const scene::Rows& rows = session.rows();
  ASSERT_EQ(rows.rows.size(), 1000u);
  terminal::AlertView alert;
  const auto blame = [&](std::size_t row) { alert.paths.push_back(data.nodes[rows.rows[row].node].path); };
  for (std::size_t row = 100; row < 160; row += 2) blame(row);
  blame(600);
  alert.firing = false;
  const std::int64_t begin = data.range().from.value, length = data.range().to.value - begin;
  alert.onset_ns = begin + length / 4;
  alert.end_ns = begin + length / 2;
  const scene::Viewport view{400, 500, data.range(), session.scroll()};
  QImage image(400, 500, QImage::Format_RGB32);
  image.fill(Qt::gray);
  QPainter p(&image);
  paint_alerts(p, QRectF(0, 0, 400, 500), QRectF(), {data, rows, session.palette()}, view, {alert},
               TimeNs(*alert.end_ns));
  p.end();
  const QRgb red = alert_colour(session.palette()).rgb(), untouched = QColor(Qt::gray).rgb();
  std::vector<int> lines;
  for (int y = 0; y < 500; ++y)
    if (image.pixel(150, y) == red && (y == 0 || image.pixel(150, y - 1) != red)) lines.push_back(y);
  EXPECT_THAT(lines, testing::ElementsAre(testing::AllOf(testing::Ge(48), testing::Le(50)),
                                          testing::AllOf(testing::Ge(78), testing::Le(80)),
                                          testing::AllOf(testing::Ge(298), testing::Le(300))));
  for (int y = 54; y < 76; ++y) EXPECT_EQ(image.pixel(150, y), untouched) << y;
  EXPECT_EQ(image.pixel(100, 65), red) << "it is around all of them";
}

}  // namespace paint_alerts_test
}  // namespace margay::viewer
