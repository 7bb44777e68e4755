// Who may speak for a source: its owner, and of its agents the one whose hello was the last.
//
// Promise: what another says in its name changes nothing, is counted, and told to whoever said it.
// Thread safety: none. Cost: O(log sources).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "margay/ingest/replies.h"
#include "margay/ingest/source_table.h"

namespace margay::ingest {

// Who spoke in the name of a source that is another's.
struct Impostor {
  std::string agent;  // routing id
  std::string owner;
  SourceId source{};
  std::string belongs_to;  // its owner
};

class Authority {
 public:
  static constexpr std::size_t kMostImpostors = 16;

  Authority(SourceTable& sources, Replies& replies, MessageCounters& counters)
      : sources_(sources), replies_(replies), counters_(counters) {}

  // `owner` "": an archive did not tell, and it is the first who comes.
  bool may_speak_for(SourceId id, std::string& owner, const Sender& from);
  // One that is not is asked for its hello: it may have been taken for replaced by what came late.
  bool is_speaker(const Source& source, const Sender& from);
  // The source is over and forgotten, but its agent has not heard that everything is confirmed: it is told
  // again, of the stream up to `next`. True if that is all there is to say.
  bool answer_for_forgotten(SourceId id, std::uint32_t epoch, std::uint32_t stream, std::uint64_t next,
                            const Sender& from);
  // The newest that were turned away since the last call, a few.
  std::vector<Impostor> take_impostors() { return std::exchange(impostors_, {}); }

 private:
  SourceTable& sources_;
  Replies& replies_;
  MessageCounters& counters_;
  std::vector<Impostor> impostors_;
};

}  // namespace margay::ingest
