/*
 * options.c - parses, checks and stores the value of one option.
 */
#include "nearest.h"
#include "options.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Parses a decimal number. False if there is anything else in the text, or if the number exceeds 32
 * bits, as no limit here does. */
bool
parse_decimal(const char *text, uint32_t *n)
{
	uint64_t v = 0;

	if (*text == '\0')
		return false;
	for (; *text != '\0'; text++) {
		if (!isdigit((unsigned char)*text))
			return false;
		v = v * 10 + (uint64_t)(*text - '0');
		if (v > UINT32_MAX)
			return false;
	}
	*n = (uint32_t)v;
	return true;
}

static bool
set_delimiter(struct config *cfg, const char *value, struct error *err)
{
	if (value[0] <= ' ' || value[0] == 0x7f || value[1] != '\0')
		return error_set(err, "--stat-key-prefix: \"%s\": expected one character", value);
	cfg->prefix_delimiter = value[0];
	cfg->detail = true; /* as in memcached, a delimiter turns the statistics on */
	return true;
}

#define CHOICES_MAX 6u /* words of an option, and NULL */

static const char *const choices[][CHOICES_MAX] = {
	[OPTION_PROTOCOL] = {[PROTOCOL_AUTO] = "auto",
			     [PROTOCOL_ASCII] = "ascii",
			     [PROTOCOL_BINARY] = "binary"},
	[OPTION_CONGESTION] = {[CONGESTION_CUBIC] = "cubic",
			       [CONGESTION_NEWRENO] = "newreno",
			       [CONGESTION_DCTCP] = "dctcp"},
	[OPTION_ECN] = {[CONFIG_ECN_PASSIVE] = "passive",
			[CONFIG_ECN_ON] = "on",
			[CONFIG_ECN_OFF] = "off"},
	[OPTION_STEERING] = {[STEERING_AUTO] = "auto",
			     [STEERING_FLOW_DIRECTOR] = "flow-director",
			     [STEERING_RSS] = "rss",
			     [STEERING_SOFTWARE] = "software",
			     [STEERING_NONE] = "none"},
	[OPTION_IPV6] = {[IPV6_AUTO] = "auto", [IPV6_ON] = "on", [IPV6_OFF] = "off"},
	[OPTION_DRAIN] = {[CONFIG_DRAIN_RESET] = "reset",
			  [CONFIG_DRAIN_SILENT] = "silent",
			  [CONFIG_DRAIN_CLOSE] = "close",
			  [CONFIG_DRAIN_ANYCAST] = "anycast"},
	[OPTION_BOND] = {[CONFIG_BOND_NONE] = "none",
			 [CONFIG_BOND_LACP] = "lacp",
			 [CONFIG_BOND_LACP_SLOW] = "lacp-slow",
			 [CONFIG_BOND_BACKUP] = "active-backup"},
	[OPTION_PROBE] = {[CONFIG_PROBE_AUTO] = "auto",
			  [CONFIG_PROBE_SHORT] = "short",
			  [CONFIG_PROBE_LONG] = "long",
			  [CONFIG_PROBE_OFF] = "off"},
	[OPTION_HYPERTHREADS] = {[HYPERTHREADS_IDLE] = "idle", [HYPERTHREADS_WORKERS] = "workers"},
	[OPTION_HUGEPAGE] = {[HUGEPAGE_ANY] = "any", [HUGEPAGE_2M] = "2m", [HUGEPAGE_1G] = "1g"},
	[OPTION_POLL] = {[POLL_SPIN] = "spin", [POLL_ADAPTIVE] = "adaptive"},
	[OPTION_EVICTION] = {[EVICTION_2Q] = "2q", [EVICTION_CLOCK] = "clock"},
	[OPTION_SAVE_COMPRESS] =
		{[SAVE_COMPRESS_0] = "0", [SAVE_COMPRESS_1] = "1", [SAVE_COMPRESS_NO] = "no"},
	[OPTION_FLASH_ADMIT] = {[FLASH_ADMIT_ALL] = "all", [FLASH_ADMIT_USED] = "used"},
	[OPTION_FLASH_LAYOUT] = {[FLASH_LAYOUT_AUTO] = "auto",
				 [FLASH_LAYOUT_LOG] = "log",
				 [FLASH_LAYOUT_HASH] = "hash"},
	[OPTION_FLASH_IO] = {[FLASH_IO_AUTO] = "auto",
			     [FLASH_IO_URING] = "io_uring",
			     [FLASH_IO_THREADS] = "threads"},
};

