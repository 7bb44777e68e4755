#include "name_cache.h"

#include <QFontMetricsF>
#include <algorithm>
#include <cmath>

namespace margay::viewer {

const QStaticText& NameCache::name(const QFont& font, const std::string& utf8, double width, qsizetype least,
                                   Qt::TextElideMode leaves_out) {
  if (names_.size() >= kMost || font != font_) names_.clear();
  font_ = font;
  const auto [at, is_new] =
      names_.try_emplace({utf8, static_cast<int>(std::floor(width)), least, leaves_out});
  if (is_new) {
    const QString text = QFontMetricsF(font).elidedText(QString::fromStdString(utf8), leaves_out,
                                                        std::max(0.0, std::floor(width)));
    at->second.setTextFormat(Qt::PlainText);
    at->second.setText(text.size() > least ? text : QString(" "));
  }
  return at->second;
}

}  // namespace margay::viewer
