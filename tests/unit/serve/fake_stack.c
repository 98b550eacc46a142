#include "fake_stack.h"

#include "sim/zeroed.h"
#include "support/test.h"
#include "admin/admin.h"
#include "base/check.h"
#include "core/core.h"
#include "proto/mc_udp.h"
#include "image/store_image.h"

#include <stdlib.h>

#define SENT_BYTES (16u << 20)
#define SENT_MAX   8192u
#define PIECES_MAX 4096u
#define MEMORY     (16u << 20)

struct segment {
	struct segment *next;
	uint32_t len, read;
	uint64_t since_ns;
	uint8_t *bytes;
};

struct elsewhere {
	const uint8_t *data;
	uint32_t len, sent_at;
	void (*release)(const void *arg);
	const void *arg;
};

struct conn {
	uint32_t slot;
	bool open, ready, eof, closed, aborted, wants_room;
	bool left; /* the service has been notified that the connection is closed */
	bool dropped, narrow;
	struct segment *head, *tail;
	uint32_t sent_len, queued, chunks;
	uint8_t *sent;
	uint8_t *reserved;
	uint32_t reserved_len;
	struct elsewhere pieces[PIECES_MAX];
	uint32_t piece_count;
};

struct stack {
	struct stack_user user;
	struct conn conns[FAKE_CONNS];
	struct conn *order[FAKE_CONNS]; /* ready, oldest first */
	uint32_t order_count;
	struct segment *spent;
	_Atomic uint32_t conns_open, chunks_used; /* atomic: other cores read them */
	uint32_t presses;
	uint32_t chunks, credits, bufs_left, tx_queue_max, tx_queue_left;
	struct datagram datagrams[FAKE_DATAGRAMS + FAKE_KEPT];
	uint32_t datagram_count, datagrams_read;
	const struct access_list *access; /* decides which sources may connect */
	uint32_t access_looked;           /* slots examined for the list */
	const uint64_t *waiting;          /* the sources that wait, as bits */
	bool first_stays;
	uint8_t begun[2048];
	uint32_t begun_to;
	bool is_begun;
	uint32_t sent_count;
	struct fake_sent sent[SENT_MAX];
	struct counter counters[STACK_COUNTER_COUNT];
};

const struct counter_name stack_counter_names[STACK_COUNTER_COUNT] = {STACK_COUNTERS(COUNTER_NAME)};

/* ---- calls of the service ---- */

void
stack_lender_set(struct stack *s, const struct lender *lender)
{
	check(lender->hold != NULL && lender->release != NULL && lender->bytes != NULL);
}

void
stack_attach(struct stack *s, const struct stack_user *user)
{
	s->user = *user;
}

static void
make_ready(struct stack *s, struct conn *c)
{
	if (c->ready || !c->open || c->left)
		return;
	c->ready = true;
	s->order[s->order_count++] = c;
}

struct conn *
stack_pop_ready(struct stack *s)
{
	struct conn *c = s->order[0];

	if (s->order_count == 0)
		return NULL;
	s->order_count--;
	memmove(s->order, s->order + 1, s->order_count * sizeof s->order[0]);
	c->ready = false;
	return c;
}

void
conn_requeue(struct stack *s, struct conn *c)
{
	make_ready(s, c);
}

uint32_t
conn_slot(const struct conn *c)
{
	return c->slot;
}

void
conn_peer(const struct conn *c, struct ip_addr *ip, uint16_t *port)
{
	*ip = ip_addr_v4(FAKE_PEER);
	if (c->slot == FAKE_SLOT6)
		*ip = (struct ip_addr){FAKE_PEER6};
	*port = (uint16_t)(FAKE_PORT + c->slot);
}

uint16_t
conn_local(const struct conn *c)
{
	return c->slot == FAKE_SLOT6 ? LOCAL_GLOBAL6 : LOCAL_V4;
}

void
stack_refuse(struct stack *s, enum conn_refusal how)
{
}

void
stack_addrs_set(struct stack *s, const struct local_addrs *addrs)
{
}

struct ip_addr
stack_local_ip(const struct stack *s, uint16_t local)
{
	return local == LOCAL_V4 ? ip_addr_v4(FAKE_OURS) : (struct ip_addr){FAKE_OURS6};
}

