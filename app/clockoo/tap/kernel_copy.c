/*
 * kernel_copy.c - finds the NIC's interface, and reads it through a packet socket with a filter.
 */
#include "kernel_copy.h"
#include "kernel/kernel_iface.h"
#include "wire/arp_wire.h"
#include "wire/eth_wire.h"
#include "wire/icmp6_wire.h"
#include "wire/icmp_wire.h"
#include "wire/ipv4_wire.h"
#include "wire/ipv6_wire.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- the filter ---- */

#define IP_AT            ETH_HEADER_BYTES
#define TYPE_AT          12u
#define ARP_OP_AT        (IP_AT + 6u)
#define FRAG_AT          (IP_AT + 6u)
#define PROTO_AT         (IP_AT + 9u)
#define NEXT_AT          (IP_AT + 6u)
#define ICMP6_AT         (IP_AT + IPV6_HEADER_BYTES)
#define DROP_AT          28
#define ACCEPT_AT        29
#define OFFSET_OF(field) ((uint32_t)(SKF_AD_OFF + (field)))
/* Instruction number `at` of the filter. It continues at instruction `yes` or `no`. */
#define IF(at, test, value, yes, no)                                                               \
	[at] = BPF_JUMP(BPF_JMP | BPF_K | (test), value, (yes) - (at)-1, (no) - (at)-1)

/* A classic BPF program (linux/filter.h). It drops frames to other hosts, of a VLAN, or sent by
 * this host. */
static const struct sock_filter filter[] = {
	[0] = BPF_STMT(BPF_LD | BPF_W | BPF_ABS, OFFSET_OF(SKF_AD_PKTTYPE)),
	IF(1, BPF_JGE, PACKET_OTHERHOST, DROP_AT, 2),
	[2] = BPF_STMT(BPF_LD | BPF_W | BPF_ABS, OFFSET_OF(SKF_AD_VLAN_TAG_PRESENT)),
	IF(3, BPF_JEQ, 0, 4, DROP_AT),
	[4] = BPF_STMT(BPF_LD | BPF_H | BPF_ABS, TYPE_AT),
	IF(5, BPF_JEQ, ETH_TYPE_ARP, 6, 8),
	[6] = BPF_STMT(BPF_LD | BPF_H | BPF_ABS, ARP_OP_AT),
	IF(7, BPF_JEQ, ARP_REPLY, ACCEPT_AT, DROP_AT),
	/* IPv4: ICMP errors, in a first fragment */
	IF(8, BPF_JEQ, ETH_TYPE_IPV4, 9, 19),
	[9] = BPF_STMT(BPF_LD | BPF_B | BPF_ABS, PROTO_AT),
	IF(10, BPF_JEQ, IPV4_ICMP, 11, DROP_AT),
	[11] = BPF_STMT(BPF_LD | BPF_H | BPF_ABS, FRAG_AT),
	IF(12, BPF_JSET, IPV4_FRAG_OFFSET_MASK, DROP_AT, 13),
	[13] = BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, IP_AT),
	[14] = BPF_STMT(BPF_LD | BPF_B | BPF_IND, IP_AT),
	IF(15, BPF_JEQ, ICMP_TIME_EXCEEDED, ACCEPT_AT, 16),
	IF(16, BPF_JEQ, ICMP_PARAMETER, ACCEPT_AT, 17),
	IF(17, BPF_JGE, ICMP_UNREACHABLE, 18, DROP_AT),
	IF(18, BPF_JGT, ICMP_REDIRECT, DROP_AT, ACCEPT_AT),
	/* IPv6: ICMPv6 errors, and messages of neighbours and routers */
	IF(19, BPF_JEQ, ETH_TYPE_IPV6, 20, DROP_AT),
	[20] = BPF_STMT(BPF_LD | BPF_B | BPF_ABS, NEXT_AT),
	IF(21, BPF_JEQ, IPV6_ICMP, 22, DROP_AT),
	[22] = BPF_STMT(BPF_LD | BPF_B | BPF_ABS, ICMP6_AT),
	IF(23, BPF_JEQ, ICMP6_ROUTER_ADVERT, ACCEPT_AT, 24),
	IF(24, BPF_JEQ, ICMP6_NEIGH_ADVERT, ACCEPT_AT, 25),
	IF(25, BPF_JEQ, ICMP6_REDIRECT, ACCEPT_AT, 26),
	IF(26, BPF_JGE, ICMP6_UNREACHABLE, 27, DROP_AT),
	IF(27, BPF_JGT, ICMP6_PARAMETER, DROP_AT, ACCEPT_AT),
	[DROP_AT] = BPF_STMT(BPF_RET | BPF_K, 0),
	[ACCEPT_AT] = BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
};

