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

void cc_start(const struct tcp *t, struct conn *c);
/* bytes: data delivered while cwnd was the limit. rtt_us: an RTT sample; 0: none. */
void cc_on_ack(const struct tcp *t, struct conn *c, uint32_t bytes, uint32_t rtt_us);
/* Sets ssthresh after a loss, or what looks like one. */
void cc_on_loss(const struct tcp *t, struct conn *c);
/* Reduces the window after the echo of a mark. */
void cc_on_echo(const struct tcp *t, struct conn *c);
/* With conn_is_dctcp(): counts an ACK, before snd_una moves. */
void dctcp_on_ack(struct conn *c, uint32_t ack, bool marked);
void cc_after_idle(struct conn *c);

/* ---- tcp_sack.c: SACK blocks received ---- */

/* The information that an ACK carries besides its number. */
struct sack_info {
	bool dup;   /* a duplicate ACK without SACK blocks */
	bool dsack; /* [dsack_begin, dsack_end) is a duplicate */
	uint32_t dsack_begin, dsack_end;
};

void sack_process(struct tcp *t, struct conn *c, const struct tcp_options *opt,
		  struct sack_info *info, struct ack_delivered *delivered);

/* ---- tcp_rack.c: RACK loss detection, loss probes ---- */

/* Begins CONN_DISORDER. Call before the scoreboard is changed. */
void conn_enter_disorder(struct conn *c);
/* rack_acked() and rack_detect() return the bytes marked lost, and arm the reordering timer for
 * others. */
uint32_t rack_acked(struct tcp *t, struct conn *c, const struct ack_delivered *delivered,
		    const struct sack_info *info);
uint32_t rack_detect(struct tcp *t, struct conn *c);
void rack_timeout(struct tcp *t, struct conn *c);
void rack_recovered(struct conn *c);
void tlp_fires(struct tcp *t, struct conn *c);
void tlp_sent(struct tcp *t, struct conn *c, bool retransmit);
/* True if the probe repaired a loss. */
bool tlp_acked(struct tcp *t, struct conn *c, const struct tcp_seg *seg,
	       const struct sack_info *info);

/* ---- tcp_loss.c: recovery ---- */

struct loss_ack {
	struct ack_delivered delivered;
	struct sack_info info;
	uint32_t acked; /* advance of snd_una */
	bool limited;   /* the congestion window was the limit */
};

/* Processes an ACK in CONN_DISORDER, after the scoreboard is updated. */
void loss_acked(struct tcp *t, struct conn *c, const struct tcp_seg *seg, struct loss_ack *a);
void loss_reordered(struct tcp *t, struct conn *c); /* called when CONN_REO's timer fires */
void loss_timeout(struct tcp *t, struct conn *c);
void loss_retransmitted(struct conn *c, uint32_t len);
/* Retransmits data in flight in smaller segments after the MSS was reduced. */
void loss_pmtu_reduced(struct tcp *t, struct conn *c);

#endif