uint16_t
conn_local_port(const struct conn *c)
{
	return c->slot == FAKE_SLOT_PLAIN ? FAKE_PLAIN_PORT : 11211;
}

struct view
conn_peek(const struct conn *c)
{
	check(c->open && !c->left);
	if (c->head == NULL)
		return (struct view){NULL, 0};
	return (struct view){c->head->bytes + c->head->read, c->head->len - c->head->read};
}

struct view
conn_peek_since(const struct conn *c, uint64_t *since_ns)
{
	*since_ns = c->head != NULL ? c->head->since_ns : 0;
	return conn_peek(c);
}

uint32_t
conn_peek_copy(const struct conn *c, uint32_t from, uint8_t *to, uint32_t len)
{
	uint32_t done = 0;

	for (const struct segment *g = c->head; g != NULL; g = g->next)
		for (uint32_t i = g->read; i < g->len && done < len; i++) {
			if (from > 0)
				from--;
			else
				to[done++] = g->bytes[i];
		}
	return done;
}

void
conn_advance(struct stack *s, struct conn *c, uint32_t n)
{
	struct segment *g = c->head;

	if (n == 0)
		return;
	check(n <= conn_peek(c).len);
	g->read += n;
	if (g->read < g->len)
		return;
	c->head = g->next;
	if (c->head == NULL)
		c->tail = NULL;
	g->next = s->spent;
	s->spent = g;
}

uint32_t
conn_unread(const struct conn *c)
{
	uint32_t bytes = 0;

	for (const struct segment *g = c->head; g != NULL; g = g->next)
		bytes += g->len - g->read;
	return bytes;
}

void
rig_drop_unread(struct rig *r, struct conn *c)
{
	while (c->head != NULL)
		conn_advance(r->stack, c, conn_peek(c).len);
}

void
stack_requests_wait(struct stack *s)
{
}

void
conn_expect(struct conn *c, uint64_t bytes)
{
	check(c->open && !c->left);
}

void
conn_body_waits(struct conn *c, uint64_t bytes)
{
	check(c->open && !c->left);
}

bool
conn_awaits_retransmission(const struct conn *c)
{
	return c->dropped;
}

void
rig_starve(struct conn *c, bool dropped, bool narrow)
{
	c->dropped = dropped;
	c->narrow = narrow;
}

bool
conn_window_is_open(const struct conn *c)
{
	return !c->narrow;
}

void
conn_acknowledge(struct stack *s, struct conn *c)
{
	(void)s;
	(void)c;
}

uint32_t
conn_rtt_us(const struct conn *c)
{
	(void)c;
	return 5000;
}

uint32_t
conn_unacknowledged(const struct conn *c)
{
	return c->queued;
}

uint32_t
conn_sendable(struct stack *s, struct conn *c)
{
	(void)s;
	(void)c;
	return 65536;
}

bool
conn_has_ended(const struct conn *c)
{
	return c->eof;
}

bool
conn_eof(const struct conn *c)
{
	return c->eof && c->head == NULL;
}

bool
conn_writable(struct stack *s, struct conn *c, uint32_t replies)
{
	if (c->closed)
		return false;
	if (c->queued > CONN_SENDQ_BYTES || s->chunks - s->chunks_used < s->credits + replies) {
		c->wants_room = true;
		return false;
	}
	s->credits += replies;
	return true;
}

bool
conn_is_full(struct stack *s, struct conn *c)
{
	c->wants_room |= c->queued > CONN_SENDQ_BYTES;
	return c->queued > CONN_SENDQ_BYTES;
}

/* True if the peer's window takes a whole value. */
bool
conn_piece_fits(struct stack *s, struct conn *c)
{
	c->wants_room |= s->bufs_left == 0;
	return !c->closed && s->bufs_left > 0;
}

void
conn_holds_behind(struct stack *s, const struct conn *c, uint32_t bytes)
{
	check(c->open && !c->closed);
}

bool
conn_piece_writable(struct stack *s, struct conn *c)
{
	return conn_piece_fits(s, c) && conn_writable(s, c, 1);
}

