#include "paje_writer.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>

#include "margay/base/last_state.h"
#include "margay/base/text.h"
#include "margay/model/hierarchy.h"

namespace margay::daemon {
namespace {

constexpr std::size_t kFlushBytes = 1 << 18;

constexpr const char* kHeader = R"(%EventDef PajeDefineContainerType 0
%       Alias string
%       Type string
%       Name string
%EndEventDef
%EventDef PajeDefineStateType 1
%       Alias string
%       Type string
%       Name string
%EndEventDef
%EventDef PajeDefineVariableType 2
%       Alias string
%       Type string
%       Name string
%       Color color
%EndEventDef
%EventDef PajeDefineEventType 3
%       Alias string
%       Type string
%       Name string
%EndEventDef
%EventDef PajeDefineLinkType 4
%       Alias string
%       Type string
%       StartContainerType string
%       EndContainerType string
%       Name string
%EndEventDef
%EventDef PajeDefineEntityValue 5
%       Alias string
%       Type string
%       Name string
%       Color color
%EndEventDef
%EventDef PajeCreateContainer 6
%       Time date
%       Alias string
%       Type string
%       Container string
%       Name string
%EndEventDef
%EventDef PajeDestroyContainer 7
%       Time date
%       Type string
%       Name string
%EndEventDef
%EventDef PajePushState 8
%       Time date
%       Type string
%       Container string
%       Value string
%EndEventDef
%EventDef PajePopState 9
%       Time date
%       Type string
%       Container string
%EndEventDef
%EventDef PajeSetVariable 10
%       Time date
%       Type string
%       Container string
%       Value double
%EndEventDef
%EventDef PajeNewEvent 11
%       Time date
%       Type string
%       Container string
%       Value string
%EndEventDef
%EventDef PajeStartLink 12
%       Time date
%       Type string
%       Container string
%       StartContainer string
%       Value string
%       Key string
%EndEventDef
%EventDef PajeEndLink 13
%       Time date
%       Type string
%       Container string
%       EndContainer string
%       Value string
%       Key string
%EndEventDef
)";

// A name between quotes; Pajé knows no escapes.
std::string quoted(const std::string& name) {
  std::string text = clean_utf8(name);
  std::replace(text.begin(), text.end(), '"', '\'');
  return '"' + text + '"';
}
std::string alias(char letter, std::uint32_t n) {
  return letter + std::to_string(n);
}

// By family, as in the live view; the states of a family in shades.
std::string color(model::StateFamily family, std::uint32_t number) {
  struct Rgb {
    double r, g, b;
  };
  static constexpr Rgb kColors[] = {{0.60, 0.60, 0.60}, {0.30, 0.65, 0.30}, {0.25, 0.45, 0.85},
                                    {0.85, 0.35, 0.25}, {0.95, 0.75, 0.20}, {0.60, 0.35, 0.75},
                                    {0.40, 0.75, 0.80}, {0.95, 0.95, 0.95}, {0.20, 0.20, 0.20}};
  static constexpr Rgb kIdle = {0.78, 0.82, 0.86};
  const auto at = static_cast<std::size_t>(family);
  const Rgb c = family == model::StateFamily::kIdle ? kIdle : kColors[at < std::size(kColors) ? at : 0];
  const double shade = 0.8 + 0.05 * (number % 5);
  char text[48];
  std::snprintf(text, sizeof text, "\"%.3f %.3f %.3f\"", c.r * shade, c.g * shade, c.b * shade);
  return text;
}

std::vector<std::string> components(const std::string& path) {
  std::vector<std::string> out;
  for (std::size_t from = 1; from < path.size();) {
    const std::size_t to = std::min(path.find('/', from), path.size());
    out.push_back(path.substr(from, to - from));
    from = to + 1;
  }
  return out;
}

}  // namespace

bool PajeWriter::imported(const store::Resume& all) {
  return std::any_of(all.leaves.begin(), all.leaves.end(),
                     [](const auto& l) { return l.attributes.contains("path1"); });
}

