#include "script_reader.h"

#include "base/check.h"

#include <stdlib.h>

#define USE_DEPTH 8u

struct script_define {
	char *name;
	struct script_steps steps;
	bool own;    /* the script stands in a file that was named, not included */
	bool closed; /* its file has been read, and other files do not see it */
};

static bool read_file(struct script_book *book, const char *path, uint32_t depth);

/* Returns the array with room for one more; its size doubles. */
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

bool
reader_bad(struct reader *r, const char *expected)
{
	snprintf(r->book->error, sizeof r->book->error, "%s:%u: expected %s, got '%s'", r->at.file,
		 r->at.line, expected, words_next(&r->w));
	return false;
}

void
reader_add(struct reader *r, const struct script_step *step)
{
	struct script_steps *to = r->into;

	to->step = grow(to->step, to->count, &to->room, sizeof *to->step);
	to->step[to->count] = *step;
	to->count++;
}

/* ---- settings ---- */

/* A setting is a member of struct script: yes or no, a number of 32 bits, or a time of 64. */
#define SETTING(word, member)                                                                      \
	{                                                                                          \
		word, offsetof(struct script, member), sizeof(((struct script *)0)->member)        \
	}
static const struct {
	const char *word;
	size_t at, size;
} settings[] = {
	SETTING("conns", stack.tcp.conns_max),
	SETTING("chunks", stack.tcp.chunks),
	SETTING("rx-frames", stack.net.rx_frames_max),
	SETTING("keepalive", stack.tcp.keepalive_idle_ns),
	SETTING("mtu", mtu),
	SETTING("kernel", kernel),
	SETTING("timestamps", stack.tcp.timestamps),
	SETTING("congestion", stack.tcp.congestion),
	SETTING("ecn", stack.tcp.ecn),
};

/* Reads "set ip" with 4, 6 or link6. */
static bool
set_ip(struct reader *r)
{
	static const char *const words[LOCAL_COUNT] = {
		[LOCAL_V4] = "4", [LOCAL_LINK6] = "link6", [LOCAL_GLOBAL6] = "6"};

	r->script->local_said = true;
	for (uint32_t i = 0; i < LOCAL_COUNT; i++)
		if (words[i] != NULL && words_is(&r->w, words[i])) {
			r->script->local = i;
			return true;
		}
	return reader_bad(r, "4, 6 or link6");
}

/* Reads a number, or a name of one. */
static bool
setting_number(struct reader *r, uint32_t *n)
{
	static const struct {
		const char *word;
		uint32_t n;
	} names[] = {{"cubic", CC_CUBIC},      {"newreno", CC_NEWRENO}, {"dctcp", CC_DCTCP},
		     {"passive", ECN_PASSIVE}, {"on", ECN_ON},          {"off", ECN_OFF}};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (words_is(&r->w, names[i].word)) {
			*n = names[i].n;
			return true;
		}
	return reader_u32(r, n);
}

static bool
line_set(struct reader *r)
{
	if (r->script == NULL)
		return reader_bad(r, "set in a script, not outside");
	if (words_is(&r->w, "ip"))
		return set_ip(r);
	for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
		uint8_t *to = (uint8_t *)r->script + settings[i].at;
		uint64_t ns;
		uint32_t n;

		if (!words_is(&r->w, settings[i].word))
			continue;
		if (settings[i].size == sizeof(bool)) {
			*to = words_is(&r->w, "yes");
			return *to || words_is(&r->w, "no") ? true : reader_bad(r, "yes or no");
		}
		if (settings[i].size == sizeof(uint64_t)) {
			if (!reader_time(r, &ns))
				return false;
			memcpy(to, &ns, sizeof ns);
			return true;
		}
		if (!setting_number(r, &n))
			return false;
		memcpy(to, &n, sizeof n);
		return true;
	}
	return reader_bad(r, "a setting");
}

/* ---- lines ---- */

static bool
line_script(struct reader *r)
{
	struct script_book *b = r->book;

	if (words_rest(&r->w)[0] == 0)
		return reader_bad(r, "a title");
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
		return reader_bad(r, "one rule, in a script");
	r->script->rule = keep(words_take_rest(&r->w));
	return true;
}

static bool
line_define(struct reader *r)
{
	struct script_book *b = r->book;
	struct script_define *d;

	for (uint32_t i = 0; i < b->define_count; i++)
		if (!b->define[i].closed && strcmp(b->define[i].name, words_next(&r->w)) == 0)
			return reader_bad(r, "a name not yet taken");
	b->define = grow(b->define, b->define_count, &b->define_room, sizeof *b->define);
	d = &b->define[b->define_count++];
	*d = (struct script_define){.name = keep(words_take_rest(&r->w)), .own = r->depth == 0};
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

		if (b->define[i].closed || !words_is(&r->w, b->define[i].name))
			continue;
		if (r->into == &b->define[i].steps)
			break;
		for (uint32_t k = 0; k < from.count; k++) {
			struct script_step st = from.step[k];

			st.via = r->at;
			reader_add(r, &st);
		}
		return true;
	}
	return reader_bad(r, "the name of a define above");
}

static bool
line_include(struct reader *r)
{
	char path[512];
	const char *slash = strrchr(r->at.file, '/');
	const int dir = slash != NULL ? (int)(slash + 1 - r->at.file) : 0;

	if (r->depth == USE_DEPTH)
		return reader_bad(r, "no such depth of includes");
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
read_line(struct reader *r, char *line)
{
	words_begin(&r->w, line);
	if (words_end(&r->w))
		return true;
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
		if (!words_is(&r->w, lines[i].word))
			continue;
		if (r->into == NULL && lines[i].line == line_use)
			return reader_bad(r, "script or define before use");
		return lines[i].line(r) &&
		       (words_end(&r->w) || reader_bad(r, "the end of the line"));
	}
	return reader_step(r) && (words_end(&r->w) || reader_bad(r, "the end of the line"));
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
	if (!read_file(book, path, 0))
		return false;
	for (uint32_t i = 0; i < book->define_count; i++)
		book->define[i].closed = book->define[i].own;
	return true;
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