bool
conn_is_refused(const struct conn *c)
{
	return c->wants_room;
}

bool
conn_peer_is_full(struct stack *s, struct conn *c)
{
	(void)s;
	return c->wants_room;
}

uint32_t
conn_credit_take(struct stack *s, struct conn *c, uint32_t replies)
{
	const uint32_t left = s->chunks - s->chunks_used - s->credits;

	if (c->closed || c->queued > CONN_SENDQ_BYTES || left < replies)
		return conn_writable(s, c, 1) ? 1 : 0;
	s->credits += replies;
	return replies;
}

void
conn_credit_return(struct stack *s, uint32_t replies)
{
	check(replies <= s->credits);
	s->credits -= replies;
}

/* Reserves room for several replies, so that a test can distinguish them. */
uint8_t *
conn_reserve_room(struct stack *s, struct conn *c, uint32_t bytes, uint32_t *room)
{
	*room = bytes < 1000 ? 1000 : bytes;
	return conn_reserve(s, c, *room);
}

uint8_t *
conn_reserve(struct stack *s, struct conn *c, uint32_t bytes)
{
	check(c->open && !c->closed && c->reserved == NULL);
	check(bytes <= CONN_RESERVE_MAX);
	check(s->credits > 0);
	s->credits--;
	c->reserved = malloc(bytes != 0 ? bytes : 1);
	c->reserved_len = bytes;
	return c->reserved;
}

static void
queue(struct conn *c, const uint8_t *bytes, uint32_t len)
{
	check(c->sent_len + len < SENT_BYTES);
	memcpy(c->sent + c->sent_len, bytes, len);
	c->sent_len += len;
	c->queued += len;
	c->sent[c->sent_len] = 0;
}

void
conn_commit(struct stack *s, struct conn *c, uint32_t bytes)
{
	check_ptr(c->reserved);
	check(bytes <= c->reserved_len);
	queue(c, c->reserved, bytes);
	c->chunks++;
	s->chunks_used++;
	free(c->reserved);
	c->reserved = NULL;
}

void
conn_commit_room(struct stack *s, struct conn *c, uint32_t bytes, uint32_t room)
{
	check(bytes <= room);
	conn_commit(s, c, bytes);
}

void
conn_write(struct stack *s, struct conn *c, struct view bytes)
{
	memcpy(conn_reserve(s, c, bytes.len), bytes.data, bytes.len);
	conn_commit(s, c, bytes.len);
}

bool
conn_write_external(struct stack *s, struct conn *c, const uint8_t *data, uint32_t len,
		    void (*release)(const void *arg), const void *arg)
{
	check(c->open && !c->closed && len > 0);
	check(s->bufs_left > 0);
	s->bufs_left--;
	check(c->piece_count < PIECES_MAX);
	c->pieces[c->piece_count++] = (struct elsewhere){data, len, c->sent_len, release, arg};
	queue(c, data, len);
	return true;
}

void
conn_external_lendable(struct conn *c)
{
	check(c->piece_count > 0);
}

static void
let_go(struct stack *s, struct conn *c)
{
	for (uint32_t i = 0; i < c->piece_count; i++) {
		const struct elsewhere *p = &c->pieces[i];

		check_bytes(p->data, c->sent + p->sent_at, p->len);
		p->release(p->arg);
	}
	s->chunks_used -= c->chunks;
	c->piece_count = c->chunks = c->queued = 0;
}

static void
tell_gone(struct stack *s, struct conn *c)
{
	for (uint32_t i = 0; i < s->order_count; i++)
		if (s->order[i] == c) {
			s->order_count--;
			memmove(s->order + i, s->order + i + 1,
				(s->order_count - i) * sizeof s->order[0]);
		}
	s->conns_open--;
	c->ready = false;
	c->left = true;
	s->user.gone(s->user.arg, c);
}

/* The slot is taken until the test loses the connection, as the stack's is
 * until its peer has closed. */
void
conn_close_detach(struct stack *s, struct conn *c)
{
	check(c->open && !c->left);
	c->closed = true;
	tell_gone(s, c);
}

