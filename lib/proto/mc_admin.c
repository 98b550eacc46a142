/*
 * mc_admin.c - arguments of administrative commands. Numbers of tokens and errors are those of
 * memcached, where noreply counts as a token. But a subcommand must be a whole word, while
 * memcached accepts any prefix of it.
 */
#include "mc_command.h"
#include "mc_number.h"

#define MEGABYTES_MIN 8u
#define MEGABYTES_MAX 1000000000u
#define SLEEP_MAX_US  1000000u
#define WINDOW_MIN    3u
#define WINDOW_MAX    1800u
#define LRU_PERCENT   80u
#define EXT_CLASS_MAX 63u /* extstore's slab classes */

static inline bool
is(struct view word, const char *text)
{
	return mc_token_is(word, text, (uint32_t)strlen(text));
}

/* ---- numbers ---- */

/* Reads the only number of a command of exactly three words. */
static void
only_number_read(struct mc_req *req, const struct mc_tokens *w)
{
	uint32_t n = 0;

	if (w->count != 3)
		mc_bad(req, MC_ERR_UNKNOWN);
	else if (!mc_read_u32(w->token[2], &n))
		mc_bad(req, MC_ERR_FORMAT);
	else if (req->verb == MC_CRAWLER_SLEEP && n > SLEEP_MAX_US)
		mc_bad(req, MC_ERR_CRAWLER_SLEEP);
	req->admin.number[0] = n;
}

static void
level_read(struct mc_req *req, const struct mc_tokens *w)
{
	uint32_t level = 0;

	if (w->count < 2 || !mc_read_u32(w->token[1], &level))
		mc_bad(req, MC_ERR_FORMAT);
	req->admin.number[0] = level;
}

static void
megabytes_read(struct mc_req *req, const struct mc_tokens *w)
{
	uint32_t megabytes = 0;

	if (w->count < 2 || !mc_read_u32(w->token[1], &megabytes))
		mc_bad(req, MC_ERR_UNKNOWN);
	else if (megabytes < MEGABYTES_MIN)
		mc_bad(req, MC_ERR_MEMLIMIT_SMALL);
	else if (megabytes > MEGABYTES_MAX)
		mc_bad(req, MC_ERR_MEMLIMIT_BYTES);
	req->admin.number[0] = megabytes;
}

/* ---- commands that may be disabled; their own errors are answered only if they are enabled
 * ---- */

static void
shutdown_read(struct mc_req *req, const struct mc_tokens *w)
{
	if (w->count == 1)
		return;
	if (w->count == 2 && is(w->token[1], "graceful"))
		req->admin.option = MC_OPTION_GRACEFUL;
	else
		req->error = MC_ERR_SHUTDOWN_MODE;
}

bool
mc_detail_parse(struct mc_admin *admin, struct view word)
{
	if (is(word, "on"))
		admin->option = MC_OPTION_ON;
	else if (is(word, "off"))
		admin->option = MC_OPTION_OFF;
	else if (is(word, "dump"))
		admin->option = MC_OPTION_DUMP;
	return admin->option != MC_OPTION_NONE;
}

static void
detail_read(struct mc_req *req, const struct mc_tokens *w)
{
	if (w->count < 3 || !mc_detail_parse(&req->admin, w->token[2]))
		req->error = MC_ERR_DETAIL_USAGE;
}

static void
cachedump_read(struct mc_req *req, const struct mc_tokens *w)
{
	uint32_t slab_class = 0, limit = 0;

	if (w->count < 4)
		req->error = MC_ERR_CACHEDUMP_LINE;
	else if (!mc_read_u32(w->token[2], &slab_class) || !mc_read_u32(w->token[3], &limit))
		req->error = MC_ERR_FORMAT;
	else if (slab_class > MC_CLASS_MAX)
		req->error = MC_ERR_SLAB_ID;
	req->admin.number[0] = slab_class;
	req->admin.number[1] = limit;
}

static uint32_t
stream_of(struct view word)
{
#define STREAM(symbol, name)                                                                       \
	if (is(word, name))                                                                        \
		return symbol;
	MC_STREAMS(STREAM)
	return 0;
}

