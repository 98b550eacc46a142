/*
 * user_reset.c - watches the host's sockets by epoll, and makes the two resets that end a
 * connection.
 */
#include "user_reset.h"
#include "wire/eth_wire.h"
#include "wire/ipv4_wire.h"
#include "wire/ipv6_wire.h"
#include "wire/tcp_wire.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

bool
user_reset_open(struct user_reset *r, const struct config *cfg, uint32_t fds)
{
	memset(r, 0, sizeof *r);
	r->cfg = cfg;
	r->epoll = epoll_create1(EPOLL_CLOEXEC);
	r->fds = fds;
	r->by_fd = calloc(fds, sizeof *r->by_fd);
	return r->epoll >= 0 && r->by_fd != NULL;
}

void
user_reset_close(struct user_reset *r)
{
	if (r->by_fd != NULL && r->epoll >= 0)
		close(r->epoll);
	free(r->by_fd);
	r->by_fd = NULL;
}

/* ---- sockets ---- */

/* Reads an address as libslirp shows it to a core. A loopback address becomes libslirp's
 * gateway. */
static void
client_address(struct user_client *c, const struct sockaddr_storage *from)
{
	static const struct ip_addr loopback6 = {{[15] = 1}};
	const struct sockaddr_in *v4 = (const void *)from;
	const struct sockaddr_in6 *v6 = (const void *)from;
	uint32_t ip = ntohl(v4->sin_addr.s_addr);

	if (from->ss_family == AF_INET) {
		c->ip = ip_addr_v4(ip >> 24 == 127 ? CONFIG_USER_HOST : ip);
		c->port = ntohs(v4->sin_port);
		return;
	}
	memcpy(&c->ip, &v6->sin6_addr, sizeof c->ip);
	if (memcmp(&c->ip, &loopback6, sizeof loopback6) == 0)
		c->ip = (struct ip_addr){{[0] = CONFIG_USER_PREFIX6, [15] = CONFIG_USER_HOST6}};
	c->port = ntohs(v6->sin6_port);
}

/* Returns our port to which the host's port leads. */
static uint16_t
our_port(const struct config *cfg, const struct sockaddr_storage *at)
{
	/* both families have the port at the same place */
	const uint32_t host_port = ntohs(((const struct sockaddr_in *)(const void *)at)->sin_port);

	for (uint32_t i = 0; i < cfg->listeners.count; i++) {
		const struct config_listener *l = &cfg->listeners.at[i];

		if (l->plain && host_port == (l->port != 0 ? l->port : cfg->tls.plain_port))
			return (uint16_t)cfg->tls.plain_port;
	}
	return (uint16_t)cfg->tcp_port;
}

static bool
is_stream(int fd)
{
	int type = 0;
	socklen_t bytes = sizeof type;

	return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &bytes) == 0 && type == SOCK_STREAM;
}

/* Adds a connected socket. Ignores one without a peer: it listens, or its connection is being
 * opened. */
void
user_reset_add(struct user_reset *r, int fd)
{
	struct epoll_event e = {.events = EPOLLET, .data.fd = fd};
	struct sockaddr_storage peer, here;
	socklen_t peer_bytes = sizeof peer, here_bytes = sizeof here;
	struct user_client c = {0};

	if (fd < 0 || (uint32_t)fd >= r->fds || !is_stream(fd) ||
	    getpeername(fd, (struct sockaddr *)&peer, &peer_bytes) != 0 ||
	    getsockname(fd, (struct sockaddr *)&here, &here_bytes) != 0 ||
	    epoll_ctl(r->epoll, EPOLL_CTL_ADD, fd, &e) != 0)
		return;
	client_address(&c, &peer);
	c.our_port = our_port(r->cfg, &here);
	r->by_fd[fd] = c;
}

