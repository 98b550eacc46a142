/*
 * tcp_user.c - byte streams as the service sees them (stack.h).
 */
#include "tcp.h"

struct conn *
stack_pop_ready(struct stack *s)
{
	struct list *first = list_pop_front(&s->tcp->ready);

	return first == NULL ? NULL : container_of(first, struct conn, ready);
}

void
conn_again(struct stack *s, struct conn *c)
{
	conn_make_ready(s, c);
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

uint8_t
conn_local(const struct conn *c)
{
	return c->local;
}

struct view
conn_peek(const struct conn *c)
{
	const struct rx_seg *head = c->rx.head;

	return head == NULL ? (struct view){NULL, 0} : (struct view){head->data, head->len};
}

void
conn_advance(struct stack *s, struct conn *c, uint32_t n)
{
	if (n > 0)
		rx_read(s, c, n);
}

bool
conn_eof(const struct conn *c)
{
	return c->flags & CONN_EOF && c->rx.head == NULL;
}

/* A part of what is left, so that those who do not read leave room for those who do, however many
 * they are. */
static uint32_t
txq_bytes_max(const struct stack *s)
{
	const struct txq_pool *pool = &s->tcp->pool;
	const uint32_t aside = min_u32(s->cfg.conns_max, pool->chunks / 2);
	const uint32_t left = pool->chunks_left > aside ? pool->chunks_left - aside : 0;
	const uint64_t part = (uint64_t)left * CHUNK_BYTES / CONN_TXQ_PART;

	return part < CONN_TXQ_BYTES ? (uint32_t)part : CONN_TXQ_BYTES;
}

/* An empty one, as there is with one request at a time, never is. */
static inline bool
queue_is_long(const struct stack *s, const struct conn *c)
{
	return c->tx.bytes != 0 && c->tx.bytes > txq_bytes_max(s);
}

bool
conn_writable(struct stack *s, struct conn *c, uint32_t replies)
{
	struct txq_pool *pool = &s->tcp->pool;

	if (c->flags & CONN_CLOSE)
		return false;
	if (queue_is_long(s, c)) {
		c->flags |= CONN_WANT_ROOM;
		stack_count(s, TCP_WRITER_AHEAD);
		return false;
	}
	if (pool->chunks_left - pool->promised < replies) {
		c->flags |= CONN_WANT_ROOM;
		list_unlink(&c->where);
		list_push_back(&s->tcp->starved, &c->where);
		stack_count(s, TCP_WRITER_STARVED);
		return false;
	}
	pool->promised += replies;
	return true;
}

uint32_t
conn_promise(struct stack *s, struct conn *c, uint32_t replies)
{
	struct txq_pool *pool = &s->tcp->pool;

	if (unlikely(c->flags & CONN_CLOSE) || pool->chunks_left - pool->promised < replies ||
	    queue_is_long(s, c))
		return conn_writable(s, c, 1) ? 1 : 0;
	pool->promised += replies;
	return replies;
}

void
conn_waive(struct stack *s, uint32_t replies)
{
	struct txq_pool *pool = &s->tcp->pool;

	pool->promised -= min_u32(replies, pool->promised);
}

uint8_t *
conn_room(struct stack *s, struct conn *c, uint32_t bytes, uint32_t *room)
{
	return txq_room(&c->tx, &s->tcp->pool, bytes, room);
}

uint8_t *
conn_reserve(struct stack *s, struct conn *c, uint32_t bytes)
{
	return txq_reserve(&c->tx, &s->tcp->pool, bytes);
}

void
conn_commit(struct stack *s, struct conn *c, uint32_t bytes)
{
	/* Our FIN has its place in the stream: nothing goes after it. */
	if (c->flags & CONN_CLOSE)
		bytes = 0;
	txq_commit(&c->tx, &s->tcp->pool, bytes);
	if (bytes > 0)
		conn_make_out(s, c);
}

bool
conn_extern(struct stack *s, struct conn *c, const uint8_t *data, uint32_t len,
	    void (*release)(const void *arg), const void *arg)
{
	const struct piece bytes = {.data = data, .len = len, .release = release, .arg = arg};

	ensure(len > 0);
	if (c->flags & CONN_CLOSE || !txq_extern(&c->tx, &s->tcp->pool, bytes))
		return false;
	conn_make_out(s, c);
	return true;
}

/* RFC 9293 section 3.10.4. */
void
conn_close(struct stack *s, struct conn *c)
{
	if (c->flags & CONN_CLOSE)
		return;
	if (c->state == CONN_SYN_SENT || c->state == CONN_SYN_RCVD) {
		conn_reset(s, c); /* nobody was told that it is open */
		return;
	}
	ensure(c->state == CONN_ESTABLISHED || c->state == CONN_CLOSE_WAIT);
	c->flags = (c->flags | CONN_CLOSE) & ~CONN_WANT_ROOM;
	c->state = c->state == CONN_ESTABLISHED ? CONN_FIN_WAIT_1 : CONN_LAST_ACK;
	list_unlink(&c->ready);
	list_unlink(&c->where);
	rx_clear(s, c);
	conn_make_out(s, c);
}

void
conn_leave(struct stack *s, struct conn *c)
{
	conn_close(s, c);
	conn_gone(s, c);
}

/* RFC 9293 section 3.10.5. */
void
conn_abort(struct stack *s, struct conn *c)
{
	stack_count(s, TCP_ABORTED);
	conn_reset(s, c);
}

uint8_t *
stack_chunk_get(struct stack *s)
{
	return txq_chunk_get(&s->tcp->pool);
}

uint8_t *
stack_chunk_promised(struct stack *s)
{
	return txq_chunk_promised(&s->tcp->pool);
}

void
stack_chunk_put(struct stack *s, uint8_t *chunk)
{
	txq_chunk_put(&s->tcp->pool, chunk);
}
