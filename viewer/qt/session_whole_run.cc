// The picture of the whole run, for whoever wants to see which part of it is looked at.
//
// A link has one question under way, and a newer one takes the place of one that was not sent yet. So this
// one is asked when no other answer is waited for, and is asked again where it was lost that way.
#include "margay/scene/whole_run.h"

#include "session.h"

namespace margay::viewer {
namespace {

constexpr int kMostRefused = 3;  // in a row, of the same stretch

}  // namespace

void Session::look_at_whole_run(bool seen) {
  if (!std::exchange(whole_seen_, seen) && seen) ask_if_due();
}

void Session::ask_for_whole_run() {
  if (!whole_seen_ || link_ == nullptr || !report_) return;
  if (waiting_ || curve_token_ != 0 || whole_token_ != 0) return;
  const auto all = bounds();
  const DurationNs slice(report_->slice_ns());
  if (!all || !scene::is_whole_run_due(whole_asked_, *all, slice, report_->final())) return;
  if (whole_asked_) whole_refused_ = 0;  // there is more of it than what was refused
  whole_asked_ = all;
  whole_token_ = link_->next_token();
  link_->ask(scene::whole_run_question(*all, whole_token_));
}

void Session::take_whole_run(const ViewPtr& data) {
  whole_token_ = 0;
  whole_refused_ = 0;
  if (data->temporal && !data->empty()) show_whole_run(data);
  ask_if_due();
}

void Session::show_whole_run(ViewPtr data) {
  whole_run_ = std::move(data);
  if (learn(whole_run_->states)) emit view_changed();
  emit whole_run_changed();
}

// The daemon may have had too much to do.
void Session::whole_run_refused() {
  whole_token_ = 0;
  if (++whole_refused_ < kMostRefused) whole_asked_.reset();
  ask_if_due();
}

void Session::lost_whole_run(std::uint64_t token) {
  if (whole_token_ == 0 || token < whole_token_) return;
  whole_token_ = 0;
  whole_asked_.reset();
}

void Session::forget_whole_run() {
  whole_token_ = 0;
  whole_asked_.reset();
  if (std::exchange(whole_run_, nullptr)) emit whole_run_changed();
}

}  // namespace margay::viewer
