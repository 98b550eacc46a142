/*
 * steer_flow.h - computes the core that the frames of a flow reach, as far as the plan determines
 * it.
 *
 * A core that opens a connection uses it to choose a local port whose replies reach that core.
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

/* A TCP connection, whose hash is that of the packets from the peer. Both addresses are of one
 * family. */
struct steer_flow {
	struct ip_addr peer, ours;
	uint16_t peer_port, our_port;
};

/* Returns the core, for a plan of `cores` cores. STEER_CORE_UNKNOWN: it is chosen by a kernel, by a
 * peer, or by the NIC's own key or table. */
uint32_t steer_core_of_flow(const struct steer_plan *plan, uint32_t cores,
			    const struct steer_flow *flow);

/* True if the core is known for the connections of this family. */
bool steer_knows_cores(const struct steer_plan *plan, uint32_t cores, bool ipv6);

#endif
