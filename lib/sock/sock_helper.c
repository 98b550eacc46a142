/*
 * sock_helper.c - connects, sends, receives and closes sockets for the cores.
 */
#include "sock_helper.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define SIGNAL_TAG UINT64_MAX /* tag of the eventfd in epoll's set */

/* A place during one visit of the helper. */
struct visit {
	struct sock_port *port;
	struct sock_place *place;
	struct sock_file *file;
	uint32_t core, number;
};

static struct visit
visit_of(struct sock_helper *h, uint32_t core, uint32_t number)
{
	return (struct visit){h->port[core], &h->port[core]->places[number],
			      &h->files[core * h->places + number], core, number};
}

/* ---- reports to the core ---- */

/* Notes for the core that a place has news. */
static void
tell(const struct visit *v)
{
	/* Pairs with the exchange in sock_port_news. */
	atomic_fetch_or_explicit(&v->port->to_core[v->number / 64], 1ull << v->number % 64,
				 memory_order_release);
}

static void
say(const struct visit *v, enum sock_state state, enum sock_failure failure)
{
	/* Pairs with the load in sock_port_state. */
	atomic_store_explicit(&v->place->said, SOCK_SAID(v->file->number, state, failure),
			      memory_order_release);
	tell(v);
}

static enum sock_failure
failure_of(int e)
{
	switch (e) {
	case ECONNREFUSED:
	case ECONNRESET:
		return SOCK_REFUSED;
	case ETIMEDOUT:
		return SOCK_SILENT;
	case ENETUNREACH:
	case EHOSTUNREACH:
		return SOCK_UNREACHABLE;
	case ENOENT:
	case ENOTDIR:
		return SOCK_NO_PATH;
	case EACCES:
	case EPERM:
		return SOCK_DENIED;
	default:
		return SOCK_OTHER;
	}
}

/* ---- epoll's set ---- */

/* Makes epoll report these events of the socket. Without events the socket leaves the set;
 * otherwise an error or an end would be reported again and again. */
static bool
arm(struct sock_helper *h, const struct visit *v, uint32_t events)
{
	struct sock_file *f = v->file;
	struct epoll_event event = {.events = events,
				    .data.u64 = (uint64_t)v->core << 32 | v->number};
	const int operation = events == 0     ? EPOLL_CTL_DEL
			      : f->armed == 0 ? EPOLL_CTL_ADD
					      : EPOLL_CTL_MOD;

	if (f->armed == events)
		return true;
	f->armed = events;
	return epoll_ctl(h->poll_fd, operation, f->fd, &event) == 0;
}

/* Closes the socket, which takes it out of epoll's set. */
static void
file_close(struct sock_helper *h, struct sock_file *f)
{
	if (f->state == SOCK_FILE_RETRIES)
		h->retrying--;
	if (f->fd >= 0)
		close(f->fd);
	*f = (struct sock_file){.fd = -1, .number = f->number};
}

static void
fail(struct sock_helper *h, const struct visit *v, int e)
{
	file_close(h, v->file);
	say(v, SOCK_FAILED, failure_of(e));
}

/* Ends a connection. Its socket is closed at once, since the core only reads what has arrived. */
static void
end(struct sock_helper *h, const struct visit *v)
{
	file_close(h, v->file);
	say(v, SOCK_ENDED, 0);
}

/* ---- bytes ---- */

/* Sends what is in the ring, as far as the socket takes it: contiguous bytes first, then those at
 * the ring's beginning. A socket that takes a part is full; epoll reports when it takes more. After
 * an error nothing more is sent. The end is found by receiving, after the server's last answers. */
static bool
send_some(const struct visit *v)
{
	struct sock_place *p = v->place;
	struct sock_file *f = v->file;
	uint32_t taken = atomic_load_explicit(&p->taken, memory_order_relaxed);
	bool moved = false;

	f->send_waits = false;
	for (uint32_t i = 0; i < 2 && !f->send_is_over && !f->send_waits; i++) {
		/* Pairs with the store in sock_port_put. */
		const uint32_t here = atomic_load_explicit(&p->put, memory_order_acquire) - taken;
		const uint32_t at = taken % SOCK_RING_BYTES, most = SOCK_RING_BYTES - at;
		const uint32_t wanted = here < most ? here : most;
		ssize_t n;

		if (wanted == 0)
			break;
		n = send(f->fd, p->out + at, wanted, MSG_NOSIGNAL);
		f->send_is_over = n < 0 && errno != EAGAIN && errno != EINTR;
		f->send_waits = !f->send_is_over && n < (ssize_t)wanted;
		if (n <= 0)
			break;
		moved = true;
		taken += (uint32_t)n;
		/* Pairs with the load in sock_port_room. */
		atomic_store_explicit(&p->taken, taken, memory_order_release);
	}
	return moved;
}

