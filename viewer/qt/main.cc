// margay-viewer: the window, and with --render the same picture without a display.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <QApplication>
#include <QDir>
#include <QFontDatabase>
#include <cstdio>

#include "margay/command/picture_options.h"
#include "margay/text/help_page.h"
#include "margay/transport/rundir.h"
#include "paint.h"
#include "picture_file.h"
#include "viewer.h"

namespace {

constexpr int kWrongCall = 2;
constexpr int kNothingToShow = 1;

int complain(const std::string& sentence, int code) {
  std::fprintf(stderr, "margay-viewer: %s\n", sentence.c_str());
  return code;
}

bool is_set(const char* name) {
  return qEnvironmentVariableIsSet(name) && !qEnvironmentVariableIsEmpty(name);
}

// The same text on every machine that has the font, whatever its desktop and resolution.
void set_picture_font() {
  const QString family = "DejaVu Sans";
  if (!QFontDatabase::hasFamily(family)) return;
  QFont font(family);
  font.setPixelSize(12);
  QApplication::setFont(font);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      R"(The window: what a job does, which ranks do it and since when; during the run and afterwards.

  margay-viewer                    the newest run here, or a page that says how to begin
  margay-viewer night              a run by its name (margay runs lists the names)
  margay-viewer night.margay       the archive of a run
  margay-viewer example            the archive that is shipped
  margay-viewer model.csv          a model of your own: resource,time,state,value (margay partition)
  margay-viewer night.margay --render picture.png --from 12 --to 30    a picture, without a display)",
      "margay-viewer");
  margay::text::use_help_page(app);
  margay::command::PictureOptions options;
  std::string file;
  margay::command::add_picture_options(app, options);
  app.add_option("--render", file, "write the picture to this file (.png, .svg, .csv) and end")
      ->type_name("FILE");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : kWrongCall;
  }
  // What is wrong with the question is said before anybody is asked.
  const auto wanted = margay::viewer::wanted_of(options);
  if (!wanted) return complain(wanted.error().message, kWrongCall);
  const margay::viewer::PictureKind& kind = margay::viewer::picture_kind(options.picture);
  if (!file.empty())
    if (const QString wrong = margay::viewer::wrong_ending(QString::fromStdString(file), kind);
        !wrong.isEmpty())
      return complain(wrong.toStdString(), kWrongCall);
  if (!kind.parts && options.threshold > 0)
    return complain("--threshold: --picture " + options.picture +
                        " has no parts that are too small; it is of overview and gantt",
                    kWrongCall);
  if (file.empty() && !kind.of_window)
    return complain("--picture " + options.picture +
                        " is a file's: --render FILE writes it; in the window there are overview and gantt",
                    kWrongCall);
  // Qt would end a program that has no display with an abort, and a sentence about plugins.
  if (file.empty() && !is_set("DISPLAY") && !is_set("WAYLAND_DISPLAY") && !is_set("QT_QPA_PLATFORM"))
    return complain("there is no display here (ssh -X, or --render FILE writes the picture without one)",
                    kNothingToShow);
  if (!file.empty()) ::setenv("QT_QPA_PLATFORM", "offscreen", 1);
  // Where no session has made one (root, ssh without PAM), Qt would make a directory of a name that anybody
  // can foretell, in /tmp, and say so. The directory of the user's runs is private, and checked to be.
  if (!is_set("XDG_RUNTIME_DIR"))
    if (const auto own = margay::transport::user_directory()) ::setenv("XDG_RUNTIME_DIR", own->c_str(), 1);
  QApplication application(argc, argv);
  QApplication::setApplicationName("Margay");
  if (!file.empty()) {
    set_picture_font();
    return margay::viewer::render(*wanted, QString::fromStdString(file));
  }
  margay::viewer::Viewer viewer(*wanted, QDir::currentPath());
  viewer.start();
  return QApplication::exec();
}
