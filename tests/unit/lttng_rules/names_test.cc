#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recorder.h"
#include "symbol_maps.h"

namespace margay::lttng_rules::test {
namespace names_test {

using ::testing::Contains;
using ::testing::ElementsAre;

std::vector<std::string> marks(Trace& t) {
  std::vector<std::string> out;
  for (const std::string& line : t.sink.take())
    if (const std::size_t at = line.find("mark 100/101 "); at != std::string::npos)
      out.push_back(line.substr(at + 13));
  return out;
}

TEST(Names, OfFields) {
  Trace t("[[mark]]\nevent=\"*\"\nname=\"{1}: {i} {u} {r} {t} {hex:u} {procname} {{}}\"");
  const auto e = t.cls("e", {"i", "u:u", "r:r", "t:t"});
  t.procname = "p";
  t.event(e, {-1, -1, 0.25, "text"});
  EXPECT_THAT(marks(t), ElementsAre("e: -1 18446744073709551615 0.25 text 0xffffffffffffffff p {}"));
}

TEST(Names, OfOneIntegerAreKept) {
  Limits limits;
  limits.cached = 4;
  Trace t("[[mark]]\nevent=\"e\"\nname=\"n{i}\"\n[[mark]]\nevent=\"f\"\nname=\"m{i}\"", limits);
  const auto e = t.cls("e", {"i"});
  const auto f = t.cls("f", {"i"});
  for (std::int64_t i = 0; i < 20; ++i) {
    t.event(e, {i % 6});
    t.event(f, {i % 6});
    EXPECT_THAT(marks(t), ElementsAre("n" + std::to_string(i % 6), "m" + std::to_string(i % 6)));
  }
}

TEST(Names, AreCutCleanedAndBounded) {
  Limits limits;
  limits.names = 3;
  limits.name_bytes = 4;
  Trace t("[[mark]]\nevent=\"e\"\nname=\"{t}\"", limits);
  const auto e = t.cls("e", {"t:t"});
  for (const char* text : {"abcdefgh", "\x1b[2J", "aa\xc3\xa4\xc3\xa4", "more", "more", ""})
    t.event(e, {text});
  EXPECT_THAT(marks(t),
              ElementsAre("abcd", "?[2J", "aa\xc3\xa4", "(other names)", "(other names)", "(other names)"));
  EXPECT_EQ(t.account().names_left_out, 3u);
}

constexpr char kFunctions[] = R"(
[[mark]]
event = "call"
name = "{symbol:addr}"
[[library]]
event = "load"
[[library]]
event = "unload"
unload = true
)";

TEST(Names, OfSymbolsAreThoseOfTheProcess) {
  Trace t(kFunctions);
  const auto call = t.cls("call", {"addr:u"});
  const auto load = t.cls("load", {"baddr:u", "memsz:u", "path:t"});
  const auto unload = t.cls("unload", {"baddr:u"});
  t.event(call, {0x1010});  // nothing is known to lie there
  t.event(load, {0x1000, 0x100, "/x/lib.so"});
  t.event(call, {0x1010});
  t.event(call, {0x1010});
  t.event(call, {0x10f0});  // there, but no symbol
  t.event(call, {0x1100});  // behind it
  t.event_of(200, 200, load, {0x1000, 0x100, "/x/other.so"});
  t.event(load, {0x1000, 0x80, "/x/new.so"});  // in its place
  t.event(call, {0x1010});
  t.event(unload, {0x1000});
  t.event(call, {0x1010});
  EXPECT_THAT(marks(t), ElementsAre("0x1010", "/x/lib.so#1", "/x/lib.so#1", "lib.so+0xf0", "0x1100",
                                    "/x/new.so#1", "0x1010"));
  EXPECT_EQ(t.symbols.asked, 3);
  EXPECT_EQ(t.account().used, t.events);
  t.expect_account_adds_up();
}

TEST(Names, AnEmptyLibraryIsNone) {
  Trace t(kFunctions);
  const auto load = t.cls("load", {"baddr:u", "memsz:u", "path:t"});
  t.event(load, {0x1000, 0, "[linux-vdso.so.1]"});
  t.event(load, {-1, 16, "wraps"});
  t.event_of(-1, -1, load, {0x1000, 16, "of nobody"});
  EXPECT_EQ(t.account().ignored, 2u);
  EXPECT_EQ(t.account().unattributed, 1u);
}

TEST(SymbolMap, IsBounded) {
  SymbolMap map;
  for (std::uint64_t i = 0; i < 4; ++i) EXPECT_EQ(map.add(i * 16, 16, "lib", 3), i < 3);
  EXPECT_TRUE(map.add(8, 16, "over two", 3));
  FakeSymbols symbols;
  EXPECT_EQ(map.name_of(8, symbols), "over two#0");
  EXPECT_EQ(map.name_of(4, symbols), "0x4");
}

}  // namespace names_test
}  // namespace margay::lttng_rules::test
