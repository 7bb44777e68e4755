// The colours of all names that Margay's own sources give: MPI's functions as the probe has them, GStreamer's
// as they are in its debug log, what the shipped LTTng rules name, and names as they are in Paje traces and
// annotated programs. In both palettes and both themes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <sstream>

#include "margay/scene/palette.h"
#include "margay/scene/view_data.h"
#include "margay/wire/family_by_name.h"

namespace margay::scene {
namespace shipped_colours_test {

using testing::IsEmpty;
using testing::SizeIs;

constexpr auto OTHER = wire::FAMILY_OTHER, P2P = wire::FAMILY_POINT_TO_POINT, COLL = wire::FAMILY_COLLECTIVE,
               WAIT = wire::FAMILY_WAIT, IO = wire::FAMILY_IO, START = wire::FAMILY_START_END;

const std::vector<State>& mpi() {
  static const std::vector<State> all = {
      {"Compute", wire::FAMILY_COMPUTE},
#define SPECIAL(name, family) {#name, family},
#define FN(name, family, ...) {#name, family},
#define RECV(name, family, ...) {#name, family},
#define IRECV(name, family, ...) {#name, family},
#include "functions.def"
  };
  return all;
}

// What the log of gst-launch-1.0 1.22 has, of a film that is played; what GStreamer's reader says is idle or
// waits is said here, too.
const std::vector<State>& gstreamer() {
  static const std::vector<State> all = [] {
    std::vector<State> out = {{"Compute", wire::FAMILY_COMPUTE}, {"(other states)", OTHER}};
    for (const char* name : {"gst_bus_source_dispatch", "gst_bus_source_prepare", "gst_bus_source_check",
                             "gst_bus_timed_pop_filtered", "gst_task_func", "gst_poll_wait", "gst_queue_loop",
                             "gst_multi_queue_loop"})
      out.push_back({name, wire::FAMILY_IDLE});
    for (const char* name :
         {"gst_queue_chain_buffer_or_list", "gst_clock_id_wait", "gst_system_clock_id_wait_jitter",
          "gst_system_clock_id_wait_jitter_unlocked", "gst_base_sink_wait_clock"})
      out.push_back({name, WAIT});
    std::istringstream others(
        "gst_pad_chain_data_unchecked gst_bus_post gst_buffer_map_range _get_merged_memory "
        "gst_jpeg_dec_prepare_decode update_time_level gst_base_sink_do_sync gst_pad_query "
        "gst_bin_handle_message_func gst_video_decoder_prepare_finish_frame gst_jpegenc_handle_frame "
        "gst_jpeg_dec_decode gst_base_sink_chain_unlocked default_generate_output "
        "gst_buffer_add_video_meta_full gst_element_change_state _gst_message_free "
        "gst_pad_send_event_unchecked gst_bin_element_set_state gst_clock_get_time "
        "gst_clock_get_internal_time gst_video_decoder_clip_and_push_buf gst_base_transform_query_caps "
        "gst_video_encoder_finish_frame gst_buffer_new gst_base_src_get_range _memory_add _gst_memory_free "
        "_gst_buffer_free video_buffer_pool_alloc store_sticky_event gst_video_encoder_chain "
        "gst_video_decoder_decode_frame gst_pad_push_event_unchecked default_release_buffer "
        "default_acquire_buffer apply_buffer push_sticky gst_pad_peer_query gst_queue_locked_dequeue "
        "gst_base_src_loop gst_base_sink_set_last_buffer_unlocked do_free_buffer do_alloc_buffer "
        "gst_video_test_src_fill gst_video_decoder_new_frame gst_video_decoder_finish_frame "
        "gst_video_decoder_chain gst_pad_set_active gst_object_sync_values gst_jpeg_dec_init_source "
        "gst_jpeg_dec_handle_frame gst_base_src_do_sync foreach_metadata default_prepare_output_buffer");
    for (std::string name; others >> name;) out.push_back({name, OTHER});
    return out;
  }();
  return all;
}

// "a = \"syscall_entry_(x|y)\"" of a state, with its kind.
std::vector<State> lttng() {
  std::vector<State> out = {{"mutex wait", WAIT},
                            {"malloc", wire::FAMILY_MARK},
                            {"free", wire::FAMILY_MARK},
                            {"mmap", OTHER},
                            {"openat", OTHER},
                            {"close", OTHER},
                            {"brk", OTHER},
                            {"ioctl", OTHER},
                            {"clone", OTHER},
                            {"execve", OTHER},
                            {"exit_group", OTHER},
                            {"newfstatat", OTHER}};
  std::ifstream in(MARGAY_SHIPPED_RULES "/syscalls.toml");
  std::vector<std::string> names;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("enter = \"syscall_entry_(")) {
      std::istringstream list(line.substr(line.find('(') + 1, line.find(')') - line.find('(') - 1));
      names.clear();
      for (std::string name; std::getline(list, name, '|');) names.push_back(name);
    } else if (line.starts_with("kind = \"")) {
      for (const std::string& name : names)
        out.push_back({name, line.find("\"wait\"") != std::string::npos ? WAIT : IO});
    }
  }
  return out;
}

