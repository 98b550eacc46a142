/*
 * user_net.c - the thread of libslirp, between sockets of the host and the cable to the cores.
 */
#include "user_net.h"
#include "user_listen.h"
#include "user_reset.h"
#include "base/counter.h"
#include "base/time_units.h"
#include "pkt/handover.h"
#include "wire/ipv4_wire.h"
#include "wire/ipv6_wire.h"
#include "wire/eth_wire.h"
#include "wire/udp_wire.h"

#include <errno.h>
#include <glib.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <slirp/libslirp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* Newer releases deprecate the older names, since Windows' sockets are no int. */
#if SLIRP_CHECK_VERSION(4, 9, 0)
#define slirp_pollfds_fill slirp_pollfds_fill_socket
#endif

#define CATCH_UP_MS     1   /* while a core has much to read, sockets are not read for this time */
#define ROUNDS_MAX      64u /* rounds of CABLE_BURST frames per lane, between two polls */
#define CONFIG_VERSION  4u  /* of struct SlirpConfig: libslirp 4.7 */
#define SPARE_FDS       64u /* descriptors beside those of connections */
#define SEND_BUFFER     (128 << 10) /* bytes of replies that a socket takes before its peer reads */
#define FRAGMENT_OFFSET 0x1fffu     /* RFC 791 section 3.1 */

/* Indices of user_net.fds. libslirp's sockets follow. */
enum { POLL_CABLE, POLL_RESETS, POLL_SOCKETS };

struct user_timer {
	struct user_net *u;
	SlirpTimerId id;
	void *arg;
	uint64_t due_ms; /* UINT64_MAX: not set */
};

/* The host's TCP sockets that listen. */
struct listeners {
	int fds[CONFIG_LISTENERS_MAX];
	uint32_t count, backlog;
	atomic_bool open; /* clients may connect */
};

struct user_net {
	Slirp *slirp;
	struct listeners listeners;
	struct cable *cable;
	struct handover_config owner; /* finds the core of a flow */
	cpu_set_t cpus;
	pthread_t thread;
	bool runs;
	atomic_bool stop;
	struct counter dropped;
	struct user_reset resets;
	struct user_timer timers[SLIRP_TIMER_NUM];
	uint32_t fd_count, fd_max;
	struct pollfd *fds;
	bool has_neighbour; /* a core has sent its MAC since the last poll */
};

/* ---- frames to the cores ---- */

static struct be16
cksum_after(struct be16 cksum, const uint8_t *was, const uint8_t *is, uint32_t len)
{
	for (uint32_t i = 0; i < len; i += sizeof cksum) {
		struct be16 w, n;

		memcpy(&w, was + i, sizeof w);
		memcpy(&n, is + i, sizeof n);
		cksum = inet_cksum_update(cksum, w, n);
	}
	return cksum;
}

static void
translate4(struct ipv4_header *ip)
{
	const struct be32 host = be32_of(CONFIG_USER_HOST);
	struct udp_header *udp = (void *)(ip + 1);
	const bool first = (be16_get(ip->fragment) & FRAGMENT_OFFSET) == 0;

	if (ip->protocol != IPV4_UDP || be32_get(ip->src) >> 24 != 127)
		return;
	ip->cksum = cksum_after(ip->cksum, ip->src.b, host.b, sizeof host);
	if (first && load_u16(udp->cksum.b) != 0)
		udp->cksum = cksum_after(udp->cksum, ip->src.b, host.b, sizeof host);
	ip->src = host;
}

static void
translate6(struct ipv6_header *ip)
{
	static const struct ip_addr loopback = {{[15] = 1}};
	const struct ip_addr host = {{[0] = CONFIG_USER_PREFIX6, [15] = CONFIG_USER_HOST6}};
	struct udp_header *udp = (void *)(ip + 1);

	if (ip->next != IPV6_UDP || memcmp(&ip->src, &loopback, sizeof loopback) != 0)
		return;
	udp->cksum = cksum_after(udp->cksum, loopback.b, host.b, sizeof host);
	memcpy(&ip->src, &host, sizeof host);
}

