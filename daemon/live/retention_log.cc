#include "margay/live/retention_log.h"

#include "margay/live/retention_words.h"
#include "margay/log/log.h"

namespace margay::daemon {

void RetentionLog::look(const store::RetentionReport& report) {
  if (times_ == 0 && report.times != 0)
    log::info(options_.archive + ": " + retention_cause(report, options_) +
              "; old data is deleted from now on");
  if (report.full != full_) {
    if (report.full)
      log::error(options_.archive +
                 ": is full, and nothing more may be deleted: raw events are not archived");
    else
      log::info(options_.archive + ": raw events are archived again");
  }
  times_ = report.times;
  full_ = report.full;
}

}  // namespace margay::daemon
