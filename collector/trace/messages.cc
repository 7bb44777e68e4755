#include "margay/trace/messages.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace margay::trace {
namespace {

constexpr std::uint32_t kWorld = 0;

template <std::size_t N>
bool is_one_of(const std::string& name, const std::array<std::string_view, N>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

MessagePairs::Role MessagePairs::role_of(const Name& name) {
  static constexpr std::array<std::string_view, 8> kSends = {"MPI_Send",   "MPI_Bsend", "MPI_Ssend",
                                                             "MPI_Rsend",  "MPI_Isend", "MPI_Ibsend",
                                                             "MPI_Issend", "MPI_Irsend"};
  static constexpr std::array<std::string_view, 2> kReceives = {"MPI_Recv", "MPI_Mrecv"};
  static constexpr std::array<std::string_view, 2> kBoth = {"MPI_Sendrecv", "MPI_Sendrecv_replace"};
  static constexpr std::array<std::string_view, 2> kPosts = {"MPI_Irecv", "MPI_Imrecv"};
  static constexpr std::array<std::string_view, 7> kCompletes = {
      "MPI_Wait", "MPI_Waitany", "MPI_Waitsome", "MPI_Test", "MPI_Testall", "MPI_Testany", "MPI_Testsome"};
  if (name.kind != Name::Kind::kState) return Role::kNone;
  if (is_one_of(name.text, kSends)) return Role::kSend;
  if (is_one_of(name.text, kReceives)) return Role::kReceive;
  if (is_one_of(name.text, kBoth)) return Role::kBoth;
  if (is_one_of(name.text, kPosts)) return Role::kPost;
  if (name.text == "MPI_Start" || name.text == "MPI_Startall") return Role::kStart;
  if (name.text == "MPI_Waitall") return Role::kCompleteAll;
  return is_one_of(name.text, kCompletes) ? Role::kComplete : Role::kNone;
}

Status MessagePairs::add(const Occurrence& call, const Name& name) {
  if (call.kind != Occurrence::Kind::kState || call.leaf.value >= processes_.size()) return {};
  if (roles_.size() <= call.name) roles_.resize(call.name + std::size_t{1});
  std::uint8_t& known = roles_[call.name];
  if (known == 0) known = static_cast<std::uint8_t>(1 + static_cast<int>(role_of(name)));
  const Role role = static_cast<Role>(known - 1);
  const Process& who = processes_[call.leaf.value];
  if (role == Role::kNone || who.rank < 0) return {};
  const bool completes = role == Role::kComplete || role == Role::kCompleteAll;
  if (role == Role::kStart) {
    counts_.started += call.calls;
    return {};
  }
  if (call.calls != 1 || call.longest.value > 0) {
    if (!completes) counts_.summed += call.calls;
    return {};
  }
  if (sends_.size() + receives_.size() + completions_.size() >= kMost)
    return fail(ErrorCode::kLimit, "there are more than " + std::to_string(kMost) +
                                       " calls that send, receive or wait: ask for a shorter time");
  if ((role == Role::kSend || role == Role::kBoth) && call.posted_peer >= 0) {
    if (call.comm != kWorld)
      ++counts_.elsewhere;
    else
      sends_.push_back({{who.job, who.rank, call.posted_peer, call.posted_tag},
                        call.leaf,
                        call.name,
                        call.begin,
                        call.end,
                        call.posted_bytes});
  }
  if (completes)
    completions_.push_back({{who.job, call.completed ? call.peer : -1, who.rank, call.tag},
                            call.begin,
                            call.end,
                            call.completed || call.bytes > 0 ? call.bytes : 0,
                            role == Role::kCompleteAll});
  else if (role != Role::kSend)
    add_receive(call, role, who);
  return {};
}

void MessagePairs::add_receive(const Occurrence& call, Role role, const Process& who) {
  Receive r{{who.job, call.peer, who.rank, call.tag}, call.leaf, call.name, call.begin, call.end};
  r.elsewhere = call.comm != kWorld;
  if (role == Role::kPost) {
    r.lane.from = call.posted_peer, r.lane.tag = call.posted_tag;
  } else {
    // From MPI_PROC_NULL, or an error; one that goes on may still get something.
    if (!call.completed) return;
    r.completed = true, r.bytes = call.bytes;
  }
  receives_.push_back(r);
}

// Of the receives that are open at a process the one that a call says it completed.
void MessagePairs::complete_one(const Completion& by, std::vector<std::size_t>& open) {
  const auto fits = [&](std::size_t i) {
    const Lane& lane = receives_[i].lane;
    return (lane.from < 0 || lane.from == by.lane.from) && (lane.tag < 0 || lane.tag == by.lane.tag);
  };
  // One that was posted for just that, before those from anybody.
  auto found = std::find_if(open.begin(), open.end(), [&](std::size_t i) {
    return receives_[i].lane.from == by.lane.from && receives_[i].lane.tag == by.lane.tag;
  });
  if (found == open.end()) found = std::find_if(open.begin(), open.end(), fits);
  if (found == open.end()) {
    ++counts_.unposted;
    return;
  }
  Receive& r = receives_[*found];
  r.lane.from = by.lane.from, r.lane.tag = by.lane.tag;
  r.end = by.end, r.bytes = by.bytes, r.completed = true;
  open.erase(found);
}

// Says of nonblocking receives by which calls they completed.
void MessagePairs::complete() {
  std::vector<std::size_t> posts;
  for (std::size_t i = 0; i < receives_.size(); ++i)
    if (!receives_[i].completed) posts.push_back(i);
  const auto process = [](const Lane& lane) { return std::pair(lane.job, lane.to); };
  std::sort(posts.begin(), posts.end(), [&](std::size_t a, std::size_t b) {
    const Receive &x = receives_[a], &y = receives_[b];
    return std::tuple(process(x.lane), x.posted, a) < std::tuple(process(y.lane), y.posted, b);
  });
  std::stable_sort(completions_.begin(), completions_.end(), [&](const Completion& a, const Completion& b) {
    return std::pair(process(a.lane), a.begin) < std::pair(process(b.lane), b.begin);
  });
  std::vector<std::size_t> open;
  std::size_t next = 0;
  for (std::size_t i = 0; i < completions_.size(); ++i) {
    const Completion& by = completions_[i];
    const auto who = process(by.lane);
    if (i == 0 || process(completions_[i - 1].lane) != who) open.clear();
    while (next < posts.size() && process(receives_[posts[next]].lane) < who) ++next;
    for (; next < posts.size() && process(receives_[posts[next]].lane) == who &&
           receives_[posts[next]].posted <= by.begin;
         ++next)
      open.push_back(posts[next]);
    if (by.lane.from >= 0) {
      complete_one(by, open);
    } else if (by.all && by.bytes > 0) {
      for (const std::size_t o : open) receives_[o].end = by.end, receives_[o].completed = true;
      open.clear();
    }
  }
  // Those that say what they completed completed nothing else.
  std::erase_if(completions_, [](const Completion& c) { return c.lane.from >= 0; });
}

TimeNs MessagePairs::earliest(const Receive& r, TimeNs sent) const {
  const auto who = std::pair(r.lane.job, r.lane.to);
  const auto process = [](const Completion& c) { return std::pair(c.lane.job, c.lane.to); };
  const TimeNs least = std::max(r.end, sent);
  // Calls of a process follow each other; a program that polls has many.
  const auto c = std::partition_point(completions_.begin(), completions_.end(), [&](const Completion& x) {
    return process(x) < who || (process(x) == who && (x.begin < r.posted || x.end < least));
  });
  return c != completions_.end() && process(*c) == who ? c->end : least;
}

void MessagePairs::pair(std::vector<Message>& out) {
  std::stable_sort(sends_.begin(), sends_.end(), [](const Send& a, const Send& b) {
    return std::pair(a.lane, a.begin) < std::pair(b.lane, b.begin);
  });
  std::stable_sort(receives_.begin(), receives_.end(), [](const Receive& a, const Receive& b) {
    return std::pair(a.lane, a.posted) < std::pair(b.lane, b.posted);
  });
  auto s = sends_.begin();
  for (const Receive& r : receives_) {
    while (s != sends_.end() && s->lane < r.lane) ++s, ++counts_.untaken;
    if (s == sends_.end() || r.lane < s->lane || (r.completed && r.end + slack_ < s->begin)) {
      ++counts_.unsent;
      continue;
    }
    counts_.doubtful += r.completed && r.bytes > s->bytes ? 1 : 0;
    out.push_back({s->leaf, r.leaf, s->name, r.name, s->begin, s->end, r.posted,
                   r.completed ? r.end : earliest(r, s->begin), r.completed, s->bytes, s->lane.tag});
    ++counts_.paired;
    ++s;
  }
  counts_.untaken += static_cast<std::uint64_t>(sends_.end() - s);
}

MessageCounts MessagePairs::finish(std::vector<Message>& out) {
  complete();
  const auto leaves = [&](const Receive& r) {
    const bool nobody = r.lane.from < 0 || r.lane.tag < 0;
    counts_.elsewhere += r.elsewhere ? 1 : 0;
    counts_.anybody += !r.elsewhere && nobody ? 1 : 0;
    return r.elsewhere || nobody;
  };
  std::erase_if(receives_, leaves);
  counts_.sent = sends_.size(), counts_.received = receives_.size();
  const std::size_t first = out.size();
  pair(out);
  std::sort(
      out.begin() + static_cast<std::ptrdiff_t>(first), out.end(), [](const Message& a, const Message& b) {
        return std::tuple(a.sent, a.from, a.to, a.received) < std::tuple(b.sent, b.from, b.to, b.received);
      });
  sends_ = {}, receives_ = {}, completions_ = {};
  return counts_;
}

}  // namespace margay::trace
