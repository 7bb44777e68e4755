// HTTP POST of each alert, as the JSON object that is in the archive. Any status from 200 to 299 says that it
// was taken.
#pragma once

#include "http_post.h"

namespace margay::sinks {

class WebhookSink final : public Sink {
 public:
  explicit WebhookSink(HttpPost post);
  const char* name() const override { return "webhook"; }
  std::string where() const override;
  void begin(const Notice& notice, TimeNs now) override;
  std::optional<Outcome> progress(TimeNs now) override;
  void cut(TimeNs now) override;

 private:
  HttpPost post_;
};

}  // namespace margay::sinks