/* libslirp translates a loopback client to its gateway's address, but at a socket for all addresses
 * only until the first client of another host (4.7.0 src/socket.c, sotranslate_in). This does so
 * always: the appliance would take a datagram from 127.0.0.1 for a forged one. */
static void
translate_loopback(uint8_t *frame, uint32_t len)
{
	const struct eth_header *eth = (const void *)frame;
	uint8_t *const ip = frame + sizeof *eth;

	if (len < sizeof *eth + sizeof(struct ipv4_header) + sizeof(struct udp_header))
		return;
	if (be16_get(eth->type) == ETH_TYPE_IPV4)
		translate4((void *)ip);
	else if (be16_get(eth->type) == ETH_TYPE_IPV6 &&
		 len >= sizeof *eth + sizeof(struct ipv6_header) + sizeof(struct udp_header))
		translate6((void *)ip);
}

/* Passes a frame of libslirp to its flow's core. */
static ssize_t
send_packet(const void *frame, size_t len, void *arg)
{
	struct user_net *u = arg;
	struct cable_lane *lane =
		&u->cable->lane[handover_owner(&u->owner, frame, (uint32_t)len, 0)];
	uint8_t *data;
	struct frame *f = cable_thread_frame(lane, (uint32_t)len, &data);

	if (f != NULL) {
		memcpy(data, frame, len);
		translate_loopback(data, (uint32_t)len);
	}
	if (f == NULL || !cable_thread_send(lane, f))
		counter_add(&u->dropped, 1);
	return (ssize_t)len;
}

/* ---- callbacks of libslirp ---- */

/* Drops libslirp's message about a peer: it may have the peer's bytes, which never go into the
 * log. */
static void
guest_error(const char *message, void *arg)
{
	(void)message;
	(void)arg;
}

/* Drops libslirp's log: it may have bytes of a peer. */
static void
log_nothing(const char *domain, GLogLevelFlags level, const char *message, void *arg)
{
	(void)domain;
	(void)level;
	(void)message;
	(void)arg;
}

static int64_t
clock_get_ns(void *arg)
{
	(void)arg;
	return (int64_t)clock_ns(CLOCK_MONOTONIC);
}

static void *
timer_new(SlirpTimerId id, void *timer_arg, void *arg)
{
	struct user_net *u = arg;

	u->timers[id] = (struct user_timer){u, id, timer_arg, UINT64_MAX};
	return &u->timers[id];
}

static void
timer_free(void *timer, void *arg)
{
	(void)arg;
	((struct user_timer *)timer)->due_ms = UINT64_MAX;
}

static void
timer_set(void *timer, int64_t ms, void *arg)
{
	(void)arg;
	((struct user_timer *)timer)->due_ms = (uint64_t)ms;
}

static void
register_fd(int fd, void *arg)
{
	user_reset_add(&((struct user_net *)arg)->resets, fd);
}

static void
unregister_fd(int fd, void *arg)
{
	user_reset_remove(&((struct user_net *)arg)->resets, fd);
}

static void
notify(void *arg)
{
	(void)arg;
}

static const SlirpCb callbacks = {
	.send_packet = send_packet,
	.guest_error = guest_error,
	.clock_get_ns = clock_get_ns,
	.timer_new_opaque = timer_new,
	.timer_free = timer_free,
	.timer_mod = timer_set,
	.register_poll_fd = register_fd,
	.unregister_poll_fd = unregister_fd,
	.notify = notify,
};

/* ---- polling ---- */

struct event_pair {
	short poll;
	int slirp;
};

static const struct event_pair event_pairs[] = {
	{POLLIN, SLIRP_POLL_IN},   {POLLOUT, SLIRP_POLL_OUT}, {POLLPRI, SLIRP_POLL_PRI},
	{POLLERR, SLIRP_POLL_ERR}, {POLLHUP, SLIRP_POLL_HUP},
};
#define EVENT_PAIRS (sizeof event_pairs / sizeof event_pairs[0])

