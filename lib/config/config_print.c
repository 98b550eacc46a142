/*
 * config_print.c - prints a configuration as a file that reads back as the same one.
 *
 * Every key is printed below its description. A key that is not set and has no default value is
 * commented out, since every value would change the configuration.
 */
#include "config_file.h"

#include <ctype.h>
#include <stdarg.h>
#include <string.h>

#define VALUE_BYTES 9216u

struct out {
	char text[VALUE_BYTES];
	size_t used;
};

static void __attribute__((format(printf, 2, 3))) put(struct out *o, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (o->used < sizeof o->text)
		o->used += (size_t)vsnprintf(o->text + o->used, sizeof o->text - o->used, format,
					     args);
	va_end(args);
}

/* True if text needs no quotes: YAML cannot interpret it as anything else. */
static bool
needs_no_quotes(const char *text)
{
	const size_t len = strlen(text);

	return (isalnum((unsigned char)text[0]) || text[0] == '/') && text[len - 1] != ':' &&
	       strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
			    "_./:@-,=") == len;
}

static void
put_text(struct out *o, const char *text)
{
	if (needs_no_quotes(text)) {
		put(o, "%s", text);
		return;
	}
	put(o, "\"");
	for (; *text != '\0'; text++) {
		const unsigned char c = (unsigned char)*text;

		if (c == '"' || c == '\\')
			put(o, "\\%c", c);
		else if (c < ' ' || c == 0x7f)
			put(o, "\\x%02x", c);
		else
			put(o, "%c", c);
	}
	put(o, "\"");
}

static void
put_ip(struct out *o, const struct ip_addr *ip)
{
	char text[IP_ADDR_TEXT_MAX + 1];

	*ip_addr_text(text, ip) = '\0';
	put(o, "%s", text);
}

static void
put_ip4(struct out *o, uint32_t ip)
{
	const struct ip_addr addr = ip_addr_v4(ip);

	put_ip(o, &addr);
}

static bool
put_nets(struct out *o, const struct config *cfg)
{
	put(o, "[");
	for (uint32_t i = 0; i < cfg->udp_allow_count; i++) {
		const struct config_net *net = &cfg->udp_allow[i];

		put(o, "%s\"", i == 0 ? "" : ", ");
		put_ip(o, &net->ip);
		put(o, "/%u\"", net->prefix_len - (ip_addr_is_v4(&net->ip) ? IP_ADDR_V4_BITS : 0));
	}
	put(o, "]");
	return cfg->udp_allow_given;
}

static bool
put_lcores(struct out *o, const struct lcore_set *set)
{
	put(o, "[");
	for (uint32_t i = 0; i < set->count; i++)
		put(o, set->at[i].id == set->at[i].cpu ? "%s%u" : "%s%u@%u", i == 0 ? "" : ", ",
		    set->at[i].id, set->at[i].cpu);
	put(o, "]");
	return set->count != 0;
}

static bool
put_nodes(struct out *o, const struct config *cfg)
{
	put(o, "[");
	for (uint32_t i = 0; i < cfg->node_count; i++)
		put(o, "%s%u", i == 0 ? "" : ", ", cfg->node_mb[i]);
	put(o, "]");
	return cfg->node_count != 0;
}

static bool
put_numa(struct out *o, uint32_t nodes)
{
	const char *comma = "[";

	if (nodes == CONFIG_NUMA_NIC || nodes == CONFIG_NUMA_ALL) {
		put(o, nodes == CONFIG_NUMA_NIC ? "nic" : "interleave");
		return true;
	}
	for (uint32_t n = 0; n < CONFIG_NUMA_END; n++) {
		if (!(nodes & 1u << n))
			continue;
		put(o, "%s%u", comma, n);
		comma = ", ";
	}
	put(o, "]");
	return true;
}

static bool
put_offloads(struct out *o, uint32_t offloads)
{
	const char *comma = "";

	put(o, "[");
	for (uint32_t i = 0; config_offloads[i] != NULL; i++) {
		if (!(offloads & 1u << i))
			continue;
		put(o, "%s%s", comma, config_offloads[i]);
		comma = ", ";
	}
	put(o, "]");
	return offloads != CONFIG_PROFILE_OFFLOADS;
}

static bool
put_time(struct out *o, uint32_t ms)
{
	put(o, ms % 1000 == 0 ? "%us" : "%ums", ms % 1000 == 0 ? ms / 1000 : ms);
	return true;
}