// Of SimGrid, StarPU and the tests' own traces, and of annotated programs, which say no family.
std::vector<State> named_only() {
  std::vector<State> out;
  for (const char* name :
       {"computing",      "waiting",   "Executing",    "Blocked",  "Sleeping",      "Initializing",
        "Fetching input", "PMPI_Send", "action_bcast", "MPI_Recv", "MPI_Allreduce", "Send",
        "read",           "decode",    "transform",    "filter",   "encode",        "write",
        "render",         "solve",     "lock",         "idle"})
    out.push_back({name, OTHER});
  return out;
}

const std::map<std::string, std::vector<State>>& sources() {
  static const std::map<std::string, std::vector<State>> all = {
      {"MPI", mpi()}, {"GStreamer", gstreamer()}, {"LTTng", lttng()}, {"names", named_only()}};
  return all;
}

// Each palette in each theme.
std::vector<Palette> palettes() {
  std::vector<Palette> out;
  for (const Hues hues : {Hues::kOkabeIto, Hues::kTol})
    for (const Theme theme : {Theme::kLight, Theme::kDark}) out.emplace_back(theme, ColourMap(), hues);
  return out;
}
std::string name_of(const Palette& p) {
  return std::string(p.hues() == Hues::kTol ? "Tol" : "Okabe/Ito") +
         (p.theme() == Theme::kDark ? ", dark" : ", light");
}

std::vector<State> in_order(const std::vector<State>& states) {
  ViewData data;
  data.states = states;
  std::vector<State> out;
  for (const std::uint32_t i : states_in_order(data)) out.push_back(states[i]);
  return out;
}

constexpr Eyes kEyes[] = {Eyes::kUsual, Eyes::kProtan, Eyes::kDeutan, Eyes::kTritan};

// Of each two that follow each other in the legend: they are 12 CIEDE2000 apart, for other eyes 6, or they
// have different patterns. Of any two: not the same look, unless as many have the colour as there are
// patterns. Returns how many have a pattern.
std::size_t expect_told_apart(Palette palette, const std::vector<State>& legend) {
  palette.tell_apart(legend);
  const std::vector<State> order = in_order(legend);
  std::map<Look, int, decltype([](const Look& a, const Look& b) {
             return std::tie(a.colour, a.pattern) < std::tie(b.colour, b.pattern);
           })>
      looks;
  std::map<Rgb, std::size_t> colours;
  std::size_t patterned = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Look here = palette.look(order[i].name, order[i].family);
    EXPECT_EQ(here.colour,
              Palette(palette.theme(), {}, palette.hues()).look(order[i].name, order[i].family).colour)
        << "a colour is the name's in every legend";
    patterned += here.pattern != Pattern::kNone ? 1 : 0;
    ++looks[here];
    ++colours[here.colour];
    if (i == 0) continue;
    const Look above = palette.look(order[i - 1].name, order[i - 1].family);
    if (here.pattern != above.pattern) continue;
    for (const Eyes eyes : kEyes)
      EXPECT_GE(ciede2000(seen_by(eyes, here.colour), seen_by(eyes, above.colour)),
                eyes == Eyes::kUsual ? 12 : 6)
          << name_of(palette) << ": " << order[i - 1].name << " and " << order[i].name;
  }
  for (const auto& [look, names] : looks)
    if (colours[look.colour] < kPatterns) {
      EXPECT_EQ(names, 1) << text_of(look.colour);
    }
  return patterned;
}

