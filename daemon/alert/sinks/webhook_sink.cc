#include "webhook_sink.h"

#include "text.h"

namespace margay::sinks {

WebhookSink::WebhookSink(HttpPost post) : post_(std::move(post)) {}

std::string WebhookSink::where() const {
  return safe_url(post_.target().url);
}
void WebhookSink::begin(const Notice& notice, TimeNs) {
  post_.begin(alert::to_json(notice.alert));
}
std::optional<Outcome> WebhookSink::progress(TimeNs) {
  return post_.progress();
}
void WebhookSink::cut(TimeNs) {
  post_.cut();
}

}  // namespace margay::sinks
