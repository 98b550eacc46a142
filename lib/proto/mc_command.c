/*
 * mc_command.c - finds verbs in the table of commands by two 64-bit comparisons, and parses the
 * arguments of every command that is no retrieval.
 */
#include "mc_command.h"

#include "mc_number.h"
#include "mc_tokens.h"

#define DELETE_WORDS_MAX 4u /* words of a line, without noreply */

/* ---- verbs ---- */

/* A word of the table as two numbers, padded with zeros. */
struct packed_name {
	uint64_t head, tail;
};

/* First words of all commands, packed: a row of the table takes a cache line. */
#define COMMAND_NAME(symbol, word, ...) {word},
static const char command_names[MC_COMMAND_COUNT][MC_NAME_MAX + 1] = {MC_COMMANDS(COMMAND_NAME)};

static inline bool
same_name(const char *word, struct packed_name pair)
{
	return load_u64(word) == pair.head && load_u64(word + 8) == pair.tail;
}

/* Returns up to eight bytes as a number. It uses two loads that may overlap, since single bytes
 * would depend on each other. */
static inline uint64_t
bytes_load(const uint8_t *p, uint32_t len)
{
	if (len >= 8)
		return load_u64(p);
	if (len >= 4)
		return load_u32(p) | (uint64_t)load_u32(p + len - 4) << 8 * (len - 4);
	if (len >= 2)
		return load_u16(p) | (uint64_t)p[len - 1] << 8 * (len - 1);
	return len != 0 ? p[0] : 0;
}

/* Packs a word. False if no command has its length, or its last byte is 0, which would be lost. */
static inline bool
name_pack(struct view word, struct packed_name *pair)
{
	if (word.len == 0 || word.len > MC_NAME_MAX || word.data[word.len - 1] == 0)
		return false;
	pair->head = bytes_load(word.data, word.len);
	pair->tail = word.len > 8 ? bytes_load(word.data + 8, word.len - 8) : 0;
	return true;
}

enum mc_verb
mc_verb_of(struct view word)
{
	struct packed_name pair;

	if (name_pack(word, &pair))
		for (uint32_t i = 0; i < MC_COMMAND_COUNT; i++)
			if (same_name(command_names[i], pair))
				return (enum mc_verb)i;
	return MC_BAD;
}

enum mc_verb
mc_verb_subcommand(enum mc_verb verb, struct view subcommand)
{
	struct packed_name pair;

	if (name_pack(subcommand, &pair))
		for (uint32_t i = verb;
		     i < MC_COMMAND_COUNT && strcmp(command_names[i], command_names[verb]) == 0;
		     i++)
			if (same_name(mc_commands[i].subcommand, pair))
				return (enum mc_verb)i;
	return MC_BAD;
}

/* ---- arguments of each verb ---- */

/* Finds noreply, which may be the last word of any command, even after superfluous words. */
static void
noreply_check(struct mc_req *req, const struct mc_tokens *w)
{
	if (mc_token_is(w->last, "noreply", 7))
		req->flags |= MC_NOREPLY;
}

/* Reads the key, which is the second word of these commands. */
static bool
key_parse(struct mc_req *req, const struct mc_tokens *w)
{
	req->key = w->token[1];
	if (req->key.len <= MC_KEY_MAX)
		return true;
	mc_bad(req, MC_ERR_FORMAT);
	return false;
}

bool
mc_body_parse(struct mc_req *req, struct view word)
{
	int32_t bytes;

	/* The length and its line end must fit 31 bits, as in memcached. */
	if (!mc_read_i32(word, &bytes) || bytes < 0 || bytes > INT32_MAX - 2)
		return false;
	req->flags |= MC_HAS_BODY;
	req->body_len = (uint32_t)bytes;
	req->body_end = MC_BODY_END;
	return true;
}

/* Reads <verb> <key> <flags> <exptime> <bytes> [<cas>] [noreply]. If the length is wrong, the end
 * of the body is not known; so the body is read as commands, and noreply is ignored. If the length
 * is right, the body is skipped even if another word is wrong. */
static void
storage_parse(struct mc_req *req, const struct mc_tokens *w)
{
	if (w->count < 5 || !mc_body_parse(req, w->token[4])) {
		mc_bad(req, MC_ERR_FORMAT);
		return;
	}
	noreply_check(req, w);
	if (!key_parse(req, w))
		return;
	if (!mc_read_flags(w->token[2], &req->client_flags) ||
	    !mc_read_exptime(w->token[3], &req->exptime))
		mc_bad(req, MC_ERR_FORMAT);
	else if (req->verb == MC_CAS && (w->count < 6 || !mc_read_u64(w->token[5], &req->cas)))
		mc_bad(req, MC_ERR_FORMAT);
}

