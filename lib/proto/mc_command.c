#include "mc_command.h"

#include "mc_number.h"
#include "mc_words.h"

/* ---- verbs ---- */

/* The first words alone, side by side: the rows of the table would be a cache line each. */
#define FIRST_WORD(symbol, word, ...) {word},
static const struct {
	char text[MC_WORD_MAX + 1]; /* zero-filled: compared as one vector */
} first_words[MC_COMMAND_COUNT] = {MC_COMMANDS(FIRST_WORD)};

static inline bool
same_word(const char *a, __m128i b)
{
	const __m128i word = _mm_loadu_si128((const __m128i *)(const void *)a);

	return _mm_movemask_epi8(_mm_cmpeq_epi8(word, b)) == 0xffff;
}

/* As the table has words; false: no word of the table. */
static inline bool
word_load(struct view word, __m128i *out)
{
	char text[MC_WORD_MAX + 1] = {0};

	if (word.len > MC_WORD_MAX)
		return false;
	/* By hand: the length is not known to the compiler, and a call costs more. */
	for (uint32_t i = 0; i < word.len; i++) {
		if (word.data[i] == 0)
			return false;
		text[i] = (char)word.data[i];
	}
	*out = _mm_loadu_si128((const __m128i *)(const void *)text);
	return true;
}

enum mc_verb
mc_verb_of(struct view word)
{
	__m128i text;

	if (word_load(word, &text) && word.len > 0)
		for (uint32_t i = 0; i < MC_COMMAND_COUNT; i++)
			if (same_word(first_words[i].text, text))
				return (enum mc_verb)i;
	return MC_BAD;
}

enum mc_verb
mc_verb_second(enum mc_verb verb, struct view second)
{
	__m128i text;

	if (word_load(second, &text))
		for (uint32_t i = verb; i < MC_COMMAND_COUNT &&
					strcmp(first_words[i].text, first_words[verb].text) == 0;
		     i++)
			if (same_word(mc_commands[i].second, text))
				return (enum mc_verb)i;
	return MC_BAD;
}

/* ---- what each verb takes ---- */

/* noreply counts as the last word of any command, even behind words nobody asked for. */
static void
noreply_look(struct mc_req *req, const struct mc_words *w)
{
	if (mc_word_is(w->last, "noreply", 7))
		req->flags |= MC_NOREPLY;
}

/* The key is the second word of every command read here. */
static bool
key_take(struct mc_req *req, const struct mc_words *w)
{
	req->key = w->word[1];
	if (req->key.len <= MC_KEY_MAX)
		return true;
	mc_bad(req, MC_ERR_FORMAT);
	return false;
}

bool
mc_body_take(struct mc_req *req, struct view word)
{
	int32_t bytes;

	/* The length must leave room for the line end in 31 bits, as in memcached. */
	if (!mc_read_i32(word, &bytes) || bytes < 0 || bytes > INT32_MAX - 2)
		return false;
	req->flags |= MC_HAS_BODY;
	req->body_len = (uint32_t)bytes;
	req->body_end = MC_BODY_END;
	return true;
}

/*
 * <verb> <key> <flags> <exptime> <bytes> [<cas>] [noreply]
 *
 * Without a length nobody can say where the body ends: it is read as commands, and noreply is
 * not heeded. With one, the body is swallowed whatever else is wrong.
 */
static void
storage_parse(struct mc_req *req, const struct mc_words *w)
{
	if (w->count < 5 || !mc_body_take(req, w->word[4])) {
		mc_bad(req, MC_ERR_FORMAT);
		return;
	}
	noreply_look(req, w);
	if (!key_take(req, w))
		return;
	if (!mc_read_flags(w->word[2], &req->client_flags) ||
	    !mc_read_exptime(w->word[3], &req->exptime))
		mc_bad(req, MC_ERR_FORMAT);
	else if (req->verb == MC_CAS && (w->count < 6 || !mc_read_u64(w->word[5], &req->cas)))
		mc_bad(req, MC_ERR_FORMAT);
}

/* delete <key> [0] [noreply]; old clients send the 0. */
static void
delete_parse(struct mc_req *req, const struct mc_words *w)
{
	uint32_t extra;

	if (w->count < 2) {
		mc_bad(req, MC_ERR_FORMAT);
		return;
	}
	noreply_look(req, w);
	if (!key_take(req, w))
		return;
	extra = w->count - 2;
	if (w->count > 2 && (req->flags & MC_NOREPLY))
		extra--;
	if (extra > 1 || (extra == 1 && !mc_word_is(w->word[2], "0", 1)))
		mc_bad(req, MC_ERR_DELETE);
}

