/*
 * nic_claim.c - makes the name of an address behind a NIC, and claims it.
 */
#include "nic_claim.h"

#include "base/ip_addr.h"

#include <stdio.h>

#define NAME_BYTES (sizeof "clockoo/nic//" + CONFIG_NAME_BYTES + IP_ADDR_TEXT_MAX)

/* Returns the operator's name of the NIC; NULL if two processes cannot share the port. */
static const char *
nic_name(const struct config *cfg, const struct profile *profile)
{
	if (cfg->pci[0] != '\0')
		return cfg->pci;
	return profile_has_iface(profile) && cfg->iface[0] != '\0' ? cfg->iface : NULL;
}

/* Writes the name to claim: the NIC and the configured address. */
static void
name_of(char name[NAME_BYTES], const char *nic, const struct config *cfg,
	char address[IP_ADDR_TEXT_MAX + 1])
{
	const struct ip_addr ip = config_first_address(cfg);

	*ip_addr_text(address, &ip) = '\0';
	snprintf(name, NAME_BYTES, "clockoo/nic/%s/%s", nic, address);
}

struct name_holder
nic_claim_holder(const struct config *cfg, const struct profile *profile)
{
	const char *const nic = nic_name(cfg, profile);
	char address[IP_ADDR_TEXT_MAX + 1], name[NAME_BYTES];

	if (nic == NULL)
		return (struct name_holder){.kind = NAME_FREE};
	name_of(name, nic, cfg, address);
	return name_claim_lookup(name);
}

bool
nic_claim(const struct config *cfg, const struct profile *profile, int *claim, struct error *err)
{
	const char *const nic = nic_name(cfg, profile);
	char address[IP_ADDR_TEXT_MAX + 1], name[NAME_BYTES], what[NAME_BYTES];
	struct name_holder holder;

	*claim = NAME_CLAIM_NONE;
	if (nic == NULL)
		return true;
	name_of(name, nic, cfg, address);
	*claim = name_claim_take(name, &holder);
	if (holder.kind == NAME_TRUSTED)
		return error_set(err,
				 "--%s: process %ld already serves %s on %s; stop it, or give "
				 "this one another address",
				 cfg->ipv4 == 0 && config_has_ipv6(cfg) ? "address6" : "address",
				 (long)holder.pid, address, nic);
	if (holder.kind == NAME_STRANGER) {
		snprintf(what, sizeof what, "%s on %s", address, nic);
		name_claim_warn(stderr, &holder, what);
	}
	return true; /* a machine without abstract names serves without a claim */
}
