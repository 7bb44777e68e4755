// Key files of daemons and clients: what is accepted holds only keys, names and roles, within its bounds;
// what is refused is told with the file's name.
#include "margay/transport/keys.h"

#include <algorithm>

#include "fuzz.h"

using namespace margay::transport;

namespace {

void check_error(const margay::Error& e) {
  FUZZ_CHECK(e.message.starts_with("file:"), "an error names the file");
  FUZZ_CHECK(e.message.size() < 512, "an error is a sentence");
}
bool is_fit_name(const std::string& s) {
  return !s.empty() && s.size() <= 64 && s.find('/') == std::string::npos &&
         s.find('\0') == std::string::npos && s[0] != '.';
}
bool are_keys(const std::vector<std::string>& keys, std::size_t most) {
  return !keys.empty() && keys.size() <= most &&
         std::all_of(keys.begin(), keys.end(), [](const std::string& k) { return is_key(k); });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = margay::fuzz::text_of(data, size);
  if (const auto pair = parse_server_key_untrusted(text, "file"))
    FUZZ_CHECK(is_key(pair->public_key) && is_key(pair->secret_key), "a pair is two keys");
  else
    check_error(pair.error());
  if (const auto client = parse_client_key_untrusted(text, "file")) {
    FUZZ_CHECK(is_fit_name(client->name), "a name can be a file's");
    FUZZ_CHECK(is_key(client->pair.public_key) && is_key(client->pair.secret_key), "a pair is two keys");
    FUZZ_CHECK(are_keys(client->servers, kMostServerKeys), "a daemon has a bounded number of keys");
  } else {
    check_error(client.error());
  }
  if (const auto a = parse_authorized_untrusted(text, "file")) {
    FUZZ_CHECK(is_fit_name(a->name), "a name can be a file's");
    FUZZ_CHECK(are_keys(a->keys, kMostKeysOfClient), "a client has a bounded number of keys");
    for (const std::string& key : a->keys) FUZZ_CHECK(fingerprint(key) != "?", "a key can be compared");
  } else {
    check_error(a.error());
  }
  return 0;
}