TEST(ShippedColours, AreNamesThatThereAre) {
  EXPECT_GT(mpi().size(), 190u);
  EXPECT_GT(gstreamer().size(), 60u);
  EXPECT_GT(lttng().size(), 50u);
}

TEST(ShippedColours, EveryStateHasAHueByFamily) {
  constexpr wire::StateFamily kMain[] = {OTHER, wire::FAMILY_COMPUTE, P2P, COLL, WAIT, IO, START};
  for (const Palette& palette : palettes())
    for (const auto& [source, states] : sources())
      for (const State& s : states) {
        const Rgb colour = palette.look(s.name, s.family).colour;
        const auto family = wire::family_by_name(s.name, s.family);
        EXPECT_GT(oklch_of(colour).c, 0.008) << s.name << " is grey";
        if (family == wire::FAMILY_IDLE || family == wire::FAMILY_MARK) continue;
        const auto nearest = *std::ranges::min_element(
            kMain, {}, [&](wire::StateFamily f) { return distance(colour, palette.family(f)); });
        EXPECT_EQ(nearest, family) << name_of(palette) << ", " << source << ": " << s.name;
      }
  // By name as the probe says.
  for (const State& s : named_only()) EXPECT_NE(wire::family_by_name(s.name, s.family), OTHER) << s.name;
  for (const char* name : {"MPI_Send", "MPI_Recv", "MPI_Allreduce", "MPI_Bcast", "MPI_Wait", "MPI_File_read",
                           "MPI_Init", "MPI_Alltoallv"})
    for (const State& s : mpi())
      if (s.name == name) {
        EXPECT_EQ(wire::family_by_name(name, OTHER), s.family) << name;
      }
}

TEST(ShippedColours, AreSeenOnTheirBackground) {
  for (const Palette& palette : palettes())
    for (const auto& [source, states] : sources())
      for (const State& s : states) {
        const double contrast = distance(palette.look(s.name, s.family).colour, palette.background());
        const bool idle = wire::family_by_name(s.name, s.family) == wire::FAMILY_IDLE;
        EXPECT_GE(contrast, idle ? 0.105 : 0.185) << name_of(palette) << ": " << s.name;
        EXPECT_LE(contrast, 0.715) << name_of(palette) << ": " << s.name;
      }
}

TEST(ShippedColours, NamesThatSayNothingHaveHuesOfTheirOwn) {
  for (const Palette& palette : palettes()) {
    std::set<Rgb> colours;
    for (const char* name :
         {"frobnicate", "x", "stage 3", "(other states)", "main", "phase", "widget", "zap"}) {
      const Rgb colour = palette.look(name, OTHER).colour;
      EXPECT_GT(oklch_of(colour).c, 0.018) << name;
      EXPECT_LT(oklch_of(colour).c, 0.1) << name;
      EXPECT_EQ(colour, palette.look(name, wire::FAMILY_REGION).colour);
      colours.insert(colour);
    }
    EXPECT_GE(colours.size(), 4u) << name_of(palette);
  }
}

