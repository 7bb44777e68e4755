// Ingest: messages of node agents in, events to the slicer, acknowledgements out. No socket, no clock, no
// thread.
//
// Promise to the slicer: the records of a stream arrive once each and in order; a hole in the ordinals is
// either filled by a re-send or, once it cannot be any more (a new epoch, or waited too long), told as a gap
// and counted. Promise to the sources: what is acknowledged was in a committed cut.
//
//   ordinal == next   accepted
//   ordinal <  next   a repeat: the part known already is skipped
//   ordinal >  next   pending: nothing is taken and nothing promised until the hole is filled or given up
//
// Every message is untrusted: checked, bounded, counted, and a bad one costs its sender only itself.
// Cost: one pass over the records of a batch. Thread safety: none.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "margay/base/record.h"
#include "margay/ingest/source_registry.h"
#include "margay/ingest/unwatched.h"
#include "margay/slicer/slicer.h"
#include "margay/wire/columns.h"

namespace margay::ingest {

struct Options {
  std::string run;
  std::string boot_id;         // of this host: sources with the same share its clock
  std::string former_boot_id;  // of this host when the run was watched last, if it was started anew since
  DurationNs clock_offset{};   // trace time less this host's CLOCK_MONOTONIC
  DurationNs lateness = milliseconds(10);
  DurationNs silence_hold = milliseconds(200);  // how long a silent source holds the watermark
  DurationNs behind_hold = seconds(10);         // one that is heard, and whose records are on their way
  DurationNs untold_hold =
      seconds(2);  // of behind_hold, for a GAP or goodbye to tell where records were dropped
  DurationNs silent_after = seconds(1);
  DurationNs lost_after = seconds(10);
  DurationNs give_up_gap = seconds(10);
  DurationNs forget_after = seconds(60);   // silence after which what has ended is forgotten
  DurationNs clock_patience = seconds(5);  // for the first answer of another machine's clock
  DurationNs future = seconds(1);          // records later than now plus this are rejected
  DurationNs slice{};                      // the finest; 0: agents are not told, and nothing is summed
  double record_budget = 0;                // of a node's cores, for recording (wire::Slices)
  std::uint64_t instance = 0;              // of this collector; another one makes agents say hello again
  Limits limits;
  slicer::Operator op;  // the slicer's
  // For tests: called before the records of a batch are taken; what it throws is met as an error of our own.
  std::function<void(const wire::EventBatch&)> fault;
};

// Counters of what happened to messages, not to events (those are in the accounts).
struct MessageCounters {
  std::uint64_t messages = 0;
  std::uint64_t undecodable = 0;  // not a message of this protocol
  std::uint64_t wrong_version = 0;
  std::uint64_t wrong_run = 0;
  std::uint64_t bad_batches = 0;   // columns that do not decode
  std::uint64_t repeats = 0;       // records that had been accepted already
  std::uint64_t gaps_pending = 0;  // batches put off because something before them was missing
  std::uint64_t room_waits = 0;    // batches put off, as a whole or from a record on: later than can be held
  std::uint64_t gaps_given_up = 0;
  std::uint64_t unknown_source = 0;     // batches of sources that had not said hello, or not with all names
  std::uint64_t refused_by_limit = 0;   // messages, sources, streams or names over the limits
  std::uint64_t amended_events = 0;     // late events that changed a closed slice
  std::uint64_t sources_forgotten = 0;  // ended, confirmed, and silent since: their counters stay
  std::uint64_t ghosts_forgotten = 0;   // said hello, never sent a record, and went away
  std::uint64_t agents_forgotten = 0;   // not heard of for long, or made way for another
  std::uint64_t sources_silenced = 0;   // became silent
  std::uint64_t sources_returned = 0;   // and were heard again
  std::uint64_t clock_waits = 0;        // batches put off until the clock of their machine is known
  std::uint64_t clock_steps = 0;        // jumps of another machine's clock
  std::uint64_t clock_refused = 0;      // answers to a question that nobody asked, or that cannot be
  std::uint64_t not_theirs = 0;      // messages in the name of a source, or of one's sample, of another owner
  std::uint64_t claims_refused = 0;  // batches and goodbyes with numbers that cannot be
  std::uint64_t quarantined = 0;     // messages amid which an error of our own was met
  std::uint64_t clock_backwards = 0;
  std::uint64_t unbalanced = 0;     // leaves of states that were not open
  std::uint64_t summed_before = 0;  // events that sources summed which are forgotten
  // Of readers (wire::ReaderAccount), all together.
  struct Readers {
    std::uint64_t seen = 0, used = 0, ignored = 0, unmatched = 0, unbalanced = 0, too_deep = 0, left_out = 0,
                  discarded = 0;
  } readers;
};

// Accepted records, for the archive of raw events.
struct AcceptedBatch {
  LeafIndex leaf{};
  SourceId source{};
  std::uint64_t first = 0;
  TimeNs begin{}, end{};
  std::uint32_t count = 0;
  std::string columns;
};

// Who spoke in the name of a source that is another's.
struct Impostor {
  std::string agent;  // routing id
  std::string owner;
  SourceId source{};
  std::string belongs_to;  // its owner
};

// How far each stream is in a cut; acknowledged once the cut is committed.
using AckPoint = std::vector<std::pair<std::string, wire::StreamAck>>;

class Ingest {
 public:
  Ingest(Options options, slicer::Slicer& slicer, model::StateTable& states);

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
  TimeNs watermark(TimeNs now) const;
  // This process was away (restarted, or stopped) and what sources sent meanwhile is still on its way: until
  // `until`, or until all have caught up, silence is not held against them.
  void catch_up(TimeNs until) { catch_up_until_ = std::max(catch_up_until_, until); }

