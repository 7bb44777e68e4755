// What the daemon does with bytes on its control socket: one answer, or one act within its bounds.
#include "fuzz.h"
#include "margay/query/event_question.h"
#include "margay/query/view_question.h"
#include "margay/serve/control.h"
#include "margay/wire/control.pb.h"
#include "proto_mutator.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto action = margay::daemon::decode_control_untrusted(margay::fuzz::text_of(data, size));
  FUZZ_CHECK(int{action.status} + int{action.finish.has_value()} + int{action.handling.has_value()} +
                     int{action.view.has_value()} + int{action.events.has_value()} +
                     int{!action.error.empty()} ==
                 1,
             "asked for one thing, or refused");
  if (action.handling && action.handling->kind != margay::daemon::HandlingRequest::Kind::kList) {
    margay::alert::NotificationPolicy policy;
    const auto said = margay::daemon::perform(*action.handling, policy, margay::TimeNs(1));
    FUZZ_CHECK(said || !said.error().message.empty(), "done, or a sentence");
    FUZZ_CHECK(margay::alert::Handling::decode_untrusted(policy.handling().encode()), "and it can be kept");
  }
  if (action.view) {
    const auto view = margay::daemon::decode_view_untrusted(*action.view);
    FUZZ_CHECK(view || !view.error().message.empty(), "understood, or a sentence");
    FUZZ_CHECK(
        !view || (view->slices <= margay::daemon::ViewRequest::kMostSlices &&
                  view->states.size() <= margay::daemon::ViewRequest::kMostStates &&
                  (!view->p || (*view->p >= 0 && *view->p <= 1)) && (view->newest || view->from < view->to)),
        "within its bounds");
  }
  if (action.events) {
    using Page = margay::daemon::EventPageRequest;
    const auto page = margay::daemon::decode_events_untrusted(*action.events);
    FUZZ_CHECK(page || !page.error().message.empty(), "understood, or a sentence");
    FUZZ_CHECK(!page || (page->most >= 1 && page->most <= Page::kMostRows &&
                         page->list.match.size() <= Page::kLongestMatch &&
                         page->patience > margay::DurationNs(0) && page->patience <= Page::kLongestPatience &&
                         (page->whole || page->list.from < page->list.to)),
               "within its bounds");
  }
  if (action.finish)
    FUZZ_CHECK(
        action.finish->patience >= margay::DurationNs(0) && action.finish->patience <= margay::seconds(60),
        "patience is bounded");
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most,
                                               unsigned seed) {
  return margay::fuzz::mutate_prefixed<margay::wire::ControlRequest>(data, size, most, seed, 0);
}
