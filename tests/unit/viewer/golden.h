// Pictures held against goldens.
//
// Two pictures are the same if no block of 8 x 8 pixels has a mean that differs, in any channel, by more than
// kTolerance of 255. Why means: another version of FreeType draws the edges of a letter otherwise, pixel by
// pixel, but puts down as much ink in a block. Why that much: a letter that is moved by half a pixel, which
// is what hinting does, changes the mean of its block by at most 1/16 of the contrast, 16 of 255. A word that
// is gone, another colour, an edge that is moved by two pixels, a mark that is missing, change it by more
// (they are tried: SpoiltPictures).
//
// MARGAY_PICTURES=DIR writes the pictures that the tests make to DIR, under the goldens' names: look at them,
// then copy.
#pragma once

#include <QImage>
#include <QString>
#include <string>

namespace margay::viewer {

inline constexpr int kBlock = 8;
inline constexpr int kTolerance = 16;

// "" if they are the same; or where they differ most, and by how much.
std::string difference(const QImage& a, const QImage& b);
// The same against the file `path`, whose name is that of what is written to MARGAY_PICTURES.
std::string against_golden(const QImage& picture, const QString& path);

}  // namespace margay::viewer
