// `margay keys`: the directory of keys of a daemon that listens on the network (proto/SECURITY.md).
#include <CLI/CLI.hpp>
#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>
#include <string>

#include "command.h"
#include "margay/transport/key_holders.h"

namespace margay::daemon {
namespace {

struct KeysRequest {
  CLI::App *init = nullptr, *add = nullptr, *ls = nullptr, *revoke = nullptr, *rotate = nullptr,
           *retire = nullptr, *trust = nullptr;
  std::string dir, name, role, out, key;
  bool json = false, begin = false, finish = false;
};

namespace t = margay::transport;

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  char text[32] = "";
  if (gmtime_r(&now, &utc) != nullptr) std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

int done(const Status& status, const std::string& sentence) {
  if (!status) {
    std::fprintf(stderr, "margay: %s\n", status.error().message.c_str());
    return status.error().code == ErrorCode::kNotFound ? 3 : 1;
  }
  std::printf("%s\n", sentence.c_str());
  return 0;
}

int list(const std::string& dir, bool json) {
  std::vector<std::string> problems;
  const auto clients = t::load_authorized(dir, problems);
  if (!clients) return done(tl::unexpected(clients.error()), "");
  static_cast<void>(t::holders_of(*clients, problems));
  auto all = nlohmann::json::array();
  for (const t::Authorized& a : *clients) {
    auto prints = nlohmann::json::array();
    std::string text;
    for (const std::string& key : a.keys) {
      prints.push_back(t::fingerprint(key));
      text += "  " + t::fingerprint(key);
    }
    all.push_back(
        {{"name", a.name}, {"role", t::to_string(a.role)}, {"created", a.created}, {"fingerprints", prints}});
    if (!json)
      std::printf("%-20s  %-8s  %s%s\n", a.name.c_str(), std::string(t::to_string(a.role)).c_str(),
                  a.created.c_str(), text.c_str());
  }
  if (json) std::printf("%s\n", all.dump(2).c_str());
  for (const std::string& p : problems) std::fprintf(stderr, "margay: %s\n", p.c_str());
  return problems.empty() ? 0 : 1;
}

int trust(const KeysRequest& r) {
  std::vector<std::string> keys = r.trust->remaining();
  if (!r.key.empty()) keys.push_back(r.key);
  if (keys.size() != 1) {
    std::fprintf(stderr, "margay: keys trust: expected the client's file and one key, in quotes: '...'\n");
    return 2;
  }
  return done(t::trust_server(r.dir, keys.front()), r.dir + ": that key of the daemon is trusted now");
}

void add_keys_command(CLI::App& command, KeysRequest& r) {
  command.description(
      R"(Decide who may reach a daemon from other machines: each client has a key and a role
(proto/SECURITY.md).

  margay keys init ~/margay-keys                       once
  margay keys add ~/margay-keys node7 --role source    writes node7.key; copy it to that node
  margay keys revoke ~/margay-keys node7               its connections are closed within a second

Exit code: 0; 3 if there is no such client; 2 if the call is wrong; 1 if it cannot be done.)");
  command.require_subcommand(1);
  const auto sub = [&](const char* name, const char* help, bool named) {
    auto* s = command.add_subcommand(name, help);
    s->add_option("dir", r.dir, "the daemon's key directory (listen.keys)")->required();
    if (named) s->add_option("name", r.name, "the client: letters, digits, '.', '-', '_'")->required();
    return s;
  };
  r.init = sub("init", "Make the key directory and the daemon's own key.\n\n  margay keys init ~/margay-keys",
               false);
  r.add = sub(
      "add",
      "Make a key for a client and authorize it. Copy the file to the client, readable only by its user.\n\n"
      "  margay keys add ~/margay-keys node7 --role source",
      true);
  r.add
      ->add_option("--role", r.role,
                   "source: sends events; viewer: watches; operator: watches, acknowledges and silences "
                   "alerts, may end the run")
      ->type_name("ROLE")
      ->required()
      ->check(CLI::IsMember({"source", "viewer", "operator"}));
  r.add->add_option("--out", r.out, "the client's file (default: NAME.key here)")->type_name("FILE");
  r.ls = sub("ls",
             "List the authorized clients: name, role, date, fingerprints of their keys.\n\n"
             "  margay keys ls ~/margay-keys",
             false);
  r.ls->add_flag("--json", r.json, "print JSON, for programs");
  r.revoke = sub("revoke",
                 "Remove a client's authorization. Its connections are closed within a second.\n\n"
                 "  margay keys revoke ~/margay-keys node7",
                 true);
  r.rotate = command.add_subcommand("rotate",
                                    R"(Replace a key without an interruption: a client's, or the daemon's own.

  margay keys rotate ~/margay-keys node7         a second key; copy node7.key to node7, then:
  margay keys retire ~/margay-keys node7         from now on only the new one is valid
  margay keys rotate ~/margay-keys --begin       prints the daemon's next key; clients must trust it
  margay keys rotate ~/margay-keys --finish      the daemon uses it from now on)");
  r.rotate->add_option("dir", r.dir, "the daemon's key directory (listen.keys)")->required();
  r.rotate->add_option("name", r.name, "the client (none: the daemon's key, with --begin or --finish)");
  r.rotate->add_option("--out", r.out, "the client's new file (default: NAME.key here)")->type_name("FILE");
  auto* begin =
      r.rotate->add_flag("--begin", r.begin, "make the daemon's next key and print its public half");
  r.rotate->add_flag("--finish", r.finish, "use the daemon's next key from now on")->excludes(begin);
  r.retire = sub(
      "retire", "Remove the older of a client's two keys.\n\n  margay keys retire ~/margay-keys node7", true);
  r.trust =
      command.add_subcommand("trust",
                             "Add the daemon's next public key to a client's file; run it on the client.\n\n"
                             "  margay keys trust node7.key 'KEY'");
  r.trust->add_option("file", r.dir, "the client's file")->required();
  r.trust->add_option("key", r.key, "what `margay keys rotate DIR --begin` printed, in '...' for the shell");
  // A key may begin with '-', and is none of the options then.
  r.trust->set_help_flag("--help", "this page");
  r.trust->allow_extras();
}

// The exit code; what went wrong is said on stderr. REQUIRES: the request was parsed.
int keys_command(const KeysRequest& r) {
  const std::string file = r.out.empty() ? r.name + ".key" : r.out;
  const std::string carry = file + ": copy it to the client, readable only by its user";
  if (r.init->parsed()) return done(t::init_keys(r.dir), r.dir + ": the daemon's key is made");
  if (r.add->parsed()) return done(t::add_client(r.dir, r.name, *t::role_of(r.role), file, utc_now()), carry);
  if (r.ls->parsed()) return list(r.dir, r.json);
  if (r.revoke->parsed())
    return done(t::revoke_client(r.dir, r.name), r.name + " is not authorized any more");
  if (r.retire->parsed())
    return done(t::retire_client(r.dir, r.name), "the older key of " + r.name + " is not valid any more");
  if (r.trust->parsed()) return trust(r);
  if (!r.name.empty() && !r.begin && !r.finish) return done(t::rotate_client(r.dir, r.name, file), carry);
  if (r.name.empty() && r.begin) {
    const auto key = t::begin_server_rotation(r.dir);
    return done(key ? Status() : Status(tl::unexpected(key.error())), key ? *key : "");
  }
  if (r.name.empty() && r.finish)
    return done(t::finish_server_rotation(r.dir), "the daemon uses its next key from now on");
  std::fprintf(
      stderr,
      "margay: keys rotate: give the name of a client, or --begin or --finish for the daemon's key\n");
  return 2;
}

}  // namespace

Declare declare_keys() {
  return declare(add_keys_command, keys_command);
}

}  // namespace margay::daemon
