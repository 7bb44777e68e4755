// The whole of Margay in one thread, from one seed: ranks, agents, the network between, a daemon and its
// disk. A step is some milliseconds. Anything may be killed at any step, and is started again.
//
// After each step it is checked that every record is in its place: of each source,
// produced = modelled + probe_dropped + in_flight (and, of agents that were killed, wire_lost), and that the
// cells that are held are those of the plain reference slicer for the records taken so far. After each
// restart the same is checked of everything in the archive.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "agent.h"
#include "daemon.h"
#include "faulty_link.h"
#include "job.h"

namespace margay::simulation {

struct Plan {
  std::size_t agents = 2, ranks_each = 2;
  DurationNs lasts = seconds(6);
  DurationNs quiet = milliseconds(300);  // all ranks begin in its second half
  LinkFaults network;
  bool overflow = false;  // of rings
  // Once in so many steps; 0: never.
  std::uint64_t daemon_killed = 0;        // between two steps
  std::uint64_t killed_amid_a_write = 0;  // at some call of the disk soon
  std::uint64_t killed_at_the_end = 0;    // likewise, while it closes the books, for a second
  std::uint64_t agent_killed = 0;         // with what it has not delivered
  std::uint64_t power_lost = 0;
  std::uint64_t disk_fails = 0;  // for some calls
  std::uint64_t slow_disk = 0;   // does not take the cut now
};

class World {
 public:
  // `place`: a directory for the archive.
  World(std::uint64_t seed, const Plan& plan, const std::string& place);

  // To the end of the run, or to the first thing that is wrong, which is a failure of the test.
  void run();
  std::uint64_t kills() const { return kills_; }
  std::uint64_t lost() const { return lost_; }  // records of agents that were killed
  std::uint64_t records() const;

 private:
  void step();
  void carry();
  void faults();
  void start();
  void kill(bool power);
  void check();
  void check_accounts(const Rank& rank, const ingest::Account& account);
  void check_rows();
  void check_held(LeafIndex leaf, const Rank& rank);
  void check_report();
  void check_archive();
  void check_end();
  void check_journal(const store::Archive& archive);
  void check_replay(const store::Archive& archive, const store::Resume& resume);
  const Rank* rank_of(SourceId source) const;
  daemon::Options options() const;
  std::string status() const;
  bool wrong(const std::string& what) const;

  const std::uint64_t seed_;
  const Plan plan_;
  const std::string place_;
  Random random_;
  HandClock clock_;
  std::shared_ptr<FaultyFiles> files_ = std::make_shared<FaultyFiles>();
  std::vector<std::unique_ptr<Rank>> ranks_;
  std::vector<Agent> agents_;
  std::vector<FaultyLink> to_daemon_, to_agent_;  // by agent
  std::unique_ptr<Daemon> daemon_;
  TimeNs begin_{}, next_start_{};
  TimeNs told_{};  // when the agents had got rid of everything; 0: not yet
  std::uint64_t step_ = 0, kills_ = 0, generation_ = 0, lost_ = 0;
};

}  // namespace margay::simulation
