/*
 * front_listing.c - compares rows of `stats conns` with the known ports.
 */
#include "front_listing.h"

#include "proto/mc_number.h"

void
front_listing_begin(struct front_listing *l, const struct ip_addr *ip, uint16_t own)
{
	const bool v4 = ip_addr_is_v4(ip);
	const char *begin = v4 ? "tcp:" : "tcp6:[", *end = v4 ? ":" : "]:";
	char *at = (char *)l->prefix;

	memcpy(at, begin, strlen(begin));
	at = ip_addr_text(at + strlen(begin), ip);
	memcpy(at, end, strlen(end));
	l->prefix_len = (uint32_t)(at + strlen(end) - (char *)l->prefix);
	l->own = own;
	l->another = 0;
	l->own_is_listed = l->another_is = l->unclear = false;
}

static bool
is_address(struct view name)
{
	static const char end[] = ":addr";
	const uint32_t len = sizeof end - 1;

	return name.len > len && memcmp(name.data + name.len - len, end, len) == 0;
}

/* True if the port is a known one, which is then removed, so that each counts once. */
static bool
take_port(struct front_listing *l, uint32_t port)
{
	for (uint32_t i = 0; i < FRONT_LISTING_PORTS; i++)
		if (l->port[i] == port) {
			l->port[i] = 0;
			return true;
		}
	return false;
}

uint16_t
front_listing_row(struct front_listing *l, struct view name, struct view value)
{
	struct view port_text;
	uint32_t port;

	if (!is_address(name) || value.len < l->prefix_len ||
	    memcmp(value.data, l->prefix, l->prefix_len) != 0)
		return 0;
	port_text =
		(struct view){.data = value.data + l->prefix_len, .len = value.len - l->prefix_len};
	if (!mc_read_u32(port_text, &port) || port - 1 >= UINT16_MAX) {
		l->another_is = l->unclear = true;
		return 0;
	}
	if (take_port(l, port)) {
		l->own_is_listed |= port == l->own;
	} else {
		l->another_is = true;
		l->another = (uint16_t)port;
	}
	return (uint16_t)port;
}

enum front_listed
front_listing_end(const struct front_listing *l)
{
	if (!l->own_is_listed)
		return FRONT_LISTING_UNABLE;
	return l->another_is ? FRONT_LISTING_OTHERS : FRONT_LISTING_OURS;
}
