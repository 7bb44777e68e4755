// Writes the seeds of every corpus from the encoders, so that they can be made again when a format changes:
//   make_seeds tests/fuzz/corpus
// Deterministic. Names begin with "seed-"; what else lies in a corpus was found by the fuzzers.
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <filesystem>
#include <fstream>
#include <vector>

#include "fuzz.h"
#include "ingest_script.h"
#include "margay/alert/alert.h"
#include "margay/alert/handling.h"
#include "margay/probe/segment.h"
#include "margay/settings/config.h"
#include "margay/wire/columns.h"
#include "margay/wire/control.pb.h"
#include "seeds.h"
#include "synthetic_report.h"
#include "synthetic_view.h"

namespace {

using namespace margay;
using fuzz::columns_of;
using fuzz::InputWriter;
using fuzz::life;
using fuzz::record;
using fuzz::seed;

wire::ToCollector message() {
  wire::ToCollector m;
  m.set_version(wire::kWireVersion);
  m.set_run("r");
  m.set_agent(9);
  return m;
}
wire::ToCollector hello(std::uint64_t source, const std::string& rank, std::uint32_t epoch = 1) {
  wire::ToCollector m = message();
  auto* h = m.mutable_hello();
  h->set_source(source);
  h->set_epoch(epoch);
  (*h->mutable_attributes()) = {};
  (*h->mutable_attributes())["host"] = "n1";
  (*h->mutable_attributes())["rank"] = rank;
  (*h->mutable_attributes())["boot_id"] = source == 3 ? "other" : "boot";
  h->mutable_clock()->set_monotonic_ns(4'000'000'000);
  h->mutable_clock()->set_realtime_ns(1'000'004'000'000'000);
  const std::pair<const char*, wire::StateFamily> names[] = {{"Compute", wire::FAMILY_COMPUTE},
                                                             {"MPI_Send", wire::FAMILY_POINT_TO_POINT},
                                                             {"MPI_Recv", wire::FAMILY_POINT_TO_POINT},
                                                             {"MPI_Finalize", wire::FAMILY_START_END},
                                                             {"solve", wire::FAMILY_REGION}};
  for (const auto& [name, family] : names) {
    auto* n = h->add_names();
    n->set_name(name);
    n->set_family(family);
  }
  return m;
}
wire::EventBatch* add_batch(wire::ToCollector& m, std::uint64_t source, std::uint64_t first,
                            const std::vector<EventRecord>& records, std::int64_t covered_ms) {
  auto* b = m.add_batches();
  b->set_source(source);
  b->set_epoch(1);
  b->set_first(first);
  b->set_count(static_cast<std::uint32_t>(records.size()));
  b->set_covered_until_ns(5'000'000'000 + covered_ms * 1'000'000);
  b->set_produced(first + records.size());
  b->set_recorded(first + records.size());
  if (!records.empty()) b->set_columns(columns_of(records));
  return b;
}
wire::ToCollector goodbye(std::uint64_t source, std::uint64_t records, std::int64_t ms) {
  wire::ToCollector m = message();
  auto* g = m.mutable_goodbye();
  g->set_source(source);
  g->set_epoch(1);
  g->set_reason(wire::Goodbye::FINALIZED);
  g->set_end_ns(5'000'000'000 + ms * 1'000'000);
  auto* t = g->add_streams();
  t->set_produced(records);
  t->set_recorded(records);
  return m;
}
wire::ToCollector sample(std::int64_t ms, char state, std::uint64_t cpu_ns) {
  wire::ToCollector m = message();
  m.mutable_node()->set_time_ns(5'000'000'000 + ms * 1'000'000);
  for (const std::uint64_t source : {1, 2}) {
    auto* p = m.mutable_node()->add_processes();
    p->set_source(source);
    p->set_state(static_cast<unsigned char>(state));
    p->set_cpu_ns(cpu_ns);
    p->set_run_delay_ns(cpu_ns / 8);
  }
  return m;
}

std::string script(const std::vector<std::pair<unsigned, wire::ToCollector>>& frames, unsigned ms = 100) {
  InputWriter w;
  for (const auto& [acts, m] : frames) {
    std::string bytes;
    {
      google::protobuf::io::StringOutputStream out(&bytes);
      google::protobuf::io::CodedOutputStream coded(&out);
      coded.SetSerializationDeterministic(true);  // maps in one order
      FUZZ_CHECK(m.SerializeToCodedStream(&coded), "a message");
    }
    w.u8(acts).u16(ms).piece(bytes);
  }
  return w.text();
}

void conversations() {
  wire::ToCollector first = message(), second = message(), repeat = message(), hole = message(),
                    beat = message();
  add_batch(first, 1, 0, life(0, false), 300);
  add_batch(first, 2, 0, life(10, false), 310);
  add_batch(second, 1, 9, life(400, true), 700);
  add_batch(second, 2, 9, life(410, true), 710);
  add_batch(repeat, 1, 4, life(200, true), 500);
  add_batch(hole, 1, 100, life(900, false), 1200)->set_stream(1);
  add_batch(beat, 1, 9, {}, 390);
  std::map<std::string, std::string> all;
  all["whole-run"] = script({{0, hello(1, "0")},
                             {0, hello(2, "1")},
                             {0, first},
                             {0x10, sample(150, 'R', 1000)},
                             {0, beat},
                             {0x10, sample(250, 'T', 90'000'000)},
                             {0, sample(350, 'S', 190'000'000)},
                             {0, second},
                             {0x10, goodbye(1, 20, 700)},
                             {0x30, goodbye(2, 20, 710)}});
  all["repeats"] = script({{0, hello(1, "0")}, {0, first}, {1, repeat}, {0x10, first}});
  all["hole"] = script({{0, hello(1, "0")}, {0, hole}, {0, hole}, {0x10, hole}}, fuzz::kLong);
  wire::ToCollector backwards = message();
  add_batch(backwards, 1, 0, {record(MARGAY_ENTER, 1, 90), record(MARGAY_LEAVE, 1, 20)}, 95);
  all["clock-backwards"] = script({{0, hello(1, "0")}, {0x10, backwards}});
  wire::ToCollector past = sample(0, 'R', 0);
  past.mutable_node()->set_time_ns(INT64_MIN);
  const wire::ToCollector present = sample(300, 'R', ~std::uint64_t{0});
  all["samples-to-and-fro"] =
      script({{0, hello(1, "0")}, {0, first}, {0, past}, {0, present}, {0, past}, {0x10, present}});
  // Drawn out to 600 ms, then an event at 400 ms, and no slice closes with it.
  wire::ToCollector late = message();
  add_batch(late, 1, 9, {record(MARGAY_ENTER, 1, 400)}, 410);
  all["late-event"] =
      script({{0, hello(1, "0")}, {0, first}}) + script({{0x10, message()}}, 900) + script({{0, late}}, 0);
  all["same-rank-again"] = script({{0, hello(1, "0")},
                                   {0, first},
                                   {0, goodbye(1, 9, 300)},
                                   {0x10, hello(4, "0")},
                                   {0, goodbye(4, 0, 900)}});
  all["other-host"] = script({{0, hello(3, "7")}, {0x50, goodbye(3, 0, 10)}});
  all["unknown-source"] = script({{0, first}, {0x10, beat}});
  wire::ToCollector other = message();
  other.set_run("another");
  wire::ToCollector old = message();
  old.set_version(7);
  all["refused"] = script({{0, other}, {1, old}});
  for (const auto& [name, bytes] : all) {
    seed("collector_message", name, bytes);
    seed("run_report", name, InputWriter().u8(3).bytes("lmp").bytes(bytes).text());
  }
}

void columns() {
  const auto put = [](const std::string& name, const std::vector<EventRecord>& records) {
    seed("columns", name,
         InputWriter().integer(static_cast<std::uint32_t>(records.size())).bytes(columns_of(records)).text());
  };
  put("none", {});
  put("life", life(0, true));
  put("constant", std::vector<EventRecord>(200, record(MARGAY_ENTER, 1, 5)));
  auto wild = life(0, true);
  for (std::size_t i = 0; i < wild.size(); ++i) {
    wild[i].time_ns = i % 2 == 0 ? INT64_MIN : INT64_MAX;
    wild[i].bytes = ~std::uint64_t{0} / (i + 1);
    wild[i].peer = i % 2 == 0 ? INT32_MIN : INT32_MAX;
    wild[i].tag = static_cast<std::int32_t>(i) - 5;
    wild[i].comm = static_cast<std::uint32_t>(i * 70'000);
  }
  put("wild", wild);
}

void agent_replies() {
  wire::ToAgent reply;
  reply.set_version(1);
  reply.set_instance(5);
  auto* ack = reply.add_acks();
  ack->set_source(1);
  ack->set_epoch(1);
  ack->set_next(10);
  ack->set_goodbye(true);
  wire::ToAgent again = reply;
  again.set_instance(6);
  again.add_need_hello(1);
  again.add_need_hello(2);
  wire::ToAgent no;
  no.set_instance(5);
  no.set_refused("this collector serves run 'x'");
  no.set_finish(true);
  const std::string ten("\x09\x00", 2), many("\xff\x7f", 2);
  const auto put = [](InputWriter& w, unsigned act, const std::string& body, unsigned ms = 20) {
    w.u8(act).u16(ms).piece(body);
  };
  InputWriter w;
  put(w, 1u << 3, ten);
  put(w, 1u << 3 | 1u, many);
  put(w, 2u << 3, "");
  put(w, 5u << 3, reply.SerializeAsString());
  put(w, 1u << 3 | 2u, many);
  put(w, 5u << 3, again.SerializeAsString());
  put(w, 3u << 3, "");
  put(w, 5u << 3, reply.SerializeAsString());
  put(w, 4u << 3, "");
  seed("agent_reply", "confirmed", w.text());
  InputWriter r;
  put(r, 1u << 3, many);
  put(r, 5u << 3, no.SerializeAsString());
  put(r, 0x80u | 1u << 3, ten, 6000);
  put(r, 5u << 3, again.SerializeAsString(), 3000);
  seed("agent_reply", "refused", r.text());
}

void viewers() {
  support::SyntheticRun run;
  run.ranks = 3;
  const auto put = [](const std::string& name, unsigned flags, const std::string& bytes) {
    seed("report", name, InputWriter().u8(80).u8(24).u8(flags).bytes(bytes).text());
  };
  const wire::Report steady = support::synthetic_report(run, 12),
                     trouble = support::synthetic_report(run, 47);
  put("steady", 0, steady.SerializeAsString());
  put("stopped", 0xc0, trouble.SerializeAsString());
  put("lost-ascii", 2, support::synthetic_report(run, 62).SerializeAsString());
  put("empty-help", 4, "");
  wire::ControlReply reply;
  reply.set_version(1);
  reply.set_error("the archive could not be written to its end");
  *reply.mutable_report() = trouble;
  put("reply-gone", 9, reply.SerializeAsString());
  wire::ControlRequest request;
  request.set_version(wire::kWireVersion);
  request.set_kind(wire::ControlRequest::STATUS);
  seed("control_request", "status", request.SerializeAsString());
  request.set_kind(wire::ControlRequest::FINISH);
  request.set_exit_code(-3);
  request.set_timeout_ns(5'000'000'000);
  seed("control_request", "finish", request.SerializeAsString());
  request.set_kind(wire::ControlRequest::SILENCE);
  request.mutable_handle()->set_node("/n1");
  request.mutable_handle()->set_duration_ns(7'200'000'000'000);
  request.mutable_handle()->set_token(5);
  seed("control_request", "silence", request.SerializeAsString());
  request.set_version(9);
  seed("control_request", "version", request.SerializeAsString());

  alert::Alert a;
  a.id = "r-stall-1";
  a.run = "r";
  a.kind = alert::Kind::kStall;
  a.onset = TimeNs(1'700'000'000'000'000'000);
  a.node = "/n1";
  a.resources = {"/n1/rank1", "/n1/rank2"};
  a.affected = {"/"};
  a.states = {{"MPI_Wait", 0.08, 0.31}, {"Compute", 0.9, 0.6}};
  a.likely_cause = {"/n1/rank1"};
  std::string lines = alert::to_json(a);  // without a message: the sentence is made from the rest
  a.status = alert::Status::kResolved;
  a.end = a.onset + seconds(2);
  a.message = "rank1 on n1 has been stopped for 2 s";
  lines += '\n' + alert::to_json(a);
  seed("alerts", "stall", lines);
  alert::Handling handling;
  alert::Silence silence;
  silence.node = "/n?/rank1";
  silence.kind = alert::Kind::kStall;
  silence.until = a.onset + seconds(1000);
  silence.comment = "disk";
  static_cast<void>(handling.add(silence, a.onset));
  handling.acknowledge({"r-stall-1", a.onset, "ann", ""});
  handling.withhold(a, "s1");
  seed("alert_handling", "all", handling.encode() + '\n' + lines);
  a.kind = alert::Kind::kLoss;
  a.message.clear();
  a.lost_events = 12;
  seed("alerts", "loss", alert::to_json(a));
  seed("alerts", "no-json", "\x1b[31m{\"id\":\n[1,2]\n{\"onset_ns\":1e300,\"resources\":[null,\"/\"]}");
}

void views() {
  const auto put = [](const std::string& name, unsigned flags, const wire::ViewAnswer& answer) {
    seed("view_answer", name,
         InputWriter().u8(100).u8(80).u8(48).u8(flags).bytes(answer.SerializeAsString()).text());
  };
  for (unsigned n = 0; n < 4; ++n) {
    std::mt19937_64 rng(n);
    wire::ViewAnswer answer = support::random_view(rng, {5 + 4 * n, 6 + 3 * n, 6, 4, 0.7});
    for (int i = 0; i < 3; ++i) answer.add_curve()->set_p(0.3 * i);
    put(std::to_string(n), 1u << n, answer);
  }
  support::ViewBuilder temporal(3);
  temporal.state("Compute", wire::FAMILY_COMPUTE);
  temporal.raw().mutable_question()->set_partition(wire::ViewQuestion::TEMPORAL);
  temporal.part(0, 0, 2, {{0, 0.5F}}).part(0, 2, 3, {}, 0);
  put("temporal", 0, temporal.answer());
  wire::ViewAnswer refused;
  refused.set_error("there is no resource /n9");
  put("refused", 0, refused);
}

void events() {
  const auto put = [](const std::string& name, unsigned flags, const wire::EventsAnswer& answer) {
    seed("events_answer", name, InputWriter().u8(40).u8(flags).bytes(answer.SerializeAsString()).text());
  };
  const auto begin = [](wire::EventsQuestion::Kind kind) {
    wire::EventsAnswer a;
    a.mutable_question()->set_kind(kind);
    a.mutable_question()->set_to_ns(2'000'000'000);
    for (const char* path : {"/a/r0", "/a/r1", "/b", "/gone"}) a.add_resources(path);
    wire::Name& name = *a.add_names();
    name.set_name("MPI_Send");
    name.set_family(wire::FAMILY_POINT_TO_POINT);
    return a;
  };
  wire::EventsAnswer page = begin(wire::EventsQuestion::BY_TIME);
  for (std::uint32_t kind = 0; kind < 6; ++kind) {
    page.add_resource(kind % 4), page.add_name(0), page.add_kind(kind), page.add_depth(kind);
    page.add_begin_ns(1000 * kind), page.add_length_ns(kind < 2 ? 500 : 0), page.add_calls(1 + kind);
    page.add_longest_ns(200), page.add_bytes(4096), page.add_peer(static_cast<std::int32_t>(kind) - 1),
        page.add_tag(7);
    page.add_communicator(0), page.add_flags(kind);
  }
  page.add_density(6);
  page.mutable_next()->set_at_ns(7000);
  put("page", 0, page);
  wire::EventsAnswer sums = begin(wire::EventsQuestion::SUMS);
  wire::EventsSum& visits = *sums.add_sums();
  visits.set_count(9), visits.set_single(7), visits.set_mean_ns(120), visits.set_longest_ns(4000);
  for (const std::uint64_t from : {0u, 100u, 4000u})
    visits.add_bin_from_ns(from), visits.add_bin_until_ns(from + 4), visits.add_bin_count(from == 0 ? 5 : 1);
  sums.add_notes("2 calls were summed");
  put("sums", 0, sums);
  wire::EventsAnswer pairs = begin(wire::EventsQuestion::PAIRS);
  for (std::uint32_t i = 0; i < 4; ++i) {
    wire::EventsSum& s = *pairs.add_sums();
    s.set_from(i), s.set_to((i + 1) % 4), s.set_count(3), s.set_single(2), s.set_untimed(1),
        s.set_bytes(64u << i);
    s.set_total_ns(1000);
  }
  put("pairs", 0, pairs);
  put("pairs-folded", 1, pairs);
  wire::EventsAnswer waits = begin(wire::EventsQuestion::WAITS);
  waits.mutable_waits()->set_leaves(3), waits.mutable_waits()->set_waited_ns(4000);
  waits.mutable_waits()->set_unknown_ns(500);
  for (std::uint32_t i = 0; i < 3; ++i)
    waits.mutable_waits()->add_partner(i), waits.mutable_waits()->add_for_ns(900);
  put("waits", 0, waits);
  wire::EventsAnswer refused;
  refused.set_error("choose a shorter one");
  put("refused", 0, refused);
}

void models() {
  const auto put = [](const std::string& name, const std::string& text) {
    seed("partition_model", name, text);
  };
  put("text", "3 2 2 5\n3 3 4\n4 -1\n0.1 0.9 0.2 0.8\n0.3 0.7 0.4 0.6\n0.5 0.5 1 0\n");
  put("counts", "1 3 2 1\r\n-1\r\n1 3\t1e1 0 +0 0\r\n");
  put("short", "2 3 2 3\n2 2 -1\n0.1 0.9\n");
  put("huge", "2000000 1000000 65536 2000001\n");
  put("cycle", "3 2 2 6\n3 3 5 4 3 -1\n");
  put("csv",
      "resource,slice,state,value\n/a/y/2,5,run,0.25\n/b/z,5,wait,0.5\n/a/x,6,run,1\n/a/y/1,5,wait,0.75\n");
  put("csv-times",
      "resource,time,state,value\n/a/y/2,100.5,run,0.25\n/b/z,100.25,wait,0.5\n/a/x,101,run,1\n");
  put("csv-quoted", "\"/a/x,\"\"1\"\"\" , -3 ,\"two\nlines\",1\r\n\r\nb//c/,-1,s,0.5\r\n/b/c,-3,s,12\n");
  put("csv-twice", "/a,0,s,1\n/b,0,s,1\n/a,0,s,1\n");
  put("csv-inner", "/a/b,0,s,1\n/a,0,s,1\n");
  put("csv-far", "/a,0,s,1\n/a,999999,t,1\n/b,9007199254740992,s,1\n");
}

void files() {
  std::string text = config::default_text();
  // Without its comments: a small input changes faster.
  std::string bare;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    if (text[at] != '#' && text[at] != '\n') bare += text.substr(at, end - at);
    at = end;
  }
  seed("config", "default", bare);
  seed("config", "unknown-key", "[slice]\nduratoin = \"50ms\"\n");
  seed("config", "lists",
       "[detect]\nidle_states = [\"MPI_Wait\", \"x\\u0001\"]\n[slice]\nlevels = [\"1s\", \"10s\"]\n");
  seed("config", "nested", "a = [[[[{b = {c = [1, 2.5, nan, 1979-05-27]}}]]]]\n");
  int n = 0;
  for (const char* t :
       {"100ms", "1.5s", "0", "292y", "64MiB", "0.5KiB", "9223372036854775807ns", "1e3s", "2h"})
    seed("units", std::to_string(n++), t);
  const std::string stat =
      "123 (a) b(c) S 1 2 3 4 5 6 70 8 90 10 1100 1200 13 14 20 0 4 0 123456 18 19 20 21 22 23 24 25 26 27 "
      "28 29 30 31 "
      "32 33 17 2 36 37 38 39 40 41 42 43 44 45 46 47 9\n";
  seed("proc", "stat", InputWriter().u8(0).bytes(stat).text());
  seed("proc", "schedstat", InputWriter().u8(1).bytes("123456 789 10\n").text());
  seed("proc", "steal", InputWriter().u8(2).bytes("cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1 2\n").text());

  // Rings of a probe: nothing, some records, a head far ahead, a tail beyond it.
  const auto ring = [](std::uint64_t head, std::uint64_t tail) {
    probe::RingControl c{};
    c.offset = probe::ring_offset(0);
    c.capacity = probe::ring_capacity(0);
    c.state = probe::kLive;
    c.head = head;
    c.tail = tail;
    return std::string(reinterpret_cast<const char*>(&c), sizeof c);
  };
  const auto segment = [&](const std::string& name, unsigned flags, const std::string& control) {
    InputWriter w;
    w.u8(flags).u8(0).u16(0).piece(control);
    std::string records;
    for (const EventRecord& r : life(0, true)) records.append(reinterpret_cast<const char*>(&r), sizeof r);
    w.u8(10).u16(0).piece(records).u8(9).u16(48).piece("MPI_Send\xff\x01").u8(0).u16(0xffff);
    w.integer(std::uint64_t{6'000'000'000} << 2)
        .u8(0x18)
        .u8(0x40)
        .u8(0x80)
        .integer(std::uint64_t{40})
        .u8(0x40);
    seed("segment", name, w.text());
  };
  segment("sound", 0, ring(11, 0));
  segment("wrapped", 0, ring(probe::ring_capacity(0) + 5, probe::ring_capacity(0) - 3));
  segment("ahead", 0, ring(~std::uint64_t{0}, 4));
  segment("overtaken", 0, ring(4, 90));
  segment("zeros", 1, ring(1, 0));
}

// What a run's --capture keeps: whole, with a hole that is filled and one that is not, cut off, damaged.
void captures() {
  const auto file = [](const std::vector<wire::ToCollector>& messages) {
    InputWriter w;
    std::int64_t arrival = 4'000'000'000;
    for (const wire::ToCollector& m : messages) {
      const std::string body = m.SerializeAsString();
      w.integer(arrival += 6'000'000'000)
          .integer(std::uint32_t{5})
          .integer(static_cast<std::uint32_t>(body.size()));
      w.bytes("agent").bytes(body);
    }
    return w.text();
  };
  const auto batch = [](std::uint64_t source, std::uint64_t first, const std::vector<EventRecord>& records) {
    wire::ToCollector m = message();
    add_batch(m, source, first, records, 400);
    return m;
  };
  // Maps have no order: one attribute makes a file the same every time.
  const auto named = [](std::uint64_t source, const std::string& rank) {
    wire::ToCollector m = hello(source, rank);
    m.mutable_hello()->mutable_attributes()->erase("host");
    m.mutable_hello()->mutable_attributes()->erase("boot_id");
    return m;
  };
  const auto records = life(0, true);
  const std::string whole = file({named(1, "0"), batch(1, 0, records), named(3, "1"),
                                  batch(3, 0, life(5, false)), goodbye(1, records.size(), 300)});
  seed("capture", "whole", whole);
  seed("capture", "holes",
       file({named(1, "0"), batch(1, 3, {records[3]}), batch(1, 0, records), batch(1, 0, records),
             batch(1, 90, records), batch(1, 90, records), batch(1, 90, records)}));
  seed("capture", "cut-off", whole.substr(0, whole.size() - 30));
  std::string damaged = whole;
  for (std::size_t i = 40; i < damaged.size(); i += 97) damaged[i] = static_cast<char>(damaged[i] ^ 0x20);
  seed("capture", "damaged", damaged);
  seed("capture", "no-capture", "resource,slice,state,value\n/a,0,s,1\n");
}

// A handshake as a CURVE server answers it, and a gate's day. The keys are nobody's: made for this.
void strangers() {
  std::string greeting("\xff\0\0\0\0\0\0\0\1\x7f\3\1CURVE", 17);
  greeting.resize(64);
  const auto command = [](const std::string& name, std::size_t size) {
    std::string body(1, static_cast<char>(name.size()));
    body += name;
    body.resize(size, 'k');
    return std::string("\4", 1) + static_cast<char>(body.size()) + body;
  };
  const std::string welcome = command("WELCOME", 168), ready = command("READY", 60),
                    error = command("ERROR", 10);
  const auto handshake = [](const std::string& name, const std::string& bytes) {
    seed("gate", name, InputWriter().u8(0).piece("\1\7\100").bytes(bytes).text());
  };
  handshake("let-in", greeting + welcome + ready + "traffic");
  handshake("refused", greeting + welcome + error);
  handshake("too-early", greeting + ready);
  handshake("null", std::string("\xff\0\0\0\0\0\0\0\1\x7f\3\0NULL", 16) + std::string(48, '\0'));
  handshake("http", "GET / HTTP/1.0\r\n\r\n");
  InputWriter day;
  day.u8(1).u8(7).u8(3).u8(3).u8(200).u8(200).u8(50);
  for (unsigned i = 0; i < 60; ++i) day.u8(i % 7).u8(i * 37 % 251);
  seed("gate", "a-day", day.text());

  const std::string pair =
      "public Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID\nsecret D:)Q[IlAW!ahhC2ac:9*A}h:p?([4%wOTJ%JR%cs\n";
  const std::string other = "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7";
  seed("key_files", "server", "margay-server-key 1\n# secret\n" + pair);
  seed("key_files", "client",
       "margay-client-key 1\nname node7\nrole source\n" + pair + "server " + other + "\nserver " + other +
           "\n");
  seed(
      "key_files", "authorized",
      "margay-authorized 1\nname node7\nrole operator\ncreated 2026-11-20T12:00:00Z\npublic " + other + "\n");
  seed("key_files", "version", "margay-client-key 2\n");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s CORPUS\n", argv[0]);
    return 2;
  }
  fuzz::set_corpus(argv[1]);
  columns();
  conversations();
  agent_replies();
  viewers();
  views();
  events();
  fuzz::archive_seeds();
  models();
  files();
  captures();
  strangers();
  return 0;
}