const char *const *
option_choices(enum option_kind kind)
{
	return kind < sizeof choices / sizeof choices[0] && choices[kind][0] != NULL
		       ? choices[kind]
		       : option_fleet_choices(kind);
}

static bool
set_word(uint32_t *field, const struct option_row *row, const char *value, struct error *err)
{
	const char *const *words = option_choices(row->kind);
	char list[128] = "";
	size_t used = 0;

	for (uint32_t i = 0; words[i] != NULL; i++) {
		const char *between = i == 0 ? "" : words[i + 1] == NULL ? " or " : ", ";

		if (strcmp(value, words[i]) == 0) {
			*field = i;
			return true;
		}
		if (used < sizeof list)
			used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", between,
						 words[i]);
	}
	return error_set(err, "--%s: \"%s\": expected %s", row->name, value, list);
}

/* Parses the MB of node 0, node 1 and so on, separated by commas. */
static bool
set_nodes(struct config *cfg, const char *value, struct error *err)
{
	const char *p = value;

	for (cfg->node_count = 0; cfg->node_count < CONFIG_NODES_MAX; p++) {
		const size_t len = strcspn(p, ",");
		char digits[CONFIG_NAME_BYTES];

		snprintf(digits, sizeof digits, "%.*s", (int)len, p);
		if (!parse_decimal(digits, &cfg->node_mb[cfg->node_count]) ||
		    cfg->node_mb[cfg->node_count] > CONFIG_MEMORY_MAX_MB)
			return error_set(
				err,
				"--node-memory: \"%s\": expected MB of each NUMA node, such "
				"as 1024,1024, each at most %u",
				value, CONFIG_MEMORY_MAX_MB);
		cfg->node_count++;
		p += len;
		if (*p == '\0')
			return true;
	}
	return error_set(err, "--node-memory: more than %u nodes", CONFIG_NODES_MAX);
}

/* Parses node numbers such as "1" or "0,2-3" into a mask of bits. */
static bool
read_node_list(uint32_t *nodes, const char *value)
{
	const char *p = value;

	for (*nodes = 0;; p++) {
		char *end;
		unsigned long first, last;

		if (!isdigit((unsigned char)*p))
			return false;
		first = last = strtoul(p, &end, 10);
		if (*end == '-' && isdigit((unsigned char)end[1]))
			last = strtoul(end + 1, &end, 10);
		if (first > last || last >= CONFIG_NUMA_END)
			return false;
		for (; first <= last; first++)
			*nodes |= 1u << first;
		p = end;
		if (*p != ',')
			return *p == '\0';
	}
}

static bool
set_numa(uint32_t *nodes, const char *value, struct error *err)
{
	uint32_t list;

	if (strcmp(value, "nic") == 0)
		*nodes = CONFIG_NUMA_NIC;
	else if (strcmp(value, "interleave") == 0)
		*nodes = CONFIG_NUMA_ALL;
	else if (read_node_list(&list, value))
		*nodes = list;
	else
		return error_set(
			err,
			"--numa: \"%s\": expected nic, interleave, or a list of NUMA nodes "
			"such as 0,2-3, each below %u",
			value, CONFIG_NUMA_END);
	return true;
}

