/*
 * addresses.c - options that hold addresses: the appliance's, its routers', and networks of
 * clients.
 */
#include "addr_list.h"
#include "ip_text.h"
#include "net_list.h"
#include "options.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <string.h>

#define USER_LOOPBACK 0x7f000001u /* 127.0.0.1 */

bool
option_set_address(struct config *cfg, const char *value, struct error *err)
{
	const char *p = value;
	struct ip_addr addr;
	uint32_t ip, len;

	if (strcmp(value, "none") == 0) {
		cfg->ipv4 = cfg->prefix_len = 0;
		cfg->address_given = false;
		return true;
	}
	if (!ip_text_ipv4(&p, &ip) || *p != '/' || !parse_decimal(p + 1, &len) || len > 32)
		return error_set(err,
				 "--address: \"%s\": expected an IPv4 address and prefix length "
				 "such as 10.99.0.1/24",
				 value);
	addr = ip_addr_v4(ip);
	if (!ip_addr_is_host(&addr))
		return error_set(err,
				 "--address: \"%s\": expected a unicast address, not a "
				 "multicast, loopback or unspecified one",
				 value);
	cfg->ipv4 = ip;
	cfg->prefix_len = len;
	cfg->address_given = true;
	return true;
}

static bool
is_any_address(const char *text, size_t len)
{
	static const char *const any[] = {"0.0.0.0", "*", "INADDR_ANY"};

	for (uint32_t i = 0; i < sizeof any / sizeof any[0]; i++)
		if (strlen(any[i]) == len && memcmp(text, any[i], len) == 0)
			return true;
	return false;
}

/* Parses ":PORT" if the text at *p begins with a colon. */
static bool
parse_listener_port(const char **p, uint32_t *port)
{
	uint32_t digits = 0;

	if (**p != ':')
		return true;
	for (*port = 0; isdigit((unsigned char)(*p)[1]) && digits < 5; ++*p, digits++)
		*port = *port * 10 + (uint32_t)((*p)[1] - '0');
	++*p;
	return digits != 0 && *port != 0 && *port <= UINT16_MAX;
}

/* True if the item at text is in brackets or has two colons. */
static bool
is_ipv6_text(const char *text)
{
	const size_t len = strcspn(text, ",");
	const char *colon = memchr(text, ':', len);

	return text[0] == '[' ||
	       (colon != NULL && memchr(colon + 1, ':', len - (size_t)(colon + 1 - text)) != NULL);
}

/* Parses "[::1]", or "::1" with no port after it. */
static bool
parse_listener6(const char **p, struct config_listener *l)
{
	const bool brackets = **p == '[';

	*p += brackets;
	if (!ip_text_family(p, AF_INET6, brackets ? "]" : ",", l->ip.b) || (brackets && **p != ']'))
		return false;
	*p += brackets;
	l->ipv6 = true;
	l->any = ip_addr_is_zero(&l->ip);
	return !ip_addr_is_v4(&l->ip);
}

/* Parses one listener of memcached's -l at the beginning of *p. */
static bool
parse_listener(const char **p, struct config_listener *l)
{
	static const char in_the_clear[] = "notls:";
	const char *item = *p;
	uint32_t ip;

	memset(l, 0, sizeof *l);
	l->plain = strncmp(item, in_the_clear, sizeof in_the_clear - 1) == 0;
	item += l->plain ? sizeof in_the_clear - 1 : 0;
	l->any = is_any_address(item, strcspn(item, ":,"));
	if (is_ipv6_text(item)) {
		if (!parse_listener6(&item, l))
			return false;
	} else if (l->any) {
		item += strcspn(item, ":,");
	} else if (ip_text_ipv4(&item, &ip)) {
		l->ip = ip_addr_v4(ip);
	} else {
		return false;
	}
	*p = item;
	return parse_listener_port(p, &l->port) && (**p == ',' || **p == '\0');
}

/* Appends value to the text of earlier -l. */
static bool
keep_listen_text(struct config_listen *listen, const char *value)
{
	const size_t used = strlen(listen->text), len = strlen(value);

	if (used + (used != 0) + len >= sizeof listen->text)
		return false;
	if (used != 0)
		strcat(listen->text, ",");
	strcat(listen->text, value);
	return true;
}

void
option_forget_listen(struct config *cfg)
{
	memset(&cfg->listeners, 0, sizeof cfg->listeners);
}

/* Stores the addresses. finish_listen interprets them, since their meaning depends on the port,
 * which may be given later. */
