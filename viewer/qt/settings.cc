#include "settings.h"

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QSaveFile>
#include <QSettings>
#include <QStandardPaths>

namespace margay::viewer {
namespace {

QString in_folder(const QString& name) {
  return QStandardPaths::writableLocation(QStandardPaths::GenericConfigLocation) + "/margay/" + name;
}

}  // namespace

QString ColourFile::usual_path() {
  return in_folder("colours");
}

Result<scene::ColourMap> ColourFile::read() const {
  const std::string name = path_.toStdString();
  if (!QFileInfo::exists(path_)) return scene::ColourMap();
  QFile file(path_);
  if (!file.open(QIODevice::ReadOnly))
    return fail(ErrorCode::kIo, name + ": cannot be read: " + file.errorString().toStdString());
  // Also of a file that is none, such as a pipe, no more than this is read.
  const QByteArray text = file.read(kLargest + 1);
  if (text.size() > kLargest)
    return fail(ErrorCode::kLimit, name + ": is longer than " + std::to_string(kLargest) + " bytes");
  auto colours = scene::parse_colours({text.constData(), static_cast<std::size_t>(text.size())});
  if (!colours) return fail(colours.error(), name);
  if (colours->size() > kMostColours)
    return fail(ErrorCode::kLimit, name + ": has more than " + std::to_string(kMostColours) + " colours");
  return colours;
}

Result<scene::ColourMap> ColourFile::change(const std::string& state,
                                            std::optional<scene::Rgb> colour) const {
  auto colours = read();
  if (!colours) return colours;
  if (colour)
    (*colours)[state] = *colour;
  else
    colours->erase(state);
  const std::string name = path_.toStdString(), text = scene::text_of(*colours);
  if (colours->size() > kMostColours || static_cast<qint64>(text.size()) > kLargest)
    return fail(ErrorCode::kLimit,
                name + ": has no room for another colour: at most " + std::to_string(kMostColours));
  const QString folder = QFileInfo(path_).path();
  QSaveFile file(path_);
  if (!QDir().mkpath(folder) || !file.open(QIODevice::WriteOnly) ||
      file.write(text.data(), static_cast<qint64>(text.size())) < 0 || !file.commit())
    return fail(ErrorCode::kIo, name + ": cannot be written: " + file.errorString().toStdString());
  return colours;
}

bool kept_switch(const QString& name, bool otherwise) {
  const QSettings settings(in_folder("viewer.ini"), QSettings::IniFormat);
  return settings.value(name, otherwise).toBool();
}

void keep_switch(const QString& name, bool on) {
  QSettings settings(in_folder("viewer.ini"), QSettings::IniFormat);
  settings.setValue(name, on);
}

double kept_number(const QString& name, double otherwise, double least, double most) {
  const QSettings settings(in_folder("viewer.ini"), QSettings::IniFormat);
  bool is_number = false;
  const double value = settings.value(name).toDouble(&is_number);
  return is_number && value >= least && value <= most ? value : otherwise;
}

void keep_number(const QString& name, double value) {
  QSettings settings(in_folder("viewer.ini"), QSettings::IniFormat);
  settings.setValue(name, value);
}

QString kept_word(const QString& name) {
  const QSettings settings(in_folder("viewer.ini"), QSettings::IniFormat);
  return settings.value(name).toString();
}

void keep_word(const QString& name, const QString& word) {
  QSettings settings(in_folder("viewer.ini"), QSettings::IniFormat);
  settings.setValue(name, word);
}

}  // namespace margay::viewer
