/*
 * tcp_loss.h - congestion control and loss recovery: the interfaces of tcp_cc.c, tcp_sack.c,
 * tcp_rack.c, tcp_loss.c.
 *
 * Private to tcp_*.c, which include it by tcp.h.
 *
 * Thread: core-local.
 */
#ifndef CLOCKOO_TCP_LOSS_H
#define CLOCKOO_TCP_LOSS_H

#include "tcp_core.h"

#include "wire/tcp_wire.h"

/* ---- tcp_cc.c: congestion window ---- */

void cc_start(struct conn *c);
/* bytes were delivered while cwnd was the limit. */
void cc_on_ack(const struct tcp *t, struct conn *c, uint32_t bytes, uint32_t now_us);
void cc_on_loss(const struct tcp *t, struct conn *c);
void cc_after_idle(struct conn *c);

/* ---- tcp_sack.c: SACK blocks received ---- */

/* What an ACK says besides its number. */
struct sack_info {
	bool dup;   /* a duplicate ACK without SACK blocks */
	bool dsack; /* [dsack_begin, dsack_end) is a duplicate */
	uint32_t dsack_begin, dsack_end;
};

void sack_process(struct tcp *t, struct conn *c, const struct tcp_options *opt,
		  struct sack_info *info, struct ack_delivered *delivered);

/* ---- tcp_rack.c: RACK loss detection, loss probes ---- */

/* Begins CONN_DISORDER; before the scoreboard is changed. */
void conn_enter_disorder(struct conn *c);
/* Both return the bytes marked lost, and arm the reordering timer for others. */
uint32_t rack_acked(struct tcp *t, struct conn *c, const struct ack_delivered *delivered,
		    const struct sack_info *info);
uint32_t rack_detect(struct tcp *t, struct conn *c);
void rack_timeout(struct tcp *t, struct conn *c);
void rack_recovered(struct conn *c);
void tlp_fires(struct tcp *t, struct conn *c);
void tlp_sent(struct tcp *t, struct conn *c, bool retransmit);
/* Did the probe repair a loss? */
bool tlp_acked(struct tcp *t, struct conn *c, const struct tcp_seg *seg,
	       const struct sack_info *info);

/* ---- tcp_loss.c: recovery ---- */

struct loss_ack {
	struct ack_delivered delivered;
	struct sack_info info;
	uint32_t acked; /* what snd_una has moved by */
	bool limited;   /* the congestion window was the limit */
};

/* An ACK in CONN_DISORDER; the scoreboard is updated already. */
void loss_acked(struct tcp *t, struct conn *c, const struct tcp_seg *seg, struct loss_ack *a);
void loss_reordered(struct tcp *t, struct conn *c); /* CONN_REO's timer fires */
void loss_timeout(struct tcp *t, struct conn *c);
void loss_retransmitted(struct conn *c, uint32_t len);
/* The MSS was reduced: data in flight is retransmitted in smaller segments. */
void loss_pmtu_reduced(struct tcp *t, struct conn *c);

#endif
