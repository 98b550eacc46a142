/*
 * addresses.c - options that hold addresses: ours, our routers', networks of others.
 */
#include "net_list.h"
#include "options.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <string.h>

/* What inet_pton reads, from the front of *p up to one of the ends or the end of the text. */
static bool
parse_family(const char **p, int family, const char *ends, void *to)
{
	const size_t len = strcspn(*p, ends);
	char text[INET6_ADDRSTRLEN];

	if (len >= sizeof text)
		return false;
	memcpy(text, *p, len);
	text[len] = '\0';
	if (inet_pton(family, text, to) != 1)
		return false;
	*p += len;
	return true;
}

static bool
parse_ipv4(const char **p, uint32_t *ip)
{
	struct be32 wire;

	if (!parse_family(p, AF_INET, "/,:", &wire))
		return false;
	*ip = be32_get(wire);
	return true;
}

/* An IPv4-mapped address is refused: it never stands in a packet. */
static bool
parse_ipv6(const char **p, struct ip_addr *ip)
{
	return parse_family(p, AF_INET6, "/,", ip->b) && !ip_addr_is_v4(ip);
}

bool
option_set_address(struct config *cfg, const char *value, struct error *err)
{
	const char *p = value;
	uint32_t ip, len;

	if (!parse_ipv4(&p, &ip) || *p != '/' || !parse_decimal(p + 1, &len) || len > 32)
		return error_set(err,
				 "--address: \"%s\": expected an IPv4 address and prefix length "
				 "such as 10.99.0.1/24",
				 value);
	if (ip >> 28 >= 0xe || ip >> 24 == 0 || ip >> 24 == 127)
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

/* One of memcached's -l, from the front of *p; *ip 0: any address. */
static bool
parse_listener(const char **p, uint32_t *ip, uint32_t *port)
{
	const size_t len = strcspn(*p, ":,");
	uint32_t digits = 0;

	*ip = 0;
	if (is_any_address(*p, len))
		*p += len;
	else if (!parse_ipv4(p, ip))
		return false;
	if (**p == ':') {
		for (*port = 0; isdigit((unsigned char)(*p)[1]) && digits < 5; ++*p, digits++)
			*port = *port * 10 + (uint32_t)((*p)[1] - '0');
		++*p;
		if (digits == 0 || *port > 65535)
			return false;
	}
	return **p == ',' || **p == '\0';
}

static bool
listen_address(struct config *cfg, const char *value, uint32_t ip, struct error *err)
{
	if (ip == 0)
		return true;
	if (ip >> 24 == 127)
		return error_set(
			err,
			"--listen: \"%s\": there is no loopback on a NIC; leave -l out and "
			"give the address with --address, or a network of its own",
			value);
	if (ip >> 28 >= 0xe || ip >> 24 == 0)
		return error_set(err, "--listen: \"%s\": expected a unicast address", value);
	if (cfg->listen != 0 && cfg->listen != ip)
		return error_set(err, "--listen: \"%s\": the appliance has one address", value);
	cfg->listen = ip;
	return true;
}

/* memcached's -l names sockets of the kernel; here it can only say our one address again, and which
 * port beside that of TLS is in the clear. */
bool
option_set_listen(struct config *cfg, const char *value, struct error *err)
{
	static const char in_the_clear[] = "notls:";
	const char *p = value;

	do {
		const bool plain = strncmp(p, in_the_clear, sizeof in_the_clear - 1) == 0;
		uint32_t ip, port = cfg->tcp_port;

		p += plain ? sizeof in_the_clear - 1 : 0;
		if (!parse_listener(&p, &ip, &port))
			return error_set(
				err,
				"--listen: \"%s\": expected one IPv4 address, perhaps with "
				":PORT, and with --enable-ssl perhaps notls:ADDRESS:PORT "
				"behind a comma; the appliance has one address",
				value);
		if (!listen_address(cfg, value, ip, err))
			return false;
		if (plain)
			cfg->tls.plain_port = port;
		else
			cfg->tcp_port = port;
	} while (*p++ == ',');
	return true;
}

/* Either family, from the front of *p. */
static bool
parse_ip(const char **p, struct ip_addr *ip)
{
	const char *at = *p;
	uint32_t v4;

	if (parse_ipv4(&at, &v4)) {
		*ip = ip_addr_v4(v4);
		*p = at;
		return true;
	}
	return parse_ipv6(p, ip);
}

/* One network of the list; a bare address is a network of one. */
const char *
option_parse_net(const char *p, struct config_net *net)
{
	uint32_t digits = 0, below, len;

	if (!parse_ip(&p, &net->ip))
		return NULL;
	below = ip_addr_is_v4(&net->ip) ? IP_ADDR_V4_BITS : 0;
	net->prefix_len = IP_ADDR_BITS;
	if (*p != '/')
		return p;
	for (p++, len = 0; isdigit((unsigned char)*p) && digits < 3; p++, digits++)
		len = len * 10 + (uint32_t)(*p - '0');
	net->prefix_len = below + len;
	return digits == 0 || net->prefix_len > IP_ADDR_BITS ? NULL : p;
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

/* A list is read here to find what is wrong with it; a file is looked at by whoever uses it. */
bool
option_set_net_list(char text[CONFIG_SERVERS_BYTES], const struct option_row *row,
		    const char *value, struct error *err)
{
	struct config_net nets[CONFIG_SERVERS_BYTES / 3]; /* "::," is the shortest */
	struct net_list list = {.nets = nets, .max = sizeof nets / sizeof nets[0]};
	const bool none = strcmp(value, "none") == 0;

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
		return error_set(err, "--%s: no network; give some, or none", row->name);
	memset(text, 0, CONFIG_SERVERS_BYTES);
	if (!none)
		strcpy(text, value);
	return true;
}

bool
option_set_gateway(struct config *cfg, const char *value, struct error *err)
{
	const char *p = value;

	if (!parse_ipv4(&p, &cfg->gateway) || *p != '\0')
		return error_set(err,
				 "--gateway: \"%s\": expected an IPv4 address such as 10.99.0.254",
				 value);
	return true;
}

/* RFC 4291 section 2.4: a host has no multicast, loopback or unspecified address. */
static bool
is_host6(const struct ip_addr *ip)
{
	static const struct ip_addr loopback = {{[15] = 1}};

	return ip->b[0] != 0xff && !ip_addr_is_zero(ip) && !ip_addr_equal(ip, &loopback);
}

static bool
is_link_local6(const struct ip_addr *ip)
{
	return ip->b[0] == 0xfe && (ip->b[1] & 0xc0) == 0x80;
}

bool
option_set_address6(struct config *cfg, const char *value, struct error *err)
{
	const char *p = value;
	struct ip_addr ip;
	uint32_t len;

	if (!parse_ipv6(&p, &ip) || *p != '/' || !parse_decimal(p + 1, &len) || len > IP_ADDR_BITS)
		return error_set(err,
				 "--address6: \"%s\": expected an IPv6 address and prefix length "
				 "such as 2001:db8::1/64",
				 value);
	if (!is_host6(&ip))
		return error_set(err,
				 "--address6: \"%s\": expected a unicast address, not a "
				 "multicast, loopback or unspecified one",
				 value);
	if (is_link_local6(&ip))
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

	if (!parse_ipv6(&p, &cfg->gateway6) || *p != '\0' || !is_host6(&cfg->gateway6))
		return error_set(
			err, "--gateway6: \"%s\": expected an IPv6 address such as fe80::1", value);
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
	if (named && ip_addr_equal(&cfg->gateway6, &cfg->ipv6))
		return error_set(err, "--gateway6: that is our own address");
	if (!ip_addr_is_zero(&cfg->gateway6) && !is_link_local6(&cfg->gateway6) &&
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
