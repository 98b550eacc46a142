/*
 * tcp_flow.h - the identity of a connection, and the interface of tcp_table.c.
 *
 * Private to tcp_*.c, which include it by tcp.h.
 *
 * Shape:  a flow is the peer's (address, port), and which of our addresses and ports it talks to.
 * Units:  ports in host order, except for tcp_ports(): two ports as they are in a segment.
 * Owner:  ip points at an address of the caller.
 * Thread: core-local.
 */
#ifndef CLOCKOO_TCP_FLOW_H
#define CLOCKOO_TCP_FLOW_H

#include "tcp_core.h"

#define PROTOCOL_TCP 6

/* Returns source and destination port as the machine loads them from a segment. */
static inline uint32_t
tcp_ports(uint16_t src, uint16_t dst)
{
	return (uint32_t)load_u16(be16_of(dst).b) << 16 | load_u16(be16_of(src).b);
}

static inline uint16_t
tcp_ports_src(uint32_t ports)
{
	return __builtin_bswap16((uint16_t)ports);
}

static inline uint16_t
tcp_ports_dst(uint32_t ports)
{
	return __builtin_bswap16((uint16_t)(ports >> 16));
}

struct flow {
	const struct ip_addr *ip; /* the peer's address */
	uint16_t port;
	uint16_t local_port;
	uint16_t local; /* number of our address */
};

static inline struct flow
flow_of_conn(const struct conn *c)
{
	return (struct flow){&c->peer_ip, tcp_ports_src(c->ports), tcp_ports_dst(c->ports),
			     c->local};
}

/* Returns where the connection's packets go, and which of our addresses they leave from. */
static inline struct ip_dest
conn_dest(const struct conn *c)
{
	return (struct ip_dest){&c->peer_ip, c->local, PROTOCOL_TCP};
}

static inline bool
flow_is_of(struct flow f, const struct conn *c)
{
	return ip_addr_equal(f.ip, &c->peer_ip) && tcp_ports(f.port, f.local_port) == c->ports &&
	       f.local == c->local;
}

struct conn *flow_find(const struct tcp *t, struct flow flow);
bool flow_add(struct tcp *t, struct conn *c); /* false: both buckets are full */
void flow_remove(struct tcp *t, struct conn *c);
uint32_t flow_iss(const struct tcp *t, struct flow flow); /* RFC 6528 */
/* flow_iss() in two steps: a secret hash of the flow, and the ISN made of it at this time. */
#define FLOW_ISS_SHIFT 12 /* a step every 4096 ns */
uint64_t flow_hash(const struct tcp *t, struct flow flow);
uint32_t flow_iss_of_hash(const struct tcp *t, uint64_t hash);
uint32_t flow_ts_offset(const struct tcp *t, struct flow flow); /* RFC 7323 section 7.1 */
/* Writes everything that identifies a flow as words, the input of keyed hashes. */
#define FLOW_KEY_WORDS 6u
void flow_key(uint32_t key[FLOW_KEY_WORDS], struct flow flow);
/* Returns a secret hash of the flow without its local port. It determines where the search for a
 * local port begins, and which counter it advances. */
uint64_t flow_port_offset(const struct tcp *t, struct flow flow);

#endif
