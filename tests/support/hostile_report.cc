#include "hostile_report.h"

#include <cstdint>
#include <limits>
#include <string>

namespace margay::support {
namespace {

std::string bytes(std::mt19937& rng) {
  static const char* const kPieces[] = {
      "\x1b[31m", "\x1b]0;x\x07", "\xff",         "\xe2\x82",    "\xf0\x9f\x98\x80", "\xcc\x81", "\r\n",
      "/",        "MPI_Wait",     "漢字",         "é",           "\xc2\x9b",         "rank",     " ",
      "\"",       "\\",           "\xe2\x80\xae", "\xed\xa0\x80"};
  std::string out;
  const unsigned pieces = rng() % 6;
  for (unsigned i = 0; i < pieces; ++i) {
    if (rng() % 3 == 0)
      out += static_cast<char>(rng() % 256);
    else
      out += kPieces[rng() % std::size(kPieces)];
  }
  if (rng() % 40 == 0) out += std::string(rng() % 5000, 'x');
  return out;
}
std::int64_t time(std::mt19937& rng) {
  switch (rng() % 6) {
    case 0:
      return std::numeric_limits<std::int64_t>::min();
    case 1:
      return std::numeric_limits<std::int64_t>::max();
    case 2:
      return 0;
    case 3:
      return -static_cast<std::int64_t>(rng()) * static_cast<std::int64_t>(rng() % 1000);
    default:
      return 1'700'000'000'000'000'000 + static_cast<std::int64_t>(rng()) * 100;
  }
}
std::uint64_t count(std::mt19937& rng) {
  return rng() % 4 == 0 ? std::numeric_limits<std::uint64_t>::max() - rng() % 3 : rng() % 1000;
}
void shares(std::mt19937& rng, google::protobuf::RepeatedPtrField<wire::StateShare>* out) {
  const unsigned n = rng() % 9;
  for (unsigned i = 0; i < n; ++i) {
    auto* s = out->Add();
    s->set_state(rng() % 3 == 0 ? rng() : rng() % 12);
    const float values[] = {std::numeric_limits<float>::quiet_NaN(),
                            std::numeric_limits<float>::infinity(),
                            -0.5f,
                            0.0f,
                            1e-30f,
                            0.2f,
                            0.5f,
                            1.0f,
                            3e38f};
    s->set_share(values[rng() % std::size(values)]);
  }
}
double number(std::mt19937& rng) {
  static const double kValues[] = {
      std::numeric_limits<double>::quiet_NaN(), -std::numeric_limits<double>::infinity(), 1e308, -1, 0, 0.5};
  return kValues[rng() % std::size(kValues)];
}

void alert(std::mt19937& rng, wire::Alert& a) {
  const auto texts = [&](auto* list) {
    for (unsigned i = rng() % 400; i > 300; --i) *list->Add() = rng() % 2 == 0 ? bytes(rng) : "/node1/rank1";
  };
  if (rng() % 4 != 0) a.set_id(bytes(rng));
  a.set_kind(static_cast<wire::Alert::Kind>(static_cast<int>(rng() % 10) - 2));
  a.set_resolved(rng() % 2 == 0);
  a.set_onset_ns(time(rng));
  if (rng() % 2 == 0) a.set_end_ns(time(rng));
  a.set_emitted_wall_ns(time(rng));
  a.set_node(rng() % 2 == 0 ? bytes(rng) : "/node1");
  a.set_phase(bytes(rng));
  a.set_score_bits(number(rng));
  a.set_lost_events(count(rng));
  if (rng() % 2 == 0) a.set_message(bytes(rng));
  texts(a.mutable_resources());
  texts(a.mutable_likely_cause());
  for (unsigned i = rng() % 100; i > 10; --i) {
    auto& change = *a.add_states();
    change.set_state(bytes(rng));
    change.set_expected(number(rng));
    change.set_observed(number(rng));
  }
  if (rng() % 2 == 0) return;
  auto& handled = *a.mutable_handled();
  handled.set_acknowledged(rng() % 2 == 0);
  handled.set_by(bytes(rng));
  handled.set_comment(bytes(rng));
  handled.set_at_ns(time(rng));
  handled.set_silence(bytes(rng));
}

}  // namespace

wire::Report hostile_report(std::mt19937& rng) {
  wire::Report r;
  r.set_run(bytes(rng));
  r.set_command(bytes(rng));
  r.set_slice_ns(time(rng));
  r.set_watermark_ns(time(rng));
  r.set_emitted_wall_ns(time(rng));
  r.set_run_begin_ns(time(rng));
  r.set_final(rng() % 4 == 0);
  for (unsigned i = rng() % 15; i > 0; --i) {
    auto* s = r.add_states();
    s->set_name(bytes(rng));
    s->set_family(rng() % 4 == 0 ? rng() : rng() % 10);
  }
  for (unsigned i = rng() % 80; i > 0; --i) {
    auto* n = r.add_nodes();
    n->set_path(bytes(rng));
    n->set_depth(rng() % 10 == 0 ? rng() : rng() % 4);
    n->set_leaves(rng() % 5 == 0 ? rng() : rng() % 70);
    static const char* const kConditions[] = {"", "", "", "stopped", "silent", "lost", "ended", "\x1b[2J"};
    n->set_condition(kConditions[rng() % std::size(kConditions)]);
    shares(rng, n->mutable_shares());
  }
  for (unsigned i = rng() % 20; i > 0; --i) {
    auto* p = r.add_phases();
    p->set_name(bytes(rng));
    p->set_label(bytes(rng));
    p->set_begin_ns(time(rng));
    p->set_end_ns(time(rng));
    p->set_occurrence(rng());
    p->set_current(rng() % 3 == 0);
  }
  for (unsigned i = rng() % 30; i > 20; --i) {
    auto* level = r.add_levels();
    level->set_slice_ns(time(rng));
    for (int p = 0; p < r.phases_size() && rng() % 4 != 0; ++p) {
      wire::PhaseSpan* const span = level->add_phases();
      *span = r.phases(p);
      span->set_told(rng() % 2 == 0);
      for (unsigned k = rng() % 4; k > 0; --k) {
        auto* part = span->add_made_of();
        part->set_name(bytes(rng));
        part->set_share(std::numeric_limits<double>::quiet_NaN());
      }
    }
  }
  for (int i = 0; i < r.phases_size(); i += 2) {
    auto* d = r.add_phase_durations();
    d->set_name(r.phases(i).name());
    d->set_times(rng() % 3 == 0 ? rng() : rng() % 9);
    d->set_usual_ns(time(rng));
    d->set_low_ns(time(rng));
    d->set_high_ns(time(rng));
    d->set_last_ns(time(rng));
  }
  if (r.phases_size() > 0 && rng() % 2 == 0) {
    auto* f = r.mutable_forecast();
    f->set_phase(r.phases(r.phases_size() - 1).name());
    f->set_end_ns(time(rng));
    f->set_earliest_ns(time(rng));
    f->set_latest_ns(time(rng));
    f->set_confidence(std::numeric_limits<double>::quiet_NaN());
    f->set_next(bytes(rng));
    f->set_next_share(std::numeric_limits<double>::infinity());
    f->set_overdue(rng() % 4 == 0);
  }
  for (unsigned i = rng() % 20; i > 0; --i) alert(rng, *r.add_alerts());
  auto* h = r.mutable_health();
  h->set_lag_ns(time(rng));
  h->set_lost_events(count(rng));
  h->set_sources_live(rng());
  h->set_restarts(rng() % 3);
  for (unsigned i = rng() % 10; i > 0; --i) {
    auto* s = h->add_sources();
    s->set_resource(bytes(rng));
    s->set_produced(count(rng));
    s->set_modelled(count(rng));
    s->set_probe_dropped(count(rng));
    s->set_wire_lost(count(rng));
    s->set_condition(bytes(rng));
    auto* c = h->add_counters();
    c->set_name(bytes(rng));
    c->set_help(bytes(rng));
    c->set_value(count(rng));
    c->set_severity(rng());
  }
  r.mutable_spatiotemporal()->set_p(std::numeric_limits<double>::quiet_NaN());
  return r;
}

}  // namespace margay::support
