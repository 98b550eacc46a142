/*
 * admin_conns.c - stats conns: the connections of all cores. Each core keeps a snapshot of every
 * connection slot, which others may read. It is written when the connection opens and closes, and
 * once a second while it is in use.
 */
#include "admin_internal.h"

/* Connections have numbers where memcached shows file descriptors. They have no other meaning. */
#define NUMBER_TCP    1u
#define NUMBER_UDP    2u
#define NUMBER_PLAIN  3u
#define NUMBER_MORE   4u
#define NUMBERS_FIRST 16u
static_assert(NUMBER_MORE + TCP_MORE_PORTS_MAX <= NUMBERS_FIRST, "each port has a number");

#define TEXT(text)                                                                                 \
	(struct view)                                                                              \
	{                                                                                          \
		(const uint8_t *)(text), sizeof(text) - 1                                          \
	}

uint32_t
session_number(const struct serve *sv, const struct session *ss)
{
	const uint32_t slot = ss == NULL ? 0 : (uint32_t)(ss - sv->sessions);

	return ss == NULL ? 0 : NUMBERS_FIRST + sv->cfg.core * sv->cfg.conns_max + slot;
}

static void
conn_row(struct out_buffer *buffer, const struct stream *st, uint32_t number, const char *name,
	 struct view value)
{
	char text[ROW_NAME_MAX + 1];
	uint8_t *at = mc_put_u64((uint8_t *)text, number);

	*at++ = ':';
	strcpy((char *)at, name);
	row_text(buffer, st, text, value);
}

/* Writes the connection to its snapshot. peer NULL: the slot has no connection. */
static void
snapshot_write(struct conn_snapshot *snapshot, const struct snapshot_peer *peer)
{
	atomic_store_explicit(&snapshot->peer_id, 0, memory_order_relaxed);
	if (peer == NULL)
		return;
	/* Release: pairs with the acquire fence in conn_snapshot_read. A reader that sees any of
	 * these words sees the 0, or what was written after it. */
	atomic_thread_fence(memory_order_release);
	for (uint32_t i = 0; i < 2; i++)
		atomic_store_explicit(&snapshot->ip[i], load_u64(peer->ip.b + 8 * i),
				      memory_order_relaxed);
	snapshot->generation++;
	/* Release: pairs with the acquire load in conn_snapshot_read, so the address belongs to its
	 * port. */
	atomic_store_explicit(&snapshot->peer_id,
			      (uint64_t)snapshot->generation << 40 |
				      (uint64_t)peer->listener << 32 |
				      (uint64_t)(peer->local + 1u) << 16 | peer->port,
			      memory_order_release);
}

bool
conn_snapshot_read(const struct conn_snapshot *snapshot, struct snapshot_peer *peer)
{
	/* Pairs with the release store in snapshot_write. */
	const uint64_t peer_id = atomic_load_explicit(&snapshot->peer_id, memory_order_acquire);
	uint64_t ip[2];

	if (peer_id == 0)
		return false;
	for (uint32_t i = 0; i < 2; i++)
		ip[i] = atomic_load_explicit(&snapshot->ip[i], memory_order_relaxed);
	/* Pairs with the release fence in snapshot_write. */
	atomic_thread_fence(memory_order_acquire);
	if (atomic_load_explicit(&snapshot->peer_id, memory_order_relaxed) != peer_id)
		return false;
	memcpy(peer->ip.b, ip, sizeof peer->ip.b);
	peer->port = (uint16_t)peer_id;
	peer->local = (uint16_t)((peer_id >> 16) - 1);
	peer->listener = (uint8_t)(peer_id >> 32);
	return true;
}

static struct conn_snapshot *
snapshot_of(const struct serve *sv, const struct session *ss)
{
	return &sv->admin->snapshots[ss - sv->sessions];
}

void
conn_is_active(struct serve *sv, const struct session *ss)
{
	atomic_store_explicit(&snapshot_of(sv, ss)->active_s, ss->active_s, memory_order_relaxed);
}

/* Returns the port of the listener with this number; 0: there is no such listener. */
static uint16_t
listener_port(const struct serve_info *info, uint32_t number)
{
	if (number >= NUMBER_MORE)
		return info->more_ports[number - NUMBER_MORE];
	return number == NUMBER_PLAIN ? info->plain_port : info->tcp_port;
}

static uint8_t
listener_of(const struct serve_info *info, uint16_t port)
{
	for (uint32_t number = NUMBERS_FIRST; number-- > NUMBER_PLAIN;)
		if (listener_port(info, number) == port)
			return (uint8_t)number;
	return NUMBER_TCP;
}

void
conn_listed(struct serve *sv, const struct session *ss)
{
	struct snapshot_peer peer = {
		.local = conn_local(ss->conn),
		.listener = listener_of(&sv->shared->info, conn_local_port(ss->conn))};

	conn_peer(ss->conn, &peer.ip, &peer.port);
	conn_is_active(sv, ss);
	atomic_store_explicit(&snapshot_of(sv, ss)->watching, 0, memory_order_relaxed);
	snapshot_write(snapshot_of(sv, ss), &peer);
}

void
conn_unlisted(struct serve *sv, const struct session *ss)
{
	snapshot_write(snapshot_of(sv, ss), NULL);
}

