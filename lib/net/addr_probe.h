/*
 * addr_probe.h - checks that our addresses are free before the first of them is used: ARP probes
 * (RFC 5227 section 2.1) and duplicate address detection (RFC 4862 section 5.4).
 *
 * Each address is probed three times, from the unspecified address; then the probe waits for a
 * while. An address is taken if another host answers or probes it. Frames received meanwhile are
 * checked for that, and dropped. Frames with our own MAC are ours, or come from a previous process,
 * and do not count.
 *
 * Shape:  one probe for all ports of a device: the first port sends, all ports receive.
 * Units:  ns on the caller's clock.
 * Owner:  received frames are given back to the port at once.
 * Thread: one, before the cores run.
 * Bounds: PROBE_COUNT probes of each address; PROBE_BURSTS_MAX bursts from each port in a call; a
 *         port that sends nothing ends the probe after PROBE_SEND_NS.
 */
#ifndef CLOCKOO_ADDR_PROBE_H
#define CLOCKOO_ADDR_PROBE_H

#include "base/ip_addr.h"
#include "local_addrs.h"
#include "pkt/port.h"

#include <stdbool.h>

#define PROBE_COUNT      3u /* RFC 5227 section 1.1, PROBE_NUM */
#define PROBE_BURSTS_MAX 16u
#define PROBE_SEND_NS    (5ull * 1000000000)

/* An ARP packet takes 42 bytes, a solicitation without an option 78. */
#define PROBE_FRAME_BYTES 78u

struct probe_pace {
	uint64_t wait_max_ns; /* random wait before the first probe: PROBE_WAIT */
	uint64_t min_ns;      /* random time between two probes: PROBE_MIN */
	uint64_t max_ns;      /* longest time between two probes: PROBE_MAX */
	/* Wait after the last probe: ANNOUNCE_WAIT, and RFC 4861's RetransTimer. */
	uint64_t silence_ns;
};

/* The times of RFC 5227 section 1.1: 4 to 7 seconds in all, for links whose switches start to
 * forward late. */
extern const struct probe_pace probe_pace_long;
/* A twentieth of these times, since a neighbour on a wire answers within a millisecond. */
extern const struct probe_pace probe_pace_short;

enum addr_state {
	ADDR_ASKED,
	ADDR_FREE,
	ADDR_TAKEN,
	ADDR_UNASKED, /* the port could send nothing for PROBE_SEND_NS, or had no link */
};

struct addr_probe {
	struct port *port;
	const struct local_addrs *addrs;
	const struct probe_pace *pace;
	uint64_t seed;
	enum addr_state state;
	uint32_t sent;     /* rounds of probes that were sent */
	uint32_t sent_now; /* number of the address to probe next in this round */
	uint64_t due_ns, given_up_ns;
	uint16_t taken;      /* with ADDR_TAKEN: the number of the address */
	uint8_t taken_by[6]; /* with ADDR_TAKEN: the MAC that has it */
};

/* Initializes the times. The caller sets port, addrs, pace and seed. */
void addr_probe_begin(struct addr_probe *p, uint64_t now_ns);

/* Checks and drops every frame that the port has received. */
void addr_probe_listen(struct addr_probe *p, struct port *port);

/* Sends the probes that are due. While link_up is false the wait starts again. */
enum addr_state addr_probe_tick(struct addr_probe *p, bool link_up, uint64_t now_ns);

/* Writes a probe at frame and returns its length. A core also uses it to probe its own addresses
 * when a link comes up again. */
uint32_t addr_probe_emit(uint8_t *frame, const uint8_t mac[6], const struct ip_addr *ip);

#endif
