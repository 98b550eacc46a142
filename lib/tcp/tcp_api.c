/*
 * tcp_api.c - byte streams for the service (conn.h).
 */
#include "tcp.h"

struct conn *
stack_pop_ready(struct stack *s)
{
	struct list *first = list_pop_front(&stack_tcp(s)->ready);

	return first == NULL ? NULL : container_of(first, struct conn, ready);
}

void
conn_requeue(struct stack *s, struct conn *c)
{
	conn_make_ready(stack_tcp(s), c);
}

uint32_t
conn_slot(const struct conn *c)
{
	return c->slot;
}

void
conn_peer(const struct conn *c, struct ip_addr *ip, uint16_t *port)
{
	*ip = c->peer_ip;
	*port = tcp_ports_src(c->ports);
}

uint16_t
conn_local(const struct conn *c)
{
	return c->local;
}

struct ip_addr
conn_local_ip(const struct stack *s, const struct conn *c)
{
	return stack_tcp(s)->net.ip[c->local];
}

struct ip_addr
stack_local_ip(const struct stack *s, uint16_t local)
{
	return local_addrs_ip(stack_tcp(s)->net.addrs, local);
}

struct view
conn_peek(const struct conn *c)
{
	const struct rx_seg *head = c->rx.head;

	return head == NULL ? (struct view){NULL, 0} : (struct view){head->data, head->len};
}

struct view
conn_peek_since(const struct conn *c, uint64_t *since_ns)
{
	const struct rx_seg *head = c->rx.head;

	if (head == NULL) {
		*since_ns = 0;
		return (struct view){NULL, 0};
	}
	*since_ns = likely(head->last_at == 0) ? head->since_ns : rx_later_since_ns(head);
	return (struct view){head->data, head->len};
}

uint32_t
conn_peek_copy(const struct conn *c, uint32_t from, uint8_t *to, uint32_t len)
{
	uint32_t done = 0;

	for (const struct rx_seg *seg = c->rx.head; seg != NULL && done < len; seg = seg->next) {
		const uint32_t skip = from < seg->len ? from : seg->len, left = len - done,
			       n = seg->len - skip < left ? seg->len - skip : left;

		memcpy(to + done, seg->data + skip, n);
		from -= skip;
		done += n;
	}
	return done;
}

void
conn_advance(struct stack *s, struct conn *c, uint32_t n)
{
	if (n > 0)
		rx_read(stack_tcp(s), c, n);
}

uint32_t
conn_unread(const struct conn *c)
{
	return c->rx.bytes;
}

void
conn_expect(struct conn *c, uint64_t bytes)
{
	if (bytes > 0 && !c->expected)
		c->uploads = bytes > RX_WINDOW_BYTES;
	c->expected = bytes > 0;
	c->expects_more = bytes > RX_WINDOW_BODY;
}

void
conn_body_waits(struct conn *c, uint64_t bytes)
{
	c->body_waits = bytes > 0;
	if (bytes > 0)
		c->uploads = bytes > RX_WINDOW_BYTES;
}

bool
conn_awaits_retransmission(const struct conn *c)
{
	return c->rx_dropped;
}

bool
conn_window_is_open(const struct conn *c)
{
	return c->rcv_edge - c->rcv_nxt >= c->rcv_mss;
}

void
conn_acknowledge(struct stack *s, struct conn *c)
{
	if (!(c->flags & CONN_ACK_DELAYED))
		return;
	c->flags |= CONN_ACK_NOW;
	conn_schedule_output(stack_tcp(s), c);
}

uint32_t
conn_rtt_us(const struct conn *c)
{
	return c->srtt_us;
}

uint32_t
conn_unacknowledged(const struct conn *c)
{
	return c->tx.bytes;
}

uint32_t
conn_sendable(struct stack *s, struct conn *c)
{
	const struct peer_queue q = peer_queue_of(stack_tcp(s), c);
	const uint32_t most = conn_sendable_max(q.c);

	return q.bytes < most ? most - q.bytes : 0;
}

