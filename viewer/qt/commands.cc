#include "commands.h"

#include <QCoreApplication>
#include <QMenu>
#include <QPointer>
#include <algorithm>
#include <string>

#include "alerts.h"
#include "filter_dialog.h"
#include "margay/scene/times.h"
#include "paint.h"
#include "sheet.h"

namespace margay::viewer {
namespace {

QString say(const char* text) {
  return QCoreApplication::translate("Commands", text);
}

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}
bool same_letter(char a, char b) {
  return lower(a) == lower(b);
}
// Part of a word; all of what is not ASCII is.
bool of_word(char c) {
  const char l = lower(c);
  return (l >= 'a' && l <= 'z') || (l >= '0' && l <= '9') || static_cast<unsigned char>(c) >= 0x80;
}

std::string_view trimmed(std::string_view s) {
  while (!s.empty() && s.front() == ' ') s.remove_prefix(1);
  while (!s.empty() && s.back() == ' ') s.remove_suffix(1);
  return s;
}

// In how many pieces the characters are there, from the left; 0: they are not.
int pieces(std::string_view text, std::string_view typed) {
  int count = 0;
  bool joined = false;  // the character before was the one before
  auto at = text.begin();
  for (const char c : typed) {
    if (c == ' ') continue;
    const auto next = std::find_if(at, text.end(), [&](char t) { return same_letter(t, c); });
    if (next == text.end()) return 0;
    if (!joined || next != at) ++count;
    joined = true;
    at = next + 1;
  }
  return count;
}

// The best of what fits, in the order in which it was offered.
class Best {
 public:
  struct Hit {
    int score = 0;
    std::size_t order = 0, of = 0, index = 0;  // the index of a source, and in it
    bool operator<(const Hit& o) const { return score != o.score ? score < o.score : order < o.order; }
  };
  void offer(int score, std::size_t of, std::size_t index) {
    const Hit hit{score, count_++, of, index};
    if (hits_.size() == Commands::kMostFound) {
      if (!(hit < hits_.front())) return;
      std::pop_heap(hits_.begin(), hits_.end());
      hits_.pop_back();
    }
    hits_.push_back(hit);
    std::push_heap(hits_.begin(), hits_.end());
  }
  std::size_t count() const { return count_; }
  std::vector<Hit> sorted() {
    std::sort_heap(hits_.begin(), hits_.end());
    return std::move(hits_);
  }

 private:
  std::vector<Hit> hits_;  // a heap, the worst first
  std::size_t count_ = 0;
};

// Things of a kind.
struct Source {
  std::vector<std::string> texts;
  std::function<Command(std::size_t)> command;
};

// Those that give way to names of the run, or all others.
Source action_source(const QMenuBar& menus, const QAction* itself, bool giving_way) {
  Source out;
  std::vector<QPointer<QAction>> actions;
  const auto plain = [](QString text) { return text.remove('&').remove("..."); };
  for (const QAction* entry : menus.actions()) {
    if (entry->menu() == nullptr) continue;
    const auto add = [&](QAction* a, const QString& where) {
      if (a->isSeparator() || a == itself || !a->isEnabled()) return;
      if (a->property(kGivesWay).toBool() != giving_way) return;
      actions.emplace_back(a);
      out.texts.push_back((where + ": " + plain(a->text())).toStdString());
    };
    for (QAction* a : entry->menu()->actions()) {
      const QString where = plain(entry->text());
      add(a, where);
      for (QAction* below : a->menu() == nullptr ? QList<QAction*>() : a->menu()->actions())
        add(below, where + ": " + plain(a->text()));
    }
  }
  out.command = [actions, texts = out.texts](std::size_t i) {
    QStringList keys;
    for (const QKeySequence& k : actions[i]->shortcuts()) keys << k.toString(QKeySequence::NativeText);
    return Command{text_of(texts[i]), keys.join(say(" or ")), [action = actions[i]] {
                     if (action) action->trigger();
                   }};
  };
  return out;
}

Source state_source(const Session& session, const Commands::Deeds& deeds) {
  Source out;
  for (const scene::State& s : session.states()) out.texts.push_back(s.name);
  out.command = [&deeds, texts = out.texts](std::size_t i) {
    return Command{text_of(texts[i]), say("state"),
                   [choose = deeds.choose_state, name = texts[i]] { choose(name); }};
  };
  return out;
}

Source phase_source(Session& session, const scene::Times& times) {
  Source out;
  const std::vector<scene::PhaseStretch> phases = phases_of(session);
  for (const scene::PhaseStretch& p : phases)
    out.texts.push_back(scene::phase_text(p) + ", " + scene::range_text({p.from, p.to}, times));
  out.command = [&session, phases, texts = out.texts](std::size_t i) {
    return Command{text_of(texts[i]), say("phase"), [&session, p = phases[i]] {
                     session.zoom_to({p.from, p.to});
                   }};
  };
  return out;
}

Source alert_source(const Session& session, const Commands::Deeds& deeds, const scene::Times& times) {
  Source out;
  std::vector<QString> ids;
  for (const terminal::AlertView& a : session.alerts()) {
    ids.push_back(text_of(a.id));
    out.texts.push_back(terminal::told_text(a) + ", " + scene::short_time_text(TimeNs(a.onset_ns), times));
  }
  out.command = [&deeds, ids, texts = out.texts](std::size_t i) {
    return Command{text_of(texts[i]), say("alert"), [go = deeds.go_to_alert, id = ids[i]] { go(id); }};
  };
  return out;
}

}  // namespace

