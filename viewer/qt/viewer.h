// The viewer as a whole: the start page, or a window on what was chosen; and the picture without either.
//
// What cannot be seen is a sentence on the start page, which stays until the first report is there; a daemon
// that does not answer yet is tried on meanwhile. From the window Ctrl+O leads back.
//
// Thread safety: none; belongs to the thread of the window.
#pragma once

#include <QObject>
#include <QSize>
#include <memory>
#include <optional>
#include <vector>

#include "attach.h"
#include "margay/command/picture_options.h"
#include "session.h"
#include "start_page.h"
#include "window.h"

namespace margay::viewer {

// What was asked for as an option; checked, but for what depends on the run.
struct Wanted {
  Wish wish;
  scene::Subject subject;  // without time
  std::optional<DurationNs> from, to;
  std::string from_time, to_time;  // instead: times of day, of a run that is not known yet; "": none
  QSize size;
  scene::Theme theme = scene::Theme::kLight;
  std::optional<scene::Hues> hues;
  std::string picture;              // PictureOptions::picture
  std::optional<double> threshold;  // pixels
  bool clock = false;
  std::optional<scene::TimeUnit> unit;
};
// The error is a sentence that begins with the option.
Result<Wanted> wanted_of(const command::PictureOptions& options);
// What is looked at first of a run that is known now. Of an archive all of it, where nothing else was asked
// for. The error is a sentence: a stretch that is none.
Result<scene::Subject> subject_of(const Wanted& wanted, bool archive, const Session& session);

class Viewer : public QObject {
  Q_OBJECT

 public:
  // Archives are looked for in `folder`.
  Viewer(Wanted wanted, const QString& folder, QObject* parent = nullptr);
  ~Viewer() override;

  // Shows what was asked for, or the start page.
  void start();
  void open(Wish wish);
  StartPage& page() { return page_; }
  Window* window() { return window_.get(); }  // null while there is nothing to see
  Session* session() { return session_.get(); }
  // What is seen, an archive, is replayed with these settings ("detect.p=0.05") in a window of its own.
  // False: kMostReplays of them are open.
  bool what_if(const QStringList& settings);
  static constexpr std::size_t kMostReplays = 8;
  const std::vector<std::unique_ptr<Viewer>>& replays() const { return replays_; }

 private:
  void close();
  void show_page(const QString& sentence);
  void attached();
  void seen();
  void add_actions();
  bool is_seen() const { return page_.isVisible() || (window_ && window_->isVisible()); }

  Wanted wanted_;
  StartPage page_;
  std::unique_ptr<Attachment> attachment_;
  std::unique_ptr<Link> link_;
  std::unique_ptr<Session> session_;
  std::unique_ptr<Window> window_;
  std::vector<std::unique_ptr<Viewer>> replays_;
};

// Writes the picture to `file` and returns the exit code; what is wrong is said on stderr. Waits a minute at
// most.
int render(const Wanted& wanted, const QString& file);

}  // namespace margay::viewer
