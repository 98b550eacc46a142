/*
 * reply_reader.c - replies compared with the stored values.
 *
 * Two paths. The fast path compares the whole reply of one short value with words made from its
 * key. Every other reply (in pieces, long, several keys, wrong) goes through the state machine.
 */
#include "reply_reader.h"

#include "base/check.h"

#define DIGITS_MAX 9u
/* Words as they are loaded: the least byte first (item_text.h). */
#define LINE_END  0x0a0du     /* "\r\n" */
#define END_WORD  0x0d444e45u /* "END\r" */
#define END_BYTES 5u

const struct counter_name load_counter_names[LOAD_COUNTER_COUNT] = {LOAD_COUNTERS(COUNTER_NAME)};

/* The meaning of one line. */
enum line_means {
	LINE_VALUE, /* a value follows */
	LINE_NEXT,  /* one of several answers; more follow */
	LINE_LAST,
	LINE_MALFORMED,
};

static inline bool
line_is(struct view line, const char *words, uint32_t len)
{
	return line.len == len && memcmp(line.data, words, len) == 0;
}
#define LINE_IS(line, words) line_is(line, words, sizeof(words) - 1)

static inline bool
line_begins(struct view line, const char *words, uint32_t len)
{
	return line.len >= len && memcmp(line.data, words, len) == 0;
}
#define LINE_BEGINS(line, words) line_begins(line, words, sizeof(words) - 1)

/* Reads a decimal number at *at; false if there is none, or it is too long. */
static inline bool
parse_number(struct view line, uint32_t *at, uint32_t *n)
{
	const uint32_t from = *at;

	for (*n = 0; *at < line.len && line.data[*at] >= '0' && line.data[*at] <= '9'; ++*at)
		*n = *n * 10 + line.data[*at] - '0';
	return *at != from && *at - from <= DIGITS_MAX;
}

static inline bool
parse_space(struct view line, uint32_t *at)
{
	return *at < line.len && line.data[(*at)++] == ' ';
}

/* Returns the key at line[at..] among those not seen yet; req->key_count
 * if it is none of them. */
static uint32_t
match_key(const struct reply_reader *r, const struct workload *w, const struct request *req,
	  struct view line, uint32_t at, uint32_t *end)
{
	for (uint32_t i = r->next; i < req->key_count; i++) {
		const uint32_t len = workload_key_len(w, req->keys[i]);

		*end = at + len;
		if (at + len <= line.len && (at + len == line.len || line.data[at + len] == ' ') &&
		    item_key_is(line.data + at, req->keys[i], len))
			return i;
	}
	*end = at;
	while (*end < line.len && line.data[*end] != ' ')
		++*end;
	return req->key_count;
}

static void
count_wrong(struct reply_reader *r, const struct reply_sink *sink)
{
	if (r->wrong || r->skip)
		return;
	r->wrong = true;
	counter_add(&sink->tally[LOAD_WRONG_VALUE], 1);
	if (sink->mismatch->seen)
		return;
	*sink->mismatch = (struct reply_mismatch){
		.seen = true,
		.key = r->value.key,
		.len = r->value.len,
		.before = r->value.pos,
	};
}

/* Expects a value of len bytes, of keys[i] or of an unknown key. */
static enum line_means
expect_value(struct reply_reader *r, const struct workload *w, const struct request *req,
	     const struct reply_sink *sink, const uint32_t which[3])
{
	const uint32_t i = which[0], flags = which[1], len = which[2];

	r->state = REPLY_VALUE;
	r->left = len;
	r->wrong = false;
	r->skip = i == req->key_count;
	r->end_len = 0;
	if (unlikely(r->skip)) {
		counter_add(&sink->tally[LOAD_WRONG_KEY], 1);
		return LINE_VALUE;
	}
	r->next = i + 1;
	r->found++;
	item_value_expect(&r->value, req->keys[i], len);
	if (unlikely(flags != 0 || len != workload_value_len(w, req->keys[i])))
		count_wrong(r, sink);
	return LINE_VALUE;
}