static bool
set_keep_for(uint32_t *s, const char *value, struct error *err)
{
	if (strcmp(value, "never") == 0)
		*s = KEEP_FOR_NEVER;
	else if (strcmp(value, "always") == 0)
		*s = KEEP_FOR_ALWAYS;
	else if (!parse_decimal(value, s) || *s == 0 || *s > KEEP_FOR_MAX)
		return error_set(
			err, "--keep-for: \"%s\": expected seconds from 1 to %u, always or never",
			value, KEEP_FOR_MAX);
	return true;
}

/* Reports an unknown option with the nearest known one. A name that begins with the unknown one
 * counts as nearest, since getopt_long would accept the abbreviation. */
bool
option_unknown(bool extended, const char *name, size_t len, struct error *err)
{
	char word[NEAREST_BYTES], hint[NEAREST_BYTES + 32] = "--help lists all";
	struct nearest n;

	snprintf(word, sizeof word, "%.*s", (int)len, name);
	nearest_begin(&n, word);
	for (uint32_t i = 0; len != 0 && i < option_count(); i++) {
		const char *known = option_at(i)->name;

		nearest_offer(&n, known, strncmp(known, word, strlen(word)) == 0 ? word : known);
	}
	if (n.best != NULL)
		snprintf(hint, sizeof hint, "did you mean %s%s?",
			 option_by_name(n.best, strlen(n.best)) != NULL ? "--" : "-o ", n.best);
	return error_set(
		err, extended ? "-o: \"%.*s\": unknown option; %s" : "--%.*s: unknown option; %s",
		(int)len, name, hint);
}

static bool
set_extended_one(struct config *cfg, const char *item, struct error *err)
{
	const char *equals = strchr(item, '=');
	const size_t len = equals != NULL ? (size_t)(equals - item) : strlen(item);
	const struct option_row *row = extended_by_name(item, len);

	if (row == NULL)
		return option_unknown(true, item, len, err);
	if (row->arg == NULL && equals != NULL)
		return error_set(err, "-o %s: takes no value", row->name);
	if (row->arg != NULL && row->arg[0] != '[' && (equals == NULL || equals[1] == '\0'))
		return error_set(err, "-o %s: expected a value: %s=%s", row->name, row->name,
				 row->arg);
	if (row->kind == OPTION_FLAG)
		return option_set(cfg, row, "yes", err);
	return option_set(cfg, row, equals != NULL ? equals + 1 : "", err);
}

/* Applies the names and values after -o, separated by commas. */
static bool
set_extended(struct config *cfg, const char *value, struct error *err)
{
	while (*value != '\0') {
		const size_t len = strcspn(value, ",");
		char item[CONFIG_ARGS_BYTES];

		if (len >= sizeof item)
			return error_set(err, "-o: a name or value of more than %zu characters",
					 sizeof item - 1);
		memcpy(item, value, len);
		item[len] = '\0';
		if (len != 0 && !set_extended_one(cfg, item, err))
			return false;
		value += len + (value[len] == ',');
	}
	return true;
}

static bool
set_number(uint32_t *field, const struct option_row *row, const char *value, struct error *err)
{
	uint32_t n;

	if (!parse_decimal(value, &n) || n < row->min || n > row->max)
		return error_set(err, "--%s: \"%s\": expected a number from %.10g to %.10g",
				 row->name, value, row->min, row->max);
	*field = n;
	return true;
}

bool
parse_amount(const char *text, double *value, const char **end)
{
	char *rest;

	if (!isdigit((unsigned char)text[0]))
		return false;
	*value = strtod(text, &rest);
	if (*rest == 'k' || *rest == 'm')
		*value *= *rest++ == 'k' ? 1e3 : 1e6;
	*end = rest;
	return true;
}

bool
parse_whole_amount(const char *text, double least, double most, double *value)
{
	const char *end;

	return parse_amount(text, value, &end) && *end == '\0' && *value >= least && *value <= most;
}

