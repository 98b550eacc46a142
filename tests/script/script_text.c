#include "script.h"

#include "script_words.h"

#include "base/check.h"

#include <stdlib.h>

#define USE_DEPTH     8u
#define DEFAULT_WIN   60000u
#define TIMES_MAX     256u
#define TEXT_IN_FRAME 1500u

struct script_define {
	char *name;
	struct script_steps steps;
};

/* Where the text stands while it is read. */
struct reader {
	struct script_book *book;
	struct words w;
	struct script_where at;
	struct script_steps *into; /* steps go here; NULL: no script has begun */
	struct script *script;     /* NULL: steps of a define */
	uint32_t depth;
};

static bool read_file(struct script_book *book, const char *path, uint32_t depth);

/* Room for one more in an array that doubles. */
static void *
grow(void *array, uint32_t count, uint32_t *room, size_t size)
{
	if (count < *room)
		return array;
	*room = *room == 0 ? 16 : *room * 2;
	array = realloc(array, *room * size);
	ensure(array != NULL);
	return array;
}

static char *
keep(const char *text)
{
	char *copy = strdup(text);

	ensure(copy != NULL);
	return copy;
}

static bool
bad(struct reader *r, const char *expected)
{
	snprintf(r->book->error, sizeof r->book->error, "%s:%u: expected %s, got '%s'", r->at.file,
		 r->at.line, expected, words_next(&r->w));
	return false;
}

static struct script_step *
add_step(struct reader *r, const struct script_step *step)
{
	struct script_steps *to = r->into;

	to->step = grow(to->step, to->count, &to->room, sizeof *to->step);
	to->step[to->count] = *step;
	return &to->step[to->count++];
}

/* ---- segments ---- */

static const char *const flag_names[] = {"FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR"};

/* "SYN-ACK", "none". */
static bool
read_flags(struct reader *r, uint8_t *flags)
{
	const char *word = words_next(&r->w);

	*flags = 0;
	if (words_is(&r->w, "none"))
		return true;
	while (*word != 0) {
		const uint32_t n = (uint32_t)strcspn(word, "-");
		uint32_t i = 0;

		while (i < 8 && !(n == 3 && strncmp(word, flag_names[i], 3) == 0))
			i++;
		if (i == 8)
			return bad(r, "flags such as SYN, FIN-ACK or none");
		*flags |= (uint8_t)(1u << i);
		word += n + (word[n] == '-');
	}
	return *flags != 0 ? words_skip(&r->w) : bad(r, "flags such as SYN, FIN-ACK or none");
}

static bool
read_number(struct reader *r, int64_t least, int64_t most, int64_t *to)
{
	const struct words before = r->w;

	if (words_number(&r->w, to) && *to >= least && *to <= most)
		return true;
	r->w = before;
	return bad(r, "a number that fits here");
}

static bool
read_u32(struct reader *r, uint32_t *to)
{
	int64_t n;

	if (!read_number(r, INT32_MIN, UINT32_MAX, &n))
		return false;
	*to = (uint32_t)n;
	return true;
}

/* A time stamp, or * for any. */
static bool
read_stamp(struct reader *r, uint32_t *to, bool *any)
{
	*any = words_is(&r->w, "*");
	return *any || read_u32(r, to);
}

/* sack 1461:2921 4381:5841 */
static bool
read_sacks(struct reader *r, struct script_options *o)
{
	do {
		if (o->sacks == SCRIPT_SACKS_MAX)
			return bad(r, "at most four blocks");
		if (!read_u32(r, &o->sack[o->sacks][0]))
			return false;
		if (!words_is(&r->w, ":"))
			return bad(r, "':' between the edges of a block");
		if (!read_u32(r, &o->sack[o->sacks][1]))
			return false;
		o->sacks++;
	} while (words_is_number(&r->w));
	return true;
}