bool
option_set_listen(struct config *cfg, const char *value, struct error *err)
{
	struct config_listen *const listen = &cfg->listeners;
	const char *p = value;

	do {
		if (listen->count == CONFIG_LISTENERS_MAX)
			return error_set(err, "--listen: more than %u addresses",
					 CONFIG_LISTENERS_MAX);
		if (!parse_listener(&p, &listen->at[listen->count++]))
			return error_set(
				err,
				"--listen: \"%s\": expected an address, perhaps with :PORT, and "
				"with --enable-ssl perhaps notls:ADDRESS:PORT behind a comma; on a "
				"NIC the appliance has one IPv4 address",
				value);
	} while (*p++ == ',');
	return keep_listen_text(listen, value) ||
	       error_set(err, "--listen: more than %zu characters", sizeof listen->text - 1);
}

/* Applies one -l on a NIC. memcached's -l names sockets of the kernel; on a NIC it can only
 * repeat the appliance's one address. */
static bool
listener_of_nic(struct config *cfg, const struct config_listener *l, struct error *err)
{
	const char *const text = cfg->listeners.text;
	const uint32_t ip = ip_addr_v4_get(&l->ip);

	if (l->any && !l->ipv6)
		return true;
	if (l->ipv6)
		return error_set_code(err, ERROR_USAGE,
				      "--listen: \"%s\": on a NIC give an IPv6 address with "
				      "--address6",
				      text);
	if (ip >> 24 == 127)
		return error_set_code(
			err, ERROR_USAGE,
			"--listen: \"%s\": there is no loopback on a NIC; leave -l out and "
			"give the address with --address, or a network of its own; or serve "
			"on this host's sockets with --port user",
			text);
	if (ip >> 28 >= 0xe || ip >> 24 == 0)
		return error_set_code(err, ERROR_USAGE,
				      "--listen: \"%s\": expected a unicast address", text);
	if (cfg->listen != 0 && cfg->listen != ip)
		return error_set_code(err, ERROR_USAGE,
				      "--listen: \"%s\": the appliance has one address", text);
	cfg->listen = ip;
	return true;
}

/* Port user serves on 127.0.0.1 unless -l says otherwise. */
static void
listen_on_loopback(struct config_listen *listen)
{
	if (listen->count == 0)
		listen->at[listen->count++] =
			(struct config_listener){.ip = ip_addr_v4(USER_LOOPBACK)};
}

/* True if listener number i is the first of its address that speaks TLS. */
static bool
listens_first_at(const struct config_listen *listen, uint32_t i)
{
	const struct config_listener *l = &listen->at[i];

	for (uint32_t k = 0; k < i; k++) {
		const struct config_listener *other = &listen->at[k];

		if (other->ipv6 == l->ipv6 && ip_addr_equal(&other->ip, &l->ip))
			return false;
	}
	return !l->plain;
}

/* Listens on tls.plain_port at each address of -l, unless -l itself names that port. */
static bool
listen_in_the_clear(struct config_listen *listen, struct error *err)
{
	const uint32_t count = listen->count;

	for (uint32_t i = 0; i < count; i++)
		if (listen->at[i].plain)
			return true;
	for (uint32_t i = 0; i < count; i++) {
		if (!listens_first_at(listen, i))
			continue;
		if (listen->count == CONFIG_LISTENERS_MAX)
			return error_set(err,
					 "--listen: \"%s\": more than %u addresses with those of "
					 "--tls-plain-port",
					 listen->text, CONFIG_LISTENERS_MAX);
		listen->at[listen->count] = listen->at[i];
		listen->at[listen->count].plain = true;
		listen->at[listen->count++].port = 0;
	}
	return true;
}

static bool
finish_listen_user(struct config *cfg, struct error *err)
{
	struct config_listen *const listen = &cfg->listeners;

	listen_on_loopback(listen);
	for (uint32_t i = 0; i < listen->count; i++) {
		const struct config_listener *l = &listen->at[i];

		if (l->plain && cfg->tls.plain_port == 0)
			cfg->tls.plain_port = l->port != 0 ? l->port : cfg->tcp_port;
	}
	return cfg->tls.plain_port == 0 || listen_in_the_clear(listen, err);
}

static bool
plain_port_of_nic(struct config *cfg, uint32_t port, struct error *err)
{
	if (cfg->tls.plain_port != 0 && cfg->tls.plain_port != port)
		return error_set(err,
				 "--listen: \"%s\": one port is in the clear beside TLS, and %u is "
				 "it already; give one of them",
				 cfg->listeners.text, cfg->tls.plain_port);
	cfg->tls.plain_port = port;
	return true;
}

bool
config_listens(const struct config *cfg, uint32_t port)
{
	for (uint32_t i = 0; i < cfg->listeners.more_count; i++)
		if (cfg->listeners.more_ports[i] == port)
			return true;
	return port == cfg->tcp_port;
}