static bool
set_amount(void *field, const struct option_row *row, const char *value, struct error *err)
{
	double n;

	if (!parse_whole_amount(value, row->min, row->max, &n))
		return error_set(err, "--%s: \"%s\": expected a number from %.10g to %.10g",
				 row->name, value, row->min, row->max);
	if (row->kind == OPTION_AMOUNT)
		*(uint32_t *)field = (uint32_t)n;
	else
		*(double *)field = n;
	return true;
}

/* Sets a number of megabytes. A trailing m is accepted, since scripts write -m 1024m for -m 1024.
 * Another letter would mean another amount and is refused. */
static bool
set_megabytes(uint32_t *field, const struct option_row *row, const char *value, struct error *err)
{
	const size_t len = strlen(value);
	const bool letter = len != 0 && tolower((unsigned char)value[len - 1]) == 'm';
	char digits[CONFIG_NAME_BYTES];
	uint32_t n;

	snprintf(digits, sizeof digits, "%.*s", (int)(len - letter), value);
	if (len >= sizeof digits || !parse_decimal(digits, &n) || n < row->min || n > row->max)
		return error_set(
			err, "--%s: \"%s\": expected a number from %.10g to %.10g, in megabytes",
			row->name, value, row->min, row->max);
	*field = n;
	return true;
}

/* Parses a size as memcached's -I: a number of bytes, or with a letter of kilobytes or
 * megabytes. */
static bool
set_size(uint32_t *field, const struct option_row *row, const char *value, struct error *err)
{
	const size_t len = strlen(value);
	const char letter = len != 0 ? (char)tolower((unsigned char)value[len - 1]) : 0;
	const uint32_t shift = letter == 'k' ? 10 : letter == 'm' ? 20 : 0;
	const uint32_t min = (uint32_t)row->min, max = (uint32_t)row->max;
	const bool in_kb = max % (1u << 20) != 0;
	char digits[CONFIG_NAME_BYTES];
	uint32_t n;

	snprintf(digits, sizeof digits, "%.*s", (int)(len - (shift != 0)), value);
	if (len >= sizeof digits || !parse_decimal(digits, &n) || n > max >> shift ||
	    n << shift < min)
		return error_set(
			err, "--%s: \"%s\": expected %uk to %u%c, in bytes or with a k or m",
			row->name, value, min >> 10, max >> (in_kb ? 10 : 20), in_kb ? 'k' : 'm');
	*field = n << shift;
	return true;
}

static bool
set_text(char *field, const struct option_row *row, const char *value, struct error *err)
{
	const size_t len = strlen(value);

	if (len < (uint64_t)row->min || len >= (uint64_t)row->max)
		return error_set(err, "--%s: expected %.0f to %.0f characters, not %zu", row->name,
				 row->min, row->max - 1, len);
	memcpy(field, value, len + 1);
	return true;
}

static bool
set_flag(bool *field, const struct option_row *row, const char *value, struct error *err)
{
	if (strcmp(value, "yes") != 0 && strcmp(value, "no") != 0)
		return error_set(err, "--%s: \"%s\": expected yes or no", row->name, value);
	*field = value[0] == 'y';
	return true;
}

/* Sets the index of the value among the words of an OPTION_WORD's arg. */
static bool
set_word_of_arg(uint32_t *field, const struct option_row *row, const char *value, struct error *err)
{
	const char *word = row->arg;

	for (uint32_t i = 0; *word != '\0'; i++) {
		const size_t len = strcspn(word, "|");

		if (strlen(value) == len && memcmp(word, value, len) == 0) {
			*field = i;
			return true;
		}
		word += len + (word[len] == '|');
	}
	return error_set(err, "--%s: \"%s\": expected %s", row->name, value, row->arg);
}

static bool
option_error(const struct option_row *row, struct error *err)
{
	return error_set(err, "%s%s: %s", row->letter != 0 ? "--" : "-o ", row->name, row->help);
}

/* Refuses an option of memcached, or marks it while a configuration is converted. Only clockoo's
 * table has such rows. */