bool
conn_peer_is_full(struct stack *s, struct conn *c)
{
	const struct conn *to = peer_queue_of(stack_tcp(s), c).c;

	return to->tx.bytes > 0 && to->snd_nxt == to->snd_una &&
	       (to->snd_wnd < min_u32(to->mss, to->tx.bytes) || to->tx.bytes >= to->snd_wnd);
}

bool
conn_has_ended(const struct conn *c)
{
	return (c->flags & CONN_EOF) != 0;
}

bool
conn_eof(const struct conn *c)
{
	return c->flags & CONN_EOF && c->rx.head == NULL;
}

uint16_t
conn_local_port(const struct conn *c)
{
	return tcp_ports_dst(c->ports);
}

/* True if a peer that holds `held` units may take n more. While the pool is short that is its
 * share. A peer whose retransmission timer has not expired since its last ACK may also take part of
 * what others leave. */
static __attribute__((noinline)) bool
queue_may_take(struct budget *b, struct budget_place *p, const struct conn *c, uint32_t held,
	       uint32_t n)
{
	return budget_may_take(b, p, &c->peer_ip, held, n) ||
	       (c->tries == 0 && budget_may_borrow(b, held, n));
}

/* True if the peer's queue fills its window, or its share of the chunks: beyond CONN_SENDQ_LEAST,
 * or CHUNKS_LEAST while chunks are short. */
static bool
peer_has_enough(struct tcp *t, const struct peer_queue *q, uint32_t bytes)
{
	if (bytes > q->c->snd_wnd || bytes > CONN_SENDQ_BYTES)
		return true;
	return bytes > t->pool.queue_least && q->chunks >= CHUNKS_LEAST &&
	       !queue_may_take(&t->pool.chunks, &t->places[q->c->slot].chunks, q->c, q->chunks, 1);
}

/* True for a queue of at least pool.queue_least bytes that is full. A wire sends what its pipe has,
 * so only its own bytes count. For a pipe the bytes of both count, and a pipe is not written while
 * its wire is full. */
static __attribute__((noinline)) bool
long_sendq_is_full(struct tcp *t, struct conn *c)
{
	const struct peer_queue q = peer_queue_of(t, c);
	const uint32_t of_wire = q.c->tx.bytes;

	if (of_wire >= t->pool.queue_least && peer_has_enough(t, &q, of_wire))
		return true;
	return q.c != c && peer_has_enough(t, &q, q.bytes);
}

/* True if the queue is full: beyond a minimum it holds no more than the peer's window takes, since
 * data that waits for the window need not wait in chunks. */
static inline bool
sendq_is_full(struct tcp *t, struct conn *c)
{
	return unlikely(c->tx.bytes >= t->pool.queue_least) && long_sendq_is_full(t, c);
}

/* Refuses the writer of a connection, or of a pipe. A wire with bytes in flight is refused too:
 * their ACK makes it ready, and then its pipe (conn_pipe_take). */
static void
refuse(struct conn *c, struct conn *wire)
{
	c->flags |= CONN_WANT_WRITE;
	if (wire->tx.bytes > 0)
		wire->flags |= CONN_WANT_WRITE;
}

/* Blocks a connection that was refused chunks or pieces; it becomes ready when there are some. */
static NOT_FLAT void
conn_block(struct tcp *t, struct conn *c)
{
	c->flags |= CONN_WANT_WRITE;
	list_unlink(&c->state_list);
	list_push_back(&t->blocked, &c->state_list);
	tcp_count(t, TCP_WRITE_BLOCKED_MEMORY);
}

bool
conn_writable(struct stack *s, struct conn *c, uint32_t replies)
{
	struct tcp *t = stack_tcp(s);
	struct sendq_pool *pool = &t->pool;

	if (c->flags & CONN_CLOSE)
		return false;
	if (sendq_is_full(t, c)) {
		refuse(c, peer_queue_of(t, c).c);
		tcp_count(t, TCP_WRITE_BLOCKED_SENDQ);
		return false;
	}
	if (pool->chunks.left - pool->credits_out < replies) {
		conn_block(t, c);
		return false;
	}
	pool->credits_out += replies;
	return true;
}

