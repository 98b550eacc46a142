/*
 * config_blame.c - an error line about an option becomes one about a line of the file.
 *
 * Whoever refuses something names the option, as the command line writes it: "--mtu: ...". If the
 * file set it, the operator has to mend the file: so the line names file, line and key, and
 * options in its words become keys.
 */
#include "options.h"

#include <ctype.h>
#include <string.h>

static bool
is_name_char(char c)
{
	return isalnum((unsigned char)c) || c == '-' || c == '_';
}

static size_t
name_len(const char *p)
{
	size_t len = 0;

	while (is_name_char(p[len]))
		len++;
	return len;
}

/* An option at text[at]: "--name", "-x" or "-o name". *len: how long it is. */
static const struct option_row *
option_in(const char *text, size_t at, size_t *len)
{
	const char *p = text + at;

	if (p[0] != '-' || (at != 0 && (is_name_char(p[-1]) || p[-1] == '/')))
		return NULL;
	*len = name_len(p);
	if (p[1] == '-') {
		const struct option_row *row = option_named(p + 2, *len - 2);

		return row != NULL ? row : extended_named(p + 2, *len - 2);
	}
	if (*len != 2)
		return NULL;
	if (p[1] == 'o' && p[2] == ' ') {
		*len = 3 + name_len(p + 3);
		return extended_named(p + 3, *len - 3);
	}
	return option_lettered(p[1]);
}

/* The first option in the words that the file set, or NULL. */
static const struct option_row *
culprit(const struct config_source *src, const char *text)
{
	for (size_t at = 0; text[at] != '\0'; at++) {
		size_t len;
		const struct option_row *row = option_in(text, at, &len);

		if (row != NULL && row->key != NULL && src->line[option_number(row)] != 0)
			return row;
	}
	return NULL;
}

static void
rewrite(char *to, size_t size, const char *text)
{
	size_t used = 0;

	to[0] = '\0';
	for (size_t at = 0; text[at] != '\0' && used < size;) {
		size_t len;
		const struct option_row *row = option_in(text, at, &len);

		if (row != NULL && row->key != NULL) {
			used += (size_t)snprintf(to + used, size - used, "%s", row->key);
			at += len;
		} else {
			used += (size_t)snprintf(to + used, size - used, "%c", text[at]);
			at++;
		}
	}
}

bool
config_blame(const struct config_source *src, struct fault *f)
{
	const struct option_row *row = src->file[0] != '\0' ? culprit(src, f->text) : NULL;
	const enum fault_code code = f->code;
	char words[FAULT_BYTES];
	size_t key_len;

	if (row == NULL)
		return false;
	rewrite(words, sizeof words, f->text);
	key_len = strlen(row->key);
	if (strncmp(words, row->key, key_len) == 0 && strchr(": ", words[key_len]) != NULL)
		return fault_say_as(f, code, "%s:%u: %s", src->file, src->line[option_number(row)],
				    words);
	return fault_say_as(f, code, "%s:%u: %s: %s", src->file, src->line[option_number(row)],
			    row->key, words);
}

bool
config_condemn(const struct config_source *src, struct fault *f)
{
	if (src->file[0] != '\0' && culprit(src, f->text) != NULL)
		f->code = FAULT_CONFIG;
	return config_blame(src, f);
}
