#include "webhook_sink.h"

#include "margay/sinks/settings.h"
#include "text.h"

namespace margay::sinks {

WebhookSink::WebhookSink(HttpPost post) : post_(std::move(post)) {}

std::string WebhookSink::where() const {
  return safe_url(post_.target().url);
}
void WebhookSink::begin(const Notice& notice, TimeNs) {
  // Beside the alert, which is the same wherever it is written. All of a link is ASCII.
  post_.begin(alert::to_json(notice.alert), notice.link.empty() ? "" : "X-Margay-Link: " + notice.link);
}
std::optional<Outcome> WebhookSink::progress(TimeNs) {
  return post_.progress();
}
void WebhookSink::cut(TimeNs) {
  post_.cut();
}

bool wants_webhook(const Settings& s) {
  return !s.webhook.empty();
}
Result<std::unique_ptr<Sink>> make_webhook(const Settings& s, const Clock&) {
  auto post = HttpPost::make({s.webhook, s.webhook_headers, s.ca_file, s.time_limit});
  if (!post) return tl::unexpected(post.error());
  return std::make_unique<WebhookSink>(std::move(*post));
}

}  // namespace margay::sinks
