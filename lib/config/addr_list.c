/*
 * addr_list.c - reads --addresses and --routes item by item, and checks addresses and routes
 * against each other.
 */
#include "addr_list.h"
#include "ip_text.h"
#include "net_list.h"
#include "options.h"
#include "text_file.h"

#include <stdlib.h>
#include <string.h>

#define ITEM_BYTES   160u
#define WORDS_MAX    8u
#define OPTION_BYTES 32u
#define VLAN_MAX     4094u
#define MTU_MIN      576u

/* An item, cut into words. */
struct item {
	char text[ITEM_BYTES];  /* as given, for errors */
	char words[ITEM_BYTES]; /* the same text, with zero bytes between the words */
	const char *word[WORDS_MAX];
	uint32_t count;
};

/* Parses a whole word as an address, which a prefix length may follow. */
static bool
parse_net(const char *word, struct config_net *net)
{
	const char *end = option_parse_net(word, net);

	return end != NULL && *end == '\0';
}

static bool
parse_gateway(const char *word, struct ip_addr *ip)
{
	struct config_net net;

	if (!parse_net(word, &net) || strchr(word, '/') != NULL)
		return false;
	*ip = net.ip;
	return true;
}

/* Parses the pairs of a keyword and a number after word `from`. mtu NULL: no mtu may be given. */
static bool
parse_numbers(const struct list_place *at, const struct item *item, uint32_t from, uint32_t *vlan,
	      uint32_t *mtu, struct error *err)
{
	for (uint32_t i = from; i < item->count; i += 2) {
		const bool is_vlan = strcmp(item->word[i], "vlan") == 0;
		uint32_t *const to = is_vlan ? vlan : mtu, n;

		if (to == NULL || (!is_vlan && strcmp(item->word[i], "mtu") != 0) || *to != 0 ||
		    i + 1 == item->count)
			return list_place_error(
				at, item->text,
				mtu != NULL ? "expected \"mtu N\" or \"vlan ID\" at the end, "
					      "each at most once"
					    : "expected \"vlan ID\" at the end, or nothing",
				err);
		if (!parse_decimal(item->word[i + 1], &n) || n == 0 || (is_vlan && n > VLAN_MAX))
			return list_place_error(at, item->text,
						is_vlan ? "expected a VLAN of 1 to 4094"
							: "expected an MTU in bytes",
						err);
		*to = n;
	}
	return true;
}

/* ---- one item ---- */

static bool
parse_address(const struct list_place *at, const struct item *item, struct config_addr *a,
	      struct error *err)
{
	struct config_net net;

	*a = (struct config_addr){.vlan = 0};
	if (!parse_net(item->word[0], &net))
		return list_place_error(
			at, item->text,
			"expected an address such as 192.0.2.5/24 or 2001:db8::5, perhaps "
			"with \"vlan ID\" behind it",
			err);
	a->ip = net.ip;
	a->prefix_len = net.prefix_len;
	if (!ip_addr_is_host(&a->ip))
		return list_place_error(
			at, item->text,
			"expected a unicast address, not a multicast, loopback or unspecified "
			"one",
			err);
	if (ip_addr_is_link_local(&a->ip))
		return list_place_error(
			at, item->text,
			"the link-local address (fe80::) is derived from the MAC; give one of "
			"another network",
			err);
	if (ip_addr_is_network_or_broadcast(&a->ip, a->prefix_len))
		return list_place_error(
			at, item->text,
			"that is the network or broadcast address; give the address of one, "
			"or /32",
			err);
	return parse_numbers(at, item, 1, &a->vlan, NULL, err);
}

/* Parses "NETWORK via GATEWAY". "default" means all addresses of the gateway's family. */
static bool
parse_route(const struct list_place *at, const struct item *item, struct config_route *r,
	    struct error *err)
{
	const bool all = strcmp(item->word[0], "default") == 0;
	char words[ITEM_BYTES];
	struct config_net nets[1];
	struct net_list list = {.nets = nets, .max = 1};

