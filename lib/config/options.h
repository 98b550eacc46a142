/*
 * options.h - tables of options; reads values and command lines by them.
 *
 * The rows of clockoo are in option_rows.c; clockoo-load has a table of its own. Help and manual
 * pages are printed from the same rows (config_man.h).
 *
 * Shape:  a row fills one field, at an offset in struct config or in the program's own struct.
 * Bounds: a number is in min..max; a text fits its field with its zero byte.
 */
#ifndef CLOCKOO_OPTIONS_H
#define CLOCKOO_OPTIONS_H

#include "config.h"

enum option_kind {
	OPTION_NUMBER,    /* uint32_t */
	OPTION_MEGABYTES, /* uint32_t; a trailing m changes nothing */
	OPTION_SIZE,      /* uint32_t of bytes; k and m multiply */
	OPTION_TEXT,      /* char[max] */
	OPTION_FLAG,      /* bool */
	OPTION_COUNT,     /* uint32_t: how often the option is given */
	OPTION_AMOUNT,    /* uint32_t; k and m multiply by 1000 */
	OPTION_REAL,      /* double; k and m multiply by 1000 */
	OPTION_WORD,   /* uint32_t: the index of the value among the words in arg, separated by | */
	OPTION_TIME,   /* uint32_t of milliseconds; ms, s, m or h follows the number */
	OPTION_CUSTOM, /* the program of the table reads it */
	OPTION_PORT,   /* profile or PCI address */
	OPTION_ADDRESS,
	OPTION_GATEWAY,
	OPTION_ADDRESS6,
	OPTION_GATEWAY6,
	OPTION_LISTEN,
	OPTION_NETS,
	OPTION_NET_LIST,  /* a list of networks, or the path of a file */
	OPTION_ADDRESSES, /* a list of addresses, or the path of a file */
	OPTION_ROUTES,
	OPTION_LCORES,
	OPTION_DELIMITER,
	OPTION_NODES,
	OPTION_NUMA,
	OPTION_KEEP_FOR,
	OPTION_OFFLOADS, /* uint32_t, enum offload */
	OPTION_SERVERS,
	OPTION_ITEMS,
	OPTION_SPACE,    /* uint32_t of MB; m, g or t may follow */
	OPTION_EXT_PATH, /* memcached's ext_path: fills two fields */
	OPTION_PROFILE,
	OPTION_HTTP,     /* struct config_http */
	OPTION_PROTOCOL, /* this kind and those below take one of option_choices() */
	OPTION_CONGESTION,
	OPTION_ECN,
	OPTION_STEERING,
	OPTION_IPV6,
	OPTION_PROBE,
	OPTION_DRAIN,
	OPTION_BOND,
	OPTION_HYPERTHREADS,
	OPTION_HUGEPAGE,
	OPTION_POLL,
	OPTION_EVICTION,
	OPTION_SAVE_COMPRESS,
	OPTION_FRONT_HASH,
	OPTION_FRONT_DISTRIBUTION,
	OPTION_FRONT_ORDER,
	OPTION_FRONT_PROTOCOL,
	OPTION_FRONT_ON_FAILURE,
	OPTION_FRONT_RELOAD,
	OPTION_FRONT_MODE,
	OPTION_FLASH_ADMIT,
	OPTION_FLASH_LAYOUT,
	OPTION_FLASH_IO,
	OPTION_EXTENDED,  /* -o: a name of extended_rows */
	OPTION_ALWAYS_ON, /* what the option requests is always in effect */
	OPTION_IGNORED,   /* no meaning here: a warning at start */
	OPTION_REFUSED,   /* to ignore it would be unsafe or misleading */
	OPTION_HELP,
	OPTION_VERSION,
	OPTION_LICENSE,
	OPTION_CONFIG, /* the file is read before all other options (config_parse) */
	OPTION_CHECK,
	OPTION_PRINT,
	OPTION_PLAN,
};

struct option_row {
	const char *name;
	char letter; /* 0 = none */
	enum option_kind kind;
	size_t at; /* offset in struct config */
	double min, max;
	const char *arg;  /* placeholder of the value in --help, in brackets if it is optional; NULL
			     = none */
	const char *help; /* for ALWAYS_ON, IGNORED and REFUSED: the reason */
	bool usage;       /* a wrong value ends with ERROR_USAGE, as in memcached */
	const char *key;  /* key in a configuration file; NULL = only on the command line */
};

/* A program's command line. */
struct option_reader {
	int argc;
	char *const *argv;   /* argv[0] is skipped */
	const char *command; /* a command, allowed only before all options; NULL: none */
	const struct option_row *(*by_name)(const char *name, size_t len);
	const struct option_row *(*by_letter)(char letter);
	void (*unknown)(const char *name, size_t len,
			struct error *err); /* reports an unknown option */
	/* value: NULL if the row takes none. A result other than CONFIG_RUN ends the reading. */
	enum config_action (*apply)(void *arg, const struct option_row *row, const char *value,
				    struct error *err);
	void *arg;
};

bool option_set_http(struct config_http *http, const char *value, struct error *err);

/* Applies every option in the order of the command line. */
enum config_action options_read(const struct option_reader *r, struct error *err);

