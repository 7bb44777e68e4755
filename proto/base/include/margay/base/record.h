/* The event record: what a probe writes into its ring, what travels (as columns) and what is archived.
 *
 * One event is one timestamped record. The layout is final: 32 bytes, no padding, plain C, so that a probe
 * inside somebody else's program needs nothing but this header. */
#pragma once

#ifdef __cplusplus
#include <cstdint>
extern "C" {
#else
#include <stdint.h>
#endif

enum {
  MARGAY_ENTER = 1,        /* entered `state` (a function); peer, comm, tag, bytes as posted */
  MARGAY_LEAVE = 2,        /* left `state`; for receives, peer, tag and bytes as completed when known */
  MARGAY_REGION_ENTER = 3, /* entered the named region `state` (MPI_Pcontrol); does not change the state */
  MARGAY_REGION_LEAVE = 4, /* left it */
  MARGAY_GAP = 5,          /* `bytes` records were dropped since the previous record of this stream */
  MARGAY_STACK = 6,        /* after a gap: `state` is open now (the source's compute name where none is) */
  /* Of imported traces only (collector/import); a source of events may not send these two. */
  MARGAY_BEGIN = 7, /* the resource begins to exist */
  MARGAY_END = 8,   /* it ceases to exist */
  /* They change no state. A name of another kind (variable, mark, link) makes no sense, and is rejected. */
  MARGAY_VARIABLE = 9, /* the variable `state` has the value in `bytes` (the bits of a double) from here on */
  MARGAY_MARK = 10,    /* the punctual event `state` */
  MARGAY_LINK_BEGIN = 11, /* the link `state` begins: `bytes` sent; `tag` is the number of the link */
  MARGAY_LINK_END = 12,   /* and ends here */
  /* Sums instead of single calls (collector/probe/SUMS.md). A SUM follows the record before it like a visit:
   * all the time between the two was spent in `state`, in pieces of which nobody knows the order any more. */
  MARGAY_SUM = 13, /* `comm` visits of it ended, the longest took `bytes` ns; `peer`, of the world, and `tag`
                      are its */
  MARGAY_SUM_MOVED = 14,  /* of the SUM before: `comm` visits of it began, and `tag` messages moved `bytes` */
  MARGAY_SUM_OPEN = 15,   /* after the sums `state` is open, since just now; else as MARGAY_STACK */
  MARGAY_SUM_INSIDE = 16, /* and inside of that, `state` */
};

#define MARGAY_NO_PEER (-1)
#define MARGAY_NO_TAG (-1)
/* The state that a thread which has named its states enters and leaves last of all. */
#define MARGAY_THREAD_END "(thread end)"

typedef struct margay_record { /* NOLINT(modernize-use-using): C reads this too */
  int64_t time_ns;             /* host time, CLOCK_MONOTONIC */
  uint64_t bytes;              /* posted bytes; dropped records for MARGAY_GAP */
  int32_t peer;                /* rank in `comm`, or MARGAY_NO_PEER */
  int32_t tag;                 /* or MARGAY_NO_TAG */
  uint32_t comm;               /* the source's number for the communicator; 0 where there is none */
  uint16_t state;              /* index into the source's name table (Hello.names) */
  uint8_t kind;                /* MARGAY_ENTER ... */
  uint8_t flags;               /* 0; reserved */
} margay_record;

#ifdef __cplusplus
}
static_assert(sizeof(margay_record) == 32, "the record layout is part of the wire");
namespace margay {
using EventRecord = margay_record;

// It names a state (or 0, which stands for none), and not a region, a variable, a mark or a link.
constexpr bool names_a_state(std::uint8_t kind) {
  return kind == MARGAY_ENTER || kind == MARGAY_LEAVE || kind == MARGAY_STACK ||
         (kind >= MARGAY_SUM && kind <= MARGAY_SUM_INSIDE);
}
// It may come from a source of events: those of imported traces may not.
constexpr bool may_be_sent(std::uint8_t kind) {
  return kind >= MARGAY_ENTER && kind <= MARGAY_SUM_INSIDE && kind != MARGAY_BEGIN && kind != MARGAY_END;
}
// Changes no state, and is noted.
constexpr bool is_note(std::uint8_t kind) {
  return kind >= MARGAY_VARIABLE && kind <= MARGAY_LINK_END;
}
}  // namespace margay
#endif
