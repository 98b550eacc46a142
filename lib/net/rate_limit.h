/*
 * rate_limit.h - rate limits of replies that any host can cause.
 *
 * Thread: core-local.
 * Bounds: the constants.
 */
#ifndef CLOCKOO_RATE_LIMIT_H
#define CLOCKOO_RATE_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

/* Counts the replies of a kind in an interval of RATE_LIMIT_NS. */
struct rate_limit {
	uint64_t since_ns;
	uint32_t count;
};

#define RATE_LIMIT_NS      (10ull * 1000000)
#define ECHO_REPLIES_MAX   200u /* in RATE_LIMIT_NS: RFC 4443 section 2.4 (f) */
#define ECHO_FRAGMENTS_MAX 50u  /* of these: frames of replies that are sent in fragments */
#define NEIGH_REPLIES_MAX  10u  /* in RATE_LIMIT_NS, to one group of stations */
#define NEIGH_LIMITS       256u /* groups of stations */
#define ANNOUNCE_COUNT     3u   /* RFC 4861 section 10, MAX_NEIGHBOR_ADVERTISEMENT */
#define ANNOUNCE_NS        (1000ull * 1000000) /* RETRANS_TIMER */
#define ANNOUNCE_BURST     16u                 /* addresses announced in a turn */
/* In RATE_LIMIT_NS, on one link: an MLDv1 report has only one group. */
#define MLD_ANSWERS_MAX         16u
#define PMTU_REPORTS_SHARED_MAX 32u /* path MTU reports shared in RATE_LIMIT_NS */

/* True if n more replies may be sent, which are then counted. */
static inline bool
rate_limit_take(struct rate_limit *r, uint64_t now_ns, uint32_t n, uint32_t max)
{
	if (now_ns - r->since_ns >= RATE_LIMIT_NS) {
		r->since_ns = now_ns;
		r->count = 0;
	}
	if (r->count + n > max)
		return false;
	r->count += n;
	return true;
}

/* True if one more reply may be sent, which is then counted. */
static inline bool
rate_limit_allow(struct rate_limit *r, uint64_t now_ns, uint32_t max)
{
	return rate_limit_take(r, now_ns, 1, max);
}

#endif