/* True if fd is a listener that still refuses connections. poll() would report it at once. */
static bool
is_closed_listener(const struct user_net *u, int fd)
{
	const struct listeners *l = &u->listeners;

	/* Relaxed: `open` carries no data. The event of user_net_listen() ends the poll. */
	if (likely(atomic_load_explicit(&l->open, memory_order_relaxed)))
		return false;
	for (uint32_t i = 0; i < l->count; i++)
		if (l->fds[i] == fd)
			return true;
	return false;
}

/* Adds a descriptor to those to poll and returns its index. One that has no place is polled in a
 * later turn. */
static int
add_poll(int fd, int events, void *arg)
{
	struct user_net *u = arg;
	short wanted = 0;

	if (u->fd_count == u->fd_max || is_closed_listener(u, fd))
		return -1;
	for (uint32_t i = 0; i < EVENT_PAIRS; i++)
		if (events & event_pairs[i].slirp)
			wanted |= event_pairs[i].poll;
	u->fds[u->fd_count] = (struct pollfd){.fd = fd, .events = wanted};
	return (int)u->fd_count++;
}

/* Returns the polled events for libslirp. poll() always reports errors and hang-ups, and libslirp
 * (4.7) then reads the socket; without room for bytes an assertion ends the process. So a socket
 * that may not be read gets no such event; its next write fails. */
static int
get_events(int index, void *arg)
{
	const struct user_net *u = arg;
	int events = 0;
	short found;

	if (index < 0)
		return 0;
	found = u->fds[index].revents;
	if ((u->fds[index].events & POLLIN) == 0)
		found &= POLLOUT;
	for (uint32_t i = 0; i < EVENT_PAIRS; i++)
		if (found & event_pairs[i].poll)
			events |= event_pairs[i].slirp;
	return events;
}

/* True for ARP and ICMPv6, by which neighbours announce their MACs. */
static bool
is_of_neighbour(const uint8_t *frame, uint32_t len)
{
	const struct eth_header *eth = (const void *)frame;
	const struct ipv6_header *ip6 = (const void *)(eth + 1);

	if (len < sizeof *eth)
		return false;
	return be16_get(eth->type) == ETH_TYPE_ARP ||
	       (be16_get(eth->type) == ETH_TYPE_IPV6 && len >= sizeof *eth + sizeof *ip6 &&
		ip6->next == IPV6_ICMP);
}

static void
take_frame(void *arg, const uint8_t *data, uint32_t len)
{
	struct user_net *u = arg;
	struct user_reset_frames resets;

	u->has_neighbour |= is_of_neighbour(data, len);
	if (likely(u->resets.dead == 0) ||
	    !user_reset_replaces(&u->resets, data, len, clock_ns(CLOCK_MONOTONIC) / NS_PER_MS,
				 &resets)) {
		slirp_input(u->slirp, data, (int)len);
		return;
	}
	send_packet(resets.to_core, resets.to_core_len, u);
	slirp_input(u->slirp, resets.to_host, (int)resets.to_host_len);
}

static void
receive_frames(struct user_net *u)
{
	for (uint32_t i = 0; i < u->cable->lanes; i++)
		for (uint32_t round = 0; round < ROUNDS_MAX; round++)
			if (cable_thread_receive(&u->cable->lane[i], take_frame, u) < CABLE_BURST)
				break;
}

/* Runs the timers that are due. Returns the time until the next one: most_ms at most. */
static uint32_t
run_timers(struct user_net *u, uint32_t most_ms)
{
	const uint64_t now_ms = clock_ns(CLOCK_MONOTONIC) / NS_PER_MS;

	for (uint32_t i = 0; i < SLIRP_TIMER_NUM; i++) {
		struct user_timer *t = &u->timers[i];

		if (t->due_ms <= now_ms) {
			t->due_ms = UINT64_MAX;
			slirp_handle_timer(u->slirp, t->id, t->arg);
		}
		if (t->due_ms != UINT64_MAX && t->due_ms - now_ms < most_ms)
			most_ms = (uint32_t)(t->due_ms - now_ms);
	}
	return most_ms;
}