	*r = (struct config_route){.mtu = 0};
	if (item->count < 3 || strcmp(item->word[1], "via") != 0 ||
	    !parse_gateway(item->word[2], &r->gateway) || !ip_addr_is_host(&r->gateway) ||
	    (!all && !parse_net(item->word[0], &r->net)))
		return list_place_error(
			at, item->text,
			"expected a route such as 198.51.100.0/24 via 192.0.2.1, or default "
			"via fe80::1",
			err);
	/* net_list_read refuses bits beyond the prefix, and names the network that was probably
	 * meant. */
	snprintf(words, sizeof words, "%s", item->word[0]);
	if (!all && !net_list_read(&list, at->option, at->where, words, strlen(words), err))
		return false;
	if (all)
		r->net = (struct config_net){ip_addr_is_v4(&r->gateway) ? ip_addr_v4(0)
									: (struct ip_addr){{0}},
					     ip_addr_is_v4(&r->gateway) ? IP_ADDR_V4_BITS : 0};
	if (ip_addr_is_v4(&r->net.ip) != ip_addr_is_v4(&r->gateway))
		return list_place_error(at, item->text, "network and gateway are of two families",
					err);
	if (!parse_numbers(at, item, 3, &r->vlan, &r->mtu, err))
		return false;
	if (r->mtu != 0 && r->mtu < (ip_addr_is_v4(&r->gateway) ? MTU_MIN : CONFIG_MTU6_MIN))
		return list_place_error(at, item->text,
					"expected an MTU of 576 at least, or 1280 for IPv6", err);
	return true;
}

/* ---- a text ---- */

typedef bool add_item(void *to, const struct list_place *at, const struct item *item,
		      struct error *err);

static void
cut(struct item *item, const char *text, size_t len)
{
	char *rest;

	snprintf(item->text, sizeof item->text, "%.*s", (int)len, text);
	for (char *c = item->text; *c != '\0'; c++)
		if (*c == '\t' || *c == '\r')
			*c = ' ';
		else if (*c < ' ' || *c > '~')
			*c = '?';
	for (size_t n = strlen(item->text); n != 0 && item->text[n - 1] == ' ';)
		item->text[--n] = '\0';
	memcpy(item->words, item->text, sizeof item->words);
	item->count = 0;
	for (char *word = strtok_r(item->words, " ", &rest);
	     word != NULL && item->count < WORDS_MAX; word = strtok_r(NULL, " ", &rest))
		item->word[item->count++] = word;
}

/* Calls add for each item of a text. */
static bool
each_item(const struct list_place *from, const char *text, size_t len, add_item *add, void *to,
	  struct error *err)
{
	struct list_place at = *from;

	for (size_t i = 0; i < len; at.line += text[i] == '\n', i++) {
		const size_t begin = i + strspn(text + i, " \t\r");
		struct item item;

		i = begin + strcspn(text + begin, ",\n#");
		i = i > len ? len : i;
		if (i > begin) {
			cut(&item, text + begin, i - begin);
			if (i - begin >= ITEM_BYTES || item.count == WORDS_MAX)
				return list_place_error(&at, item.text, "too long for one item",
							err);
			if (item.count != 0 && !add(to, &at, &item, err))
				return false;
		}
		if (text[i] == '#')
			i += strcspn(text + i, "\n");
		if (i >= len)
			break;
	}
	return true;
}

static bool
add_no_address(void *to, const struct list_place *at, const struct item *item, struct error *err)
{
	struct config_addr a;

	return parse_address(at, item, &a, err);
}

static bool
add_no_route(void *to, const struct list_place *at, const struct item *item, struct error *err)
{
	struct config_route r;

	return parse_route(at, item, &r, err);
}

bool
addr_list_check_addresses(const char *value, struct error *err)
{
	const struct list_place at = {"addresses", NULL, 1};

	return each_item(&at, value, strlen(value), add_no_address, NULL, err);
}

bool
addr_list_check_routes(const char *value, struct error *err)
{
	const struct list_place at = {"routes", NULL, 1};

	return each_item(&at, value, strlen(value), add_no_route, NULL, err);
}

/* ---- the whole list ---- */

/* The list that is being made, and the options that it is checked against. */
struct maker {
	struct addr_list *list;
	const struct config *cfg;
	uint32_t vlans[CONFIG_VLANS_MAX];
	uint32_t vlan_count;
};

static uint32_t
vlan_of(const struct config *cfg, uint32_t vlan)
{
	return vlan != 0 ? vlan : cfg->vlan;
}

