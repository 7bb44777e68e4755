// The window, and each of its views drawn and saved: use_views FOLDER prints a line a view, its title and the
// file.
#include <QApplication>
#include <QDir>
#include <cstdio>

#include "window.h"

int main(int argc, char** argv) {
  using namespace margay::viewer;
  QApplication application(argc, argv);
  Session session(nullptr, margay::scene::Theme::kLight);
  Window window(session, "night");
  window.show();
  ViewStack& views = window.views();
  for (int i = 0; i < views.count(); ++i) {
    views.setCurrentIndex(i);
    QCoreApplication::processEvents();
    const QString file = QDir(argv[1]).filePath(views.tabText(i));
    if (!views.currentWidget()->isVisible() || !window.grab().save(file + ".seen.png")) return 1;
    if (const QString error = window.save(file + ".png"); !error.isEmpty())
      std::fprintf(stderr, "%s\n", error.toUtf8().constData());
    std::printf("%s\n", views.tabText(i).toUtf8().constData());
  }
  return 0;
}
