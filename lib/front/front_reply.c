/*
 * front_reply.c - parses one line of a server's reply: splits it into words, finds it in the table
 * of allowed answers, and reads its numbers.
 */
#include "front_reply.h"

#include "base/check.h"
#include "proto/mc_error.h"
#include "proto/mc_number.h"
#include "index/item_layout.h"

#define WORDS_MAX      24u /* a meta reply with all flags, or a line of `me` */
#define CRLF           2
#define FEW_DIGITS     8  /* no number of so few digits exceeds a limit */
#define WORD_BYTES     6u /* "VALUE " */
#define VALUE_REST_MIN 8u /* " 0 0", CR LF, CR LF */
/* `me` reports TTLs correctly since memcached 1.6.24, commit 1776b021e. */
#define ME_MENDED 24u

struct words {
	uint32_t n;
	struct view word[WORDS_MAX];
};

static bool
begins_with(struct view line, const char *text)
{
	const uint32_t len = (uint32_t)strlen(text);

	return line.len >= len && memcmp(line.data, text, len) == 0;
}

/* Splits a line at single spaces. False: it has an empty word, or too many. */
static bool
split(struct words *w, struct view line)
{
	const uint8_t *at = line.data, *end = line.data + line.len;

	for (w->n = 0; w->n < WORDS_MAX; w->n++) {
		const uint8_t *space = memchr(at, ' ', (size_t)(end - at));
		const uint8_t *stop = space != NULL ? space : end;

		if (stop == at)
			return false;
		w->word[w->n] = (struct view){.data = at, .len = (uint32_t)(stop - at)};
		if (space == NULL) {
			w->n++;
			return true;
		}
		at = space + 1;
	}
	return false;
}

static void
set_status(struct front_reply *r, enum front_status status)
{
	r->kind = FRONT_REPLY_STATUS;
	r->status = status;
}

static bool
read_length(struct view word, uint32_t *len)
{
	uint64_t n;

	if (word.len > MC_U64_DIGITS_MAX || !mc_read_u64(word, &n) || n > FRONT_VALUE_MAX)
		return false;
	*len = (uint32_t)n;
	return true;
}

/* Finds the requested key, without a value so far, that the line names. The expected one is
 * compared first. */
static bool
find_key(struct front_asked *asked, struct view key, uint32_t *index)
{
	for (uint32_t n = 0; n < asked->nkeys; n++) {
		const uint32_t i = (asked->next + n) % asked->nkeys;

		if ((asked->had >> i & 1) == 0 && view_equal(asked->keys[i], key)) {
			asked->had |= 1ull << i;
			asked->next = i + 1;
			*index = i;
			return true;
		}
	}
	return false;
}

/* Reads "VALUE key flags bytes [cas]". The cas must be there if and only if it was requested. */
static void
read_text_value(struct front_reply *r, struct front_asked *asked, const struct words *w)
{
	if (w->n != (asked->wants_cas ? 5u : 4u) || !mc_read_u32(w->word[2], &r->client_flags) ||
	    !read_length(w->word[3], &r->value_len))
		return;
	if (asked->wants_cas && !mc_read_u64(w->word[4], &r->cas))
		return;
	if (find_key(asked, w->word[1], &r->key))
		r->kind = FRONT_REPLY_VALUE;
}

/* True if `me` of this version reports TTLs correctly. Up to 1.6.23 the sign is reversed, so that
 * -1 is one second as well as no expiry. Builds without their history have the version UNKNOWN. */
static bool
reports_ttl(struct view version)
{
	uint32_t n = 0;

	if (!begins_with(version, "1.6."))
		return false;
	for (uint32_t i = 4;
	     i < version.len && n < ME_MENDED && version.data[i] >= '0' && version.data[i] <= '9';
	     i++)
		n = 10 * n + (version.data[i] - '0');
	return n >= ME_MENDED;
}

static bool
read_exp(struct view number, int32_t *ttl_s)
{
	if (!mc_read_i32(number, ttl_s) || *ttl_s == INT32_MIN)
		return false;
	if (*ttl_s < -1)
		*ttl_s = -*ttl_s;
	return true;
}

/* Reads "ME key exp=-1 la=0 cas=2 ..."; only exp is used. */
static void
read_me(struct front_reply *r, struct front_asked *asked, const struct words *w)
{
	if (w->n < 2 || !find_key(asked, w->word[1], &r->key))
		return;
	for (uint32_t i = 2; i < w->n; i++) {
		if (begins_with(w->word[i], "exp=")) {
			const struct view exp = {.data = w->word[i].data + 4,
						 .len = w->word[i].len - 4};

			if ((r->meta & FRONT_META_TTL) != 0 || !read_exp(exp, &r->ttl_s))
				return;
			r->meta |= FRONT_META_TTL;
		}
	}
	if ((r->meta & FRONT_META_TTL) != 0)
		set_status(r, FRONT_ME);
}

