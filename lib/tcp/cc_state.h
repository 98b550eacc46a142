/*
 * cc_state.h - the state of a connection's congestion control (tcp_cc.c).
 *
 * Units:  bytes, unless the name has another unit.
 * Thread: core-local.
 */
#ifndef CLOCKOO_CC_STATE_H
#define CLOCKOO_CC_STATE_H

#include <stdint.h>

/* RFC 9438 section 4: one epoch of congestion avoidance. */
struct cubic_state {
	uint32_t w_est; /* window that Reno would have by now */
	uint32_t origin, k_ms;
	uint32_t last_us;  /* time of the previous ACK */
	uint32_t est_part; /* acknowledged bytes not yet counted in w_est */
};

/* RFC 8257 section 3.3: one observation window. */
struct dctcp_state {
	uint32_t alpha;      /* the share of marked bytes, in parts of DCTCP_ONE */
	uint32_t begin, end; /* numbers that the window's first and last ACK pass */
	uint32_t marked;     /* acknowledged bytes of the window whose ACK had ECE */
};

/* RFC 9406: the first slow start. Zero fields have no sample yet. */
struct hystart_state {
	uint32_t round_end;        /* the round ends when this number is acknowledged */
	uint32_t last_us, best_us; /* least RTT of the last round, and of this one */
	uint32_t base_us;          /* with css_rounds: best_us when the RTT had grown */
	uint8_t samples;           /* samples of this round */
	uint8_t css_rounds;        /* rounds of conservative slow start, including this one */
};

/* Congestion control, with the appropriate byte counting of RFC 3465. */
struct cc_state {
	uint32_t w_max; /* window at the last loss, or a little below */
	uint32_t prior; /* cwnd when the loss was detected */
	uint32_t t_us;  /* time of CUBIC's epoch during which cwnd was the limit; 0: the epoch has
			   not begun */
	uint32_t part;  /* acknowledged bytes not yet counted in cwnd */
	union {
		struct hystart_state hystart; /* while ssthresh is SSTHRESH_NONE */
		struct cubic_state cubic;
		struct dctcp_state dctcp; /* with conn_is_dctcp() */
	};
};

#endif
