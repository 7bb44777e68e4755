#include "margay/analysis/phase_memory.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>

namespace margay::daemon {
namespace {

static_assert(std::endian::native == std::endian::little);
constexpr std::string_view kPrefix = "phase/";
constexpr std::uint32_t kVersion = 2;  // 1 had no visits
constexpr std::size_t kLongestName = 24;
constexpr double kMostVisits = 1e6;  // only how they divide matters

template <class T>
void put(std::string& out, T value) {
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  out.append(bytes, sizeof value);
}

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  template <class T>
  T get() {
    T value{};
    if (bytes_.size() < sizeof value) {
      good_ = false;
      bytes_ = {};
      return value;
    }
    std::memcpy(&value, bytes_.data(), sizeof value);
    bytes_.remove_prefix(sizeof value);
    return value;
  }
  double proportion() {
    const double v = static_cast<double>(get<float>());
    if (!(v >= 0 && v <= 1e9)) good_ = false;
    return v;
  }
  std::size_t left() const { return bytes_.size(); }
  bool good() const { return good_; }

 private:
  std::string_view bytes_;
  bool good_ = true;
};

}  // namespace

// version u32, born i64, slices f32, columns u32, leaves u32, states u16 x columns, weights f32 x leaves,
// sums f32 x leaves x columns, visits f32 x columns. Little endian.
std::optional<store::Blob> to_blob(const detect::KnownPhase& k) {
  const auto& d = k.signature;
  const std::size_t size = 24 + 6 * d.columns() + 4 * d.leaves() + 4 * d.sums().size();
  if (size > kLargestSignature || k.name.size() > kLongestName || k.states.size() != d.columns() ||
      d.sums().size() != d.columns() * d.leaves())
    return std::nullopt;
  store::Blob blob;
  blob.name = std::string(kPrefix) + k.name;
  put(blob.bytes, kVersion);
  put(blob.bytes, k.born.value);
  put(blob.bytes, static_cast<float>(d.slices()));
  put(blob.bytes, static_cast<std::uint32_t>(d.columns()));
  put(blob.bytes, static_cast<std::uint32_t>(d.leaves()));
  for (const StateId s : k.states) put(blob.bytes, s.value);
  for (const double w : d.weights()) put(blob.bytes, static_cast<float>(w));
  for (const double v : d.sums()) put(blob.bytes, static_cast<float>(v));
  const double visits = std::accumulate(d.visits().begin(), d.visits().end(), 0.0);
  const double scale = visits > kMostVisits ? kMostVisits / visits : 1;
  for (const double n : d.visits()) put(blob.bytes, static_cast<float>(n * scale));
  return blob;
}

std::optional<detect::KnownPhase> from_blob_untrusted(const store::Blob& blob) {
  if (!blob.name.starts_with(kPrefix) || blob.name.size() > kPrefix.size() + kLongestName ||
      blob.bytes.size() > kLargestSignature)
    return std::nullopt;
  Reader in(blob.bytes);
  detect::KnownPhase k;
  k.name = blob.name.substr(kPrefix.size());
  const auto version = in.get<std::uint32_t>();
  if (version == 0 || version > kVersion) return std::nullopt;
  k.born = SliceIndex(in.get<std::int64_t>());
  const double slices = in.proportion();
  const std::size_t columns = in.get<std::uint32_t>(), leaves = in.get<std::uint32_t>();
  if (!in.good() || columns > kLargestSignature || leaves > kLargestSignature ||
      in.left() != (version == 1 ? 2 : 6) * columns + 4 * leaves + 4 * columns * leaves)
    return std::nullopt;
  for (std::size_t x = 0; x < columns; ++x) k.states.emplace_back(in.get<std::uint16_t>());
  std::vector<double> weights(leaves), sums(leaves * columns), visits(version == 1 ? 0 : columns);
  for (double& w : weights) w = in.proportion();
  for (double& v : sums) v = in.proportion();
  for (double& n : visits) n = in.proportion();
  if (!in.good()) return std::nullopt;
  k.signature = detect::Distribution(columns, std::move(sums), std::move(weights), slices, std::move(visits));
  return k;
}

detect::PhaseMemory phase_memory(const store::Resume& resume, SliceIndex first) {
  detect::PhaseMemory memory;
  const TimeNs begin = slice_begin(first, resume.run.levels[0]);
  for (const store::Blob& b : resume.signatures)
    if (auto k = from_blob_untrusted(b); k && k->born < first) {
      // A state that the run does not have.
      bool known = true;
      for (const StateId s : k->states) known = known && s.value < resume.states.size();
      if (known) memory.phases.push_back(std::move(*k));
    }
  for (const auto* of : {&resume.phases, &resume.coarser_phases})
    for (const store::PhaseRecord& p : *of)
      if (!p.current && p.end <= begin)
        memory.before.push_back({p.index, p.name, p.label, p.begin, p.end, p.occurrence, false});
  return memory;
}

}  // namespace margay::daemon