/* Counts the VLAN of an address. False: there are too many. */
static bool
note_vlan(struct maker *m, uint32_t vlan)
{
	for (uint32_t i = 0; i < m->vlan_count; i++)
		if (m->vlans[i] == vlan)
			return true;
	if (m->vlan_count == CONFIG_VLANS_MAX)
		return false;
	m->vlans[m->vlan_count++] = vlan;
	return true;
}

/* Returns what is wrong with an address, given the rest of the list; NULL: nothing. */
static const char *
clash(const struct maker *m, const struct config_addr *a, const struct config_addr **other)
{
	const uint32_t vlan = vlan_of(m->cfg, a->vlan);

	for (uint32_t i = 0; i < m->list->addr_count; i++) {
		const struct config_addr *b = &m->list->addr[i];
		const uint32_t bits = a->prefix_len < b->prefix_len ? a->prefix_len : b->prefix_len;

		*other = b;
		if (ip_addr_equal(&a->ip, &b->ip))
			return "is given twice";
		if (vlan_of(m->cfg, b->vlan) != vlan &&
		    ip_addr_is_v4(&a->ip) == ip_addr_is_v4(&b->ip) &&
		    ip_addr_same_prefix(&a->ip, &b->ip, bits))
			return "has a network that overlaps one of another VLAN";
	}
	return NULL;
}

static bool
add_address(void *to, const struct list_place *at, const struct item *item, struct error *err)
{
	struct maker *m = to;
	const struct config_addr *other = NULL;
	char what[128], ip[IP_ADDR_TEXT_MAX + 1];
	struct config_addr a;
	const char *fault;

	if (!parse_address(at, item, &a, err))
		return false;
	if (!ip_addr_is_v4(&a.ip) && m->cfg->ipv6_use == IPV6_OFF)
		return list_place_error(at, item->text, "an IPv6 address, and --ipv6 is off", err);
	if (!ip_addr_is_v4(&a.ip) && m->cfg->mtu < CONFIG_MTU6_MIN)
		return list_place_error(at, item->text, "IPv6 needs --mtu 1280 at least (RFC 8200)",
					err);
	fault = clash(m, &a, &other);
	if (fault != NULL) {
		*ip_addr_text(ip, &other->ip) = '\0';
		snprintf(what, sizeof what, "%s: %s", fault, ip);
		return list_place_error(at, item->text, what, err);
	}
	if (m->list->addr_count == CONFIG_ADDRS_MAX)
		return list_place_error(at, item->text, "more than 2048 addresses in all", err);
	if (!note_vlan(m, vlan_of(m->cfg, a.vlan)))
		return list_place_error(at, item->text, "more than 64 VLANs in all", err);
	m->list->addr[m->list->addr_count++] = a;
	m->list->given++;
	return true;
}

/* Returns what is wrong with a gateway; NULL: nothing. */
static const char *
gateway_fault(const struct maker *m, const struct config_route *r)
{
	bool on_link = ip_addr_is_link_local(&r->gateway);

	for (uint32_t i = 0; i < m->list->addr_count; i++) {
		const struct config_addr *a = &m->list->addr[i];

		if (ip_addr_equal(&a->ip, &r->gateway))
			return "the gateway is our own address";
		on_link |= ip_addr_is_v4(&a->ip) == ip_addr_is_v4(&r->gateway) &&
			   ip_addr_same_prefix(&a->ip, &r->gateway, a->prefix_len);
	}
	if (r->vlan != 0 && !ip_addr_is_link_local(&r->gateway))
		return "a VLAN is given for a link-local gateway (fe80::) only: the network of "
		       "another tells it";
	if (!on_link)
		return "the gateway is on the network of none of our addresses";
	if (!ip_addr_is_v4(&r->gateway) && !config_has_ipv6(m->cfg))
		return "an IPv6 route, and IPv6 is off";
	for (uint32_t i = 0; r->vlan != 0 && i < m->vlan_count; i++)
		if (m->vlans[i] == r->vlan)
			return NULL;
	return r->vlan != 0 ? "no address is in that VLAN" : NULL;
}