static bool
put_servers(struct out *o, const char *servers)
{
	char item[CONFIG_SERVERS_BYTES];

	if (servers[0] == '/') {
		put_text(o, servers);
		return true;
	}
	put(o, "[");
	for (const char *p = servers; servers[0] != '\0'; p++) {
		const size_t len = strcspn(p, ",");

		snprintf(item, sizeof item, "%.*s", (int)len, p);
		put_text(o, item);
		p += len;
		if (*p == '\0')
			break;
		put(o, ", ");
	}
	put(o, "]");
	return servers[0] != '\0';
}

static bool
put_size(struct out *o, uint32_t bytes)
{
	const char *letter = bytes % (1u << 20) == 0 ? "m" : bytes % (1u << 10) == 0 ? "k" : "";

	put(o, "%u%s", bytes >> (letter[0] == 'm' ? 20 : letter[0] == 'k' ? 10 : 0), letter);
	return true;
}

static bool
put_space(struct out *o, uint32_t mb)
{
	const uint32_t shift = mb % (1u << 20) == 0 ? 20 : mb % (1u << 10) == 0 ? 10 : 0;

	put(o, "%u%c", mb >> shift, "mgt"[shift / 10]);
	return mb != 0;
}

static bool
put_address(struct out *o, const struct config *cfg)
{
	if (cfg->ipv4 == 0) {
		put(o, "none");
		return true;
	}
	put_ip4(o, cfg->ipv4);
	put(o, "/%u", cfg->prefix_len);
	return cfg->address_given;
}

static bool
put_address6(struct out *o, const struct config *cfg)
{
	put_ip(o, &cfg->ipv6);
	put(o, "/%u", cfg->prefix6_len);
	return !ip_addr_is_zero(&cfg->ipv6);
}

static bool
put_gateway6(struct out *o, const struct config *cfg)
{
	if (cfg->gateway6_auto)
		put(o, "auto");
	else
		put_ip(o, &cfg->gateway6);
	return cfg->gateway6_auto || !ip_addr_is_zero(&cfg->gateway6);
}

static void
put_keep_for(struct out *o, uint32_t seconds)
{
	if (seconds == KEEP_FOR_ALWAYS)
		put(o, "always");
	else if (seconds == 0)
		put(o, "never");
	else
		put(o, "%u", seconds);
}

static bool
put_items(struct out *o, uint32_t items)
{
	if (items == CONFIG_FRONT_ITEMS_MEMORY)
		put(o, "memory");
	else if (items >= CONFIG_FRONT_ITEMS_BY_MODE)
		put(o, "auto");
	else
		put(o, "%u", items);
	return items != CONFIG_FRONT_ITEMS_BY_MODE;
}

/* Writes the value of a row in the file's form. False if it is not set. */
static bool
put_value(struct out *o, const struct config *cfg, const struct option_row *row)
{
	const void *field = (const char *)cfg + row->at;
	const uint32_t *number = field;
	const char delimiter[] = {cfg->prefix_delimiter, '\0'};

	switch (row->kind) {
	case OPTION_NUMBER:
	case OPTION_MEGABYTES:
	case OPTION_COUNT:
		put(o, "%u", *number);
		return *number >= row->min && *number <= row->max;
	case OPTION_SIZE:
		return put_size(o, *number);
	case OPTION_TEXT:
	case OPTION_PROFILE:
	case OPTION_HTTP: /* its text is the first field */
		put_text(o, field);
		return *(const char *)field != '\0';
	case OPTION_FLAG:
		put(o, "%s", *(const bool *)field ? "yes" : "no");
		return true;
	case OPTION_PORT:
		put_text(o, cfg->pci[0] != '\0' ? cfg->pci : cfg->port);
		return true;
	case OPTION_ADDRESS:
		return put_address(o, cfg);
	case OPTION_ADDRESS6:
		return put_address6(o, cfg);
	case OPTION_GATEWAY:
		put_ip4(o, cfg->gateway);
		return cfg->gateway != 0;
	case OPTION_GATEWAY6:
		return put_gateway6(o, cfg);
	case OPTION_LISTEN:
		put_text(o, cfg->listeners.text);
		return cfg->listeners.more_count != 0 ||
		       (config_is_user(cfg) && cfg->listeners.text[0] != '\0');
	case OPTION_NETS:
		return put_nets(o, cfg);
	case OPTION_LCORES:
		return put_lcores(o, &cfg->lcores);
	case OPTION_NODES:
		return put_nodes(o, cfg);
	case OPTION_NUMA:
		return put_numa(o, *number);
	case OPTION_KEEP_FOR:
		put_keep_for(o, *number);
		return true;
	case OPTION_OFFLOADS:
		return put_offloads(o, *number);
	case OPTION_TIME:
		return put_time(o, *number);
	case OPTION_ITEMS:
		return put_items(o, *number);
	case OPTION_SPACE:
		return put_space(o, *number);
	case OPTION_SERVERS:
	case OPTION_NET_LIST:
	case OPTION_ADDRESSES:
	case OPTION_ROUTES:
		return put_servers(o, field);
	case OPTION_DELIMITER:
		put_text(o, delimiter);
		return cfg->detail;
	default:
		put(o, "%s", option_choices(row->kind)[*number]);
		return true;
	}
}

