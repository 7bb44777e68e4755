// How things looked before, to be undone and done again: p or its policy, the time line's p, what is folded
// and searched, how small parts are drawn, single calls, messages and bands, times and their unit, theme and
// palette. Where one has been in the run is not part of it: that is the session's history (Back).
//
// A letter typed in a search after another is one step with it. Bounded: kMost steps.
//
// Thread safety: none; belongs to the thread of the window. Cost: a comparison each time that something
// changes.
#pragma once

#include <QObject>
#include <optional>
#include <string>
#include <vector>

#include "session.h"

namespace margay::viewer {

class LookHistory : public QObject {
  Q_OBJECT

 public:
  static constexpr std::size_t kMost = 100;

  explicit LookHistory(Session& session, QObject* parent = nullptr);
  // What is seen now is where it begins: nothing before it can be undone.
  void begin();
  bool can_undo() const { return at_ > 0; }
  bool can_redo() const { return at_ + 1 < looks_.size(); }
  // What has changed: "p", "folded nodes"; empty where there is nothing.
  QString undo();
  QString redo();

 signals:
  void changed();

 private:
  struct Look {
    std::optional<double> p, time_p;
    std::string policy, search;
    std::set<std::string, std::less<>> folded;
    Session::Calls calls = Session::Calls::kNever;
    bool messages = true, bands = true, by_clock = false;
    double threshold = 0;
    scene::TimeUnit unit = scene::TimeUnit::kAuto;
    scene::Theme theme = scene::Theme::kLight;
    scene::Hues hues = scene::Hues::kOkabeIto;
    bool operator==(const Look&) const = default;
  };
  Look now() const;
  void note();
  void apply(const Look& look);
  static QString difference(const Look& a, const Look& b);

  Session& session_;
  std::vector<Look> looks_;
  std::size_t at_ = 0;
  bool applying_ = false;
};

}  // namespace margay::viewer
