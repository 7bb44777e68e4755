#include "point_of_view_menu.h"

#include <QFileDialog>
#include <QInputDialog>
#include <algorithm>

#include "margay/wire/view_words.h"
#include "paint.h"

namespace margay::viewer {
namespace {

constexpr const char* kByGroups = "group";  // margay/model/view.h

}  // namespace

PointOfViewMenu::PointOfViewMenu(Session& session, QWidget* parent)
    : QMenu(tr("Po&int of view"), parent), session_(session) {
  connect(this, &QMenu::aboutToShow, this, &PointOfViewMenu::fill);
  fill();
}

void PointOfViewMenu::add_view(const QString& text, const scene::PointOfView& view) {
  QAction* a = addAction(text, this, [this, view] { session_.set_view(view); });
  a->setCheckable(true);
  a->setChecked(session_.subject().view == view);
  group_->addAction(a);
}

void PointOfViewMenu::fill() {
  clear();
  delete group_;
  group_ = new QActionGroup(this);
  add_view(tr("As usual: site, cluster, host, rank"), {});
  const scene::PointOfView& now = session_.subject().view;
  const std::vector<std::string>& known = session_.known_views().views;
  for (const std::string& levels : known) add_view(tr("By %1").arg(text_of(levels)), {levels, ""});
  const bool listed = now.is_usual() || (now.groups.empty() &&
                                         std::find(known.begin(), known.end(), now.levels) != known.end());
  if (!listed) add_view(tr("By %1").arg(text_of(now.levels)), now);
  addSeparator();
  addAction(tr("&Other..."), this, &PointOfViewMenu::ask_for_levels);
  addAction(tr("&Groups from a file..."), this, &PointOfViewMenu::ask_for_groups);
}

void PointOfViewMenu::next() {
  const std::vector<std::string>& known = session_.known_views().views;
  const scene::PointOfView& now = session_.subject().view;
  const auto at = std::find(known.begin(), known.end(), now.levels);
  std::size_t next = at == known.end() ? 0 : static_cast<std::size_t>(at - known.begin()) + 1;
  if (!now.is_usual() && at == known.end()) next = known.size();
  session_.set_view(next < known.size() ? scene::PointOfView{known[next], ""} : scene::PointOfView{});
}

// Any may be typed: the daemon says which attributes there are where no resource has one.
void PointOfViewMenu::ask_for_levels() {
  QStringList attributes;
  for (const std::string& a : session_.known_views().attributes) attributes << text_of(a);
  auto* dialog = new QInputDialog(parentWidget());
  dialog->setObjectName("point-of-view");
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setWindowTitle(tr("Point of view"));
  const QString help =
      tr("attributes, the highest level first, as in host/core, 'rank mod 8' or 'rank div 4/host'");
  dialog->setLabelText(attributes.isEmpty() ? help
                                            : help + "\n" + tr("there are: %1").arg(attributes.join(", ")));
  dialog->setTextValue(text_of(session_.subject().view.levels));
  connect(dialog, &QInputDialog::textValueSelected, this, [this](const QString& levels) {
    session_.set_view({levels.trimmed().toStdString(), ""});
  });
  dialog->open();
}

void PointOfViewMenu::ask_for_groups() {
  const QString path = QFileDialog::getOpenFileName(
      parentWidget(), tr("Groups: a line each, NAME: PATTERN ... (margay views --help)"));
  if (path.isEmpty()) return;
  const auto view = wire::read_view(kByGroups + ("@" + path.toStdString()));
  if (!view) return emit said(text_of(view.error().message));
  session_.set_view(scene::view_of(*view));
}

}  // namespace margay::viewer
