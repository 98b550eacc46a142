/*
 * packet_socket.c - AF_PACKET sockets with rings.
 */
#include "packet_socket.h"

#include "base/check.h"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#define QUEUE_BYTES (64 << 20)

static void
fail(const char *words)
{
	perror(words);
	exit(1);
}

static int
packet_socket(const char *iface, uint16_t protocol)
{
	const int one = 1, queue = QUEUE_BYTES;
	struct sockaddr_ll at = {.sll_family = AF_PACKET,
				 .sll_protocol = htons(protocol),
				 .sll_ifindex = (int)if_nametoindex(iface)};
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK, 0);

	if (at.sll_ifindex == 0)
		fail(iface);
	if (fd < 0)
		fail("packet socket");
	/* Without the right to exceed the system's limit the socket keeps the limit. */
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &queue, sizeof queue) != 0)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &queue, sizeof queue);
	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &queue, sizeof queue) != 0)
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &queue, sizeof queue);
	if (setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof one) != 0 ||
	    setsockopt(fd, SOL_PACKET, PACKET_QDISC_BYPASS, &one, sizeof one) != 0 ||
	    bind(fd, (struct sockaddr *)&at, sizeof at) != 0)
		fail(iface);
	return fd;
}

int
packet_open(const char *iface)
{
	const int fd = packet_socket(iface, ETH_P_ALL);
	struct packet_mreq all = {.mr_ifindex = (int)if_nametoindex(iface),
				  .mr_type = PACKET_MR_PROMISC};

	if (setsockopt(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &all, sizeof all) != 0)
		fail(iface);
	return fd;
}

int
packet_open_to_send(const char *iface)
{
	return packet_socket(iface, 0);
}

uint32_t
packet_overrun(int fd)
{
	struct tpacket_stats stats;
	socklen_t len = sizeof stats;

	if (getsockopt(fd, SOL_PACKET, PACKET_STATISTICS, &stats, &len) != 0)
		return 0;
	return stats.tp_drops;
}

uint32_t
packet_send(int fd, const void *const *frames, const uint32_t *len, uint32_t count)
{
	struct mmsghdr messages[PACKET_BURST];
	struct iovec parts[PACKET_BURST];
	uint32_t refused = 0;

	ensure(count <= PACKET_BURST);
	for (uint32_t i = 0; i < count; i++) {
		parts[i] = (struct iovec){(void *)(uintptr_t)frames[i], len[i]};
		messages[i] = (struct mmsghdr){.msg_hdr = {.msg_iov = &parts[i], .msg_iovlen = 1}};
	}
	for (uint32_t at = 0; at < count;) {
		const int n = sendmmsg(fd, messages + at, count - at, 0);

		if (n <= 0) /* this frame was refused; later ones may pass */
			refused++;
		at += n <= 0 ? 1 : (uint32_t)n;
	}
	return refused;
}
