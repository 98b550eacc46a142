/*
 * nic_claim.c - an abstract Unix socket as the claim of one process to an address behind a NIC.
 */
#include "nic_claim.h"

#include "base/ip_addr.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define WAITING_MAX 64 /* refused processes that ask for the holder's ID; more get no answer */

/* What the operator calls the NIC; NULL: nothing that two could share. */
static const char *
nic_name(const struct config *cfg, const struct profile *profile)
{
	if (cfg->pci[0] != '\0')
		return cfg->pci;
	return profile_has_iface(profile) && cfg->iface[0] != '\0' ? cfg->iface : NULL;
}

/* Of the configured address, as text in address, on this NIC. */
static socklen_t
name_of(struct sockaddr_un *name, const char *nic, const struct config *cfg,
	char address[IP_ADDR_TEXT_MAX + 1])
{
	const struct ip_addr ip = ip_addr_v4(cfg->ipv4);
	int len;

	*ip_addr_text(address, &ip) = '\0';
	*name = (struct sockaddr_un){.sun_family = AF_UNIX};
	len = snprintf(name->sun_path + 1, sizeof name->sun_path - 1, "clockoo/nic/%s/%s", nic,
		       address);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len);
}

/* The ID of the process that listens at the name; 0: unknown. */
static pid_t
holder(const struct sockaddr_un *name, socklen_t bytes)
{
	const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct ucred who = {0};
	socklen_t who_bytes = sizeof who;

	if (fd < 0)
		return 0;
	if (connect(fd, (const struct sockaddr *)name, bytes) != 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &who_bytes) != 0)
		who.pid = 0;
	close(fd);
	return who.pid;
}

static bool
refuse(const char *nic, const char *address, pid_t pid, struct error *err)
{
	char who[32] = "another process";

	if (pid > 0)
		snprintf(who, sizeof who, "process %ld", (long)pid);
	return error_set(err,
			 "--address: %s already serves %s on %s; stop it, or give this one another "
			 "address",
			 who, address, nic);
}

uint32_t
nic_claim_holder(const struct config *cfg, const struct profile *profile)
{
	const char *const nic = nic_name(cfg, profile);
	char address[IP_ADDR_TEXT_MAX + 1];
	struct sockaddr_un name;
	socklen_t bytes;

	if (nic == NULL)
		return 0;
	bytes = name_of(&name, nic, cfg, address);
	return (uint32_t)holder(&name, bytes);
}

bool
nic_claim(const struct config *cfg, const struct profile *profile, int *claim, struct error *err)
{
	const char *const nic = nic_name(cfg, profile);
	char address[IP_ADDR_TEXT_MAX + 1];
	struct sockaddr_un name;
	socklen_t bytes;

	*claim = NIC_CLAIM_NONE;
	if (nic == NULL)
		return true;
	bytes = name_of(&name, nic, cfg, address);
	*claim = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (*claim >= 0 && bind(*claim, (const struct sockaddr *)&name, bytes) == 0 &&
	    listen(*claim, WAITING_MAX) == 0)
		return true;
	if (*claim >= 0) {
		const int why = errno;

		close(*claim);
		*claim = NIC_CLAIM_NONE;
		if (why == EADDRINUSE)
			return refuse(nic, address, holder(&name, bytes), err);
	}
	return true; /* a machine without such names has served before */
}
