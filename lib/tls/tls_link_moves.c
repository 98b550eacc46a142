/*
 * tls_link_moves.c - the work of links to servers: handshakes, bytes in both directions, ends.
 */
#include "tls_links_inside.h"

#include "base/check.h"

/* ---- sessions ---- */

static bool
is_known_as(const struct tls_known *k, const struct conn_target *to, const char *name)
{
	return k->port == to->port && ip_addr_equal(&k->ip, &to->ip) && strcmp(k->name, name) == 0;
}

struct tls_known *
tls_known_find(struct tls_links *tl, const struct conn_target *to, const char *name)
{
	struct tls_known *k;

	for (uint32_t i = 0; i < tl->cfg.servers; i++)
		if (is_known_as(&tl->known[i], to, name))
			return &tl->known[i];
	k = &tl->known[tl->known_next];
	tl->known_next = (tl->known_next + 1) % tl->cfg.servers;
	tls_session_free(k->session);
	*k = (struct tls_known){.ip = to->ip, .port = to->port, .use = k->use + 1};
	strcpy(k->name, name);
	return k;
}

/* Keeps the session that the link's server has offered, if there is one. */
static void
session_keep(struct tls_links *tl, struct tls_link *l)
{
	struct tls_session *session = tls_client_session(l->stream);
	struct tls_known *k = &tl->known[l->known];

	if (session == NULL)
		return;
	if (k->use != l->known_use) {
		tls_session_free(session);
		return;
	}
	tls_session_free(k->session);
	k->session = session;
	k->version = l->version;
}

/* ---- ends ---- */

struct conn *
tls_link_release(struct tls_links *tl, struct tls_link *l)
{
	struct conn *pipe = l->pipe;

	if (l->wire != NULL)
		tl->link_of[conn_slot(l->wire)] = 0;
	if (pipe != NULL)
		tl->link_of[conn_slot(pipe)] = 0;
	if (pipe != NULL && !conn_is_freed(pipe))
		serve_link_pipe_free(tl->serve, pipe);
	if (l->stream != NULL)
		tls_stream_free(l->stream);
	l->stream = NULL;
	l->wire = l->pipe = NULL;
	tls_link_enter(l, &tl->free);
	return pipe;
}

/* True if the server has asked for our certificate and answered nothing since. One of TLS 1.3 takes
 * or refuses it only after our handshake, and its alert may be lost by a reset. */
static bool
own_is_refused(const struct tls_link *l)
{
	return l->read == 0 && l->stream != NULL && tls_client_is_asked(l->stream);
}

void
tls_link_lost(struct tls_links *tl, struct tls_link *l, uint32_t why)
{
	const bool was_open = l->is_open, refused = own_is_refused(l);
	struct conn *pipe = tls_link_release(tl, l);

	if (was_open && !refused)
		tl->user.gone(tl->user.arg, pipe);
	else
		tl->user.failed(tl->user.arg, pipe, refused ? LINK_CERT_OWN : why);
}

static uint32_t
link_failure_of(enum tls_fault fault)
{
	static const uint8_t failures[] = {
		[TLS_FAULT_OTHER] = LINK_TLS_OTHER,     [TLS_FAULT_NOT_TLS] = LINK_NOT_TLS,
		[TLS_FAULT_REFUSED] = LINK_TLS_REFUSED, [TLS_FAULT_EXPIRED] = LINK_CERT_EXPIRED,
		[TLS_FAULT_EARLY] = LINK_CERT_EARLY,    [TLS_FAULT_NAME] = LINK_CERT_NAME,
		[TLS_FAULT_ISSUER] = LINK_CERT_ISSUER,  [TLS_FAULT_CERTIFICATE] = LINK_CERT_OTHER,
	};

	return failures[fault];
}

static void
handshake_failed(struct tls_links *tl, struct tls_link *l, uint32_t why)
{
	struct conn *wire = l->wire;

	tls_link_count(tl, TLS_LINK_HANDSHAKE_ERRORS);
	tls_link_lost(tl, l, why);
	serve_link_wire_close(tl->serve, wire);
}

/* Ends a link whose peer has sent a wrong record. */
static void
link_broken(struct tls_links *tl, struct tls_link *l)
{
	struct conn *wire = l->wire;

	tls_link_count(tl, TLS_LINK_PROTO_ERRORS);
	tls_link_lost(tl, l, 0);
	serve_link_wire_close(tl->serve, wire);
}

/* ---- handshakes ---- */

static bool
step_is_allowed(const struct tls_links *tl)
{
	return !tl->stepped && (tl->step_requests == serve_tls_requests(tl->serve) ||
				tl->now_ns >= tl->step_ends_ns + tl->step_ns);
}

static void
handshake_done(struct tls_links *tl, struct tls_link *l, bool resumed)
{
	tls_link_count(tl, TLS_LINK_HANDSHAKES);
	if (resumed)
		tls_link_count(tl, TLS_LINK_RESUMED);
	l->is_open = true;
	tls_link_enter(l, &tl->open);
	tl->user.opened(tl->user.arg, l->pipe);
}