TEST(ShippedColours, CollectivesAreNotFivePinks) {
  std::vector<State> legend;
  for (const char* name : {"MPI_Allreduce", "MPI_Bcast", "MPI_Barrier", "MPI_Reduce", "MPI_Alltoall",
                           "MPI_Allgather", "MPI_Gather", "MPI_Scatter"})
    legend.push_back({name, COLL});
  for (Palette palette : palettes()) {
    palette.tell_apart(legend);
    double least = 360, most = 0;
    for (const State& a : legend) {
      const Look look = palette.look(a.name, COLL);
      EXPECT_EQ(look.pattern, Pattern::kNone) << name_of(palette) << ": " << a.name;
      // From violet over pink to red, as one arc.
      const double hue = std::fmod(oklch_of(look.colour).h + 120, 360);
      least = std::min(least, hue);
      most = std::max(most, hue);
      for (const State& b : legend)
        if (a.name < b.name) {
          EXPECT_GE(ciede2000(look.colour, palette.look(b.name, COLL).colour), 12)
              << name_of(palette) << ": " << a.name << " and " << b.name;
        }
    }
    EXPECT_GT(most - least, 50) << name_of(palette);
  }
}

TEST(ShippedColours, OfALegendCanBeToldApart) {
  for (const Palette& palette : palettes())
    for (const auto& [source, states] : sources()) expect_told_apart(palette, states);
}

TEST(ShippedColours, OfAnyLegendCanBeToldApart) {
  std::mt19937 rng(11);
  std::vector<State> all;
  std::set<std::string> names;
  for (const auto& [source, states] : sources())
    for (const State& s : states)
      if (names.insert(s.name).second) all.push_back(s);
  std::size_t patterned = 0, shown = 0;
  for (int i = 0; i < 200; ++i) {
    std::vector<State> legend;
    std::ranges::sample(all, std::back_inserter(legend), static_cast<long>(2 + rng() % 20), rng);
    for (const Palette& palette : palettes()) {
      patterned += expect_told_apart(palette, legend);
      shown += legend.size();
    }
  }
  EXPECT_LT(patterned, shown / 3) << "patterns are for what colours cannot tell";
}

TEST(ShippedColours, PatternsAreTheSameInWhateverOrderNamesCome) {
  std::vector<State> legend = mpi();
  Palette palette(Theme::kLight);
  palette.tell_apart(legend);
  const Palette first = palette;
  std::mt19937 rng(4);
  for (int i = 0; i < 5; ++i) {
    std::ranges::shuffle(legend, rng);
    palette.tell_apart(legend);
    EXPECT_EQ(palette, first);
  }
  palette.tell_apart({});
  EXPECT_EQ(palette, Palette(Theme::kLight));
}

TEST(ShippedColours, AColourOfAPersonsOwnHasNoPattern) {
  const std::vector<State> legend = {{"a", COLL}, {"b", COLL}, {"MPI_Send", P2P}};
  Palette palette(Theme::kLight, {{"a", {9, 99, 199}}, {"b", {9, 99, 199}}});
  palette.tell_apart(legend);
  EXPECT_EQ(palette.look("a", COLL).pattern, Pattern::kNone);
  EXPECT_EQ(palette.look("b", COLL).pattern, Pattern::kNone);
  // What looks like it has one instead.
  const Rgb send = Palette(Theme::kLight).look("MPI_Send", P2P).colour;
  palette = Palette(Theme::kLight, {{"z", send}});
  palette.tell_apart(std::vector<State>{{"MPI_Send", P2P}, {"z", COLL}});
  EXPECT_NE(palette.look("MPI_Send", P2P).pattern, Pattern::kNone);
}

TEST(ShippedColours, ManyNamesAreManagedAtOnce) {
  std::vector<State> legend;
  for (int i = 0; i < 4096; ++i) legend.push_back({"f" + std::to_string(i), OTHER});
  for (const Palette& palette : palettes()) expect_told_apart(palette, legend);
}

}  // namespace shipped_colours_test
}  // namespace margay::scene