static void
poll_sockets(struct user_net *u)
{
	uint32_t ms = INT32_MAX;
	bool sleeps;
	int n;

	u->fd_count = POLL_SOCKETS;
	slirp_pollfds_fill(u->slirp, &ms, add_poll, u);
	ms = run_timers(u, ms);
	sleeps = cable_thread_sleeps(u->cable);
	/* libslirp holds frames for a neighbour that it has just asked for, and sends them only
	 * after the next poll: that poll may not wait. */
	n = poll(u->fds, u->fd_count, sleeps && !u->has_neighbour ? (int)ms : 0);
	u->has_neighbour = false;
	cable_thread_woke(u->cable);
	if (n > 0 && u->fds[POLL_RESETS].revents != 0)
		user_reset_collect(&u->resets, clock_ns(CLOCK_MONOTONIC) / NS_PER_MS);
	slirp_pollfds_poll(u->slirp, n < 0, get_events, u);
}

/* Waits while a core has much to read. Meanwhile the clients' bytes stay in the sockets. */
static void
wait_for_cores(struct user_net *u)
{
	const bool sleeps = cable_thread_sleeps(u->cable);

	poll(&u->fds[POLL_CABLE], 1, sleeps ? CATCH_UP_MS : 0);
	cable_thread_woke(u->cable);
}

static void *
run(void *arg)
{
	struct user_net *u = arg;

	pthread_setname_np(pthread_self(), "clockoo-user");
	/* Relaxed: `stop` carries no data. */
	while (!atomic_load_explicit(&u->stop, memory_order_relaxed)) {
		if (cable_thread_is_ahead(u->cable))
			wait_for_cores(u);
		else
			poll_sockets(u);
		receive_frames(u);
	}
	return NULL;
}

/* ---- start and end ---- */

/* Raises the limit of descriptors, of which each connection has one. Returns the limit. */
static uint32_t
raise_fd_limit(const struct config *cfg)
{
	const uint64_t wanted = (uint64_t)cfg->conns_max + SPARE_FDS;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return USER_NET_FDS_MAX;
	if (limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
		getrlimit(RLIMIT_NOFILE, &limit);
	}
	if (limit.rlim_cur < wanted)
		fprintf(stderr,
			"clockoo: warning: --conn-limit: %u connections need %llu descriptors and "
			"this process may have %llu: raise \"ulimit -n\"\n",
			cfg->conns_max, (unsigned long long)wanted,
			(unsigned long long)limit.rlim_cur);
	return limit.rlim_cur < USER_NET_FDS_MAX ? (uint32_t)limit.rlim_cur : USER_NET_FDS_MAX;
}

static struct in_addr
address4(uint32_t ip)
{
	return (struct in_addr){htonl(ip)};
}

static struct in6_addr
address6(uint8_t last)
{
	return (struct in6_addr){{{[0] = CONFIG_USER_PREFIX6, [15] = last}}};
}

static Slirp *
slirp_make(struct user_net *u, const struct config *cfg)
{
	const SlirpConfig how = {
		.version = CONFIG_VERSION,
		.in_enabled = true,
		.vnetwork = address4(CONFIG_USER_NET),
		.vnetmask = address4(0xffffff00u),
		.vhost = address4(CONFIG_USER_HOST),
		.vdhcp_start = address4(CONFIG_USER_ADDRESS),
		.vnameserver = address4(CONFIG_USER_HOST + 1),
		.in6_enabled = config_has_ipv6(cfg),
		.vprefix_addr6 = address6(0),
		.vprefix_len = 64,
		.vhost6 = address6(CONFIG_USER_HOST6),
		.vnameserver6 = address6(CONFIG_USER_HOST6 + 1),
		.if_mtu = cfg->mtu,
		.if_mru = cfg->mtu,
		.disable_dns = true,
		.disable_dhcp = true,
	};

	return slirp_new(&how, &callbacks, u);
}

bool
user_net_is_built(struct error *err)
{
	(void)err;
	return true;
}

/* Sets up a socket at which libslirp listens. shutdown(2) ends the listening and leaves the socket
 * bound. A second listen(2) begins it again, with a longer backlog than libslirp's of 1. Accepted
 * sockets inherit the send buffer: without a bound, the kernel takes 4 MB of replies for a peer
 * that reads nothing. */
