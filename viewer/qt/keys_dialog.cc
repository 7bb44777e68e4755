#include "keys_dialog.h"

#include <QDialogButtonBox>
#include <QMenu>
#include <QScreen>
#include <QTextBrowser>
#include <QVBoxLayout>

namespace margay::viewer {
namespace {

// As people read it: without the & of a mnemonic.
QString plain(QString text) {
  return text.remove('&').remove("...").toHtmlEscaped();
}

QString head(const QString& text) {
  return "<tr><td colspan=2><h3>" + text + "</h3></td></tr>";
}
QString line(const QString& keys, const QString& what) {
  return "<tr><td style='padding-right: 24px; white-space: nowrap'><b>" + keys + "</b></td><td>" + what +
         "</td></tr>";
}

}  // namespace

QString keys_document(const QMenuBar& menus, const QStringList& keys, const QStringList& mouse) {
  QString out = "<table cellspacing=0 cellpadding=2>";
  for (const QAction* entry : menus.actions()) {
    if (entry->menu() == nullptr) continue;
    out += head(plain(entry->text()));
    for (const QAction* a : entry->menu()->actions()) {
      if (a->isSeparator()) continue;
      QStringList its;
      for (const QKeySequence& k : a->shortcuts())
        its << k.toString(QKeySequence::NativeText).toHtmlEscaped();
      out += line(its.isEmpty() ? QObject::tr("Alt, menu") : its.join(QObject::tr(" or ")), plain(a->text()));
    }
  }
  out += head(QObject::tr("Everywhere"));
  out += line("Tab", QObject::tr("the next part of the window; arrows move in it"));
  out += line("Alt", QObject::tr("the menus, by their underlined letters"));
  for (const auto& [title, lines] :
       {std::pair(QObject::tr("In this page"), keys), std::pair(QObject::tr("Mouse"), mouse)}) {
    if (lines.isEmpty()) continue;
    out += head(title);
    for (const QString& l : lines)
      out += line(l.section('|', 0, 0).toHtmlEscaped(), l.section('|', 1).toHtmlEscaped());
  }
  return out + "</table>";
}

KeysDialog::KeysDialog(const QString& document, QWidget* parent) : QDialog(parent) {
  setWindowTitle(tr("Keys"));
  setAttribute(Qt::WA_DeleteOnClose);
  auto* column = new QVBoxLayout(this);
  auto* text = new QTextBrowser(this);
  text->setHtml(document);
  column->addWidget(text);
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close, this);
  connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
  column->addWidget(buttons);
  const QSize screen = parent->screen()->availableSize();
  resize(std::min(620, screen.width() - 40), std::min(640, screen.height() - 60));
}

}  // namespace margay::viewer
