/*
 * admin_slow.c - stats slow: the requests of all cores that were resident longest, with the reason
 * (observe/slow_log.h). The program's control thread joins the cores' lists once a second; cores
 * only read its result.
 */
#include "admin_internal.h"
#include "stat_names.h"

#include "base/time_units.h"

#include <ctype.h>
#include <stddef.h>

#define LIST_WORDS (sizeof(struct slow_list) / 8)
/* Most bytes of a row without the key. */
#define SLOW_ROW_MAX (MC_BIN_HEAD_BYTES + 5u + 16u + 1u + 64u + 2u)
#define WORK_READ    500u /* estimated ns to read an entry */

struct slow {
	_Alignas(CACHE_LINE_BYTES) _Atomic uint64_t version;
	_Atomic uint64_t words[LIST_WORDS];

	/* Used only by the thread that calls admin_slow_tick_mt(). */
	struct slow_list list;
};

size_t
slow_bytes(void)
{
	return sizeof(struct slow);
}

void
slow_create(struct region *region, struct serve_shared *shared)
{
	shared->admin->slow = region_take(region, sizeof *shared->admin->slow, CACHE_LINE_BYTES);
}

void
admin_slow_tick_mt(struct serve_shared *shared, uint64_t now_ns)
{
	struct slow *s = shared->admin->slow;

	slow_log_list(shared->slow, shared->cores, now_ns, &s->list);
	seq_words_write(&s->version, s->words, &s->list, sizeof s->list);
}

/* ---- rows ---- */

#define REASON_NAME(symbol, name) [symbol] = name,
static const char *const reasons[SLOW_REASON_COUNT] = {SLOW_REASONS(REASON_NAME)};
#define STAGE_NAME(stage) [STAGE_##stage] = #stage,
static const char *const stages[STAGE_COUNT] = {CORE_STAGES(STAGE_NAME)};

#define SLOW_ROWS(X)                                                                               \
	X(THOUSANDTHS, "took_us", r->ns)                                                           \
	X(TEXT, "request", r->row < latency_row_count ? latency_row_names[r->row] : "")            \
	X(TEXT, "reason", r->reason < SLOW_REASON_COUNT ? reasons[r->reason] : "")                 \
	X(STAGE, "stage", r->stage)                                                                \
	X(NUMBER, "requests", r->count)                                                            \
	X(NUMBER, "ago_s", r->end_ns / NS_PER_S)                                                   \
	X(PEER, "peer", r)                                                                         \
	X(KEY, "key", r)

#define ROW_NAME(kind, name, value) name,
const char *const slow_names[] = {SLOW_ROWS(ROW_NAME)};
const uint32_t slow_name_count = sizeof slow_names / sizeof slow_names[0];
#define SLOW_ROW_COUNT (sizeof slow_names / sizeof slow_names[0])

static void
put_word(struct out_buffer *buffer, const struct stream *st, const char *name, const char *word)
{
	row_text(buffer, st, name, (struct view){(const uint8_t *)word, (uint32_t)strlen(word)});
}

/* Writes the stage in small letters, as --live and the journal do; "-": the turn was not timed. */
static void
put_stage(struct out_buffer *buffer, const struct stream *st, const char *name, uint8_t stage)
{
	char word[24] = "-";

	for (uint32_t i = 0; stage < STAGE_COUNT && stages[stage][i] != '\0'; i++) {
		word[i] = (char)tolower(stages[stage][i]);
		word[i + 1] = '\0';
	}
	put_word(buffer, st, name, word);
}

/* Writes the peer, such as "10.99.0.2:4711" or "[2001:db8::1]:4711"; "-": the entry is a turn's. */
static void
put_peer(struct out_buffer *buffer, const struct stream *st, const char *name,
	 const struct slow_request *r)
{
	uint8_t text[sizeof "[]:65535" + IP_ADDR_TEXT_MAX];
	struct out_buffer word = {text, text + sizeof text};
	const bool v4 = ip_addr_is_v4(&r->ip);

	if (r->port == 0) {
		put_word(buffer, st, name, "-");
		return;
	}
	if (!v4)
		out_put_text(&word, "[");
	out_put_ip(&word, &r->ip);
	if (!v4)
		out_put_text(&word, "]");
	out_put_text(&word, ":");
	out_put_number(&word, r->port);
	row_text(buffer, st, name, (struct view){text, (uint32_t)(word.at - text)});
}

#define PUT_KEY(name, r)                                                                           \
	row_key(buffer, st, name,                                                                  \
		(struct view){r->key_len != 0 ? r->key : (const uint8_t *)"-",                     \
			      r->key_len != 0 ? r->key_len : 1});
#define PUT_NUMBER(name, value)      row_number(buffer, st, name, value);
#define PUT_THOUSANDTHS(name, value) row_thousandths(buffer, st, name, value);
#define PUT_TEXT(name, value)        put_word(buffer, st, name, value);
#define PUT_STAGE(name, value)       put_stage(buffer, st, name, value);
#define PUT_PEER(name, value)        put_peer(buffer, st, name, value);
#define PUT(kind, field, value)                                                                    \
	memcpy(end, field, sizeof(field));                                                         \
	PUT_##kind(name, value)

static void
slow_rows(const struct stream *st, struct out_buffer *buffer, const struct slow_request *r)
{
	char name[ROW_NAME_MAX + 1];
	uint8_t *end = mc_put_u64((uint8_t *)name, st->row + 1);

	*end++ = ':';
	SLOW_ROWS(PUT)
}

/* Writes the rows of one request in each step. */
static bool
slow_step(struct serve *sv, struct stream *st, struct out_buffer *buffer)
{
	const struct slow *s = sv->shared->admin->slow;
	struct slow_request r;

	st->work += WORK_READ;
	if (st->row == SLOW_LISTED)
		return false;
	if (seq_words_read(&s->version, s->words,
			   (offsetof(struct slow_list, request) + st->row * sizeof r) / 8, &r,
			   sizeof r) &&
	    r.ns != 0 && r.key_len <= MC_KEY_MAX)
		slow_rows(st, buffer, &r);
	st->row++;
	return true;
}

#define SLOW_STEP_MAX (ROW_KEY_BYTES + ROW_MAX + (SLOW_ROW_COUNT - 1) * SLOW_ROW_MAX)
static_assert(SLOW_STEP_MAX <= CONN_RESERVE_MAX, "a request's rows fit");
const struct stream_kind slow_stream = {slow_step, SLOW_STEP_MAX, MC_END};
