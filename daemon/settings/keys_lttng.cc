// The keys of [lttng].
#include "key_builders.h"

namespace margay::config {
namespace {

// net://HOST[:PORT], and perhaps /host/HOSTNAME/SESSION. What the last two match is seen when they are looked
// for.
bool is_relay_url(const std::string& url) {
  constexpr std::string_view kScheme = "net://";
  if (!url.starts_with(kScheme) || url.size() > 1024) return false;
  if (!std::all_of(url.begin(), url.end(), [](unsigned char c) { return c > 0x20 && c < 0x7f; }))
    return false;
  const std::string_view rest = std::string_view(url).substr(kScheme.size());
  const std::size_t slash = rest.find('/');
  const std::string_view place = rest.substr(0, slash);
  if (place.empty() || place.front() == ':') return false;
  if (slash == std::string_view::npos) return true;
  std::string_view path = rest.substr(slash);
  constexpr std::string_view kHost = "/host/";
  if (!path.starts_with(kHost)) return false;
  path.remove_prefix(kHost.size());
  const std::size_t split = path.find('/');
  return split != std::string_view::npos && split > 0 && split + 1 < path.size() &&
         path.find('/', split + 1) == std::string_view::npos;
}

}  // namespace

std::vector<Key> lttng_keys() {
  return {
      size_key("lttng", "sub_buffer", MARGAY_AT(lttng.sub_buffer_bytes), SizeBytes{std::uint64_t{16} << 10},
               mebibytes(1024),
               "Size of one buffer of a CPU, into which programs write; a power of two. If all are full "
               "LTTng discards events and counts them; the program never waits."),
      count_key("lttng", "sub_buffers", MARGAY_AT(lttng.sub_buffers), 2, 1024,
                "Number of buffers of each CPU."),
      size_key("lttng", "memory", MARGAY_AT(lttng.memory_bytes), mebibytes(1), mebibytes(65536),
               "Memory for the buffers of all CPUs; buffers are made smaller until they fit."),
      size_key("lttng", "disk", MARGAY_AT(lttng.disk_bytes), mebibytes(16), mebibytes(1u << 20),
               "Space on the relay daemon's disk for events that are not read yet, for `margay run --lttng`. "
               "Beyond that the oldest are overwritten, and counted."),
      duration_key("lttng", "live_timer", MARGAY_AT(lttng.live_timer), milliseconds(10), seconds(10),
                   "How often the buffers are flushed. An event is in the model half of this time later on "
                   "average, seldom more than one and a half of it."),
      list_key("lttng", "sessions", MARGAY_AT(lttng.sessions), is_relay_url,
               "a list of at most 64 of net://HOST[:PORT] or net://HOST[:PORT]/host/HOSTNAME/SESSION",
               "Live sessions to read, of relay daemons on this or other machines; HOSTNAME and SESSION may "
               "contain * and ?. Sessions that begin later are found within 2 s. At most 16 at a time."),
      list_key(
          "lttng", "rules", MARGAY_AT(lttng.rules),
          [](const std::string& file) { return !file.empty() && file.size() <= 4096; },
          "a list of at most 64 files",
          "Files of rules that say what events mean (collector/readers/lttng/rules/RULES.md); they go before "
          "the shipped rules."),
  };
}

}  // namespace margay::config