PajeWriter::PajeWriter(OutFile& out, const store::Resume& all, TimeNs from, TimeNs to)
    : out_(out), all_(all), from_(from), to_(to), imported_(imported(all)), last_(from) {
  if (!imported_) origin_ = all.run.begin;
  std::vector<model::Attributes> attributes;
  for (const auto& l : all.leaves) attributes.push_back(l.attributes);
  const model::View view;
  const model::Hierarchy hierarchy(attributes);
  std::map<SourceId, std::optional<TimeNs>> goodbyes;
  for (const auto& s : all.sources) goodbyes[s.source] = s.end;
  for (const auto& l : all.leaves) {
    Leaf& leaf = leaves_.emplace_back();
    if (const auto g = goodbyes.find(l.source); g != goodbyes.end()) leaf.goodbye = g->second;
    for (std::size_t i = 1;; ++i) {
      const auto name = l.attributes.find("path" + std::to_string(i));
      if (name == l.attributes.end()) break;
      const auto type = l.attributes.find("type" + std::to_string(i));
      leaf.names.push_back(name->second);
      leaf.types.push_back(type != l.attributes.end() ? type->second : "level " + std::to_string(i));
    }
    // Of several state types of a container each is a leaf, whose path ends with it.
    const auto state_type = l.attributes.find("state_type");
    if (state_type != l.attributes.end()) {
      leaf.state_type = state_type->second;
      const std::size_t depth = leaf.names.size();
      if (depth > 1 && leaf.names.back() == leaf.state_type &&
          !l.attributes.contains("type" + std::to_string(depth)))
        leaf.names.pop_back(), leaf.types.pop_back();
    }
    if (!leaf.names.empty()) continue;
    leaf.names = components(hierarchy.path_of(l.leaf));
    for (const model::View::Level& level : view.levels())
      if (l.attributes.contains(level.attribute)) leaf.types.push_back(level.attribute);
    leaf.types.resize(leaf.names.size(), "leaf");  // without a thread that is the only one
  }
  for (const model::StateInfo& s : all.states.states())
    last_state_.push_back(!imported_ && is_last_state(s.name));
  header();
  // Who reads it again makes leaves by the types of states that it knows when a container begins.
  for (std::size_t l = 0; l < leaves_.size(); ++l) {
    if (!all.leaves[l].attributes.contains("state_type")) continue;
    for (const std::string& t : leaves_[l].types) leaves_[l].type = container_type(leaves_[l].type, t);
    state_type(leaves_[l]);
  }
}

void PajeWriter::header() {
  text_ += kHeader;
  // Comments come behind the definitions: what is before them is part of the header to some readers.
  text_ += "# Margay, run " + clean_utf8(all_.run.run) + ": " + clean_utf8(all_.run.command) + "\n";
  if (!imported_)
    text_ += "# time 0 is " + seconds_text(origin_.value) + " s since 1970-01-01 00:00:00 UTC\n";
}

std::string PajeWriter::time(TimeNs t) const {
  return seconds_text(static_cast<std::int64_t>(static_cast<std::uint64_t>(t.value) -
                                                static_cast<std::uint64_t>(origin_.value)));
}

std::uint32_t PajeWriter::container_type(std::uint32_t above, const std::string& name) {
  const auto [at, fresh] = container_types_.try_emplace({above, name}, aliases_ + 1);
  if (fresh) {
    ++aliases_;
    text_ += "0 " + alias('T', at->second) + " " + (above == 0 ? "0" : alias('T', above)) + " " +
             quoted(name) + "\n";
  }
  return at->second;
}

// The types of what happens in a container: S states, R variables, E events, L links.
std::uint32_t PajeWriter::sub_type(char letter, std::uint32_t type, const std::string& name) {
  const auto [at, fresh] = sub_types_.try_emplace({letter, type, name}, aliases_ + 1);
  if (!fresh) return at->second;
  ++aliases_;
  const std::string own = alias(letter, at->second), container = alias('T', type);
  if (letter == 'S') text_ += "1 " + own + " " + container + " " + quoted(name) + "\n";
  if (letter == 'R') text_ += "2 " + own + " " + container + " " + quoted(name) + " \"0.2 0.4 0.8\"\n";
  if (letter == 'E') text_ += "3 " + own + " " + container + " " + quoted(name) + "\n";
  if (letter == 'L') text_ += "4 " + own + " 0 " + container + " " + container + " " + quoted(name) + "\n";
  return at->second;
}

