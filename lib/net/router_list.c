/*
 * router_list.c - notes routers, and chooses one. Forged routers, even many, can only displace
 * routers that are less preferred or whose lifetime is over.
 */
#include "router_list.h"

#include <string.h>

void
router_list_ask(struct router_list *l)
{
	l->asked = true;
}

static bool
is_alive(const struct router *r, uint64_t now_ns)
{
	return r->until_ns > now_ns;
}

/* Returns a place for a router: its own, a free one, or that of the least preferred router if that
 * is less preferred than this one. NULL: none. */
static struct router *
place_of(struct router_list *l, const struct router *seen, uint64_t now_ns)
{
	struct router *place = NULL;

	for (uint32_t i = 0; i < ROUTERS_MAX; i++)
		if (ip_addr_equal(&l->router[i].ip, &seen->ip))
			return &l->router[i];
	for (uint32_t i = 0; i < ROUTERS_MAX; i++) {
		struct router *r = &l->router[i];

		if (!is_alive(r, now_ns))
			return r;
		if (r->preference < seen->preference &&
		    (place == NULL || r->preference < place->preference))
			place = r;
	}
	return place;
}

bool
router_list_note_mt(struct router_list *l, const struct router *seen, uint64_t now_ns)
{
	struct router *place;

	if (!spin_try(&l->lock))
		return false;
	place = place_of(l, seen, now_ns);
	if (place != NULL)
		*place = *seen;
	spin_unlock(&l->lock);
	return place != NULL;
}

/* Returns the named router if none is preferred to it; otherwise the first of the most preferred
 * ones. */
static const struct router *
best(const struct router_list *l, uint64_t now_ns, const struct ip_addr *named)
{
	const struct router *found = NULL;

	for (uint32_t i = 0; i < ROUTERS_MAX; i++) {
		const struct router *r = &l->router[i];

		if (!is_alive(r, now_ns))
			continue;
		if (found == NULL || r->preference > found->preference ||
		    (r->preference == found->preference && ip_addr_equal(&r->ip, named)))
			found = r;
	}
	return found;
}

bool
router_list_choose_mt(struct router_list *l, uint64_t now_ns, struct ip_addr *ip)
{
	const struct router *found;
	struct ip_addr now = {0};

	if (!spin_try(&l->lock))
		return false;
	found = best(l, now_ns, ip);
	if (found != NULL)
		now = found->ip;
	spin_unlock(&l->lock);
	if (ip_addr_equal(&now, ip))
		return false;
	*ip = now;
	return true;
}
