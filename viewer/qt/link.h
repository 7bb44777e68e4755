// The viewer's connection to a daemon or a replay: reports come in, questions go out, answers come back. All
// of it on a thread of its own ("margay-link"), so that no window ever waits for a socket.
//
// At most one question of a kind (about a stretch, about its events) is under way; a newer one takes its
// place as soon as that is answered, one that waits for that is refused, and what is not answered within 20 s
// is asked again. Only the newest
// report is kept for a window that is busy. So nothing grows, however long either side is away.
//
// Thread safety: functions may be called by any thread; signals come in the receiver's thread (queued).
#pragma once

#include <QObject>
#include <QString>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "margay/feed/feed.h"
#include "margay/scene/event_pages.h"
#include "margay/scene/event_sums.h"
#include "margay/scene/event_waits.h"
#include "margay/scene/silences.h"
#include "margay/scene/view_data.h"
#include "margay/wire/control.pb.h"

namespace margay::viewer {

using feed::ReportPtr;
using ViewPtr = std::shared_ptr<const scene::ViewData>;
using scene::EventPagePtr;
using EventSumsPtr = std::shared_ptr<const scene::EventSums>;
using EventWaitsPtr = std::shared_ptr<const scene::EventWaits>;
using SilencesPtr = std::shared_ptr<const std::vector<scene::ListedSilence>>;

struct LinkTo {
  std::string run;      // by name, here; "": the newest, and when it is gone the newest again; or
  std::string connect;  // the control endpoint of a daemon on another machine,
  std::string key;      // and the key file
};

class Link : public QObject {
  Q_OBJECT

 public:
  explicit Link(LinkTo to, QObject* parent = nullptr);
  ~Link() override;

  // To be called once, by who has connected to the signals: what came before would be heard by nobody.
  void start();
  void ask(wire::ViewQuestion question);
  void ask(wire::EventsQuestion question);
  void send(wire::ControlRequest request);
  // The newest report that no window has taken; null if there is none.
  ReportPtr take_report();
  std::uint64_t next_token() { return ++tokens_; }

 signals:
  void reported();  // take_report() has something
  void answered(margay::viewer::ViewPtr data);
  void refused(quint64 token, QString why);
  void listed(margay::viewer::EventPagePtr page);
  void summed(margay::viewer::EventSumsPtr sums);
  void waits_known(margay::viewer::EventWaitsPtr waits);
  void not_listed(quint64 token, QString why);
  void silences_known(margay::viewer::SilencesPtr silences);
  void said(QString sentence);            // an answer to what send() asked for
  void changed(bool there, QString why);  // whether the daemon is heard of

 private:
  void run();
  void wake();
  // Of the link's thread.
  void tell(bool there, const std::string& why);
  void take_reply(const wire::ControlReply& reply);
  void take_view(const wire::ViewAnswer& answer);
  void take_events(const wire::EventsAnswer& answer);
  void send_what_is_due(feed::Feed& feed, TimeNs now);

  LinkTo to_;
  std::mutex mutex_;
  std::optional<wire::ViewQuestion> wanted_;
  std::optional<wire::EventsQuestion> wanted_events_;
  std::vector<wire::ControlRequest> requests_;  // bounded
  ReportPtr report_;
  std::atomic<std::uint64_t> tokens_{0};
  std::atomic<bool> stop_{false};
  int wake_ = -1;
  std::thread thread_;
  // Of the link's thread alone.
  template <class Question>
  struct UnderWay {
    std::optional<Question> question;
    TimeNs asked{};
    // `wanted` takes its place, where it is answered or overdue. What is to be sent now.
    std::optional<wire::ControlRequest> due(std::optional<Question>& wanted, TimeNs now);
    std::uint64_t give_up();  // its token
  };
  UnderWay<wire::ViewQuestion> view_;
  UnderWay<wire::EventsQuestion> events_;
  std::optional<std::pair<bool, std::string>> told_;
};

}  // namespace margay::viewer
Q_DECLARE_METATYPE(margay::viewer::ViewPtr)
Q_DECLARE_METATYPE(margay::viewer::EventPagePtr)
Q_DECLARE_METATYPE(margay::viewer::EventSumsPtr)
Q_DECLARE_METATYPE(margay::viewer::EventWaitsPtr)
Q_DECLARE_METATYPE(margay::viewer::SilencesPtr)