bool
conn_is_full(struct stack *s, struct conn *c)
{
	struct tcp *t = stack_tcp(s);

	if (likely(!sendq_is_full(t, c)) || c->flags & CONN_CLOSE)
		return false;
	refuse(c, peer_queue_of(t, c).c);
	tcp_count(t, TCP_WRITE_BLOCKED_SENDQ);
	return true;
}

bool
conn_is_refused(const struct conn *c)
{
	return (c->flags & CONN_WANT_WRITE) != 0;
}

/* Returns how many of n chunks, at least one, the peer may take beside those that it holds. */
static NOT_FLAT uint32_t
chunks_of_share(struct tcp *t, struct conn *c, uint32_t n)
{
	const struct peer_queue q = peer_queue_of(t, c);
	struct budget_place *place = &t->places[q.c->slot].chunks;

	while (n > 1 && !queue_may_take(&t->pool.chunks, place, q.c, q.chunks, n))
		n--;
	return n;
}

uint32_t
conn_credit_take(struct stack *s, struct conn *c, uint32_t replies)
{
	struct tcp *t = stack_tcp(s);
	struct sendq_pool *pool = &t->pool;

	if (unlikely(c->flags & CONN_CLOSE) || pool->chunks.left - pool->credits_out < replies ||
	    sendq_is_full(t, c))
		return conn_writable(s, c, 1) ? 1 : 0;
	if (unlikely(pool->chunks.is_short))
		replies = chunks_of_share(t, c, replies);
	pool->credits_out += replies;
	return replies;
}

bool
conn_piece_fits(struct stack *s, struct conn *c)
{
	struct tcp *t = stack_tcp(s);
	const struct peer_queue q = peer_queue_of(t, c);

	if (c->flags & CONN_CLOSE)
		return false;
	if (q.bytes > CONN_SENDQ_LEAST && q.bytes > conn_sendable_max(q.c)) {
		refuse(c, q.c);
		tcp_count(t, TCP_WRITE_BLOCKED_SENDQ);
		return false;
	}
	if (queue_may_take(&t->pool.pieces, &t->places[q.c->slot].pieces, q.c, q.pieces, 1))
		return true;
	if (q.pieces == 0) {
		conn_block(t, c);
		return false;
	}
	refuse(c, q.c);
	tcp_count(t, TCP_WRITE_BLOCKED_MEMORY);
	return false;
}

void
conn_holds_chunk(struct stack *s, const struct conn *c, bool holds)
{
	stack_tcp(s)->places[c->slot].kept = holds;
}

void
conn_holds_behind(struct stack *s, const struct conn *c, uint32_t bytes)
{
	stack_tcp(s)->places[c->slot].behind = bytes;
}

bool
conn_piece_writable(struct stack *s, struct conn *c)
{
	struct tcp *t = stack_tcp(s);

	if (!conn_piece_fits(s, c))
		return false;
	if (t->pool.chunks.left - t->pool.credits_out == 0) {
		conn_block(t, c);
		return false;
	}
	t->pool.credits_out++;
	return true;
}

uint32_t
conn_credit_keep(struct stack *s, uint32_t chunks)
{
	struct sendq_pool *pool = &stack_tcp(s)->pool;
	const uint32_t kept = min_u32(chunks, pool->chunks.left - pool->credits_out);

	pool->credits_out += kept;
	return kept;
}

void
conn_credit_return(struct stack *s, uint32_t replies)
{
	struct sendq_pool *pool = &stack_tcp(s)->pool;

	pool->credits_out -= min_u32(replies, pool->credits_out);
}

uint8_t *
conn_reserve_room(struct stack *s, struct conn *c, uint32_t bytes, uint32_t *room)
{
	return sendq_reserve_room(&c->tx, &stack_tcp(s)->pool, bytes, room);
}

uint8_t *
conn_reserve(struct stack *s, struct conn *c, uint32_t bytes)
{
	return sendq_reserve(&c->tx, &stack_tcp(s)->pool, bytes);
}

