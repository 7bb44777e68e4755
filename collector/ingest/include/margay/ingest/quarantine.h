// Meets exceptions amid a message (no memory, an error of ours): they cost that message, and no more.
//
// Thread safety: none.
#pragma once

#include <exception>
#include <new>
#include <string>

#include "margay/ingest/message_counters.h"

namespace margay::ingest {

class Quarantine {
 public:
  explicit Quarantine(MessageCounters& counters) : counters_(counters) {}

  void begin_message() { trouble_.clear(); }
  // False: it threw; counted once a message. What is left undone of the part is for the caller to put right.
  template <class Part>
  bool survives(Part&& part) {
    try {
      part();
      return true;
    } catch (const std::exception& e) {
      note(e);
    }
    return false;
  }
  // Why the message is to be looked into by a person (an exception's text), or "".
  const std::string& trouble() const { return trouble_; }

 private:
  void note(const std::exception& e) noexcept;

  MessageCounters& counters_;
  std::string trouble_;
};

}  // namespace margay::ingest