static bool
add_route(void *to, const struct list_place *at, const struct item *item, struct error *err)
{
	struct maker *m = to;
	struct config_route r;
	const char *fault;

	if (!parse_route(at, item, &r, err))
		return false;
	fault = gateway_fault(m, &r);
	if (fault != NULL)
		return list_place_error(at, item->text, fault, err);
	if (r.mtu > m->cfg->mtu)
		return list_place_error(at, item->text, "an MTU above --mtu", err);
	for (uint32_t i = 0; i < m->list->route_count; i++)
		if (ip_addr_equal(&m->list->route[i].net.ip, &r.net.ip) &&
		    m->list->route[i].net.prefix_len == r.net.prefix_len)
			return list_place_error(
				at, item->text,
				"there is a route to that network already (--gateway and "
				"--gateway6 are routes to all)",
				err);
	if (m->list->route_count == CONFIG_ROUTES_MAX)
		return list_place_error(at, item->text, "more than 1024 routes in all", err);
	m->list->route[m->list->route_count++] = r;
	return true;
}

/* Puts the addresses and gateways that have options of their own at the front of the list. */
static void
add_first(struct maker *m)
{
	struct addr_list *list = m->list;
	const struct config *cfg = m->cfg;

	(void)note_vlan(m, cfg->vlan);
	if (cfg->ipv4 != 0)
		list->addr[list->addr_count++] = (struct config_addr){
			ip_addr_v4(cfg->ipv4), IP_ADDR_V4_BITS + cfg->prefix_len, 0};
	if (!ip_addr_is_zero(&cfg->ipv6))
		list->addr[list->addr_count++] =
			(struct config_addr){cfg->ipv6, cfg->prefix6_len, 0};
	if (cfg->gateway != 0)
		list->route[list->route_count++] =
			(struct config_route){.net = {ip_addr_v4(0), IP_ADDR_V4_BITS},
					      .gateway = ip_addr_v4(cfg->gateway)};
	if (!ip_addr_is_zero(&cfg->gateway6))
		list->route[list->route_count++] = (struct config_route){.gateway = cfg->gateway6};
}

/* Reads an option's value: a list, or the absolute path of a file. */
static bool
load_items(struct maker *m, const char *option, const char *value, add_item *add, struct error *err)
{
	const struct list_place here = {option, NULL, 1}, there = {option, value, 1};
	char before[OPTION_BYTES], *text;
	ssize_t len;
	bool ok;

	if (value[0] != '/')
		return each_item(&here, value, strlen(value), add, m, err);
	snprintf(before, sizeof before, "--%s: ", option);
	text = calloc(1, NET_LIST_FILE_BYTES + 1);
	if (text == NULL)
		return error_set(err, "%sno memory to read %s", before, value);
	len = text_file_read(text, NET_LIST_FILE_BYTES, before, value, err);
	ok = len >= 0 && each_item(&there, text, (size_t)len, add, m, err);
	free(text);
	return ok;
}

/* False if a default route over IPv6 is given in addition to the router that advertises itself. */
static bool
one_default6(const struct maker *m, struct error *err)
{
	const struct addr_list *list = m->list;

	for (uint32_t i = 0; m->cfg->gateway6_auto && i < list->route_count; i++)
		if (list->route[i].net.prefix_len == 0 &&
		    !ip_addr_equal(&list->route[i].gateway, &m->cfg->gateway6))
			return error_set(err, "--routes: a default route over IPv6 beside "
					      "--gateway6 auto; leave one of them out");
	return true;
}

bool
addr_list_read(struct addr_list *list, const struct config *cfg, struct error *err)
{
	struct maker m = {.list = list, .cfg = cfg};

	*list = (struct addr_list){
		.addr = calloc(CONFIG_ADDRS_MAX, sizeof *list->addr),
		.route = calloc(CONFIG_ROUTES_MAX, sizeof *list->route),
	};
	if (list->addr == NULL || list->route == NULL) {
		addr_list_free(list);
		return error_set(err, "--addresses: no memory to read them");
	}
	add_first(&m);
	if (load_items(&m, "addresses", cfg->addresses, add_address, err) &&
	    load_items(&m, "routes", cfg->routes, add_route, err) && one_default6(&m, err))
		return true;
	addr_list_free(list);
	return false;
}

void
addr_list_free(struct addr_list *list)
{
	free(list->addr);
	free(list->route);
	*list = (struct addr_list){0};
}
