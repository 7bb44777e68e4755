// What BoxPainter writes straight into an image is what QPainter would have drawn there.
#include "box_painter.h"

#include <gtest/gtest.h>

#include <QImage>
#include <QPainter>
#include <QRegion>
#include <QWidget>
#include <cmath>
#include <functional>
#include <random>
#include <vector>

namespace margay::viewer {
namespace {

constexpr int kSide = 160, kAside = 8;  // pixels; a painter that is moved aside draws itself
const QRectF kArea(10, 20, 130, 110);

using Drawing = std::function<void(BoxPainter&)>;

QImage drawn(bool direct, const Drawing& draw, double scale = 1) {
  const int aside = direct ? 0 : kAside;
  QImage image(QSize(kSide + aside, kSide + aside) * scale, QImage::Format_RGB32);
  image.setDevicePixelRatio(scale);
  image.fill(Qt::white);
  QPainter p(&image);
  p.translate(aside, aside);
  p.setClipRect(kArea);
  BoxPainter boxes(p, kArea);
  EXPECT_EQ(boxes.direct(), direct);
  draw(boxes);
  boxes.finish();
  p.end();
  return image.copy(QRect(QPoint(aside, aside) * scale, QSize(kSide, kSide) * scale));
}

// Beside each other, some of them not wholly inside. No edge is in the middle of a pixel, where QPainter
// itself rounds a box one way and its pattern the other.
std::vector<QRectF> boxes_of(std::mt19937_64& rng) {
  const auto steps = [&] {
    std::vector<double> out{-5};
    while (out.back() < kSide + 5) {
      const double by = 0.1 + static_cast<double>(rng() % 400) / 25;
      const double at = out.back() + by, middle = std::floor(at) + 0.5;
      out.push_back(rng() % 3 == 0 ? std::round(at) : std::abs(at - middle) < 0.05 ? middle + 0.05 : at);
    }
    return out;
  };
  std::vector<QRectF> out;
  const std::vector<double> ys = steps();
  for (std::size_t y = 1; y < ys.size(); ++y) {
    const std::vector<double> xs = steps();
    for (std::size_t x = 1; x < xs.size(); ++x)
      out.emplace_back(QPointF(xs[x - 1], ys[y - 1]), QPointF(xs[x], ys[y]));
  }
  return out;
}

double place(std::mt19937_64& rng) {
  return static_cast<double>(rng() % (2 * kSide)) / 2 + (rng() % 2 ? 0.0 : 0.2);
}

QColor colour(std::mt19937_64& rng) {
  return QColor::fromRgb(static_cast<QRgb>(rng()) | 0xff000000);
}

TEST(BoxPainter, WritesThePixelsThatQPainterDraws) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    const double scale = seed % 2 ? 1 : 2;
    const Drawing draw = [&](BoxPainter& painter) {
      std::mt19937_64 rng(seed);
      for (const QRectF& pixels : boxes_of(rng)) {
        const QRectF box(pixels.topLeft() / scale, pixels.bottomRight() / scale);
        const auto pattern = static_cast<scene::Pattern>(rng() % scene::kPatterns);
        const double strength = static_cast<double>(rng() % 11) / 10;
        const QColor fill = colour(rng), ink = rng() % 2 ? Qt::black : Qt::white;
        if (rng() % 5 == 0)
          painter.hatch(box, fill, ink);
        else
          painter.fill(box, fill, pattern, ink, strength);
      }
    };
    ASSERT_EQ(drawn(true, draw, scale), drawn(false, draw, scale)) << scale;
  }
}

// Of its own each: QPainter leaves out what a line shares with the one before.
TEST(BoxPainter, WritesLinesThatStandAndLie) {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE(seed);
    const Drawing draw = [&](BoxPainter& painter) {
      std::mt19937_64 rng(seed);
      const double x = place(rng), y = place(rng), to = place(rng);
      painter.line(rng() % 2 ? QLineF(x, y, x, to) : QLineF(x, y, to, y), Qt::black);
    };
    ASSERT_EQ(drawn(true, draw), drawn(false, draw));
  }
}

TEST(BoxPainter, WritesSlantingLinesAtMostOnePixelAside) {
  const auto black = [](const QImage& image, int x, int y) { return image.pixel(x, y) == qRgb(0, 0, 0); };
  const auto beside = [&](const QImage& image, int x, int y) {
    for (int dx = -1; dx <= 1; ++dx)
      for (int dy = -1; dy <= 1; ++dy)
        if (image.valid(x + dx, y + dy) && black(image, x + dx, y + dy)) return true;
    return false;
  };
  int written = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    const Drawing draw = [&](BoxPainter& painter) {
      std::mt19937_64 rng(seed);
      const double x = place(rng), y = place(rng);
      painter.line(QLineF(x, y, place(rng) + 0.1, place(rng) + 0.1), Qt::black);
    };
    const QImage straight = drawn(true, draw), by_qt = drawn(false, draw);
    int pixels = 0, of_qt = 0;
    for (int y = 0; y < kSide; ++y)
      for (int x = 0; x < kSide; ++x) {
        pixels += black(straight, x, y), of_qt += black(by_qt, x, y);
        ASSERT_TRUE(!black(straight, x, y) || beside(by_qt, x, y)) << x << ' ' << y;
        ASSERT_TRUE(!black(by_qt, x, y) || beside(straight, x, y)) << x << ' ' << y;
      }
    ASSERT_NEAR(pixels, of_qt, 1);
    written += pixels;
  }
  EXPECT_GT(written, 5000);
}

