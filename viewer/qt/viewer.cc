#include "viewer.h"

#include <unistd.h>

#include <QAction>
#include <QCoreApplication>
#include <QElapsedTimer>
#include <QMenu>
#include <QMenuBar>
#include <QStatusBar>
#include <cstdio>

#include "margay/base/ids.h"
#include "margay/base/time_of_day.h"
#include "margay/command/link.h"
#include "margay/scene/time_axis.h"
#include "margay/wire/view_words.h"
#include "paint.h"
#include "picture_file.h"
#include "sums_source.h"
#include "what_if_dialog.h"

namespace margay::viewer {
namespace {

constexpr int kLeastWidth = 320, kLeastHeight = 240, kMost = 16384;
constexpr int kRenderPatience = 600'000;  // ms for a picture: many slices of many resources take minutes
constexpr int kTroublePatience = 10'000;  // ms for a daemon that does not answer
constexpr int kTellEvery = 1'000;         // ms

int complain(const QString& sentence) {
  std::fprintf(stderr, "margay-viewer: %s\n", sentence.toUtf8().constData());
  return 1;
}

// Of the stretch that is seen. A report brings none: then it is the newest there is.
bool has_curve(const Session& session) {
  return session.of_report() ? !session.steps().steps.empty() : session.data().question.curve();
}

// That a picture is waited for, on a terminal: a line that the shell's prompt takes the place of.
class Waiting : public QObject {
 public:
  Waiting() {
    since_.start();
    if (isatty(STDERR_FILENO) == 1) startTimer(kTellEvery);
  }
  ~Waiting() override {
    if (told_) std::fputs("\r\033[K", stderr);
  }

 protected:
  void timerEvent(QTimerEvent*) override {
    told_ = true;
    std::fprintf(stderr, "\r\033[Kwaiting for the picture: %lld s (Ctrl+C ends it)",
                 static_cast<long long>(since_.elapsed() / 1000));
  }

