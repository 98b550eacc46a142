/*
 * script_player.h - the state of a script while it is played, shared by script_play.c and
 * script_peer.c.
 *
 * Units:  struct script_flow: numbers of the wire, except syn, read and written, which count from
 *         a SYN.
 * Thread: one.
 * Errors: false: something differs, and player->error names the first difference.
 * Bounds: FLOWS_MAX ports a script.
 */
#ifndef CLOCKOO_SCRIPT_PLAYER_H
#define CLOCKOO_SCRIPT_PLAYER_H

#include "script.h"

#include "base/check.h"
#include "tcp/tcp.h"

#define PEER_IP     (SIM_PEERS + 5)
#define ROUTER_BYTE 0xfeu /* the last of a router's address; the others are the peer's */
#define PEER_PORT   40000u
#define PEER_ISS    0xfffff000u /* so high that every script crosses the wrap */
#define PEER_TS     0xffffff00u /* high, so that every script crosses the wrap of timestamps */
#define PORT_FRAMES 2048u
#define FLOWS_MAX   16u
#define TURN_NS     1000u
#define NS_A_MS     1000000u
#define END_SECONDS 1200u /* after this long nothing of a script is left */

/* The state of one port of the peer. */
struct script_flow {
	uint16_t port;
	struct conn *conn;
	uint32_t iss;     /* the stack's initial sequence number */
	uint32_t syn;     /* the peer's last SYN, which its text follows */
	uint32_t high;    /* the end of what the stack sent; talked: it sent any */
	uint32_t read;    /* bytes of the peer's stream */
	uint32_t written; /* bytes of our stream */
	uint32_t ts_base; /* the first TSval of the stack */
	uint32_t ts_seen; /* the stack's last TSval */
	uint32_t ts_sent; /* the peer's last TSval */
	bool talked, acked, peer_ts, stack_ts; /* acked: the peer has sent an ACK */
};

struct player {
	const struct script *script;
	const struct script_step *step; /* the step being played, for messages */
	struct sim_stack *ss;
	struct script_flow flows[FLOWS_MAX];
	uint32_t flow_count;
	struct script_flow *flow; /* the flow in use */
	uint16_t to;              /* the port of ours that the peer sends to */
	struct script_ends ends;  /* addresses of a frame from the peer to us */
	uint32_t header_bytes;    /* headers of IP and TCP without options */
	uint64_t start_ns;
	uint32_t opened, gone, refused; /* calls of opened(), gone(), failed() */
	uint64_t paused_ns;             /* when our process was paused; 0: it runs */
	void *access;                   /* the list of peers that may connect; NULL: all may */
	void *addrs;                    /* memory of another table of our addresses; NULL: none */
	bool reading, failed;
	char *error;
};

/* Returns a byte of a stream. Each stream is a fixed text, so that a byte in the
 * wrong place is detected. */
static inline uint8_t
text_at(uint32_t offset, uint32_t side)
{
	return (uint8_t)(offset * 31 + (offset >> 8) * 7 + side * 101);
}

/* ---- script_play.c ---- */

/* Records the first difference; returns false. */
bool differs(struct player *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool expect(struct player *p, const char *what, uint64_t want, uint64_t got);

/* ---- script_peer.c: frames from and to the peer and the routers ---- */

void peer_send(struct player *p, const struct script_step *st);
void peer_send_ask(struct player *p); /* teaches the stack the peer's MAC */
void peer_send_icmp(struct player *p, const struct script_step *st);
bool peer_expect(struct player *p, const struct script_step *st);
bool peer_expect_silence(struct player *p);

#endif
