/*
 * serve_read_buf.c - read buffers; chooses the session that yields its place to another.
 */
#include "serve_read_buf.h"

void
read_bufs_create(struct serve *sv, struct region *region)
{
	struct stack_usage usage;

	stack_usage_mt(sv->stack, &usage);
	list_init(&sv->read_bufs);
	budget_create(&sv->read_buf_places, region, usage.chunks / READ_BUFS_PART, 0, sv->cfg.core);
	budget_count_always(&sv->read_buf_places);
}

static bool
has_place(const struct serve *sv, const struct session *ss)
{
	return budget_has_joined(&sv->read_buf_places, &ss->read_buf_place);
}

void
read_buf_leave(struct serve *sv, struct session *ss)
{
	if (!has_place(sv, ss))
		return;
	budget_leave(&sv->read_buf_places, &ss->read_buf_place);
	list_unlink(&ss->read_buf_link);
}

static void
place_join(struct serve *sv, struct session *ss)
{
	struct ip_addr ip;
	uint16_t port;

	conn_peer(ss->conn, &ip, &port);
	budget_join(&sv->read_buf_places, &ss->read_buf_place, &ip);
	list_push_back(&sv->read_bufs, &ss->read_buf_link);
}

/* True if the buffer holds the beginning of a line or packet header whose rest has not arrived. */
static bool
line_is_partial(const struct session *ss)
{
	const uint8_t *bytes = ss->read_buf + ss->read_buf_at;
	const uint32_t len = ss->read_buf_len - ss->read_buf_at;

	if (ss->waits != 0 || ss->body != BODY_NONE || ss->sched != SCHED_READY || ss->closing)
		return false;
	if (ss->parser.protocol == MC_PROTOCOL_BINARY)
		return mc_binary_need(bytes, len) > len;
	return memchr(bytes, '\n', len) == NULL;
}

/* How strong a session's claim to its place is, the weakest first. */
enum claim {
	CLAIM_LATE, /* the peer has not sent what the session waits for */
	/* A value waits for the fill quota, and its peer for an open window. */
	CLAIM_QUEUED,
	CLAIM_FIRM, /* the service makes the session wait, or visited it in this turn */
};

static enum claim
claim_of(const struct serve *sv, const struct session *ss)
{
	if (ss->turn == sv->turn)
		return CLAIM_FIRM;
	if (line_is_partial(ss))
		return CLAIM_LATE;
	if (ss->quota.ticket == 0)
		return CLAIM_FIRM;
	return conn_window_is_open(ss->conn) && !conn_awaits_retransmission(ss->conn)
		       ? CLAIM_LATE
		       : CLAIM_QUEUED;
}

/* Ranks a session by its claim. Among equal claims, sessions whose source has more than its part
 * come first, and then the one that has had its place longest. */
static uint32_t
place_rank(void *arg, struct list *link)
{
	const struct serve *sv = arg;
	const struct session *ss = container_of(link, struct session, read_buf_link);
	const enum claim claim = claim_of(sv, ss);

	if (claim == CLAIM_FIRM)
		return BUDGET_KEEPS;
	return 2 * claim + !budget_source_is_over(&sv->read_buf_places, &ss->read_buf_place);
}

/* Takes the place of another session. One with a partial line loses its connection. A request that
 * waits for the fill quota is refused at its session's next visit; until then the session has a
 * buffer without a place. */
static bool
place_take_over(struct serve *sv)
{
	struct session *loser;
	struct list *link;

	if (sv->read_bufs_turn == sv->turn)
		return false;
	link = budget_loser(&sv->read_bufs, place_rank, sv);
	if (link == NULL) {
		sv->read_bufs_turn = sv->turn;
		return false;
	}
	loser = container_of(link, struct session, read_buf_link);
	serve_count(sv, CONN_SLOW_REQUEST);
	if (loser->waits == 0) {
		loser->end = SESSION_END_ERROR;
		conn_abort(sv->stack, loser->conn);
		return true;
	}
	read_buf_leave(sv, loser);
	loser->memory_wait_turns = MEMORY_WAIT_TURNS_MAX;
	conn_requeue(sv->stack, loser->conn);
	return true;
}

static bool
read_buf_alloc(struct serve *sv, struct session *ss)
{
	ss->read_buf = stack_chunk_get(sv->stack);
	ss->read_buf_at = ss->read_buf_len = 0;
	if (ss->read_buf == NULL)
		return false;
	sv->read_bufs_used++;
	conn_holds_chunk(sv->stack, ss->conn, true);
	return true;
}

enum read_buf_state
read_buf_take(struct serve *sv, struct session *ss)
{
	if (has_place(sv, ss))
		return READ_BUF_OK;
	if (sv->read_buf_places.holders >= sv->read_bufs_max && !place_take_over(sv))
		return ss->read_buf != NULL ? READ_BUF_OK : READ_BUF_NO_PLACE;
	if (ss->read_buf == NULL && !read_buf_alloc(sv, ss))
		return READ_BUF_NO_CHUNK;
	place_join(sv, ss);
	return READ_BUF_OK;
}

void
read_buf_take_credited(struct serve *sv, struct session *ss)
{
	ss->read_buf = stack_chunk_get_credited(sv->stack);
	sv->read_bufs_used++;
	conn_holds_chunk(sv->stack, ss->conn, true);
}

void
read_buf_compact(struct serve *sv, struct session *ss)
{
	if (ss->read_buf_at > 0 && has_place(sv, ss)) {
		list_unlink(&ss->read_buf_link);
		list_push_back(&sv->read_bufs, &ss->read_buf_link);
	}
	ss->read_buf_len -= ss->read_buf_at;
	memmove(ss->read_buf, ss->read_buf + ss->read_buf_at, ss->read_buf_len);
	ss->read_buf_at = 0;
}

void
read_buf_free(struct serve *sv, struct session *ss)
{
	read_buf_leave(sv, ss);
	stack_chunk_put(sv->stack, ss->read_buf);
	conn_holds_chunk(sv->stack, ss->conn, false);
	sv->read_bufs_used--;
	ss->read_buf = NULL;
	ss->read_buf_at = ss->read_buf_len = 0;
}
