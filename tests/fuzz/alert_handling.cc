// What people said about alerts, as an archive keeps it: any bytes are refused, or are within their bounds
// and come back from a trip. And then a daemon's policy works with it.
//   input: lines; the first is the blob, the others alerts that are handed in
#include "margay/alert/notification_policy.h"

#include <set>

#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace margay;
  using alert::Handling;
  fuzz::Input in(data, size);
  std::string_view rest = in.rest();
  const auto line = [&] {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view text = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    return text;
  };
  auto read = Handling::decode_untrusted(line());
  if (!read) return 0;
  FUZZ_CHECK(read->silences().size() <= Handling::kMostSilences &&
                 read->acks().size() <= Handling::kMostAcks &&
                 read->withheld().size() <= Handling::kMostWithheld,
             "within its bounds");
  const auto back = Handling::decode_untrusted(read->encode());
  FUZZ_CHECK(back && *back == *read, "comes back from a trip");
  alert::NotificationPolicy policy(std::move(*read));
  const TimeNs now(1'700'000'000'000'000'000);
  std::set<std::string> told;
  while (!rest.empty()) {
    const auto a = alert::parse_untrusted(line());
    if (!a) continue;
    const bool tell = policy.take(*a, (a->onset.value & 1) != 0, now);
    if (tell && a->status == alert::Status::kFiring) told.insert(a->id);
    for (const alert::Alert& due : policy.due(now)) told.insert(due.id);
    static_cast<void>(policy.acknowledge(a->node, a->run, a->message, now));
    static_cast<void>(policy.unacknowledge(a->phase, now));
    alert::Silence s;
    s.node = a->node;
    s.state = a->phase;
    s.until = now + seconds(10);
    static_cast<void>(policy.silence(s, now));
  }
  const auto kept = Handling::decode_untrusted(policy.handling().encode());
  FUZZ_CHECK(kept && *kept == policy.handling(), "what the policy keeps can be read");
  for (const alert::Alert& due : policy.due(now + seconds(10)))
    FUZZ_CHECK(!told.contains(due.id) || due.status == alert::Status::kFiring, "what is due fires");
  return 0;
}