std::uint32_t PajeWriter::value_of(char letter, std::uint32_t type, const std::string& name,
                                   model::StateFamily family) {
  const auto [at, fresh] = values_.try_emplace({letter, type, name}, aliases_ + 1);
  if (fresh) {
    ++aliases_;
    text_ += "5 " + alias('V', at->second) + " " + alias(letter, type) + " " + quoted(name) + " " +
             color(family, at->second) + "\n";
  }
  return at->second;
}

// The container of the first `depth` components of the leaf's path, made where it is not there yet.
PajeWriter::Node& PajeWriter::node_of(const Leaf& leaf, std::size_t depth, TimeNs t) {
  const std::vector<std::string> path(leaf.names.begin(),
                                      leaf.names.begin() + static_cast<std::ptrdiff_t>(depth));
  const auto [at, fresh] = nodes_.try_emplace(path);
  Node& node = at->second;
  if (!fresh || depth == 0) return node;  // the root is there already, as 0
  Node& above = node_of(leaf, depth - 1, t);
  ++above.users;
  node.type = container_type(above.type, leaf.types[depth - 1]);
  node.container = ++aliases_;
  text_ += "6 " + time(t) + " " + alias('c', node.container) + " " + alias('T', node.type) + " " +
           (above.container == 0 ? "0" : alias('c', above.container)) + " " + quoted(path.back()) + "\n";
  created_.emplace(node.container, node.type);
  return node;
}

void PajeWriter::destroy(std::uint32_t container, std::uint32_t type, TimeNs t) {
  text_ += "7 " + time(t) + " " + alias('T', type) + " " + alias('c', container) + "\n";
}

void PajeWriter::push(const Leaf& leaf, TimeNs t, StateId state) {
  if (!shown_) return;
  const std::uint32_t type = state_type(leaf);
  const model::StateInfo& info = all_.states[state];
  const std::uint32_t value = value_of('S', type, info.name, info.family);
  text_ += "8 " + time(t) + " " + alias('S', type) + " " + alias('c', leaf.container) + " " +
           alias('V', value) + "\n";
  ++counts_.states;
}

void PajeWriter::pop(const Leaf& leaf, TimeNs t) {
  if (!shown_) return;
  text_ += "9 " + time(t) + " " + alias('S', state_type(leaf)) + " " + alias('c', leaf.container) + "\n";
}

void PajeWriter::show(Leaf& leaf, TimeNs t) {
  Node& node = node_of(leaf, leaf.names.size(), t);
  ++node.users;
  leaf.container = node.container;
  leaf.type = node.type;
}

void PajeWriter::to_base(Leaf& leaf, TimeNs t) {
  if (imported_ || leaf.base) return;
  leaf.base = true;
  push(leaf, t, kCompute);
}

void PajeWriter::clear(Leaf& leaf, TimeNs t) {
  for (std::size_t i = leaf.stack.size() + leaf.unknown + leaf.base; i > 0; --i) pop(leaf, t);
  leaf.stack.clear();
  leaf.unknown = leaf.base = false;
}

void PajeWriter::revive(Leaf& leaf, TimeNs t) {
  if (leaf.alive) return;
  leaf.alive = true;
  if (shown_) show(leaf, t);
}

void PajeWriter::end(Leaf& leaf, TimeNs t) {
  if (!leaf.alive) return;
  clear(leaf, t);
  leave_regions(leaf, t, 0);
  leaf.alive = false;
  if (!shown_) return;
  const auto node = nodes_.find(leaf.names);
  if (--node->second.users > 0) return;  // others are in it
  destroy(node->second.container, node->second.type, t);
  created_.erase(node->second.container);
  nodes_.erase(node);
  --node_of(leaf, leaf.names.size() - 1, t).users;
}

// What is open at `from_` begins there, for whoever reads what is written.
void PajeWriter::begin_showing() {
  if (shown_) return;
  shown_ = true;
  for (Leaf& leaf : leaves_) {
    if (!leaf.alive) continue;
    show(leaf, from_);
    if (leaf.unknown) push(leaf, from_, kUnknown);
    if (leaf.base) push(leaf, from_, kCompute);
    for (const StateId s : leaf.stack) push(leaf, from_, s);
    for (const std::string& r : leaf.regions) push_region(leaf, from_, r);
  }
}

