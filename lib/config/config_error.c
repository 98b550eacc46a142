/*
 * config_error.c - turns an error about an option into one about a line of the file.
 *
 * An error names the option as the command line writes it: "--mtu: ...". If the file set that
 * option, file, line and key replace it, and every option in the text becomes a key.
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

/* Returns the option at text[at], as "--name", "-x" or "-o name", and its length in *len; NULL:
 * there is none. An option of ulimit in the text does not count. */
static const struct option_row *
option_in(const char *text, size_t at, size_t *len)
{
	static const char shell[] = "ulimit ";
	const size_t before = sizeof shell - 1;
	const char *p = text + at;

	if (p[0] != '-' || (at != 0 && (is_name_char(p[-1]) || p[-1] == '/')) ||
	    (at >= before && memcmp(p - before, shell, before) == 0))
		return NULL;
	*len = name_len(p);
	if (p[1] == '-') {
		const struct option_row *row = option_by_name(p + 2, *len - 2);

		return row != NULL ? row : extended_by_name(p + 2, *len - 2);
	}
	if (*len != 2)
		return NULL;
	if (p[1] == 'o' && p[2] == ' ') {
		*len = 3 + name_len(p + 3);
		return extended_by_name(p + 3, *len - 3);
	}
	return option_by_letter(p[1]);
}

/* Returns the first option in the text that the file set, or NULL. */
static const struct option_row *
offending_option(const struct config_source *src, const char *text)
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
config_error_locate(const struct config_source *src, struct error *err)
{
	const struct option_row *row =
		src->file[0] != '\0' ? offending_option(src, err->text) : NULL;
	const enum error_code code = err->code;
	char words[ERROR_BYTES];
	size_t key_len;

	if (row == NULL)
		return false;
	rewrite(words, sizeof words, err->text);
	key_len = strlen(row->key);
	if (strncmp(words, row->key, key_len) == 0 && strchr(": ", words[key_len]) != NULL)
		return error_set_code(err, code, "%s:%u: %s", src->file,
				      src->line[option_number(row)], words);
	return error_set_code(err, code, "%s:%u: %s: %s", src->file, src->line[option_number(row)],
			      row->key, words);
}

bool
config_error_permanent(const struct config_source *src, struct error *err)
{
	if (src->file[0] != '\0' && offending_option(src, err->text) != NULL)
		err->code = ERROR_CONFIG;
	return config_error_locate(src, err);
}
