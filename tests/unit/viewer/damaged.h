// A copy of the example archive, to be damaged.
#pragma once

#include <QByteArray>
#include <QDir>
#include <QFile>
#include <QTemporaryDir>
#include <filesystem>

namespace margay::viewer {

class ArchiveCopy {
 public:
  ArchiveCopy() {
    namespace fs = std::filesystem;
    fs::copy(MARGAY_EXAMPLE "/sixteen.margay", path().toStdString(), fs::copy_options::recursive);
  }
  QString path() const { return folder_.filePath("copy.margay"); }
  QStringList files(const QString& like) const {
    QStringList out;
    for (const QString& name : QDir(path() + "/db").entryList({like}, QDir::Files))
      out << path() + "/db/" + name;
    return out;
  }
  void remove(const QString& like) {
    for (const QString& f : files(like)) QFile::remove(f);
  }
  void truncate(const QString& like, qint64 to) {
    for (const QString& f : files(like)) QFile::resize(f, to);
  }
  // Every byte of its middle half is another.
  void spoil(const QString& like) {
    for (const QString& f : files(like)) {
      QFile file(f);
      if (!file.open(QIODevice::ReadWrite)) continue;
      QByteArray bytes = file.readAll();
      for (qsizetype i = bytes.size() / 4; i < bytes.size() * 3 / 4; ++i)
        bytes[i] = static_cast<char>(~bytes[i]);
      file.seek(0);
      file.write(bytes);
    }
  }

 private:
  QTemporaryDir folder_;
};

}  // namespace margay::viewer