/* Writes an address, that of TCP as "tcp:10.99.0.1:11211" or "tcp6:[2001:db8::1]:11211". */
static void
conn_address(struct out_buffer *buffer, const struct stream *st, uint32_t number, const char *name,
	     const struct ip_addr *ip, uint16_t port)
{
	uint8_t text[sizeof "tcp6:[]:65535" + IP_ADDR_TEXT_MAX];
	struct out_buffer word = {text, text + sizeof text};
	const bool v4 = ip_addr_is_v4(ip);

	out_put_view(&word, number == NUMBER_UDP ? TEXT("udp") : TEXT("tcp"));
	out_put_view(&word, v4 ? TEXT(":") : TEXT("6:["));
	out_put_ip(&word, ip);
	out_put_view(&word, v4 ? TEXT(":") : TEXT("]:"));
	out_put_number(&word, port);
	conn_row(buffer, st, number, name, (struct view){text, (uint32_t)(word.at - text)});
}

static void
conn_seconds(struct out_buffer *buffer, const struct stream *st, uint32_t number, uint32_t seconds)
{
	uint8_t digits[MC_U64_DIGITS_MAX];
	const uint8_t *end = mc_put_u64(digits, seconds);

	conn_row(buffer, st, number, "secs_since_last_cmd",
		 (struct view){digits, (uint32_t)(end - digits)});
}

/* Writes the rows of a listener, from row *n on. port 0: there is no such listener, and no row. */
static void
listener_rows(struct serve *sv, struct stream *st, struct out_buffer *buffer, uint32_t *n,
	      uint32_t number, uint16_t port)
{
	const struct serve_info *info = &sv->shared->info;

	if (row_due(buffer, &st->row, n) && port != 0)
		conn_address(buffer, st, number, "addr", &info->ip, port);
	if (row_due(buffer, &st->row, n) && port != 0)
		conn_row(buffer, st, number, "state", TEXT("conn_listening"));
	if (row_due(buffer, &st->row, n) && port != 0)
		conn_seconds(buffer, st, number,
			     sv->clock.now_s - STORE_CLOCK_START - info->earlier_s);
}

static bool
ports_step(struct serve *sv, struct stream *st, struct out_buffer *buffer)
{
	const struct serve_info *info = &sv->shared->info;
	uint32_t n = 0;

	listener_rows(sv, st, buffer, &n, NUMBER_TCP, info->tcp_port);
	if (row_due(buffer, &st->row, &n) && info->udp_port != 0)
		conn_row(buffer, st, NUMBER_UDP, "UDP", TEXT("UDP"));
	if (row_due(buffer, &st->row, &n) && info->udp_port != 0)
		conn_address(buffer, st, NUMBER_UDP, "addr", &info->ip, info->udp_port);
	if (row_due(buffer, &st->row, &n) && info->udp_port != 0)
		conn_row(buffer, st, NUMBER_UDP, "state", TEXT("conn_read"));
	for (uint32_t number = NUMBER_PLAIN; number < NUMBERS_FIRST; number++)
		listener_rows(sv, st, buffer, &n, number, listener_port(info, number));
	return st->row < n;
}

/* Writes the rows of the connection in a snapshot. The slot may have another connection when the
 * next buffer is filled. */
static bool
snapshot_step(struct serve *sv, struct stream *st, struct out_buffer *buffer,
	      const struct conn_snapshot *snapshot, uint32_t number)
{
	const struct serve_info *info = &sv->shared->info;
	const uint32_t active_s = atomic_load_explicit(&snapshot->active_s, memory_order_relaxed);
	const bool watching = atomic_load_explicit(&snapshot->watching, memory_order_relaxed) != 0;
	struct snapshot_peer peer;
	struct ip_addr ours;
	uint32_t n = 0;

	if (!conn_snapshot_read(snapshot, &peer))
		return false;
	ours = stack_local_ip(sv->stack, peer.local);
	if (row_due(buffer, &st->row, &n))
		conn_address(buffer, st, number, "addr", &peer.ip, peer.port);
	if (row_due(buffer, &st->row, &n))
		conn_address(buffer, st, number, "listen_addr", &ours,
			     listener_port(info, peer.listener));
	if (row_due(buffer, &st->row, &n))
		conn_row(buffer, st, number, "state",
			 watching ? TEXT("conn_watch") : TEXT("conn_read"));
	if (row_due(buffer, &st->row, &n))
		conn_seconds(buffer, st, number,
			     sv->clock.now_s > active_s ? sv->clock.now_s - active_s : 0);
	return st->row < n;
}

/* Writes the next listener or connection. st->at is the core plus 1, or 0 for the listeners;
 * st->sub is the slot. */
static bool
snapshots_step(struct serve *sv, struct stream *st, struct out_buffer *buffer)
{
	const struct serve *other = sv->shared->serves[st->at - 1];

	for (uint32_t i = 0; i < SNAPSHOTS_A_STEP; i++, st->sub++) {
		const struct conn_snapshot *snapshot;

		st->work += WORK_SNAPSHOT;

		if (other == NULL || st->sub >= other->cfg.conns_max) {
			st->at++;
			st->sub = st->row = 0;
			return true;
		}
		snapshot = &other->admin->snapshots[st->sub];
		if (snapshot_step(sv, st, buffer, snapshot,
				  session_number(other, &other->sessions[st->sub])))
			return true;
		st->row = 0;
	}
	return true;
}

static bool
conns_step(struct serve *sv, struct stream *st, struct out_buffer *buffer)
{
	if (st->at > sv->shared->cores)
		return false;
	if (st->at > 0)
		return snapshots_step(sv, st, buffer);
	if (!ports_step(sv, st, buffer)) {
		st->at = 1;
		st->row = 0;
	}
	return true;
}

const struct stream_kind conns_stream = {conns_step, ROW_MAX, MC_END};
