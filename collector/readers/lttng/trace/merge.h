// Merges Babeltrace's message iterators, one a stream (live: one for all), by time, and hands the events to
// the sink.
//
// Why not Babeltrace's muxer: an iterator that fails is dropped here and the others go on, where the muxer
// ends the whole graph; the order is that of host time, not of the wall clocks that each trace measured anew;
// and it costs a comparison a run of events of one stream, not one a stream and event.
//
// Thread safety: none. Errors: a stream's are damage (recorded) or error() (live). Cost: no allocation an
// event. Memory: a batch of 15 messages a stream, which Babeltrace keeps.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "bt.h"
#include "classes.h"
#include "clocks.h"
#include "files.h"
#include "margay/base/result.h"
#include "margay/lttng/event.h"
#include "margay/lttng_trace/trace_reader.h"

namespace margay::lttng {

class Merger {
 public:
  enum class State { kMore, kAgain, kEnd, kFailed };

  Merger(EventSink& sink, DurationNs progress) : sink_(sink), step_(progress), classes_(sink) {}

  // A new graph: port i of the sink component brings a stream of inputs[i] (live: nullptr).
  void begin(std::vector<const Input*> ports, bool live);
  std::size_t ports() const { return sources_.size(); }
  // The graph is connected: makes the iterators of the component's ports.
  void connect(bt_self_component_sink* component);
  void set_budget(std::uint64_t most_events) { budget_ = most_events; }
  State pull();
  // Drops iterators and messages; before the graph is given back.
  void end();

  void add_damage(std::string place, std::string what, std::uint64_t events);

  bool seen_any() const { return attached_; }  // live: an iterator answered
  const Error& error() const { return error_; }
  void set_error(ErrorCode code, std::string message) { error_ = {code, std::move(message)}; }

  ReaderCounts counts;
  std::vector<Damage> damage;
  Clocks clocks;
  std::string host;

 private:
  struct Stream {
    StreamRef ref;
    ClockScale scale;
    std::int32_t cpu = -1;
    bool discarded_events_have_time = false;
    bool discarded_packets_have_time = false;
    // Its counter of discarded events, since the first packet, and the most of it that was told.
    std::uint64_t discarded = 0, told = 0;
  };
  struct Source {
    IteratorRef iterator;
    const Input* input = nullptr;
    bt_message_array_const messages = nullptr;
    std::uint64_t count = 0, at = 0;
    TimeNs head{};  // of messages[at]
    TimeNs last{};  // no later than what comes
    TimeNs limit{INT64_MAX};
    const bt_stream* cached_for = nullptr;
    Stream* stream = nullptr;
    const StreamFacts* facts = nullptr;
    bool primed = false;
    std::uint64_t events = 0;
  };
  enum class Ready { kYes, kAgain, kOver };

  Ready ready(Source& source);
  Ready next_batch(Source& source);
  Ready order(Source& source, const bt_message* message);
  void skip(Source& source, const bt_message* message);
  void open_stream(Source& source, const bt_stream* stream);
  void open_packet(Source& source, const bt_packet* packet, const bt_message* message);
  Stream* stream_of(Source& source, const bt_stream* stream);
  Ready fail_source(Source& source, const std::string& what);
  void drop(Source& source);
  bool deliver(Source& source);
  bool deliver_event(Source& source, const bt_message* message);
  void deliver_discarded(Source& source, const bt_message* message, bool packets);
  void progress(TimeNs at);
  bool before(std::uint32_t a, std::uint32_t b) const;

  EventSink& sink_;
  DurationNs step_;
  Classes classes_;
  EventValues values_;
  std::vector<Source> sources_;
  std::vector<std::uint32_t> heap_;     // ready sources, the earliest first
  std::vector<std::uint32_t> waiting_;  // to be asked
  std::unordered_map<const bt_stream*, Stream> streams_;
  bool live_ = false;
  bool attached_ = false;
  std::uint64_t budget_ = 1;
  bool any_progress_ = false;
  TimeNs progress_{};
  TimeNs out_{INT64_MIN};  // the last time that was handed over
  Error error_;
};

}  // namespace margay::lttng
