// What a report does not say of an alert: whom those that it affects waited for, and the slices around its
// onset. Asks the session, one question after the other, while somebody looks.
//
// Of an alert that goes on it asks again kRest after the last answer, where there is more. A question that
// another page's took the place of is asked again when this page is looked at again.
//
// Thread safety: none; belongs to the thread of the window. Memory: the answers about one alert. Cost: one
// question about events, which the daemon reads for kPatience at most, and two of kMostSlicesShown slices.
#pragma once

#include <QObject>
#include <QString>
#include <QTimer>
#include <optional>

#include "margay/scene/evidence.h"
#include "session.h"

namespace margay::viewer {

class EvidenceSource : public QObject {
  Q_OBJECT

 public:
  static constexpr int kRest = 4000;                // ms
  static constexpr std::uint32_t kPatience = 3000;  // ms

  explicit EvidenceSource(Session& session, QObject* parent = nullptr);
  // This is looked at; nothing: no one looks. What was not known is asked for again where `anew`.
  void look_at(const std::optional<scene::EvidenceSubject>& subject, bool anew = false);
  // Whoever asks about events has done so: this may ask now.
  void ask_about_waits();

  // Null: not known (yet).
  const EventWaitsPtr& waits() const { return waits_; }
  const ViewPtr& cause() const { return slices_[0].data; }
  const ViewPtr& all() const { return slices_[1].data; }
  // Why something is not known, a sentence; "": there is no reason.
  QString waits_trouble() const { return waits_trouble_; }
  QString slices_trouble() const;
  bool waits_for_slices() const { return slices_[0].token != 0 || slices_[1].token != 0; }
  // The questions that were asked last.
  const std::optional<wire::EventsQuestion>& asked_waits() const { return waits_question_; }
  const std::optional<wire::ViewQuestion>& asked_slices() const { return slices_question_; }

 signals:
  void changed();

 private:
  struct Slices {
    ViewPtr data;
    scene::TimeRange of;      // that was asked for
    std::uint64_t token = 0;  // under way; 0: none
    QString trouble;
  };
  void forget();
  void ask_for_slices();
  void take_slices(Slices& of, ViewPtr data, const QString& why);

  Session& session_;
  std::optional<scene::EvidenceSubject> subject_;
  EventWaitsPtr waits_;
  scene::TimeRange waits_of_;  // that was asked for
  std::uint64_t waits_token_ = 0;
  QString waits_trouble_;
  Slices slices_[2];  // of the cause, of all
  std::optional<wire::EventsQuestion> waits_question_;
  std::optional<wire::ViewQuestion> slices_question_;
  QTimer rest_, start_;
};

}  // namespace margay::viewer