static void
streams_read(struct mc_req *req, const struct mc_tokens *w)
{
	uint32_t *streams = &req->admin.streams;

	if (w->count == 1)
		*streams = MC_STREAM_FETCHERS;
	if (w->count > MC_TOKENS_KEPT) /* there are more words than streams */
		req->error = MC_ERR_UNKNOWN;
	for (uint32_t i = 1; i < w->count && i < MC_TOKENS_KEPT; i++) {
		const uint32_t stream = stream_of(w->token[i]);

		*streams |= stream;
		if (stream == 0)
			req->error = MC_ERR_UNKNOWN;
	}
}

/* Reads classes such as "1,2,30" into bits. False if one of them is no slab class. */
static bool
classes_parse(struct mc_admin *admin, struct view list)
{
	while (list.len > 0) {
		const uint8_t *comma = memchr(list.data, ',', list.len);
		const uint32_t len = comma != NULL ? (uint32_t)(comma - list.data) : list.len;
		const uint32_t skip = len + (comma != NULL);
		uint32_t id;

		/* Two commas in a row enclose no class. */
		if (len > 0) {
			if (!mc_read_u32((struct view){list.data, len}, &id) || id == 0 ||
			    id > MC_CLASS_MAX)
				return false;
			admin->classes[id / 64] |= UINT64_C(1) << id % 64;
		}
		list.data += skip;
		list.len -= skip;
	}
	return true;
}

static void
classes_read(struct mc_req *req, const struct mc_tokens *w)
{
	struct mc_admin *admin = &req->admin;

	if (w->count != 3) {
		mc_bad(req, MC_ERR_UNKNOWN);
		return;
	}
	req->key = w->token[2];
	admin->option = MC_OPTION_CLASSES;
	if (is(req->key, "all"))
		admin->option = MC_OPTION_ALL;
	else if (is(req->key, "hash") && req->verb != MC_CRAWLER_CRAWL)
		admin->option = MC_OPTION_HASH;
	else if (!classes_parse(admin, req->key))
		req->error = MC_ERR_CRAWLER_CLASS;
}

/* ---- memory ---- */

/* Reads slabs reassign <from>|-1 <to>. */
static void
reassign_read(struct mc_req *req, const struct mc_tokens *w)
{
	int32_t from = 0, to = 0;

	if (w->count != 4)
		mc_bad(req, MC_ERR_UNKNOWN);
	else if (!mc_read_i32(w->token[2], &from) || !mc_read_i32(w->token[3], &to))
		mc_bad(req, MC_ERR_FORMAT);
	req->admin.number[0] = from;
	req->admin.number[1] = to;
}

static void
automove_ratio_read(struct mc_req *req, const struct mc_tokens *w, enum mc_option option)
{
	req->admin.option = (uint8_t)option;
	if (w->count < 4 || !mc_read_thousandths(w->token[3], &req->admin.number[0]))
		mc_bad(req, MC_ERR_UNKNOWN);
}

static void
automove_read(struct mc_req *req, const struct mc_tokens *w)
{
	struct mc_admin *admin = &req->admin;
	uint32_t n = 0;

	if (w->count < 3) {
		mc_bad(req, MC_ERR_UNKNOWN);
	} else if (is(w->token[2], "ratio")) {
		automove_ratio_read(req, w, MC_OPTION_RATIO);
	} else if (is(w->token[2], "freeratio")) {
		automove_ratio_read(req, w, MC_OPTION_FREERATIO);
	} else if (is(w->token[2], "window")) {
		admin->option = MC_OPTION_WINDOW;
		if (w->count < 4 || !mc_read_u32(w->token[3], &n))
			mc_bad(req, MC_ERR_FORMAT);
		else if (n < WINDOW_MIN || n > WINDOW_MAX)
			mc_bad(req, MC_ERR_AUTOMOVE_WINDOW);
		admin->number[0] = n;
	} else {
		admin->option = MC_OPTION_LEVEL;
		if (!mc_read_u32(w->token[2], &n))
			mc_bad(req, MC_ERR_FORMAT);
		else if (n > 2)
			mc_bad(req, MC_ERR_UNKNOWN);
		admin->number[0] = n;
	}
}

