#include "margay/query/message_list.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "event_filter.h"
#include "margay/base/text.h"
#include "margay/trace/archive_trace.h"

namespace margay::daemon {
namespace {

// How far the clocks of two machines may be apart, and a message seem to be there before it was sent.
constexpr DurationNs kClocks = milliseconds(1);

std::string attribute(const model::Attributes& a, const char* name) {
  const auto at = a.find(name);
  return at == a.end() ? std::string() : at->second;
}

// Whose leaf each is, and on how many machines they are.
struct Processes {
  std::vector<trace::MessagePairs::Process> of_leaf;
  std::set<std::string> hosts;

  explicit Processes(const store::Resume& resume) {
    std::map<std::string, std::uint32_t> jobs;
    for (const store::LeafRecord& l : resume.leaves) {
      const std::string rank = attribute(l.attributes, "rank");
      trace::MessagePairs::Process p;
      const auto [end, error] = std::from_chars(rank.data(), rank.data() + rank.size(), p.rank);
      if (error != std::errc() || end != rank.data() + rank.size()) p.rank = -1;
      p.job = jobs.emplace(attribute(l.attributes, "pmix_namespace"), jobs.size()).first->second;
      of_leaf.push_back(p);
      hosts.insert(attribute(l.attributes, "host"));
    }
  }
};

}  // namespace

std::vector<std::string> unpaired_notes(const trace::MessageCounts& c) {
  std::vector<std::string> out;
  const auto say = [&](std::uint64_t n, const char* what) {
    if (n > 0) out.push_back(grouped(n) + what);
  };
  say(c.elsewhere, " calls send or receive in another communicator than MPI_COMM_WORLD: not paired");
  say(c.started, " calls start persistent requests, and do not say to or from whom: not paired");
  say(c.summed,
      " calls that send or receive were summed by the probe: not paired (margay run --every-call records "
      "each)");
  say(c.anybody, " receives are not paired: no call says from whom they were");
  say(c.unposted, " waits completed a persistent receive, or one that was posted before: not paired");
  say(c.untaken, " messages were sent, and no receive of them was found");
  say(c.unsent, " messages were received, and no send of them was found");
  say(c.doubtful, " pairs may be wrong: more came than was sent");
  return out;
}

Result<MessageListCounts> list_messages(const store::Archive& archive, const store::Resume& resume,
                                        const MessageQuery& query,
                                        const std::function<Status(const MessageRow&)>& take) {
  EventQuery asked;
  asked.from = query.from, asked.to = query.to, asked.nodes = query.nodes, asked.view = query.view;
  asked.resources = query.resources;
  EventFilter filter(asked, resume);
  if (Status ok = filter.check(); !ok) return tl::unexpected(ok.error());
  const auto raw = trace::has_raw(archive, resume, query.from);
  if (!raw) return tl::unexpected(raw.error());
  if (Status kept = some_are_kept(archive, query.to); !kept) return tl::unexpected(kept.error());

  const Processes processes(resume);
  trace::MessagePairs pairs(processes.of_leaf, processes.hosts.size() > 1 ? kClocks : DurationNs());
  const DurationNs around =
      std::clamp(query.to - query.from, MessageQuery::kLeastAround, MessageQuery::kMostAround);
  trace::ArchiveTraceOptions options;
  options.from = std::max(query.from, resume.run.begin) - around;
  options.to = resume.run.end ? std::min(query.to, *resume.run.end) + around : query.to + around;
  options.wanted = [&](LeafIndex l) { return processes.of_leaf[l.value].rank >= 0; };
  options.step = [&](TimeNs t) -> Status {
    if (query.progress && t > options.from)
      query.progress(static_cast<double>((t - options.from).value) /
                     static_cast<double>((options.to - options.from).value));
    if (query.go_on && !query.go_on()) return fail(ErrorCode::kTimeout, "the reading was ended");
    return {};
  };
  // A call that began before what is read is not known by its begin, and its order not by others.
  trace::Occurrences calls(options.from, options.to, [&](const trace::Occurrence& o) {
    return o.begun_before || o.begin < options.from ? Status() : pairs.add(o, calls.names()[o.name]);
  });
  const auto read = trace::read_archive(archive, resume, options, calls);
  if (!read) return tl::unexpected(read.error());

  MessageListCounts counts;
  std::vector<trace::Message> messages;
  counts.calls = pairs.finish(messages);
  counts.holes = read->holes;
  counts.exact = options.from <= resume.run.begin && *raw;
  std::erase_if(messages, [&](const trace::Message& m) {
    const bool touches = m.sent < query.to && std::max(m.sent, m.received) >= query.from;
    return !touches || (query.least.value > 0 && m.received - m.sent < query.least) ||
           !(filter.wanted(m.from) || filter.wanted(m.to)) || !filter.shows(m.from) || !filter.shows(m.to);
  });
  if (query.refused > 0 && messages.size() > query.refused)
    return fail(ErrorCode::kLimit, "there are more than " + std::to_string(query.refused) + " messages");
  if (query.longest > 0) {
    std::erase_if(messages, [](const trace::Message& m) { return !m.completed; });
    std::stable_sort(messages.begin(), messages.end(), [](const trace::Message& a, const trace::Message& b) {
      return a.received - a.sent > b.received - b.sent;
    });
    messages.resize(std::min<std::size_t>(messages.size(), query.longest));
  }
  for (const trace::Message& m : messages) {
    if (query.most > 0 && counts.told == query.most) {
      counts.more = true;
      break;
    }
    ++counts.told;
    if (Status ok = take(
            {m, filter.path(m.from), filter.path(m.to), calls.names()[m.sent_by], calls.names()[m.taken_by]});
        !ok)
      return tl::unexpected(ok.error());
  }
  return counts;
}

}  // namespace margay::daemon
