/*
 * tcp.c - TCP of one core as a whole: its memory, taken at start; its stop; its usage.
 */
#include "tcp_fast_path.h"

#include "conn_sources.h"
#include "net/access_list.h"
#include "net/kernel_io.h"

static uint32_t
bucket_count(uint32_t conns)
{
	uint32_t n = 1;

	while (n < conns / (BUCKET_FLOWS / 2) + 1)
		n *= 2;
	return n;
}

size_t
tcp_bytes(const struct tcp_config *cfg, uint32_t rx_frames_max)
{
	return (size_t)cfg->conns_max * sizeof(struct conn) +
	       (size_t)bucket_count(cfg->conns_max) * sizeof(struct flow_bucket) +
	       (size_t)rx_frames_max * sizeof(struct rx_seg) + sendq_pool_bytes(cfg->chunks) +
	       budget_bytes() + scoreboard_pool_bytes(cfg->chunks, cfg->conns_max) +
	       (cfg->conns_per_source != 0 ? cfg->conns_max * sizeof(uint32_t) : 0) +
	       (cfg->pipes ? cfg->conns_max * sizeof(uint32_t) : 0) +
	       (size_t)cfg->conns_max * (sizeof(struct stall) + sizeof(struct conn_places)) +
	       syn_history_bytes(cfg->syn_lines) + 7 * CACHE_LINE_BYTES;
}

static void
conns_create(struct tcp *t, struct region *region, uint32_t conns)
{
	t->conns = region_take(region, (size_t)conns * sizeof *t->conns, CACHE_LINE_BYTES);
	for (uint32_t i = 0; i < conns; i++) {
		struct conn *c = &t->conns[i];

		c->slot = i;
		list_init(&c->ready);
		list_init(&c->out);
		list_init(&c->ooo_list);
		wheel_node_init(&c->timer);
		list_push_back(&t->free, &c->state_list);
	}
}

static void
source_cells_create(struct tcp *t, struct region *region, uint32_t conns)
{
	t->source_cell = region_take(region, conns * sizeof(uint32_t), CACHE_LINE_BYTES);
	for (uint32_t i = 0; i < conns; i++)
		t->source_cell[i] = SOURCES_NONE;
}

/* Declares the ports that are not the kernel's. */
static void
kernel_ports_declare(struct tcp *t)
{
	struct net *net = &t->net;

	if (net->kernel == NULL)
		return;
	kernel_declare_tcp(net, t->cfg.port);
	kernel_declare_tcp(net, t->cfg.other_port);
	for (uint32_t i = 0; i < t->cfg.more_count; i++)
		kernel_declare_tcp(net, t->cfg.more_ports[i]);
}

void
tcp_lender_set(struct tcp *t, const struct lender *lender)
{
	t->lending = (struct lending){.lender = *lender, .bytes_max = t->cfg.lent_bytes_max};
	/* The port must compute checksums, too, since the core does not read what it lends. */
	t->lends = (t->net.port->caps & PORT_TX_LOANS) != 0 && t->net.tcp_ol_flags != 0 &&
		   t->cfg.lent_bytes_max != 0;
}

void
tcp_create(struct tcp *t, struct region *region, const struct tcp_config *cfg)
{
	const uint32_t buckets = bucket_count(cfg->conns_max);
	const uint32_t frames = t->net.cfg.rx_frames_max;

	ensure(cfg->conns_max <= CONN_SLOTS_MAX && cfg->active_reserve < cfg->conns_max);
	t->cfg = *cfg;
	fast_path_init(t);
	list_init(&t->ready);
	list_init(&t->out);
	list_init(&t->out_later);
	list_init(&t->blocked);
	list_init(&t->ooo_list);
	list_init(&t->free);
	list_init(&t->half_open);
	list_init(&t->fin_wait);
	list_init(&t->time_wait);
	list_init(&t->leaving);
	wheel_init(&t->wheel);
	conns_create(t, region, cfg->conns_max);
	t->buckets = region_take(region, buckets * sizeof *t->buckets, CACHE_LINE_BYTES);
	t->bucket_mask = buckets - 1;
	ensure((cfg->conns_per_source != 0) == (cfg->sources != NULL));
	if (cfg->sources != NULL)
		source_cells_create(t, region, cfg->conns_max);
	if (cfg->pipes)
		t->mates = region_take(region, cfg->conns_max * sizeof *t->mates, CACHE_LINE_BYTES);
	if (cfg->syn_lines != 0)
		syn_history_create(&t->syns, region, cfg->syn_lines);
	evict_create(t, region);
	t->half_open_max = min_u32(HALF_OPEN_MAX, cfg->conns_max / 2 + 1);
	rx_pool_create(t, region, frames);
	kernel_ports_declare(t);
	rcv_autotune_create(t, frames);
	sendq_pool_create(&t->pool, region, cfg->chunks, min_u32(peers_max(t), cfg->chunks / 2),
			  t->net.cfg.seed);
	t->pool.queue_least = CONN_SENDQ_LEAST;
	scoreboard_pool_create(&t->scoreboard_pool, region, cfg->chunks, cfg->conns_max);
}

uint64_t
tcp_next_timer(const struct tcp *t)
{
	const uint64_t timer = wheel_next(&t->wheel);
	const uint64_t evict = evict_next(t);

	/* Output that found no room continues in the next turn. */
	if (!list_empty(&t->out))
		return t->net.now_ns;
	return timer < evict ? timer : evict;
}

/* True if the service has requeued a connection. */
bool
tcp_has_ready(const struct tcp *t)
{
	return !list_empty(&t->ready);
}