 private:
  QElapsedTimer since_;
  bool told_ = false;
};

int wait_for_picture() {
  const Waiting waiting;
  return QCoreApplication::exec();
}

tl::unexpected<Error> wrong(const std::string& sentence) {
  return fail(ErrorCode::kInvalidArgument, sentence);
}

}  // namespace

Result<Wanted> wanted_of(const command::PictureOptions& options) {
  command::PictureOptions o = options;
  if (Status ok = command::follow_link(o); !ok) return tl::unexpected(ok.error());
  Wanted w;
  w.wish = {o.what, o.connect, o.key};
  w.subject.node = o.node;
  const auto view = wire::read_view(o.view);
  if (!view) return wrong("--view " + o.view + ": " + view.error().message);
  w.subject.view = scene::view_of(*view);
  w.subject.slices = o.slices;
  w.subject.policy = o.policy;
  if (wire::are_plain_terms(o.states))
    w.subject.states = o.states;
  else
    w.subject.filter.states = o.states;
  w.subject.filter.resources = o.resources;
  w.subject.filter.of_the_rest = o.of_the_rest;
  if (const Status ok = scene::check_filter(w.subject.filter); !ok) return wrong(ok.error().message);
  if (o.measure != "duration") w.subject.measure = o.measure;
  for (const scene::Cuts cuts :
       {wire::ViewQuestion::SPATIOTEMPORAL, wire::ViewQuestion::SPATIAL, wire::ViewQuestion::PRODUCT})
    if (o.cuts == scene::cuts_word(cuts)) w.subject.cuts = cuts;
  // A link may say anything.
  if (!o.cuts.empty() && o.cuts != scene::cuts_word(w.subject.cuts))
    return wrong("cut " + o.cuts + ": expected spatiotemporal, spatial or product");
  w.picture = o.picture;
  w.clock = o.clock;
  if (!o.unit.empty()) w.unit = scene::unit_of_word(o.unit);
  if (const PictureKind& kind = picture_kind(o.picture);
      !w.subject.measure.empty() && (kind.sums || kind.calls != Session::Calls::kNever))
    return wrong("--operator " + o.measure + ": --picture " + o.picture +
                 " is of single events; overview, bars and curve measure");
  if (o.threshold > 0) w.threshold = o.threshold;
  w.theme = o.dark ? scene::Theme::kDark : scene::Theme::kLight;
  if (!o.colours.empty()) w.hues = o.colours == "tol" ? scene::Hues::kTol : scene::Hues::kOkabeIto;
  if (!o.p.empty()) {
    const auto p = scene::parse_p(o.p);
    if (!p) return wrong("--p: " + p.error().message);
    w.subject.p = *p;
  }
  for (const auto& [text, to, time, option] :
       {std::tuple(&o.from, &w.from, &w.from_time, "--from"), std::tuple(&o.to, &w.to, &w.to_time, "--to")}) {
    if (text->empty()) continue;
    if (looks_like_time_of_day(*text)) {
      if (const auto t = parse_time_of_day(*text); !t)
        return wrong(std::string(option) + ": " + t.error().message);
      *time = *text;
      continue;
    }
    const auto d = scene::parse_duration(*text);
    if (!d) return wrong(std::string(option) + ": " + d.error().message);
    *to = *d;
  }
  if (w.from && w.to && *w.to <= *w.from) return wrong("--from and --to: the range is empty");
  const auto size = text_of(o.size).split('x');
  if (size.size() == 2) w.size = QSize(size[0].toInt(), size[1].toInt());
  if (w.size.width() < kLeastWidth || w.size.height() < kLeastHeight || w.size.width() > kMost ||
      w.size.height() > kMost)
    return wrong("--size " + o.size + ": expected WIDTHxHEIGHT, such as 1280x720");
  return w;
}

Result<scene::Subject> subject_of(const Wanted& w, bool archive, const Session& session) {
  scene::Subject s = w.subject;
  const auto bounds = session.bounds();
  if (!w.from && !w.to && w.from_time.empty() && w.to_time.empty()) {
    if (archive && bounds && bounds->to > bounds->from) s.time = bounds;
    return s;
  }
  // As the time axis counts: from the run's begin. A model, and a replay of a part, begins later
  // or earlier than what it counts from.
  TimeNs zero = bounds ? bounds->from : TimeNs();
  if (const wire::Report* r = session.report(); r != nullptr && r->slice_ns() > 0)
    zero = r->has_replay() && r->run_begin_ns() != r->replay().begin_ns()
               ? TimeNs(r->run_begin_ns())
               : slice_begin(slice_of(zero, DurationNs(r->slice_ns())), DurationNs(r->slice_ns()));
  scene::TimeRange range = bounds.value_or(scene::TimeRange{});
  if (w.from) range.from = zero + *w.from;
  if (w.to) range.to = zero + *w.to;
  for (const auto& [text, bound, option] :
       {std::tuple(&w.from_time, &range.from, "--from: "), std::tuple(&w.to_time, &range.to, "--to: ")}) {
    if (text->empty() || !bounds) continue;
    const auto t = moment_of_day(*text, bounds->from, bounds->to, session.times().utc_offset_s);
    if (!t) return wrong(option + t.error().message);
    *bound = *t;
  }
  if (range.to <= range.from) return wrong("--from: the run does not reach so far");
  s.time = range;
  return s;
}

Viewer::Viewer(Wanted wanted, const QString& folder, QObject* parent)
    : QObject(parent), wanted_(std::move(wanted)), page_(folder) {
  page_.resize(wanted_.size);
  connect(&page_, &StartPage::chosen, this, &Viewer::open);
}

Viewer::~Viewer() {
  close();
}

void Viewer::close() {
  window_.reset();
  session_.reset();
  link_.reset();
  attachment_.reset();
}

void Viewer::start() {
  if (wanted_.wish.nothing() && runs_here().isEmpty()) return show_page({});
  open(wanted_.wish);
}

void Viewer::show_page(const QString& sentence) {
  page_.set_opening({});
  page_.say(sentence);
  page_.show();
  page_.raise();
}

void Viewer::open(Wish wish) {
  show_page({});
  close();
  attachment_ = std::make_unique<Attachment>(std::move(wish));
  page_.set_opening(attachment_->name());
  connect(attachment_.get(), &Attachment::ready, this, &Viewer::attached, Qt::QueuedConnection);
  // Queued: it is taken away in answer to what it says itself.
  connect(
      attachment_.get(), &Attachment::failed, this,
      [this, from = attachment_.get()](const QString& sentence) {
        if (from != attachment_.get()) return;
        show_page(sentence);
        // What is seen stays to be seen, though nothing can be asked any more.
        if (!window_) close();
      },
      Qt::QueuedConnection);
  attachment_->start();
}

void Viewer::attached() {
  if (!attachment_ || sender() != attachment_.get()) return;
  link_ = std::make_unique<Link>(attachment_->to());
  session_ = std::make_unique<Session>(link_.get(), wanted_.theme);
  session_->set_hues(
      wanted_.hues.value_or(kept_switch(kTolSwitch, false) ? scene::Hues::kTol : scene::Hues::kOkabeIto));
  session_->set_calls(wanted_.picture.empty() ? Session::Calls::kCloser
                                              : picture_kind(wanted_.picture).calls);
  connect(session_.get(), &Session::report_changed, this, &Viewer::seen);
  connect(session_.get(), &Session::status_changed, this, [this] {
    if (!window_ && !session_->there() && !session_->trouble().isEmpty())
      page_.say(attachment_->name() + ": " + session_->trouble());
  });
}

void Viewer::seen() {
  if (window_) return;
  const auto subject = subject_of(wanted_, attachment_->is_archive(), *session_);
  window_ = std::make_unique<Window>(*session_, attachment_->title(session_->report()));
  window_->set_place(attachment_->place(session_->report()).toStdString(), attachment_->to().connect);
  if (wanted_.threshold) session_->set_threshold(*wanted_.threshold);
  if (wanted_.clock) session_->set_by_clock(true);
  if (wanted_.unit) session_->set_unit(*wanted_.unit);
  add_actions();
  window_->resize(wanted_.size);
  window_->show();
  page_.hide();
  if (subject)
    session_->go(*subject);
  else
    window_->statusBar()->showMessage(text_of(subject.error().message), 10'000);
  if (wanted_.clock && !session_->times().utc_offset_s)
    window_->statusBar()->showMessage("--clock: " + text_of(scene::no_clock_text()), 10'000);
  window_->looks().begin();
  // Of the next one that is chosen, all is looked at.
  wanted_.from.reset();
  wanted_.to.reset();
  wanted_.from_time.clear(), wanted_.to_time.clear();
  wanted_.subject = {};
}

void Viewer::add_actions() {
  auto* open = new QAction(tr("Open another..."), window_.get());
  open->setObjectName("open");
  open->setShortcut(QKeySequence::Open);
  connect(open, &QAction::triggered, this, [this] { show_page({}); });
  if (const auto menus = window_->menuBar()->actions(); !menus.isEmpty() && menus[0]->menu() != nullptr)
    menus[0]->menu()->insertAction(menus[0]->menu()->actions().value(0), open);
  window_->addAction(open);
  if (!attachment_->is_archive()) return;
  auto* otherwise = new QAction(tr("&What if..."), window_.get());
  otherwise->setObjectName("what_if");
  otherwise->setShortcut(QKeySequence("Ctrl+R"));
  otherwise->setToolTip(tr("replay the run with other settings, in a window of its own"));
  connect(otherwise, &QAction::triggered, this, [this] {
    auto* dialog = new WhatIfDialog(attachment_->wish().settings, window_.get());
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    connect(dialog, &QDialog::accepted, this, [this, dialog] {
      if (!what_if(dialog->settings()))
        window_->statusBar()->showMessage(
            tr("%1 replays with other settings are open: close one of them").arg(kMostReplays), 10'000);
    });
    dialog->open();
  });
  if (auto* replay = window_->findChild<QMenu*>("replay")) replay->addAction(otherwise);
  window_->addAction(otherwise);
}

bool Viewer::what_if(const QStringList& settings) {
  std::erase_if(replays_, [](const auto& r) { return !r->is_seen(); });
  if (replays_.size() >= kMostReplays) return false;
  Wanted wanted = wanted_;
  wanted.wish = attachment_->wish();
  wanted.wish.settings = settings;
  replays_.push_back(std::make_unique<Viewer>(std::move(wanted), page_.folder()));
  replays_.back()->start();
  return true;
}

int render(const Wanted& w, const QString& file) {
  const PictureKind& kind = picture_kind(w.picture);
  std::optional<Link> link;
  std::optional<Session> session;
  Attachment attachment(w.wish);
  QString why;
  int code = 1;
  const auto give_up = [&](const QString& sentence) {
    why = sentence;
    QCoreApplication::exit(1);
  };
  bool asked = false;
  std::optional<SumsSource> sums;
  // All there is to a picture: the partition asked for, the temporal one of the same stretch, where it is of
  // these the significant p, or what events sum to, and of an archive all phases.
  const auto look = [&] {
    if (!asked) return;
    const bool phases =
        !attachment.is_archive() || (session->report() != nullptr && session->report()->replay().at_end());
    if (kind.curve && !has_curve(*session)) return;
    if (!phases || session->data().empty() || session->temporal().empty() ||
        session->temporal().range() != session->data().range())
      return;
    // Once: a run that goes on would be asked again and again.
    if (sums && !sums->asked()) return static_cast<void>(sums->ask());
    if (sums && sums->waits()) return;
    if (sums && sums->sums() == nullptr) return give_up(attachment.name() + ": " + sums->trouble());
    QCoreApplication::exit(0);
  };
  QTimer trouble;
  trouble.setSingleShot(true);
  trouble.setInterval(kTroublePatience);
  QObject::connect(&trouble, &QTimer::timeout, &attachment,
                   [&] { give_up(attachment.name() + ": " + session->trouble()); });
  QObject::connect(&attachment, &Attachment::failed, &attachment, give_up, Qt::QueuedConnection);
  QObject::connect(
      &attachment, &Attachment::ready, &attachment,
      [&] {
        link.emplace(attachment.to());
        session.emplace(&*link, w.theme);
        session->set_hues(w.hues.value_or(scene::Hues::kOkabeIto));
        session->set_calls(kind.calls);
        if (kind.sums) {
          sums.emplace(*session, *kind.sums).set_alike(kind.alike);
          QObject::connect(&*sums, &SumsSource::changed, &*session, look);
        }
        if (w.threshold) session->set_threshold(*w.threshold);
        session->set_by_clock(w.clock);
        session->set_unit(w.unit.value_or(scene::TimeUnit::kAuto));
        QObject::connect(&*session, &Session::report_changed, &*session, [&] {
          if (!std::exchange(asked, true)) {
            const auto subject = subject_of(w, attachment.is_archive(), *session);
            if (!subject) {
              code = 2;
              return give_up(text_of(subject.error().message));
            }
            if (w.clock && !session->times().utc_offset_s)
              return give_up("--clock: " + text_of(scene::no_clock_text()));
            session->go(*subject);
          }
          look();
        });
        QObject::connect(&*session, &Session::data_changed, &*session, look);
        QObject::connect(&*session, &Session::view_changed, &*session, look);  // a curve alone
        QObject::connect(&*session, &Session::said, &*session, give_up);
        QObject::connect(&*session, &Session::status_changed, &*session, [&] {
          if (session->there() || session->trouble().isEmpty())
            trouble.stop();
          else if (!trouble.isActive())
            trouble.start();
        });
      },
      Qt::QueuedConnection);
  QTimer::singleShot(kRenderPatience, &attachment,
                     [&] { give_up(QObject::tr("no picture came within ten minutes")); });
  attachment.start();
  if (wait_for_picture() != 0) return complain(why), code;
  const QString error = save_picture(file, *session, w.size, attachment.title(session->report()), kind);
  return error.isEmpty() ? 0 : complain(error);
}

}  // namespace margay::viewer