static void
handshake_go_on(struct tls_links *tl, struct tls_link *l)
{
	enum tls_status status;
	bool resumed, answered;

	tl->stepped = true;
	tl->step_ends_ns = 0;
	tl->step_requests = serve_tls_requests(tl->serve);
	l->has_greeted = true;
	tls_link_enter(l, &tl->handshakes); /* the others come first next time */
	status = tls_wire_handshake(&tl->io, l->stream, l->wire, &resumed, &answered);
	if (status == TLS_FAILED)
		handshake_failed(tl, l, link_failure_of(tls_stream_fault(l->stream)));
	else if (status == TLS_WAITS && conn_eof(l->wire))
		handshake_failed(tl, l, LINK_CLOSED);
	else if (status == TLS_DONE)
		handshake_done(tl, l, resumed);
}

/* True if the server has sent something, or our hello is not sent yet. */
static bool
wants_step(const struct tls_link *l)
{
	return !l->has_greeted || conn_unread(l->wire) > 0 || conn_eof(l->wire);
}

/* Makes one step of the handshake that has waited longest. A pipe that was closed meanwhile belongs
 * to a core that stops. */
void
tls_links_shake_hands(struct tls_links *tl)
{
	for (struct list *at = tl->handshakes.next; at != &tl->handshakes; at = at->next) {
		struct tls_link *l = container_of(at, struct tls_link, at);

		if (conn_pipe_is_done(l->pipe)) {
			handshake_failed(tl, l, LINK_CLOSED);
			return;
		}
		if (!wants_step(l))
			continue;
		tl->more = true;
		if (step_is_allowed(tl))
			handshake_go_on(tl, l);
		return;
	}
}

/* ---- what arrives ---- */

/* True if the server requested a key update in the last record. */
static bool
server_has_rekeyed(struct tls_links *tl, struct tls_link *l)
{
	if (likely(tls_rekeys(l->stream) == l->rekeys))
		return false;
	l->rekeys = tls_rekeys(l->stream);
	l->rekeys_early += l->read - l->rekeyed_at < TLS_REKEY_BYTES;
	l->rekeyed_at = l->read;
	tls_link_count(tl, TLS_LINK_REKEYS);
	return true;
}

/* Ends the stream for the pipe's reader, after the bytes that it has. */
static void
link_input_ends(struct tls_links *tl, struct tls_link *l)
{
	l->ended = true;
	conn_pipe_end(tl->stack, l->pipe);
}

/* Shows the decrypted bytes to the pipe's reader. While no node is free they stay held. */
static void
held_show(struct tls_links *tl, struct tls_link *l)
{
	const struct view bytes = {.data = l->plain, .len = l->held};

	if (l->held == 0 || !conn_pipe_put(tl->stack, l->pipe, bytes))
		return;
	l->held = 0;
	tl->user.ready(tl->user.arg, l->pipe);
}

/* Decrypts what has arrived, up to TLS_STEP_MAX bytes. Bounded: each piece uses bytes of the wire.
 * Returns TLS_WAITS, or why no further bytes will arrive. */
static enum tls_status
pieces_read(struct tls_links *tl, struct tls_link *l)
{
	for (uint32_t i = 0; i < PIECES_READ_MAX && l->held < TLS_STEP_MAX &&
			     tls_wire_has_input(l->stream, l->wire);
	     i++) {
		const uint32_t before = conn_unread(l->wire);
		uint32_t n;
		const enum tls_status status =
			tls_wire_read(&tl->io, l->stream, l->wire, l->plain + l->held,
				      TLS_STEP_MAX - l->held, &n);

		l->held += n;
		l->read += n;
		if (status == TLS_FAILED || status == TLS_ENDED)
			return status;
		if (server_has_rekeyed(tl, l) || (n == 0 && conn_unread(l->wire) == before))
			break;
	}
	return l->rekeys_early > TLS_REKEYS_EARLY ? TLS_FAILED : TLS_WAITS;
}

void
tls_link_read(struct tls_links *tl, struct tls_link *l)
{
	enum tls_status status;
	bool was_held;

	if (l->ended)
		return;
	/* The reader, or the last turn, still refers to the bytes. */
	if (conn_unread(l->pipe) > 0) {
		tl->more = true;
		return;
	}
	if (l->held == 0 && !tls_wire_has_input(l->stream, l->wire) && !conn_eof(l->wire))
		return;
	status = pieces_read(tl, l);
	if (status == TLS_FAILED) {
		link_broken(tl, l);
		return;
	}
	session_keep(tl, l);
	l->has_ended |= status == TLS_ENDED;
	was_held = l->held > 0;
	tl->more |= was_held || tls_wire_has_input(l->stream, l->wire);
	held_show(tl, l);
	if (l->held > 0) /* tried again in the next turn */
		return;
	if (l->has_ended) {
		link_input_ends(tl, l);
	} else if (!was_held && !tls_wire_has_input(l->stream, l->wire) && conn_eof(l->wire)) {
		tls_link_count(tl, TLS_LINK_CUT);
		link_input_ends(tl, l);
	}
}

/* ---- what is sent ---- */

void
tls_link_send(struct tls_links *tl, struct tls_link *l)
{
	struct conn *wire = l->wire;
	enum tls_status status;
	uint32_t n;

	if (likely(conn_unacknowledged(l->pipe) == 0 && !conn_pipe_is_done(l->pipe)))
		return;
	do {
		status = tls_wire_send(&tl->io, l->stream, wire, l->pipe, &tl->user, &n);
	} while (status == TLS_DONE && n > 0);
	if (status == TLS_FAILED) {
		link_broken(tl, l);
	} else if (status == TLS_DONE && conn_pipe_is_done(l->pipe)) {
		tls_link_lost(tl, l, 0);
		serve_link_wire_close(tl->serve, wire);
	}
}
