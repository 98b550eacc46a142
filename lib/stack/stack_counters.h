/*
 * stack_counters.h - every reason for which the stack drops or notes something.
 *
 * One table; the enum and the names derive from it (counter.h).
 */
#ifndef CLOCKOO_STACK_COUNTERS_H
#define CLOCKOO_STACK_COUNTERS_H

#include "base/counter.h"

#define STACK_COUNTERS(X)                                                                          \
	X(RX_FRAMES, "frames received")                                                            \
	X(RX_BYTES, "bytes received")                                                              \
	X(TX_FRAMES, "frames sent")                                                                \
	X(TX_BYTES, "bytes sent")                                                                  \
	X(DROP_ETH_CUT, "shorter than an Ethernet header")                                         \
	X(DROP_ETH_TYPE, "an Ethernet type we do not speak")                                       \
	X(DROP_ETH_NOT_OURS, "addressed to another MAC")

enum stack_counter { STACK_COUNTERS(COUNTER_SYMBOL) STACK_COUNTER_COUNT };

#endif
