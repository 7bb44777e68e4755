// `margay replay --serve MODEL`: a model in a file, looked at as a run is. Of this folder.
#pragma once

#include <atomic>
#include <string>

#include "margay/base/result.h"
#include "replay_command.h"

namespace margay::daemon {

// Whether it is no trace, and can be meant as a model of `margay partition`.
bool is_model_file(const std::string& path);
// Until `stop`, or a viewer ends it. Errors: kInvalidArgument for flags that are not for models; those of
// reading the model, and of being reached.
Status serve_model(const ReplayRequest& request, const std::atomic<bool>& stop);

}  // namespace margay::daemon