/* Returns the room in the ring for bytes that arrive. If there is none, the core will wake this
 * thread when there is. */
static uint32_t
in_room(struct sock_place *p, uint32_t arrived)
{
	uint32_t room = SOCK_RING_BYTES - (arrived - atomic_load(&p->got));

	if (room != 0) {
		if (atomic_load_explicit(&p->in_is_full, memory_order_relaxed) != 0)
			atomic_store_explicit(&p->in_is_full, 0, memory_order_relaxed);
		return room;
	}
	/* Sequentially consistent, as in sock_port_get. */
	atomic_store(&p->in_is_full, 1);
	room = SOCK_RING_BYTES - (arrived - atomic_load(&p->got));
	return room;
}

enum received { RECEIVED_NONE, RECEIVED_SOME, RECEIVED_END };

/* Receives into the ring: up to its end first, then at its beginning. */
static enum received
receive_some(const struct visit *v)
{
	struct sock_place *p = v->place;
	uint32_t arrived = atomic_load_explicit(&p->arrived, memory_order_relaxed);
	enum received what = RECEIVED_NONE;

	for (uint32_t i = 0; i < 2; i++) {
		const uint32_t room = in_room(p, arrived), at = arrived % SOCK_RING_BYTES;
		const uint32_t most = room < SOCK_RING_BYTES - at ? room : SOCK_RING_BYTES - at;
		ssize_t n;

		if (most == 0)
			break;
		n = recv(v->file->fd, p->in + at, most, 0);
		if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
			return RECEIVED_END;
		if (n < 0)
			break;
		what = RECEIVED_SOME;
		arrived += (uint32_t)n;
		/* Pairs with the load in sock_port_view. */
		atomic_store_explicit(&p->arrived, arrived, memory_order_release);
		if ((uint32_t)n < most)
			break;
	}
	if (what == RECEIVED_SOME)
		tell(v);
	return what;
}

/* Moves bytes both ways, and makes epoll report what the socket still waits for. */
static bool
move(struct sock_helper *h, const struct visit *v, uint32_t events)
{
	struct sock_place *p = v->place;
	bool moved = send_some(v);
	uint32_t wants = 0;

	if (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) {
		const enum received what = receive_some(v);

		if (what == RECEIVED_END) {
			end(h, v);
			return true;
		}
		moved |= what == RECEIVED_SOME;
	}
	if (in_room(p, atomic_load_explicit(&p->arrived, memory_order_relaxed)) != 0)
		wants |= EPOLLIN;
	if (v->file->send_waits)
		wants |= EPOLLOUT;
	if (!arm(h, v, wants)) {
		end(h, v);
		return true;
	}
	return moved;
}

/* ---- connecting ---- */

/* True if the socket is connected to itself. That happens if no server listens on the port and the
 * kernel has chosen that port as the local one (RFC 9293, 3.5, simultaneous open). Such a
 * connection would keep the server from using the port. */
static bool
is_own_peer(int fd)
{
	struct sockaddr_storage own = {0}, peer = {0};
	socklen_t own_len = sizeof own, peer_len = sizeof peer;

	return getsockname(fd, (struct sockaddr *)(void *)&own, &own_len) == 0 &&
	       getpeername(fd, (struct sockaddr *)(void *)&peer, &peer_len) == 0 &&
	       own.ss_family != AF_UNIX && own_len == peer_len && memcmp(&own, &peer, own_len) == 0;
}

static void
opened(struct sock_helper *h, const struct visit *v)
{
	if (is_own_peer(v->file->fd)) {
		fail(h, v, ECONNREFUSED);
		return;
	}
	v->file->state = SOCK_FILE_OPEN;
	say(v, SOCK_OPENED, 0);
	move(h, v, 0);
}

