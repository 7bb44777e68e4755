#include "compare/compare_command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "command.h"
#include "compare/compare_output.h"
#include "margay/text/text.h"
#include "progress_line.h"

namespace margay::daemon {
namespace {

constexpr int kHolds = 1, kTrouble = 2;

int complain(const std::string& sentence) {
  std::fprintf(stderr, "margay: %s\n", text::printable("compare: " + sentence, true, 2000).c_str());
  return kTrouble;
}

Status write_file(const std::string& path, const std::string& text) {
  std::FILE* const file = std::fopen(path.c_str(), "w");
  const bool written = file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const int error = errno;
  if (file == nullptr || std::fclose(file) != 0 || !written)
    return fail(ErrorCode::kIo, path + ": " + std::strerror(error));
  return {};
}

}  // namespace

void add_compare_command(CLI::App& command, CompareRequest& r) {
  command.description(
      R"(Say what differs between two runs: in which phase, in which state, in which resources, by how
much, and how sure that is. Nothing is reported that is not sure, as far as what varies within the
runs tells: once in 100 comparisons of equal runs anything is.

  margay compare before.margay after.margay
  margay compare mon.margay tue.margay wed.margay thu.margay     the last with those before
  margay compare night.margay@0..60 night.margay@300..360        two stretches of a run
  margay compare A B --fail-if 'Compute > +3%' --fail-if 'B: time > 2s' --junit result.xml

Runs that make the same calls are compared where they have done the same part of the work, others
phase by phase: phases that are alike. Phases are those of the first run. Two runs alone do not
tell by how much runs differ by themselves, on another day or another node: the more runs before
the last one, the better it is known. Intervals hold in 95 of 100 cases.

A rule of --fail-if is [PHASE:] MEASURE > AMOUNT, or <. MEASURE: time, a state, or any (what is
reported); AMOUNT: a part (3%) or a duration (500ms). It holds where the whole interval is beyond.
Exit code: 0; 1 if a rule holds; 2 if it cannot be done.)");
  command.add_option("runs", r.runs, "archives, ARCHIVE@FROM..TO for stretches; the last one is compared")
      ->required()
      ->expected(2, 64)
      ->option_text("RUN RUN ...");
  command.add_option("--by", r.by, "phase (default), or run: all of it at once")
      ->type_name("WHAT")
      ->check(CLI::IsMember({"phase", "run"}));
  command
      .add_option("--per", r.per, "run: seconds of it (default); second: parts of the time (of stretches)")
      ->type_name("WHAT")
      ->check(CLI::IsMember({"run", "second"}));
  command.add_option("--view", r.view, "hierarchy in which resources are looked at together (margay views)")
      ->type_name("ATTRIBUTES");
  command.add_option("--fail-if", r.fail_if, "a rule; repeatable")
      ->type_name("RULE")
      ->allow_extra_args(false);
  command.add_option("--junit", r.junit, "write a test case for each rule into FILE")->type_name("FILE");
  command.add_flag("--json", r.json, "print JSON on one line, for programs");
}

int compare_command(const CompareRequest& r) {
  std::vector<JudgedRule> rules;
  for (const std::string& text : r.fail_if) {
    auto rule = compare::parse_rule(text);
    if (!rule) return complain("--fail-if " + rule.error().message);
    rules.push_back({std::move(*rule), {}});
  }
  if (!r.junit.empty() && rules.empty()) return complain("--junit wants a rule: --fail-if 'time > +3%'");
  const auto progress = progress_line("comparing");
  const auto comparison = compare_runs(r, progress);
  if (progress) std::fputs("\r\033[K", stderr);
  if (!comparison) return complain(comparison.error().message);
  for (JudgedRule& rule : rules) {
    auto judged = compare::judge(rule.rule, comparison->changes, comparison->phases, comparison->states);
    if (!judged) return complain("--fail-if " + judged.error().message);
    rule.judged = std::move(*judged);
  }
  if (!r.junit.empty())
    if (Status s = write_file(r.junit, comparison_junit(*comparison, rules)); !s)
      return complain(s.error().message);
  std::fputs((r.json ? comparison_json(*comparison, rules) : comparison_text(*comparison, rules)).c_str(),
             stdout);
  if (std::fflush(stdout) != 0) return complain("standard output cannot be written");
  return std::any_of(rules.begin(), rules.end(),
                     [](const JudgedRule& rule) { return rule.judged.verdict == compare::Verdict::kYes; })
             ? kHolds
             : 0;
}

Declare declare_compare() {
  return declare(add_compare_command, compare_command);
}

}  // namespace margay::daemon
