#include "margay/live/handling_answers.h"

#include <algorithm>

#include "margay/log/log.h"
#include "margay/wire/columns.h"

namespace margay::daemon {
namespace {

// For an answer to wait for the archive.
constexpr DurationNs kArchivePatience = seconds(3);
constexpr std::size_t kMostAsked = 64;

}  // namespace

bool HandlingAnswers::ask(const HandlingRequest& request, const Client& client, bool over,
                          wire::ControlReply& reply) {
  const auto refuse = [&](const std::string& why) {
    reply.set_error(why);
    return true;
  };
  alert::NotificationPolicy& policy = notifier_.policy();
  const std::string& trouble = notifier_.handling_trouble();
  if (request.kind == HandlingRequest::Kind::kList) {
    reply.set_handling(policy.handling().encode());
    *reply.mutable_silences() = alert::silences_to_wire(policy.handling(), clock_.realtime());
    return trouble.empty() || refuse(trouble);
  }
  const auto same = std::find_if(asked_.begin(), asked_.end(), [&](const Asked& q) {
    return request.token != 0 && q.token == request.token;
  });
  if (same != asked_.end()) {
    same->client = client;
    return false;
  }
  if (!trouble.empty()) return refuse(trouble);
  if (over) return refuse("this run is over: none of its alerts fires any more");
  const auto said = perform(request, policy, clock_.realtime());
  if (!said) return refuse(said.error().message);
  log::info("alerts: " + *said + (request.by.empty() ? "" : " (" + request.by + ")"));
  asked_.push_back({request.token, client, *said, policy.version(), clock_.monotonic()});
  if (asked_.size() > kMostAsked) asked_.pop_front();
  return false;
}

void HandlingAnswers::settle(std::uint64_t archived, const Reply& reply) {
  for (Asked& q : asked_) {
    if (q.client.from.empty()) continue;
    const bool there = archived >= q.version;
    if (!there && clock_.monotonic() - q.since < kArchivePatience) continue;
    wire::ControlReply answer;
    answer.set_version(wire::kWireVersion);
    answer.set_said(q.said + (there ? "" : "; the archive does not have it yet, see margay status"));
    reply(q.client, answer);
    q.client.from.clear();
  }
}

}  // namespace margay::daemon
