/*
 * load_counters.h - the outcomes of requests.
 *
 * Shape:  LOAD_COUNTER_COUNT counters a core and window; those from LOAD_WRONG_KEY to LOAD_BROKEN
 *         are wrong answers: after any of them the program does not end with 0.
 * Thread: written by their core, read by any.
 */
#ifndef CLOCKOO_LOAD_COUNTERS_H
#define CLOCKOO_LOAD_COUNTERS_H

#include "base/counter.h"

#define LOAD_COUNTERS(X)                                                                           \
	X(LOAD_SENT, "requests sent")                                                              \
	X(LOAD_ANSWERED, "requests answered")                                                      \
	X(LOAD_KEYS_ASKED, "keys requested by answered gets")                                      \
	X(LOAD_HITS, "values found")                                                               \
	X(LOAD_MISSES, "keys not found by a get")                                                  \
	X(LOAD_STORED, "sets that were stored")                                                    \
	X(LOAD_DELETED, "deletes of an existing key")                                              \
	X(LOAD_NOT_FOUND, "deletes of a missing key")                                              \
	X(LOAD_REFUSED, "requests answered with an error")                                         \
	X(LOAD_WRONG_KEY, "values of a key that was not asked for")                                \
	X(LOAD_WRONG_VALUE, "values with a wrong byte, length or flag")                            \
	X(LOAD_BROKEN, "malformed replies")                                                        \
	X(LOAD_LOST, "requests that timed out")                                                    \
	X(LOAD_LATE, "late or unexpected datagrams")                                               \
	X(LOAD_RESET, "connections that ended before their requests did")                          \
	X(LOAD_CONNECTED, "connections opened")                                                    \
	X(LOAD_CONNECT_FAILED, "connections that could not be opened")                             \
	X(LOAD_UNSENT, "requests that were due and could not be sent before the end")              \
	X(LOAD_SENT_BYTES, "bytes of requests")                                                    \
	X(LOAD_RECEIVED_BYTES, "bytes of replies")                                                 \
	X(LOAD_TURNS_BUSY, "poll iterations of the generator that moved a frame")                  \
	X(LOAD_BUSY_NS, "time in those turns")

enum load_counter { LOAD_COUNTERS(COUNTER_SYMBOL) LOAD_COUNTER_COUNT };
extern const struct counter_name load_counter_names[LOAD_COUNTER_COUNT];

#endif
