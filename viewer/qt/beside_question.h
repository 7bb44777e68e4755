// A question about a stretch that is no picture. A daemon answers one waiting question about stretches a
// viewer, and those for the picture go first: so it is sent when nothing else is under way, and once more
// where it may have been lost. It has one token for who asked, and another one each time that it is sent: so
// a late answer to what was lost is not taken for one.
//
// Thread safety: none. Memory: one question.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "margay/wire/view.pb.h"

namespace margay::viewer {

class BesideQuestion {
 public:
  // In place of the one before. `token` is not 0, and is what done() says.
  void ask(wire::ViewQuestion question, std::uint64_t token);
  // There is one that is to be sent.
  bool waits() const { return question_ && sent_ == 0; }
  // It was sent, and neither answered nor lost.
  bool under_way() const { return question_ && sent_ != 0; }
  // The question as it goes out. REQUIRES: waits().
  wire::ViewQuestion send_as(std::uint64_t token);
  // What was sent may have been: it waits again.
  void lost() { sent_ = 0; }
  // It was sent as this, and is not lost.
  bool is(std::uint64_t token) const { return question_ && sent_ != 0 && token == sent_; }
  // It is answered, or refused: the token of who asked; nothing where there is no question.
  std::optional<std::uint64_t> done();

 private:
  std::optional<wire::ViewQuestion> question_;  // with the token of who asked
  std::uint64_t sent_ = 0;
};

}  // namespace margay::viewer
