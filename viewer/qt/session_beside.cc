// What is asked beside the picture: a stretch that somebody compares, the whole run, what events sum to.
#include <utility>

#include "session.h"

namespace margay::viewer {

std::uint64_t Session::ask_beside(wire::ViewQuestion question) {
  const std::uint64_t token = next_token();
  const auto older = beside_.done();
  beside_.ask(std::move(question), token);
  if (older) emit not_beside(*older, tr("another page's question took its place"));
  ask_beside_if_free();
  return token;
}

void Session::ask_beside_if_free() {
  if (link_ != nullptr && beside_.waits() && !waiting_ && curve_token_ == 0 && !whole_run_.under_way())
    link_->ask(beside_.send_as(link_->next_token()));
}

void Session::take_beside(const ViewPtr& data) {
  if (const auto token = beside_.done()) emit beside(*token, data);
  ask_if_due();
}

void Session::refuse_beside(const QString& why) {
  if (const auto token = beside_.done()) emit not_beside(*token, why);
  ask_if_due();
}

void Session::look_at_whole_run(bool seen) {
  if (whole_run_.look(seen)) ask_if_due();
}

// When no other answer is waited for: a link has one question under way.
void Session::ask_for_whole_run() {
  const auto all = bounds();
  if (link_ == nullptr || !all || waiting_ || curve_token_ != 0 || beside_.under_way()) return;
  if (whole_run_.due(*all, DurationNs(report_->slice_ns()), report_->final()))
    link_->ask(whole_run_.ask(*all, link_->next_token()));
}

void Session::show_whole_run(ViewPtr data) {
  whole_run_.show(std::move(data));
  if (learn(whole_run_.picture()->states)) emit view_changed();
  emit whole_run_changed();
}

void Session::take_sums(const EventSumsPtr& sums) {
  sums_[sums->messages ? 1 : 0] = sums;
  emit summed(sums);
}

}  // namespace margay::viewer
