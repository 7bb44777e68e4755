// The pictures that a file can have: a row each of margay/command/pictures.def, and a picture_NAME.cc.
//
// Lengths are logical pixels. Thread safety: what paints or writes only reads the session. Cost: linear in
// what is drawn or written.
#pragma once

#include <QPainter>
#include <QRectF>
#include <QSizeF>
#include <QString>
#include <QStringList>
#include <functional>
#include <optional>
#include <string>

#include "session.h"

namespace margay::viewer {

struct PictureKind {
  // Which single calls its answers are to have.
  Session::Calls calls = Session::Calls::kNever;
  // It needs the significant p, which come last.
  bool curve = false;
  // It is of what the events sum to, which come when they are asked for (Session::sums()).
  std::optional<SumsOf> sums;
  wire::EventsQuestion::Alike alike = wire::EventsQuestion::NOT;  // and of these what is alike together
  // The window shows this, too: else it is of files alone.
  bool of_window = false;
  // It has parts, of which those that are too small are drawn together (Session::threshold()).
  bool parts = false;
  // Why it cannot be made of what the session has: a sentence; empty: it can. REQUIRES: data that is not
  // empty.
  std::function<QString(const Session& session)> lacks;  // null: nothing
  // The whole of the picture, with all that is needed to understand it by itself.
  std::function<void(QPainter& painter, const QSizeF& size, const Session& session, const QString& title)>
      paint;
  // Its numbers, RFC 4180; null: `no_csv` is the sentence that says where they are instead.
  std::function<std::string(const Session& session)> csv;
  const char* no_csv = "";
};

// "" reads as "overview". REQUIRES: a name of the table.
const PictureKind& picture_kind(const std::string& name);

// What pictures have in common: the ground, and the lines above that say what it is of. Returns the room that
// is left, margins taken off; empty where there is nothing to show, which is said then.
QRectF paint_page(QPainter& painter, const QSizeF& size, const Session& session, const QStringList& head);
// "night   0 s to 30 s (30 s)   p 0.02, 40 parts": the run's name, and what of it.
QString head_of(const QString& title, const Session& session);
// ", cut in space only", where a picture is not cut in space and time at once.
QString cut_of(const scene::ViewData& data);
// "operator duration (share of the time) of 16 resources in 100 slices".
QString measured_of(const scene::ViewData& data);

}  // namespace margay::viewer
