/*
 * address_check.c - probes our addresses before the first turn: runs the probe of lib/net on the
 * device's ports.
 */
#include "address_check.h"
#include "net/addr_probe.h"
#include "process/signals.h"
#include "wire/ipv6_wire.h"

#include <string.h>
#include <time.h>

#define POLL_NS 500000 /* longest wait of a probe's frames in the port's ring */

bool
address_check_is_on(const struct config *cfg, const struct profile *profile)
{
	return cfg->probe != CONFIG_PROBE_OFF &&
	       (cfg->probe != CONFIG_PROBE_AUTO || profile_has_neighbours(profile));
}

/* Returns the option that has set the address. */
static const char *
option_of(const struct addr_probe *p)
{
	return p->taken == LOCAL_V4                             ? "--address"
	       : p->taken == LOCAL_GLOBAL6                      ? "--address6"
	       : ip_addr_is_link_local(&p->addrs->ip[p->taken]) ? "--ipv6"
								: "--addresses";
}

static bool
say_taken(const struct addr_probe *p, const struct config *cfg, struct error *err)
{
	char text[IP_ADDR_TEXT_MAX + 1];
	const uint8_t *m = p->taken_by;

	*ip_addr_text(text, &p->addrs->ip[p->taken]) = '\0';
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
address_check(struct nic *nic, const struct config *cfg, const struct local_addrs *addrs,
	      struct error *err)
{
	const struct timespec pause = {.tv_nsec = POLL_NS};
	struct addr_probe p = {
		.port = nic_port(nic, 0),
		.addrs = addrs,
		.pace = cfg->probe == CONFIG_PROBE_LONG ? &probe_pace_long : &probe_pace_short,
		.seed = addrs->seed,
	};
	enum addr_state state = ADDR_ASKED;

	if (!address_check_is_on(cfg, &nic->profile))
		return true;
	addr_probe_begin(&p, tsc_clock_ns(&nic->clock));
	while (state == ADDR_ASKED && !signals_stop_is_pending()) {
		for (uint32_t i = 0; i < cfg->cores; i++)
			addr_probe_listen(&p, nic_port(nic, i));
		state = addr_probe_tick(&p, nic_link_up(nic), tsc_clock_ns(&nic->clock));
		if (state == ADDR_ASKED)
			nanosleep(&pause, NULL);
	}
	if (state == ADDR_UNASKED)
		fprintf(stderr,
			"clockoo: --probe: no link for %llu s: our addresses were not probed; once "
			"the link is up, hosts that use them are counted and named here\n",
			(unsigned long long)(PROBE_SEND_NS / 1000000000));
	return state != ADDR_TAKEN || say_taken(&p, cfg, err);
}