static void
lose(struct stack *s, struct conn *c)
{
	if (!c->left)
		tell_gone(s, c);
	c->open = false;
	let_go(s, c);
}

/* There are no peers to connect to. */
struct conn *
conn_connect(struct stack *s, const struct conn_target *to)
{
	return NULL;
}

void
stack_access_set(struct stack *s, const struct access_list *list)
{
	s->access = list;
}

/* Counts one slot as examined by a call. */
uint32_t
stack_access_enforce(struct stack *s, uint32_t from)
{
	s->access_looked++;
	return (from + 1) % FAKE_CONNS;
}

void
conn_abort(struct stack *s, struct conn *c)
{
	c->aborted = true;
	lose(s, c);
}

void
stack_memory_pressure(struct stack *s, uint32_t part)
{
	s->presses++;
}

uint8_t *
stack_chunk_get(struct stack *s)
{
	if (s->chunks - s->chunks_used <= s->credits)
		return NULL;
	s->chunks_used++;
	return malloc(CHUNK_BYTES);
}

uint8_t *
stack_chunk_get_credited(struct stack *s)
{
	check(s->credits > 0);
	s->credits--;
	return stack_chunk_get(s);
}

void
stack_chunk_put(struct stack *s, uint8_t *chunk)
{
	s->chunks_used--;
	free(chunk);
}

void
stack_chunk_credit(struct stack *s, uint8_t *chunk)
{
	stack_chunk_put(s, chunk);
	s->credits++;
}

void
conn_holds_chunk(struct stack *s, const struct conn *c, bool holds)
{
}

struct datagram *
stack_datagrams(struct stack *s, uint32_t *count)
{
	*count = s->datagrams_read = s->datagram_count;
	return s->datagrams;
}

void
stack_datagrams_defer(struct stack *s, uint32_t first)
{
	check(first <= s->datagram_count);
	s->datagrams_read = first;
}

static uint32_t
peer_of(const struct udp_peer *from)
{
	return (from->ip.b[15] - FAKE_PEER) & 0xff;
}

/* Peers 0 and FAKE_SOURCES count as one source, as two with the same hash do. */
uint32_t
stack_udp_source(const struct stack *s, const struct udp_peer *from)
{
	return peer_of(from) % FAKE_SOURCES;
}

void
stack_datagrams_pass_over(struct stack *s, const uint64_t *waiting, bool first_stays)
{
	s->waiting = waiting;
	s->first_stays = first_stays;
}

/* Moves datagrams of waiting sources behind all others. */
static void
pass_over(struct stack *s)
{
	static struct datagram behind[FAKE_DATAGRAMS + FAKE_KEPT];
	uint32_t count = 0, to = s->first_stays ? 1 : 0;

	for (uint32_t i = to; i < s->datagram_count; i++) {
		const uint32_t source = stack_udp_source(s, &s->datagrams[i].from);

		if (s->waiting[source / 64] >> source % 64 & 1)
			behind[count++] = s->datagrams[i];
		else
			s->datagrams[to++] = s->datagrams[i];
	}
	memcpy(s->datagrams + to, behind, count * sizeof behind[0]);
}

uint8_t *
udp_reply_buffer(struct stack *s, struct datagram *d, uint32_t *room)
{
	*room = 1472;
	return d->start;
}

static void
send_datagram(struct stack *s, uint32_t to, const uint8_t *bytes, uint32_t len, bool here)
{
	check(s->sent_count < SENT_MAX && len <= 1472);
	memcpy(s->sent[s->sent_count].bytes, bytes, len);
	s->sent[s->sent_count].len = len;
	s->sent[s->sent_count].to = to;
	s->sent[s->sent_count++].here = here;
}

void
udp_reply_in_place(struct stack *s, struct datagram *d, uint32_t payload_len)
{
	check(!d->answered);
	d->answered = true;
	send_datagram(s, peer_of(&d->from), d->start, payload_len, true);
}

uint8_t *
udp_begin(struct stack *s, const struct udp_peer *to, uint32_t *room)
{
	check(to->port == 4242);
	if (s->tx_queue_left == 0)
		return NULL;
	s->is_begun = true;
	s->begun_to = peer_of(to);
	*room = 1472;
	return s->begun;
}

