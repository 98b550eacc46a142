/*
 * user_listen.c - opens the host's TCP and UDP sockets of port user, and forwards them to the
 * appliance's ports.
 */
#include "user_listen.h"

#include <errno.h>
#include <slirp/libslirp.h>

#define TEXT_BYTES (IP_ADDR_TEXT_MAX + 16)

struct forward {
	const struct config_listener *listener;
	uint32_t host_port, our_port;
	bool udp;
};

static socklen_t
socket_address(struct sockaddr_storage *to, const struct ip_addr *ip, bool ipv6, uint32_t port)
{
	struct sockaddr_in *v4 = (void *)to;
	struct sockaddr_in6 *v6 = (void *)to;

	memset(to, 0, sizeof *to);
	if (!ipv6) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons((uint16_t)port);
		v4->sin_addr.s_addr = ip_addr_is_zero(ip) ? INADDR_ANY : htonl(ip_addr_v4_get(ip));
		return sizeof *v4;
	}
	v6->sin6_family = AF_INET6;
	v6->sin6_port = htons((uint16_t)port);
	memcpy(&v6->sin6_addr, ip->b, IP_ADDR_BYTES);
	return sizeof *v6;
}

static const char *
address_text(char text[TEXT_BYTES], const struct forward *f)
{
	const struct config_listener *l = f->listener;
	char ip[IP_ADDR_TEXT_MAX + 1];

	*ip_addr_text(ip, &l->ip) = '\0';
	snprintf(text, TEXT_BYTES, l->ipv6 ? "[%s]:%u" : "%s:%u",
		 l->any && !l->ipv6 ? "0.0.0.0" : ip, f->host_port);
	return text;
}

static bool
listen_refused(const struct forward *f, int why, struct error *err)
{
	const char *const fix =
		why == EADDRINUSE
			? "another program serves there: stop it, or give this one another "
			  "port or address"
		: why == EADDRNOTAVAIL ? "this host does not have the address"
		: why == EACCES        ? "ports below 1024 need root or CAP_NET_BIND_SERVICE"
		: why == EAFNOSUPPORT  ? "this host has no IPv6"
				       : strerror(why);
	char text[TEXT_BYTES];

	return error_set_code(err, ERROR_OS, "--listen: %s %s: %s", f->udp ? "UDP" : "TCP",
			      address_text(text, f), fix);
}

/* Makes libslirp listen at a socket of the host. Returns 0 or the host's errno. */
static int
forward(Slirp *slirp, const struct config *cfg, const struct forward *f)
{
	const struct config_listener *l = f->listener;
	const struct ip_addr ours = l->ipv6 ? cfg->ipv6 : ip_addr_v4(cfg->ipv4);
	const int flags = (f->udp ? SLIRP_HOSTFWD_UDP : 0) | (l->ipv6 ? SLIRP_HOSTFWD_V6ONLY : 0);
	struct sockaddr_storage from, to;
	const socklen_t from_bytes = socket_address(&from, &l->ip, l->ipv6, f->host_port);
	const socklen_t to_bytes = socket_address(&to, &ours, l->ipv6, f->our_port);

	return slirp_add_hostxfwd(slirp, (const struct sockaddr *)&from, from_bytes,
				  (const struct sockaddr *)&to, to_bytes, flags) >= 0
		       ? 0
		       : errno;
}

/* Refuses UDP at several addresses of a family: libslirp finds the socket of a reply by our address
 * and port alone (drivers-config/user.yaml). */
static bool
udp_is_single(const struct config *cfg, struct error *err)
{
	uint32_t seen[2] = {0, 0};

	for (uint32_t i = 0; cfg->udp_port != 0 && i < cfg->listeners.count; i++)
		if (!cfg->listeners.at[i].plain && seen[cfg->listeners.at[i].ipv6]++ != 0)
			return error_set(err,
					 "--listen: \"%s\": with -U port user takes one address of "
					 "each family: give one, or 0.0.0.0, or leave -U out",
					 cfg->listeners.text);
	return true;
}

/* Listens for TCP at l. Returns as forward() does; *f then is the one that failed. */
static int
listen_tcp(Slirp *slirp, const struct config *cfg, const struct config_listener *l,
	   struct forward *f)
{
	const uint32_t ours = l->plain ? cfg->tls.plain_port : cfg->tcp_port;

	*f = (struct forward){l, l->port != 0 ? l->port : ours, ours, false};
	return ours == 0 ? 0 : forward(slirp, cfg, f);
}

static int
listen_udp(Slirp *slirp, const struct config *cfg, const struct config_listener *l,
	   struct forward *f)
{
	const uint32_t ports = cfg->udp_port == 0 || l->plain ? 0
			       : cfg->udp_port_per_core       ? cfg->cores
							      : 1;
	int why = 0;

	for (uint32_t i = 0; why == 0 && i < ports; i++) {
		*f = (struct forward){l, (l->port != 0 ? l->port : cfg->udp_port) + i,
				      cfg->udp_port + i, true};
		why = forward(slirp, cfg, f);
	}
	return why;
}

/* True if the host lacks this address family and another listener remains. A container lists both
 * families by default, and its host may have one. */
static bool
may_be_left_out(const struct config *cfg, const struct config_listener *l, int why,
		const struct error *err)
{
	if (why != EAFNOSUPPORT || !l->any || cfg->listeners.count == 1)
		return false;
	fprintf(stderr, "clockoo: warning: %s: served without it\n", err->text);
	return true;
}

bool
user_listen(Slirp *slirp, const struct config *cfg, struct error *err)
{
	if (!udp_is_single(cfg, err))
		return false;
	for (uint32_t i = 0; i < cfg->listeners.count; i++) {
		const struct config_listener *l = &cfg->listeners.at[i];
		struct forward f;
		int why;

		if (l->ipv6 && !config_has_ipv6(cfg))
			return error_set(err, "--listen: \"%s\": IPv6 is off: leave --ipv6 off out",
					 cfg->listeners.text);
		why = listen_tcp(slirp, cfg, l, &f);
		if (why == 0)
			why = listen_udp(slirp, cfg, l, &f);
		if (why == 0)
			continue;
		listen_refused(&f, why, err);
		if (!may_be_left_out(cfg, l, why, err))
			return false;
	}
	return true;
}