std::optional<int> fits(std::string_view text, std::string_view typed) {
  enum { kWhole, kWord, kBegin, kBeginOfWord, kInside, kInPieces };
  typed = trimmed(typed);
  if (typed.empty()) return kWhole;
  // First, for most of many fail here.
  const int count = pieces(text, typed);
  if (count == 0) return std::nullopt;
  int best = kInPieces + count;
  for (auto at = text.begin();; ++at) {
    at = std::search(at, text.end(), typed.begin(), typed.end(), same_letter);
    if (at == text.end()) return best;
    const auto end = at + static_cast<std::ptrdiff_t>(typed.size());
    const bool begins = at == text.begin() || !of_word(at[-1]) || !of_word(*at);
    const bool ends = end == text.end() || !of_word(*end) || !of_word(end[-1]);
    const int here = at == text.begin() && end == text.end() ? kWhole
                     : begins && ends                        ? kWord
                     : at == text.begin()                    ? kBegin
                     : begins                                ? kBeginOfWord
                                                             : kInside;
    best = std::min(best, here);
  }
}

void go_to_resource(Session& session, const std::string& path) {
  const std::int64_t found = scene::node_at(session.data(), path);
  if (found < 0) return;
  const auto node = static_cast<std::uint32_t>(found);
  if (!session.rows().shows(node)) session.search("");
  // Each of them opens a level.
  for (std::uint32_t depth = 0; depth <= scene::kMostDepth; ++depth) {
    const std::int64_t row = scene::row_of(session.rows(), node);
    if (row < 0) return;
    const scene::Row& shown = session.rows().rows[static_cast<std::size_t>(row)];
    if (!shown.folded || shown.node >= node) break;
    session.toggle_fold(shown.node);
  }
  session.select(Session::Selection{node, 0, static_cast<std::uint32_t>(session.data().slices())});
  session.set_scroll(scene::showing(session.rows(), session.scroll(), node));
}

namespace {

// What a pattern that was typed can be a filter of.
void add_filters(Session& session, const std::string& typed, std::vector<Command>& to) {
  std::string term(trimmed(typed));
  if (wire::is_plain_term(term)) return;
  const bool only_out = term.starts_with('!');
  if (only_out) term.erase(0, 1);
  const std::vector<std::string> terms{term};
  wire::RunFilter filter;
  if (auto parsed = wire::StateTerms::parse(terms)) filter.states = std::move(*parsed);
  if (auto parsed = wire::ResourceTerms::parse(terms)) filter.resources = std::move(*parsed);
  const LeftOfRun named = left_of_run(session, filter);
  const auto add = [&](bool is_state, bool out, std::size_t some, std::size_t all) {
    if (some == 0) return;
    const std::string added = out ? "!" + term : term;
    const QString text = text_of(is_state ? scene::state_term_text(added) : scene::resource_term_text(added));
    to.push_back({out ? text : say("only ") + text,
                  say("filter, %1 of %2").arg(out ? all - some : some).arg(all), [&session, is_state, added] {
                    scene::RunFilter now = session.subject().filter;
                    auto& list = is_state ? now.states : now.resources;
                    std::erase(list, added);
                    list.push_back(added);
                    session.set_filter(std::move(now));
                  }});
  };
  for (const bool out : {false, true}) {
    if (only_out && !out) continue;
    if (!filter.states.empty()) add(true, out, named.states, named.all_states);
    if (!filter.resources.empty()) add(false, out, named.resources, named.all_resources);
  }
}

}  // namespace

Commands::Commands(Session& session, const QMenuBar& menus, const QAction* itself, Deeds deeds)
    : session_(session), menus_(menus), itself_(itself), deeds_(std::move(deeds)) {}

Commands::Found Commands::find(const QString& text) const {
  const std::string typed = text.toStdString();
  const scene::ViewData& data = session_.data();
  const scene::Times times = session_.times();
  const std::vector<Source> sources{action_source(menus_, itself_, false), state_source(session_, deeds_),
                                    phase_source(session_, times), alert_source(session_, deeds_, times),
                                    action_source(menus_, itself_, true)};
  Best best;
  for (std::size_t of = 0; of < sources.size(); ++of)
    for (std::size_t i = 0; i < sources[of].texts.size(); ++i)
      if (const auto score = fits(sources[of].texts[i], typed)) best.offer(*score, of, i);
  // Not as a source: there may be so many that nobody wants a list of their names.
  for (std::size_t i = 0; i < data.nodes.size(); ++i)
    if (const auto score = fits(data.nodes[i].path, typed)) best.offer(*score, sources.size(), i);

  Found found;
  if (!data.empty())
    if (const auto range = scene::parse_time_range(typed, session_.time(), session_.bounds(), times))
      found.shown.push_back({text_of(scene::range_text(*range, times)), say("time"),
                             [this, to = *range] { session_.zoom_to(to); }});
  add_filters(session_, typed, found.shown);
  const std::size_t of_time = found.shown.size();
  for (const Best::Hit& hit : best.sorted()) {
    if (found.shown.size() == kMostFound) break;
    if (hit.of < sources.size()) {
      found.shown.push_back(sources[hit.of].command(hit.index));
      continue;
    }
    const std::string& path = data.nodes[hit.index].path;
    found.shown.push_back({text_of(path.empty() ? "/" : path), say("resource"),
                           [this, path] { go_to_resource(session_, path); }});
  }
  found.more = best.count() - (found.shown.size() - of_time);
  return found;
}

}  // namespace margay::viewer