/* Reads "VALUE key flags bytes". */
static enum line_means
read_text_value(struct reply_reader *r, const struct workload *w, const struct request *req,
		const struct reply_sink *sink, struct view line)
{
	uint32_t at, flags, len;
	const uint32_t i = match_key(r, w, req, line, 6, &at);

	if (!parse_space(line, &at) || !parse_number(line, &at, &flags) ||
	    !parse_space(line, &at) || !parse_number(line, &at, &len) || at != line.len)
		return LINE_MALFORMED;
	return expect_value(r, w, req, sink, (const uint32_t[]){i, flags, len});
}

/* Reads "VA bytes kkey". */
static enum line_means
read_meta_value(struct reply_reader *r, const struct workload *w, const struct request *req,
		const struct reply_sink *sink, struct view line)
{
	uint32_t at = 3, len, i;

	if (!parse_number(line, &at, &len) || at + 2 > line.len || line.data[at] != ' ' ||
	    line.data[at + 1] != 'k')
		return LINE_MALFORMED;
	i = match_key(r, w, req, line, at + 2, &at);
	if (at != line.len)
		return LINE_MALFORMED;
	return expect_value(r, w, req, sink, (const uint32_t[]){i, 0, len});
}

static bool
is_error_reply(struct view line)
{
	return LINE_IS(line, "ERROR") || LINE_BEGINS(line, "SERVER_ERROR") ||
	       LINE_BEGINS(line, "CLIENT_ERROR") || LINE_BEGINS(line, "ERROR ");
}

static void
end_of_get(const struct reply_reader *r, const struct request *req, struct counter *tally)
{
	counter_add(&tally[LOAD_KEYS_ASKED], req->key_count);
	counter_add(&tally[LOAD_HITS], r->found);
	if (r->found < req->key_count)
		counter_add(&tally[LOAD_MISSES], req->key_count - r->found);
}

/* Ends the answer of a key: a meta get has one for each key. */
static enum line_means
after_meta_key(const struct reply_reader *r, const struct request *req, struct counter *tally)
{
	if (r->next < req->key_count)
		return LINE_NEXT;
	end_of_get(r, req, tally);
	return LINE_LAST;
}

static enum line_means
read_get_line(struct reply_reader *r, const struct workload *w, const struct request *req,
	      const struct reply_sink *sink, struct view line)
{
	if (w->protocol == LOAD_TEXT) {
		if (likely(LINE_BEGINS(line, "VALUE ")))
			return read_text_value(r, w, req, sink, line);
		if (!LINE_IS(line, "END"))
			return LINE_MALFORMED;
		end_of_get(r, req, sink->tally);
		return LINE_LAST;
	}
	if (likely(LINE_BEGINS(line, "VA ")))
		return read_meta_value(r, w, req, sink, line);
	/* memcached 1.6.45 repeats the key here, too; older ones do not. */
	if (!LINE_IS(line, "EN") && !LINE_BEGINS(line, "EN k"))
		return LINE_MALFORMED;
	r->next++;
	return after_meta_key(r, req, sink->tally);
}

/* Counts a line that is one of these two. */
static enum line_means
one_of(struct view line, const char *const words[2], const enum load_counter what[2],
       struct counter *tally)
{
	for (uint32_t i = 0; i < 2; i++) {
		if (!line_is(line, words[i], (uint32_t)strlen(words[i])))
			continue;
		counter_add(&tally[what[i]], 1);
		return LINE_LAST;
	}
	return LINE_MALFORMED;
}

static enum line_means
read_line(struct reply_reader *r, const struct workload *w, const struct request *req,
	  const struct reply_sink *sink, struct view line)
{
	static const char *const stored[2][2] = {{"STORED", "NOT_STORED"}, {"HD", "NS"}};
	static const char *const deleted[2][2] = {{"DELETED", "NOT_FOUND"}, {"HD", "NF"}};
	static const enum load_counter set_counts[] = {LOAD_STORED, LOAD_REFUSED};
	static const enum load_counter delete_counts[] = {LOAD_DELETED, LOAD_NOT_FOUND};
	enum line_means means;

	switch (req->op) {
	case LOAD_SET:
		means = one_of(line, stored[w->protocol], set_counts, sink->tally);
		break;
	case LOAD_DELETE:
		means = one_of(line, deleted[w->protocol], delete_counts, sink->tally);
		break;
	default:
		means = read_get_line(r, w, req, sink, line);
		break;
	}
	if (likely(means != LINE_MALFORMED))
		return means;
	if (!is_error_reply(line))
		return LINE_MALFORMED;
	counter_add(&sink->tally[LOAD_REFUSED], 1);
	return LINE_LAST;
}