static bool
read_option(struct reader *r, struct script_options *o)
{
	int64_t n = 0;

	if (words_is(&r->w, "mss")) {
		o->seen |= OPT_MSS;
		if (!read_number(r, 0, UINT16_MAX, &n))
			return false;
		o->mss = (uint16_t)n;
		return true;
	}
	if (words_is(&r->w, "wscale")) {
		o->seen |= OPT_WSCALE;
		if (!read_number(r, 0, UINT8_MAX, &n))
			return false;
		o->wscale = (uint8_t)n;
		return true;
	}
	if (words_is(&r->w, "sackok")) {
		o->seen |= OPT_SACK_PERMITTED;
		return true;
	}
	if (words_is(&r->w, "ts")) {
		o->seen |= OPT_TIMESTAMPS;
		return read_stamp(r, &o->ts_value, &o->any_value) && words_is(&r->w, "ecr")
			       ? read_stamp(r, &o->ts_echo, &o->any_echo)
			       : bad(r, "ts VALUE ecr VALUE");
	}
	if (words_is(&r->w, "sack")) {
		o->seen |= OPT_SACK;
		return read_sacks(r, o);
	}
	if (words_is(&r->w, "raw")) {
		o->seen |= OPT_RAW;
		o->raw_len = (uint8_t)words_hex(&r->w, o->raw, sizeof o->raw);
		return o->raw_len > 0 ? true : bad(r, "bytes in hexadecimal");
	}
	return bad(r, "mss, wscale, sackok, ts, sack or raw");
}

static bool
read_options(struct reader *r, struct script_options *o)
{
	o->given = true;
	if (words_is(&r->w, ">"))
		return true;
	do {
		if (!read_option(r, o))
			return false;
	} while (words_is(&r->w, ","));
	return words_is(&r->w, ">") ? true : bad(r, "',' or '>'");
}

/* FLAGS SEQ[+LEN] [ack N] [win N] [<options>] [xN] */
static bool
read_segment(struct reader *r, struct script_step *st)
{
	struct script_seg *seg = &st->seg;
	int64_t n = 0;

	seg->window = DEFAULT_WIN;
	st->times = 1;
	if (!read_flags(r, &seg->flags) || !read_u32(r, &seg->seq))
		return false;
	if (words_is(&r->w, "+") && !read_number(r, 1, TEXT_IN_FRAME, &n))
		return false;
	seg->len = (uint32_t)n;
	if (!!(seg->flags & FLAG_ACK) != words_is(&r->w, "ack"))
		return bad(r, "'ack N' where the flags say ACK, and only there");
	if (seg->flags & FLAG_ACK && !read_u32(r, &seg->ack))
		return false;
	if (words_is(&r->w, "win")) {
		if (!read_number(r, 0, UINT16_MAX, &n))
			return false;
		seg->window = (uint16_t)n;
		seg->window_given = true;
	}
	if (words_is(&r->w, "<") && !read_options(r, &seg->opt))
		return false;
	if (words_is(&r->w, "x")) {
		if (!read_number(r, 1, TIMES_MAX, &n))
			return false;
		st->times = (uint32_t)n;
	}
	return true;
}

static bool
parse_in(struct reader *r, struct script_step *st)
{
	if (!read_segment(r, st))
		return false;
	st->seg.bad_cksum = words_is(&r->w, "bad-checksum");
	st->seg.other_text = words_is(&r->w, "other-text");
	return !st->seg.opt.any_value && !st->seg.opt.any_echo ? true : bad(r, "no * here");
}

static bool
parse_out(struct reader *r, struct script_step *st)
{
	return read_segment(r, st);
}

/* icmp TYPE/CODE [mtu N] quoting SEQ */
static bool
parse_icmp(struct reader *r, struct script_step *st)
{
	int64_t type, code, mtu = 0;

	if (!read_number(r, 0, UINT8_MAX, &type))
		return false;
	if (!words_is(&r->w, "/"))
		return bad(r, "TYPE/CODE");
	if (!read_number(r, 0, UINT8_MAX, &code))
		return false;
	if (words_is(&r->w, "mtu") && !read_number(r, 0, UINT16_MAX, &mtu))
		return false;
	st->which = (uint32_t)(type << 8 | code);
	st->number = (uint64_t)mtu;
	return words_is(&r->w, "quoting") ? read_number(r, INT32_MIN, UINT32_MAX, &st->seq)
					  : bad(r, "quoting SEQ");
}

/* ---- the other verbs ---- */

static bool
parse_none(struct reader *r, struct script_step *st)
{
	return true;
}

static bool
parse_count(struct reader *r, struct script_step *st)
{
	int64_t n;

	if (!read_number(r, 0, UINT32_MAX, &n))
		return false;
	st->number = (uint64_t)n;
	return true;
}