static void
print_row(const struct config *cfg, const struct option_row *row, FILE *out)
{
	const char letter[] = {'-', row->letter, ' ', '\0'};
	struct out value = {.used = 0};
	const bool said = put_value(&value, cfg, row);

	/* A name after -o is shown without dashes. */
	fprintf(out, "\n  # %s\n  # on the command line: %s%s%s\n", row->help,
		row->letter != 0 ? letter : "",
		extended_by_name(row->name, strlen(row->name)) != NULL ? "-o " : "--", row->name);
	fprintf(out, "  %s%s: %s\n", said ? "" : "#", strchr(row->key, '.') + 1,
		said || row->arg == NULL ? value.text : row->arg);
}

/* Prints the options that were requested but have no equivalent here, each with its reason. */
static void
print_left_out(const struct config *cfg, FILE *out)
{
	const char *title = "#\n# Not taken over:\n";

	for (uint32_t i = 0; i < option_count(); i++) {
		const struct option_row *row = option_at(i);
		const bool listen = row->kind == OPTION_LISTEN;

		if (!option_is_marked(cfg, row) || (option_has_effect(row) && !listen))
			continue;
		fprintf(out, "%s# %s%s%s%s: %s\n", title, i < option_row_count ? "--" : "-o ",
			row->name, listen ? " " : "", listen ? cfg->listeners.text : "",
			listen ? "no address of a NIC; with port.nic: user it is network.listen"
			       : row->help);
		title = "";
	}
}

void
config_print(const struct config *cfg, FILE *out)
{
	fputs("# Clockoo's configuration. Read from the file after --config; options on the\n"
	      "# command line override it. Keys that are commented out are not set.\n"
	      "# \"clockoo --check FILE\" checks a file.\n",
	      out);
	print_left_out(cfg, out);
	for (const struct config_section *s = config_sections; s->name != NULL; s++) {
		fprintf(out, "\n# %s\n%s:\n", s->title, s->name);
		for (uint32_t i = 0; i < option_count(); i++) {
			const struct option_row *row = option_at(i);

			if (row->key != NULL && config_section_has(s, row->key))
				print_row(cfg, row, out);
		}
	}
}

const char *
option_key_given(const struct config *cfg, const char *section)
{
	struct config unset;

	config_defaults(&unset);
	for (uint32_t i = 0; i < option_count(); i++) {
		const struct option_row *row = option_at(i);
		struct out value = {.used = 0}, value_unset = {.used = 0};

		if (row->key == NULL || strncmp(row->key, section, strlen(section)) != 0)
			continue;
		put_value(&value, cfg, row);
		put_value(&value_unset, &unset, row);
		if (strcmp(value.text, value_unset.text) != 0)
			return row->key;
	}
	return NULL;
}

void
config_differ(const struct config_loaded *was, const struct config_loaded *now, config_visit *visit,
	      void *arg)
{
	for (uint32_t i = 0; i < option_count(); i++) {
		const struct option_row *row = option_at(i);
		struct out before = {.used = 0}, after = {.used = 0};

		if (row->key == NULL || (was->source->line[i] == 0 && now->source->line[i] == 0))
			continue;
		put_value(&before, was->config, row);
		put_value(&after, now->config, row);
		if (strcmp(before.text, after.text) != 0)
			visit(arg, row->name, row->key, after.text);
	}
}
