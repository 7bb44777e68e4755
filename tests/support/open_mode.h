/* For libraries that stand before open(): its third argument, where `flags` say that there is one, as `mode`.
 */
#ifndef MARGAY_TESTS_OPEN_MODE_H
#define MARGAY_TESTS_OPEN_MODE_H

#include <fcntl.h>
#include <stdarg.h>
#include <sys/types.h>

#define OPEN_MODE()                           \
  mode_t mode = 0;                            \
  if ((flags & (O_CREAT | O_TMPFILE)) != 0) { \
    va_list rest;                             \
    va_start(rest, flags);                    \
    mode = va_arg(rest, mode_t);              \
    va_end(rest);                             \
  }

#endif
