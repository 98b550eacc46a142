/*
 * port_dpdk.h - a struct port over one queue pair of a DPDK port.
 *
 * A frame is an mbuf of one segment, with a second mbuf if the frame ends in a loan. The handle is
 * the address of the first mbuf. A received chain of segments is copied into its first segment.
 *
 * Shape:  port is the first member; the rest is for port_dpdk.c and device.c.
 * Owner:  the pool belongs to the device. Sent mbufs belong to the driver until it frees them.
 * Thread: core-local; the counters are read by telemetry.
 * Errors: counted: PORT_COUNTERS.
 * Bounds: `burst` frames in a call, at most BURST_MAX.
 */
#ifndef CLOCKOO_PORT_DPDK_H
#define CLOCKOO_PORT_DPDK_H

#include "base/check.h"
#include "base/counter.h"
#include "pkt/port.h"

#include <stdbool.h>

struct cable_lane;
struct rte_mempool;

#define PORT_COUNTERS(X)                                                                           \
	X(PORT_RX_JOINED, "received multi-segment frames copied into one segment")                 \
	X(PORT_DROP_CHAINED, "received multi-segment frames longer than a frame may be")           \
	X(PORT_DROP_MALFORMED,                                                                     \
	  "received frames without room in their mbuf, or for a stripped VLAN tag")                \
	X(PORT_DROP_TX_REFUSED, "frames rejected by the TX prepare of the driver")                 \
	X(PORT_NO_FRAMES, "mbuf allocation failures")                                              \
	X(PORT_NO_LOANS, "segments copied because all mbufs for loans were in use")

enum port_counter { PORT_COUNTERS(COUNTER_SYMBOL) PORT_COUNTER_COUNT };
extern const struct counter_name port_counter_names[PORT_COUNTER_COUNT];

struct port_dpdk {
	struct port port;
	uint16_t id, queue;
	uint32_t burst;
	bool tx_prepare; /* offloads are on, so the driver prepares frames first */
	struct rte_mempool *pool;
	struct cable_lane
		*lane; /* cable.h; NULL: the port's other end is not a thread of this process */
	_Alignas(CACHE_LINE_BYTES) struct counter counters[PORT_COUNTER_COUNT];
	/* Loans (port_loans.h). */
	struct rte_mempool *loan_pool; /* NULL: none */
	struct port_ops loan_ops;
	uint32_t loans; /* loans in frames that are not freed yet */
	uint32_t polls;
};

extern const struct port_ops port_dpdk_ops;

#endif
