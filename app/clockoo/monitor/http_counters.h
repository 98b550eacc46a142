/*
 * http_counters.h - counters of telemetry.http.
 *
 * Thread: the control thread writes them.
 */
#ifndef CLOCKOO_HTTP_COUNTERS_H
#define CLOCKOO_HTTP_COUNTERS_H

#include "base/counter.h"

#define HTTP_COUNTERS(X) X(HTTP_YIELDED, "connections of telemetry.http closed for others")
enum http_counter { HTTP_COUNTERS(COUNTER_SYMBOL) HTTP_COUNTER_COUNT };
extern const struct counter_name http_counter_names[HTTP_COUNTER_COUNT];

#endif