/* True if -p's port is among the ports of -l. An address without a port has -p's. */
static bool
names_own_port(const struct config *cfg)
{
	bool others = false;

	for (uint32_t i = 0; i < cfg->listeners.count; i++) {
		const struct config_listener *l = &cfg->listeners.at[i];

		if (!l->plain && (l->port == 0 || l->port == cfg->tcp_port))
			return true;
		others |= !l->plain;
	}
	return !others;
}

static bool
add_port_of_nic(struct config *cfg, uint32_t port, struct error *err)
{
	struct config_listen *const listen = &cfg->listeners;

	if (port == 0 || config_listens(cfg, port))
		return true;
	if (cfg->udp_port != 0)
		return error_set(err,
				 "--listen: \"%s\": with -U give one port: datagrams are served "
				 "on one",
				 listen->text);
	if (listen->more_count == CONFIG_MORE_PORTS_MAX)
		return error_set(err, "--listen: more than %u ports", CONFIG_MORE_PORTS_MAX + 1);
	listen->more_ports[listen->more_count++] = port;
	return true;
}

/* Serves each port that -l names, and -p's at addresses without a port. UDP uses the ports of -l,
 * too, as in memcached. */
static bool
finish_listen_nic(struct config *cfg, struct error *err)
{
	struct config_listen *const listen = &cfg->listeners;
	bool first = !names_own_port(cfg);

	listen->more_count = 0;
	if (cfg->backlog != CONFIG_BACKLOG)
		option_mark(cfg, option_by_letter('b'));
	for (uint32_t i = 0; i < listen->count; i++) {
		const struct config_listener *l = &listen->at[i];
		const uint32_t port = l->port != 0 ? l->port : cfg->tcp_port;

		if (!listener_of_nic(cfg, l, err))
			return false;
		if (l->plain) {
			if (!plain_port_of_nic(cfg, port, err))
				return false;
			continue;
		}
		if (first)
			cfg->tcp_port = port;
		first = false;
		if (!add_port_of_nic(cfg, l->port, err))
			return false;
		if (l->port != 0 && cfg->udp_port != 0)
			cfg->udp_port = l->port;
	}
	return true;
}

bool
finish_listen(struct config *cfg, struct error *err)
{
	return config_is_user(cfg) ? finish_listen_user(cfg, err) : finish_listen_nic(cfg, err);
}

bool
option_set_nets(struct config *cfg, const char *value, struct error *err)
{
	const char *p = value;

	cfg->udp_allow_given = true;
	cfg->udp_allow_count = 0;
	if (strcmp(value, "none") == 0)
		return true;
	while (cfg->udp_allow_count < CONFIG_NETS_MAX) {
		p = option_parse_net(p, &cfg->udp_allow[cfg->udp_allow_count]);
		if (p == NULL || (*p != ',' && *p != '\0'))
			return error_set(err,
					 "--udp-allow: \"%s\": expected networks such as "
					 "10.0.0.0/8,2001:db8::/32, or none",
					 value);
		cfg->udp_allow_count++;
		if (*p++ == '\0')
			return true;
	}
	return error_set(err, "--udp-allow: more than %u networks", CONFIG_NETS_MAX);
}

/* Sets a list of networks. A list is parsed here to find its errors; the content of a file is
 * checked by the code that uses it. */
bool
option_set_net_list(char text[CONFIG_SERVERS_BYTES], const struct option_row *row,
		    const char *value, struct error *err)
{
	struct config_net nets[CONFIG_SERVERS_BYTES / 3]; /* "::," is the shortest */
	struct net_list list = {.nets = nets, .max = sizeof nets / sizeof nets[0]};
	const bool none = strcmp(value, "none") == 0;

	/* An operator who writes `allow: none` lets no client in. */
	if (none && strcmp(row->name, "allow") == 0)
		return error_set(err, "--allow: no network; leave it out to let everybody in");
	if (strlen(value) >= CONFIG_SERVERS_BYTES ||
	    (value[0] == '/' && strchr(value, ',') != NULL))
		return error_set(err,
				 "--%s: expected a list of at most %u characters, or the path of "
				 "one file that has the networks",
				 row->name, CONFIG_SERVERS_BYTES - 1);
	if (value[0] != '/' && !none &&
	    !net_list_read(&list, row->name, NULL, value, strlen(value), err))
		return false;
	if (value[0] != '/' && !none && list.count == 0)
		return error_set(err, "--%s: no network; give some, or leave it out", row->name);
	memset(text, 0, CONFIG_SERVERS_BYTES);
	if (!none)
		strcpy(text, value);
	return true;
}

