#include "filter_dialog.h"

#include <QDialogButtonBox>
#include <QFormLayout>
#include <QVBoxLayout>

#include "paint.h"

namespace margay::viewer {
namespace {

constexpr int kLongestLine = 3500, kDialogWidth = 560;

}  // namespace

LeftOfRun left_of_run(const Session& session, const wire::RunFilter& filter) {
  LeftOfRun out;
  for (const scene::State& s : session.states())
    if (s.known()) {
      ++out.all_states;
      if (filter.states.shows(s.name, s.family)) ++out.states;
    }
  for (const scene::Node& n : session.data().nodes)
    if (n.leaf_count == 1) {
      // A node of one leaf may have it below.
      const auto index = static_cast<std::uint32_t>(&n - session.data().nodes.data());
      if (n.end > index + 1) continue;
      ++out.all_resources;
      if (filter.resources.shows(n.path)) ++out.resources;
    }
  return out;
}

FilterDialog::FilterDialog(Session& session, QWidget* parent) : QDialog(parent), session_(session) {
  setWindowTitle(tr("Filter states and resources"));
  setAttribute(Qt::WA_DeleteOnClose);
  auto* column = new QVBoxLayout(this);
  auto* form = new QFormLayout;
  const scene::RunFilter& now = session.subject().filter;
  const auto field = [&](const QString& head, const std::vector<std::string>& terms, const QString& example,
                         const QString& name) {
    auto* edit = new QLineEdit(this);
    edit->setObjectName(name);
    edit->setMaxLength(kLongestLine);
    edit->setPlaceholderText(example);
    edit->setText(text_of(scene::line_of(terms)));
    edit->setClearButtonEnabled(true);
    edit->setAccessibleName(head);
    connect(edit, &QLineEdit::textChanged, this, &FilterDialog::look);
    connect(edit, &QLineEdit::returnPressed, this, &FilterDialog::apply);
    form->addRow(head, edit);
    return edit;
  };
  states_ = field(tr("&States"), now.states, tr("all; MPI_*, family:wait, !MPI_Test"), "filter-of-states");
  resources_ =
      field(tr("&Resources"), now.resources, tr("all; /node1/*, *rank6, !/node2"), "filter-of-resources");
  column->addLayout(form);
  QStringList words;
  for (const wire::FamilyWord& f : wire::family_words()) words << text_of(std::string(f.word));
  auto* help = new QLabel(tr("Between commas; * is any text, ? any character; ! leaves out. Of a resource "
                             "all below it belongs to "
                             "it. Families: %1.")
                              .arg(words.join(", ")),
                          this);
  help->setWordWrap(true);
  column->addWidget(help);
  rest_ = new QCheckBox(
      tr("Shares are of the &rest (else what is left out counts as time that is not shown)"), this);
  rest_->setChecked(now.of_the_rest);
  column->addWidget(rest_);
  told_ = new QLabel(this);
  told_->setWordWrap(true);
  column->addWidget(told_);
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Ok | QDialogButtonBox::Cancel, this);
  ok_ = buttons->button(QDialogButtonBox::Ok);
  ok_->setDefault(true);
  column->addWidget(buttons);
  connect(buttons, &QDialogButtonBox::accepted, this, &FilterDialog::apply);
  connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
  resize(kDialogWidth, sizeHint().height());
  look();
  states_->setFocus();
}

scene::RunFilter FilterDialog::typed() const {
  return {scene::terms_of(states_->text().toStdString()), scene::terms_of(resources_->text().toStdString()),
          rest_->isChecked()};
}

void FilterDialog::look() {
  wire::ViewQuestion q;
  scene::put_filter(typed(), q);
  const auto filter = wire::run_filter_untrusted(q.filter());
  ok_->setEnabled(filter.has_value());
  if (!filter) return told_->setText(text_of(filter.error().message));
  const LeftOfRun left = left_of_run(session_, *filter);
  told_->setText(tr("%1 of %2 states that were seen, %3 of %4 resources of the picture")
                     .arg(left.states)
                     .arg(left.all_states)
                     .arg(left.resources)
                     .arg(left.all_resources));
}

void FilterDialog::apply() {
  if (ok_->isEnabled() && session_.set_filter(typed())) accept();
}

}  // namespace margay::viewer
