// Ingest: messages of node agents in, events to the slicer, acknowledgements out. No socket, no clock, no
// thread.
//
// Promise to the slicer: the records of a stream arrive once each and in order; a hole in the ordinals is
// either filled by a re-send or, once it cannot be any more (a new epoch, or waited too long), told as a gap
// and counted. Promise to the sources: what is acknowledged was in a committed cut.
//
// Here the parts are put together, and each message is taken apart for them: Delivery takes records,
// HelloReceiver and GoodbyeReceiver what sources say of themselves, ProcessSamples what nodes do.
//
// Every message is untrusted: checked, bounded, counted, and a bad one costs its sender only itself.
// Cost: one pass over the records of a batch. Thread safety: none.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "margay/ingest/acknowledgements.h"
#include "margay/ingest/agent_table.h"
#include "margay/ingest/authority.h"
#include "margay/ingest/clock_table.h"
#include "margay/ingest/coverage.h"
#include "margay/ingest/delivery.h"
#include "margay/ingest/goodbye.h"
#include "margay/ingest/hello.h"
#include "margay/ingest/leaf_table.h"
#include "margay/ingest/names.h"
#include "margay/ingest/options.h"
#include "margay/ingest/process_samples.h"
#include "margay/ingest/quarantine.h"
#include "margay/ingest/quota.h"
#include "margay/ingest/raw_records.h"
#include "margay/ingest/reader_accounts.h"
#include "margay/ingest/record_taker.h"
#include "margay/ingest/replies.h"
#include "margay/ingest/source_table.h"
#include "margay/ingest/unwatched.h"

namespace margay::ingest {

class Ingest {
 public:
  // The slicer and the table of states outlive it.
  Ingest(Options options, slicer::Slicer& slicer, model::StateTable& states);
  Ingest(const Ingest&) = delete;
  Ingest& operator=(const Ingest&) = delete;

  // An exception amid a message (no memory, an error of ours) costs that message, and no more: what it held
  // of records is rejected, and confirmed as such, so that it does not come again; counted as quarantined.
  //
  // A message from the agent with this routing id. `now` is this host's monotonic time. `owner`: whose word
  // it is, as whoever let it in knows (owner_of_key()); nothing in the message can change that.
  void receive(std::string_view bytes, const std::string& agent, TimeNs now,
               const std::string& owner = kLocalOwner);
  // Time passes: silence, gaps given up.
  void tick(TimeNs now);

  // Every live source is covered to here, or has been silent for too long (a bounded wait).
  TimeNs watermark(TimeNs now) const { return coverage_.watermark(now); }
  // This process was away (restarted, or stopped) and what sources sent meanwhile is still on its way: until
  // `until`, or until all have caught up, silence is not held against them.
  void catch_up(TimeNs until) { coverage_.catch_up(until); }

  // What streams have promised is filled in up to `until` at most: call it before slices up to there close,
  // for the slicer fills in what is near only. Cost: O(streams).
  void fill_promises(TimeNs until) { coverage_.fill_promises(until); }
  // The latest promise of any live source: up to there somebody has watched.
  TimeNs promised() const { return coverage_.promised(); }
  // Does the leaf's source promise that nothing has happened before `t`?
  bool is_promised(LeafIndex leaf, TimeNs t) const { return coverage_.is_promised(leaf, t); }
  // After restore(): sources of the former boot of this machine cannot come back. They end where they were
  // modelled to; what they had recorded and not sent is wire_lost. Returns their leaves.
  std::vector<LeafIndex> end_former_boot();

  // What stands in the cut that is being made now, to be sent when it is committed.
  AckPoint ack_point() const { return acknowledgements_.point(); }
  void committed(const AckPoint& point) { acknowledgements_.committed(point); }
  // Messages to agents: (routing id, message).
  // Questions for clocks carry `now`: send them at once.
  std::vector<std::pair<std::string, wire::ToAgent>> take_replies(TimeNs now);
  // Tells every agent that the run is over.
  void finish();