void PajeWriter::push_region(const Leaf& leaf, TimeNs t, const std::string& name) {
  if (!shown_) return;
  const std::uint32_t type = sub_type('S', leaf.type, "Region");
  const std::uint32_t value = value_of('S', type, name, model::StateFamily::kOther);
  text_ += "8 " + time(t) + " " + alias('S', type) + " " + alias('c', leaf.container) + " " +
           alias('V', value) + "\n";
}

void PajeWriter::leave_regions(Leaf& leaf, TimeNs t, std::size_t depth) {
  for (; leaf.regions.size() > depth; leaf.regions.pop_back())
    if (shown_)
      text_ += "9 " + time(t) + " " + alias('S', sub_type('S', leaf.type, "Region")) + " " +
               alias('c', leaf.container) + "\n";
}

void PajeWriter::region(Leaf& leaf, const trace::RawEvent& e) {
  if (e.name.empty()) return;
  if (e.record.kind == MARGAY_REGION_ENTER) {
    if (leaf.regions.size() >= kDeepestRegion) return;
    leaf.regions.emplace_back(e.name);
    push_region(leaf, e.time, leaf.regions.back());
    return;
  }
  const auto open = std::find(leaf.regions.rbegin(), leaf.regions.rend(), e.name);
  if (open != leaf.regions.rend())
    leave_regions(leaf, e.time, static_cast<std::size_t>(leaf.regions.rend() - open) - 1);
}

void PajeWriter::leave(Leaf& leaf, TimeNs t, StateId state) {
  if (leaf.unknown) {  // entered in the gap
    clear(leaf, t);
    to_base(leaf, t);
    return;
  }
  const auto found = std::find(leaf.stack.rbegin(), leaf.stack.rend(), state);
  if (found == leaf.stack.rend()) return;
  const auto first = found.base() - 1;
  for (auto at = first; at != leaf.stack.end(); ++at) pop(leaf, t);
  leaf.stack.erase(first, leaf.stack.end());  // and whatever was left open inside it
  if (leaf.stack.empty()) to_base(leaf, t);
}

void PajeWriter::special(Leaf& leaf, const trace::RawEvent& e) {
  if (!shown_) return;
  // Of marks and links the type and, on a line of its own, the value.
  const std::string name(e.name.substr(0, e.name.find('\n')));
  const std::string what(e.name.substr(name.size() < e.name.size() ? name.size() + 1 : 0));
  const std::string here = alias('c', leaf.container), at = time(e.time);
  switch (e.record.kind) {
    case MARGAY_VARIABLE: {
      const double value = std::bit_cast<double>(e.record.bytes);
      if (!std::isfinite(value)) return;
      const std::uint32_t type = sub_type('R', leaf.type, name);
      char number[40];
      std::snprintf(number, sizeof number, "%.17g", value);
      text_ += "10 " + at + " " + alias('R', type) + " " + here + " " + number + "\n";
      ++counts_.variables;
      return;
    }
    case MARGAY_MARK: {
      const std::uint32_t type = sub_type('E', leaf.type, name);
      const std::uint32_t value = value_of('E', type, what, model::StateFamily::kOther);
      text_ += "11 " + at + " " + alias('E', type) + " " + here + " " + alias('V', value) + "\n";
      ++counts_.marks;
      return;
    }
    case MARGAY_LINK_BEGIN:
    case MARGAY_LINK_END: {
      const bool begins = e.record.kind == MARGAY_LINK_BEGIN;
      const auto open = open_links_.find(e.record.tag);
      if (!begins && open == open_links_.end() && early_ends_.size() < kMostEarlyEnds) {
        // Of the same moment as its begin, perhaps, on a leaf that comes first.
        early_ends_.insert_or_assign(e.record.tag, EarlyEnd{e.time, here, what});
        return;
      }
      if (begins ? open_links_.size() >= kMostLinks : open == open_links_.end()) {
        ++counts_.links_left_out;
        return;
      }
      const std::uint32_t type = begins ? sub_type('L', leaf.type, name) : open->second;
      const std::uint32_t value = value_of('L', type, what, model::StateFamily::kOther);
      text_ += std::string(begins ? "12 " : "13 ") + at + " " + alias('L', type) + " 0 " + here + " " +
               alias('V', value) + " " + quoted(std::to_string(e.record.tag)) + "\n";
      if (begins)
        open_links_.insert_or_assign(e.record.tag, type);
      else
        open_links_.erase(open);
      counts_.links += begins;
      if (const auto early = early_ends_.find(e.record.tag); begins && early != early_ends_.end()) {
        text_ += "13 " + at + " " + alias('L', type) + " 0 " + early->second.here + " " +
                 alias('V', value_of('L', type, early->second.what, model::StateFamily::kOther)) + " " +
                 quoted(std::to_string(e.record.tag)) + "\n";
        early_ends_.erase(early);
        open_links_.erase(e.record.tag);
      }
      return;
    }
    default:
      return;
  }
}

