/*
 * fleet_values.c - values of a front's options: words, times, a list of servers or a file of them.
 */
#include "options.h"

#include <string.h>

bool
option_set_time(uint32_t *ms, const struct option_row *row, const char *value, struct error *err)
{
	const size_t len = strspn(value, "0123456789");
	const char *unit = value + len;
	const double factor = strcmp(unit, "s") == 0 ? 1e3 : strcmp(unit, "ms") == 0 ? 1 : 0;
	char digits[CONFIG_NAME_BYTES];
	uint32_t n;

	snprintf(digits, sizeof digits, "%.*s", (int)len, value);
	if (len >= sizeof digits || !parse_decimal(digits, &n) || n * factor < row->min ||
	    n * factor > row->max)
		return error_set(err,
				 "--%s: \"%s\": expected a time from %.10gms to %.10gs, with ms or "
				 "s behind it",
				 row->name, value, row->min, row->max / 1e3);
	*ms = (uint32_t)(n * factor);
	return true;
}

/* Stores a list of servers separated by commas, or the path of a file. lib/front parses the
 * servers themselves. */
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
