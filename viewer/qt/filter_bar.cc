#include "filter_bar.h"

#include <QStyle>
#include <QStyleOptionButton>
#include <QStylePainter>

#include "margay/scene/run_filter.h"
#include "margay/scene/statistics.h"
#include "paint.h"

namespace margay::viewer {
namespace {

constexpr int kMostNamed = 3;     // states, in the bar of filters
constexpr int kMostListed = 40;   // in its tool tip
constexpr int kLongestChip = 48;  // characters
QString shortened(const QString& text) {
  return text.size() <= kLongestChip ? text
                                     : text.left(kLongestChip / 2) + "…" + text.right(kLongestChip / 2);
}

// Takes less room than its text where there is none.
class Chip : public QPushButton {
 public:
  using QPushButton::QPushButton;
  QSize sizeHint() const override { return QPushButton::sizeHint() + QSize(16, 0); }
  QSize minimumSizeHint() const override {
    return {fontMetrics().averageCharWidth() * 12, QPushButton::minimumSizeHint().height()};
  }

 protected:
  void paintEvent(QPaintEvent*) override {
    QStylePainter p(this);
    QStyleOptionButton option;
    initStyleOption(&option);
    const int room = width() - option.iconSize.width() - 3 * fontMetrics().averageCharWidth();
    option.text = fontMetrics().elidedText(option.text, Qt::ElideRight, room);
    p.drawControl(QStyle::CE_PushButton, option);
  }
};

QPushButton* chip(QWidget* parent, const QString& name) {
  auto* button = new Chip(parent);
  button->setObjectName(name);
  button->setVisible(false);
  button->setIcon(button->style()->standardIcon(QStyle::SP_DialogCloseButton));
  button->setSizePolicy(QSizePolicy::Maximum, QSizePolicy::Fixed);
  button->setLayoutDirection(Qt::RightToLeft);  // the cross comes after the text
  return button;
}

}  // namespace

FilterBar::FilterBar(Session& session, QWidget* parent) : QFrame(parent), session_(session) {
  setObjectName("filters");
  setAccessibleName(tr("What is left out of the picture"));
  setAutoFillBackground(true);
  setBackgroundRole(QPalette::ToolTipBase);
  setForegroundRole(QPalette::ToolTipText);
  auto* line = new QHBoxLayout(this);
  line->setContentsMargins(8, 3, 8, 3);
  measure_ = chip(this, "filter-measure");
  line->addWidget(measure_);
  view_ = chip(this, "filter-view");
  line->addWidget(view_);
  not_all_ = new QLabel(tr("Not everything is shown:"), this);
  line->addWidget(not_all_);
  states_ = chip(this, "filter-states");
  node_ = chip(this, "filter-node");
  search_ = chip(this, "filter-search");
  all_ = new QPushButton(tr("Show everything"), this);
  all_->setObjectName("filter-all");
  for (QPushButton* b : {states_, node_, search_}) line->addWidget(b);
  terms_line_ = new QHBoxLayout;
  terms_line_->setContentsMargins(0, 0, 0, 0);
  line->addLayout(terms_line_);
  line->addStretch();
  // What the chips leave of the room, and its whole text under the mouse.
  rest_ = new Chip(this);
  rest_->setObjectName("filter-rest");
  rest_->setFlat(true);
  rest_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
  line->addWidget(rest_, 1);
  line->addWidget(all_);
  connect(measure_, &QPushButton::clicked, this, [this] { session_.set_measure(""); });
  connect(view_, &QPushButton::clicked, this, [this] { session_.set_view({}); });
  connect(states_, &QPushButton::clicked, this, [this] { session_.set_states({}); });
  connect(node_, &QPushButton::clicked, this, [this] { session_.set_node(""); });
  connect(search_, &QPushButton::clicked, this, [this] { session_.search(""); });
  connect(rest_, &QPushButton::clicked, this, [this] {
    scene::RunFilter filter = session_.subject().filter;
    filter.of_the_rest = !filter.of_the_rest;
    session_.set_filter(std::move(filter));
  });
  connect(all_, &QPushButton::clicked, this, [this] { session_.show_everything(); });
  connect(&session_, &Session::status_changed, this, &FilterBar::update_all);
  connect(&session_, &Session::view_changed, this, &FilterBar::update_all);
  update_all();
}

void FilterBar::update_all() {
  const scene::Subject& s = session_.subject();
  const std::string& searched = session_.folding().search;
  QStringList named, listed;
  for (const std::string& name : s.states) {
    if (named.size() < kMostNamed) named << text_of(name);
    if (listed.size() < kMostListed) listed << text_of(name);
  }
  const auto n = static_cast<int>(s.states.size());
  QString states = tr("only %1").arg(shortened(named.join(", ")));
  if (n > kMostNamed) states += tr(" and %1 more").arg(n - kMostNamed);
  if (n > kMostListed) listed << tr("and %1 more").arg(n - kMostListed);
  states_->setText(states);
  states_->setToolTip(listed.join("\n") + "\n" + tr("a click shows all states again"));
  states_->setVisible(n > 0);
  const bool below = !s.node.empty() && s.node != "/";
  node_->setText(tr("only what is below %1").arg(shortened(text_of(s.node))));
  node_->setToolTip(text_of(s.node) + "\n" + tr("a click shows all nodes again"));
  node_->setVisible(below);
  search_->setText(tr("only names with \"%1\"").arg(shortened(text_of(searched))));
  search_->setToolTip(tr("a click shows all names again"));
  search_->setVisible(!searched.empty());
  show_terms(s.filter);
  const bool filtered = n > 0 || below || !searched.empty() || !s.filter.empty();
  const bool of_time = s.measure.empty() && (n > 0 || !s.filter.empty());
  rest_->setText(text_of(scene::proportions_text(s.filter.of_the_rest)));
  rest_->setToolTip(rest_->text() + "\n" +
                    (s.filter.of_the_rest
                         ? tr("a click: what is left out counts as time that is not shown (R)")
                         : tr("a click: what is left out counts nowhere (R)")));
  rest_->setVisible(of_time);
  not_all_->setVisible(filtered);
  all_->setVisible(filtered);
  measure_->setText(tr("measured: %1").arg(shortened(text_of(scene::measure_name(s.measure)))));
  measure_->setToolTip(tr("a click shows again how long states last"));
  measure_->setVisible(!s.measure.empty());
  view_->setText(tr("seen by %1").arg(shortened(text_of(s.view.levels))));
  view_->setToolTip(tr("a click shows the usual hierarchy again (Shift+V: the next one)"));
  view_->setVisible(!s.view.is_usual());
  setVisible(filtered || !s.measure.empty() || !s.view.is_usual());
}

void FilterBar::show_terms(const scene::RunFilter& filter) {
  if (shown_ == filter) return;
  shown_ = filter;
  // One of them may be what was clicked.
  for (QPushButton* b : terms_) b->hide(), b->deleteLater();
  terms_.clear();
  std::size_t left = kMostChips;
  const auto add_some = [&](const std::vector<std::string>& terms, bool of_states) {
    for (std::size_t i = 0; i < terms.size() && left > 0; ++i, --left)
      add_term(text_of(of_states ? scene::state_term_text(terms[i]) : scene::resource_term_text(terms[i])),
               of_states, i);
  };
  add_some(filter.states, true);
  add_some(filter.resources, false);
  const std::size_t all = filter.states.size() + filter.resources.size();
  if (all <= kMostChips) return;
  auto* more = new QPushButton(tr("and %1 more...").arg(all - kMostChips), this);
  more->setObjectName("filter-more");
  more->setToolTip(tr("all of them, to be changed"));
  connect(more, &QPushButton::clicked, this, &FilterBar::asked);
  terms_.push_back(more);
  terms_line_->addWidget(more);
  more->show();
}

void FilterBar::add_term(const QString& text, bool of_states, std::size_t term) {
  QPushButton* button = chip(this, "filter-term");
  button->setText(shortened(text));
  button->setToolTip(text + "\n" + tr("a click takes this one back"));
  connect(button, &QPushButton::clicked, this, [this, of_states, term] {
    scene::RunFilter filter = session_.subject().filter;
    auto& terms = of_states ? filter.states : filter.resources;
    if (term < terms.size()) terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(term));
    session_.set_filter(std::move(filter));
  });
  terms_.push_back(button);
  terms_line_->addWidget(button);
  button->show();
}

QString FilterBar::text() const {
  QStringList words;
  for (const QPushButton* b : {measure_, states_, node_, search_})
    if (!b->isHidden()) words << b->text();
  for (const QPushButton* b : terms_) words << b->text();
  return words.join("; ");
}

QString FilterBar::proportions() const {
  return rest_->isHidden() ? QString() : rest_->text();
}

}  // namespace margay::viewer