void
udp_commit(struct stack *s, uint32_t payload_len)
{
	check(s->is_begun);
	s->is_begun = false;
	s->tx_queue_left--;
	send_datagram(s, s->begun_to, s->begun, payload_len, false);
}

void
stack_usage_mt(const struct stack *s, struct stack_usage *out)
{
	*out = (struct stack_usage){
		.conns_max = FAKE_CONNS, .chunks = s->chunks, .chunks_used = s->chunks_used};
	out->conns_open = out->conns = s->conns_open;
}

const char *const stack_conn_state_names[STACK_CONN_STATES] = {
	"syn_sent",   "syn_rcvd", "established", "fin_wait_1", "fin_wait_2",
	"close_wait", "closing",  "last_ack",    "time_wait"};

uint32_t
stack_conns_in_state_mt(const struct stack *s, uint32_t state)
{
	return state == 2 ? s->conns_open : 0;
}

const struct counter *
stack_counters(const struct stack *s)
{
	return s->counters;
}

/* ---- calls of the test ---- */

static const struct serve_config serve_cfg = {
	.conns_max = FAKE_CONNS, .conns_spare = FAKE_SPARE, .conn_requests_max = 20};

/* The store and the state that cores share are in the first rig's region. */
static void
shared_create(struct rig *r, uint32_t cores, bool never_evict)
{
	const struct store_config store_cfg = {.memory_bytes = MEMORY,
					       .cores = cores,
					       .value_max = STORE_VALUE_MAX,
					       .seed = 1,
					       .never_evict = never_evict};
	const struct serve_info info = {.pid = 77,
					.conns_max = cores * FAKE_CONNS,
					.tcp_port = 11211,
					.plain_port = FAKE_PLAIN_PORT,
					.ip = ip_addr_v4(FAKE_OURS)};

	r->region.size = store_bytes(&store_cfg) + serve_shared_bytes(cores) +
			 admin_shared_bytes() +
			 cores * (serve_bytes(&serve_cfg) + admin_bytes(&serve_cfg)) + 4096;
	r->region = zeroed_region(r->region.size);
	r->store = store_create(&r->region, &store_cfg);
	r->shared = serve_shared_create(&r->region, r->store, cores, "9.8.7");
	admin_shared_create(&r->region, r->shared);
	serve_shared_set_info(r->shared, &info);
}

static struct stack *
fake_create(void)
{
	struct stack *stack = calloc(1, sizeof *stack);

	stack->chunks = 4096;
	stack->bufs_left = 4096;
	stack->tx_queue_max = stack->tx_queue_left = 256;
	for (uint32_t i = 0; i < FAKE_CONNS; i++) {
		stack->conns[i].slot = i;
		stack->conns[i].sent = zeroed_memory(SENT_BYTES);
	}
	return stack;
}

static void
create(struct rig **rigs, uint32_t cores, bool never_evict)
{
	for (uint32_t i = 0; i < cores; i++) {
		struct serve_config cfg = serve_cfg;
		struct rig *r = rigs[i] = calloc(1, sizeof *r);

		if (i == 0)
			shared_create(r, cores, never_evict);
		r->store = rigs[0]->store;
		r->shared = rigs[0]->shared;
		r->core = store_core_of(r->store, i);
		r->stack = fake_create();
		cfg.core = i;
		r->serve = serve_create(&rigs[0]->region, &cfg, r->shared, r->stack);
		admin_create(&rigs[0]->region, r->serve);
		r->clock =
			(struct serve_clock){.unix_s = FAKE_UNIX, .now_s = STORE_CLOCK_START + 100};
	}
}

void
rig_create_cores(struct rig **rigs, uint32_t cores)
{
	create(rigs, cores, false);
}

void
rig_create_never_evicting(struct rig **rigs, uint32_t cores)
{
	create(rigs, cores, true);
}

struct rig *
rig_create(void)
{
	struct rig *r;

	rig_create_cores(&r, 1);
	return r;
}

static void
segments_free(struct segment *g)
{
	while (g != NULL) {
		struct segment *next = g->next;

		free(g->bytes);
		free(g);
		g = next;
	}
}

