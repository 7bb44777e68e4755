// What a window is looking at, shared by all its views: one time range, one selection, one filter, one colour
// map. Decides what is asked of the daemon and when; knows no widgets.
//
// What follows the run is drawn from the daemon's reports as they come (margay/scene/live_view.h); all that
// is asked for then is, now and then, the curve of significant p. Any other stretch, node, filter, level or p
// is asked for, and so is the newest stretch where reports do not list its parts: first the partition, which
// is shown, then the temporal one of the same stretch at the same p, and then the curve, which takes the
// longest; until it is there the curve before it stays.
//
// A picture always carries the p it shows: while another is computed the old one stays, and `waiting()` says
// so. A view that follows the run and has to ask does so whenever a slice closes, at most kMostAsked times a
// second, once the last answer is there, and not while it is held.
//
// Thread safety: none; belongs to the thread of the window.
#pragma once

#include <QElapsedTimer>
#include <QObject>
#include <QString>
#include <QTimer>
#include <optional>

#include "alerts.h"
#include "beside_question.h"
#include "link.h"
#include "margay/scene/collectives.h"
#include "margay/scene/layout.h"
#include "margay/scene/marked.h"
#include "margay/scene/navigation.h"
#include "margay/scene/palette.h"
#include "margay/scene/quality.h"
#include "margay/scene/rows.h"
#include "margay/scene/times.h"
#include "margay/scene/view_data.h"
#include "margay/scene/whole_run.h"
#include "settings.h"

namespace margay::viewer {

enum class SumsOf { kVisits, kMessages };

class Session : public QObject {
  Q_OBJECT

 public:
  // States that are kept in mind; of a run with more the others are not offered to choose from.
  static constexpr std::size_t kMostStates = 4096;
  // Single calls that a picture is asked for with; of more it has aggregates.
  static constexpr std::uint32_t kMostCalls = 20'000;

  // Starts the link. Nothing is asked without one: pictures are then those that show() is given. Colours are
  // those that were chosen in an earlier session.
  explicit Session(Link* link, scene::Theme theme, QObject* parent = nullptr);

  const scene::ViewData& data() const { return *data_; }
  // The time line: cuts in time for all resources alike; of the same stretch at the same p, or at subject()'s
  // time_p, once it is there, or empty.
  const scene::ViewData& temporal() const { return *temporal_; }
  const scene::Rows& rows() const { return drawn_.rows; }
  const scene::Folding& folding() const { return folding_; }
  // Of the picture's p or, where that is chosen, of the time line's; those of a time line without a p of its
  // own are not known.
  const scene::Steps& steps() const { return look_.steps_of_time ? steps_.time : steps_.picture; }
  bool steps_of_time() const { return look_.steps_of_time; }
  const scene::Palette& palette() const { return palette_; }
  const scene::Subject& subject() const { return history_.now(); }
  // What the daemon is asked: subject(), and while it is held the stretch that is seen, not the newest; of a
  // replay that is followed the newest 256 slices that were played.
  scene::Subject asked_for() const;
  const scene::History& history() const { return history_; }
  // When pictures are to have single calls: never, of a stretch that is no more than a part of the run, or of
  // any stretch of time.
  enum class Calls { kNever, kCloser, kAlways };
  Calls calls() const { return look_.calls; }
  void set_calls(Calls calls);
  // Of the picture's single calls.
  const std::vector<scene::Collective>& collectives() const { return drawn_.collectives; }
  // With single calls, those of a collective framed as one.
  bool shows_bands() const { return look_.bands; }
  void set_bands(bool shown);
  // With single calls, the messages between them.
  bool shows_messages() const { return look_.messages; }
  void set_messages(bool shown);
  // Of the newest report, 256 at most, newest first; and until when they are known.
  const std::vector<terminal::AlertView>& alerts() const { return alerts_; }
  TimeNs now() const { return report_ ? TimeNs(report_->watermark_ns()) : TimeNs(); }
  const wire::Report* report() const { return report_.get(); }
  // Of the picture: what of time is seen. Whoever pans or zooms sees the old picture there at once; where
  // that knows nothing (outside data().range()) is nothing until the answer comes.
  scene::TimeRange time() const { return shown_.value_or(data_->range()); }
  // All there is of the run, as far as is known.
  std::optional<scene::TimeRange> bounds() const;
  // The whole run, of all resources and states, in cuts of time: as it was asked for last, so it may lack the
  // newest twentieth. Null: nobody has looked at it, or there is none yet.
  const ViewPtr& whole_run() const { return whole_run_.picture(); }
  // Somebody looks at it, or no longer does. It is asked for when no other answer is waited for
  // (scene::is_whole_run_due()); then the next question waits for its answer.
  void look_at_whole_run(bool seen);
  // Of the question for it that is under way; 0: there is none.
  std::uint64_t whole_run_token() const { return whole_run_.token(); }
  // How times are written and typed: since the picture's zero, or by the wall clock in the time zone here,
  // where somebody chose that and the run's times are those of the clock.
  scene::Times times() const;
  // Not kept: that is the window's business.
  void set_by_clock(bool by_clock);
  // Of the time axis; not kept either.
  void set_unit(scene::TimeUnit unit);
  bool waiting() const { return waiting_; }
  bool held() const { return held_; }
  // The picture goes on with the run.
  bool follows() const { return !held_ && !subject().time; }
  // The picture is the daemon's own, out of a report, and not the answer to a question.
  bool of_report() const { return pictured_ != nullptr; }
  bool there() const { return there_; }
  const QString& trouble() const { return trouble_; }
  // All states that have been seen in this run, whatever the filter, as scene::states_in_order() has
  // them.
  const std::vector<scene::State>& states() const { return known_.states; }
  // Why colours are not kept, a sentence; empty: they are.
  const QString& colours_trouble() const { return colours_trouble_; }
  // A node and slices of the picture.
  struct Selection {
    std::uint32_t node = 0, first = 0, last = 0;
    bool operator==(const Selection&) const = default;
  };
  const std::optional<Selection>& selection() const { return chosen_.selection; }

