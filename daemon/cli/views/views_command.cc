#include "views_command.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "command.h"
#include "margay/base/text.h"
#include "margay/store/archive.h"
#include "margay/text/table.h"
#include "margay/text/text.h"

namespace margay::daemon {
namespace {

constexpr std::size_t kWidest = 40;  // of an example

std::string safe(const std::string& text) {
  return text::shortened(text::printable(text, true, 4 * kWidest), kWidest);
}

std::string levels_of_the_usual_view() {
  const model::View usual;
  std::string out;
  for (const model::View::Level& l : usual.levels()) out += (out.empty() ? "" : "/") + l.attribute;
  return out;
}

}  // namespace

std::string views_text(const std::string& archive, std::span<const model::Attributes> leaves) {
  std::string out = safe(archive) + ": " + grouped(leaves.size()) +
                    (leaves.size() == 1 ? " resource" : " resources") +
                    "; of these each level of a view can be made\n\n";
  text::Table table({"attribute", ">resources", ">values", "for example"});
  for (const RunAttribute& a : attributes_of_run(leaves)) {
    std::string examples;
    for (const std::string& e : a.examples) examples += (examples.empty() ? "" : ", ") + safe(e);
    if (a.values > a.examples.size()) examples += " ...";
    table.add({safe(a.name), grouped(a.resources), grouped(a.values), examples});
  }
  out += table.text();
  const std::vector<std::string> views = views_worth_trying(leaves);
  if (!views.empty()) {
    out += "\nworth trying:\n";
    for (const std::string& v : views)
      out += "  --view " + (v.find(' ') == std::string::npos ? v : "'" + v + "'") + "\n";
  }
  out += "the usual view: " + levels_of_the_usual_view() + "\n";
  return out;
}

std::string views_json(std::span<const model::Attributes> leaves) {
  nlohmann::json attributes = nlohmann::json::array();
  for (const RunAttribute& a : attributes_of_run(leaves))
    attributes.push_back(
        {{"name", a.name}, {"resources", a.resources}, {"values", a.values}, {"examples", a.examples}});
  const nlohmann::json out = {{"resources", leaves.size()},
                              {"attributes", std::move(attributes)},
                              {"views", views_worth_trying(leaves)},
                              {"usual", levels_of_the_usual_view()}};
  return out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

void add_views_command(CLI::App& command, ViewsRequest& r) {
  command.description(
      R"(List the points of view that an archive's resources can be looked at from. A view is an order of
attributes; changing it reads no event again. margay partition and margay render take it as --view,
the window has it in the menu View.

  host/core                  processes by the core they ran on, cores by their host
  rank mod 8                 those whose ranks leave the same rest; 'rank div 8': eight in a row
  group/host@GROUPS          groups that the file GROUPS names, a line each:  io: /node7 '*rank0'
                             (patterns of paths in the usual view; who is in none is in "others")

Each resource is the end of its own path, whatever the view: --view host is host/rank. The share of
a state in a node is the mean over the resources below it, in each view.

  margay views night.margay
  margay partition night.margay --view 'rank mod 8'
  margay render night.margay --view host/core -o cores.png)");
  command.add_option("archive", r.archive, "archive, also of a run that goes on")
      ->required()
      ->option_text("ARCHIVE");
  command.add_flag("--json", r.json, "print JSON on one line, for programs");
}

int views_command(const ViewsRequest& r) {
  const auto complain = [](const std::string& what) {
    std::fprintf(stderr, "margay: views: %s\n", what.c_str());
    return 2;
  };
  const auto archive = store::Archive::open(r.archive, store::Mode::kBeside);
  if (!archive) return complain(archive.error().message);
  const auto all = (*archive)->load();
  if (!all) return complain(all.error().message);
  std::vector<model::Attributes> leaves;
  for (const store::LeafRecord& l : all->leaves) leaves.push_back(l.attributes);
  std::fputs((r.json ? views_json(leaves) : views_text(r.archive, leaves)).c_str(), stdout);
  return std::fflush(stdout) == 0 ? 0 : complain("standard output cannot be written");
}

Declare declare_views() {
  return declare(add_views_command, views_command);
}

}  // namespace margay::daemon