/* Records a flag. False: it has an argument, which it must not. */
static bool
mark(struct front_reply *r, enum front_meta bit, uint32_t len)
{
	r->meta |= bit;
	return len == 1;
}

static bool
mark_number(struct front_reply *r, enum front_meta bit, struct view number, uint32_t *out)
{
	r->meta |= bit;
	return mc_read_u32(number, out);
}

/* Reads one flag of a meta reply. k, O and b repeat the request; the caller checks them. */
static bool
read_meta_flag(struct front_reply *r, const struct front_asked *asked, struct view word,
	       bool *opaque)
{
	const struct view rest = {.data = word.data + 1, .len = word.len - 1};

	switch (word.data[0]) {
	case 'O':
		*opaque = true;
		return view_equal(rest, asked->opaque);
	case 'k':
		return asked->nkeys == 1 && view_equal(rest, asked->keys[0]);
	case 'b':
		return word.len == 1;
	case 'c':
		r->meta |= FRONT_META_CAS;
		return mc_read_u64(rest, &r->cas);
	case 'f':
		return mark_number(r, FRONT_META_FLAGS, rest, &r->client_flags);
	case 's':
		return mark_number(r, FRONT_META_SIZE, rest, &r->size);
	case 'h':
		return mark_number(r, FRONT_META_HIT, rest, &r->hit) && r->hit <= 1;
	case 'l':
		return mark_number(r, FRONT_META_LAST_ACCESS, rest, &r->last_access_s);
	case 't':
		r->meta |= FRONT_META_TTL;
		return mc_read_i32(rest, &r->ttl_s) && r->ttl_s >= -1;
	case 'W':
		return mark(r, FRONT_META_WIN, word.len);
	case 'X':
		return mark(r, FRONT_META_STALE, word.len);
	case 'Z':
		return mark(r, FRONT_META_WON, word.len);
	default:
		return false;
	}
}

/* Reads the flags from word `first` on. False: one is invalid, or the request's opaque is not among
 * them. */
static bool
read_meta_flags(struct front_reply *r, const struct front_asked *asked, const struct words *w,
		uint32_t first)
{
	bool opaque = false;

	for (uint32_t i = first; i < w->n; i++) {
		if (!read_meta_flag(r, asked, w->word[i], &opaque))
			return false;
	}
	return opaque == (asked->opaque.len != 0);
}

static void
read_meta_value(struct front_reply *r, struct front_asked *asked, const struct words *w)
{
	if (w->n >= 2 && read_length(w->word[1], &r->value_len) && read_meta_flags(r, asked, w, 2))
		r->kind = FRONT_REPLY_VALUE;
}

#define BIT(ask)   (1u << FRONT_ASK_##ask)
#define META_ASKS  (BIT(MS) | BIT(MD) | BIT(MA))
#define FOUND_ASKS (BIT(STORE) | BIT(DELETE) | BIT(ARITHMETIC) | BIT(TOUCH))

/* Lines that are one word, or one word and flags. */
static const struct {
	const char *word;
	uint32_t asks;
	enum front_status status;
	bool has_flags;
} statuses[] = {
	{"STORED", BIT(STORE) | BIT(LOGIN), FRONT_STORED, false},
	{"NOT_STORED", BIT(STORE), FRONT_NOT_STORED, false},
	{"EXISTS", BIT(STORE), FRONT_EXISTS, false},
	{"NOT_FOUND", FOUND_ASKS, FRONT_NOT_FOUND, false},
	{"DELETED", BIT(DELETE), FRONT_DELETED, false},
	{"TOUCHED", BIT(TOUCH), FRONT_TOUCHED, false},
	{"OK", BIT(FLUSH), FRONT_OK, false},
	{"EN", BIT(MG) | BIT(ME), FRONT_EN, true},
	{"MN", BIT(MN), FRONT_MN, false},
	{"HD", META_ASKS | BIT(MG), FRONT_HD, true},
	{"NS", BIT(MS) | BIT(MA), FRONT_NS, true},
	{"EX", META_ASKS, FRONT_EX, true},
	{"NF", META_ASKS, FRONT_NF, true},
};

/* True if this status must have flags. EN has none before 1.6.45. */
static bool
must_have_flags(const struct front_asked *asked, enum front_status status)
{
	return status >= FRONT_HD && status != FRONT_EN && asked->opaque.len != 0;
}

