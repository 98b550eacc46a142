/*
 * config_man.h - prints the tables of options as parts of manual pages.
 *
 * Shape:  man(7) source on a stream, from .TP to .TP; the program prints the headings.
 * Thread: one, when the program is built.
 */
#ifndef CLOCKOO_CONFIG_MAN_H
#define CLOCKOO_CONFIG_MAN_H

#include "config.h"

/* Prints .TH and the section NAME; version is the program's. */
void config_man_title(FILE *out, const char *name, const char *section, const char *version,
		      const char *words);
/* Prints text for man(7), with dashes, dots and backslashes escaped. */
void config_man_text(FILE *out, const char *text);

/* Prints the options with a letter or two dashes, the names after -o, and memcached's options
 * that have no effect. */
void config_man_options(FILE *out);
/* Prints the sections and keys of the configuration file. */
void config_man_keys(FILE *out);

#endif
