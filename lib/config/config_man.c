/*
 * config_man.c - the tables of options and keys as man(7) paragraphs.
 */
#include "config_man.h"
#include "config_file.h"

#include <string.h>

void
config_man_text(FILE *out, const char *text)
{
	if (*text == '.' || *text == '\'')
		fputs("\\&", out); /* else it would begin a request */
	for (; *text != '\0'; text++) {
		if (*text == '\\')
			fputs("\\e", out);
		else if (*text == '-')
			fputs("\\-", out);
		else
			fputc(*text, out);
	}
}

void
config_man_head(FILE *out, char letter, const char *name, const char *arg)
{
	fputs(".TP\n", out);
	if (letter != 0)
		fprintf(out, "\\fB\\-%c\\fR, ", letter);
	fputs("\\fB\\-\\-", out);
	config_man_text(out, name);
	fputs("\\fR", out);
	if (arg != NULL) {
		fputs(" \\fI", out);
		config_man_text(out, arg);
		fputs("\\fR", out);
	}
	fputc('\n', out);
}

/* Why an option does nothing, or what it does. */
static void
put_help(FILE *out, const struct option_row *row)
{
	if (row->kind == OPTION_REFUSED)
		fputs("Refused: ", out);
	else if (row->kind == OPTION_IGNORED)
		fputs("Ignored: ", out);
	config_man_text(out, row->help);
	fputc('\n', out);
}

static bool
is_ignored(const struct option_row *row)
{
	return row->kind == OPTION_IGNORED || row->kind == OPTION_REFUSED;
}

void
config_man_options(FILE *out)
{
	for (uint32_t i = 0; i < option_row_count; i++) {
		const struct option_row *row = &option_rows[i];

		config_man_head(out, row->letter, row->name, row->arg);
		put_help(out, row);
	}
}

/* Names next to each other that have the same reason to do nothing share a paragraph. */
static uint32_t
put_extended(FILE *out, uint32_t at)
{
	const struct option_row *first = &extended_rows[at];
	const char *comma = "";

	fputs(".TP\n", out);
	do {
		fprintf(out, "%s\\fB", comma);
		config_man_text(out, extended_rows[at].name);
		fputs("\\fR", out);
		if (extended_rows[at].arg != NULL && !is_ignored(first))
			fprintf(out, "=\\fI%s\\fR", extended_rows[at].arg);
		comma = ", ";
		at++;
	} while (at < extended_row_count && is_ignored(first) &&
		 extended_rows[at].kind == first->kind &&
		 strcmp(extended_rows[at].help, first->help) == 0);
	fputc('\n', out);
	put_help(out, first);
	return at;
}

void
config_man_extended(FILE *out)
{
	for (uint32_t i = 0; i < extended_row_count;)
		i = put_extended(out, i);
}

static void
put_key(FILE *out, const struct option_row *row)
{
	const bool extended = extended_by_name(row->name, strlen(row->name)) == row;

	fputs(".TP\n\\fB", out);
	config_man_text(out, strchr(row->key, '.') + 1);
	fputs("\\fR: \\fI", out);
	config_man_text(out, row->kind == OPTION_FLAG ? "yes|no"
			     : row->arg != NULL       ? row->arg
						      : "N");
	fputs("\\fR\n", out);
	config_man_text(out, row->help);
	fprintf(out, ".\nOn the command line: \\fB%s", extended ? "\\-o " : "\\-\\-");
	config_man_text(out, row->name);
	fputs("\\fR.\n", out);
}

void
config_man_keys(FILE *out)
{
	for (const struct config_section *s = config_sections; s->name != NULL; s++) {
		fprintf(out, ".SS %s\n", s->name);
		config_man_text(out, s->title);
		fputs(":\n", out);
		for (uint32_t i = 0; i < option_count(); i++) {
			const struct option_row *row = option_at(i);

			if (row->key != NULL && config_section_has(s, row->key))
				put_key(out, row);
		}
	}
}