  // A rectangle that somebody marked: the list of states, the list of events and what events sum to are of
  // it, wherever one goes, until it is taken back. Nothing: they are of what is selected or seen.
  const std::optional<scene::MarkedArea>& marked() const { return chosen_.marked; }
  // Where that is in data(); without nodes: nowhere.
  const scene::Region& marked_place() const { return drawn_.marked; }
  void mark(std::optional<scene::MarkedArea> area);
  // The selection or, where there is one, the smallest rectangle that has the marked one as well. Without a
  // selection a sentence is said.
  void mark_selection();

  // Stretches that somebody noted, by begin; flags of the picture.
  struct Bookmark {
    scene::TimeRange time;
    std::string node;  // path; "": all
    std::string note;
    bool operator==(const Bookmark&) const = default;
  };
  const std::vector<Bookmark>& bookmarks() const { return bookmarks_; }
  void set_bookmarks(std::vector<Bookmark> bookmarks);

  // What events sum to, as it was answered last; null: it was not asked for.
  const EventSumsPtr& sums(SumsOf of) const { return sums_[of == SumsOf::kMessages ? 1 : 0]; }
  // The single events of a stretch: asks for a page of them or for what they sum to, and says what came of it
  // (listed, summed, not_listed). One question at a time is under way; without a link nothing is asked.
  void ask(wire::EventsQuestion question);
  // A stretch that is no picture: answered by beside or not_beside. It waits until nothing is under way for
  // the picture, and is asked for again where that takes its place; a newer one takes its place as well,
  // which is not_beside then. Its token is given here, and told. Without a link nothing is asked.
  std::uint64_t ask_beside(wire::ViewQuestion question);
  std::uint64_t next_token() { return link_ != nullptr ? link_->next_token() : ++tokens_; }
  // As if they had come from the link.
  void show(ViewPtr data);
  void show_whole_run(ViewPtr data);
  void take(ReportPtr report);
  void take_sums(const EventSumsPtr& sums);
  void take_beside(const ViewPtr& data);
  void go(scene::Subject subject);
  void back();
  void forward();
  // To where the session began, unfolded.
  void reset();
  // All there is of the run, of all nodes.
  void whole();
  void zoom_to(scene::TimeRange range);
  void zoom_by(double factor, TimeNs about);
  // As zoom_to(), many times in a row: all but the `first` are one step to go back.
  void slide_to(scene::TimeRange range, bool first);
  void pan_by(double share);
  void into(std::uint32_t node);
  // Its stretch of time, and where it is of several resources its node.
  void into(const Selection& selection);
  void up();
  void follow();
  void hold(bool held);
  void set_p(double p);
  void set_policy(const std::string& policy);
  void step_p(int by);
  // To the p in the middle of this step of steps(); of one that there is not nothing happens.
  void set_step(std::int64_t step);
  // Whether steps() are those of the time line, which gets a p of its own then.
  void set_steps_of_time(bool of_time);
  // None: that of the picture.
  void set_time_p(std::optional<double> p);
  void set_cuts(scene::Cuts cuts);
  void set_slices(std::uint32_t slices);
  // The slice duration of what follows the run; 0: the finest there is.
  void set_level(DurationNs level);
  // What is measured, as `margay partition --operator` says it; "": how long states last. A p that was chosen
  // is forgotten: it weighs the gain and loss of what was measured before. A filter of states is, too, where
  // what is measured is a variable, or was.
  void set_measure(const std::string& measure);
  // The variables that come with the picture's single calls, by name.
  std::vector<std::string> variables() const;
  // Only these; none: all. False, and a sentence is said, if they do not fit a question.
  bool set_states(std::vector<std::string> states);
  // What else of the run is looked at. False, and a sentence is said, if it makes no sense or does not fit a
  // question.
  bool set_filter(scene::RunFilter filter);
  // By which resources are put in order. What is selected stays selected, as far as one node of the new view
  // has it; what was zoomed into becomes a filter. False, and a sentence is said, if it does not fit a
  // question.
  bool set_view(scene::PointOfView view);
  // Of the run, as the daemon said last; nothing yet: it was not asked.
  struct KnownViews {
    std::vector<std::string> views, attributes;
  };
  const KnownViews& known_views() const { return known_.views; }
  // Only what is below this node, of all time that is seen; "": all.
  void set_node(const std::string& path);
  // No filter any more: all states of all nodes.
  void show_everything();
  void toggle_fold(std::uint32_t node);
  void set_folding(scene::Folding folding);
  void search(const std::string& text);
  void select(std::optional<Selection> selection);
  void set_theme(scene::Theme theme);
  void set_hues(scene::Hues hues);
  // Kept for later sessions; none: the usual one.
  void set_colour(const std::string& state, std::optional<scene::Rgb> colour);
  // Parts lower or narrower than so many pixels are drawn together; what is out of bounds reads as the
  // nearest within them. Not kept: that is the window's business.
  double threshold() const { return look_.threshold; }
  void set_threshold(double pixels);
  // Scrolled and zoomed in space, units of the rows.
  const scene::Scroll& scroll() const { return scroll_; }
  void set_scroll(scene::Scroll scroll);
  // Alerts: what people say of them, and going there.
  void acknowledge(const std::string& id, const std::string& comment);
  void unacknowledge(const std::string& id);
  void silence(const std::string& node, DurationNs how_long);
  void unsilence(const std::string& id);
  // Answered by silences_known, or said.
  void ask_for_silences();
  // Of a replay, refused by a run: go on, at `speed` times real time (0: as before, less: as fast as it
  // goes); pause; so many slices, then pause; to a time, what lies between is computed.
  void play(double speed);
  void pause();
  void step(std::uint32_t slices);
  void jump(TimeNs to);
  // What was asked last of all these, as it goes out.
  const std::optional<wire::ControlRequest>& requested() const { return chosen_.request; }
  // The alert that all views are about, by its id (terminal::AlertView); "": none is chosen.
  const std::string& chosen_alert() const { return chosen_.alert; }
  void choose_alert(const std::string& id);
  // As the newest report has it; null: none is chosen, or it is not reported any more.
  const wire::Alert* alert() const;
  // A stretch [from, to) of a node is selected; a run that was followed is held.
  void go_to(TimeNs from, TimeNs to, const std::string& node);
  // That of an alert, which is chosen then.
  void go_to(const terminal::AlertView& alert);

