/*
 * option_words.c - parses a command line word by word: --name VALUE, --name=VALUE, -x VALUE,
 * -xVALUE, -xyz.
 */
#include "options.h"

#include <string.h>

/* Returns the word after the option, which is its value. */
static const char *
next_word(const struct option_reader *r, int *at, const struct option_row *row, struct error *err)
{
	if (*at + 1 >= r->argc) {
		error_set(err, "--%s: expected a value (%s) after it", row->name, row->arg);
		return NULL;
	}
	return r->argv[++*at];
}

static enum config_action
read_long(const struct option_reader *r, int *at, struct error *err)
{
	const char *name = r->argv[*at] + 2;
	const char *equals = strchr(name, '=');
	const size_t len = equals != NULL ? (size_t)(equals - name) : strlen(name);
	const struct option_row *row = r->by_name(name, len);
	const char *value = equals != NULL ? equals + 1 : NULL;

	if (row == NULL) {
		r->unknown(name, len, err);
		return CONFIG_ERROR;
	}
	if (row->arg == NULL && value != NULL) {
		error_set(err, "--%s: takes no value", row->name);
		return CONFIG_ERROR;
	}
	if (row->arg != NULL && value == NULL && (value = next_word(r, at, row, err)) == NULL)
		return CONFIG_ERROR;
	return r->apply(r->arg, row, value, err);
}

/* Applies a word of letters, such as -m64, -m 64 or -vv. */
static enum config_action
read_letters(const struct option_reader *r, int *at, struct error *err)
{
	for (const char *p = r->argv[*at] + 1; *p != '\0'; p++) {
		const struct option_row *row = r->by_letter(*p);
		enum config_action action;
		const char *value = NULL;

		if (row == NULL) {
			error_set(err, "-%c: unknown option; --help lists all", *p);
			return CONFIG_ERROR;
		}
		if (row->arg != NULL) {
			value = p[1] != '\0' ? p + 1 : next_word(r, at, row, err);
			if (value == NULL)
				return CONFIG_ERROR;
		}
		action = r->apply(r->arg, row, value, err);
		if (action != CONFIG_RUN || row->arg != NULL)
			return action;
	}
	return CONFIG_RUN;
}

enum config_action
options_read(const struct option_reader *r, struct error *err)
{
	for (int at = 1; at < r->argc; at++) {
		const char *word = r->argv[at];
		enum config_action action;

		if (r->command != NULL && strcmp(word, r->command) == 0) {
			error_set(err, "%s: a command, not an option; it stands before all options",
				  word);
			return CONFIG_ERROR;
		}
		if (word[0] != '-' || word[1] == '\0') {
			error_set(err, "%s: expected an option; --help lists all", word);
			return CONFIG_ERROR;
		}
		action = word[1] == '-' ? read_long(r, &at, err) : read_letters(r, &at, err);
		if (action != CONFIG_RUN)
			return action;
	}
	return CONFIG_RUN;
}
