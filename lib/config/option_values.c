/*
 * option_values.c - values of options that are more than a number or a word.
 */
#include "options.h"

#include <arpa/inet.h>
#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define PORT_FROM "env:"

/* ---- the NIC: profile, PCI address, offloads ---- */

const char *const config_offloads[] = {
	"rx_cksum", "tx_ip_cksum", "tx_udp_cksum", "tx_tcp_cksum", "tx_fast_free",
	"tx_loans", NULL};
static_assert(OFFLOAD_TX_LOANS == 1u << 5, "the names stand in the order of the bits");

/* Returns the bit of the offload whose name is text[0..len), or 0. */
static uint32_t
offload_named(const char *text, size_t len)
{
	for (uint32_t i = 0; config_offloads[i] != NULL; i++)
		if (strlen(config_offloads[i]) == len && memcmp(config_offloads[i], text, len) == 0)
			return 1u << i;
	return 0;
}

/* Parses names of offloads separated by commas, or "none". */
bool
option_set_offloads(uint32_t *field, const char *value, struct error *err)
{
	const bool none = strcmp(value, "none") == 0;
	uint32_t wanted = 0;
	const char *p = value;

	while (!none) {
		const size_t len = strcspn(p, ",");
		const uint32_t bit = offload_named(p, len);

		if (bit == 0)
			return error_set(err,
					 "--offloads: \"%.*s\": expected none, or some of "
					 "rx_cksum, tx_ip_cksum, tx_udp_cksum, tx_tcp_cksum, "
					 "tx_fast_free, tx_loans",
					 (int)len, p);
		wanted |= bit;
		p += len;
		if (*p++ == '\0')
			break;
	}
	*field = wanted;
	return true;
}

bool
option_is_pci_address(const char *text)
{
	static const char *const forms[] = {"xxxx:xx:xx.x", "xx:xx.x"};

	for (uint32_t i = 0; i < 2; i++) {
		const char *form = forms[i], *p = text;

		for (; *form != '\0'; form++, p++)
			if (*form == 'x' ? !isxdigit((unsigned char)*p) : *p != *form)
				break;
		if (*form == '\0' && *p == '\0')
			return true;
	}
	return false;
}

static bool
is_profile_name(const char *text)
{
	const size_t len = strlen(text);

	/* The name becomes a file name, so no character may lead out of the directory. */
	return len > 0 && len < CONFIG_NAME_BYTES &&
	       strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_-") == len;
}

/* Returns the value of an environment variable, as a device plugin sets it, if text is "env:" and
 * its name; NULL: there is no such variable. Otherwise returns text. */
static const char *
from_environment(const char *text)
{
	const size_t len = sizeof PORT_FROM - 1;

	return strncmp(text, PORT_FROM, len) != 0 ? text : getenv(text + len);
}

bool
option_set_port(struct config *cfg, const char *text, struct error *err)
{
	const char *value = from_environment(text);
	uint32_t n;

	if (value == NULL)
		return error_set(err,
				 "--port: \"%s\": the environment has no such variable; a device "
				 "plugin sets it",
				 text);

	if (parse_decimal(value, &n))
		return error_set(err,
				 "--port: \"%s\" is a number; --port names a NIC (a profile or a "
				 "PCI address), the TCP port is -p %s",
				 value, value);
	if (option_is_pci_address(value)) {
		strcpy(cfg->port, "pci");
		snprintf(cfg->pci, sizeof cfg->pci, "%s", value);
		/* sysfs uses lower case. */
		for (char *c = cfg->pci; *c != '\0'; c++)
			*c = (char)tolower((unsigned char)*c);
		return true;
	}
	if (!is_profile_name(value))
		return error_set(err,
				 "--port: \"%s\": expected a profile of drivers-config such as "
				 "af_packet, or a PCI address such as 0000:03:00.0",
				 value);
	strcpy(cfg->port, value);
	cfg->pci[0] = '\0';
	return true;
}

bool
option_set_profile(struct config *cfg, const char *value, struct error *err)
{
	if (!is_profile_name(value))
		return error_set(
			err,
			"--profile: \"%s\": expected a profile of drivers-config such as ixgbe",
			value);
	strcpy(cfg->profile, value);
	return true;
}

/* ---- the second tier: sizes of a device, memcached's ext_path ---- */

