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
	OPTION_ADDRESS6,
	OPTION_GATEWAY6,
	OPTION_LISTEN,
	OPTION_NETS,
	OPTION_LCORES,
	OPTION_DELIMITER,
	OPTION_NODES,
	OPTION_OFFLOADS, /* uint32_t, enum offload of profile.h */
	OPTION_PROFILE,
	OPTION_PROTOCOL, /* from here: one of option_words() */
	OPTION_CONGESTION,
	OPTION_STEERING,
	OPTION_HYPERTHREADS,
	OPTION_HUGEPAGE,
	OPTION_POLL,
	OPTION_EXTENDED, /* -o: names of extended_rows */
	OPTION_GIVEN,    /* what it asks for is so anyway */
	OPTION_IDLE,     /* it has no meaning here: a warning at start */
	OPTION_REFUSED,  /* ignoring it would be unsafe or plainly wrong */
	OPTION_HELP,
	OPTION_VERSION,
	OPTION_LICENSE,
	OPTION_CONFIG, /* the file is read before any other option: config_parse */
	OPTION_CHECK,
	OPTION_PRINT,
	OPTION_PLAN,
};

struct option_row {
	const char *name;
	char letter; /* 0 = none */
	enum option_kind kind;
	size_t at; /* offset in struct config */
	uint32_t min, max;
	const char *arg;   /* how --help calls the value, in brackets if it may lack; NULL = none */
	const char *words; /* of GIVEN, IDLE and REFUSED: why */
	bool usage;        /* a wrong value ends with FAULT_USAGE, as memcached does for it */
	const char *key;   /* in a configuration file; NULL = only on the command line */
};

extern const struct option_row option_rows[];
extern const uint32_t option_row_count;
/* What may stand after -o. */
extern const struct option_row extended_rows[];
extern const uint32_t extended_row_count;

/* The row of that name, or NULL. */
const struct option_row *option_named(const char *name, size_t len);
const struct option_row *extended_named(const char *name, size_t len);

/* The row with that letter, or NULL. */
const struct option_row *option_lettered(char letter);

/* Rows of both tables are numbered through: for idle_rows, and for all of them in turn. */
uint32_t option_number(const struct option_row *row);
const struct option_row *option_at(uint32_t number);
uint32_t option_count(void);

/* What an option of that kind may say, by the value it stands for, NULL at the end; or NULL. */
const char *const *option_words(enum option_kind kind);

/* A decimal number and nothing else. */
bool number_of(const char *text, uint32_t *n);

/* addresses.c: one option each. */
bool store_address(struct config *cfg, const char *value, struct fault *f);
bool store_listen(struct config *cfg, const char *value, struct fault *f);
bool store_nets(struct config *cfg, const char *value, struct fault *f);
bool store_gateway(struct config *cfg, const char *value, struct fault *f);
bool store_address6(struct config *cfg, const char *value, struct fault *f);
bool store_gateway6(struct config *cfg, const char *value, struct fault *f);
/* What the options of IPv6 say together; after the one of IPv4 have been settled. */
bool settle_address6(struct config *cfg, struct fault *f);

/* Read value into the row's field. */
bool option_store(struct config *cfg, const struct option_row *row, const char *value,
		  struct fault *f);

#endif