/* incr|decr <key> <delta> and touch <key> <exptime>. */
static void
key_and_number_parse(struct mc_req *req, const struct mc_words *w)
{
	if (w->count < 3) {
		mc_bad(req, MC_ERR_FORMAT);
		return;
	}
	noreply_look(req, w);
	if (!key_take(req, w))
		return;
	if (req->verb == MC_TOUCH) {
		if (!mc_read_i32(w->word[2], &req->exptime))
			mc_bad(req, MC_ERR_EXPTIME);
	} else if (!mc_read_u64(w->word[2], &req->delta)) {
		mc_bad(req, MC_ERR_DELTA);
	}
}

/* flush_all [<exptime>] [noreply] */
static void
flush_all_parse(struct mc_req *req, const struct mc_words *w)
{
	if (w->count == ((req->flags & MC_NOREPLY) ? 2u : 1u))
		return;
	if (!mc_read_i32(w->word[1], &req->exptime))
		mc_bad(req, MC_ERR_EXPTIME);
}

/* version and quit take nothing, noreply included, and say so (README, decisions). */
static void
alone_parse(struct mc_req *req, const struct mc_words *w)
{
	if (w->count > 1)
		mc_bad(req, MC_ERR_UNKNOWN);
}

/* A browser is told nothing: answering it would let web pages talk to a cache (and memcached
 * closes, too). */
static bool
unknown_parse(struct mc_req *req, const struct mc_words *w)
{
	mc_bad(req, MC_ERR_UNKNOWN);
	if (w->count > 1 && w->last.len >= 5 && memcmp(w->last.data, "HTTP/", 5) == 0)
		return false;
	noreply_look(req, w);
	return true;
}

/* Commands of two words; stats is one by itself, too. Its argument is kept, and it has always
 * answered, noreply or not. */
static enum mc_verb
second_take(struct mc_req *req, enum mc_verb verb, const struct mc_words *w)
{
	if (verb == MC_STATS)
		req->key = w->count > 1 ? w->word[1] : (struct view){w->last.data, 0};
	return w->count > 1       ? mc_verb_second(verb, w->word[1])
	       : verb == MC_STATS ? MC_STATS
				  : MC_BAD;
}

/* Those that memcached reads without looking for noreply. */
static inline bool
hears_noreply(enum mc_verb verb)
{
	return verb > MC_MN && !(verb >= MC_VERSION && verb <= MC_STATS_CACHEDUMP) &&
	       verb != MC_WATCH;
}

static inline bool
has_second(enum mc_verb verb)
{
	return verb == MC_STATS || mc_commands[verb].second[0] != 0;
}

bool
mc_command_parse(struct mc_req *req, enum mc_verb verb, struct view line)
{
	struct mc_words w;

	mc_words_split(&w, line.data, line.len);
	if (unlikely(verb == MC_BAD))
		return unknown_parse(req, &w);
	if (hears_noreply(verb))
		noreply_look(req, &w);
	if (has_second(verb)) {
		verb = second_take(req, verb, &w);
		if (verb == MC_BAD) {
			mc_bad(req, MC_ERR_UNKNOWN);
			return true;
		}
	}
	req->verb = (uint8_t)verb;
	switch ((enum mc_shape)mc_commands[verb].shape) {
	case MC_SHAPE_STORAGE:
		storage_parse(req, &w);
		break;
	case MC_SHAPE_DELETE:
		delete_parse(req, &w);
		break;
	case MC_SHAPE_KEY_DELTA:
	case MC_SHAPE_KEY_EXPTIME:
		key_and_number_parse(req, &w);
		break;
	case MC_SHAPE_META:
		mc_meta_read(req, &w);
		break;
	case MC_SHAPE_META_BODY:
		mc_meta_body_read(req, &w);
		break;
	case MC_SHAPE_META_DEBUG:
		mc_meta_debug_read(req, &w);
		break;
	case MC_SHAPE_FLUSH:
		flush_all_parse(req, &w);
		break;
	case MC_SHAPE_ALONE:
		alone_parse(req, &w);
		break;
	default:
		mc_admin_read(req, &w, (enum mc_shape)mc_commands[verb].shape);
		break;
	}
	return true;
}