static bool
parse_time(struct reader *r, struct script_step *st)
{
	return words_time(&r->w, &st->number) ? true : bad(r, "a time such as 40ms, 1.5s or 20us");
}

static bool
parse_yes(struct reader *r, struct script_step *st)
{
	st->number = words_is(&r->w, "yes");
	return st->number || words_is(&r->w, "no") ? true : bad(r, "yes or no");
}

static bool
parse_state(struct reader *r, struct script_step *st)
{
	for (st->which = 0; st->which < SCRIPT_STATES; st->which++)
		if (words_is(&r->w, script_states[st->which]))
			return true;
	return bad(r, "a state of RFC 9293");
}

static bool
parse_counter(struct reader *r, struct script_step *st)
{
	for (st->which = 0; st->which < STACK_COUNTER_COUNT; st->which++)
		if (words_is(&r->w, stack_counter_names[st->which].symbol))
			return parse_count(r, st);
	return bad(r, "a counter of lib/stack/stack_counters.h");
}

static const struct {
	const char *word;
	enum script_verb verb;
	bool (*parse)(struct reader *r, struct script_step *st);
} verbs[] = {
	{"in", DO_IN, parse_in},
	{"out", DO_OUT, parse_out},
	{"icmp", DO_ICMP, parse_icmp},
	{"silence", DO_SILENCE, parse_none},
	{"wait", DO_WAIT, parse_time},
	{"from", DO_FROM, parse_count},
	{"read", DO_READ, parse_count},
	{"reading", DO_READING, parse_none},
	{"write", DO_WRITE, parse_count},
	{"close", DO_CLOSE, parse_none},
	{"abort", DO_ABORT, parse_none},
	{"drain", DO_DRAIN, parse_none},
	{"opened", DO_OPENED, parse_count},
	{"gone", DO_GONE, parse_count},
	{"eof", DO_EOF, parse_yes},
	{"readable", DO_READABLE, parse_count},
	{"held", DO_HELD, parse_count},
	{"state", DO_STATE, parse_state},
	{"count", DO_COUNT, parse_counter},
};

/* ---- settings ---- */

/* A member of struct script, of 32 or 64 bits; times are of 64. */
#define SETTING(word, member)                                                                      \
	{                                                                                          \
		word, offsetof(struct script, member), sizeof(((struct script *)0)->member)        \
	}
static const struct {
	const char *word;
	size_t at, size;
} settings[] = {
	SETTING("conns", stack.conns_max),
	SETTING("chunks", stack.chunks),
	SETTING("rx-frames", stack.rx_frames_max),
	SETTING("keepalive", stack.keepalive_idle_ns),
	SETTING("mtu", mtu),
};

static bool
line_set(struct reader *r)
{
	if (r->script == NULL)
		return bad(r, "set in a script, not outside");
	for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
		uint8_t *to = (uint8_t *)r->script + settings[i].at;
		struct script_step st = {0};
		uint32_t n;

		if (!words_is(&r->w, settings[i].word))
			continue;
		if (settings[i].size == sizeof(uint64_t)) {
			if (!parse_time(r, &st))
				return false;
			memcpy(to, &st.number, sizeof st.number);
			return true;
		}
		if (!read_u32(r, &n))
			return false;
		memcpy(to, &n, sizeof n);
		return true;
	}
	return bad(r, "a setting");
}

/* ---- lines ---- */

static bool
line_script(struct reader *r)
{
	struct script_book *b = r->book;

	if (words_rest(&r->w)[0] == 0)
		return bad(r, "a title");
	b->script = grow(b->script, b->count, &b->room, sizeof *b->script);
	r->script = &b->script[b->count++];
	*r->script = (struct script){
		.title = keep(words_take_rest(&r->w)),
		.at = r->at,
		.stack = sim_config(1),
		.mtu = MEM_MTU,
	};
	r->into = &r->script->steps;
	return true;
}

static bool
line_rule(struct reader *r)
{
	if (r->script == NULL || r->script->rule != NULL)
		return bad(r, "one rule, in a script");
	r->script->rule = keep(words_take_rest(&r->w));
	return true;
}