/* Parses a size in MB, or with one of the letters m, g and t after the number. */
static bool
read_space(uint32_t *mb, const struct option_row *row, const char *value)
{
	const size_t len = strlen(value);
	const char letter = len != 0 ? (char)tolower((unsigned char)value[len - 1]) : 0;
	const uint32_t shift = letter == 't' ? 20 : letter == 'g' ? 10 : 0;
	const bool has_letter = shift != 0 || letter == 'm';
	char digits[CONFIG_NAME_BYTES];
	uint32_t n;

	snprintf(digits, sizeof digits, "%.*s", (int)(len - has_letter), value);
	if (len >= sizeof digits || !parse_decimal(digits, &n) || n > (uint32_t)row->max >> shift ||
	    n << shift < (uint32_t)row->min)
		return false;
	*mb = n << shift;
	return true;
}

/* Sets memcached's ext_path, "FILE:SIZE". It may be given once, since there is one device. */
static bool
set_ext_path(struct config *cfg, const struct option_row *row, const char *value, struct error *err)
{
	struct config_flash *flash = &cfg->flash;
	const char *colon = strrchr(value, ':');
	const size_t len = colon != NULL ? (size_t)(colon - value) : 0;

	if (len == 0 || len >= sizeof flash->device || !read_space(&flash->size_mb, row, colon + 1))
		return error_set(err,
				 "-o %s: \"%s\": expected FILE:SIZE, of %um to %ut with m, g or t",
				 row->name, value, (uint32_t)row->min, (uint32_t)row->max >> 20);
	if (option_is_marked(cfg, row))
		return error_set(err, "-o %s: \"%s\" beside %s; give one device", row->name, value,
				 flash->device);
	memcpy(flash->device, value, len);
	flash->device[len] = '\0';
	option_mark(cfg, row);
	return true;
}

bool
option_set_flash(struct config *cfg, const struct option_row *row, const char *value,
		 struct error *err)
{
	if (row->kind == OPTION_EXT_PATH)
		return set_ext_path(cfg, row, value, err);
	return read_space((uint32_t *)(void *)((char *)cfg + row->at), row, value) ||
	       error_set(err, "--%s: \"%s\": expected %um to %ut, in megabytes or with m, g or t",
			 row->name, value, (uint32_t)row->min, (uint32_t)row->max >> 20);
}

/* ---- a front: words, times, a list of servers or a file of them ---- */

/* Returns the milliseconds of a unit; 0: there is no such unit. */
static double
unit_ms(const char *unit)
{
	static const struct {
		const char *word;
		double ms;
	} units[] = {{"ms", 1}, {"s", 1e3}, {"m", 60e3}, {"h", 3600e3}};

	for (uint32_t i = 0; i < sizeof units / sizeof units[0]; i++)
		if (strcmp(unit, units[i].word) == 0)
			return units[i].ms;
	return 0;
}

/* Stores a time. 0 needs no unit. */
bool
option_set_time(uint32_t *ms, const struct option_row *row, const char *value, struct error *err)
{
	const size_t len = strspn(value, "0123456789");
	const char *unit = value + len;
	const double factor = unit_ms(unit);
	char digits[CONFIG_NAME_BYTES];
	uint32_t n;

	snprintf(digits, sizeof digits, "%.*s", (int)len, value);
	if (len >= sizeof digits || !parse_decimal(digits, &n) ||
	    (factor == 0 && (n != 0 || *unit != '\0')) || n * factor < row->min ||
	    n * factor > row->max)
		return error_set(
			err,
			"--%s: \"%s\": expected a time from %.10gms to %.10gs, with ms, s, "
			"m or h behind it",
			row->name, value, row->min, row->max / 1e3);
	*ms = (uint32_t)(n * factor);
	return true;
}

/* Stores a list of servers separated by commas, or the path of a file. lib/front parses the
 * servers. */
bool
option_set_servers(char servers[CONFIG_SERVERS_BYTES], const struct option_row *row,
		   const char *value, struct error *err)
{
	uint32_t count = 1;

	for (const char *p = value; *p != '\0'; p++) {
		count += *p == ',';
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			return error_set(err, "--%s: a control character in \"%.60s\"", row->name,
					 value);
	}
	if (value[0] == '\0')
		return error_set(err, "--%s: no server; give some, or leave it out", row->name);
	if (value[0] == '/' && count != 1)
		return error_set(err,
				 "--%s: expected a list of servers, or the path of one file that "
				 "has them",
				 row->name);
	if (count > CONFIG_SERVERS_MAX || strlen(value) >= CONFIG_SERVERS_BYTES)
		return error_set(
			err,
			"--%s: a list of more than %u servers or %u characters; put them into a "
			"file, one a line, and give its path",
			row->name, CONFIG_SERVERS_MAX, CONFIG_SERVERS_BYTES - 1);
	memset(servers, 0, CONFIG_SERVERS_BYTES);
	strcpy(servers, value);
	return true;
}

