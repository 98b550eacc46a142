/*
 * steer_flow.c - computes the core of a flow, as the NIC does by RSS or as the hand-over does.
 */
#include "steer_flow.h"
#include "rules.h"

#include "pkt/handover.h"

#define PORTS_BYTES  4u
#define TUPLE4_BYTES (2 * 4 + PORTS_BYTES)
#define TUPLE6_BYTES (2 * IP_ADDR_BYTES + PORTS_BYTES)
#define WINDOW_BYTES 4u /* bytes of the key that are used for one bit of the input */
#define BITS_OF_BYTE 8u

/* Writes the input of the NIC's hash: source and destination of a received packet. Returns its
 * length. */
static uint32_t
tuple_of(uint8_t tuple[TUPLE6_BYTES], const struct steer_flow *flow)
{
	const uint32_t bytes = ip_addr_is_v4(&flow->peer) ? 4 : IP_ADDR_BYTES;
	const uint32_t skip = IP_ADDR_BYTES - bytes;
	const struct be16 ports[] = {be16_of(flow->peer_port), be16_of(flow->our_port)};

	memcpy(tuple, flow->peer.b + skip, bytes);
	memcpy(tuple + bytes, flow->ours.b + skip, bytes);
	memcpy(tuple + 2 * bytes, ports, PORTS_BYTES);
	return 2 * bytes + PORTS_BYTES;
}

/* Computes the Toeplitz hash: the exclusive or, for all set bits of the input, of the 32 bits of
 * the key that begin at the same position. */
static uint32_t
toeplitz(const uint8_t *key, const uint8_t *input, uint32_t len)
{
	uint64_t window = 0; /* bits of the key; its last byte has the bits that come next */
	uint32_t hash = 0;

	for (uint32_t i = 0; i < WINDOW_BYTES; i++)
		window = window << BITS_OF_BYTE | key[i];
	for (uint32_t i = 0; i < len; i++) {
		window = window << BITS_OF_BYTE | key[i + WINDOW_BYTES];
		for (uint32_t bit = 0; bit < BITS_OF_BYTE; bit++)
			if (input[i] >> (BITS_OF_BYTE - 1 - bit) & 1)
				hash ^= (uint32_t)(window >> (BITS_OF_BYTE - bit));
	}
	return hash;
}

static bool
rss_is_ours(const struct steer_plan *plan, bool ipv6)
{
	const uint32_t key = (ipv6 ? TUPLE6_BYTES : TUPLE4_BYTES) + WINDOW_BYTES;

	return plan->rss_fields & (ipv6 ? RSS_KIND_TCP6 : RSS_KIND_TCP4) &&
	       plan->rss_key_bytes >= key && plan->reta_size != 0 && rules_tcp_mask(plan) == 0;
}

static bool
is_one_queue(const struct steer_plan *plan)
{
	return plan->queues == 1 && !plan->handover;
}

/* True if each flow reaches the core that handover_owner() names. */
static bool
by_owner(const struct steer_plan *plan)
{
	return plan->handover || plan->cable;
}

bool
steer_knows_cores(const struct steer_plan *plan, uint32_t cores, bool ipv6)
{
	return cores == 1 || by_owner(plan) || is_one_queue(plan) || rss_is_ours(plan, ipv6);
}

uint32_t
steer_core_of_flow(const struct steer_plan *plan, uint32_t cores, const struct steer_flow *flow)
{
	const bool ipv6 = !ip_addr_is_v4(&flow->peer);
	uint8_t tuple[TUPLE6_BYTES];
	uint32_t len;

	if (!steer_knows_cores(plan, cores, ipv6))
		return STEER_CORE_UNKNOWN;
	if (cores == 1 || is_one_queue(plan))
		return 0;
	if (by_owner(plan))
		return handover_core_of_tcp(cores, &(struct handover_tcp){flow->peer, flow->ours,
									  flow->peer_port,
									  flow->our_port});
	len = tuple_of(tuple, flow);
	return plan->reta[toeplitz(plan->rss_key, tuple, len) % plan->reta_size];
}