/* Returns the next whole line of in, from *used on, without its end. False if it is cut; its part
 * is kept. *ok is false if it is longer than any reply's. */
static bool
next_line(struct reply_reader *r, struct view in, uint32_t *used, struct view *line, bool *ok)
{
	const uint8_t *from = in.data + *used;
	const uint32_t left = in.len - *used;
	const uint8_t *end = left != 0 ? memchr(from, '\n', left) : NULL;
	const uint32_t len = end != NULL ? (uint32_t)(end - from) + 1 : left;

	*used += len;
	*ok = r->line_len + len <= REPLY_LINE_MAX;
	if (!*ok)
		return false;
	*line = (struct view){from, len};
	if (unlikely(r->line_len != 0 || end == NULL)) {
		memcpy(r->line + r->line_len, from, len);
		r->line_len += len;
		*line = (struct view){r->line, r->line_len};
	}
	if (end == NULL)
		return false;
	r->line_len = 0;
	*ok = line->len >= 2 && line->data[line->len - 2] == '\r';
	line->len -= *ok ? 2 : 1;
	return *ok;
}

static void
read_value(struct reply_reader *r, const struct reply_sink *sink, struct view in, uint32_t *used)
{
	const uint32_t have = in.len - *used;
	const uint32_t n = have < r->left ? have : r->left;

	if (likely(!r->skip) && unlikely(!item_value_is(&r->value, in.data + *used, n)))
		count_wrong(r, sink);
	*used += n;
	r->left -= n;
	if (r->left == 0)
		r->state = REPLY_VALUE_END;
}

/* Reads the line end after the value. False if it is another byte. */
static bool
read_value_end(struct reply_reader *r, struct view in, uint32_t *used)
{
	for (; r->end_len < 2 && *used < in.len; r->end_len++, ++*used)
		if (in.data[*used] != (r->end_len == 0 ? '\r' : '\n'))
			return false;
	if (r->end_len == 2)
		r->state = REPLY_LINE;
	return true;
}

/* Compares like memcmp() == 0, for 1 to 8 bytes where room bytes may be
 * read at `at`, 8 at words. */
static inline bool
short_equal(const uint8_t *at, uint32_t room, const uint8_t *words, uint32_t len)
{
	if (unlikely(len > 8 || room < 8))
		return memcmp(at, words, len) == 0;
	return (load_u64(at) ^ load_u64(words)) << (64 - 8 * len) == 0;
}

/*
 * Compares with the usual result of a get: the next key's value, as stored, in one piece. Returns
 * its bytes, or 0 for anything else, which the slow path reads.
 */
static uint32_t
expected_value(const struct workload *w, uint32_t key, const uint8_t *at, uint32_t len)
{
	const uint32_t key_len = workload_key_len(w, key), value_len = workload_value_len(w, key);
	const struct value_line *line = &w->line;
	struct value_line other;
	struct item_value v;
	uint32_t all;

	if (value_len != w->value_size.least) {
		workload_value_line(w, value_len, &other);
		line = &other;
	}
	all = line->before_len + key_len + line->after_len + value_len + 2;
	if (len < all || !short_equal(at, len, line->before, line->before_len))
		return 0;
	at += line->before_len;
	if (!item_key_is(at, key, key_len) ||
	    !short_equal(at + key_len, line->after_len + value_len + 2, line->after,
			 line->after_len))
		return 0;
	at += key_len + line->after_len;
	item_value_expect(&v, key, value_len);
	return item_value_is(&v, at, value_len) && memcmp(at + value_len, "\r\n", 2) == 0 ? all : 0;
}

/* Compares as expected_value() on the fast path, with the same result: keys and values have one
 * length each, and one branch follows all comparisons. */
