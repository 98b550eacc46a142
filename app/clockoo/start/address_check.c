/*
 * address_check.c - probes for our addresses before the first core turns: a loop over the
 * device's ports around lib/net's probe.
 */
#include "address_check.h"
#include "net/addr_probe.h"
#include "process/signals.h"
#include "wire/eth_wire.h"
#include "wire/ipv6_wire.h"

#include <string.h>
#include <time.h>

#define POLL_NS 500000 /* a probe's frames wait in the port's ring for so long */

bool
address_check_is_on(const struct config *cfg, const struct profile *profile)
{
	return cfg->probe != CONFIG_PROBE_OFF &&
	       (cfg->probe != CONFIG_PROBE_AUTO || profile_has_neighbours(profile));
}

static struct addr_probe
probe_of(struct nic *nic, const struct config *cfg, const struct net_config *net)
{
	struct port *port = nic_port(nic, 0);
	struct addr_probe p = {
		.port = port,
		.ip = {ip_addr_v4(net->ipv4)},
		.vlan = net->vlan,
		.tag = (uint16_t)(net->vlan | net->vlan_priority << VLAN_PRIORITY_SHIFT),
		.pace = cfg->probe == CONFIG_PROBE_LONG ? &probe_pace_long : &probe_pace_short,
		.seed = net->seed,
	};

	if (!net->ipv6_off && port->mtu >= IPV6_MTU_MIN) {
		p.ip[1] = ipv6_link_local(port->mac);
		p.ip[2] = net->ipv6;
	}
	return p;
}

/* Returns the option that names the address. */
static const char *
option_of(const struct addr_probe *p)
{
	return ip_addr_equal(&p->taken, &p->ip[0])   ? "--address"
	       : ip_addr_equal(&p->taken, &p->ip[2]) ? "--address6"
						     : "--ipv6";
}

static bool
say_taken(const struct addr_probe *p, const struct config *cfg, struct error *err)
{
	char text[IP_ADDR_TEXT_MAX + 1];
	const uint8_t *m = p->taken_by;

	*ip_addr_text(text, &p->taken) = '\0';
	return error_set(
		err,
		"%s: %s is taken: the host with MAC %02x:%02x:%02x:%02x:%02x:%02x has it, at "
		"the other end of %s; choose a free address, or stop that host",
		option_of(p), text, m[0], m[1], m[2], m[3], m[4], m[5],
		cfg->iface[0] != '\0' ? cfg->iface
		: cfg->pci[0] != '\0' ? cfg->pci
				      : cfg->port);
}

bool
address_check(struct nic *nic, const struct config *cfg, const struct net_config *net,
	      struct error *err)
{
	const struct timespec pause = {.tv_nsec = POLL_NS};
	struct addr_probe p = probe_of(nic, cfg, net);
	enum addr_state state = ADDR_ASKED;

	if (!address_check_is_on(cfg, &nic->profile))
		return true;
	addr_probe_begin(&p, tsc_clock_ns(&nic->clock));
	while (state == ADDR_ASKED && !signals_stop_is_pending()) {
		for (uint32_t i = 0; i < cfg->cores; i++)
			addr_probe_listen(&p, nic_port(nic, i));
		state = addr_probe_tick(&p, device_link_up_mt(&nic->device),
					tsc_clock_ns(&nic->clock));
		if (state == ADDR_ASKED)
			nanosleep(&pause, NULL);
	}
	if (state == ADDR_UNASKED)
		fprintf(stderr,
			"clockoo: --probe: no link for %llu s: nobody was asked whether our "
			"addresses "
			"are taken; once the link is up, others that use them are counted and "
			"told\n",
			(unsigned long long)(PROBE_SEND_NS / 1000000000));
	return state != ADDR_TAKEN || say_taken(&p, cfg, err);
}