static void
release(struct stack *s, uint64_t now_ns)
{
	segments_free(s->spent);
	s->spent = NULL;
	for (uint32_t i = 0; i < s->datagrams_read; i++)
		free(s->datagrams[i].start);
	s->datagram_count -= s->datagrams_read;
	memmove(s->datagrams, s->datagrams + s->datagrams_read,
		s->datagram_count * sizeof s->datagrams[0]);
	for (; s->datagram_count > FAKE_KEPT; s->datagram_count--)
		free(s->datagrams[s->datagram_count - 1].start);
	for (uint32_t i = 0; i < s->datagram_count; i++) {
		if (!s->datagrams[i].kept)
			s->datagrams[i].since_ns = now_ns;
		s->datagrams[i].kept = true;
	}
	if (s->waiting != NULL)
		pass_over(s);
	s->credits = 0;
	s->tx_queue_left = s->tx_queue_max;
}

void
rig_destroy(struct rig *r)
{
	for (uint32_t i = 0; i < FAKE_CONNS; i++) {
		struct conn *c = &r->stack->conns[i];

		if (c->open)
			lose(r->stack, c);
		segments_free(c->head);
		zeroed_free(c->sent, SENT_BYTES);
	}
	r->stack->datagrams_read = r->stack->datagram_count;
	release(r->stack, r->clock.now_ns);
	free(r->stack);
	if (r->region.base != NULL)
		zeroed_free(r->region.base, r->region.size);
	free(r);
}

void
rig_turn(struct rig *r)
{
	if (r->clock.unix_ns / 1000000000 != r->clock.unix_s)
		r->clock.unix_ns = r->clock.unix_s * 1000000000;
	store_turn(r->core, r->clock.now_s);
	serve_turn(r->serve, &r->clock);
	for (uint32_t pass = 0; pass < PASSES_MAX; pass++) {
		serve_parse(r->serve);
		serve_prefetch(r->serve);
		serve_execute(r->serve);
		if (!serve_has_work(r->serve))
			break;
	}
	release(r->stack, r->clock.now_ns);
	store_housekeeping(r->core);
}

struct conn *
rig_open(struct rig *r)
{
	for (uint32_t i = 0; i < FAKE_CONNS; i++) {
		struct conn *c = &r->stack->conns[i];

		if (c->open)
			continue;
		segments_free(c->head);
		*c = (struct conn){.slot = i, .sent = c->sent, .open = true};
		r->stack->conns_open++;
		c->sent[0] = 0;
		r->stack->user.opened(r->stack->user.arg, c);
		return c;
	}
	fail_msg("no free connection");
	return NULL;
}

void
rig_receive(struct rig *r, struct conn *c, const void *bytes, uint32_t len)
{
	struct segment *g;

	if (len == 0)
		return;
	g = calloc(1, sizeof *g);
	g->bytes = malloc(len);
	g->len = len;
	g->since_ns = r->clock.now_ns;
	memcpy(g->bytes, bytes, len);
	if (c->tail != NULL)
		c->tail->next = g;
	else
		c->head = g;
	c->tail = g;
	make_ready(r->stack, c);
}

void
rig_receive_text(struct rig *r, struct conn *c, const char *text)
{
	rig_receive(r, c, text, (uint32_t)strlen(text));
}

void
rig_eof(struct rig *r, struct conn *c)
{
	c->eof = true;
	make_ready(r->stack, c);
}

void
rig_lose(struct rig *r, struct conn *c)
{
	lose(r->stack, c);
}

void
rig_lose_slot(struct rig *r, uint32_t slot)
{
	if (r->stack->conns[slot].open)
		lose(r->stack, &r->stack->conns[slot]);
}

const char *
rig_sent(struct conn *c, uint32_t *len)
{
	if (len != NULL)
		*len = c->sent_len;
	return (const char *)c->sent;
}

void
rig_forget_sent(struct conn *c)
{
	check_eq(c->piece_count, 0);
	c->sent_len = 0;
	c->sent[0] = 0;
}

static void
wake(struct stack *s, struct conn *c)
{
	if (c->wants_room)
		make_ready(s, c);
	c->wants_room = false;
}

