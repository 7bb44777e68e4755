// From what somebody wants to look at (a run's name, an archive, the example, a daemon elsewhere) to
// something a link can be made to. An archive is served by a `margay replay` of its own, which ends with the
// attachment, and with the viewer however that ends.
//
// Thread safety: none; belongs to the thread of the window. Never waits but in the destructor, for that
// replay (6 s at most).
#pragma once

#include <QObject>
#include <QProcess>
#include <QString>
#include <QStringList>
#include <QTimer>

#include "link.h"

namespace margay::viewer {

inline constexpr const char* kExample = "example";

// The folder of `margay`, above which the example lies: that of this program, unless a test says otherwise.
void set_programs(const QString& folder);
// Runs that are live here, the newest first; without the replays that viewers made for themselves.
QStringList runs_here();
// The archives in `folder` and two levels below it, those written last first; relative to `folder`. Looks at
// some thousand entries, no more.
QStringList archives_below(const QString& folder);
// The archive that is shipped, "" where it is not.
QString example_path();

struct Wish {
  // "": the newest run here; "example"; the path of an archive or a trace; a run's name.
  std::string what;
  std::string connect, key;  // a daemon elsewhere, instead
  bool is_run = false;       // `what` is a run's name, whatever lies here that is called so
  // Of an archive: what it is replayed with otherwise than it was live, "detect.p=0.05" each.
  QStringList settings{};
  bool nothing() const { return what.empty() && connect.empty(); }
};

class Attachment : public QObject {
  Q_OBJECT

 public:
  explicit Attachment(Wish wish, QObject* parent = nullptr);
  ~Attachment() override;

  // Leads to ready() or failed(), of an archive not before this returns.
  void start();
  const LinkTo& to() const { return to_; }
  // A run that is over, all of which is looked at.
  bool is_archive() const { return archive_; }
  const Wish& wish() const { return wish_; }
  // What it is called before it is known better,
  QString name() const;
  // and then: an archive's run has a name, too.
  QString title(const wire::Report* report) const;
  // What opens it again, from whatever folder: "example", the archive's absolute path, or the run's name; ""
  // of a daemon elsewhere.
  QString place(const wire::Report* report) const;

 signals:
  void ready();
  // It cannot be looked at, or not any more; a sentence.
  void failed(QString sentence);

 private:
  void serve(const QString& path);
  void look();
  void ended();

  Wish wish_;
  LinkTo to_;
  bool archive_ = false, ready_ = false;
  QString folder_;
  QProcess replay_;
  QTimer poll_;
  QByteArray words_;  // of the replay, the newest
};

}  // namespace margay::viewer
