// Controls of a replay, shown only where what is attached to is one: play and pause, one slice, how fast, and
// where it is. What is done is asked of the daemon (Session::play() ...); what is shown is what its reports
// say.
//
// Thread safety: none; belongs to the thread of the window.
#pragma once

#include <QComboBox>
#include <QToolBar>
#include <vector>

#include "session.h"
#include "widgets.h"

namespace margay::viewer {

class ReplayBar : public QToolBar {
  Q_OBJECT

 public:
  explicit ReplayBar(Session& session, QWidget* parent = nullptr);
  // Play where it pauses or is at its end (then from the begin), else pause.
  void play_or_pause();
  void step();
  // To this time, as people type it (scene::parse_time_range); a sentence says what is wrong with it, "": on
  // its way.
  QString jump(const QString& typed);
  // Where a jump leads if nothing else is typed: the selection's begin, else that of what is seen.
  QString here() const;
  // "paused at 12.3 s", "playing, 12.3 s", "at the end"; "" of what is no replay.
  QString state() const { return state_->text(); }
  QComboBox& speed() { return *speed_; }
  // To be put into a bar or a menu; disabled where there is no replay.
  void control(const std::vector<QAction*>& actions);

 private:
  void show_replay();
  const wire::Replay* replay() const;
  double chosen_speed() const;

  Session& session_;
  QComboBox* speed_;
  ElidedLabel* state_;
  std::vector<QAction*> actions_;
};

}  // namespace margay::viewer
