// A view of the window, as an example: what the picture is of, in a few words.
#include <QFile>
#include <QLabel>
#include <QVBoxLayout>

#include "view.h"

namespace margay::viewer {
namespace {

class Summary final : public View {
 public:
  explicit Summary(Session& session, QWidget* parent) : View(session, parent), words_(new QLabel(this)) {
    (new QVBoxLayout(this))->addWidget(words_);
    connect(&session_, &Session::data_changed, this, &Summary::show_words);
    show_words();
  }
  QStringList mouse() const override { return {}; }
  QString save(const QString& path, const QString& title) override {
    QFile file(path);
    const QByteArray text = (title + ": " + words_->text() + "\n").toUtf8();
    if (!file.open(QIODevice::WriteOnly) || file.write(text) != text.size())
      return tr("%1: %2").arg(path, file.errorString());
    return {};
  }

 private:
  void show_words() {
    const scene::ViewData& d = session_.data();
    words_->setText(
        tr("%1 resources, %2 slices, %3 parts").arg(d.leaves()).arg(d.slices()).arg(d.parts.size()));
  }

  QLabel* words_;
};

}  // namespace

View* make_summary(Session& session, QWidget* parent) {
  return new Summary(session, parent);
}

}  // namespace margay::viewer
