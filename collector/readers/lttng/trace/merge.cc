#include "merge.h"

#include <algorithm>

namespace margay::lttng {
namespace {

constexpr std::uint64_t kMostDiscarded = 1ULL << 40U;  // at once, where the times are not known
constexpr DurationNs kSlack = seconds(1);  // tracers before 2.12 wrote events just behind their packet's end

std::string text_entry(const bt_trace* trace, const char* name) {
  const bt_value* value = bt_trace_borrow_environment_entry_value_by_name_const(trace, name);
  return value != nullptr && bt_value_is_string(value) == BT_TRUE ? bt_value_string_get(value) : "";
}

ErrorCode live_error(const BtError& error) {
  for (const std::string& cause : error.causes)
    for (const char* sign : {"decod", "metadata", "CTF message iterator"})
      if (cause.find(sign) != std::string::npos) return ErrorCode::kCorrupt;
  return ErrorCode::kUnavailable;
}

}  // namespace

bool Merger::before(std::uint32_t a, std::uint32_t b) const {
  const TimeNs x = sources_[a].head;
  const TimeNs y = sources_[b].head;
  return x != y ? x < y : a < b;
}

void Merger::begin(std::vector<const Input*> ports, bool live) {
  end();
  live_ = live;
  sources_.resize(ports.size());
  for (std::size_t i = 0; i < ports.size(); ++i) sources_[i].input = ports[i];
}

void Merger::end() {
  for (Source& s : sources_) drop(s);
  sources_.clear();
  heap_.clear();
  waiting_.clear();
  streams_.clear();
}

void Merger::connect(bt_self_component_sink* component) {
  for (std::uint32_t i = 0; i < sources_.size(); ++i) {
    bt_message_iterator* iterator = nullptr;
    if (bt_message_iterator_create_from_sink_component(
            component, bt_self_component_sink_borrow_input_port_by_index(component, i), &iterator) !=
        BT_MESSAGE_ITERATOR_CREATE_FROM_SINK_COMPONENT_STATUS_OK) {
      fail_source(sources_[i], "");
      continue;
    }
    sources_[i].iterator.reset(iterator);
    waiting_.push_back(i);
  }
  std::reverse(waiting_.begin(), waiting_.end());  // the first trace's clock is met first
}

void Merger::drop(Source& s) {
  for (; s.at < s.count; ++s.at) bt_message_put_ref(s.messages[s.at]);
  s.count = s.at = 0;
  s.iterator.reset(nullptr);
}

void Merger::add_damage(std::string place, std::string what, std::uint64_t events) {
  if (damage.size() < TraceReader::kMostDamage) damage.push_back({std::move(place), std::move(what), events});
}

// The source's stream ends here. `what`: why, or "" where Babeltrace knows.
Merger::Ready Merger::fail_source(Source& s, const std::string& what) {
  const BtError error = what.empty() ? take_error() : BtError{what, {}};
  if (live_) {
    if (error_.message.empty())
      set_error(live_error(error), "the live session cannot be read: " + error.text);
  } else {
    ++counts.damaged_streams;
    counts.events_before_damage += s.events;
    std::string place = s.facts != nullptr ? s.facts->place : s.input->place();
    if (s.facts == nullptr && s.stream != nullptr)
      place += ": stream " + std::to_string(bt_stream_get_id(s.stream->ref.get()));
    const bool known = s.facts != nullptr && !s.facts->damage.empty();
    add_damage(std::move(place), known ? s.facts->damage : error.text, s.events);
    if (s.stream != nullptr) {
      Discarded lost;
      lost.exact = false;
      lost.cpu = s.stream->cpu;
      lost.begin = s.last;
      lost.end = s.last;
      if (s.facts != nullptr && !s.facts->packets.empty())
        lost.end = std::max(s.last, s.stream->scale.time(s.facts->packets.back().end));
      sink_.on_discarded(lost);
    }
  }
  drop(s);
  return Ready::kOver;
}

Merger::Ready Merger::next_batch(Source& s) {
  s.count = s.at = 0;
  switch (bt_message_iterator_next(s.iterator.get(), &s.messages, &s.count)) {
    case BT_MESSAGE_ITERATOR_NEXT_STATUS_OK:
      attached_ = true;
      return Ready::kYes;
    case BT_MESSAGE_ITERATOR_NEXT_STATUS_AGAIN:
      attached_ = true;
      s.count = 0;
      return Ready::kAgain;
    case BT_MESSAGE_ITERATOR_NEXT_STATUS_END:
      s.count = 0;
      if (s.facts != nullptr && !s.facts->damage.empty()) return fail_source(s, s.facts->damage);
      drop(s);
      return Ready::kOver;
    default:
      s.count = 0;
      return fail_source(s, "");
  }
}

Merger::Stream* Merger::stream_of(Source& s, const bt_stream* stream) {
  if (s.cached_for == stream) [[likely]]
    return s.stream;
  const auto found = streams_.find(stream);
  if (found == streams_.end()) return nullptr;  // cannot be: a stream begins before its events
  s.cached_for = stream;
  s.stream = &found->second;
  return s.stream;
}

void Merger::open_stream(Source& s, const bt_stream* stream) {
  Stream& st = streams_[stream];
  bt_stream_get_ref(stream);
  st.ref.reset(stream);
  const bt_stream_class* cls = bt_stream_borrow_class_const(stream);
  st.scale = clocks.scale(bt_stream_class_borrow_default_clock_class_const(cls));
  st.discarded_events_have_time =
      bt_stream_class_discarded_events_have_default_clock_snapshots(cls) == BT_TRUE;
  st.discarded_packets_have_time =
      bt_stream_class_discarded_packets_have_default_clock_snapshots(cls) == BT_TRUE;
  s.cached_for = stream;
  s.stream = &st;
  if (host.empty()) host = text_entry(bt_stream_borrow_trace_const(stream), "hostname");
  if (s.input == nullptr) return;
  const auto facts = s.input->streams.find({bt_stream_class_get_id(cls), bt_stream_get_id(stream)});
  if (facts != s.input->streams.end()) s.facts = &facts->second;
}

void Merger::open_packet(Source& s, const bt_packet* packet, const bt_message* message) {
  const bt_stream* stream = bt_packet_borrow_stream_const(packet);
  Stream* st = stream_of(s, stream);
  if (st == nullptr) return;
  if (const bt_field* context = bt_packet_borrow_context_field_const(packet); context != nullptr) {
    const bt_field* cpu = bt_field_structure_borrow_member_field_by_name_const(context, "cpu_id");
    if (cpu != nullptr &&
        bt_field_class_type_is(bt_field_get_class_type(cpu), BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER)) {
      const std::uint64_t value = bt_field_integer_unsigned_get_value(cpu);
      st->cpu = value <= INT32_MAX ? static_cast<std::int32_t>(value) : -1;
    }
  }
  s.limit = TimeNs(INT64_MAX);
  const bt_stream_class* cls = bt_stream_borrow_class_const(stream);
  if (s.facts == nullptr || bt_stream_class_packets_have_beginning_default_clock_snapshot(cls) != BT_TRUE)
    return;
  // An event that is far behind its packet's end has a damaged time.
  const std::uint64_t begin =
      bt_clock_snapshot_get_value(bt_message_packet_beginning_borrow_default_clock_snapshot_const(message));
  const auto& packets = s.facts->packets;
  const auto found = std::lower_bound(packets.begin(), packets.end(), begin,
                                      [](const Packet& p, std::uint64_t b) { return p.begin < b; });
  if (found == packets.end() || found->begin != begin || found->end == 0) return;
  std::uint64_t end = found->end;
  if (found + 1 != packets.end()) end = std::max(end, (found + 1)->begin);
  s.limit = st->scale.time(end) + kSlack;
}

// Messages without an order of their own.
void Merger::skip(Source& s, const bt_message* message) {
  switch (bt_message_get_type(message)) {
    case BT_MESSAGE_TYPE_STREAM_BEGINNING:
      open_stream(s, bt_message_stream_beginning_borrow_stream_const(message));
      break;
    case BT_MESSAGE_TYPE_STREAM_END: {
      const bt_stream* stream = bt_message_stream_end_borrow_stream_const(message);
      if (!live_) break;  // kept for what is said of the stream's end
      if (s.cached_for == stream) {
        s.cached_for = nullptr;
        s.stream = nullptr;
      }
      streams_.erase(stream);
      break;
    }
    case BT_MESSAGE_TYPE_PACKET_BEGINNING:
      open_packet(s, bt_message_packet_beginning_borrow_packet_const(message), message);
      break;
    default:
      break;
  }
}

// Gives the message that is next in the source its place in time.
Merger::Ready Merger::order(Source& s, const bt_message* message) {
  const bt_clock_snapshot* clock = nullptr;
  const Stream* st = nullptr;
  switch (bt_message_get_type(message)) {
    case BT_MESSAGE_TYPE_EVENT: {
      st = stream_of(s, bt_event_borrow_stream_const(bt_message_event_borrow_event_const(message)));
      if (st == nullptr || st->scale.frequency == 0) return fail_source(s, "it has no clock");
      s.head = st->scale.time(
          bt_clock_snapshot_get_value(bt_message_event_borrow_default_clock_snapshot_const(message)));
      if (live_) return Ready::kYes;
      if (s.head < s.last) [[unlikely]]
        return fail_source(s, "its time goes back");
      if (s.head > s.limit) [[unlikely]]
        return fail_source(s, "an event's time is far behind its packet's end");
      return Ready::kYes;
    }
    case BT_MESSAGE_TYPE_DISCARDED_EVENTS:
      st = stream_of(s, bt_message_discarded_events_borrow_stream_const(message));
      if (st != nullptr && st->discarded_events_have_time)
        clock = bt_message_discarded_events_borrow_beginning_default_clock_snapshot_const(message);
      break;
    case BT_MESSAGE_TYPE_DISCARDED_PACKETS:
      st = stream_of(s, bt_message_discarded_packets_borrow_stream_const(message));
      if (st != nullptr && st->discarded_packets_have_time)
        clock = bt_message_discarded_packets_borrow_beginning_default_clock_snapshot_const(message);
      break;
    default:
      clock = bt_message_message_iterator_inactivity_borrow_clock_snapshot_const(message);
      s.head = clocks.scale(bt_clock_snapshot_borrow_clock_class_const(clock))
                   .time(bt_clock_snapshot_get_value(clock));
      return Ready::kYes;
  }
  s.head = s.last;
  if (clock != nullptr && st != nullptr)
    s.head = std::max(s.head, st->scale.time(bt_clock_snapshot_get_value(clock)));
  return Ready::kYes;
}

// Goes on to the source's next message that has a time.
Merger::Ready Merger::ready(Source& s) {
  for (;;) {
    if (s.at == s.count) {
      if (const Ready r = next_batch(s); r != Ready::kYes) return r;
      continue;
    }
    const bt_message* message = s.messages[s.at];
    switch (bt_message_get_type(message)) {
      case BT_MESSAGE_TYPE_EVENT:
      case BT_MESSAGE_TYPE_DISCARDED_EVENTS:
      case BT_MESSAGE_TYPE_DISCARDED_PACKETS:
      case BT_MESSAGE_TYPE_MESSAGE_ITERATOR_INACTIVITY:
        return order(s, message);
      default:
        skip(s, message);
        bt_message_put_ref(message);
        ++s.at;
    }
  }
}

void Merger::progress(TimeNs at) {
  progress_ = at;
  any_progress_ = true;
  sink_.on_progress(at);
}

bool Merger::deliver_event(Source& s, const bt_message* message) {
  const bt_event* event = bt_message_event_borrow_event_const(message);
  const ClassInfo* info = classes_.find(bt_event_borrow_class_const(event), event);
  if (info == nullptr) {
    set_error(ErrorCode::kLimit, (s.input != nullptr ? s.input->place() + ": " : std::string()) +
                                     "more than " + std::to_string(TraceReader::kMostClasses) +
                                     " classes of events");
    return false;
  }
  values_.set(event, info);
  Event told;
  told.cls = info->number;
  told.at = out_;
  told.cpu = s.stream->cpu;
  told.vpid = values_.context_integer(info->vpid);
  told.vtid = values_.context_integer(info->vtid);
  told.procname = values_.context_text(info->procname);
  told.values = &values_;
  sink_.on_event(told);
  ++s.events;
  ++counts.events;
  return true;
}

void Merger::deliver_discarded(Source& s, const bt_message* message, bool packets) {
  Discarded told;
  Stream* st = nullptr;
  const bt_clock_snapshot* end = nullptr;
  bt_property_availability known = BT_PROPERTY_AVAILABILITY_NOT_AVAILABLE;
  if (packets) {
    st = stream_of(s, bt_message_discarded_packets_borrow_stream_const(message));
    known = bt_message_discarded_packets_get_count(message, &told.events);
    if (st != nullptr && st->discarded_packets_have_time)
      end = bt_message_discarded_packets_borrow_end_default_clock_snapshot_const(message);
  } else {
    st = stream_of(s, bt_message_discarded_events_borrow_stream_const(message));
    known = bt_message_discarded_events_get_count(message, &told.events);
    if (st != nullptr && st->discarded_events_have_time)
      end = bt_message_discarded_events_borrow_end_default_clock_snapshot_const(message);
  }
  if (st != nullptr) told.cpu = st->cpu;
  told.begin = s.head;
  told.end = end == nullptr ? s.head : std::max(s.head, st->scale.time(bt_clock_snapshot_get_value(end)));
  if (!packets && st != nullptr && known == BT_PROPERTY_AVAILABILITY_AVAILABLE) {
    // A tracer that is hard pressed writes counters that lag behind: a packet's may be less than the one's
    // before. What is lost is what exceeds the most so far.
    st->discarded += told.events;
    if (static_cast<std::int64_t>(st->discarded - st->told) <= 0) return;
    told.events = st->discarded - st->told;
  }
  // More than one a nanosecond: the counter is damaged.
  const std::uint64_t most =
      end == nullptr ? kMostDiscarded : static_cast<std::uint64_t>((told.end - told.begin).value) + 1;
  const bool counted = known == BT_PROPERTY_AVAILABILITY_AVAILABLE && told.events <= most;
  if (!counted) told.events = 0;
  told.exact = counted && !packets;
  if (!counted)
    ++counts.unknown_discards;
  else if (packets)
    counts.discarded_packets += told.events;
  else
    counts.discarded_events += told.events;
  if (counted && !packets && st != nullptr) st->told = st->discarded;
  sink_.on_discarded(told);
}

// Hands over the source's next message. False: error() says why not.
bool Merger::deliver(Source& s) {
  const bt_message* message = s.messages[s.at];
  const bt_message_type type = bt_message_get_type(message);
  bool good = true;
  s.last = s.head;
  if (type == BT_MESSAGE_TYPE_EVENT && s.head < out_) ++counts.moved;
  out_ = std::max(out_, s.head);
  if (!any_progress_ || out_ - progress_ >= step_ ||
      (type == BT_MESSAGE_TYPE_MESSAGE_ITERATOR_INACTIVITY && out_ > progress_))
    progress(out_);
  if (type == BT_MESSAGE_TYPE_EVENT) {
    good = deliver_event(s, message);
  } else if (type != BT_MESSAGE_TYPE_MESSAGE_ITERATOR_INACTIVITY) {
    deliver_discarded(s, message, type == BT_MESSAGE_TYPE_DISCARDED_PACKETS);
  }
  bt_message_put_ref(message);
  ++s.at;
  return good;
}

Merger::State Merger::pull() {
  const auto later = [this](std::uint32_t a, std::uint32_t b) { return before(b, a); };
  while (!waiting_.empty()) {
    const std::uint32_t i = waiting_.back();
    const Ready r = ready(sources_[i]);
    if (!error_.message.empty()) return State::kFailed;
    if (r == Ready::kAgain) return State::kAgain;
    waiting_.pop_back();
    if (r == Ready::kOver) continue;
    heap_.push_back(i);
    std::push_heap(heap_.begin(), heap_.end(), later);
  }
  if (!error_.message.empty()) return State::kFailed;
  while (budget_ > 0) {
    if (heap_.empty()) {
      if (any_progress_ && out_ > progress_) progress(out_);
      return State::kEnd;
    }
    std::pop_heap(heap_.begin(), heap_.end(), later);
    const std::uint32_t i = heap_.back();
    heap_.pop_back();
    Source& s = sources_[i];
    Ready r = Ready::kYes;
    do {
      if (!deliver(s)) return State::kFailed;
      --budget_;
      r = ready(s);
    } while (r == Ready::kYes && budget_ > 0 && (heap_.empty() || before(i, heap_.front())));
    if (!error_.message.empty()) return State::kFailed;
    if (r == Ready::kAgain) {
      waiting_.push_back(i);
      return State::kMore;
    }
    if (r == Ready::kYes) {
      heap_.push_back(i);
      std::push_heap(heap_.begin(), heap_.end(), later);
    }
  }
  return State::kMore;
}

}  // namespace margay::lttng
