// A node agent of the simulation: the real outbox, and rings in the place of shared memory. What it has
// drained and not delivered dies with it; the rings do not.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "job.h"
#include "margay/node/outbox.h"

namespace margay::simulation {

class Agent {
 public:
  // It watches these ranks, which outlive it.
  Agent(std::uint64_t number, std::string boot, std::vector<Rank*> ranks);

  // Drains the rings, as far as there is room, and sends what is due. True: it wants another connection, and
  // what is on its way on this one is thrown away.
  bool step(TimeNs now, const node::Outbox::Send& send);
  void hear(const wire::ToAgent& reply, TimeNs now) { outbox_->on_reply_untrusted(reply, now); }
  // Killed, and started again: another agent to the daemon.
  void restart();
  // Everything was told, and acknowledged.
  bool done() const;

 private:
  struct Ring {
    Rank* rank;
    std::uint64_t drained = 0;  // records
    std::size_t names = 0;      // told
    bool goodbye = false;
  };
  void drain(Ring& ring, TimeNs now);

  const std::uint64_t number_;
  const std::string boot_;
  std::uint32_t epoch_ = 1;
  std::vector<Ring> rings_;
  std::unique_ptr<node::Outbox> outbox_;
};

}  // namespace margay::simulation
