// The processes that node agents could not look at, of all nodes: a term of the account of its own, in
// processes, for nobody knows what they did (wire::NodeAccount).
//
// Each node's newest account stands. What agents say is untrusted: bounded and cut. Thread safety: none.
// Cost: O(nodes).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "margay/base/result.h"
#include "margay/wire/ingest.pb.h"

namespace margay::ingest {

// The name of the value in the archive that keeps them (store: Cut::state).
inline constexpr const char* kUnwatchedBlob = "ingest.unwatched";

class Unwatched {
 public:
  static constexpr std::size_t kMostNodes = 4096;
  static constexpr std::uint64_t kMostProcesses = 1'000'000'000;  // that one word of a node counts

  // From the agent with this routing id. False: there are too many nodes.
  bool take_untrusted(const wire::NodeAccount& account, const std::string& agent);
  // Grows with each account that is taken and has not been before.
  std::uint64_t version() const { return version_; }
  // What was taken up to `version` is committed. Who is to be told, and of which account.
  std::vector<std::pair<std::string, std::uint64_t>> committed(std::uint64_t version);

  std::uint64_t processes() const;
  // Of them, those that are sources all the same: they were watched, but not to their end.
  std::uint64_t given_up() const;
  // Why, a clause: "2 got no shared memory, 1 is beyond what an agent watches"; "": there are none.
  std::string why() const;

  std::string encode() const;
  // Errors: kCorrupt.
  static Result<Unwatched> decode_untrusted(std::string_view bytes);

 private:
  static constexpr std::size_t kReasons = wire::Unwatched::Reason_ARRAYSIZE;
  struct Node {
    std::array<std::uint64_t, kReasons> processes{};
    std::string agent;         // to be told; "": nobody
    std::uint64_t number = 0;  // of its account
    std::uint64_t version = 0;
  };
  std::array<std::uint64_t, kReasons> sum() const;
  std::map<std::string, Node> nodes_;
  std::uint64_t version_ = 0;
};

}  // namespace margay::ingest