void
conn_commit(struct stack *s, struct conn *c, uint32_t bytes)
{
	struct tcp *t = stack_tcp(s);

	/* Nothing can be queued after our FIN. */
	if (c->flags & CONN_CLOSE)
		bytes = 0;
	sendq_commit(&c->tx, &t->pool, bytes);
	if (bytes > 0)
		conn_schedule_output(t, c);
}

void
conn_commit_room(struct stack *s, struct conn *c, uint32_t bytes, uint32_t room)
{
	ensure(bytes <= room);
	if (unlikely(c->flags & CONN_CLOSE || bytes == 0)) {
		sendq_commit(&c->tx, &stack_tcp(s)->pool, 0);
		return;
	}
	sendq_commit_known(&c->tx, bytes);
	conn_schedule_output(stack_tcp(s), c);
}

/* Queues the bytes behind others, or without a credit for an empty queue. */
static NOT_FLAT void
write_behind(struct stack *s, struct conn *c, struct view bytes)
{
	uint8_t *at = conn_reserve(s, c, bytes.len);

	ensure(at != NULL);
	memcpy(at, bytes.data, bytes.len);
	conn_commit(s, c, bytes.len);
}

void
conn_write(struct stack *s, struct conn *c, struct view bytes)
{
	struct tcp *t = stack_tcp(s);

	if (unlikely(c->flags & CONN_CLOSE) || !sendq_write_first(&c->tx, &t->pool, bytes))
		write_behind(s, c, bytes);
	else
		conn_schedule_output(t, c);
}

bool
conn_write_external(struct stack *s, struct conn *c, const uint8_t *data, uint32_t len,
		    void (*release)(const void *arg), const void *arg)
{
	struct tcp *t = stack_tcp(s);
	const struct sendq_buf bytes = {.data = data, .len = len, .release = release, .arg = arg};

	ensure(len > 0);
	if (c->flags & CONN_CLOSE || !sendq_add_external(&c->tx, &t->pool, bytes))
		return false;
	conn_schedule_output(t, c);
	return true;
}

void
conn_external_lendable(struct conn *c)
{
	ensure(c->tx.tail != NULL && !c->tx.tail->inline_bytes);
	c->tx.tail->lendable = true;
}

/* RFC 9293 section 3.10.4. */
void
conn_close(struct stack *s, struct conn *c)
{
	struct tcp *t = stack_tcp(s);

	if (c->flags & CONN_CLOSE)
		return;
	if (c->state == CONN_SYN_SENT || c->state == CONN_SYN_RCVD) {
		conn_reset(t, c); /* opened() was not called yet */
		return;
	}
	ensure(c->state == CONN_ESTABLISHED || c->state == CONN_CLOSE_WAIT);
	c->flags = (c->flags | CONN_CLOSE) & ~CONN_WANT_WRITE;
	conn_state_set(t, c, c->state == CONN_ESTABLISHED ? CONN_FIN_WAIT_1 : CONN_LAST_ACK);
	list_unlink(&c->ready);
	list_unlink(&c->state_list);
	list_push_back(&t->leaving, &c->state_list);
	rx_clear(t, c);
	conn_schedule_output(t, c);
}

void
conn_close_detach(struct stack *s, struct conn *c)
{
	conn_close(s, c);
	conn_detach(stack_tcp(s), c);
}

/* RFC 9293 section 3.10.5. */
void
conn_abort(struct stack *s, struct conn *c)
{
	struct tcp *t = stack_tcp(s);

	tcp_count(t, TCP_ABORTED);
	conn_reset(t, c);
}

uint8_t *
stack_chunk_get(struct stack *s)
{
	return sendq_chunk_get(&stack_tcp(s)->pool);
}

uint8_t *
stack_chunk_get_credited(struct stack *s)
{
	return sendq_chunk_get_credited(&stack_tcp(s)->pool);
}

void
stack_chunk_put(struct stack *s, uint8_t *chunk)
{
	sendq_chunk_put(&stack_tcp(s)->pool, chunk);
}

void
stack_chunk_credit(struct stack *s, uint8_t *chunk)
{
	sendq_chunk_credit(&stack_tcp(s)->pool, chunk);
}