  // What streams have promised is filled in up to `until` at most: call it before slices up to there close,
  // for the slicer fills in what is near only. Cost: O(streams).
  void fill_promises(TimeNs until);
  // The latest promise of any live source: up to there somebody has watched.
  TimeNs promised() const;
  // Does the leaf's source promise that nothing has happened before `t`?
  bool is_promised(LeafIndex leaf, TimeNs t) const;
  // After restore(): sources of the former boot of this machine cannot come back. They end where they were
  // modelled to; what they had recorded and not sent is wire_lost. Returns their leaves.
  std::vector<LeafIndex> end_former_boot();

  // What stands in the cut that is being made now, to be sent when it is committed.
  AckPoint ack_point() const;
  void committed(const AckPoint& point);
  // Messages to agents: (routing id, message).
  // Questions for clocks carry `now`: send them at once.
  std::vector<std::pair<std::string, wire::ToAgent>> take_replies(TimeNs now);
  // Tells every agent that the run is over.
  void finish();

  // Whether sources have said goodbye since take_goodbyes() was last called: they wait for a cut that holds
  // it.
  bool goodbyes_came() const { return goodbyes_came_; }
  bool take_goodbyes() { return std::exchange(goodbyes_came_, false); }

  // What agents could not look at. Their accounts are acknowledged when a cut that holds them is committed.
  const Unwatched& unwatched() const { return unwatched_; }
  void restore_unwatched(Unwatched unwatched) { unwatched_ = std::move(unwatched); }
  void unwatched_committed(std::uint64_t version);

  // All sources have said goodbye and every record is accounted for.
  bool all_ended() const;
  const std::map<SourceId, Source>& sources() const { return sources_; }
  std::map<SourceId, Source>& sources() { return sources_; }
  // By leaf: of the sources that feed it, and of those that did.
  std::vector<Account> accounts() const;
  Account account(LeafIndex leaf) const;
  // Sources that have made room since the last call, and the counters of their leaves: the next cut must hold
  // both, or neither.
  struct Forgotten {
    std::map<SourceId, std::vector<std::uint32_t>> sources;  // and their streams
    std::map<LeafIndex, Account> former;                     // by leaf, all of its forgotten sources so far
  };
  Forgotten take_forgotten() { return std::exchange(forgotten_, {}); }
  const std::vector<model::Attributes>& leaves() const { return leaves_; }
  // Whose sources may feed each leaf; "": an archive of an older version did not tell.
  const std::vector<std::string>& leaf_keepers() const { return leaf_keepers_; }
  // Why the message that was received last is to be looked into by a person (an exception's text), or "".
  const std::string& trouble() const { return trouble_; }
  // The newest of those that were turned away since the last call, a few.
  std::vector<Impostor> take_impostors() { return std::exchange(impostors_, {}); }
  // (source, stream) that feeds each leaf now.
  const std::vector<std::pair<SourceId, std::uint32_t>>& leaf_owner() const { return leaf_owner_; }
  // Grows when a leaf joins, or says more of itself.
  std::uint64_t topology_version() const { return topology_version_; }
  const MessageCounters& counters() const { return counters_; }
  std::uint64_t text_bytes() const { return text_bytes_; }  // Limits::text_bytes, of which so many are taken
  std::uint64_t steal_ns() const { return steal_ns_; }
  std::size_t agents() const { return agents_.size(); }  // heard of lately
  // The innermost named region that at least half of the live leaves are in; or "".
  std::string region() const;

