/*
 * tcp_ecn.h - explicit congestion notification: RFC 3168, and the two ends of DCTCP (RFC 8257).
 * ECN.md has the invariants.
 *
 * Private to tcp_*.c, which include it by tcp.h.
 *
 * Shape:  CONN_ECN: both sides agreed. CONN_ECT: our new data is marked. CONN_ECE: we echo marks.
 *         CONN_CWR: our next new data says that the window was reduced.
 * Thread: core-local.
 */
#ifndef CLOCKOO_TCP_ECN_H
#define CLOCKOO_TCP_ECN_H

#include "tcp_core.h"

#include "wire/ip_ecn.h"
#include "wire/tcp_wire.h"

struct arrival;

/* True if DCTCP controls this connection. */
static inline bool
conn_is_dctcp(const struct tcp *t, const struct conn *c)
{
	return t->cfg.congestion == CC_DCTCP && c->flags & CONN_ECN;
}

/* Returns the ECN field of a new segment with data. */
static inline enum ip_ecn
ecn_of_new_data(const struct conn *c)
{
	return c->flags & CONN_ECT ? IP_ECN_ECT0 : IP_ECN_NOT_ECT;
}

/* True if the ACK acknowledges nothing that was sent after the last reduction: RFC 3168 section
 * 6.1.2 reduces the window once for all of that. After 4 GB without a reduction the number recurs,
 * and one window is not reduced. */
static inline bool
ecn_is_answered(const struct conn *c, uint32_t ack)
{
	return c->ecn_end - ack <= c->snd_max - ack;
}

/* The window was reduced: the next new data says so, and marks of what is in flight are answered.
 */
static inline void
ecn_reduced(struct conn *c)
{
	if (!(c->flags & CONN_ECN))
		return;
	c->ecn_end = c->snd_nxt;
	c->flags |= CONN_CWR;
}

/* True if an acceptable ACK carries the echo of a mark. */
static inline bool
ecn_is_echo(const struct conn *c, const struct tcp_seg *seg)
{
	return unlikely(seg->flags & TCP_ECE) && c->flags & CONN_ECN;
}

/* ---- handshake ---- */

/* True if our own SYNs ask for ECN. */
static inline bool
ecn_is_offered(const struct tcp *t)
{
	return t->cfg.ecn == ECN_ON || t->cfg.congestion == CC_DCTCP;
}

/* Returns the flags of our next SYN or SYN-ACK. */
uint8_t ecn_syn_flags(struct conn *c);
/* True if the peer's SYN asks for ECN and is answered. */
bool ecn_syn_is_taken(const struct tcp *t, const struct arrival *a);
/* Settles CONN_ECN, which is set if our SYN has asked, by the peer's SYN or SYN-ACK. */
void ecn_answered(const struct tcp *t, struct conn *c, const struct arrival *a);

/* ---- open connections with CONN_ECN ---- */

/* Processes an acceptable ACK, before its effects. */
void ecn_ack_arrives(struct tcp *t, struct conn *c, const struct tcp_seg *seg);
/* True if the fast path may take a frame that acknowledges ack; then its ACK is processed. */
bool ecn_fast_path(const struct tcp *t, struct conn *c, const uint8_t *frame, uint32_t ack);
/* Stops marking our data after the c->tries-th timeout in a row. */
void ecn_timeout(struct tcp *t, struct conn *c);

#endif
