/*
 * options.h - the table of options and its rows' meaning; private to lib/config.
 *
 * Shape:  a row fills one field of struct config, found by its offset.
 * Bounds: a number lies in min..max; a text fits its field with its zero byte.
 */
#ifndef CLOCKOO_OPTIONS_H
#define CLOCKOO_OPTIONS_H

#include "config.h"

enum option_kind {
	OPTION_NUMBER, /* uint32_t */
	OPTION_SIZE,   /* uint32_t of bytes; k and m multiply */
	OPTION_TEXT,   /* char[max] */
	OPTION_FLAG,   /* bool */
	OPTION_COUNT,  /* uint32_t, one more each time it is said */
	OPTION_PORT,   /* profile or PCI address */
	OPTION_ADDRESS,
	OPTION_GATEWAY,
	OPTION_LCORES,
	OPTION_HELP,
	OPTION_VERSION,
};

struct option_row {
	const char *name;
	char letter; /* 0 = none */
	enum option_kind kind;
	size_t at; /* offset in struct config */
	uint32_t min, max;
	const char *arg; /* how --help calls the value; NULL = takes none */
	const char *words;
};

extern const struct option_row option_rows[];
extern const uint32_t option_row_count;

/* Read value into the row's field. */
bool option_store(struct config *cfg, const struct option_row *row, const char *value,
		  struct fault *f);

#endif
