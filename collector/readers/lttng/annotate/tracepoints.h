/* The LTTng-UST provider `margay`: states that a program names (margay/annotate.h), as tracepoints. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER margay

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./tracepoints.h"

#if !defined(MARGAY_TRACEPOINTS_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define MARGAY_TRACEPOINTS_H

#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_EVENT(margay, enter, LTTNG_UST_TP_ARGS(const char*, state),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_string(state, state)))
LTTNG_UST_TRACEPOINT_EVENT(margay, leave, LTTNG_UST_TP_ARGS(const char*, state),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_string(state, state)))

#endif
#include <lttng/tracepoint-event.h>