extern const struct option_row option_rows[];
extern const uint32_t option_row_count;
/* The names that may follow -o. */
extern const struct option_row extended_rows[];
extern const uint32_t extended_row_count;

/* Returns the row of that name, or NULL. */
const struct option_row *option_by_name(const char *name, size_t len);
const struct option_row *extended_by_name(const char *name, size_t len);

/* Returns the row with that letter, or NULL. */
const struct option_row *option_by_letter(char letter);

/* Returns the row's number. The rows of both tables are numbered consecutively, for ignored_options
 * and for loops over all rows. */
uint32_t option_number(const struct option_row *row);
const struct option_row *option_at(uint32_t number);
/* Returns the first key of the section whose value is not its default; NULL: there is none. */
const char *option_key_given(const struct config *cfg, const char *section);
uint32_t option_count(void);

/* Marks an option about which a start warns. */
static inline void
option_mark(struct config *cfg, const struct option_row *row)
{
	const uint32_t n = option_number(row);

	cfg->ignored_options[n / 64] |= 1ull << n % 64;
}
static inline bool
option_is_marked(const struct config *cfg, const struct option_row *row)
{
	const uint32_t n = option_number(row);

	return (cfg->ignored_options[n / 64] >> n % 64 & 1) != 0;
}

/* True unless it is an option of memcached that is always on, ignored or refused here. */
bool option_has_effect(const struct option_row *row);

/* Markup for the options without effect: one row for each reason, names first. */
struct option_style {
	const char *title[2];                      /* before and after the table */
	const char *row, *extended, *reason, *end; /* extended: stands before a name after -o */
	const char *quotes[2];                     /* around each name */
	void (*text)(FILE *out, const char *text);
};
void option_print_name(FILE *out, const struct option_row *row, const struct option_style *style);
void option_print_reasons(FILE *out, const struct option_style *style);

/* Writes to *err that there is no such option, and the nearest known one if one is near enough.
 * extended: the name came after -o. Always returns false. */
bool option_unknown(bool extended, const char *name, size_t len, struct error *err);

/* Returns the words that an option of that kind takes, indexed by value and ended by NULL; or
 * NULL for other kinds. */
const char *const *option_choices(enum option_kind kind);

/* Returns the row of that name in a table, or NULL. */
const struct option_row *option_find(const struct option_row *rows, uint32_t count,
				     const char *name, size_t len);
/* Prints a line for each row, for --help. */
void option_rows_help(const struct option_row *rows, uint32_t count, FILE *out);
/* Prints a paragraph for each row, for a manual page. */
void option_rows_man(const struct option_row *rows, uint32_t count, FILE *out);

/* Parses a number with an optional k or m. *end: the text after it. */
bool parse_amount(const char *text, double *value, const char **end);
/* Parses a number with an optional k or m and nothing after it, within least..most. */
bool parse_whole_amount(const char *text, double least, double most, double *value);

/* Parses a decimal number. False if anything else is in the text. */
bool parse_decimal(const char *text, uint32_t *n);

/* addresses.c: each sets one option. */
bool option_set_address(struct config *cfg, const char *value, struct error *err);
bool option_set_listen(struct config *cfg, const char *value, struct error *err);
bool option_set_nets(struct config *cfg, const char *value, struct error *err);
bool option_set_net_list(char list[CONFIG_SERVERS_BYTES], const struct option_row *row,
			 const char *value, struct error *err);
bool option_set_addr_list(char list[CONFIG_SERVERS_BYTES], const struct option_row *row,
			  const char *value, struct error *err);
bool option_set_gateway(struct config *cfg, const char *value, struct error *err);
bool option_set_address6(struct config *cfg, const char *value, struct error *err);
bool option_set_gateway6(struct config *cfg, const char *value, struct error *err);
/* option_values.c */
/* True if text is a PCI address as lspci prints it: 0000:03:00.0 or 03:00.0. */
bool option_is_pci_address(const char *text);
bool option_set_port(struct config *cfg, const char *value, struct error *err);
bool option_set_profile(struct config *cfg, const char *value, struct error *err);
bool option_set_offloads(uint32_t *field, const char *value, struct error *err);
bool option_set_time(uint32_t *ms, const struct option_row *row, const char *value,
		     struct error *err);
bool option_set_items(uint32_t *items, const char *value, struct error *err);
bool option_set_servers(char servers[CONFIG_SERVERS_BYTES], const struct option_row *row,
			const char *value, struct error *err);
const char *const *option_fleet_choices(enum option_kind kind);
bool option_set_flash(struct config *cfg, const struct option_row *row, const char *value,
		      struct error *err);
/* Drops the addresses of earlier -l. So a command line's own -l replaces the file's. */
void option_forget_listen(struct config *cfg);
bool finish_listen(struct config *cfg, struct error *err);
bool finish_address6(struct config *cfg, struct error *err);

/* Parses value into the row's field of the struct that the row's table fills. */
bool option_set(void *into, const struct option_row *row, const char *value, struct error *err);
/* Does as option_set, for a command line: a flag has no value there, and OPTION_COUNT counts. */
bool option_set_word(void *into, const struct option_row *row, const char *value,
		     struct error *err);

#endif
