/*
 * tls_links_inside.h - definitions shared by the files of a core's links to servers.
 *
 * Private to lib/tls.
 *
 * Shape:  a link is in `connecting` until TCP is open, in `handshakes` until its server is
 *         verified, then in `open`.
 * Thread: core-local.
 */
#ifndef CLOCKOO_TLS_LINKS_INSIDE_H
#define CLOCKOO_TLS_LINKS_INSIDE_H

#include "backend/backend.h"
#include "backend/backend_link.h"
#include "base/list.h"
#include "tls_links.h"
#include "tls_wire.h"

struct tls_link {
	struct conn *wire, *pipe; /* both NULL: the entry is free */
	struct tls_stream *stream;
	struct list at;     /* its link in `free`, `connecting`, `handshakes` or `open` */
	uint32_t known;     /* the entry for its server's sessions */
	uint32_t known_use; /* the entry's use when the link took it */
	uint32_t held;      /* bytes of `plain` that the pipe does not show yet */
	uint32_t rekeys, rekeys_early;
	uint64_t read, rekeyed_at; /* bytes decrypted so far, and at the last key update */
	uint32_t version;          /* version of its stream's context */
	bool is_answered;          /* TCP is open */
	bool has_greeted;          /* our hello is sent */
	bool is_open;              /* its server is verified, and the user knows */
	bool has_ended;            /* its server has announced the end of its stream */
	bool ended;                /* its reader knows that no further bytes will arrive */
	uint8_t *plain;            /* TLS_STEP_MAX bytes */
};

/* A server, and the session that it offered last. */
struct tls_known {
	char name[TLS_NAME_BYTES]; /* empty: the entry is free */
	struct ip_addr ip;
	uint16_t port;
	uint32_t use; /* a number that changes with the entry's server */
	struct tls_session *session;
	uint32_t version; /* version of the session's context */
};

struct tls_links {
	struct tls_links_config cfg;
	struct serve *serve;
	struct stack *stack;
	struct serve_link_user user; /* the user of pipes */
	struct tls_link *links;
	uint32_t *link_of; /* for each slot of a wire or pipe: the link plus 1 */
	struct tls_known *known;
	uint32_t known_next; /* the entry that is reused next */
	struct list free, connecting, handshakes, open;
	struct tls_context *context;
	uint32_t version;                       /* version of the context */
	uint64_t now_ns, step_ns, step_ends_ns; /* length and end of the last step; 0: unknown */
	uint64_t step_requests;                 /* requests served up to then */
	bool stepped;                           /* a step was made in this turn */
	bool more;                              /* a link has input that was not read yet */
	uint32_t kept, kept_now; /* chunks reserved for wires, and how many are left in this turn */
	struct tls_wire_io io;
	_Alignas(CACHE_LINE_BYTES) struct counter counters[TLS_LINK_COUNTER_COUNT];
};

static inline void
tls_link_count(struct tls_links *tl, enum tls_link_counter which)
{
	counter_add(&tl->counters[which], 1);
}

static inline void
tls_link_enter(struct tls_link *l, struct list *list)
{
	list_unlink(&l->at);
	list_push_back(list, &l->at);
}

/* Returns the entry of a server. If it has none, reuses the entry that was reused longest ago. */
struct tls_known *tls_known_find(struct tls_links *tl, const struct conn_target *to,
				 const char *name);
/* Frees everything but the wire, which may be NULL. Returns the pipe, which is no longer a
 * connection. */
struct conn *tls_link_release(struct tls_links *tl, struct tls_link *l);
/* Releases a link and reports its end. why: how the handshake failed, enum link_failure or
 * conn_failure. */
void tls_link_lost(struct tls_links *tl, struct tls_link *l, uint32_t why);

/* Makes one step of the handshake that has waited longest. */
void tls_links_shake_hands(struct tls_links *tl);
/* Decrypts what has arrived, if all earlier bytes were read. The link may end. */
void tls_link_read(struct tls_links *tl, struct tls_link *l);
/* Turns what the user has written into records, as far as the wire has room. A link that its user
 * has closed ends after the last record. */
void tls_link_send(struct tls_links *tl, struct tls_link *l);

#endif