void
user_reset_remove(struct user_reset *r, int fd)
{
	struct epoll_event none = {0};

	if (fd < 0 || (uint32_t)fd >= r->fds || r->by_fd[fd].our_port == 0)
		return;
	epoll_ctl(r->epoll, EPOLL_CTL_DEL, fd, &none);
	r->dead -= r->by_fd[fd].is_dead;
	r->dead_at[r->by_fd[fd].port] -= r->by_fd[fd].is_dead;
	r->by_fd[fd] = (struct user_client){0};
}

void
user_reset_collect(struct user_reset *r, uint64_t now_ms)
{
	struct epoll_event events[USER_RESET_EVENTS];
	const int n = epoll_wait(r->epoll, events, USER_RESET_EVENTS, 0);

	for (int i = 0; i < n; i++) {
		struct user_client *c = &r->by_fd[events[i].data.fd];

		if ((events[i].events & EPOLLHUP) == 0 || c->is_dead)
			continue;
		c->is_dead = true;
		c->dead_ms = now_ms;
		r->dead++;
		r->dead_at[c->port]++;
	}
}

/* ---- frames ---- */

/* A TCP segment from a core. */
struct segment {
	const uint8_t *frame;
	uint32_t tcp_at; /* offset of the TCP header */
	bool ipv6;
	struct ip_addr to;
	struct tcp_seg tcp;
};

static bool
parse4(struct segment *s, uint32_t len)
{
	struct ipv4_packet ip;

	if (ipv4_parse(&ip, s->frame + ETH_HEADER_BYTES, len - ETH_HEADER_BYTES) != IPV4_WIRE_OK ||
	    ip.protocol != IPV4_TCP)
		return false;
	s->to = ip_addr_v4(ip.dst);
	s->tcp_at = ETH_HEADER_BYTES + ip.header_len;
	return tcp_parse(&s->tcp, s->frame + s->tcp_at, ip.total_len - ip.header_len) ==
	       TCP_WIRE_OK;
}

static bool
parse6(struct segment *s, uint32_t len)
{
	const uint8_t *const p = s->frame + ETH_HEADER_BYTES;
	struct ipv6_packet ip;

	if (ipv6_parse(&ip, p, len - ETH_HEADER_BYTES) != IPV6_WIRE_OK || ip.next != IPV6_TCP ||
	    ip.l4_at != IPV6_HEADER_BYTES)
		return false;
	s->ipv6 = true;
	s->to = ((const struct ipv6_header *)p)->dst;
	s->tcp_at = ETH_HEADER_BYTES + IPV6_HEADER_BYTES;
	return tcp_parse(&s->tcp, s->frame + s->tcp_at, ip.l4_len) == TCP_WIRE_OK;
}

static bool
parse(struct segment *s, const uint8_t *frame, uint32_t len)
{
	*s = (struct segment){.frame = frame};
	if (len < ETH_HEADER_BYTES)
		return false;
	switch (be16_get(((const struct eth_header *)frame)->type)) {
	case ETH_TYPE_IPV4:
		return parse4(s, len);
	case ETH_TYPE_IPV6:
		return parse6(s, len);
	default:
		return false;
	}
}

static void
swap(void *a, void *b, uint32_t bytes)
{
	uint8_t t[IP_ADDR_BYTES];

	memcpy(t, a, bytes);
	memcpy(a, b, bytes);
	memcpy(b, t, bytes);
}

static void
turn_round(uint8_t *frame, bool ipv6)
{
	struct eth_header *eth = (void *)frame;
	struct ipv4_header *v4 = (void *)(eth + 1);
	struct ipv6_header *v6 = (void *)(eth + 1);

	swap(eth->dst, eth->src, ETH_MAC_BYTES);
	if (ipv6)
		swap(&v6->dst, &v6->src, sizeof v6->dst);
	else
		swap(&v4->dst, &v4->src, sizeof v4->dst);
}

