/* The page by which a test tells libmargay-faults.so, preloaded into margayd, what shall go wrong, and reads
 * what did.
 *
 * One file of kFaultsPageBytes, mapped shared by both; its path is in MARGAY_TEST_FAULTS. Every field is 8
 * bytes, little- endian, at the offset noted, so that Python can write it with struct. The test writes the
 * fields of an order first and its switch (`kill_order`, `fail_on`, `slow_on`) last. One test, one daemon at
 * a time.
 */
#pragma once

#ifdef __cplusplus
#include <cstdint>
extern "C" {
#else
#include <stdint.h>
#endif

enum { kFaultsPageBytes = 4096, kFaultsPathBytes = 256, kFaultsPatternBytes = 16 };

/* What a call does; may be or-ed in an order. */
enum faults_op {
  FAULTS_WRITE = 1,   /* write, pwrite */
  FAULTS_SYNC = 2,    /* fsync, fdatasync, sync_file_range */
  FAULTS_OPEN = 4,    /* open for writing, mkdir */
  FAULTS_RENAME = 8,  /* rename, link */
  FAULTS_UNLINK = 16, /* unlink, rmdir */
  FAULTS_RESIZE = 32, /* ftruncate, fallocate */
  FAULTS_READ = 64,   /* read, pread */
  FAULTS_SEND = 128,  /* send, sendmsg, write on a socket */
};

/* What it does it to; may be or-ed in an order. Files outside `archive` are never touched. */
enum faults_class {
  FAULTS_WAL = 1,      /* db/NNN.log */
  FAULTS_SST = 2,      /* db/NNN.sst */
  FAULTS_MANIFEST = 4, /* db/MANIFEST-NNN */
  FAULTS_OTHER = 8,    /* the rest of the archive: CURRENT, OPTIONS, LOCK, the directory, the marker */
  FAULTS_INGEST = 16,  /* a connection to ingest.ipc */
};

enum faults_when { FAULTS_BEFORE = 0, FAULTS_TORN = 1, FAULTS_AFTER = 2 };

struct faults_page {
  /* Where and by which clock (written before the daemon starts). */
  char archive[kFaultsPathBytes]; /*   0 absolute, no trailing slash; what lies below it is the disk */
  int64_t realtime_anchor;        /* 256 if not 0: CLOCK_REALTIME is this at the first call, and from then on
                                     advances        with CLOCK_MONOTONIC, also in later daemons */
  int64_t realtime_offset;        /* 264 set by the library: CLOCK_REALTIME less CLOCK_MONOTONIC */
  int64_t reserved0[2];           /* 272 */

  /* kill -9 of itself. */
  int64_t kill_order;         /* 288 another number than before: armed */
  int64_t kill_op;            /* 296 */
  int64_t kill_class;         /* 304 */
  int64_t kill_countdown;     /* 312 at the n-th call that matches, 1 for the first */
  int64_t kill_when;          /* 320 faults_when */
  int64_t kill_torn_permille; /* 328 FAULTS_TORN: how much of the call's bytes is written first */
  int64_t kill_not_before;    /* 336 CLOCK_MONOTONIC; 0: at once */
  int64_t kill_needs_write;   /* 344 not 0: only when the log was written since the last send to an agent */
  int64_t kill_pattern_bytes; /* 352 if not 0: the bytes to be written must hold kill_pattern */
  char kill_pattern[kFaultsPatternBytes]; /* 360 */
  char kill_thread[16];                   /* 376 if not empty: only this thread's calls */

  /* Calls that fail. */
  int64_t fail_on;    /* 392 */
  int64_t fail_op;    /* 400 */
  int64_t fail_class; /* 408 */
  int64_t fail_errno; /* 416 */
  int64_t fail_most;  /* 424 so many calls only; 0: until it is switched off */
  int64_t fail_half;  /* 432 not 0: a failing write leaves half of its bytes behind, as a full disk does */

  /* Calls that take long. */
  int64_t slow_on;    /* 440 */
  int64_t slow_op;    /* 448 */
  int64_t slow_class; /* 456 */
  int64_t slow_ms;    /* 464 */

  /* Written by the library. */
  int64_t calls;         /* 472 that touched the archive, since the daemon started (reads not counted) */
  int64_t failed;        /* 480 calls that were made to fail */
  int64_t slowed;        /* 488 */
  int64_t log_bytes;     /* 496 bytes of the log written since the last send to an agent */
  int64_t reads_analyse; /* 504 reads of the archive by margay-analyse, since the daemon started */
  /* The last kill. */
  int64_t killed_order;     /* 512 = kill_order once it has happened */
  int64_t killed_op;        /* 520 */
  int64_t killed_class;     /* 528 */
  int64_t killed_bytes;     /* 536 of the call */
  int64_t killed_done;      /* 544 bytes of it that were written */
  int64_t killed_call;      /* 552 `calls` then */
  int64_t killed_log_bytes; /* 560 `log_bytes` then */
  char killed_thread[16];   /* 568 */
  int64_t syncs;            /* 584 */

  int64_t slow_most; /* 592 if not 0: so many calls only */
};

#ifdef __cplusplus
}
static_assert(sizeof(struct faults_page) == 600, "Python knows the offsets");
#endif