static bool
read_status(struct front_reply *r, const struct front_asked *asked, const struct words *w)
{
	for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++) {
		if ((statuses[i].asks >> asked->ask & 1) == 0 ||
		    !view_equal(w->word[0], text_view(statuses[i].word)))
			continue;
		if ((w->n == 1 && !must_have_flags(asked, statuses[i].status)) ||
		    (w->n >= 1 && statuses[i].has_flags && read_meta_flags(r, asked, w, 1)))
			set_status(r, statuses[i].status);
		return true;
	}
	return false;
}

/* Returns the error if the request's outcome is known by it; otherwise MC_ERR_NONE. */
static uint8_t
known_error(struct view line)
{
	static const uint8_t known[] = {MC_ERR_TOO_LARGE, MC_ERR_MEMORY, MC_ERR_OUT_OF_MEMORY,
					MC_ERR_NUMBER};

	for (size_t i = 0; i < sizeof known; i++) {
		const struct view text = mc_error_line[known[i]];

		if (text.len == line.len + CRLF && memcmp(text.data, line.data, line.len) == 0)
			return known[i];
	}
	return MC_ERR_NONE;
}

/* True if memcached skips the request's body with this error. With any other error it may read the
 * body as commands. */
static bool
body_was_skipped(uint8_t error)
{
	return error == MC_ERR_TOO_LARGE || error == MC_ERR_MEMORY;
}

static bool
read_error(struct front_reply *r, const struct front_asked *asked, struct view line)
{
	const bool has_body = asked->ask == FRONT_ASK_STORE || asked->ask == FRONT_ASK_MS;

	r->is_client_error = begins_with(line, "CLIENT_ERROR ");
	if (!begins_with(line, "SERVER_ERROR ") && !r->is_client_error &&
	    !view_equal(line, text_view("ERROR")))
		return false;
	r->kind = FRONT_REPLY_ERROR;
	r->error = known_error(line);
	r->ends_connection = has_body && !body_was_skipped(r->error);
	return true;
}

/* Reads the most frequent lines: a value of `get`, and its end. False: the line is neither. */
static bool
read_retrieved(struct front_reply *r, struct front_asked *asked, struct view line)
{
	struct words w;

	if (begins_with(line, "VALUE ")) {
		if (split(&w, line))
			read_text_value(r, asked, &w);
		return true;
	}
	if (!view_equal(line, text_view("END")))
		return false;
	r->kind = FRONT_REPLY_END;
	return true;
}

/* Reads "STAT name value". The value is the rest of the line, and may be empty. */
static bool
read_row(struct front_reply *r, struct view line)
{
	static const char word[] = "STAT ";
	const uint8_t *name = line.data + sizeof word - 1, *end = line.data + line.len, *space;

	if (view_equal(line, text_view("END"))) {
		r->kind = FRONT_REPLY_END;
		return true;
	}
	if (!begins_with(line, word))
		return false;
	space = memchr(name, ' ', (size_t)(end - name));
	r->name = (struct view){.data = name,
				.len = (uint32_t)((space != NULL ? space : end) - name)};
	if (space != NULL)
		r->text = (struct view){.data = space + 1, .len = (uint32_t)(end - space) - 1};
	if (r->name.len != 0)
		r->kind = FRONT_REPLY_ROW;
	return true;
}

static void
read_line(struct front_reply *r, struct front_asked *asked, struct view line)
{
	struct words w;

	if (asked->ask == FRONT_ASK_GET && read_retrieved(r, asked, line))
		return;
	if ((asked->ask == FRONT_ASK_STATS && read_row(r, line)) || read_error(r, asked, line))
		return;
	if (asked->ask == FRONT_ASK_VERSION && begins_with(line, "VERSION ")) {
		r->text = (struct view){.data = line.data + 8, .len = line.len - 8};
		r->reports_ttl = reports_ttl(r->text);
		set_status(r, FRONT_VERSION);
		return;
	}
	if (!split(&w, line) || read_status(r, asked, &w))
		return;
	if (asked->ask == FRONT_ASK_ME && view_equal(w.word[0], text_view("ME")))
		read_me(r, asked, &w);
	else if ((asked->ask == FRONT_ASK_MG || asked->ask == FRONT_ASK_MA) &&
		 view_equal(w.word[0], text_view("VA")))
		read_meta_value(r, asked, &w);
	else if (asked->ask == FRONT_ASK_ARITHMETIC && w.n == 1 && mc_read_u64(line, &r->number))
		r->kind = FRONT_REPLY_NUMBER;
}