 signals:
  void data_changed();
  void whole_run_changed();
  void view_changed();  // rows, scroll, selection, colours
  void report_changed();
  void alert_chosen();
  void requested_something();  // requested() is another one
  void status_changed();       // waiting, held, there, trouble
  void silences_known(margay::viewer::SilencesPtr silences);
  void said(QString sentence);
  void listed(margay::viewer::EventPagePtr page);
  void summed(margay::viewer::EventSumsPtr sums);
  void waits_known(margay::viewer::EventWaitsPtr waits);
  void not_listed(quint64 token, QString why);
  void beside(quint64 token, margay::viewer::ViewPtr data);
  void not_beside(quint64 token, QString why);

 private:
  bool go_if_it_fits(scene::Subject subject);
  scene::Subject with_calls(scene::Subject subject) const;
  std::optional<scene::TimeRange> replayed_time() const;
  DurationNs shortest() const;
  void ask(bool curve = false);
  void send(wire::ViewQuestion question);
  void ask_beside_if_free();
  void refuse_beside(const QString& why);
  scene::Subject of_the_picture() const;
  void ask_if_due();
  void ask_for_curve();
  void ask_for_live_curve();
  void ask_for_whole_run();
  bool show_report();
  void take_curve(const scene::ViewData& of);
  void rest_from_curves();
  void moved(const std::optional<scene::TimeRange>& before);
  void drift(scene::Subject subject);
  void take(ViewPtr data);
  void show_target();
  void answered(const ViewPtr& data);
  void temporal_is_there();
  bool lacks_the_newest(const scene::ViewData& answer) const;
  void reported();
  void make_rows();
  // True if there were new ones: then others may have patterns.
  bool learn(const std::vector<scene::State>& states);
  void set_palette(scene::Theme theme, scene::ColourMap given, scene::Hues hues);
  std::optional<Selection> selected_in(const scene::ViewData& next) const;
  void handle(wire::ControlRequest::Kind kind, wire::Handle what);
  void request(wire::ControlRequest r);

