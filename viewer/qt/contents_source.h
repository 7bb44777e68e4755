// What chosen stretches of time consist of, of all resources or of some, whatever is shown of them: asks the
// session, beside the picture, one stretch after the other.
//
// An answer is kept, and holds for what is over. What goes on is asked for again every kRest while somebody
// looks; until then the older answer stands for it.
//
// Thread safety: none; belongs to the thread of the window. Memory: kMostKept answers without their
// resources. Cost: one question a stretch, of one slice.
#pragma once

#include <QObject>
#include <QString>
#include <QTimer>
#include <deque>
#include <optional>
#include <vector>

#include "margay/scene/phase_list.h"
#include "session.h"

namespace margay::viewer {

class ContentsSource : public QObject {
  Q_OBJECT

 public:
  static constexpr std::size_t kMostKept = 64;
  static constexpr int kRest = 2000;  // ms

  struct Stretch {
    scene::TimeRange time;
    bool goes_on = false;
    std::string node = {};                    // path; "": all
    std::vector<std::string> resources = {};  // only these below it; none: all
    bool same_resources(const Stretch& o) const { return node == o.node && resources == o.resources; }
  };

  explicit ContentsSource(Session& session, QObject* parent = nullptr);
  // These are looked at; none: nobody looks. What could not be told before is asked for again where `anew`.
  void want(std::vector<Stretch> stretches, bool anew = false);
  // Null: it is not known (yet).
  const scene::StretchContents* of(const Stretch& stretch) const;
  // Why nothing is known of it, a sentence; "": no reason.
  QString trouble(const Stretch& stretch) const;
  bool waits() const { return token_ != 0; }
  // The question that was asked last.
  const std::optional<wire::ViewQuestion>& asked() const { return question_; }

 signals:
  void changed();

 private:
  struct Kept {
    Stretch asked;
    scene::StretchContents contents;
    QString trouble;
  };
  const Kept* find(const Stretch& stretch) const;
  void ask_for_next();
  void keep(Kept kept);

  Session& session_;
  std::vector<Stretch> wanted_;
  std::deque<Kept> kept_;  // newest first
  std::optional<wire::ViewQuestion> question_;
  Stretch under_way_;        // that question's
  std::uint64_t token_ = 0;  // under way; 0: none
  QTimer rest_;
};

}  // namespace margay::viewer