  // Whether sources have said goodbye since take_goodbyes() was last called: they wait for a cut that holds
  // it.
  bool goodbyes_came() const { return goodbyes_.came(); }
  bool take_goodbyes() { return goodbyes_.take_came(); }

  // What agents could not look at. Their accounts are acknowledged when a cut that holds them is committed.
  const Unwatched& unwatched() const { return unwatched_; }
  void restore_unwatched(Unwatched unwatched) { unwatched_ = std::move(unwatched); }
  void unwatched_committed(std::uint64_t version);

  // All sources have said goodbye and every record is accounted for.
  bool all_ended() const;
  const std::map<SourceId, Source>& sources() const { return sources_.all(); }
  std::map<SourceId, Source>& sources() { return sources_.all(); }
  // By leaf: of the sources that feed it, and of those that did.
  std::vector<Account> accounts() const { return sources_.accounts(leaves_.size()); }
  Account account(LeafIndex leaf) const { return accounts()[leaf.value]; }
  // Sources that have made room since the last call, and the counters of their leaves: the next cut must hold
  // both, or neither.
  Forgotten take_forgotten() { return sources_.take_forgotten(); }
  const std::vector<model::Attributes>& leaves() const { return leaves_.attributes(); }
  // Whose sources may feed each leaf; "": an archive of an older version did not tell.
  const std::vector<std::string>& leaf_keepers() const { return leaves_.keepers(); }
  // Why the message that was received last is to be looked into by a person (an exception's text), or "".
  const std::string& trouble() const { return quarantine_.trouble(); }
  // The newest of those that were turned away since the last call, a few.
  std::vector<Impostor> take_impostors() { return authority_.take_impostors(); }
  // (source, stream) that feeds each leaf now.
  const std::vector<LeafTable::Feeder>& leaf_owner() const { return leaves_.feeders(); }
  // Grows when a leaf joins, or says more of itself.
  std::uint64_t topology_version() const { return leaves_.version(); }
  const MessageCounters& counters() const { return counters_; }
  std::uint64_t text_bytes() const {
    return quota_.text_bytes();
  }  // Limits::text_bytes, of which so many are taken
  std::uint64_t steal_ns() const { return samples_.steal_ns(); }
  std::size_t agents() const { return agents_.all().size(); }  // heard of lately
  // The innermost named region that at least half of the live leaves are in; or "".
  std::string region() const;

  // Keeps the columns of accepted batches for take_accepted(), up to this many bytes (0: keeps none).
  void keep_raw(std::size_t bytes) { raw_.keep(bytes); }
  std::vector<AcceptedBatch> take_accepted() { return raw_.take(); }
  std::uint64_t raw_dropped() const { return raw_.dropped(); }  // records not archived for want of room

  // After a restart: sources as they were in the last cut, and the account of each leaf's former sources.
  void restore(std::vector<Source> sources, std::vector<model::Attributes> leaves,
               std::vector<LeafTable::Feeder> leaf_owner, std::vector<Account> former = {},
               std::vector<std::string> leaf_keepers = {});

 private:
  void take_message(const Sender& from);
  void take_batch(const wire::EventBatch& batch, const Sender& from);

  const Options options_;
  slicer::Slicer& slicer_;
  MessageCounters counters_;
  Quota quota_;
  SourceTable sources_;
  LeafTable leaves_;
  Replies replies_;
  AgentTable agents_;
  Authority authority_;
  ClockTable clocks_;
  Names names_;
  HelloReceiver hellos_;
  RawRecords raw_;
  RecordTaker records_;
  Delivery delivery_;
  GoodbyeReceiver goodbyes_;
  ProcessSamples samples_;
  ReaderAccounts readers_;
  Coverage coverage_;
  Acknowledgements acknowledgements_;
  Quarantine quarantine_;
  Unwatched unwatched_;
  bool finishing_ = false;
  TimeNs next_look_{};  // for what can be forgotten
  // Reused: parsing into it keeps its memory. Another one after an exception.
  std::unique_ptr<wire::ToCollector> message_ = std::make_unique<wire::ToCollector>();
};

}  // namespace margay::ingest
