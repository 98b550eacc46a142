/*
 * addr_probe.h - are our addresses free? Asked before the first of them is used: ARP probes (RFC
 * 5227 section 2.1) and duplicate address detection (RFC 4862 section 5.4).
 *
 * Three questions of each address, sent from nobody's address; then silence for a while. Whoever
 * answers, or asks the same for himself, has the address. What comes meanwhile is looked at for
 * that and dropped: nothing is served. Frames with our own MAC are our own, or a predecessor's.
 *
 * Shape:  one probe for all ports of a device: the first sends, all are listened to.
 * Units:  ns on the caller's clock.
 * Owner:  frames received are given back at once; no frame is kept.
 * Thread: one, before the cores run.
 * Bounds: PROBE_COUNT questions of each address; PROBE_BURSTS_MAX bursts a port and call; whoever
 *         keeps the port from sending ends it after PROBE_SEND_NS.
 */
#ifndef CLOCKOO_ADDR_PROBE_H
#define CLOCKOO_ADDR_PROBE_H

#include "base/ip_addr.h"
#include "pkt/port.h"

#include <stdbool.h>

#define PROBE_COUNT      3u /* RFC 5227 section 1.1, PROBE_NUM */
#define PROBE_ADDRESSES  3u
#define PROBE_BURSTS_MAX 16u
#define PROBE_SEND_NS    (5ull * 1000000000)

/* An ARP packet takes 42 bytes, a solicitation without an option 78. */
#define PROBE_FRAME_BYTES 78u

struct probe_pace {
	uint64_t wait_max_ns; /* before the first question, at random: PROBE_WAIT */
	uint64_t min_ns;      /* between two, at random: PROBE_MIN */
	uint64_t max_ns;      /* PROBE_MAX */
	uint64_t silence_ns;  /* after the last: ANNOUNCE_WAIT, and RFC 4861's RetransTimer */
};

/* RFC 5227 section 1.1: 4 to 7 seconds. For links whose switches forward late. */
extern const struct probe_pace probe_pace_long;
/* A twentieth of that; a neighbour on a wire answers within a millisecond. */
extern const struct probe_pace probe_pace_short;

enum addr_state {
	ADDR_ASKED,
	ADDR_FREE,
	ADDR_TAKEN,
	ADDR_UNASKED, /* the port sent nothing, or had no link, for PROBE_SEND_NS */
};

struct addr_probe {
	struct port *port;
	struct ip_addr ip[PROBE_ADDRESSES]; /* zero: none */
	uint16_t vlan, tag;                 /* vlan 0: none */
	const struct probe_pace *pace;
	uint64_t seed;
	enum addr_state state;
	uint32_t sent;     /* rounds of questions */
	uint32_t sent_now; /* addresses of this round that were asked for */
	uint64_t due_ns, given_up_ns;
	struct ip_addr taken; /* ADDR_TAKEN: which */
	uint8_t taken_by[6];  /* and whose */
};

/* Fills in the times; port, ip, vlan, tag, pace and seed are the caller's. */
void addr_probe_begin(struct addr_probe *p, uint64_t now_ns);

/* All that the port has received. */
void addr_probe_listen(struct addr_probe *p, struct port *port);

/* Asks what is due. link_up: where it is not, the wait begins anew. */
enum addr_state addr_probe_tick(struct addr_probe *p, bool link_up, uint64_t now_ns);

/* Write a question at frame; the frame's length. Also asked by a core, of its own addresses, once a
 * link is back. */
uint32_t addr_probe_emit(uint8_t *frame, const uint8_t mac[6], const struct ip_addr *ip);

#endif
