/*
 * serve_since.h - for residence.h: when a request arrived, why it waited, and its class.
 *
 * Private to lib/serve.
 *
 * Thread: core-local.
 */
#ifndef CLOCKOO_SERVE_SINCE_H
#define CLOCKOO_SERVE_SINCE_H

#include "serve_slow.h"

/* The class of a verb's requests: an enum request_kind, or one of these. */
#define VERB_CLASS_GET  REQUEST_GET_HIT
#define VERB_CLASS_SET  REQUEST_SET /* requests with a body, once that is complete */
#define VERB_CLASS_NONE REQUEST_KIND_COUNT
extern const uint8_t verb_classes[OP_VERB_COUNT];
static_assert(REQUEST_OTHER == 0, "a verb that has no class");

static inline uint64_t
datagram_since_ns(const struct serve *sv, const struct datagram *d)
{
	return d->kept ? d->since_ns : sv->clock.now_ns;
}

/* Returns when the oldest of the bytes that this pass reads of the session arrived. */
static inline uint64_t
session_since_ns(const struct serve *sv, const struct session *ss)
{
	return ss->late_pass == sv->pass ? ss->since_ns : sv->clock.now_ns;
}

/* Notes that the session's request is not answered in this turn, and the reason. */
static inline void
session_waits(const struct serve *sv, struct session *ss, enum request_wait reason)
{
	ss->wait.reason = (uint8_t)reason;
	ss->wait.blocked_ns = sv->clock.now_ns;
}

/* Records n requests that arrived before this turn and are answered now: their kind, or why they
 * waited. */
static __attribute__((noinline, unused)) void
record_late(struct serve *sv, const struct asker *who, uint32_t kind_row, uint64_t since_ns,
	    uint32_t n)
{
	const struct session *ss = who->session;
	enum slow_reason reason = SLOW_LATER;

	if (ss != NULL && since_ns <= ss->wait.blocked_ns)
		reason = (enum slow_reason)ss->wait.reason;
	else if (ss == NULL && sv->backend_mode != BACKEND_NONE)
		reason = SLOW_BACKEND;
	residence_late(&sv->residence,
		       reason == SLOW_LATER ? kind_row : RESIDENCE_KIND_ROWS + (uint32_t)reason,
		       since_ns, sv->clock.now_ns, n);
	if (unlikely(slow_log_wants(&sv->slow, sv->clock.now_ns - since_ns)))
		slow_late(sv, who, kind_row, reason, since_ns, n);
}

#endif