  // Keeps the columns of accepted batches for take_accepted(), up to this many bytes (0: keeps none).
  void keep_raw(std::size_t bytes) { raw_limit_ = bytes; }
  std::vector<AcceptedBatch> take_accepted();
  std::uint64_t raw_dropped() const { return raw_dropped_; }  // records not archived for want of room

  // After a restart: sources as they were in the last cut, and the account of each leaf's former sources.
  void restore(std::vector<Source> sources, std::vector<model::Attributes> leaves,
               std::vector<std::pair<SourceId, std::uint32_t>> leaf_owner, std::vector<Account> former = {},
               std::vector<std::string> leaf_keepers = {});

 private:
  void on_hello(const wire::Hello& hello, const std::string& agent, TimeNs now);
  void on_batch(const wire::EventBatch& batch, const std::string& agent, TimeNs now);
  void on_goodbye(const wire::Goodbye& goodbye, const std::string& agent, TimeNs now);
  void on_node_sample(const wire::NodeSample& sample, const std::string& agent, TimeNs now);
  void observe_threads(const wire::ProcessSample& process, Source& source, TimeNs at,
                       const model::NodeEvidence& of_process);
  void on_takers(const wire::ProcessSample& process, const Source& source, TimeNs at);
  Stream* stream_of(Source& source, std::uint32_t index, const std::string& name);
  bool names_missing(Source& source, std::size_t skip, TimeNs now) const;
  bool take_batch(const wire::EventBatch& batch, Source& source, Stream& stream, std::size_t skip,
                  const std::string& agent, TimeNs now);
  std::size_t take_records(const wire::EventBatch& batch, Source& source, Stream& stream, std::size_t skip,
                           TimeNs now);
  void keep_raw(const wire::EventBatch& batch, const Source& source, const Stream& stream, std::size_t skip,
                std::size_t until, TimeNs now);
  void ask_for_records(TimeNs now);
  void give_up(Source& source, Stream& stream, std::uint64_t next, TimeNs t);
  TimeNs gap_end(const wire::EventBatch& batch, const Source& source, TimeNs covered);
  void take_message(const std::string& agent, TimeNs now);
  template <class Part>
  bool survive(Part&& part);
  void reject_rest(const wire::EventBatch& batch, TimeNs now);
  void wants_hello(const std::string& agent, SourceId source);
  bool may_speak_for(SourceId id, std::string& owner, const std::string& agent);
  bool is_speaker(const Source& source, const std::string& agent);
  bool has_share(std::uint64_t used, std::uint64_t limit, std::uint64_t own) const;
  bool cells_fit(std::uint64_t leaves, std::uint64_t states, std::uint64_t own, std::uint64_t limit) const;
  bool know_agent(const std::string& agent, TimeNs now);
  void forget(std::map<SourceId, Source>::iterator it);
  void forget_what_is_over(TimeNs now);
  void listen(TimeNs now);
  std::shared_ptr<ClockMap> clock_of(const Source& source);
  void on_account(const wire::ReaderAccount& account);
  void on_echo(const wire::ClockEcho& echo, const std::string& agent, TimeNs now);
  void ask_clocks(TimeNs now);
  void tell_slices(const Source& source, const std::string& agent);
  bool make_room_for_source(TimeNs now);
  bool answer_for_forgotten(SourceId id, std::uint32_t epoch, std::uint32_t stream, std::uint64_t next,
                            const std::string& agent);
  StateId intern(const std::string& name, model::StateFamily family);
  StateId stand_in(NameKind kind, const std::string& text);
  bool take_name(Source& source, const wire::Name& name, std::string text);
  void restore_names(Source& source);
  static void keep_whole_names(Source& source);
  std::optional<slicer::Outcome> apply_note(const Source& source, const Stream& stream,
                                            const EventRecord& record, TimeNs t);
  void apply(Source& source, Stream& stream, const EventRecord& record, TimeNs until);
  // Trace time beyond which nothing can have happened yet.
  TimeNs latest(TimeNs now) const;
  wire::ToAgent& reply(const std::string& agent);
  bool take_text(std::uint64_t before, std::uint64_t after);
  void tell_taken();
  std::optional<LeafIndex> leaf_for(const Source& source, std::uint32_t stream, const std::string& name);

