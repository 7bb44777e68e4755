#include "view.h"

namespace margay::viewer {

ViewStack::ViewStack(QWidget* parent) : QTabWidget(parent) {
  setDocumentMode(true);
  setTabBarAutoHide(true);
  // Who goes to the pages with the keyboard goes to the one that is seen.
  connect(this, &QTabWidget::currentChanged, this, [this] { setFocusProxy(currentWidget()); });
}

void ViewStack::add(View* view) {
  addTab(view, view->name());
}

View* ViewStack::current() const {
  return qobject_cast<View*>(currentWidget());
}

}  // namespace margay::viewer