bool
option_set_items(uint32_t *items, const char *value, struct error *err)
{
	if (strcmp(value, "auto") == 0)
		*items = CONFIG_FRONT_ITEMS_AUTO;
	else if (strcmp(value, "memory") == 0)
		*items = CONFIG_FRONT_ITEMS_MEMORY;
	else if (!parse_decimal(value, items) || *items > CONFIG_FRONT_ITEMS_MAX)
		return error_set(
			err,
			"--front-items: \"%s\": expected auto, memory, or a number from 0 to %u",
			value, CONFIG_FRONT_ITEMS_MAX);
	return true;
}

/* Returns the words of an option of the fleet, in the order of lib/front's enums. */
const char *const *
option_fleet_choices(enum option_kind kind)
{
	static const char *const hashes[] = {"one_at_a_time",
					     "md5",
					     "crc16",
					     "crc32",
					     "crc32a",
					     "fnv1_64",
					     [CONFIG_FRONT_FNV1A_64] = "fnv1a_64",
					     "fnv1_32",
					     "fnv1a_32",
					     "hsieh",
					     "murmur",
					     "jenkins",
					     NULL};
	static const char *const distributions[] = {"ketama", "consistent", "modula", "jump", NULL};
	static const char *const orders[] = {"sorted", "given", NULL};
	static const char *const front_protocols[] = {"auto", "text", "meta", NULL};
	static const char *const on_failures[] = {"miss", "error", NULL};
	static const char *const reloads[] = {"keep", "flush", NULL};
	static const char *const modes[] = {"shared", "sole", NULL};

	switch (kind) {
	case OPTION_FRONT_HASH:
		return hashes;
	case OPTION_FRONT_DISTRIBUTION:
		return distributions;
	case OPTION_FRONT_ORDER:
		return orders;
	case OPTION_FRONT_PROTOCOL:
		return front_protocols;
	case OPTION_FRONT_ON_FAILURE:
		return on_failures;
	case OPTION_FRONT_RELOAD:
		return reloads;
	case OPTION_FRONT_MODE:
		return modes;
	default:
		return NULL;
	}
}

/* ---- telemetry.http: an address and port of the kernel, or the path of a Unix socket ---- */

/* Parses "127.0.0.1:9150" or "[::1]:9150". */
static bool
parse_http_address(struct config_http *http, const char *value)
{
	const bool six = value[0] == '[';
	const char *at = value + six;
	const size_t len = strcspn(at, six ? "]" : ":");
	char text[INET6_ADDRSTRLEN];
	struct be32 four;

	if (len >= sizeof text || at[len] == '\0' || (six && at[len + 1] != ':'))
		return false;
	memcpy(text, at, len);
	text[len] = '\0';
	if (inet_pton(six ? AF_INET6 : AF_INET, text, six ? (void *)http->ip.b : (void *)&four) !=
	    1)
		return false;
	if (!six)
		http->ip = ip_addr_v4(be32_get(four));
	return parse_decimal(at + len + 1 + six, &http->port) && http->port != 0 &&
	       http->port <= 65535;
}

bool
option_set_http(struct config_http *http, const char *value, struct error *err)
{
	struct config_http read = {.port = 0};

	if (strcmp(value, "none") == 0) {
		memset(http, 0, sizeof *http);
		return true;
	}
	if (strlen(value) >= sizeof read.text)
		return error_set(err, "--telemetry-http: more than %zu characters",
				 sizeof read.text - 1);
	memset(&read, 0, sizeof read);
	if (value[0] != '/' && !parse_http_address(&read, value))
		return error_set(err,
				 "--telemetry-http: \"%s\": expected IP:PORT such as "
				 "127.0.0.1:9150 or [::1]:9150, the path of a Unix socket, or none",
				 value);
	strcpy(read.text, value);
	*http = read;
	return true;
}