  Options options_;
  slicer::Slicer& slicer_;
  model::StateTable& states_;
  std::map<SourceId, Source> sources_;
  std::vector<model::Attributes> leaves_;
  std::vector<std::pair<SourceId, std::uint32_t>> leaf_owner_;
  std::map<std::string, wire::ToAgent> replies_;
  wire::ToAgent unsaid_;  // stands in where replies_ is full
  struct Agent {
    TimeNs heard{};
    TimeNs asked{};  // for its clock; 0: nothing is to be answered
    TimeNs next_ask{};
    std::uint32_t answers = 0;
  };
  std::map<std::string, Agent> agents_;  // by routing id
  // By owner and boot id; of other machines. What one key's agents answer moves no other's clock.
  std::map<std::pair<std::string, std::string>, std::shared_ptr<ClockMap>> clocks_;
  // Of the message that is being taken: whose word it is, and which agent says it.
  std::string owner_ = kLocalOwner;
  std::uint64_t speaker_ = 0;
  std::string trouble_;
  static constexpr std::size_t kMostImpostors = 16;
  std::vector<Impostor> impostors_;
  std::vector<std::string> leaf_keepers_;
  // What each owner has of the tables; bounded by the keys that there are.
  struct Share {
    std::uint32_t sources = 0, leaves = 0, states = 0;
  };
  std::map<std::string, Share> shares_;
  std::uint64_t topology_version_ = 0;
  MessageCounters counters_;
  std::uint64_t steal_ns_ = 0;
  // Accounts of readers, by owner and agent number, as told last.
  static constexpr std::size_t kMostReaders = 256;
  std::map<std::pair<std::string, std::uint64_t>, MessageCounters::Readers> readers_;
  Unwatched unwatched_;
  std::uint64_t text_bytes_ = 0;
  bool finishing_ = false;
  bool goodbyes_came_ = false;
  TimeNs catch_up_until_{};
  TimeNs told_{};                  // when agents were last told what has been taken
  bool committed_lately_ = false;  // since then: the acknowledgement has told them
  std::size_t raw_limit_ = 0;
  std::size_t raw_bytes_ = 0;
  std::vector<AcceptedBatch> accepted_;
  std::uint64_t raw_dropped_ = 0;
  std::vector<Account> former_;  // by leaf, of sources that are forgotten
  Forgotten forgotten_;
  std::deque<SourceId> over_;  // forgotten after their goodbye, oldest first, bounded
  std::map<SourceId, std::string> over_owner_;
  TimeNs next_asking_{};  // of clocks
  TimeNs no_room_until_{};
  TimeNs next_look_{};                // for what can be forgotten
  wire::Changes changes_;             // of the batch that is being taken
  std::vector<EventRecord> scratch_;  // the same as a whole, where it was decoded
  std::uint32_t records_left_ = 0;    // of the message that is being taken, as is:
  int vain_searches_ = 0;
  // Reused: parsing into it keeps its memory. Another one after an exception.
  std::unique_ptr<wire::ToCollector> message_ = std::make_unique<wire::ToCollector>();
};

}  // namespace margay::ingest
