/*
 * sim_peer.h - minimal TCP clients behind one port: they open, send segments of any length, read,
 * acknowledge, close and reset. They follow TCP well enough for tests, and are simple enough to be
 * trusted: go-back-N, one timer, a fixed congestion window.
 *
 * Shape:  struct sim_peers is one station with a port and a MAC; each peer is one connection
 *         with a stream out and a stream in.
 * Units:  ns on the virtual clock; stream offsets and windows in bytes.
 * Owner:  a peer owns its buffers; the port is the caller's.
 * Thread: one.
 * Errors: enum peer_state shows how a connection ended.
 * Bounds: PEERS_MAX peers; PEER_TRIES timeouts in a row.
 */
#ifndef CLOCKOO_SIM_PEER_H
#define CLOCKOO_SIM_PEER_H

#include "sim_frame.h"
#include "sim_rng.h"

#define PEERS_MAX      64u
#define PEER_TRIES     12u
#define PEER_FLIGHT    24000u /* unacknowledged bytes */
#define PEER_RTO_NS    250000000ull
#define PEER_TURN_SEGS 16u

enum peer_state {
	PEER_UNUSED,
	PEER_SYN_SENT,
	PEER_OPEN,
	/* The FINs of both ends are acknowledged; the peer still answers. */
	PEER_DONE,
	PEER_RESET,   /* reset by the other side */
	PEER_GAVE_UP, /* timeouts without an answer */
	PEER_LEFT,    /* reset by the peer itself */
};

struct sim_peer {
	enum peer_state state;
	uint32_t ip;
	uint16_t port, server_port;
	uint16_t mss;
	bool cut;   /* send segments of any length up to the MSS */
	bool close; /* FIN after the last byte of out */
	bool fin_sent, fin_taken;
	uint32_t window; /* the largest window to advertise; may change at any time */
	uint8_t *out, *in;
	uint32_t out_len, out_cap; /* bytes to send in all; out_len may grow */
	uint32_t in_len, in_cap;   /* bytes received in order */
	uint8_t *have;             /* true if in[i] was received, in order or not */

	uint32_t iss, irs;
	uint32_t snd_una, snd_nxt, snd_max; /* offsets: 0 is the first byte of out */
	uint32_t rwnd;
	uint8_t rwnd_shift;
	uint32_t fin_at; /* offset of the other side's FIN in its stream, once known */
	bool fin_known, ack_due;
	uint32_t tries;
	uint64_t timer_ns; /* UINT64_MAX: off */
};

struct sim_peers {
	struct mem_port *port;
	uint8_t server_mac[6];
	uint32_t server_ip;
	uint16_t server_port; /* of connections opened from now on */
	/* Frames may be corrupted on the way; otherwise a corrupt one stops the process. */
	bool noisy;
	struct sim_rng rng;
	uint32_t count;
	struct sim_peer peer[PEERS_MAX];
};

struct sim_peers *sim_peers_create(struct mem_port *port, uint64_t seed);
void sim_peers_destroy(struct sim_peers *ps);

/* Opens a connection, with a SYN in the next turn, and buffers of out_cap and in_cap bytes. */
struct sim_peer *sim_peer_open(struct sim_peers *ps, uint32_t ip, uint16_t port, uint32_t out_cap,
			       uint32_t in_cap);
/* Appends to the outgoing stream. */
void sim_peer_send(struct sim_peer *p, const void *bytes, uint32_t len);
/* Resets the connection. */
void sim_peer_leave(struct sim_peers *ps, struct sim_peer *p);

/* Receives what arrived at the port, fires timers, and sends what may be sent. */
void sim_peers_turn(struct sim_peers *ps, uint64_t now_ns);
uint64_t sim_peers_next(const struct sim_peers *ps); /* earliest timer; UINT64_MAX: none */

#endif
