// What the gate reads before anybody has authenticated, and its books of who is in.
//
// The first byte says which. Bytes of a handshake come in pieces: how they are cut changes nothing.
#include "margay/transport/gate_policy.h"

#include <set>

#include "fuzz.h"

using namespace margay;
using namespace margay::transport;

namespace {

void handshake(fuzz::Input& in) {
  const std::string cuts(in.piece());
  const std::string_view bytes = in.rest();
  ServerWatch whole, pieces;
  const auto at_once = whole.take(bytes);
  auto state = ServerWatch::State::kPending;
  std::string_view left = bytes;
  for (std::size_t i = 0; !left.empty(); ++i) {
    const std::size_t n = cuts.empty() ? 1 : static_cast<unsigned char>(cuts[i % cuts.size()]) % 80u + 1u;
    state = pieces.take(left.substr(0, n));
    left.remove_prefix(std::min(n, left.size()));
  }
  FUZZ_CHECK(bytes.empty() || state == at_once, "pieces say the same as the whole");
  const auto decided = pieces.state();
  FUZZ_CHECK(decided == ServerWatch::State::kPending || pieces.take("more") == decided, "a decision stays");

  FirstBytes first = FirstBytes::kMore;
  for (std::size_t n = 0; n <= std::min<std::size_t>(bytes.size(), 80); ++n) {
    const FirstBytes now = first_bytes(bytes.substr(0, n));
    FUZZ_CHECK(first == FirstBytes::kMore || now == first, "more bytes change no decision");
    first = now;
  }
  FUZZ_CHECK(bytes.size() < 10 || first != FirstBytes::kMore, "ten bytes decide");
}

void admission(fuzz::Input& in) {
  GateLimits l;
  l.connections = 1 + in.u8() % 16u;
  l.unauthenticated = 1 + in.u8() % l.connections;
  l.per_address = 1 + in.u8() % 16u;
  l.rate = l.rate_per_address = 1 + in.u8();
  l.burst = 1 + in.u8();
  l.burst_per_address = 1 + in.u8();
  TimeNs now(0);
  Admission admission(l, now);
  std::set<std::uint64_t> waiting, inside;
  for (std::uint64_t next = 1; !in.empty() && next < 4096; ++next) {
    const unsigned what = in.u8(), which = in.u8();
    const auto take = [&](std::set<std::uint64_t>& from) -> std::optional<std::uint64_t> {
      if (from.empty()) return std::nullopt;
      return from.extract(std::next(from.begin(), static_cast<std::ptrdiff_t>(which % from.size()))).value();
    };
    switch (what % 5) {
      case 0: {
        const auto d = admission.arrive(next, "address" + std::to_string(which % 9), now);
        if (d.evict) {
          FUZZ_CHECK(d.answer == Admission::Answer::kAdmit, "nobody goes for who does not come in");
          FUZZ_CHECK(waiting.erase(*d.evict) == 1, "who has authenticated never makes way");
        }
        if (d.answer == Admission::Answer::kAdmit) waiting.insert(next);
        break;
      }
      case 1:
        if (const auto id = take(waiting)) {
          admission.authenticated(*id);
          inside.insert(*id);
        }
        break;
      case 2:
        if (const auto id = take(inside)) admission.leave(*id);
        break;
      case 3:
        now = now + milliseconds(static_cast<std::int64_t>(which) * 20);
        break;
      case 4:
        while (const auto late = admission.overdue(now)) {
          FUZZ_CHECK(waiting.erase(*late) == 1, "time is up for who has not authenticated");
          admission.leave(*late);
        }
        break;
    }
    FUZZ_CHECK(admission.open() == waiting.size() + inside.size(), "the books are right");
    FUZZ_CHECK(admission.open_unauthenticated() == waiting.size(), "the books are right");
    FUZZ_CHECK(admission.open() <= l.connections, "no more than may be open");
    FUZZ_CHECK(waiting.size() <= l.unauthenticated, "no more than may wait");
    FUZZ_CHECK(admission.addresses() <= l.connections + 1024u, "a bounded number of addresses");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input in(data, size);
  if (in.u8() % 2 == 0)
    handshake(in);
  else
    admission(in);
  return 0;
}
