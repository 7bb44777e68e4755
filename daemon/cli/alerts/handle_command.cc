#include "handle_command.h"

#include <pwd.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <random>

#include "archive/archive_facts.h"
#include "evidence.h"
#include "margay/alert/handling.h"
#include "margay/settings/units.h"
#include "margay/text/table.h"
#include "margay/text/text.h"
#include "where_flags.h"

namespace margay::daemon {
namespace {

using Kind = HandlingRequest::Kind;

constexpr DurationNs kPatience = seconds(10);
constexpr std::size_t kLongestId = 300;

int refuse(const std::string& sentence) {
  std::fprintf(stderr, "margay: %s\n", text::printable(sentence, true, 2000).c_str());
  return 1;
}

std::string user_name() {
  const passwd* const user = getpwuid(geteuid());
  return user != nullptr && user->pw_name != nullptr ? user->pw_name : std::to_string(geteuid());
}

std::uint64_t random_token() {
  std::random_device random;
  return (std::uint64_t{random()} << 32 | random()) | 1;
}

// Whom to ask: a daemon, or nobody but the archive.
struct Target {
  Where where;
  std::string archive;  // "": the daemon at `where`
};

Result<Target> target_of(const std::string& text, const Where& where) {
  Target t{where, ""};
  if (!where.endpoint.empty()) {
    if (text.empty()) return t;
    return fail(ErrorCode::kInvalidArgument, "either '" + text + "' or --connect, not both");
  }
  const auto runs = transport::list_runs();
  if (text.empty()) {
    if (!runs.empty()) return t;
    return fail(ErrorCode::kNotFound,
                "no run is live here; say which archive is meant (margay archive ls), or --connect to the "
                "daemon on another machine");
  }
  if (!is_archive(text)) {
    t.where.run = text;
    if (std::find(runs.begin(), runs.end(), text) != runs.end()) return t;
    return fail(ErrorCode::kNotFound, text + ": is neither a run that is live (margay runs) nor an archive");
  }
  const auto archive = store::Archive::open(text, store::Mode::kBeside);
  if (!archive) return tl::unexpected(archive.error());
  if (!(*archive)->is_live()) {
    t.archive = text;
    return t;
  }
  const auto resume = (*archive)->load();
  if (!resume) return tl::unexpected(resume.error());
  t.where.run = resume->run.run;
  if (std::find(runs.begin(), runs.end(), t.where.run) != runs.end()) return t;
  return fail(ErrorCode::kUnavailable,
              text +
                  ": a daemon is writing it that is not reached from here: be the user it runs as, or "
                  "--connect to its listen.control");
}

Result<std::string> said_by_daemon(const Where& where, const HandlingRequest& request) {
  const auto reply = ask(where, to_wire(request), kPatience);
  if (!reply) return tl::unexpected(reply.error());
  return reply->said();
}

Result<alert::Handling> handling_at(const Target& t) {
  if (t.archive.empty()) {
    const auto reply = ask(t.where, to_wire({}), kPatience);
    if (!reply) return tl::unexpected(reply.error());
    return alert::Handling::decode_untrusted(reply->handling());
  }
  const auto archive = store::Archive::open(t.archive, store::Mode::kBeside);
  if (!archive) return tl::unexpected(archive.error());
  const auto resume = (*archive)->load();
  if (!resume) return tl::unexpected(resume.error());
  return handling_in(*resume);
}

// Which moments a silence's times were taken for: "18:00" may be tomorrow. A line, or "".
std::string times_text(const HandlingRequest& h) {
  const bool planned = h.from != TimeNs();
  const TimeNs until = planned && h.duration > DurationNs(0) ? h.from + h.duration : h.until;
  if (until == TimeNs()) return "";
  return "it holds" + (planned ? " from " + text::date_text(h.from) : "") + " until " +
         text::date_text(until) + "\n";
}

// The policy of a daemon that would watch it now.
Result<alert::NotificationPolicy> policy_of(const store::Archive& archive, const store::Resume& resume,
                                            TimeNs now) {
  auto handling = handling_in(resume);
  if (!handling) return fail(handling.error(), archive.path());
  const auto alerts = read_alerts(archive);
  if (!alerts) return tl::unexpected(alerts.error());
  alert::NotificationPolicy policy(std::move(*handling));
  for (const alert::Alert& a : *alerts)
    if (a.status == alert::Status::kFiring) static_cast<void>(policy.take(a, true, now));
  return policy;
}

// What makes no sense is said before anybody is asked.
Status complete(HandleRequest& r, std::string& place) {
  HandlingRequest& h = r.asked;
  const bool about = r.ack->parsed() || r.unack->parsed() || r.unsilence->parsed();
  if (about) {
    h.id = r.words.back();
    r.words.pop_back();
    if (h.id.empty() || h.id.size() > kLongestId)
      return fail(ErrorCode::kInvalidArgument,
                  "give the id of an alert or silence; the end of the id is enough");
  }
  if (!r.words.empty()) place = r.words.front();
  h.kind = r.ack->parsed()         ? Kind::kAcknowledge
           : r.unack->parsed()     ? Kind::kUnacknowledge
           : r.silence->parsed()   ? Kind::kSilence
           : r.unsilence->parsed() ? Kind::kUnsilence
                                   : Kind::kList;
  h.token = random_token();
  if (h.by.empty()) h.by = user_name();
  alert::Silence s;
  s.node = h.kind == Kind::kSilence ? h.node : "/";
  s.state = h.state;
  s.by = h.by;
  s.comment = h.comment;
  if (h.kind == Kind::kSilence && !h.what.empty()) {
    const auto kind = alert::kind_of(h.what);
    if (!kind) return fail(kind.error(), "--kind");
    s.kind = *kind;
  }
  if (auto ok = alert::check(s); !ok) return ok;
  if (h.kind != Kind::kSilence) return {};
  const TimeNs now = SystemClock().realtime();
  if (!r.from_text.empty()) {
    const auto from = parse_moment(r.from_text, now);
    if (!from) return fail(from.error(), "--from");
    h.from = *from;
  }
  if (r.for_text.empty() == r.until_text.empty())
    return fail(ErrorCode::kInvalidArgument, "for how long? either --for 2h, or --until 18:00");
  if (!r.for_text.empty()) {
    const auto d = config::parse_duration(r.for_text);
    if (!d) return fail(d.error(), "--for");
    if (*d == DurationNs(0)) return fail(ErrorCode::kInvalidArgument, "--for 0: expected longer than that");
    h.duration = *d;
  } else {
    const auto until = parse_moment(r.until_text, std::max(now, h.from));
    if (!until && parse_moment(r.until_text, now))
      return fail(ErrorCode::kInvalidArgument,
                  "--until " + r.until_text + ": expected later than --from " + r.from_text);
    if (!until) return fail(until.error(), "--until");
    h.until = *until;
  }
  return {};
}

}  // namespace

void add_handle_commands(CLI::App& alerts, HandleRequest& r) {
  const std::string place = "name of a run, or an archive (default: the newest run)";
  r.ack = alerts.add_subcommand(
      "ack",
      R"(Acknowledge an alert that fires: you look after it. File, command, webhook, Alertmanager and journal
get no more updates of it; whoever got its beginning also gets its end.

  margay alerts ack 13900-3                         in the newest run; the end of an id is enough
  margay alerts ack night.margay 13900-3 --comment "disk swap")");
  r.unack = alerts.add_subcommand(
      "unack",
      R"(Take an acknowledgement back. If the alert has changed meanwhile, its present state is sent; updates
are sent again.

  margay alerts unack 13900-3)");
  for (auto* s : {r.ack, r.unack})
    s->add_option("alert", r.words, place + ", and the id of the alert; the end of the id is enough")
        ->option_text("[RUN] ALERT")
        ->required()
        ->expected(1, 2);
  r.silence = alerts.add_subcommand(
      "silence",
      R"(Send no notifications about some alerts for some time: to file, command, webhook, Alertmanager,
journal. The alerts are detected, archived and listed all the same. What still fires at the end is
sent then.

  margay alerts silence --node /node7 --for 2h --comment "maintenance"
  margay alerts silence --node '/*/rank3' --kind stall --until 18:00
  margay alerts silence --state 'MPI_File_*' --for 1d
  margay alerts silence --node /node7 --from "2026-11-28 06:00" --for 4h)");
  r.silence->add_option("run", r.words, "name of a run, or an archive (default: the newest run)")
      ->expected(0, 1);
  r.silence
      ->add_option(
          "--node", r.asked.node,
          "alerts that blame this node, or nodes below it, and no other; * and ? match characters of a "
          "name; / is every node")
      ->type_name("NODE");
  r.silence->add_option("--state", r.asked.state, "alerts in which this state rose or fell; * and ? as above")
      ->type_name("STATE");
  r.silence
      ->add_option("--kind", r.asked.what,
                   "alerts of this kind: perturbation, stall, phase_duration, source_lost, loss")
      ->type_name("KIND");
  r.silence->add_option("--for", r.for_text, "how long: 30min, 2h, 7d")->type_name("DURATION");
  r.silence
      ->add_option(
          "--until", r.until_text,
          "or until when: 18:00 (the next one), \"2026-11-21 18:00\"; local time, UTC with a Z at the end")
      ->type_name("WHEN");
  r.silence
      ->add_option("--from", r.from_text,
                   "when it begins, written as for --until (default: now); --for counts from then")
      ->type_name("WHEN");
  r.silences = alerts.add_subcommand("silences", R"(List the silences that are active or planned, one a line.

  margay alerts silences)");
  r.silences->add_option("run", r.words, "name of a run, or an archive (default: the newest run)")
      ->expected(0, 1);
  r.silences->add_flag("--json", r.json, "print JSON, for programs; with the acknowledgements");
  r.unsilence = alerts.add_subcommand(
      "unsilence", R"(End a silence now. Alerts that it held back and that still fire are sent.

  margay alerts unsilence s1)");
  r.unsilence->add_option("silence", r.words, place + ", and the id of the silence: s1")
      ->option_text("[RUN] SILENCE")
      ->required()
      ->expected(1, 2);
  for (auto* s : {r.ack, r.silence}) {
    s->add_option("--comment", r.asked.comment, "the reason, for others")->type_name("TEXT");
    s->add_option("--by", r.asked.by, "who asks for it (default: your user name)")->type_name("NAME");
  }
  for (auto* s : {r.ack, r.unack, r.silence, r.silences, r.unsilence}) add_connect(*s, r.where);
}

bool handle_parsed(const HandleRequest& r) {
  return r.ack->parsed() || r.unack->parsed() || r.silence->parsed() || r.silences->parsed() ||
         r.unsilence->parsed();
}

int handle_command(HandleRequest r) {
  std::string place;
  if (const Status s = complete(r, place); !s) return refuse(s.error().message);
  const auto target = target_of(place, r.where);
  if (!target) return refuse(target.error().message);
  const TimeNs now = SystemClock().realtime();
  if (r.silences->parsed()) {
    const auto handling = handling_at(*target);
    if (!handling) return refuse(handling.error().message);
    std::fputs((r.json ? alert::handling_json(*handling, now) + "\n" : silences_text(*handling, now)).c_str(),
               stdout);
    return 0;
  }
  const auto said = target->archive.empty() ? said_by_daemon(target->where, r.asked)
                                            : perform_in_archive(target->archive, r.asked, now);
  if (!said) return refuse(said.error().message);
  std::printf("%s\n%s", text::printable(*said, true, 2000).c_str(), times_text(r.asked).c_str());
  return 0;
}

Result<TimeNs> parse_moment(const std::string& given, TimeNs after) {
  std::string text = given;
  const bool utc = !text.empty() && text.back() == 'Z';
  if (utc) text.pop_back();
  const std::time_t that_day = static_cast<std::time_t>(after.value / 1'000'000'000);
  const auto seconds_of = [&](std::tm& t) { return utc ? timegm(&t) : mktime(&t); };
  const auto read = [&](const char* pattern, std::tm& t) {
    const char* const end = strptime(text.c_str(), pattern, &t);
    return end != nullptr && *end == '\0';
  };
  for (const char* pattern : {"%H:%M", "%H:%M:%S"}) {
    std::tm t{};
    static_cast<void>(utc ? gmtime_r(&that_day, &t) : localtime_r(&that_day, &t));
    t.tm_sec = 0;
    if (!read(pattern, t)) continue;
    t.tm_isdst = -1;
    std::tm next_day = t;
    TimeNs at = TimeNs() + seconds(seconds_of(t));
    if (at <= after) {
      ++next_day.tm_mday;
      at = TimeNs() + seconds(seconds_of(next_day));
    }
    return at;
  }
  for (const char* pattern : {"%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S"}) {
    std::tm t{};
    if (!read(pattern, t)) continue;
    t.tm_isdst = -1;
    const TimeNs at =
        TimeNs() + seconds(std::clamp<std::int64_t>(seconds_of(t), 0, INT64_MAX / 2'000'000'000));
    if (at > after) return at;
    return fail(ErrorCode::kInvalidArgument, given + ": is over already");
  }
  return fail(ErrorCode::kInvalidArgument,
              given + ": expected a time such as 18:00 or \"2026-11-21 18:00\", with a Z for UTC");
}

Result<alert::Handling> handling_in(const store::Resume& resume) {
  for (const store::Blob& b : resume.state)
    if (b.name == alert::kHandlingBlob) return alert::Handling::decode_untrusted(b.bytes);
  return alert::Handling();
}

std::string silences_text(const alert::Handling& h, TimeNs now) {
  const auto& all = h.silences();
  const bool planned =
      std::any_of(all.begin(), all.end(), [&](const alert::Silence& s) { return now < s.from; });
  std::vector<std::string> head = {"silence", "of", "from", "until", "holds", "by", "comment"};
  if (!planned) head.erase(head.begin() + 2);
  text::Table table(head);
  bool any = false;
  for (const alert::Silence& s : all) {
    if (s.until <= now) continue;
    any = true;
    const auto safe = [](const std::string& text) {
      return text::shortened(text::printable(text, true, 400), 60);
    };
    const auto in = [&](TimeNs t) { return text::duration_text(text::minus(t.value, now.value)); };
    std::vector<std::string> row = {safe(s.id),
                                    safe(alert::what(s)),
                                    text::date_text(s.from),
                                    text::date_text(s.until),
                                    now < s.from ? "in " + in(s.from) : in(s.until) + " more",
                                    safe(s.by),
                                    safe(s.comment)};
    if (!planned) row.erase(row.begin() + 2);
    table.add(std::move(row));
  }
  return any ? table.text() : "no silences\n";
}

Result<std::string> perform_in_archive(const std::string& path, const HandlingRequest& request, TimeNs now) {
  // What makes no sense changes nothing, not even the archive's format.
  {
    const auto archive = store::Archive::open(path, store::Mode::kBeside);
    if (!archive) return tl::unexpected(archive.error());
    const auto resume = (*archive)->load();
    if (!resume) return tl::unexpected(resume.error());
    if (resume->run.end && request.kind != Kind::kUnsilence)
      return fail(ErrorCode::kInvalidArgument,
                  path + ": this run is over; none of its alerts fires any more");
    auto policy = policy_of(**archive, *resume, now);
    if (!policy) return tl::unexpected(policy.error());
    if (const auto tried = perform(request, *policy, now); !tried) return fail(tried.error(), path);
  }
  const auto archive = store::Archive::open(path, store::Mode::kWrite);
  if (!archive) return tl::unexpected(archive.error());
  const auto resume = (*archive)->load();
  if (!resume) return tl::unexpected(resume.error());
  auto policy = policy_of(**archive, *resume, now);
  if (!policy) return tl::unexpected(policy.error());
  auto said = perform(request, *policy, now);
  if (!said) return fail(said.error(), path);
  store::Cut cut;
  cut.sequence = resume->sequence + 1;
  cut.wall = now;
  cut.state = {{alert::kHandlingBlob, policy->handling().encode()}};
  if (const Status s = (*archive)->commit(cut, true); !s) return tl::unexpected(s.error());
  return *said + " (no daemon watches this run now; it takes effect when one continues the run)";
}

}  // namespace margay::daemon
