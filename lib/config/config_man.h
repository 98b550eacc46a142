/*
 * config_man.h - the tables of options as parts of manual pages, so that those cannot grow stale.
 *
 * Shape:  man(7) source on a stream, from .TP to .TP; the program puts headings around it.
 * Thread: one, when the program is built.
 */
#ifndef CLOCKOO_CONFIG_MAN_H
#define CLOCKOO_CONFIG_MAN_H

#include "config.h"

/* .TH and the section NAME; version is the program's. */
void config_man_title(FILE *out, const char *name, const char *section, const char *version,
		      const char *words);
/* Text as man(7) shows it: neither dash nor dot nor backslash means anything. */
void config_man_text(FILE *out, const char *text);

/* Options with a letter or two dashes, what may stand after -o, and those of memcached that change
 * nothing. */
void config_man_options(FILE *out);
/* Sections and keys of the file. */
void config_man_keys(FILE *out);

#endif