void PajeWriter::drop_early_ends(TimeNs before) {
  if (early_ends_.empty() || early_ends_.begin()->second.time >= before) return;
  counts_.links_left_out += early_ends_.size();
  early_ends_.clear();
}

Status PajeWriter::take(const trace::RawEvent& e) {
  const TimeNs t = std::max(e.time, shown_ ? last_ : e.time);
  drop_early_ends(e.time);  // they are all of one moment
  if (t >= from_) begin_showing();
  if (shown_) last_ = t;
  Leaf& leaf = leaves_[e.leaf.value];
  const bool fresh = !leaf.alive;
  if (e.record.kind != MARGAY_END) revive(leaf, t);
  switch (e.record.kind) {
    case MARGAY_ENTER:
      clear_outside(leaf, t);
      leaf.stack.push_back(e.state);
      push(leaf, t, e.state);
      break;
    case MARGAY_LEAVE:
      if (fresh) to_base(leaf, t);
      if (e.state.value < last_state_.size() && last_state_[e.state.value])
        end(leaf, t);
      else
        leave(leaf, t, e.state);
      break;
    case MARGAY_STACK:
      clear(leaf, t);
      if (e.state == kCompute) {
        to_base(leaf, t);
      } else {
        leaf.stack.push_back(e.state);
        push(leaf, t, e.state);
      }
      break;
    case MARGAY_REGION_ENTER:
    case MARGAY_REGION_LEAVE: {
      if (fresh) to_base(leaf, t);
      trace::RawEvent now = e;
      now.time = t;
      region(leaf, now);
      break;
    }
    case MARGAY_GAP:
      clear(leaf, t);
      leave_regions(leaf, t, 0);
      leaf.unknown = true;
      push(leaf, t, kUnknown);
      counts_.gaps += shown_;
      break;
    case MARGAY_END:
      end(leaf, t);
      break;
    default:
      if (fresh) to_base(leaf, t);
      special(leaf, e);
      break;
  }
  return flush(false);
}

// What a state that is entered from outside ends.
void PajeWriter::clear_outside(Leaf& leaf, TimeNs t) {
  if (leaf.unknown || leaf.base) clear(leaf, t);
}

Status PajeWriter::finish() {
  drop_early_ends(TimeNs(INT64_MAX));
  begin_showing();
  TimeNs until = std::max(last_, all_.run.end.value_or(last_));
  for (const Leaf& leaf : leaves_)
    if (leaf.alive && leaf.goodbye) until = std::max(until, *leaf.goodbye);
  until = std::max(std::min(until, to_), last_);
  // In the order of their ends, so that times never go back.
  std::vector<std::pair<TimeNs, std::size_t>> ends;
  for (std::size_t l = 0; l < leaves_.size(); ++l)
    if (leaves_[l].alive) ends.emplace_back(std::clamp(leaves_[l].goodbye.value_or(until), last_, until), l);
  std::sort(ends.begin(), ends.end());
  for (const auto& [t, l] : ends) end(leaves_[l], t);
  for (auto c = created_.rbegin(); c != created_.rend(); ++c) destroy(c->first, c->second, until);
  return flush(true);
}

Status PajeWriter::flush(bool all) {
  if (!all && text_.size() < kFlushBytes) return {};
  out_.write(text_);
  text_.clear();
  return out_.good() ? Status() : out_.commit();
}

}  // namespace margay::daemon
