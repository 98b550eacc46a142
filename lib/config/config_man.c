/*
 * config_man.c - prints the tables of options and keys as parts of the manual pages.
 */
#include "config_man.h"
#include "config_file.h"

#include <string.h>

void
config_man_text(FILE *out, const char *text)
{
	if (*text == '.' || *text == '\'')
		fputs("\\&", out); /* unescaped, the text would begin a request */
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
config_man_title(FILE *out, const char *name, const char *section, const char *version,
		 const char *words)
{
	fprintf(out, ".TH %s %s \"\" \"Clockoo %s\" \"Clockoo\"\n.SH NAME\n%s \\- %s\n", name,
		section, version, name, words);
}

/* Prints .TP and its first line: the option in bold, its value in italics. */
static void
put_head(FILE *out, const struct option_row *row)
{
	fputs(".TP\n", out);
	if (row->letter != 0)
		fprintf(out, "\\fB\\-%c\\fR, ", row->letter);
	fputs("\\fB\\-\\-", out);
	config_man_text(out, row->name);
	fputs("\\fR", out);
	if (row->arg != NULL) {
		fputs(" \\fI", out);
		config_man_text(out, row->arg);
		fputs("\\fR", out);
	}
	fputc('\n', out);
}

void
option_rows_man(const struct option_row *rows, uint32_t count, FILE *out)
{
	for (uint32_t i = 0; i < count; i++) {
		put_head(out, &rows[i]);
		config_man_text(out, rows[i].help);
		fputc('\n', out);
	}
}

void
config_man_options(FILE *out)
{
	static const struct option_style style = {
		.title = {".SS Options of memcached that are ", "\n"},
		.row = ".TP\n",
		.extended = "\\fB\\-o\\fR ",
		.reason = "\n",
		.end = "\n",
		.quotes = {"\\fB", "\\fR"},
		.text = config_man_text,
	};

	for (uint32_t n = 0; n < option_count(); n++) {
		const struct option_row *row = option_at(n);

		if (n == option_row_count)
			fputs(".SS Extended options (\\-o), comma separated\n", out);
		if (!option_has_effect(row))
			continue;
		if (n < option_row_count) {
			put_head(out, row);
		} else {
			fputs(".TP\n", out);
			option_print_name(out, row, &style);
			fprintf(out, "%s\\fI%s\\fR\n", row->arg != NULL ? "=" : "",
				row->arg != NULL ? row->arg : "");
		}
		config_man_text(out, row->help);
		fputc('\n', out);
	}
	option_print_reasons(out, &style);
}

static void
put_key(FILE *out, const struct option_row *row)
{
	const bool extended = option_number(row) >= option_row_count;

	fputs(".TP\n\\fB", out);
	config_man_text(out, strchr(row->key, '.') + 1);
	fputs("\\fR: \\fI", out);
	config_man_text(out, row->kind == OPTION_FLAG ? "yes|no"
			     : row->arg != NULL       ? row->arg
						      : "N");
	fputs("\\fR\n", out);
	config_man_text(out, row->help);
	fprintf(out, ";\noption \\fB%s", extended ? "\\-o " : "\\-\\-");
	config_man_text(out, row->name);
	fputs("\\fR\n", out);
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