static bool
set_refused(struct config *cfg, const struct option_row *row, struct error *err)
{
	if (!cfg->converting)
		return option_error(row, err);
	option_mark(cfg, row);
	return true;
}

/* Sets an option of a kind that only clockoo's table has, and that may affect several fields. */
static bool
set_of_config(struct config *cfg, const struct option_row *row, const char *value,
	      struct error *err)
{
	switch (row->kind) {
	case OPTION_PORT:
		return option_set_port(cfg, value, err);
	case OPTION_ADDRESS:
		return option_set_address(cfg, value, err);
	case OPTION_GATEWAY:
		return option_set_gateway(cfg, value, err);
	case OPTION_ADDRESS6:
		return option_set_address6(cfg, value, err);
	case OPTION_GATEWAY6:
		return option_set_gateway6(cfg, value, err);
	case OPTION_LISTEN:
		return option_set_listen(cfg, value, err);
	case OPTION_NETS:
		return option_set_nets(cfg, value, err);
	case OPTION_LCORES:
		return lcores_parse(&cfg->lcores, value, err);
	case OPTION_DELIMITER:
		return set_delimiter(cfg, value, err);
	case OPTION_NODES:
		return set_nodes(cfg, value, err);
	case OPTION_SPACE:
	case OPTION_EXT_PATH:
		return option_set_flash(cfg, row, value, err);
	case OPTION_PROFILE:
		return option_set_profile(cfg, value, err);
	case OPTION_EXTENDED:
		return set_extended(cfg, value, err);
	case OPTION_IGNORED:
		option_mark(cfg, row);
		return true;
	default:
		return error_set(err, "--%s cannot be set", row->name);
	}
}

static bool
set_field(void *into, const struct option_row *row, const char *value, struct error *err)
{
	void *field = (char *)into + row->at;

	if (option_choices(row->kind) != NULL)
		return set_word(field, row, value, err);
	switch (row->kind) {
	case OPTION_AMOUNT:
	case OPTION_REAL:
		return set_amount(field, row, value, err);
	case OPTION_WORD:
		return set_word_of_arg(field, row, value, err);
	case OPTION_TIME:
		return option_set_time(field, row, value, err);
	case OPTION_NUMBER:
	case OPTION_COUNT:
		return set_number(field, row, value, err);
	case OPTION_MEGABYTES:
		return set_megabytes(field, row, value, err);
	case OPTION_SIZE:
		return set_size(field, row, value, err);
	case OPTION_TEXT:
		return set_text(field, row, value, err);
	case OPTION_FLAG:
		return set_flag(field, row, value, err);
	case OPTION_NET_LIST:
		return option_set_net_list(field, row, value, err);
	case OPTION_ADDRESSES:
	case OPTION_ROUTES:
		return option_set_addr_list(field, row, value, err);
	case OPTION_NUMA:
		return set_numa(field, value, err);
	case OPTION_KEEP_FOR:
		return set_keep_for(field, value, err);
	case OPTION_OFFLOADS:
		return option_set_offloads(field, value, err);
	case OPTION_ITEMS:
		return option_set_items(field, value, err);
	case OPTION_SERVERS:
		return option_set_servers(field, row, value, err);
	case OPTION_HTTP:
		return option_set_http(field, value, err);
	case OPTION_ALWAYS_ON:
		return true;
	case OPTION_REFUSED:
		return set_refused(into, row, err);
	default:
		return set_of_config(into, row, value, err);
	}
}

bool
option_set(void *into, const struct option_row *row, const char *value, struct error *err)
{
	if (set_field(into, row, value, err))
		return true;
	if (row->usage)
		err->code = ERROR_USAGE;
	return false;
}

bool
option_set_word(void *into, const struct option_row *row, const char *value, struct error *err)
{
	uint32_t *count = (uint32_t *)(void *)((char *)into + row->at);

	if (row->kind != OPTION_COUNT)
		return option_set(into, row, row->kind == OPTION_FLAG ? "yes" : value, err);
	*count += *count < row->max;
	return true;
}
