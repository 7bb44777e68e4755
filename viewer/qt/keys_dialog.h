// The list of keys, made of the actions there are: none is forgotten when one is added.
//
// Thread safety: none; belongs to the thread of the window.
#pragma once

#include <QDialog>
#include <QMenuBar>
#include <QStringList>

namespace margay::viewer {

// Of all actions in the menus what they do and their keys, by menu, then what else keys and the mouse do in
// the page that is seen ("done|comes of it", View::keys() and View::mouse()), as a document. No text of it is
// HTML of somebody else.
QString keys_document(const QMenuBar& menus, const QStringList& keys, const QStringList& mouse);

class KeysDialog : public QDialog {
  Q_OBJECT

 public:
  KeysDialog(const QString& document, QWidget* parent);
};

}  // namespace margay::viewer
