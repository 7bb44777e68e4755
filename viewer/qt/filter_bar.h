// What is not shown, and the way to have it again: a chip for each thing that is left out, which a click
// takes back alone, and whether shares are of all time or of the rest. Hidden while everything is shown.
//
// Thread safety: none; belongs to the thread of the window.
#pragma once

#include <QFrame>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <optional>
#include <vector>

#include "session.h"

namespace margay::viewer {

class FilterBar : public QFrame {
  Q_OBJECT

 public:
  // Terms that have a chip of their own; the others are one, which leads to the dialog.
  static constexpr std::size_t kMostChips = 6;

  explicit FilterBar(Session& session, QWidget* parent = nullptr);
  // Of all chips, for tests.
  QString text() const;
  // "shares are of the rest"; empty where nothing counts differently.
  QString proportions() const;

 signals:
  void asked();  // for the dialog that has all terms

 private:
  void update_all();
  void show_terms(const scene::RunFilter& filter);
  void add_term(const QString& text, bool of_states, std::size_t term);

  Session& session_;
  QLabel* not_all_;
  QPushButton *measure_, *view_, *states_, *node_, *search_, *rest_, *all_;
  QHBoxLayout* terms_line_;
  std::vector<QPushButton*> terms_;
  std::optional<scene::RunFilter> shown_;
};

}  // namespace margay::viewer
