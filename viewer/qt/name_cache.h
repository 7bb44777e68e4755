// Names as they were laid out, which takes longer than drawing them: kept from picture to picture, of one
// font at a time, and kMost of them.
//
// Thread safety: none. Needs a QApplication for as long as it is there. Cost: of a name that is kept a look
// into a map, of another one its layout.
#pragma once

#include <QFont>
#include <QStaticText>
#include <map>
#include <string>
#include <tuple>

namespace margay::viewer {

class NameCache {
 public:
  static constexpr std::size_t kMost = 2048;
  // With its middle left out, or its end, where it is wider; a blank where only as many letters or fewer
  // would be left, the three dots among them. Valid until the next call.
  const QStaticText& name(const QFont& font, const std::string& utf8, double width, qsizetype least = 0,
                          Qt::TextElideMode leaves_out = Qt::ElideMiddle);

 private:
  QFont font_;
  std::map<std::tuple<std::string, int, qsizetype, Qt::TextElideMode>, QStaticText, std::less<>> names_;
};

}  // namespace margay::viewer
