#include "mc_command.h"

#include "mc_number.h"
#include "mc_words.h"

/* ---- verbs ---- */

#define VERB_LEN_MAX 9u

struct verb_name {
	char text[12]; /* zero-filled: the first 8 bytes compare as one number */
	uint8_t verb;  /* enum mc_verb */
};

/* By length, so that a word is compared with the few names of its own length only. */
static const struct verb_name verb_names[] = {
	{"get", MC_GET},
	{"set", MC_SET},
	{"gat", MC_GAT},
	{"add", MC_ADD},
	{"cas", MC_CAS},
	{"gets", MC_GETS},
	{"incr", MC_INCR},
	{"decr", MC_DECR},
	{"gats", MC_GATS},
	{"quit", MC_QUIT},
	{"touch", MC_TOUCH},
	{"stats", MC_STATS},
	{"delete", MC_DELETE},
	{"append", MC_APPEND},
	{"replace", MC_REPLACE},
	{"prepend", MC_PREPEND},
	{"version", MC_VERSION},
	{"flush_all", MC_FLUSH_ALL},
	{"verbosity", MC_VERBOSITY},
};

/* verb_names[first_of[n]] .. verb_names[first_of[n + 1]] have n letters. */
static const uint8_t first_of[VERB_LEN_MAX + 2] = {0, 0, 0, 0, 5, 10, 12, 14, 17, 17, 19};

enum mc_verb
mc_verb_of(struct view word)
{
	char text[12] = {0};

	if (word.len > VERB_LEN_MAX)
		return MC_BAD;
	/* By hand: the length is not known to the compiler, and a call costs more. */
	for (uint32_t i = 0; i < word.len; i++)
		text[i] = (char)word.data[i];
	for (uint32_t i = first_of[word.len]; i < first_of[word.len + 1]; i++) {
		const struct verb_name *n = &verb_names[i];

		if (load_u64(n->text) == load_u64(text) && n->text[8] == text[8])
			return (enum mc_verb)n->verb;
	}
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

/*
 * <verb> <key> <flags> <exptime> <bytes> [<cas>] [noreply]
 *
 * Without a length nobody can say where the body ends: it is read as commands, and noreply is
 * not heeded. With one, the body is swallowed whatever else is wrong.
 */
static void
storage_parse(struct mc_req *req, const struct mc_words *w)
{
	int32_t bytes;

	/* The length must leave room for the line end in 31 bits, as in memcached. */
	if (w->count < 5 || !mc_read_i32(w->word[4], &bytes) || bytes < 0 ||
	    bytes > INT32_MAX - 2) {
		mc_bad(req, MC_ERR_FORMAT);
		return;
	}
	req->flags |= MC_HAS_BODY;
	req->body_len = (uint32_t)bytes;
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
	noreply_look(req, w);
	if (w->count == ((req->flags & MC_NOREPLY) ? 2u : 1u))
		return;
	if (!mc_read_i32(w->word[1], &req->exptime))
		mc_bad(req, MC_ERR_EXPTIME);
}

static void
verbosity_parse(struct mc_req *req, const struct mc_words *w)
{
	uint32_t level;

	noreply_look(req, w);
	if (w->count < 2 || !mc_read_u32(w->word[1], &level))
		mc_bad(req, MC_ERR_FORMAT);
}

/* version and quit take nothing, noreply included, and say so (README, decisions). */
static void
alone_parse(struct mc_req *req, const struct mc_words *w)
{
	if (w->count > 1)
		mc_bad(req, MC_ERR_UNKNOWN);
}

/* A two-letter command on m is a meta command: noreply is not a word of theirs. */
static bool
is_meta(struct view line)
{
	return line.len >= 2 && line.data[0] == 'm' && memchr("gsdnae", line.data[1], 6) != NULL &&
	       (line.len == 2 || line.data[2] == ' ');
}

/* A browser is told nothing: answering it would let web pages talk to a cache (and memcached
 * closes, too). */
static bool
unknown_parse(struct mc_req *req, const struct mc_words *w, struct view line)
{
	mc_bad(req, MC_ERR_UNKNOWN);
	if (w->count > 1 && w->last.len >= 5 && memcmp(w->last.data, "HTTP/", 5) == 0)
		return false;
	if (!is_meta(line))
		noreply_look(req, w);
	return true;
}

bool
mc_command_parse(struct mc_req *req, enum mc_verb verb, struct view line)
{
	struct mc_words w;

	mc_words_split(&w, line.data, line.len);
	req->verb = (uint8_t)verb;
	switch (verb) {
	case MC_SET:
	case MC_ADD:
	case MC_REPLACE:
	case MC_APPEND:
	case MC_PREPEND:
	case MC_CAS:
		storage_parse(req, &w);
		return true;
	case MC_DELETE:
		delete_parse(req, &w);
		return true;
	case MC_INCR:
	case MC_DECR:
	case MC_TOUCH:
		key_and_number_parse(req, &w);
		return true;
	case MC_FLUSH_ALL:
		flush_all_parse(req, &w);
		return true;
	case MC_VERBOSITY:
		verbosity_parse(req, &w);
		return true;
	case MC_STATS:
		req->key = w.count > 1 ? w.word[1] : (struct view){line.data, 0};
		return true;
	case MC_VERSION:
	case MC_QUIT:
		alone_parse(req, &w);
		return true;
	default:
		return unknown_parse(req, &w, line);
	}
}
