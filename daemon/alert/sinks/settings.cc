#include "margay/sinks/settings.h"

#include "alertmanager_sink.h"
#include "command_sink.h"
#include "journal_sink.h"
#include "webhook_sink.h"

namespace margay::sinks {
namespace {

// Everything below the base, which may end with a slash.
std::string alerts_url(std::string base) {
  while (base.ends_with('/')) base.pop_back();
  return base + "/api/v2/alerts";
}

}  // namespace

Result<std::vector<std::unique_ptr<Sink>>> make_sinks(const Settings& s, const Clock& clock) {
  std::vector<std::unique_ptr<Sink>> sinks;
  if (!s.command.empty()) {
    auto sink = CommandSink::make(s.command);
    if (!sink) return fail(sink.error(), "alerts.command");
    sinks.push_back(std::move(*sink));
  }
  if (!s.webhook.empty()) {
    auto post = HttpPost::make({s.webhook, s.webhook_headers, s.ca_file, s.time_limit});
    if (!post) return fail(post.error(), "alerts.webhook");
    sinks.push_back(std::make_unique<WebhookSink>(std::move(*post)));
  }
  if (!s.alertmanager.empty()) {
    auto post = HttpPost::make({alerts_url(s.alertmanager), s.alertmanager_headers, s.ca_file, s.time_limit});
    if (!post) return fail(post.error(), "alerts.alertmanager");
    sinks.push_back(std::make_unique<AlertmanagerSink>(std::move(*post), clock));
  }
  if (s.journal) sinks.push_back(std::make_unique<JournalSink>());
  return sinks;
}

}  // namespace margay::sinks
