/*
 * serve_since.h - since when a request is here, what it waits for, and what it is counted as
 * (residence.h).
 *
 * Private to lib/serve.
 *
 * Thread: core-local.
 */
#ifndef CLOCKOO_SERVE_SINCE_H
#define CLOCKOO_SERVE_SINCE_H

#include "serve_slow.h"

/* What a verb's requests are counted as, if they are no retrievals: enum request_kind. */
#define VERB_CLASS_GET  REQUEST_GET_HIT
#define VERB_CLASS_SET  REQUEST_SET /* once its body is here */
#define VERB_CLASS_NONE REQUEST_KIND_COUNT
extern const uint8_t verb_classes[OP_VERB_COUNT];
static_assert(REQUEST_OTHER == 0, "a verb that has no class");

static inline uint64_t
datagram_since_ns(const struct serve *sv, const struct datagram *d)
{
	return d->kept ? d->since_ns : sv->clock.now_ns;
}

/* Since when the requests are here that this pass reads of the session. */
static inline uint64_t
session_since_ns(const struct serve *sv, const struct session *ss)
{
	return ss->late_pass == sv->pass ? ss->since_ns : sv->clock.now_ns;
}

/* The session's request is not answered in this turn, for that reason. */
static inline void
session_waits(const struct serve *sv, struct session *ss, enum request_wait reason)
{
	ss->waited = (uint8_t)reason;
	ss->waited_ns = sv->clock.now_ns;
}

/* n requests that came before this turn are answered: by kind, or by what they have waited for. */
static __attribute__((noinline, unused)) void
record_late(struct serve *sv, const struct asker *who, uint32_t kind_row, uint64_t since_ns,
	    uint32_t n)
{
	const struct session *ss = who->session;
	enum slow_reason reason = SLOW_LATER;

	if (ss != NULL && since_ns <= ss->waited_ns)
		reason = (enum slow_reason)ss->waited;
	else if (ss == NULL && sv->backend_mode != BACKEND_NONE)
		reason = SLOW_SUPPLIER;
	residence_late(&sv->residence,
		       reason == SLOW_LATER ? kind_row : RESIDENCE_KIND_ROWS + (uint32_t)reason,
		       since_ns, sv->clock.now_ns, n);
	if (unlikely(slow_log_wants(&sv->slow, sv->clock.now_ns - since_ns)))
		slow_late(sv, who, kind_row, reason, since_ns, n);
}

#endif
