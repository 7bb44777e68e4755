#include "margay/wire/family_by_name.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string>

namespace margay::wire {
namespace {

// By which kind wins where a name has words of several.
enum WordKind : std::uint8_t { kWaits, kRests, kAll, kTwo, kFiles, kEnds, kWorks, kSilent };
constexpr std::array<StateFamily, kSilent + 1> kFamilyOfKind = {
    FAMILY_WAIT, FAMILY_IDLE,      FAMILY_COLLECTIVE, FAMILY_POINT_TO_POINT,
    FAMILY_IO,   FAMILY_START_END, FAMILY_COMPUTE,    FAMILY_OTHER};

struct Stem {
  std::string_view text;
  WordKind kind;
};
// In order of the alphabet.
constexpr Stem kStems[] = {
    {"abort", kEnds},      {"acquir", kWaits},     {"advect", kWorks},     {"allgather", kAll},
    {"allgatherv", kAll},  {"allreduc", kAll},     {"alltoall", kAll},     {"alltoallv", kAll},
    {"alltoallw", kAll},   {"assembl", kWorks},    {"backward", kWorks},   {"barrier", kAll},
    {"bcast", kAll},       {"blend", kWorks},      {"blocked", kWaits},    {"blocking", kWaits},
    {"broadcast", kAll},   {"bsend", kTwo},        {"calc", kWorks},       {"calculat", kWorks},
    {"chain", kWorks},     {"checkpoint", kFiles}, {"clos", kFiles},       {"codec", kWorks},
    {"collectiv", kAll},   {"compress", kWorks},   {"comput", kWorks},     {"contend", kWaits},
    {"conver", kWorks},    {"convers", kWorks},    {"convert", kWorks},    {"copi", kWorks},
    {"copy", kWorks},      {"creat", kEnds},       {"decod", kWorks},      {"decompress", kWorks},
    {"decrypt", kWorks},   {"deflat", kWorks},     {"destroy", kEnds},     {"dgemm", kWorks},
    {"disk", kFiles},      {"draw", kWorks},       {"dump", kFiles},       {"encod", kWorks},
    {"encrypt", kWorks},   {"epoll", kWaits},      {"evaluat", kWorks},    {"exchang", kTwo},
    {"exec", kEnds},       {"execut", kWorks},     {"execv", kEnds},       {"exit", kEnds},
    {"exscan", kAll},      {"factoris", kWorks},   {"factoriz", kWorks},   {"fclos", kFiles},
    {"fdatasync", kFiles}, {"fft", kWorks},        {"file", kFiles},       {"fill", kWorks},
    {"filter", kWorks},    {"finalis", kEnds},     {"finaliz", kEnds},     {"flush", kFiles},
    {"fopen", kFiles},     {"fork", kEnds},        {"forward", kWorks},    {"fprintf", kFiles},
    {"fread", kFiles},     {"fsync", kFiles},      {"futex", kWaits},      {"fwrit", kFiles},
    {"gather", kAll},      {"gatherv", kAll},      {"gemm", kWorks},       {"generat", kWorks},
    {"halo", kTwo},        {"hash", kWorks},       {"ibsend", kTwo},       {"idl", kRests},
    {"inflat", kWorks},    {"init", kEnds},        {"initialis", kEnds},   {"initializ", kEnds},
    {"input", kFiles},     {"integrat", kWorks},   {"interpolat", kWorks}, {"io", kFiles},
    {"iread", kFiles},     {"irecv", kTwo},        {"irsend", kTwo},       {"isend", kTwo},
    {"isendrecv", kTwo},   {"issend", kTwo},       {"iterat", kWorks},     {"iwrit", kFiles},
    {"kernel", kWorks},    {"launch", kEnds},      {"lock", kWaits},       {"lseek", kFiles},
    {"matmul", kWorks},    {"memcpy", kWorks},     {"memmov", kWorks},     {"memset", kWorks},
    {"messag", kTwo},      {"mrecv", kTwo},        {"msync", kFiles},      {"multiply", kWorks},
    {"mutex", kWaits},     {"nanosleep", kRests},  {"open", kFiles},       {"openat", kFiles},
    {"output", kFiles},    {"park", kRests},       {"pars", kWorks},       {"paus", kRests},
    {"poll", kWaits},      {"ppoll", kWaits},      {"pread", kFiles},      {"preadv", kFiles},
    {"predict", kWorks},   {"print", kFiles},      {"printf", kFiles},     {"probe", kWaits},
    {"process", kWorks},   {"pull", kTwo},         {"push", kTwo},         {"put", kTwo},
    {"pwrit", kFiles},     {"pwritev", kFiles},    {"rdlock", kWaits},     {"read", kFiles},
    {"readv", kFiles},     {"receiv", kTwo},       {"recv", kTwo},         {"recvfrom", kTwo},
    {"recvmmsg", kTwo},    {"recvmsg", kTwo},      {"reduc", kAll},        {"reduct", kAll},
    {"render", kWorks},    {"resiz", kWorks},      {"rget", kTwo},         {"rput", kTwo},
    {"rsend", kTwo},       {"run", kWorks},        {"sav", kFiles},        {"scatter", kAll},
    {"scatterv", kAll},    {"search", kWorks},     {"seek", kFiles},       {"semaphore", kWaits},
    {"send", kTwo},        {"sendfil", kFiles},    {"sendmmsg", kTwo},     {"sendmsg", kTwo},
    {"sendrecv", kTwo},    {"sendto", kTwo},       {"setup", kEnds},       {"sgemm", kWorks},
    {"shutdown", kEnds},   {"simulat", kWorks},    {"sleep", kRests},      {"socket", kFiles},
    {"solv", kWorks},      {"sort", kWorks},       {"spawn", kEnds},       {"splic", kFiles},
    {"spmv", kWorks},      {"ssend", kTwo},        {"start", kEnds},       {"startup", kEnds},
    {"stencil", kWorks},   {"stop", kEnds},        {"synchronis", kWaits}, {"synchroniz", kWaits},
    {"teardown", kEnds},   {"terminat", kEnds},    {"testall", kWaits},    {"testany", kWaits},
    {"testsome", kWaits},  {"timedwait", kWaits},  {"train", kWorks},      {"transfer", kTwo},
    {"transform", kWorks}, {"updat", kWorks},      {"usleep", kRests},     {"wait", kWaits},
    {"waitall", kWaits},   {"waitany", kWaits},    {"waitsome", kWaits},   {"work", kWorks},
    {"write", kFiles},     {"writev", kFiles},     {"wrlock", kWaits},     {"yield", kRests}};
constexpr std::size_t kLongestStem = 12;
static_assert(std::all_of(std::begin(kStems), std::end(kStems),
                          [](const Stem& s) { return s.text.size() <= kLongestStem; }));
static_assert(std::is_sorted(std::begin(kStems), std::end(kStems),
                             [](const Stem& a, const Stem& b) { return a.text < b.text; }));

constexpr std::string_view kEndings[] = {"",    "e",    "s",   "es",    "ed",    "er",     "ers",
                                         "ing", "ings", "ion", "ation", "ators", "ations", "or"};

bool is_ending(std::string_view text) {
  return std::find(std::begin(kEndings), std::end(kEndings), text) != std::end(kEndings);
}

WordKind kind_of_word(std::string_view word) {
  for (std::size_t n = std::min(word.size(), kLongestStem); n >= 2; --n) {
    const std::string_view stem = word.substr(0, n), ending = word.substr(n);
    const auto* at = std::lower_bound(std::begin(kStems), std::end(kStems), stem,
                                      [](const Stem& a, std::string_view b) { return a.text < b; });
    if (at == std::end(kStems) || at->text != stem) continue;
    // "running": the last letter twice.
    const bool twice = ending.size() > 2 && ending.front() == stem.back() && is_ending(ending.substr(1));
    if (twice || is_ending(ending)) return at->kind;
  }
  return kSilent;
}

bool is_small(char c) {
  return c >= 'a' && c <= 'z';
}
bool is_capital(char c) {
  return c >= 'A' && c <= 'Z';
}

WordKind kind_of_name(std::string_view name) {
  WordKind out = kSilent;
  std::string word;
  const auto end_word = [&] {
    out = std::min(out, kind_of_word(word));
    word.clear();
  };
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    if (!is_small(c) && !is_capital(c)) {
      end_word();
      continue;
    }
    // "waitForMutex", and "XMLReader" before the last of its capitals.
    const bool next_small = i + 1 < name.size() && is_small(name[i + 1]);
    if (is_capital(c) && i > 0 && (is_small(name[i - 1]) || (is_capital(name[i - 1]) && next_small)))
      end_word();
    word += is_capital(c) ? static_cast<char>(c - 'A' + 'a') : c;
  }
  end_word();
  return out;
}

}  // namespace

StateFamily family_by_name(std::string_view name, StateFamily said) {
  if (said != FAMILY_OTHER && said != FAMILY_REGION) return said;
  return kFamilyOfKind[kind_of_name(name.substr(0, name.find('(')))];
}

}  // namespace margay::wire