  Link* link_;
  scene::Palette palette_;
  scene::History history_;
  ViewPtr data_, temporal_;
  scene::WholeRun whole_run_;
  EventSumsPtr sums_[2];
  ReportPtr pictured_;  // data_ and temporal_ are this one's; null: they were asked for
  scene::Folding folding_;
  struct Drawn {  // of data_
    scene::Rows rows;
    std::vector<scene::Collective> collectives;
    scene::Region marked;  // where marked() is in it; without nodes: nowhere
  } drawn_;
  scene::Scroll scroll_;
  struct AllSteps {
    scene::Steps picture, time;
  } steps_;
  struct Chosen {
    std::optional<Selection> selection;
    std::optional<scene::MarkedArea> marked;
    std::string alert;                            // its id
    std::optional<wire::ControlRequest> request;  // what was asked for last
  } chosen_;
  std::vector<Bookmark> bookmarks_;
  std::optional<scene::TimeRange> shown_;  // while its answer is waited for
  ReportPtr report_;
  std::vector<terminal::AlertView> alerts_;
  std::uint64_t asked_token_ = 0, temporal_token_ = 0;
  std::uint64_t tokens_ = 0;       // without a link
  std::uint64_t curve_token_ = 0;  // of the curve alone, for a picture of a report; 0: not asked for
  BesideQuestion beside_;
  std::int64_t asked_slice_ = -1;
  std::optional<scene::Subject> temporal_asked_, temporal_of_;  // temporal() is of
  bool drifting_ = false;  // the newest step of the history was a zoom or a pan
  int asked_again_ = 0;
  struct Look {
    Calls calls = Calls::kNever;
    bool messages = true, bands = true, by_clock = false, steps_of_time = false;
    double threshold = scene::kUsualThreshold;
    scene::TimeUnit unit = scene::TimeUnit::kAuto;
  } look_;
  bool waiting_ = false, held_ = false, there_ = false, due_ = false, curve_ = false;
  QString trouble_, colours_trouble_;
  ColourFile colours_;
  struct Known {  // of the run
    std::vector<scene::State> states;
    KnownViews views;
  } known_;
  QTimer pace_, curve_rest_;
  QElapsedTimer curve_took_;  // since it was asked for
  struct Target {
    TimeNs from, to;
    std::string node;
  };
  std::optional<Target> target_;  // to be selected once it is there
};

}  // namespace margay::viewer
