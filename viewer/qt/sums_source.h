// What the events of the stretch that is looked at sum to, as far as it is known: asks the session, when
// somebody looks and what is looked at has changed.
//
// Of a run that is followed it asks every kRest, not for each slice. An answer that another page's question
// took the place of is asked for again when this page is looked at again.
//
// Thread safety: none; belongs to the thread of the window. Memory: one answer.
#pragma once

#include <QObject>
#include <QString>
#include <QTimer>
#include <optional>

#include "session.h"

namespace margay::viewer {

class SumsSource : public QObject {
  Q_OBJECT

 public:
  // ms: without another change; between two of a run that is followed
  static constexpr int kSettle = 150, kRest = 2000;
  static constexpr std::uint32_t kPatience = 2000;  // ms, of a question while somebody looks

  SumsSource(Session& session, SumsOf of, QObject* parent = nullptr);

  // Of messages: what is alike is to be summed up, too.
  void set_alike(wire::EventsQuestion::Alike alike);
  // Somebody looks, or no longer does.
  void set_seen(bool seen);
  // Asks for what the session looks at now, unless that is what is there. False: there is nothing yet to ask
  // for.
  bool ask();
  // The newest answer, maybe of what was looked at before; null: there is none.
  EventSumsPtr sums() const { return trouble_.isEmpty() ? session_.sums(of_) : nullptr; }
  bool waits() const { return token_ != 0; }
  // The question that was asked last.
  const std::optional<wire::EventsQuestion>& asked() const { return question_; }
  // It is not what the session looks at.
  bool is_old() const { return of_what_ != looked_at(); }
  // Why there is none, a sentence; "": there is no reason.
  const QString& trouble() const { return trouble_; }
  // For people: of how many it is, of when, and what is not in it; or why there is none.
  QString told() const;

 signals:
  void changed();

 private:
  struct What {
    scene::TimeRange time;
    scene::PointOfView view;
    std::vector<std::string> nodes;
    std::vector<std::string> states;
    scene::RunFilter filter;
    wire::EventsQuestion::Alike alike = wire::EventsQuestion::NOT;
    bool operator==(const What&) const = default;
  };
  What looked_at() const;
  void looked_elsewhere();

  Session& session_;
  const SumsOf of_;
  wire::EventsQuestion::Alike alike_ = wire::EventsQuestion::NOT;
  bool seen_ = false;
  What of_what_;
  std::optional<wire::EventsQuestion> question_;
  std::uint64_t token_ = 0;  // under way; 0: none
  QString trouble_;
  QTimer settle_, rest_;
};

// For people: of how many it is, of when, and what is not in it.
QString told_of(const scene::EventSums& sums, const Session& session);

}  // namespace margay::viewer
