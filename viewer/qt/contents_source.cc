#include "contents_source.h"

#include <algorithm>

namespace margay::viewer {

ContentsSource::ContentsSource(Session& session, QObject* parent) : QObject(parent), session_(session) {
  rest_.setSingleShot(true);
  rest_.setInterval(kRest);
  connect(&rest_, &QTimer::timeout, this, &ContentsSource::ask_for_next);
  connect(&session_, &Session::beside, this, [this](quint64 token, const ViewPtr& data) {
    if (token == token_) keep({{}, scene::contents_of(*data), {}});
  });
  connect(&session_, &Session::not_beside, this, [this](quint64 token, const QString& why) {
    if (token == token_) keep({{}, {}, why});
  });
}

void ContentsSource::want(std::vector<Stretch> stretches, bool anew) {
  wanted_ = std::move(stretches);
  if (anew) std::erase_if(kept_, [](const Kept& k) { return !k.trouble.isEmpty(); });
  ask_for_next();
}

const ContentsSource::Kept* ContentsSource::find(const Stretch& s) const {
  const auto at = std::find_if(kept_.begin(), kept_.end(), [&](const Kept& k) {
    const scene::TimeRange asked = k.asked.time;
    return k.asked.same_resources(s) && asked.from == s.time.from &&
           (asked.to == s.time.to || (s.goes_on && asked.to < s.time.to));
  });
  return at == kept_.end() ? nullptr : &*at;
}

const scene::StretchContents* ContentsSource::of(const Stretch& stretch) const {
  const Kept* kept = find(stretch);
  return kept == nullptr || !kept->trouble.isEmpty() ? nullptr : &kept->contents;
}

QString ContentsSource::trouble(const Stretch& stretch) const {
  const Kept* kept = find(stretch);
  return kept == nullptr ? QString() : kept->trouble;
}

void ContentsSource::ask_for_next() {
  if (token_ != 0) return;
  const auto next = std::find_if(wanted_.begin(), wanted_.end(), [&](const Stretch& s) {
    const Kept* kept = find(s);
    if (s.time.from >= s.time.to) return false;
    return kept == nullptr || (kept->asked.time.to != s.time.to && !rest_.isActive());
  });
  if (next == wanted_.end()) return;
  wire::ViewQuestion q;
  q.set_from_ns(next->time.from.value);
  q.set_to_ns(next->time.to.value);
  // One slice is one part, at any p; and its bounds are those that were asked for.
  q.set_slices(1);
  q.set_partition(wire::ViewQuestion::TEMPORAL);
  q.set_p(1);
  q.set_node(next->node);
  for (const std::string& resource : next->resources) q.mutable_filter()->add_resources(resource);
  if (!next->resources.empty()) q.mutable_filter()->set_of_the_rest(true);
  under_way_ = *next;
  token_ = session_.ask_beside(q);
  q.set_token(token_);
  question_ = std::move(q);
}

void ContentsSource::keep(Kept kept) {
  kept.asked = under_way_;
  token_ = 0;
  std::erase_if(kept_, [&](const Kept& k) {
    return k.asked.time.from == kept.asked.time.from && k.asked.same_resources(kept.asked);
  });
  kept_.push_front(std::move(kept));
  if (kept_.size() > kMostKept) kept_.pop_back();
  rest_.start();
  emit changed();
  ask_for_next();
}

}  // namespace margay::viewer