static bool
line_define(struct reader *r)
{
	struct script_book *b = r->book;
	struct script_define *d;

	for (uint32_t i = 0; i < b->define_count; i++)
		if (strcmp(b->define[i].name, words_next(&r->w)) == 0)
			return bad(r, "a name not yet taken");
	b->define = grow(b->define, b->define_count, &b->define_room, sizeof *b->define);
	d = &b->define[b->define_count++];
	*d = (struct script_define){.name = keep(words_take_rest(&r->w))};
	r->script = NULL;
	r->into = &d->steps;
	return true;
}

static bool
line_use(struct reader *r)
{
	struct script_book *b = r->book;

	for (uint32_t i = 0; i < b->define_count; i++) {
		const struct script_steps from = b->define[i].steps;

		if (!words_is(&r->w, b->define[i].name))
			continue;
		if (r->into == &b->define[i].steps)
			break;
		for (uint32_t k = 0; k < from.count; k++)
			add_step(r, &from.step[k])->via = r->at;
		return true;
	}
	return bad(r, "the name of a define above");
}

static bool
line_include(struct reader *r)
{
	char path[512];
	const char *slash = strrchr(r->at.file, '/');
	const int dir = slash != NULL ? (int)(slash + 1 - r->at.file) : 0;

	if (r->depth == USE_DEPTH)
		return bad(r, "no such depth of includes");
	snprintf(path, sizeof path, "%.*s%s", dir, r->at.file, words_take_rest(&r->w));
	for (uint32_t i = 0; i < r->book->file_count; i++)
		if (strcmp(r->book->file[i], path) == 0)
			return true;
	r->into = NULL;
	r->script = NULL;
	return read_file(r->book, path, r->depth + 1);
}

static const struct {
	const char *word;
	bool (*line)(struct reader *r);
} lines[] = {
	{"script", line_script}, {"rule", line_rule}, {"define", line_define},
	{"use", line_use},       {"set", line_set},   {"include", line_include},
};

static bool
line_step(struct reader *r)
{
	for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
		struct script_step st = {.verb = verbs[i].verb, .at = r->at};

		if (!words_is(&r->w, verbs[i].word))
			continue;
		if (r->into == NULL)
			return bad(r, "script or define before the first step");
		if (!verbs[i].parse(r, &st))
			return false;
		add_step(r, &st);
		return true;
	}
	return bad(r, "a verb");
}

static bool
read_line(struct reader *r, char *line)
{
	words_begin(&r->w, line);
	if (words_end(&r->w))
		return true;
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
		if (!words_is(&r->w, lines[i].word))
			continue;
		if (r->into == NULL && lines[i].line == line_use)
			return bad(r, "script or define before use");
		return lines[i].line(r) && (words_end(&r->w) || bad(r, "the end of the line"));
	}
	return line_step(r) && (words_end(&r->w) || bad(r, "the end of the line"));
}

static bool
read_file(struct script_book *book, const char *path, uint32_t depth)
{
	struct reader r = {.book = book, .depth = depth};
	FILE *f = fopen(path, "r");
	char *line = NULL;
	size_t room = 0;
	bool good = true;

	if (f == NULL) {
		snprintf(book->error, sizeof book->error, "%s:0: cannot be read", path);
		return false;
	}
	book->file = grow(book->file, book->file_count, &book->file_room, sizeof *book->file);
	r.at.file = book->file[book->file_count++] = keep(path);
	while (good && getline(&line, &room, f) > 0) {
		r.at.line++;
		good = read_line(&r, line);
	}
	free(line);
	fclose(f);
	return good;
}

bool
script_book_read(struct script_book *book, const char *path)
{
	for (uint32_t i = 0; i < book->file_count; i++)
		if (strcmp(book->file[i], path) == 0)
			return true;
	return read_file(book, path, 0);
}

void
script_book_free(struct script_book *b)
{
	for (uint32_t i = 0; i < b->count; i++) {
		free(b->script[i].title);
		free(b->script[i].rule);
		free(b->script[i].steps.step);
	}
	for (uint32_t i = 0; i < b->define_count; i++) {
		free(b->define[i].name);
		free(b->define[i].steps.step);
	}
	for (uint32_t i = 0; i < b->file_count; i++)
		free(b->file[i]);
	free(b->script);
	free(b->define);
	free(b->file);
}
