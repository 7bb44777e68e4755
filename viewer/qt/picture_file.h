// A picture as a file: PNG, SVG, or its numbers as CSV. Without a window: `margay render` is this.
#pragma once

#include <QPainter>
#include <QSize>
#include <QString>

#include "picture_kind.h"
#include "session.h"

namespace margay::viewer {

// The overview: everything that a picture needs to be understood by itself: hierarchy, aggregates, phases,
// proportions, time axis, legend, and a line that says what it is of.
void paint_all(QPainter& painter, const QSizeF& size, const Session& session, const QString& title);
// Whether `path` ends as a picture can be written; a sentence that says how it has to end, or empty.
QString wrong_ending(const QString& path, const PictureKind& kind = picture_kind("overview"));
// The error is a sentence that names the path, or the kind of picture and what it lacks; empty: saved.
QString save_picture(const QString& path, const Session& session, const QSize& size, const QString& title,
                     const PictureKind& kind = picture_kind("overview"));

}  // namespace margay::viewer
