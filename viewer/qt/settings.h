// What is kept of a person from one start to the next, below $XDG_CONFIG_HOME/margay (~/.config/margay):
// `colours`, lines "name=#rrggbb" (scene::parse_colours()), and `viewer.ini`, what is switched on, and
// numbers.
//
// Bounded: a file of colours is at most kLargest bytes long and has at most kMostColours. One that cannot be
// read is never written over: a person's choices are not lost to a typing error in it.
//
// Thread safety: values; several windows may share the files (the last one that changes a state's colour
// wins, other states' stay). Cost: reads or writes a small file.
#pragma once

#include <QString>
#include <optional>
#include <string>

#include "margay/base/result.h"
#include "margay/scene/palette.h"

namespace margay::viewer {

class ColourFile {
 public:
  static constexpr qint64 kLargest = 256 * 1024;
  static constexpr std::size_t kMostColours = 1000;

  explicit ColourFile(QString path = usual_path()) : path_(std::move(path)) {}
  static QString usual_path();

  // Empty where there is no such file. kInvalidArgument, kIo, kLimit with a sentence that names the file.
  Result<scene::ColourMap> read() const;
  // Gives a state a colour, or none: then it has its usual one. What the file says of others stays. Returns
  // all that it says then. Errors as above; the file is as before then.
  Result<scene::ColourMap> change(const std::string& state, std::optional<scene::Rgb> colour) const;

 private:
  QString path_;
};

// Switches: whether pictures have Tol's palette, not Okabe and Ito's.
inline constexpr const char* kTolSwitch = "tol";
// The unit of the time axis, a word (scene::unit_word()).
inline constexpr const char* kUnitWord = "unit";
// Whether times are told by the wall clock.
inline constexpr const char* kClockSwitch = "clock";

// What is switched on by a person; `otherwise` if that was never said.
bool kept_switch(const QString& name, bool otherwise);
void keep_switch(const QString& name, bool on);
// A number that a person chose, the same; `otherwise` also for what is none, or not from least to most.
double kept_number(const QString& name, double otherwise, double least, double most);
void keep_number(const QString& name, double value);
// A word, the same; "" if none was ever kept. It may be anything: the file is a person's.
QString kept_word(const QString& name);
void keep_word(const QString& name, const QString& word);

}  // namespace margay::viewer
