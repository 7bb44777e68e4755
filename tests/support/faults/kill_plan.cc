#include "kill_plan.h"

#include <algorithm>
#include <cstring>

#include "margay/base/time.h"

namespace margay::test {
namespace {

constexpr std::uint32_t kMostInARow = 3;  // recoveries killed one after the other

std::string names(std::int64_t bits, std::initializer_list<const char*> of) {
  std::string out;
  for (const char* name : of) {
    if ((bits & 1) != 0) out += (out.empty() ? "" : "+") + std::string(name);
    bits >>= 1;
  }
  return out;
}

}  // namespace

KillPlan::KillPlan(std::uint32_t kills, std::uint64_t seed) : random_(seed) {
  for (std::size_t k = 0; k < 4; ++k) left_[k] = kills / 4 + (k < kills % 4 ? 1 : 0);
}

std::uint32_t KillPlan::left() const {
  return left_[0] + left_[1] + left_[2] + left_[3];
}

void KillPlan::order(FaultyDaemon& daemon, std::int64_t op, std::int64_t what, std::int64_t nth,
                     std::int64_t when) {
  faults_page& p = daemon.page();
  p.kill_op = op;
  p.kill_class = what;
  p.kill_countdown = nth;
  p.kill_when = when;
  p.kill_torn_permille = 1 + below(999);
  p.kill_not_before = p.kill_needs_write = p.kill_pattern_bytes = 0;
  std::memset(p.kill_thread, 0, sizeof p.kill_thread);
}

void KillPlan::arm_next(FaultyDaemon& daemon) {
  faults_page& p = daemon.page();
  const bool ack = left(KillKind::kCommit) == 0 ||
                   (left(KillKind::kAck) != 0 && done(KillKind::kAck) < done(KillKind::kCommit));
  armed_ = ack ? KillKind::kAck : KillKind::kCommit;
  if (ack) {
    // The log has been written, and nothing said to an agent since: before the send, or in the middle of it.
    order(daemon, FAULTS_SEND, FAULTS_INGEST, 1 + below(3), below(3) == 0 ? FAULTS_TORN : FAULTS_BEFORE);
    p.kill_needs_write = 1;
  } else if (below(4) == 0) {
    // A flush or a compaction: tables, the manifest, what else the database keeps.
    order(daemon, FAULTS_WRITE | FAULTS_SYNC | FAULTS_RENAME | FAULTS_UNLINK | FAULTS_OPEN,
          FAULTS_SST | FAULTS_MANIFEST | FAULTS_OTHER, 1 + below(12), below(3));
  } else {
    order(daemon, FAULTS_WRITE, FAULTS_WAL, 1 + below(4), below(4) == 0 ? FAULTS_BEFORE : FAULTS_TORN);
  }
  daemon.arm();
}

void KillPlan::arm_amendment(FaultyDaemon& daemon, SliceIndex amended, TimeNs release) {
  armed_ = KillKind::kAmendment;
  order(daemon, FAULTS_WRITE, FAULTS_WAL, 1, below(3));
  faults_page& p = daemon.page();
  p.kill_not_before = release.value;
  // The key of the slice (collector/store/keys.h): level 0, index big-endian with the sign flipped.
  const std::uint64_t key = static_cast<std::uint64_t>(amended.value) ^ (std::uint64_t{1} << 63);
  p.kill_pattern[0] = 0;
  for (int i = 0; i < 8; ++i) p.kill_pattern[1 + i] = static_cast<char>(key >> (56 - 8 * i));
  p.kill_pattern_bytes = 9;
  daemon.arm();
}

bool KillPlan::wants_recovery() {
  if (left(KillKind::kRecovery) == 0 || in_a_row_ == kMostInARow) return false;
  // Behind its share, or now and then at once after another.
  const std::uint32_t others = done_[0] + done_[1] + done_[2];
  return done(KillKind::kRecovery) * 3 < others || below(3) == 0;
}

void KillPlan::arm_recovery(FaultyDaemon& daemon, std::int64_t calls, std::int64_t reads) {
  armed_ = KillKind::kRecovery;
  if (reads > 0 && below(4) == 0) {
    // While the analysis looks back through the slices.
    order(daemon, FAULTS_READ, FAULTS_SST, 1 + below(reads), FAULTS_BEFORE);
    std::strcpy(daemon.page().kill_thread, "margay-analyse");
  } else {
    order(daemon, FAULTS_WRITE | FAULTS_SYNC | FAULTS_OPEN | FAULTS_RENAME | FAULTS_UNLINK | FAULTS_RESIZE,
          FAULTS_WAL | FAULTS_SST | FAULTS_MANIFEST | FAULTS_OTHER,
          1 + below(std::max<std::int64_t>(1, calls)), below(3));
  }
  daemon.arm();
}

std::string KillPlan::judge(const faults_page& p, bool settled, std::string& line) {
  if (p.killed_order != p.kill_order) return "it died of something else";
  const auto k = static_cast<std::size_t>(armed_);
  const bool whole = p.kill_when == FAULTS_TORN && p.killed_bytes == 0;  // nothing in it to be torn
  static constexpr const char* kWhen[] = {"before", "torn", "after"};
  line = std::string(kKillNames[k]) + ": " + kWhen[whole ? 2 : p.kill_when] + " a " +
         names(p.killed_op, {"write", "sync", "open", "rename", "unlink", "resize", "read", "send"}) +
         " of " + names(p.killed_class, {"log", "table", "manifest", "other", "agent"}) + ", " +
         std::to_string(p.killed_done) + " of " + std::to_string(p.killed_bytes) + " bytes, by " +
         std::string(p.killed_thread, strnlen(p.killed_thread, sizeof p.killed_thread)) + ", call " +
         std::to_string(p.killed_call);
  std::string wrong;
  switch (armed_) {
    case KillKind::kCommit:
      if (p.killed_op == FAULTS_WRITE && p.kill_when == FAULTS_TORN && p.killed_done >= p.killed_bytes)
        wrong = "the write was whole";
      break;
    case KillKind::kAck:
      if (p.killed_op != FAULTS_SEND || p.killed_log_bytes <= 0 || p.killed_done >= p.killed_bytes)
        wrong = "not between a commit and its acknowledgement";
      line += ", " + std::to_string(p.killed_log_bytes) + " bytes of log since the last word to the agent";
      break;
    case KillKind::kAmendment:
      if (p.killed_class != FAULTS_WAL) wrong = "not in a commit";
      break;
    case KillKind::kRecovery:
      if (settled) wrong = "it was at work again already";
      break;
  }
  if (!wrong.empty()) return wrong;
  in_a_row_ = armed_ == KillKind::kRecovery ? in_a_row_ + 1 : 0;
  ++done_[k];
  if (left_[k] > 0) --left_[k];
  return {};
}

}  // namespace margay::test
