// Requests to a session daemon through liblttng-ctl, which knows one daemon a process, one request at a time,
// and waits for ever for an answer.
//
// So every request is made on a thread of its own. They take turns; one that has had no answer within
// `patience` is left to itself (kTimeout), and others fail with kTimeout as long as it hangs: it ends when
// its daemon does. At most one thread hangs, and those that wait for their turn, `patience` each.
//
// The thread sees the sockets of `daemons`: in its mount namespace (root), or by LTTNG_HOME of this process,
// which is set when it is another than that of the request before.
//
// Thread safety: full. Cost: 50 us and the request.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "margay/base/result.h"
#include "margay/base/time.h"
#include "margay/lttng_session/daemons.h"

namespace margay::lttng {

// REQUIRES: `request` owns what it uses: it may outlive the call. `what` begins the message of an error.
Status ask(const Daemons& daemons, DurationNs patience, const std::string& what,
           std::function<Status()> request);

template <class T>
Result<T> ask_for(const Daemons& daemons, DurationNs patience, const std::string& what,
                  std::function<Result<T>()> request) {
  auto answer = std::make_shared<T>();
  const Status status = ask(daemons, patience, what, [answer, request = std::move(request)]() -> Status {
    Result<T> got = request();
    if (!got) return tl::unexpected<Error>(got.error());
    *answer = std::move(*got);
    return {};
  });
  if (!status) return tl::unexpected<Error>(status.error());
  return std::move(*answer);
}

}  // namespace margay::lttng
