#include "margay/alert/handling.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "margay/base/text.h"
#include "margay/wire/alert.pb.h"

namespace margay::alert {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr int kVersion = 1;

ordered_json to_json(const Silence& s) {
  return {{"id", s.id},
          {"node", s.node},
          {"state", s.state},
          {"kind", s.kind ? ordered_json(to_string(*s.kind)) : ordered_json(nullptr)},
          {"from_ns", s.from.value},
          {"until_ns", s.until.value},
          {"by", s.by},
          {"comment", s.comment},
          {"token", s.token}};
}
ordered_json to_json(const Ack& a) {
  return {{"id", a.id}, {"at_ns", a.at.value}, {"by", a.by}, {"comment", a.comment}};
}

// Members of one object; whatever is not as it should be makes the whole wrong.
struct Reader {
  const json& object;
  bool good = true;
  std::string text(const char* name, std::size_t most) {
    const auto at = object.find(name);
    const bool fits =
        at != object.end() && at->is_string() && at->get_ref<const std::string&>().size() <= most;
    good = good && fits;
    return fits ? clean_utf8(at->get<std::string>()) : std::string();
  }
  TimeNs time(const char* name) {
    const auto at = object.find(name);
    const bool fits = at != object.end() && at->is_number_integer();
    good = good && fits;
    return TimeNs(fits ? at->get<std::int64_t>() : 0);
  }
  std::uint64_t count(const char* name) {
    const auto at = object.find(name);
    const bool fits = at != object.end() && at->is_number_unsigned();
    good = good && fits;
    return fits ? at->get<std::uint64_t>() : 0;
  }
};

Silence silence_from(const json& object, bool& good) {
  Reader in{object};
  Silence s;
  s.id = in.text("id", 24);
  s.node = in.text("node", Silence::kLongestPattern);
  s.state = in.text("state", Silence::kLongestPattern);
  s.from = in.time("from_ns");
  s.until = in.time("until_ns");
  s.by = in.text("by", Silence::kLongestName);
  s.comment = in.text("comment", Silence::kLongestComment);
  s.token = in.count("token");
  const auto kind = object.find("kind");
  if (kind != object.end() && kind->is_string()) {
    const auto known = kind_of(kind->get_ref<const std::string&>());
    in.good = in.good && known.has_value();
    if (known) s.kind = *known;
  } else {
    in.good = in.good && kind != object.end() && kind->is_null();
  }
  good = good && in.good && !s.id.empty() && check(s).has_value();
  return s;
}

Ack ack_from(const json& object, bool& good) {
  Reader in{object};
  Ack a{in.text("id", Ack::kLongestId), in.time("at_ns"), in.text("by", Silence::kLongestName),
        in.text("comment", Silence::kLongestComment)};
  good = good && in.good && !a.id.empty();
  return a;
}

// The entries of a list of at most `most` objects.
template <class Take>
bool each(const json& whole, const char* name, std::size_t most, const Take& take) {
  const auto list = whole.find(name);
  if (list == whole.end() || !list->is_array() || list->size() > most) return false;
  return std::all_of(list->begin(), list->end(), [&](const json& o) { return o.is_object() && take(o); });
}

std::string dump(const ordered_json& j) {
  return j.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace

void Handling::acknowledge(Ack ack) {
  ack.by = clean_utf8(ack.by, Silence::kLongestName);
  ack.comment = clean_utf8(ack.comment, Silence::kLongestComment);
  std::erase_if(acks_, [&](const Ack& a) { return a.id == ack.id; });
  acks_.push_back(std::move(ack));
  if (acks_.size() > kMostAcks) acks_.pop_front();
}

bool Handling::unacknowledge(std::string_view id) {
  return std::erase_if(acks_, [&](const Ack& a) { return a.id == id; }) > 0;
}

const Ack* Handling::ack_of(std::string_view id) const {
  const auto at = std::find_if(acks_.begin(), acks_.end(), [&](const Ack& a) { return a.id == id; });
  return at == acks_.end() ? nullptr : &*at;
}

Result<const Silence*> Handling::add(Silence s, TimeNs wall) {
  if (const auto same = std::find_if(silences_.begin(), silences_.end(),
                                     [&](const Silence& o) { return s.token != 0 && o.token == s.token; });
      same != silences_.end())
    return &*same;
  if (auto ok = check(s); !ok) return tl::unexpected(ok.error());
  if (s.until <= wall || s.until <= s.from)
    return fail(ErrorCode::kInvalidArgument, "the silence would be over before it begins");
  const TimeNs begin = std::max(s.from, wall);
  if (begin - wall > Silence::kLongest)
    return fail(ErrorCode::kInvalidArgument, "a silence may begin within a year from now");
  if (s.until - begin > Silence::kLongest)
    return fail(ErrorCode::kInvalidArgument, "a silence may last for a year at most");
  expire(wall);
  if (silences_.size() >= kMostSilences)
    return fail(ErrorCode::kInvalidArgument, "there are " + grouped(kMostSilences) +
                                                 " silences already, which is as many as there may be: "
                                                 "margay alerts unsilence ID");
  s.node = clean_utf8(std::move(s.node));
  s.state = clean_utf8(std::move(s.state));
  s.by = clean_utf8(std::move(s.by));
  s.comment = clean_utf8(std::move(s.comment));
  s.id = "s" + std::to_string(next_++);
  silences_.push_back(std::move(s));
  return &silences_.back();
}

Result<Silence> Handling::remove(std::string_view id) {
  const auto at =
      std::find_if(silences_.begin(), silences_.end(), [&](const Silence& s) { return s.id == id; });
  if (at == silences_.end())
    return fail(ErrorCode::kNotFound,
                "no silence '" + clean_utf8(id, 100) + "' (any more): margay alerts silences lists them");
  Silence gone = std::move(*at);
  silences_.erase(at);
  return gone;
}

bool Handling::expire(TimeNs wall) {
  return std::erase_if(silences_, [&](const Silence& s) { return s.until <= wall; }) > 0;
}

const Silence* Handling::silencing(const Alert& a, TimeNs wall) const {
  const Silence* last = nullptr;
  for (const Silence& s : silences_)
    if (active(s, wall) && (last == nullptr || s.until > last->until) && matches(s, a)) last = &s;
  return last;
}

void Handling::withhold(const Alert& a, const std::string& silence) {
  if (withheld(a.id) != nullptr) return;
  withheld_.push_back({a.id, silence});
  if (withheld_.size() > kMostWithheld) withheld_.pop_front();
}

const Withheld* Handling::withheld(std::string_view id) const {
  const auto at =
      std::find_if(withheld_.begin(), withheld_.end(), [&](const Withheld& w) { return w.id == id; });
  return at == withheld_.end() ? nullptr : &*at;
}

void Handling::release(std::string_view id) {
  std::erase_if(withheld_, [&](const Withheld& w) { return w.id == id; });
}

std::string Handling::encode() const {
  ordered_json j;
  j["version"] = kVersion;
  j["next"] = next_;
  j["acks"] = ordered_json::array();
  j["silences"] = ordered_json::array();
  j["withheld"] = ordered_json::array();
  for (const Ack& a : acks_) j["acks"].push_back(to_json(a));
  for (const Silence& s : silences_) j["silences"].push_back(to_json(s));
  for (const Withheld& w : withheld_) j["withheld"].push_back({{"id", w.id}, {"silence", w.silence}});
  return dump(j);
}

Result<Handling> Handling::decode_untrusted(std::string_view text) {
  Handling h;
  if (text.empty()) return h;
  const auto corrupt = [] {
    return fail(ErrorCode::kCorrupt, "what was said about alerts (silences, acknowledgements) does not read");
  };
  if (text.size() > kLargest) return corrupt();
  const json j = json::parse(text, nullptr, false);
  if (!j.is_object()) return corrupt();
  const auto version = j.find("version");
  if (version == j.end() || !version->is_number_unsigned() || *version < 1) return corrupt();
  if (*version > kVersion)
    return fail(ErrorCode::kVersion,
                "silences and acknowledgements were written by a newer Margay, and are left alone");
  bool good = true;
  Reader in{j};
  h.next_ = in.count("next");
  good = in.good && h.next_ > 0 && h.next_ < UINT64_MAX / 2;
  good = good && each(j, "acks", kMostAcks, [&](const json& o) {
           h.acks_.push_back(ack_from(o, good));
           return good;
         });
  good = good && each(j, "silences", kMostSilences, [&](const json& o) {
           h.silences_.push_back(silence_from(o, good));
           return good;
         });
  good = good && each(j, "withheld", kMostWithheld, [&](const json& o) {
           Reader one{o};
           h.withheld_.push_back({one.text("id", Ack::kLongestId), one.text("silence", 24)});
           return one.good && !h.withheld_.back().id.empty();
         });
  if (!good) return corrupt();
  return h;
}

HandledAlert handled_alert(const Handling& handling, const Alert& a, TimeNs wall) {
  HandledAlert out;
  if (const Ack* ack = handling.ack_of(a.id)) out.ack = *ack;
  if (const Withheld* w = handling.withheld(a.id))
    out.silenced_by = w->silence;
  else if (const Silence* s = handling.silencing(a, wall); s && a.status == Status::kFiring)
    out.silenced_by = s->id;
  return out;
}

wire::Handled to_wire(const HandledAlert& h) {
  wire::Handled out;
  out.set_silence(clean_utf8(h.silenced_by));
  if (!h.ack) return out;
  out.set_acknowledged(true);
  out.set_by(clean_utf8(h.ack->by));
  out.set_comment(clean_utf8(h.ack->comment));
  out.set_at_ns(h.ack->at.value);
  return out;
}

wire::Silences silences_to_wire(const Handling& h, TimeNs wall) {
  wire::Silences out;
  for (const Silence& s : h.silences()) {
    if (s.until <= wall) continue;
    wire::Silence& one = *out.add_silence();
    one.set_id(s.id);
    one.set_what(clean_utf8(what(s)));
    one.set_from_ns(s.from.value), one.set_until_ns(s.until.value);
    one.set_by(clean_utf8(s.by));
    one.set_comment(clean_utf8(s.comment));
    one.set_active(active(s, wall));
  }
  return out;
}

std::string handling_json(const Handling& h, TimeNs wall) {
  ordered_json j;
  j["silences"] = ordered_json::array();
  for (const Silence& s : h.silences()) {
    if (s.until <= wall) continue;
    ordered_json one = to_json(s);
    one.erase("token");
    one["active"] = active(s, wall);
    j["silences"].push_back(std::move(one));
  }
  j["acknowledged"] = ordered_json::array();
  for (const Ack& a : h.acks()) j["acknowledged"].push_back(to_json(a));
  return dump(j);
}

Result<std::string> find_id(const std::vector<std::string>& ids, std::string_view end) {
  const std::string shown = clean_utf8(end, 100);
  if (end.empty())
    return fail(ErrorCode::kInvalidArgument, "give the id of an alert; the end of the id is enough");
  std::vector<const std::string*> fitting;
  for (const std::string& id : ids) {
    if (id == end) return id;
    if (id.ends_with(end)) fitting.push_back(&id);
  }
  if (fitting.size() == 1) return *fitting.front();
  if (fitting.empty()) return fail(ErrorCode::kNotFound, "no alert '" + shown + "'");
  return fail(ErrorCode::kInvalidArgument, std::to_string(fitting.size()) + " alerts end with '" + shown +
                                               "': " + *fitting[0] + ", " + *fitting[1] +
                                               (fitting.size() > 2 ? ", ..." : ""));
}

}  // namespace margay::alert
