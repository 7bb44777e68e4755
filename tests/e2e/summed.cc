#include "summed.h"

#include <algorithm>
#include <map>
#include <memory>

#include "margay/node/segment_reader.h"
#include "margay/probe/ring.h"
#include "margay/wire/columns.h"
#include "margay/wire/ingest.pb.h"

namespace margay::test {
namespace {

// A thread that did what the records say, and its agent.
class Thread {
 public:
  Thread(DurationNs slice, DurationNs offset)
      : header_(std::make_unique<probe::SegmentHeader>()),
        slots_(probe::kFirstRingRecords),
        reader_(&header_->rings[0].control, slots_.data(), slots_.size(), &header_->rings[0].sums) {
    header_->slice_ns = slice.value;
    header_->slice_origin_ns = -offset.value;
    writer_.bind(&header_->rings[0].control, slots_.data(), slots_.size(), &header_->rings[0].sums,
                 header_.get());
    reader_.sum(true);
  }
  // `last`: what ends more than itself is a record of its own, as in the probe.
  void event(const EventRecord& r, bool alone) {
    writer_.write(
        r, open_.data(), static_cast<std::uint32_t>(open_.size()), [&] { return r.time_ns; },
        alone ? probe::RingWriter::As::kAlone : probe::RingWriter::As::kUsual);
    if (r.kind == MARGAY_ENTER) open_.push_back(r.state);
    if (r.kind == MARGAY_LEAVE && !open_.empty()) open_.pop_back();
  }
  // What `like` becomes.
  wire::EventBatch drain(const wire::EventBatch& like, bool last) {
    wire::EventBatch batch = like;
    const TimeNs now(like.covered_until_ns() + probe::kGuardNs);
    const auto look = reader_.look(now);
    batch.set_first(reader_.tail());
    std::vector<EventRecord> records;
    reader_.take(*look, SIZE_MAX, records);
    if (records.empty()) reader_.take_sums(*look, last, records);
    batch.set_count(static_cast<std::uint32_t>(records.size()));
    batch.set_produced(reader_.tail());
    batch.set_recorded(reader_.tail());
    batch.set_covered_until_ns(reader_.covered_until(*look).value);
    batch.clear_columns();
    if (!records.empty()) wire::encode_columns(records, *batch.mutable_columns());
    return batch;
  }
  std::uint64_t summed() const { return header_->rings[0].sums.summed; }
  std::uint64_t tail() const { return reader_.tail(); }

 private:
  std::unique_ptr<probe::SegmentHeader> header_;
  std::vector<margay_record> slots_;
  std::vector<std::uint16_t> open_;
  probe::RingWriter writer_;
  node::RingReader reader_;
};

}  // namespace

bool sum_captured(const std::vector<Message>& messages, const store::RunMeta& run, Summed& out,
                  std::string& why) {
  std::map<StreamKey, Thread> threads;
  std::map<StreamKey, std::uint64_t> next;
  std::map<StreamKey, wire::EventBatch> newest;
  std::map<std::uint64_t, std::vector<std::string>> names;
  std::vector<EventRecord> records;
  for (const Message& bytes : messages) {
    wire::ToCollector m;
    if (!m.ParseFromString(bytes.body)) return why = "a message does not decode", false;
    if (m.has_hello()) {
      auto& known = names[m.hello().source()];
      for (int i = static_cast<int>(known.size()); i < m.hello().names_size(); ++i)
        known.push_back(m.hello().names(i).name());
    }
    wire::ToCollector changed = m;
    changed.clear_batches();
    for (const wire::EventBatch& b : m.batches()) {
      const StreamKey key{b.source(), b.stream()};
      auto& thread = threads.try_emplace(key, run.levels[0], run.wall_offset).first->second;
      if (b.count() > 0) {
        if (b.first() > next[key]) return why = "records did not come", false;
        const std::uint64_t skip = next[key] - b.first();  // they came again
        next[key] = std::max<std::uint64_t>(next[key], b.first() + b.count());
        if (!wire::decode_columns_untrusted({b.columns().data(), b.columns().size()}, b.count(), records))
          return why = "a batch does not decode", false;
        for (std::size_t i = skip; i < records.size(); ++i) {
          const EventRecord& r = records[i];
          const std::string& name = names[b.source()].at(r.state);
          thread.event(r, name == "MPI_Finalize" || name == MARGAY_THREAD_END);
        }
      }
      newest[key] = b;
      *changed.add_batches() = thread.drain(b, false);
    }
    if (m.has_goodbye()) {
      wire::ToCollector before;
      before.set_version(m.version());
      before.set_run(m.run());
      before.set_agent(m.agent());
      for (auto& total : *changed.mutable_goodbye()->mutable_streams()) {
        const StreamKey key{m.goodbye().source(), total.stream()};
        const auto thread = threads.find(key);
        if (thread == threads.end()) continue;
        *before.add_batches() = thread->second.drain(newest[key], true);
        total.set_recorded(thread->second.tail());
        total.set_produced(thread->second.tail());
      }
      out.messages.push_back({bytes.at, bytes.from, before.SerializeAsString()});
    }
    out.messages.push_back({bytes.at, bytes.from, changed.SerializeAsString()});
  }
  for (const auto& [key, thread] : threads) {
    out.events += thread.summed();
    out.records += thread.tail();
  }
  return true;
}

}  // namespace margay::test
