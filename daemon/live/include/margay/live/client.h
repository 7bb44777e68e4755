// Who asks something of a daemon, and how it is answered. Values.
#pragma once

#include <functional>
#include <string>

#include "margay/wire/control.pb.h"

namespace margay::daemon {

struct Client {
  std::string from;      // routing id; "": nobody
  bool remote = false;   // by which door it came
  bool operates = true;  // may change things: the user itself, or who has an operator's key
};

using Reply = std::function<void(const Client&, const wire::ControlReply&)>;

}  // namespace margay::daemon