/* Reads a short number. Returns the byte behind it; `at` itself if there is no digit. */
static inline const uint8_t *
read_digits(const uint8_t *at, const uint8_t *end, uint32_t *n)
{
	const uint8_t *stop = end - at > FEW_DIGITS ? at + FEW_DIGITS : end;

	for (*n = 0; at < stop && (uint8_t)(*at - '0') < 10; at++)
		*n = 10 * *n + (uint32_t)(*at - '0');
	return at;
}

#define EACH_BYTE 0x01010101u

/* Reads a number of one to three digits from the beginning of four bytes. False: there is none, or
 * it has more digits. */
static inline bool
read_short_number(uint32_t bytes, uint32_t *n, uint32_t *digits)
{
	const uint32_t values = bytes ^ '0' * EACH_BYTE;
	const uint32_t others = ((values + (0x80 - 10) * EACH_BYTE) | values) & 0x80 * EACH_BYTE;
	uint32_t pairs;

	if (unlikely(others == 0 || (others & 0x80) != 0))
		return false;
	*digits = (uint32_t)__builtin_ctz(others) / 8;
	pairs = values << (32 - 8 * *digits); /* the first byte counts thousands */
	pairs = (10 * pairs + (pairs >> 8)) & 0x00ff00ff;
	*n = (100 * pairs + (pairs >> 16)) & 0xffff;
	return true;
}

/* Reads " flags length" with numbers within their limits. Returns the byte behind it; NULL: the
 * bytes have another form. */
static inline const uint8_t *
read_flags_length(struct front_value *value, const uint8_t *at, const uint8_t *end)
{
	const uint8_t *number = at + 1;
	const uint64_t word = load_u64(at);
	uint32_t digits;

	if (likely((word & 0xffffff) == (load_u32(" 0 ") & 0xffffff)) &&
	    likely(read_short_number((uint32_t)(word >> 24), &value->value_len, &digits))) {
		value->client_flags = 0;
		return at + 3 + digits;
	}
	if (*at != ' ' || (at = read_digits(number, end, &value->client_flags)) == number ||
	    end - at < CRLF || *at != ' ')
		return NULL;
	number = at + 1;
	at = read_digits(number, end, &value->value_len);
	return at != number ? at : NULL;
}

static inline bool
is_line_end(const uint8_t *at)
{
	return load_u16(at) == load_u16("\r\n");
}

bool
front_value_read(struct front_value *value, struct front_asked *asked, struct view bytes)
{
	static const char word[8] = "VALUE ";
	const uint32_t key = asked->next;
	const uint8_t *at = bytes.data + WORD_BYTES, *end = bytes.data + bytes.len;
	struct view name;

	if (unlikely(asked->ask != FRONT_ASK_GET || asked->wants_cas || !asked->received ||
		     key >= asked->nkeys || (asked->had >> key & 1) != 0))
		return false;
	name = asked->keys[key];
	if (bytes.len < WORD_BYTES + name.len + VALUE_REST_MIN ||
	    memcmp(bytes.data, word, WORD_BYTES) != 0 || !bytes_same(at, name.data, name.len))
		return false;
	at = read_flags_length(value, at + name.len, end);
	if (at == NULL || (uint64_t)(end - at) < (uint64_t)value->value_len + 2 * CRLF ||
	    !is_line_end(at) || !is_line_end(at + CRLF + value->value_len))
		return false;
	value->key = key;
	value->at = (uint32_t)(at - bytes.data) + CRLF;
	value->bytes = value->at + value->value_len + CRLF;
	asked->had |= 1ull << key;
	asked->next = key + 1;
	return true;
}

void
front_reply_read(struct front_reply *reply, struct front_asked *asked, struct view bytes)
{
	const uint32_t most = bytes.len < FRONT_REPLY_LINE_MAX ? bytes.len : FRONT_REPLY_LINE_MAX;
	const uint8_t *end = memchr(bytes.data, '\n', most);
	uint32_t len;

	*reply = (struct front_reply){.kind = FRONT_REPLY_BROKEN};
	if (!asked->received && bytes.len != 0)
		return;
	if (end == NULL) {
		if (most < FRONT_REPLY_LINE_MAX)
			reply->kind = FRONT_REPLY_MORE;
		return;
	}
	len = (uint32_t)(end - bytes.data) + 1;
	if (len < CRLF || end[-1] != '\r')
		return;
	reply->line_len = len;
	read_line(reply, asked, (struct view){.data = bytes.data, .len = len - CRLF});
}

bool
front_value_end(struct view bytes)
{
	return memcmp(bytes.data, "\r\n", bytes.len < CRLF ? bytes.len : CRLF) == 0;
}