/* True for the wire of a pipe. The wire is closed when all data of its pipe is sent. */
static bool
pipe_is_wire(const struct tcp *t, const struct conn *c)
{
	return pipe_mate(t, c) != NULL && !pipe_is(t, c);
}

/* Closes the connections of a slice of slots in each call. New connections are refused from the
 * first call on, so one walk is enough. Connections in TIME-WAIT do not delay the stop. */
bool
tcp_drain(struct stack *s)
{
	struct tcp *t = stack_tcp(s);

	t->draining = true;
	for (uint32_t i = 0; i < DRAIN_SLOTS && t->drain_slot < t->cfg.conns_max; i++) {
		struct conn *c = &t->conns[t->drain_slot++];

		if (c->state == CONN_SYN_RCVD)
			out_reset(t, c);
		if (c->state == CONN_SYN_SENT || c->state == CONN_SYN_RCVD)
			conn_fail(t, c, CONNECT_STOPPED);
		else if ((c->state == CONN_ESTABLISHED || c->state == CONN_CLOSE_WAIT) &&
			 !pipe_is_wire(t, c))
			conn_close(s, c);
	}
	if (t->drain_slot < t->cfg.conns_max)
		return false;
	return t->conns_count == t->time_wait_count;
}

/* Aborts all connections except those in TIME-WAIT, whose peers have acknowledged all data. */
void
tcp_abort_all(struct stack *s)
{
	struct tcp *t = stack_tcp(s);

	for (uint32_t i = 0; i < t->cfg.conns_max; i++) {
		struct conn *c = &t->conns[i];

		if (c->state == CONN_SYN_SENT || c->state == CONN_SYN_RCVD)
			conn_fail(t, c, CONNECT_STOPPED);
		else if (c->state != CONN_CLOSED && c->state != CONN_TIME_WAIT)
			conn_abort(s, c);
	}
}

void
stack_access_set(struct stack *s, const struct access_list *list)
{
	stack_tcp(s)->net.access = list;
}

void
stack_refuse(struct stack *s, enum conn_refusal how)
{
	stack_tcp(s)->refusal = (uint8_t)how;
}

void
stack_addrs_set(struct stack *s, const struct local_addrs *addrs)
{
	net_addrs_set(&stack_tcp(s)->net, addrs);
}

/* Ends a connection at once. */
static void
end_by(struct tcp *t, struct conn *c, enum tcp_counter why)
{
	tcp_count(t, why);
	if (c->state == CONN_SYN_RCVD || c->state == CONN_SYN_SENT)
		conn_fail(t, c, CONNECT_STOPPED);
	else
		conn_reset(t, c);
}

/* Ends a connection to an address that has left, so that nothing keeps the address's number. A pipe
 * ends with its wire. True: the slot has no connection any longer. */
static bool
enforce_addrs_on(struct tcp *t, struct conn *c)
{
	if (c->state == CONN_CLOSED || t->net.addrs->state[c->local].live || pipe_is(t, c))
		return c->state == CONN_CLOSED;
	if (c->state == CONN_TIME_WAIT)
		conn_free(t, c);
	else
		end_by(t, c, TCP_LEFT);
	return true;
}

/* Ends a connection whose source is denied. One in TIME-WAIT is ended as well, so that it cannot be
 * reopened (listen_reopen). */
static void
enforce_on(struct tcp *t, struct conn *c)
{
	struct ip_addr ip;
	uint16_t port;

	if (enforce_addrs_on(t, c) || t->net.access == NULL)
		return;
	if (c->state == CONN_CLOSED || c->state == CONN_TIME_WAIT || c->flags & CONN_ACTIVE)
		return;
	conn_peer(c, &ip, &port);
	if (access_allows(t->net.access, &ip))
		return;
	end_by(t, c, TCP_DENIED);
}

uint32_t
stack_access_enforce(struct stack *s, uint32_t from)
{
	struct tcp *t = stack_tcp(s);
	uint32_t end = t->cfg.conns_max;

	if (end - from > ACCESS_SLOTS_MAX)
		end = from + ACCESS_SLOTS_MAX;
	/* Each reset needs a frame. Connections without one are examined in the next call. */
	for (uint32_t i = from; i < end; i++) {
		if (i != from && !tx_queue_has_room(&t->net))
			return i;
		enforce_on(t, &t->conns[i]);
	}
	return end < t->cfg.conns_max ? end : 0;
}

static_assert(CONN_STATE_COUNT == STACK_CONN_STATES + 1, "CLOSED has no name");
const char *const stack_conn_state_names[STACK_CONN_STATES] = {
	"syn_sent",   "syn_rcvd", "established", "fin_wait_1", "fin_wait_2",
	"close_wait", "closing",  "last_ack",    "time_wait"};

uint32_t
stack_conns_in_state_mt(const struct stack *s, uint32_t state)
{
	return atomic_load_explicit(&stack_tcp(s)->in_state[CONN_SYN_SENT + state],
				    memory_order_relaxed);
}

void
stack_usage_mt(const struct stack *s, struct stack_usage *out)
{
	const struct tcp *t = stack_tcp(s);

	out->conns = atomic_load_explicit(&t->conns_used, memory_order_relaxed);
	out->conns_open = atomic_load_explicit(&t->conns_open, memory_order_relaxed);
	out->conns_max = t->cfg.conns_max;
	out->chunks_used = atomic_load_explicit(&t->chunks_used, memory_order_relaxed);
	out->chunks = t->cfg.chunks;
	out->rx_frames_held = atomic_load_explicit(&t->frames_held, memory_order_relaxed);
}
