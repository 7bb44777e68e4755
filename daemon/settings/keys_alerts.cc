// The keys of [alerts].
#include "key_builders.h"

namespace margay::config {
namespace {

constexpr std::size_t kMostArguments = 64;

bool is_host(std::string_view host) {
  if (host.size() > 253) return false;
  if (host.starts_with('['))  // IPv6
    return host.size() > 3 && host.ends_with(']') &&
           host.find_first_not_of("0123456789abcdefABCDEF:.", 1) == host.size() - 1;
  return !host.empty() && std::all_of(host.begin(), host.end(), [](unsigned char c) {
    return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '-' || c == '.' || c == '_';
  });
}

// http or https, a host, perhaps a port, a path, a query. No user: a secret belongs into a file. The library
// that sends takes a closer look.
bool is_url(std::string_view url) {
  if (url.size() > 2048) return false;
  const std::size_t skip = url.starts_with("http://") ? 7 : url.starts_with("https://") ? 8 : 0;
  if (skip == 0) return false;
  if (!std::all_of(url.begin(), url.end(), [](unsigned char c) { return c > 0x20 && c < 0x7f; }))
    return false;
  url.remove_prefix(skip);
  std::string_view host = url.substr(0, url.find_first_of("/?"));
  if (url.find('#') != std::string_view::npos) return false;
  const std::size_t bracket = host.rfind(']');
  const std::size_t colon = host.find(':', bracket == std::string_view::npos ? 0 : bracket);
  if (colon != std::string_view::npos) {
    const std::string_view port = host.substr(colon + 1);
    unsigned n = 0;
    const auto r = std::from_chars(port.data(), port.data() + port.size(), n);
    if (r.ec != std::errc() || r.ptr != port.data() + port.size() || n < 1 || n > 65535) return false;
    host = host.substr(0, colon);
  }
  return is_host(host);
}

template <class At>
Key url_key(const char* name, At at, const char* example, const char* help) {
  return {
      "alerts",
      name,
      help,
      std::string("an http:// or https:// URL without a user, such as \"") + example + "\", or \"\" for none",
      [=](const Value& v, Options& o) {
        const auto* s = std::get_if<std::string>(&v);
        if (!s || (!s->empty() && !is_url(*s))) return false;
        at(o) = *s;
        return true;
      },
      [=](const Options& o) { return quoted(at(o)); }};
}

Key command_key() {
  return {
      "alerts",
      "command",
      "A program to run for each alert, with its arguments: when the alert begins, and when it is resolved. "
      "It reads the alert as a JSON object from stdin and has MARGAY_ALERT_STATUS, _KIND, _SEVERITY, "
      "_MESSAGE, _NODE, _LIKELY_CAUSE, _RUN, _PHASE, _BEGIN, _END and _ID in its environment. One runs at a "
      "time. Exit code 0 means success; otherwise it is run again later. No shell is used; to use one: "
      "[\"sh\", \"-c\", \"mail -s \\\"$MARGAY_ALERT_MESSAGE\\\" me\"].",
      "a list of texts, the program first, such as [\"/usr/local/bin/notify\", \"--team\", \"hpc\"], or [] "
      "for none",
      [](const Value& v, Options& o) {
        const auto* texts = std::get_if<Texts>(&v);
        if (!texts || texts->size() > kMostArguments) return false;
        for (const std::string& t : *texts)
          if (t.size() > kLongestText || t.find('\0') != std::string::npos) return false;
        if (!texts->empty() && texts->front().empty()) return false;
        o.sinks.command = *texts;
        return true;
      },
      [](const Options& o) { return show_list(o.sinks.command, [](const std::string& s) { return s; }); }};
}

}  // namespace

std::vector<Key> alert_keys() {
  return {
      text_key("alerts", "file", MARGAY_AT(alerts_file), "a path, or \"\" for none",
               "Append each alert to this file, one JSON object a line."),
      command_key(),
      url_key("webhook", MARGAY_AT(sinks.webhook), "https://example.org/hook",
              "POST each alert to this URL as a JSON object: when it begins, and when it is resolved. A "
              "status of 200 to 299 means success."),
      text_key("alerts", "webhook_headers", MARGAY_AT(sinks.webhook_headers), "a path, or \"\" for none",
               "File with headers for the webhook, one a line, such as Authorization: Bearer TOKEN. Others "
               "must not be able to read it. It is read again for each request."),
      url_key(
          "alertmanager", MARGAY_AT(sinks.alertmanager), "http://127.0.0.1:9093",
          "URL of a Prometheus Alertmanager, above its /api/v2/alerts. Firing alerts are sent to it each "
          "minute; an alert ends there when it is resolved, or five minutes after the daemon last sent it."),
      text_key("alerts", "alertmanager_headers", MARGAY_AT(sinks.alertmanager_headers),
               "a path, or \"\" for none", "File with headers for it, as for the webhook."),
      text_key("alerts", "ca_file", MARGAY_AT(sinks.ca_file), "a path, or \"\" for the system's",
               "File with trusted certificates (PEM) for https, for both."),
      bool_key("alerts", "journal", MARGAY_AT(sinks.journal),
               "Write each alert to the systemd journal, with fields: journalctl -t margay, journalctl "
               "MARGAY_ALERT_KIND=stall."),
      duration_key("alerts", "time_limit", MARGAY_AT(sinks.time_limit), milliseconds(100), seconds(600),
                   "Time limit for one attempt to send. A command that takes longer is killed."),
      duration_key("alerts", "retry_for", MARGAY_AT(sinks.retry_for), DurationNs(0), seconds(86'400),
                   "If sending fails, try again for this long after the alert came: first after half a "
                   "second, then less often, at least each minute. After that the alert is given up for that "
                   "receiver and counted (alerts_not_sent); the archive has it."),
      duration_key("alerts", "update_every", MARGAY_AT(updates.every), DurationNs(0), seconds(86'400),
                   "Send an update when a firing alert changes (blames or affects others, becomes twice as "
                   "strong or half as strong), at most this often. 0: never."),
      duration_key(
          "alerts", "persistent_after", MARGAY_AT(updates.persistent_after), DurationNs(0),
          seconds(30 * 86'400),
          "Mark an alert persistent, and send an update, after it has fired for this long. 0: never."),
  };
}

}  // namespace margay::config
