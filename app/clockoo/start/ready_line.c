/*
 * ready_line.c - prints the addresses that the program serves, and the memory that it has taken.
 */
#include "ready_line.h"
#include "version.h"

#include <stdio.h>

/* Prints an address, as " tcp 10.99.0.1:11211" or " tcp [2001:db8::1]:11211". */
static void
print_address(const char *protocol, const struct ip_addr *ip, uint32_t port)
{
	const bool v4 = ip_addr_is_v4(ip);
	char text[IP_ADDR_TEXT_MAX + 1];

	if (port == 0)
		return;
	*ip_addr_text(text, ip) = '\0';
	printf(" %s %s%s%s:%u", protocol, v4 ? "" : "[", text, v4 ? "" : "]", port);
}

static void
print_ports(const struct config *c, const struct ip_addr *ip)
{
	print_address("tcp", ip, c->tcp_port);
	for (uint32_t i = 0; i < c->listeners.more_count; i++)
		print_address("tcp", ip, c->listeners.more_ports[i]);
	print_address("udp", ip, c->udp_port);
	print_address("tcp", ip, c->tls.plain_port);
}

static void
print_addresses(const struct config *c)
{
	const struct ip_addr first = config_first_address(c);

	print_ports(c, &first);
	if (ip_addr_is_v4(&first) && !ip_addr_is_zero(&c->ipv6))
		print_ports(c, &c->ipv6);
}

/* Prints the host's addresses at which port user listens. */
static void
print_listeners(const struct config *c)
{
	for (uint32_t i = 0; i < c->listeners.count; i++) {
		const struct config_listener *l = &c->listeners.at[i];
		const uint32_t ours = l->plain ? c->tls.plain_port : c->tcp_port;
		const struct ip_addr ip = l->any && !l->ipv6 ? ip_addr_v4(0) : l->ip;

		print_address("tcp", &ip, l->port != 0 ? l->port : ours);
		if (!l->plain && c->udp_port != 0)
			print_address("udp", &ip, l->port != 0 ? l->port : c->udp_port);
	}
}

void
ready_line_print(const struct config *c, const struct nic *nic)
{
	/* only a port of the kernel uses --iface */
	const char *const iface = profile_has_iface(&nic->profile) ? c->iface : "";

	printf("clockoo %s ready:", CLOCKOO_VERSION);
	if (config_is_user(c))
		print_listeners(c);
	else
		print_addresses(c);
	printf(", %u core%s, %u MB, %s%s%s\n", c->cores, c->cores == 1 ? "" : "s", c->memory_mb,
	       c->port,
	       c->pci[0] != '\0'  ? " at "
	       : iface[0] != '\0' ? " on "
				  : "",
	       c->pci[0] != '\0' ? c->pci : iface);
	fflush(stdout);
}

void
ready_line_memory(const struct sizes *z, const struct nic *nic)
{
	fprintf(stderr, "clockoo: %s; rings of %u and %u\n", nic->plan.words, nic->device.rx_ring,
		nic->device.tx_ring);
	fprintf(stderr,
		"clockoo: memory: store %zu MB, stack %zu KB and serve %zu KB per core, frames "
		"%llu "
		"MB\n",
		(z->store_bytes + z->file_bytes) >> 20, z->stack_bytes >> 10, z->serve_bytes >> 10,
		(unsigned long long)(z->pool_bytes >> 20));
}
