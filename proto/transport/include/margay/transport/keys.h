// Who may reach a daemon from another machine: CURVE key pairs in text files.
//
//   DIR/                     the daemon's directory of keys, written by its owner alone
//     server.key             0600: the daemon's key pair
//     server.pub             its public half
//     server.next.key        0600: the pair it changes to (between `rotate --begin` and `rotate --finish`)
//     authorized/NAME        a client: its role and its public keys (two while they are changed over)
//   NAME.key                 0600, carried to the client: its pair, and the public keys a daemon may have
//
// Files are lines of "field value" under a first line that names kind and version; '#' begins a comment line.
// Keys are Z85 text of 40 characters. What is read is checked; errors name file and line. Writes are whole or
// not at all (a new file, renamed). Thread safety: pure functions, and functions on files.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "margay/base/result.h"

namespace margay::transport {

inline constexpr std::size_t kMostClients = 4096;     // in one directory
inline constexpr std::size_t kMostKeysOfClient = 2;   // the present one, and the next
inline constexpr std::size_t kMostServerKeys = 4;     // in a client's file
inline constexpr std::size_t kLargestKeyFile = 8192;  // bytes

enum class Role { kSource, kViewer, kOperator };
std::string_view to_string(Role role);
std::optional<Role> role_of(std::string_view name);

struct KeyPair {
  std::string public_key, secret_key;  // Z85
};
struct ClientKey {
  std::string name;
  Role role = Role::kSource;
  KeyPair pair;
  std::vector<std::string> servers;  // public keys of the daemon, tried in this order
};
struct Authorized {
  std::string name;
  Role role = Role::kSource;
  std::string created;            // 2026-11-20T12:00:00Z
  std::vector<std::string> keys;  // public, oldest first
};

bool is_key(std::string_view text);
// The first 80 bits of a public key, for people to compare: "3f2a-91bc-77de-0c4b-a1e9"; "?" if it is no key.
std::string fingerprint(const std::string& public_key);

// Text from outside. `file` stands for it in errors: "FILE:LINE: ...". Errors: kInvalidArgument, kVersion,
// kLimit.
Result<KeyPair> parse_server_key_untrusted(std::string_view text, const std::string& file);
Result<ClientKey> parse_client_key_untrusted(std::string_view text, const std::string& file);
Result<Authorized> parse_authorized_untrusted(std::string_view text, const std::string& file);

// Errors: kNotFound, kIo, and those above. Refused is what others can have written, as ssh's StrictModes has
// it: each file, and each directory above it from / down, belongs to us or to root and can be written by
// nobody else (a directory with the sticky bit, like /tmp, is accepted); and a secret that others can read.
Result<KeyPair> load_server_key(const std::string& dir);
Result<ClientKey> load_client_key(const std::string& file);
// Clients by name. Files that cannot be used go to `problems`: their clients stay outside.
Result<std::vector<Authorized>> load_authorized(const std::string& dir, std::vector<std::string>& problems);
// Another text when a key file was added, removed or written, or owner or mode of what lies above it changed.
std::string signature_of(const std::string& dir);

// ---- `margay keys`: what its owner does to a directory

Status init_keys(const std::string& dir);
// Makes and authorises a pair, and writes it to `file` for the client. kInvalidArgument when the name is
// taken.
Status add_client(const std::string& dir, const std::string& name, Role role, const std::string& file,
                  const std::string& created);
Status revoke_client(const std::string& dir, const std::string& name);
// A second key for a client, written to `file`; both are good until retire_client() drops the older one.
Status rotate_client(const std::string& dir, const std::string& name, const std::string& file);
Status retire_client(const std::string& dir, const std::string& name);
// Makes the daemon's next pair and returns its public key, which clients have to know (trust_server) before
// finish_server_rotation() lets the daemon change to it.
Result<std::string> begin_server_rotation(const std::string& dir);
Status finish_server_rotation(const std::string& dir);
// Adds a daemon's public key to a client's file.
Status trust_server(const std::string& file, const std::string& public_key);

}  // namespace margay::transport
