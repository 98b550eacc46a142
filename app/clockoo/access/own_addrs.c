/*
 * own_addrs.c - makes a table of a list of addresses and routes. The cores replace the whole table
 * at once.
 */
#include "own_addrs.h"
#include "net/neigh_table.h"
#include "net/net.h"
#include "wire/ipv6_wire.h"

#include <stdio.h>
#include <stdlib.h>

/* Storage for the arrays that a struct local_addrs_spec points to. */
struct arrays {
	struct local_addr addr[CONFIG_ADDRS_MAX];
	struct static_route route[CONFIG_ROUTES_MAX];
};

static_assert(CONFIG_ADDRS_MAX <= LOCAL_ADDRS_MAX && CONFIG_VLANS_MAX <= LINKS_MAX &&
		      CONFIG_ADDRS_MAX + CONFIG_ROUTES_MAX <= ROUTES_MAX,
	      "a list fits a table");

static struct local_addrs_spec
spec_of(const struct own_addrs *a, const struct addr_list *list, struct arrays *to)
{
	struct local_addrs_spec spec = a->spec;

	for (uint32_t i = 0; i < list->addr_count; i++)
		to->addr[i] =
			(struct local_addr){list->addr[i].ip, (uint8_t)list->addr[i].prefix_len,
					    (uint16_t)list->addr[i].vlan};
	for (uint32_t i = 0; i < list->route_count; i++) {
		const struct config_route *r = &list->route[i];

		to->route[i] = (struct static_route){.net = r->net.ip,
						     .gateway = r->gateway,
						     .prefix_len = (uint8_t)r->net.prefix_len,
						     .mtu = (uint16_t)r->mtu,
						     .vlan = (uint16_t)r->vlan};
	}
	spec.addr = to->addr;
	spec.count = list->addr_count;
	spec.route = to->route;
	spec.route_count = list->route_count;
	return spec;
}

/* Makes the table that replaces a->now. False: no memory. */
static bool
make(struct own_addrs *a, const struct addr_list *list, struct own_table *to)
{
	struct arrays *arrays = malloc(sizeof *arrays);
	struct local_addrs_spec spec;
	struct region region = {0};

	to->memory = NULL;
	if (arrays != NULL) {
		spec = spec_of(a, list, arrays);
		region.size = local_addrs_bytes(&spec, a->now.table);
		region.base = to->memory = malloc(region.size);
	}
	if (to->memory != NULL)
		to->table = local_addrs_make(&region, &spec, a->now.table);
	free(arrays);
	return to->memory != NULL;
}

bool
own_addrs_begin(struct own_addrs *a, const struct addr_list *list, const uint8_t mac[6],
		const struct net_config *net, struct error *err)
{
	a->spec = (struct local_addrs_spec){.ipv6 = !net->ipv6_off,
					    .vlan = net->vlan,
					    .vlan_priority = net->vlan_priority,
					    .seed = net->seed};
	memcpy(a->spec.mac, mac, sizeof a->spec.mac);
	return make(a, list, &a->now) || error_set(err, "--addresses: no memory for a table");
}

static bool
is_in_use(const struct own_addrs *a, const struct addr_list *list)
{
	struct arrays *arrays = malloc(sizeof *arrays);
	struct local_addrs_spec spec;
	bool same = false;

	if (arrays == NULL)
		return false;
	spec = spec_of(a, list, arrays);
	same = local_addrs_match(a->now.table, &spec);
	free(arrays);
	return same;
}

bool
own_addrs_change(struct own_addrs *a, struct addr_list *list)
{
	if (!a->pending && is_in_use(a, list)) {
		addr_list_free(list);
		return false;
	}
	addr_list_free(&a->next);
	a->next = *list;
	a->pending = true;
	return true;
}

/* Gives the cores a table of a->next. Without memory for it the list waits for the next call. */
static void
replace(struct own_addrs *a, struct serve_shared *shared)
{
	struct own_table next;

	if (!make(a, &a->next, &next))
		return;
	if (!serve_addrs_replace_mt(shared, next.table)) {
		free(next.memory);
		return;
	}
	a->last = a->now;
	a->now = next;
	addr_list_free(&a->next);
	a->pending = false;
	a->going_over = true;
}

bool
own_addrs_apply(struct own_addrs *a, struct serve_shared *shared, struct neigh_table *neigh)
{
	const bool was_going_over = a->going_over;

	if (own_addrs_is_applied(a) || !serve_settled_mt(shared))
		return false;
	free(a->last.memory);
	a->last = (struct own_table){0};
	a->going_over = false;
	if (was_going_over)
		neigh_announce_mt(neigh);
	if (a->pending)
		replace(a, shared);
	return was_going_over;
}

bool
own_addrs_is_applied(const struct own_addrs *a)
{
	return !a->pending && !a->going_over;
}

void
own_addrs_words(const struct addr_list *list, char words[OWN_ADDRS_WORDS_BYTES])
{
	uint32_t v6 = 0;

	for (uint32_t i = 0; i < list->addr_count; i++)
		v6 += !ip_addr_is_v4(&list->addr[i].ip);
	snprintf(words, OWN_ADDRS_WORDS_BYTES, "%u IPv4 and %u IPv6 addresses, %u route%s",
		 list->addr_count - v6, v6, list->route_count, list->route_count == 1 ? "" : "s");
}

/* Adds a multicast group unless the list has it: addresses with the same last 24 bits share one. */
static void
add_group(struct device_joins *joins, const struct ip_addr *group)
{
	uint8_t mac[6];

	ipv6_group_mac(group, mac);
	for (uint32_t i = 0; i < joins->groups; i++)
		if (memcmp(joins->group[i], mac, sizeof mac) == 0)
			return;
	memcpy(joins->group[joins->groups++], mac, sizeof mac);
}

void
own_addrs_join(struct own_addrs *a, struct device *device, struct device *other)
{
	const struct local_addrs *table = a->now.table;
	const struct ip_addr all = ipv6_all_nodes();
	uint8_t(*const before)[6] = a->joins.group;

	a->joins = (struct device_joins){.group = calloc(table->numbers + 1, 6), .vlan = a->vlans};
	if (a->joins.group == NULL) {
		a->joins.group = before;
		return;
	}
	add_group(&a->joins, &all);
	for (uint32_t local = LOCAL_LINK6; local < table->numbers; local += 2) {
		const struct ip_addr group = ipv6_solicited_node(&table->ip[local]);

		if (table->state[local].live)
			add_group(&a->joins, &group);
	}
	for (uint32_t i = 0; i < table->link_count; i++)
		if (table->link[i].vlan != 0)
			a->vlans[a->joins.vlans++] = table->link[i].vlan;
	device_join(device, &a->joins);
	if (other != NULL)
		device_join(other, &a->joins);
	free(before);
}

void
own_addrs_end(struct own_addrs *a)
{
	free(a->joins.group);
	addr_list_free(&a->next);
	free(a->now.memory);
	free(a->last.memory);
}