/* Parses delete <key> [noreply]. Old clients send a delay or another word after the key, which must
 * be ignored, or the item would stay. More than DELETE_WORDS_MAX words are an error, as memccapable
 * expects; with noreply, for which no error is sent, they are ignored. */
static void
delete_parse(struct mc_req *req, const struct mc_tokens *w)
{
	noreply_check(req, w);
	if (w->count < 2 || (w->count > DELETE_WORDS_MAX && (req->flags & MC_NOREPLY) == 0)) {
		mc_bad(req, MC_ERR_FORMAT);
		return;
	}
	key_parse(req, w);
}

/* Reads incr|decr <key> <delta> and touch <key> <exptime>. */
static void
key_and_number_parse(struct mc_req *req, const struct mc_tokens *w)
{
	if (w->count < 3) {
		mc_bad(req, MC_ERR_FORMAT);
		return;
	}
	noreply_check(req, w);
	if (!key_parse(req, w))
		return;
	if (req->verb == MC_TOUCH) {
		if (!mc_read_i32(w->token[2], &req->exptime))
			mc_bad(req, MC_ERR_EXPTIME);
	} else if (!mc_read_u64(w->token[2], &req->delta)) {
		mc_bad(req, MC_ERR_DELTA);
	}
}

/* Reads flush_all [<exptime>] [noreply]. */
static void
flush_all_parse(struct mc_req *req, const struct mc_tokens *w)
{
	if (w->count <= ((req->flags & MC_NOREPLY) ? 2u : 1u))
		return;
	if (!mc_read_i32(w->token[1], &req->exptime))
		mc_bad(req, MC_ERR_EXPTIME);
}

/* @@ */
static bool
unknown_parse(struct mc_req *req, const struct mc_tokens *w)
{
	mc_bad(req, MC_ERR_UNKNOWN);
	if (w->count > 1 && w->last.len >= 5 && memcmp(w->last.data, "HTTP/", 5) == 0)
		return false;
	noreply_check(req, w);
	return true;
}

/* Returns the command of two words; stats is also valid alone. The argument of stats is kept, and
 * stats is always answered, with noreply or without. */
static enum mc_verb
subcommand_parse(struct mc_req *req, enum mc_verb verb, const struct mc_tokens *w)
{
	if (verb == MC_STATS)
		req->key = w->count > 1 ? w->token[1] : (struct view){w->last.data, 0};
	return w->count > 1       ? mc_verb_subcommand(verb, w->token[1])
	       : verb == MC_STATS ? MC_STATS
				  : MC_BAD;
}

/* False for the commands that memcached reads without checking for noreply. */
static inline bool
accepts_noreply(enum mc_verb verb)
{
	return verb > MC_MN && !(verb >= MC_VERSION && verb <= MC_STATS_CACHEDUMP) &&
	       verb != MC_WATCH;
}

static inline bool
has_subcommand(enum mc_verb verb)
{
	return verb == MC_STATS || mc_commands[verb].subcommand[0] != 0;
}

bool
mc_command_parse(struct mc_req *req, enum mc_verb verb, struct view line)
{
	struct mc_tokens w;

	mc_tokenize(&w, line.data, line.len);
	if (unlikely(verb == MC_BAD))
		return unknown_parse(req, &w);
	if (accepts_noreply(verb))
		noreply_check(req, &w);
	if (has_subcommand(verb)) {
		verb = subcommand_parse(req, verb, &w);
		if (verb == MC_BAD) {
			mc_bad(req, MC_ERR_UNKNOWN);
			return true;
		}
	}
	req->verb = (uint8_t)verb;
	switch ((enum mc_syntax)mc_commands[verb].syntax) {
	case MC_SYNTAX_STORAGE:
		storage_parse(req, &w);
		break;
	case MC_SYNTAX_DELETE:
		delete_parse(req, &w);
		break;
	case MC_SYNTAX_KEY_DELTA:
	case MC_SYNTAX_KEY_EXPTIME:
		key_and_number_parse(req, &w);
		break;
	case MC_SYNTAX_META:
		mc_meta_read(req, &w);
		break;
	case MC_SYNTAX_META_BODY:
		mc_meta_body_read(req, &w);
		break;
	case MC_SYNTAX_META_DEBUG:
		mc_meta_debug_read(req, &w);
		break;
	case MC_SYNTAX_FLUSH:
		flush_all_parse(req, &w);
		break;
	default:
		mc_admin_read(req, &w, (enum mc_syntax)mc_commands[verb].syntax);
		break;
	}
	return true;
}