static inline uint32_t
match_value_fast(const struct workload *w, uint32_t key, const uint8_t *at, uint32_t len)
{
	const struct fast_value *p = &w->fast;
	uint64_t wrong;

	if (unlikely(len < p->all))
		return 0;
	wrong = (load_u64(at) ^ p->before) & p->before_mask;
	at += p->before_len;
	wrong |= item_key_differs(at, key, p->key_len);
	at += p->key_len;
	wrong |= (load_u64(at) ^ p->after) & p->after_mask;
	at += p->after_len;
	wrong |= item_value_differs(at, key, p->value_len);
	wrong |= load_u16(at + p->value_len) ^ LINE_END;
	return wrong == 0 ? p->all : 0;
}

/* Reads values as expected from *used on; true if the reply is done. */
static bool
read_expected(struct reply_reader *r, const struct workload *w, const struct request *req,
	      const struct reply_sink *sink, struct view in, uint32_t *used)
{
	uint32_t n;

	while (r->next < req->key_count) {
		const uint8_t *at = in.data + *used;
		const uint32_t key = req->keys[r->next], left = in.len - *used;

		n = likely(w->fast.on) ? match_value_fast(w, key, at, left)
				       : expected_value(w, key, at, left);
		if (unlikely(n == 0))
			break;
		*used += n;
		r->next++;
		r->found++;
	}
	if (r->next != req->key_count)
		return false;
	if (w->protocol == LOAD_TEXT) {
		const uint8_t *at = in.data + *used;

		if (in.len - *used < 5 || load_u32(at) != END_WORD || at[4] != '\n')
			return false;
		*used += 5;
	}
	end_of_get(r, req, sink->tally);
	return true;
}

/* Reads the replies that the fast path does not take. */
static __attribute__((noinline)) enum reply_status
read_slow(struct reply_reader *r, const struct workload *w, const struct request *req,
	  const struct reply_sink *sink, struct view in, uint32_t *used)
{
	enum line_means means = LINE_NEXT;
	struct view line;
	bool ok = true;

	*used = 0;
	if (likely(req->op == LOAD_GET && r->state == REPLY_LINE && r->line_len == 0) &&
	    likely(read_expected(r, w, req, sink, in, used)))
		return REPLY_DONE;
	/* Every round takes a byte or more of in, or ends a state. */
	while (*used < in.len && means != LINE_LAST) {
		switch (r->state) {
		case REPLY_LINE:
			if (!next_line(r, in, used, &line, &ok))
				return ok ? REPLY_MORE : REPLY_MALFORMED;
			means = read_line(r, w, req, sink, line);
			ok = means != LINE_MALFORMED;
			break;
		case REPLY_VALUE:
			read_value(r, sink, in, used);
			break;
		case REPLY_VALUE_END:
			ok = read_value_end(r, in, used);
			if (ok && r->state == REPLY_LINE && w->protocol == LOAD_META)
				means = after_meta_key(r, req, sink->tally);
			break;
		}
		if (unlikely(!ok))
			return REPLY_MALFORMED;
	}
	return means == LINE_LAST ? REPLY_DONE : REPLY_MORE;
}

/* True if this piece has the whole reply to a get of one key, and all of it is right. */
static inline bool
read_fast(const struct reply_reader *r, const struct workload *w, const struct request *req,
	  struct view in)
{
	const uint32_t all = w->fast.all;

	return w->fast.on && w->protocol == LOAD_TEXT && req->op == LOAD_GET &&
	       req->key_count == 1 && r->state == REPLY_LINE && r->line_len == 0 && r->next == 0 &&
	       in.len >= all + END_BYTES && load_u32(in.data + all) == END_WORD &&
	       in.data[all + 4] == '\n' && match_value_fast(w, req->keys[0], in.data, in.len) != 0;
}

enum reply_status
reply_read(struct reply_reader *r, const struct workload *w, const struct request *req,
	   const struct reply_sink *sink, struct view in, uint32_t *used)
{
	if (unlikely(!read_fast(r, w, req, in)))
		return read_slow(r, w, req, sink, in, used);
	r->next = r->found = 1;
	counter_add(&sink->tally[LOAD_KEYS_ASKED], 1);
	counter_add(&sink->tally[LOAD_HITS], 1);
	*used = w->fast.all + END_BYTES;
	return REPLY_DONE;
}