/* Sets a list of addresses or routes, as option_set_net_list() does. */
bool
option_set_addr_list(char text[CONFIG_SERVERS_BYTES], const struct option_row *row,
		     const char *value, struct error *err)
{
	const bool none = strcmp(value, "none") == 0;

	if (strlen(value) >= CONFIG_SERVERS_BYTES ||
	    (value[0] == '/' && strchr(value, ',') != NULL))
		return error_set(err,
				 "--%s: expected a list of at most %u characters, or the path of "
				 "one file that has it",
				 row->name, CONFIG_SERVERS_BYTES - 1);
	if (value[0] != '/' && !none &&
	    !(row->kind == OPTION_ROUTES ? addr_list_check_routes
					 : addr_list_check_addresses)(value, err))
		return false;
	memset(text, 0, CONFIG_SERVERS_BYTES);
	if (!none)
		strcpy(text, value);
	return true;
}

bool
option_set_gateway(struct config *cfg, const char *value, struct error *err)
{
	const char *p = value;

	if (!ip_text_ipv4(&p, &cfg->gateway) || *p != '\0')
		return error_set(err,
				 "--gateway: \"%s\": expected an IPv4 address such as 10.99.0.254",
				 value);
	return true;
}

bool
option_set_address6(struct config *cfg, const char *value, struct error *err)
{
	const char *p = value;
	struct ip_addr ip;
	uint32_t len;

	if (!ip_text_ipv6(&p, &ip) || *p != '/' || !parse_decimal(p + 1, &len) ||
	    len > IP_ADDR_BITS)
		return error_set(err,
				 "--address6: \"%s\": expected an IPv6 address and prefix length "
				 "such as 2001:db8::1/64",
				 value);
	if (!ip_addr_is_host(&ip))
		return error_set(err,
				 "--address6: \"%s\": expected a unicast address, not a "
				 "multicast, loopback or unspecified one",
				 value);
	if (ip_addr_is_link_local(&ip))
		return error_set(err,
				 "--address6: \"%s\": the link-local address (fe80::) is derived "
				 "from the MAC; give one of another network",
				 value);
	cfg->ipv6 = ip;
	cfg->prefix6_len = len;
	return true;
}

bool
option_set_gateway6(struct config *cfg, const char *value, struct error *err)
{
	const char *p = value;

	cfg->gateway6 = (struct ip_addr){0};
	cfg->gateway6_auto = strcmp(value, "auto") == 0;
	if (cfg->gateway6_auto)
		return true;
	if (!ip_text_ipv6(&p, &cfg->gateway6) || *p != '\0' || !ip_addr_is_host(&cfg->gateway6))
		return error_set(
			err,
			"--gateway6: \"%s\": expected an IPv6 address such as fe80::1, or auto",
			value);
	return true;
}

bool
finish_address6(struct config *cfg, struct error *err)
{
	const bool named = !ip_addr_is_zero(&cfg->ipv6);
	const struct config_net link = {{{0xfe, 0x80}}, 10};

	if (named && cfg->ipv6_use == IPV6_OFF)
		return error_set(err, "--ipv6 off with --address6: leave one of them out");
	if (cfg->ipv6_use == IPV6_ON && cfg->mtu < CONFIG_MTU6_MIN)
		return error_set(err, "--ipv6 on: IPv6 needs --mtu %u at least (RFC 8200)",
				 CONFIG_MTU6_MIN);
	if (named && cfg->mtu < CONFIG_MTU6_MIN)
		return error_set(err, "--address6: IPv6 needs --mtu %u at least (RFC 8200)",
				 CONFIG_MTU6_MIN);
	if (cfg->gateway6_auto && !config_has_ipv6(cfg))
		return error_set(err, "--gateway6 auto: IPv6 is off; give --address6 or --ipv6 on");
	if (named && ip_addr_equal(&cfg->gateway6, &cfg->ipv6))
		return error_set(err, "--gateway6: that is our own address");
	if (!ip_addr_is_zero(&cfg->gateway6) && !ip_addr_is_link_local(&cfg->gateway6) &&
	    !(named && ip_addr_same_prefix(&cfg->gateway6, &cfg->ipv6, cfg->prefix6_len)))
		return error_set(err, "--gateway6: not on the network of --address6; give a router "
				      "that is, or its link-local address (fe80::)");
	if (!cfg->udp_allow_given) {
		cfg->udp_allow[cfg->udp_allow_count++] = link;
		if (named)
			cfg->udp_allow[cfg->udp_allow_count++] =
				(struct config_net){cfg->ipv6, cfg->prefix6_len};
	}
	return true;
}
