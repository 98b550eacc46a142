#include "script_words.h"

#include <ctype.h>
#include <stdlib.h>

#define SIGNS "+:,/<>*"

/* Reads the next word of the line. */
static void
fetch(struct words *w)
{
	uint32_t n = 0;

	w->at += strspn(w->at, " \t");
	if (*w->at != 0 && strchr(SIGNS, *w->at) != NULL)
		n = 1;
	else if (w->at[0] == 'x' && isdigit((unsigned char)w->at[1]))
		n = 1;
	else
		n = (uint32_t)strcspn(w->at, " \t" SIGNS);
	snprintf(w->next, sizeof w->next, "%.*s", (int)n, w->at);
}

void
words_begin(struct words *w, char *line)
{
	line[strcspn(line, "#\r\n")] = 0;
	for (size_t n = strlen(line); n > 0 && isspace((unsigned char)line[n - 1]); n--)
		line[n - 1] = 0;
	w->at = line;
	fetch(w);
}

bool
words_end(const struct words *w)
{
	return w->next[0] == 0;
}

const char *
words_next(const struct words *w)
{
	return w->next;
}

bool
words_skip(struct words *w)
{
	const size_t taken = strlen(w->next);
	const size_t whole = strcspn(w->at, " \t" SIGNS);

	w->at += taken == WORD_BYTES - 1 && whole > taken ? whole : taken;
	fetch(w);
	return true;
}

bool
words_is(struct words *w, const char *word)
{
	return strcmp(w->next, word) == 0 && word[0] != 0 && words_skip(w);
}

bool
words_is_number(const struct words *w)
{
	const char *p = w->next + (w->next[0] == '-');

	return isdigit((unsigned char)*p);
}

bool
words_number(struct words *w, int64_t *to)
{
	char *end;

	if (!words_is_number(w))
		return false;
	*to = strtoll(w->next, &end, 0);
	return *end == 0 && words_skip(w);
}

bool
words_time(struct words *w, uint64_t *ns)
{
	static const struct {
		const char *unit;
		double ns;
	} units[] = {{"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1}};
	char *end;
	double n;

	if (!isdigit((unsigned char)w->next[0]))
		return false;
	n = strtod(w->next, &end);
	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (strcmp(end, units[i].unit) == 0) {
			*ns = (uint64_t)(n * units[i].ns + 0.5);
			return words_skip(w);
		}
	return false;
}

uint32_t
words_hex(struct words *w, uint8_t *to, uint32_t room)
{
	const char *p = w->next;
	uint32_t n = 0;

	while (isxdigit((unsigned char)p[0]) && isxdigit((unsigned char)p[1]) && n < room) {
		const char digits[3] = {p[0], p[1], 0};

		to[n++] = (uint8_t)strtoul(digits, NULL, 16);
		p += 2;
	}
	if (*p != 0)
		return 0;
	words_skip(w);
	return n;
}

const char *
words_rest(const struct words *w)
{
	return w->at;
}

const char *
words_take_rest(struct words *w)
{
	snprintf(w->rest, sizeof w->rest, "%s", w->at);
	w->at += strlen(w->at);
	w->next[0] = 0;
	return w->rest;
}