/* Sets lengths and checksums of a frame that ends with its TCP header. */
static void
seal(uint8_t *frame, uint32_t tcp_at, bool ipv6)
{
	struct ipv4_header *v4 = (void *)(frame + ETH_HEADER_BYTES);
	struct ipv6_header *v6 = (void *)v4;
	struct tcp_header *tcp = (void *)(frame + tcp_at);
	uint64_t pseudo;

	if (ipv6) {
		v6->payload_len = be16_of(TCP_HEADER_BYTES);
		pseudo = inet_sum_pseudo6(&v6->src, &v6->dst, IPV6_TCP, TCP_HEADER_BYTES);
	} else {
		v4->total_len = be16_of((uint16_t)(tcp_at - ETH_HEADER_BYTES + TCP_HEADER_BYTES));
		v4->cksum = be16_of(0);
		v4->cksum = inet_cksum(inet_sum(0, v4, tcp_at - ETH_HEADER_BYTES));
		pseudo = inet_sum_pseudo(be32_get(v4->src), be32_get(v4->dst), IPV4_TCP,
					 TCP_HEADER_BYTES);
	}
	tcp->cksum = inet_cksum(inet_sum(pseudo, tcp, TCP_HEADER_BYTES));
}

/* Writes a reset: as if the segment's sender had sent it, or back to that sender. Returns its
 * length. */
static uint32_t
make_reset(uint8_t *to, const struct segment *s, bool back)
{
	const struct tcp_seg *t = &s->tcp;
	/* the sequence number that the receiver expects next (RFC 5961 section 3.2) */
	const struct tcp_seg reset = {
		.src_port = back ? t->dst_port : t->src_port,
		.dst_port = back ? t->src_port : t->dst_port,
		.seq = back ? t->ack : t->seq,
		.ack = back ? t->seq : t->ack,
		.flags = TCP_RST | TCP_ACK,
	};

	memcpy(to, s->frame, s->tcp_at);
	if (back)
		turn_round(to, s->ipv6);
	tcp_emit(to + s->tcp_at, &reset);
	seal(to, s->tcp_at, s->ipv6);
	return s->tcp_at + TCP_HEADER_BYTES;
}

static bool
is_to(const struct segment *s, const struct user_client *c)
{
	return c->port == s->tcp.dst_port && c->our_port == s->tcp.src_port &&
	       memcmp(&c->ip, &s->to, sizeof c->ip) == 0;
}

/* True if a living connection has the client's address and port. libslirp keeps a dead one for some
 * seconds, also after an orderly end; meanwhile the client's host may use the port again. */
static bool
is_to_living_client(const struct user_reset *r, const struct segment *s)
{
	for (uint32_t fd = 0; fd < r->fds; fd++)
		if (!r->by_fd[fd].is_dead && is_to(s, &r->by_fd[fd]))
			return true;
	return false;
}

static bool
is_to_dead_client(const struct user_reset *r, const struct segment *s, uint64_t now_ms)
{
	uint32_t left = r->dead_at[s->tcp.dst_port];

	for (uint32_t fd = 0; left > 0 && fd < r->fds; fd++) {
		const struct user_client *c = &r->by_fd[fd];

		if (!c->is_dead || c->port != s->tcp.dst_port)
			continue;
		left--;
		if (is_to(s, c) && now_ms - c->dead_ms >= USER_RESET_GRACE_MS)
			return !is_to_living_client(r, s);
	}
	return false;
}

bool
user_reset_replaces(const struct user_reset *r, const uint8_t *frame, uint32_t len, uint64_t now_ms,
		    struct user_reset_frames *resets)
{
	struct segment s;

	if (r->dead == 0 || !parse(&s, frame, len) || (s.tcp.flags & TCP_RST) != 0 ||
	    !is_to_dead_client(r, &s, now_ms))
		return false;
	resets->to_host_len = make_reset(resets->to_host, &s, false);
	resets->to_core_len = make_reset(resets->to_core, &s, true);
	return true;
}
