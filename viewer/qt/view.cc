#include "view.h"

#include <QTabBar>

namespace margay::viewer {

#define MARGAY_VIEW(name, title) View* make_##name(Session& session, QWidget* parent);
#include "views.def"
#undef MARGAY_VIEW

ViewStack::ViewStack(Session& session, QWidget* parent) : QTabWidget(parent) {
  setDocumentMode(true);
  setTabBarAutoHide(true);
  tabBar()->setFocusPolicy(Qt::NoFocus);  // numbers lead to the pages
  // Who goes to the pages with the keyboard goes to the one that is seen.
  connect(this, &QTabWidget::currentChanged, this, [this] { setFocusProxy(currentWidget()); });
#define MARGAY_VIEW(name, title) addTab(make_##name(session, this), tr(title));
#include "views.def"
#undef MARGAY_VIEW
  for (const View* view : findChildren<View*>())
    connect(view, &View::overview_wanted, this, [this] {
      setCurrentIndex(0);
      currentWidget()->setFocus();
    });
}

View* ViewStack::current() const {
  return qobject_cast<View*>(currentWidget());
}

}  // namespace margay::viewer
