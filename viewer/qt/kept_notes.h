// What a person keeps beside a run (margay/command/run_notes.h): a file of its own below
// $XDG_CONFIG_HOME/margay/runs, named after the run and when it began, so that a run that goes on and its
// archive, wherever it lies, have the same. Nothing is written into the archive.
//
// A file that cannot be read is said, and never written over. Bounded as RunNotes is.
//
// Thread safety: none; several windows may share a file: each change is made to what it says then. Cost: a
// small file is read for each run, and written for each change.
#pragma once

#include <QObject>
#include <QString>
#include <string>

#include "margay/command/run_notes.h"

namespace margay::viewer {

class KeptNotes : public QObject {
  Q_OBJECT

 public:
  // In this folder; empty: the usual one.
  explicit KeptNotes(QString folder = {}, QObject* parent = nullptr);

  // Of this run from now on. Reads its file, if it is another one's.
  void set_run(const std::string& run, std::int64_t begin_ns);
  const command::RunNotes& notes() const { return notes_; }
  // Empty: no run is known.
  const QString& path() const { return path_; }

  // False, and a sentence is said: it is not kept.
  bool add(command::RunNotes::Bookmark bookmark);
  bool remove(const command::RunNotes::Bookmark& bookmark);
  bool add_filter(command::PictureOptions filter);
  bool remove_filter(const command::PictureOptions& filter);

 signals:
  void changed();
  void said(QString sentence);

 private:
  Result<command::RunNotes> read() const;
  template <class Change>
  bool change(const Change& how);

  QString folder_, path_;
  command::RunNotes notes_;
};

}  // namespace margay::viewer
