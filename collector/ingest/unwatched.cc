#include "margay/ingest/unwatched.h"

#include <algorithm>

#include "margay/base/text.h"

namespace margay::ingest {
namespace {

constexpr std::size_t kLongestNode = 512;

const char* reason_text(std::size_t reason, bool one) {
  switch (reason) {
    case wire::Unwatched::NO_SEGMENT:
      return "got no shared memory for events";
    case wire::Unwatched::TOO_MANY:
      return one ? "is beyond what an agent watches" : "are beyond what an agent watches";
    case wire::Unwatched::NO_DESCRIPTOR:
      return one ? "found the agent without a file descriptor or memory for it"
                 : "found the agent without file descriptors or memory for them";
    case wire::Unwatched::UNREADABLE:
      return one ? "has no segment of this version and user" : "have no segment of this version and user";
    case wire::Unwatched::GIVEN_UP:
      return one ? "had its shared memory cut short or written over"
                 : "had their shared memory cut short or written over";
    default:
      return one ? "did not come to an end with its segment" : "did not come to an end with their segments";
  }
}

}  // namespace

bool Unwatched::take_untrusted(const wire::NodeAccount& account, const std::string& agent) {
  const std::string node = clean_utf8(account.node(), kLongestNode);
  if (!nodes_.contains(node) && nodes_.size() >= kMostNodes) return false;
  Node& n = nodes_[node];
  std::array<std::uint64_t, kReasons> processes{};
  for (const wire::Unwatched& u : account.unwatched()) {
    const auto reason = u.reason() >= 0 && u.reason() < static_cast<int>(kReasons) ? u.reason() : 0;
    processes[static_cast<std::size_t>(reason)] =
        std::min(processes[static_cast<std::size_t>(reason)] + std::min(u.processes(), kMostProcesses),
                 kMostProcesses);
  }
  n.processes = processes;
  n.agent = agent;
  n.number = account.number();
  n.version = ++version_;
  return true;
}

std::vector<std::pair<std::string, std::uint64_t>> Unwatched::committed(std::uint64_t version) {
  std::vector<std::pair<std::string, std::uint64_t>> told;
  for (auto& [node, n] : nodes_)
    if (!n.agent.empty() && n.version <= version) {
      told.emplace_back(n.agent, n.number);
      n.agent.clear();
    }
  return told;
}

std::array<std::uint64_t, Unwatched::kReasons> Unwatched::sum() const {
  std::array<std::uint64_t, kReasons> all{};
  for (const auto& [node, n] : nodes_)
    for (std::size_t i = 0; i < kReasons; ++i) all[i] += n.processes[i];
  return all;
}

std::uint64_t Unwatched::processes() const {
  std::uint64_t n = 0;
  for (const std::uint64_t of_reason : sum()) n += of_reason;
  return n;
}

std::uint64_t Unwatched::given_up() const {
  return sum()[wire::Unwatched::GIVEN_UP];
}

std::string Unwatched::why() const {
  std::string text;
  const auto all = sum();
  for (std::size_t i = 0; i < kReasons; ++i)
    if (all[i] > 0) text += (text.empty() ? "" : ", ") + grouped(all[i]) + " " + reason_text(i, all[i] == 1);
  return text;
}

std::string Unwatched::encode() const {
  wire::NodeAccounts all;
  for (const auto& [node, n] : nodes_) {
    wire::NodeAccount& account = *all.add_accounts();
    account.set_node(node);
    for (std::size_t i = 0; i < kReasons; ++i) {
      if (n.processes[i] == 0) continue;
      wire::Unwatched& u = *account.add_unwatched();
      u.set_reason(static_cast<wire::Unwatched::Reason>(i));
      u.set_processes(n.processes[i]);
    }
  }
  return all.SerializeAsString();
}

Result<Unwatched> Unwatched::decode_untrusted(std::string_view bytes) {
  wire::NodeAccounts all;
  if (!all.ParseFromArray(bytes.data(), static_cast<int>(std::min<std::size_t>(bytes.size(), 16 << 20))))
    return fail(ErrorCode::kCorrupt, "what was not watched does not decode");
  Unwatched out;
  for (const wire::NodeAccount& account : all.accounts()) static_cast<void>(out.take_untrusted(account, ""));
  return out;
}

}  // namespace margay::ingest