static socklen_t
address_of(const struct sock_target *target, struct sockaddr_storage *to)
{
	struct sockaddr_in *v4 = (void *)to;
	struct sockaddr_in6 *v6 = (void *)to;
	struct sockaddr_un *un = (void *)to;

	static_assert(SOCK_PATH_BYTES == sizeof un->sun_path, "the longest path is the kernel's");
	memset(to, 0, sizeof *to);
	if (target->path[0] != '\0') {
		un->sun_family = AF_UNIX;
		memcpy(un->sun_path, target->path, sizeof un->sun_path);
		return sizeof *un;
	}
	if (ip_addr_is_v4(&target->ip)) {
		v4->sin_family = AF_INET;
		v4->sin_addr.s_addr = htonl(ip_addr_v4_get(&target->ip));
		v4->sin_port = htons(target->port);
		return sizeof *v4;
	}
	v6->sin6_family = AF_INET6;
	memcpy(&v6->sin6_addr, target->ip.b, sizeof v6->sin6_addr);
	v6->sin6_port = htons(target->port);
	return sizeof *v6;
}

/* Tries to connect. A Unix socket whose backlog is full returns EAGAIN, and is tried again. */
static void
connect_now(struct sock_helper *h, const struct visit *v)
{
	const struct sock_target *target = &v->place->target;
	struct sock_file *f = v->file;
	struct sockaddr_storage to;
	const socklen_t len = address_of(target, &to);
	int one = 1;

	if (f->fd < 0)
		f->fd = socket(to.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (f->fd < 0) {
		fail(h, v, errno);
		return;
	}
	if (target->path[0] == '\0')
		setsockopt(f->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	if (connect(f->fd, (const struct sockaddr *)(const void *)&to, len) == 0) {
		opened(h, v);
	} else if (errno == EINPROGRESS) {
		f->state = SOCK_FILE_CONNECTS;
		if (!arm(h, v, EPOLLOUT))
			fail(h, v, errno);
	} else if (errno == EAGAIN && target->path[0] != '\0') {
		f->state = SOCK_FILE_RETRIES;
		h->retrying++;
	} else {
		fail(h, v, errno);
	}
}

/* Handles a connecting socket that epoll has reported. */
static void
connected(struct sock_helper *h, const struct visit *v)
{
	int e = 0;
	socklen_t len = sizeof e;

	if (getsockopt(v->file->fd, SOL_SOCKET, SO_ERROR, &e, &len) != 0)
		e = errno;
	if (e != 0)
		fail(h, v, e);
	else
		opened(h, v);
}

/* ---- passes ---- */

/* Executes what the core has requested since the last visit. */
static void
obey(struct sock_helper *h, const struct visit *v, uint32_t asked)
{
	file_close(h, v->file);
	v->file->number = asked;
	if (asked % 2 == 0)
		say(v, SOCK_CLOSED, 0);
	else
		connect_now(h, v);
}

/* Visits a place. events: those that epoll reported; 0: the core has news. */
static bool
visit(struct sock_helper *h, uint32_t core, uint32_t number, uint32_t events)
{
	const struct visit v = visit_of(h, core, number);
	/* Pairs with the stores in sock_port_open and _close. */
	const uint32_t asked = atomic_load_explicit(&v.place->asked, memory_order_acquire);

	if (asked != v.file->number) {
		obey(h, &v, asked);
		return true;
	}
	if (v.file->state == SOCK_FILE_OPEN)
		return move(h, &v, events);
	if (v.file->state != SOCK_FILE_CONNECTS || events == 0)
		return false;
	connected(h, &v);
	return true;
}

static bool
visit_news(struct sock_helper *h)
{
	bool moved = false;

	for (uint32_t core = 0; core < h->cores; core++) {
		struct sock_port *p = h->port[core];

		for (uint32_t word = 0; word < (h->places + 63) / 64; word++) {
			uint64_t news =
				atomic_load_explicit(&p->to_helper[word], memory_order_relaxed);

			if (news == 0)
				continue;
			/* Pairs with the fetch_or in the core's notify(). */
			news = atomic_exchange_explicit(&p->to_helper[word], 0,
							memory_order_acquire);
			for (; news != 0; news &= news - 1)
				moved |= visit(h, core, word * 64 + (uint32_t)__builtin_ctzll(news),
					       0);
		}
	}
	return moved;
}

/* Handles ready sockets. Waits at most timeout_ms for a socket or a core; -1: without a limit. */
static bool
visit_ready(struct sock_helper *h, int timeout_ms)
{
	struct epoll_event events[SOCK_EVENTS];
	const int n = epoll_wait(h->poll_fd, events, SOCK_EVENTS, timeout_ms);
	bool moved = false;
	uint64_t count;

	for (int i = 0; i < n; i++) {
		const uint64_t tag = events[i].data.u64;

		if (tag != SIGNAL_TAG)
			moved |= visit(h, (uint32_t)(tag >> 32), (uint32_t)tag, events[i].events);
		else if (read(h->signal.fd, &count, sizeof count) > 0)
			moved = true;
	}
	return moved;
}

/* Connects again to Unix sockets whose backlog was full. */
static void
retry(struct sock_helper *h)
{
	for (uint32_t i = 0; i < h->cores * h->places && h->retrying != 0; i++) {
		struct sock_file *f = &h->files[i];
		const struct visit v = visit_of(h, i / h->places, i % h->places);

		if (f->state != SOCK_FILE_RETRIES)
			continue;
		h->retrying--;
		f->state = SOCK_FILE_NONE;
		connect_now(h, &v);
	}
}

bool
sock_helper_work(struct sock_helper *h)
{
	bool moved = visit_news(h);

	moved |= visit_ready(h, 0);
	if (h->retrying != 0 && ++h->passes % SOCK_RETRY_PASSES == 0)
		retry(h);
	return moved;
}

static bool
has_news(const struct sock_helper *h)
{
	for (uint32_t core = 0; core < h->cores; core++)
		for (uint32_t word = 0; word < (h->places + 63) / 64; word++)
			if (atomic_load(&h->port[core]->to_helper[word]) != 0)
				return true;
	return false;
}

/* Sleeps until a core wakes this thread, or a socket is ready (sock_port.c, notify()). */
static void
sleep_until_woken(struct sock_helper *h)
{
	atomic_store(&h->signal.asleep, 1);
	if (!has_news(h) && !atomic_load(&h->signal.over))
		visit_ready(h, h->retrying != 0 ? SOCK_RETRY_MS : -1);
	atomic_store(&h->signal.asleep, 0);
	if (h->retrying != 0)
		retry(h);
}

void
sock_helper_help(struct sock_helper *h)
{
	uint32_t idle = 0;

	while (!atomic_load(&h->signal.over)) {
		idle = sock_helper_work(h) ? 0 : idle + 1;
		if (idle < SOCK_SPIN_PASSES)
			continue;
		sleep_until_woken(h);
		idle = 0;
	}
}

void
sock_helper_end(struct sock_helper *h)
{
	static const uint64_t one = 1;

	atomic_store(&h->signal.over, true);
	if (write(h->signal.fd, &one, sizeof one) < 0)
		return; /* the counter is full, so the helper wakes up anyway */
}

int
sock_helper_open(struct sock_helper *h, struct sock_file *files, uint32_t cores, uint32_t places)
{
	struct epoll_event event = {.events = EPOLLIN, .data.u64 = SIGNAL_TAG};

	ensure(cores > 0 && cores <= SOCK_CORES_MAX && places > 0 && places <= SOCK_PLACES_MAX);
	*h = (struct sock_helper){.cores = cores, .places = places, .files = files};
	for (uint32_t i = 0; i < cores * places; i++)
		files[i] = (struct sock_file){.fd = -1};
	h->signal.fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	h->poll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (h->signal.fd >= 0 && h->poll_fd >= 0 &&
	    epoll_ctl(h->poll_fd, EPOLL_CTL_ADD, h->signal.fd, &event) == 0)
		return 0;
	return -errno;
}

void
sock_helper_attach(struct sock_helper *h, uint32_t core, struct sock_port *port)
{
	ensure(core < h->cores && port->count == h->places);
	h->port[core] = port;
}

void
sock_helper_close(struct sock_helper *h)
{
	for (uint32_t i = 0; i < h->cores * h->places; i++)
		file_close(h, &h->files[i]);
	if (h->poll_fd >= 0)
		close(h->poll_fd);
	if (h->signal.fd >= 0)
		close(h->signal.fd);
	h->poll_fd = h->signal.fd = -1;
}