void
rig_acked(struct rig *r, struct conn *c)
{
	let_go(r->stack, c);
	wake(r->stack, c);
}

void
rig_set_queued(struct conn *c, uint32_t bytes)
{
	c->queued = bytes;
}

bool
rig_closed(const struct conn *c)
{
	return c->closed;
}

bool
rig_aborted(const struct conn *c)
{
	return c->aborted;
}

void
rig_set_pieces(struct rig *r, uint32_t pieces)
{
	r->stack->bufs_left = pieces;
	for (uint32_t i = 0; i < FAKE_CONNS; i++)
		if (r->stack->conns[i].open)
			wake(r->stack, &r->stack->conns[i]);
}

void
rig_set_chunks(struct rig *r, uint32_t chunks)
{
	r->stack->chunks = chunks;
}

void
rig_set_tx_room(struct rig *r, uint32_t frames)
{
	r->stack->tx_queue_max = r->stack->tx_queue_left = frames;
}

uint32_t
rig_chunks_used(const struct rig *r)
{
	return r->stack->chunks_used;
}

const struct access_list *
rig_access(const struct rig *r, uint32_t *looked)
{
	*looked = r->stack->access_looked;
	return r->stack->access;
}

void
rig_datagram_from(struct rig *r, uint32_t peer, uint16_t id, const char *text)
{
	rig_datagram(r, id, 1, text, (uint32_t)strlen(text));
	r->stack->datagrams[r->stack->datagram_count - 1].from.ip = ip_addr_v4(FAKE_PEER + peer);
}

void
rig_datagram(struct rig *r, uint16_t id, uint16_t total, const void *bytes, uint32_t len)
{
	struct stack *s = r->stack;
	const uint32_t i = s->datagram_count++;

	check(i < FAKE_DATAGRAMS + FAKE_KEPT && len + 8 < FAKE_DATAGRAM_BYTES);
	s->datagrams[i] = (struct datagram){.from = {.port = 4242, .ip = ip_addr_v4(FAKE_PEER)},
					    .start = malloc(FAKE_DATAGRAM_BYTES)};
	s->datagrams[i].payload = (struct view){s->datagrams[i].start, len + 8};
	memcpy(mc_udp_put(s->datagrams[i].start, id, 0, total), bytes, len);
	s->datagrams[i].start[len + 8] = 'x'; /* a byte beyond the datagram */
}

uint32_t
rig_datagrams_kept(const struct rig *r)
{
	return r->stack->datagram_count;
}

void
rig_datagram_text(struct rig *r, uint16_t id, const char *text)
{
	rig_datagram(r, id, 1, text, (uint32_t)strlen(text));
}

uint32_t
rig_datagrams_sent(const struct rig *r, const struct fake_sent **list)
{
	*list = r->stack->sent;
	return r->stack->sent_count;
}

void
rig_forget_datagrams(struct rig *r)
{
	r->stack->sent_count = 0;
}

void
rig_fill(struct rig *r)
{
	const struct counter *evicted = &store_counters(r->core)[STORE_EVICTED];
	static const uint8_t value[32];

	for (uint64_t key = 0; counter_read(evicted) < 1000; key++) {
		const struct view k = {(const uint8_t *)&key, sizeof key};
		struct fill f;

		check_eq(store_begin(r->core, &f, k, store_hash(r->core, k), 32, 0, 0), STORE_OK);
		store_fill(r->core, &f, value, 32);
		check_eq(store_finish(r->core, &f, STORE_SET, 0), STORE_OK);
		if (key % 64 == 0)
			rig_turn(r);
	}
}

uint64_t
rig_count(const struct rig *r, enum serve_counter which)
{
	return counter_read(&serve_counters(r->serve)[which]);
}

void
rig_stack_count(struct rig *r, uint32_t which, uint64_t n)
{
	check(which < STACK_COUNTER_COUNT);
	counter_add(&r->stack->counters[which], n);
}

/* Connections have no pipe here: they are plain. */
void
conn_pipe_free(struct stack *s, struct conn *pipe)
{
	(void)s, (void)pipe;
}

struct conn *
conn_pipe_open(struct stack *s, struct conn *wire)
{
	return NULL;
}