static int
set_up_listener(int fd, int events, void *arg)
{
	static const int bytes_max = SEND_BUFFER;
	struct listeners *l = arg;
	int listens = 0;
	socklen_t bytes = sizeof listens;

	(void)events;
	if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &bytes) == 0 && listens) {
		ensure(l->count < CONFIG_LISTENERS_MAX);
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes_max, sizeof bytes_max);
		shutdown(fd, SHUT_RDWR);
		l->fds[l->count++] = fd;
	}
	return 0;
}

bool
user_net_open(struct user_net **opened, const struct config *cfg, struct error *err)
{
	struct user_net *u = calloc(1, sizeof *u);
	uint32_t ms = 0;
	bool can_watch;

	*opened = u;
	if (u == NULL)
		return error_set(err, "--port user: no memory");
	sched_getaffinity(0, sizeof u->cpus, &u->cpus);
	for (uint32_t i = 0; i < SLIRP_TIMER_NUM; i++)
		u->timers[i].due_ms = UINT64_MAX;
	u->fd_max = raise_fd_limit(cfg);
	u->fds = calloc(u->fd_max, sizeof *u->fds);
	can_watch = user_reset_open(&u->resets, cfg, u->fd_max);
	u->owner = (struct handover_config){
		.cores = cfg->cores,
		.udp_first = cfg->udp_port_per_core ? (uint16_t)cfg->udp_port : 0,
	};
	g_log_set_handler("Slirp", G_LOG_LEVEL_MASK | G_LOG_FLAG_RECURSION, log_nothing, NULL);
	u->slirp = slirp_make(u, cfg);
	if (can_watch && u->fds != NULL && u->slirp != NULL && user_listen(u->slirp, cfg, err)) {
		u->listeners.backlog = cfg->backlog;
		slirp_pollfds_fill(u->slirp, &ms, set_up_listener, &u->listeners);
		return true;
	}
	if (!can_watch || u->fds == NULL || u->slirp == NULL)
		error_set(err, "--port user: libslirp did not start");
	user_net_close(u);
	*opened = NULL;
	return false;
}

bool
user_net_check(const struct config *cfg, struct error *err)
{
	struct user_net *u;

	if (!user_net_open(&u, cfg, err))
		return false;
	user_net_close(u);
	return true;
}

bool
user_net_start(struct user_net *u, struct cable *cable, struct error *err)
{
	sigset_t all, before;
	pthread_attr_t how;

	u->cable = cable;
	u->fds[POLL_CABLE] = (struct pollfd){.fd = cable->thread.fd, .events = POLLIN};
	u->fds[POLL_RESETS] = (struct pollfd){.fd = u->resets.epoll, .events = POLLIN};
	sigfillset(&all);
	pthread_attr_init(&how);
	pthread_attr_setaffinity_np(&how, sizeof u->cpus, &u->cpus);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	u->runs = pthread_create(&u->thread, &how, run, u) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&how);
	return u->runs || error_set(err, "--port user: its thread cannot be started");
}

bool
user_net_listen(struct user_net *u, struct error *err)
{
	struct listeners *l = &u->listeners;

	for (uint32_t i = 0; i < l->count; i++)
		if (listen(l->fds[i], (int)l->backlog) != 0)
			return error_set_code(err, ERROR_OS,
					      "--listen: %s: another program has begun to listen "
					      "there during the start",
					      strerror(errno));
	atomic_store_explicit(&l->open, true, memory_order_relaxed);
	eventfd_write(u->cable->thread.fd, 1);
	return true;
}

uint64_t
user_net_dropped_mt(const struct user_net *u)
{
	return counter_read(&u->dropped);
}

void
user_net_close(struct user_net *u)
{
	if (u->runs) {
		atomic_store_explicit(&u->stop, true, memory_order_relaxed);
		eventfd_write(u->cable->thread.fd, 1);
		pthread_join(u->thread, NULL);
	}
	if (u->slirp != NULL)
		slirp_cleanup(u->slirp);
	user_reset_close(&u->resets);
	free(u->fds);
	free(u);
}