// As much ink as QPainter takes, and not further from the line.
TEST(BoxPainter, SmoothsSlantingLinesAsQPainterDoes) {
  const auto ink = [](const QImage& image, int x, int y) { return 255 - qGreen(image.pixel(x, y)); };
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    const Drawing draw = [&](BoxPainter& painter) {
      std::mt19937_64 rng(seed);
      const double x = place(rng), y = place(rng);
      painter.smooth_line(QLineF(x, y, place(rng) + 0.1, place(rng) + 0.1), QColor(0, 0, 0, 110));
    };
    const double scale = seed % 2 ? 1 : 2;
    const QImage straight = drawn(true, draw, scale), by_qt = drawn(false, draw, scale);
    double all = 0, of_qt = 0;
    for (int y = 0; y < straight.height(); ++y)
      for (int x = 0; x < straight.width(); ++x) {
        all += ink(straight, x, y), of_qt += ink(by_qt, x, y);
        ASSERT_LE(ink(straight, x, y), 110);
        int near = 0;
        for (int dx = -1; dx <= 1; ++dx)
          for (int dy = -1; dy <= 1; ++dy)
            if (by_qt.valid(x + dx, y + dy)) near = std::max(near, ink(by_qt, x + dx, y + dy));
        ASSERT_TRUE(near > 0 || ink(straight, x, y) == 0) << x << ' ' << y;
      }
    // QPainter's are wider the more they slant, where a pixel is of several of the device's.
    ASSERT_NEAR(all, of_qt, 220 + (scale > 1 ? 0.35 : 0.05) * of_qt);
  }
}

// What is wide, far and turned: pixels outside are somebody else's memory.
TEST(BoxPainter, TouchesNothingOutsideOfTheArea) {
  std::mt19937_64 rng(7);
  const auto far = [&] {
    const double at = std::ldexp(static_cast<double>(rng() % 1000) - 500, static_cast<int>(rng() % 60));
    return rng() % 4 ? static_cast<double>(rng() % kSide) : at;
  };
  QImage image(kSide, kSide, QImage::Format_RGB32);
  image.fill(Qt::white);
  {
    QPainter p(&image);
    BoxPainter boxes(p, kArea);
    for (int i = 0; i < 20'000; ++i) {
      const QLineF line(far(), far(), far(), far());
      boxes.line(line, Qt::black), boxes.smooth_line(line, Qt::black);
      boxes.fill(QRectF(line.p1(), line.p2()), Qt::black, scene::Pattern::kGrid, Qt::white);
      boxes.hatch(QRectF(line.p1(), line.p2()), Qt::black, Qt::white);
      boxes.repeat(QRectF(line.p1(), line.p2()));
    }
  }
  for (int y = 0; y < kSide; ++y)
    for (int x = 0; x < kSide; ++x) {
      const bool inside = kArea.contains(QPointF(x + 0.5, y + 0.5));
      ASSERT_TRUE(inside || image.pixel(x, y) == qRgb(255, 255, 255)) << x << ' ' << y;
    }
}

// Boxes of one seed, somewhere in a window.
class Drawn : public QWidget {
 public:
  explicit Drawn(QWidget* parent) : QWidget(parent) { setGeometry(13, 29, kSide, kSide); }
  static void draw(BoxPainter& boxes) {
    std::mt19937_64 rng(3);
    for (const QRectF& box : boxes_of(rng))
      boxes.fill(box, colour(rng), static_cast<scene::Pattern>(rng() % scene::kPatterns), Qt::black);
  }
  bool direct = false;

 protected:
  void paintEvent(QPaintEvent*) override {
    QPainter p(this);
    p.setClipRect(kArea);
    BoxPainter boxes(p, kArea);
    direct = boxes.direct();
    draw(boxes);
    boxes.finish();
  }
};

// Of the window no other pixel is touched, and these are those of a picture of its own, whether all of the
// widget is painted or only what something has uncovered.
TEST(BoxPainter, PaintsAWidgetWhereItIsAndOnlyWhatIsUncovered) {
  const QImage alone = drawn(true, [](BoxPainter& painter) { Drawn::draw(painter); });
  const QRect all(0, 0, kSide, kSide), part(40, 50, 60, 33);
  for (const QRegion& uncovered : {QRegion(all), QRegion(part), QRegion(part) + QRect(0, 0, 50, 60)}) {
    SCOPED_TRACE(uncovered.rectCount());
    QWidget window;
    const Drawn widget(&window);
    QImage image(kSide + 50, kSide + 50, QImage::Format_RGB32);
    image.fill(Qt::white);
    const QRegion region = uncovered.translated(widget.pos());
    window.render(&image, region.boundingRect().topLeft(), region, QWidget::DrawChildren);
    EXPECT_EQ(widget.direct, region.rectCount() == 1);
    for (int y = 0; y < image.height(); ++y)
      for (int x = 0; x < image.width(); ++x) {
        const QPoint within = QPoint(x, y) - widget.pos();
        const QRgb expected = uncovered.contains(within) ? alone.pixel(within) : qRgb(255, 255, 255);
        ASSERT_EQ(image.pixel(x, y), expected) << x << ' ' << y;
      }
  }
}

}  // namespace
}  // namespace margay::viewer
