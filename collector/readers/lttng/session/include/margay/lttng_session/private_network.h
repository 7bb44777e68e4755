// A network that nobody else is in, for LTTng's relay daemon, which takes whoever connects to its three TCP
// ports: with nothing but a loopback interface, of this process and all that it starts. Files, unix sockets
// and shared memory are what they were, so traced programs and Margay's own sockets are reached as before.
//
// Root makes a network namespace; another user makes a user namespace around it, in which it is still itself
// and knows nobody else. There /proc has to tell of processes outside as it did (hidepid does not).
#pragma once

#include "margay/base/result.h"

namespace margay::lttng {

// For the process that calls it, from now on. REQUIRES: no other thread. Where it fails everything is as
// before: it is tried in a child first. Cost: a fork, some ms. Errors: kUnavailable, with the reason.
Status enter_private_network();

}  // namespace margay::lttng