bool
kernel_copy_filter(int fd)
{
	const struct sock_fprog program = {sizeof filter / sizeof filter[0],
					   (struct sock_filter *)filter};

	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) == 0;
}

/* ---- the interface ---- */

static bool
read_nic(struct pci_nic *nic, const struct config *cfg, struct error *err)
{
	struct tree tree;

	if (!tree_open(&tree, cfg->sysfs[0] != '\0' ? cfg->sysfs : "/", err))
		return false;
	pci_nic_read(nic, &tree, cfg->pci);
	tree_close(&tree);
	return true;
}

bool
kernel_copy_has_nic(const struct config *cfg)
{
	struct pci_nic nic;
	struct error err;

	return read_nic(&nic, cfg, &err) && nic.there;
}

bool
kernel_copy_find(char iface[TOPOLOGY_NAME_BYTES], const struct config *cfg, struct error *err)
{
	struct pci_nic nic;

	if (!read_nic(&nic, cfg, err))
		return false;
	memcpy(iface, nic.iface, sizeof nic.iface);
	if (!nic.there)
		return error_set(err, "--kernel nic: there is no PCI device %s", nic.address);
	if (iface[0] == '\0')
		return error_set(err,
				 "--kernel nic: %s has no interface of the kernel; is it bound to "
				 "its own driver?",
				 cfg->pci);
	return cfg->sysfs[0] != '\0' || kernel_iface_is_up(iface) ||
	       error_set(err, "--kernel nic: %s is down: ip link set %s up", iface, iface);
}

static bool
open_socket(int fd, const char *iface)
{
	const struct sockaddr_ll at = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(ETH_P_ALL),
		.sll_ifindex = (int)if_nametoindex(iface),
	};

	return kernel_copy_filter(fd) && bind(fd, (const struct sockaddr *)&at, sizeof at) == 0;
}

bool
kernel_copy_attach(int *fd, const struct config *cfg, struct error *err)
{
	char iface[TOPOLOGY_NAME_BYTES];

	if (!kernel_copy_find(iface, cfg, err))
		return false;
	/* Without a protocol the socket receives no frame before it has its filter. */
	*fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (*fd >= 0 && open_socket(*fd, iface))
		return true;
	error_set(err, "--kernel nic: cannot read %s: %s", iface, strerror(errno));
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
	return false;
}

static bool
is_address(const struct sockaddr *at, const struct ip_addr *ip)
{
	struct ip_addr has = {0};

	if (at == NULL)
		return false;
	if (at->sa_family == AF_INET)
		has = ip_addr_v4(
			ntohl(((const struct sockaddr_in *)(const void *)at)->sin_addr.s_addr));
	else if (at->sa_family == AF_INET6)
		memcpy(has.b, &((const struct sockaddr_in6 *)(const void *)at)->sin6_addr,
		       sizeof has.b);
	return memcmp(&has, ip, sizeof has) == 0;
}

bool
kernel_copy_answers(const struct ip_addr *ip)
{
	struct ifaddrs *list, *i;

	if (getifaddrs(&list) != 0)
		return false;
	for (i = list; i != NULL && !is_address(i->ifa_addr, ip); i = i->ifa_next)
		;
	freeifaddrs(list);
	return i != NULL;
}
