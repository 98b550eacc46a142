/*
 * steer_flow.h - to which core the frames of a flow come, as far as the plan tells.
 *
 * Who opens a connection chooses its local port so that the replies come to the core that opens it.
 *
 * Units:  ports in host order.
 * Thread: pure functions.
 * Bounds: the length of the RSS key.
 * Source: the Toeplitz hash as in "Verifying the RSS Hash Calculation", Microsoft.
 */
#ifndef CLOCKOO_STEER_FLOW_H
#define CLOCKOO_STEER_FLOW_H

#include "base/ip_addr.h"
#include "plan.h"

#define STEER_CORE_UNKNOWN UINT32_MAX

/* A TCP connection: the peer sends what is received. Both addresses are of one family. */
struct steer_flow {
	struct ip_addr peer, ours;
	uint16_t peer_port, our_port;
};

/* Of a plan for so many cores. STEER_CORE_UNKNOWN: a kernel, a peer, or a key or table that is not
 * ours decides. */
uint32_t steer_core_of_flow(const struct steer_plan *plan, uint32_t cores,
			    const struct steer_flow *flow);

/* Is it known for the connections of this family? */
bool steer_knows_cores(const struct steer_plan *plan, uint32_t cores, bool ipv6);

#endif