/* Reads lru tune <hot> <warm> <hot factor> <warm factor>. */
static void
lru_tune_read(struct mc_req *req, const struct mc_tokens *w)
{
	int64_t hot_factor, warm_factor;
	uint32_t hot, warm;

	if (w->count < 6 || !mc_read_u32(w->token[2], &hot) || !mc_read_u32(w->token[3], &warm) ||
	    !mc_read_thousandths(w->token[4], &hot_factor) ||
	    !mc_read_thousandths(w->token[5], &warm_factor))
		mc_bad(req, MC_ERR_UNKNOWN);
	else if ((uint64_t)hot + warm > LRU_PERCENT)
		mc_bad(req, MC_ERR_LRU_PERCENT);
	else if (hot_factor <= 0 || warm_factor <= 0)
		mc_bad(req, MC_ERR_LRU_FACTOR);
}

static void
lru_mode_read(struct mc_req *req, const struct mc_tokens *w)
{
	if (w->count >= 3 && is(w->token[2], "flat"))
		req->admin.option = MC_OPTION_FLAT;
	else if (w->count >= 3 && is(w->token[2], "segmented"))
		req->admin.option = MC_OPTION_SEGMENTED;
	else
		mc_bad(req, MC_ERR_UNKNOWN);
}

static void
lru_ttl_read(struct mc_req *req, const struct mc_tokens *w)
{
	int32_t ttl_s = 0;

	if (w->count < 3 || !mc_read_i32(w->token[2], &ttl_s))
		mc_bad(req, MC_ERR_UNKNOWN);
	req->admin.number[0] = ttl_s;
}

/* Reads extstore free_memchunks <class> <n>. */
static void
ext_chunks_read(struct mc_req *req, const struct mc_tokens *w)
{
	uint32_t class, n;

	if (w->count < 4 || !mc_read_u32(w->token[2], &class) || !mc_read_u32(w->token[3], &n) ||
	    class > EXT_CLASS_MAX)
		mc_bad(req, MC_ERR_UNKNOWN);
}

static void
ext_number_read(struct mc_req *req, const struct mc_tokens *w)
{
	uint32_t n;

	if (w->count < 3 || !mc_read_u32(w->token[2], &n))
		mc_bad(req, MC_ERR_UNKNOWN);
}

static void
ext_share_read(struct mc_req *req, const struct mc_tokens *w)
{
	int64_t share;

	if (w->count < 3 || !mc_read_thousandths(w->token[2], &share))
		mc_bad(req, MC_ERR_UNKNOWN);
}

static void
two_tokens_read(struct mc_req *req, const struct mc_tokens *w)
{
	if (w->count != 2)
		mc_bad(req, MC_ERR_UNKNOWN);
}

void
mc_admin_read(struct mc_req *req, const struct mc_tokens *w, enum mc_syntax syntax)
{
	static void (*const readers[MC_SYNTAX_END])(struct mc_req *, const struct mc_tokens *) = {
		[MC_SYNTAX_LEVEL] = level_read,           [MC_SYNTAX_MEGABYTES] = megabytes_read,
		[MC_SYNTAX_SHUTDOWN] = shutdown_read,     [MC_SYNTAX_DETAIL] = detail_read,
		[MC_SYNTAX_CACHEDUMP] = cachedump_read,   [MC_SYNTAX_STREAMS] = streams_read,
		[MC_SYNTAX_TWO_TOKENS] = two_tokens_read, [MC_SYNTAX_SLEEP] = only_number_read,
		[MC_SYNTAX_COUNT] = only_number_read,     [MC_SYNTAX_CLASSES] = classes_read,
		[MC_SYNTAX_REASSIGN] = reassign_read,     [MC_SYNTAX_AUTOMOVE] = automove_read,
		[MC_SYNTAX_LRU_TUNE] = lru_tune_read,     [MC_SYNTAX_LRU_MODE] = lru_mode_read,
		[MC_SYNTAX_LRU_TTL] = lru_ttl_read,       [MC_SYNTAX_EXT_CHUNKS] = ext_chunks_read,
		[MC_SYNTAX_EXT_NUMBER] = ext_number_read, [MC_SYNTAX_EXT_SHARE] = ext_share_read,
	};

	memset(&req->admin, 0, sizeof req->admin);
	if (readers[syntax] != NULL)
		readers[syntax](req, w);
}
