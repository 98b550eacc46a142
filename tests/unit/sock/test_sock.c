/*
 * test_sock.c - connections through the kernel: a core's places and the helper, over sockets of
 * this test's own.
 *
 * Goal:   bytes pass in order and once, in both directions, whatever the sizes and however slowly
 *         either side reads (K1, K4); a place is the core's again only once its socket is closed
 *         (K2); a helper that sleeps is woken (K3); an end is said behind the last byte (K5); each
 *         way of failing has its reason.
 * Method: servers are sockets of a folder of this test and of 127.0.0.1. First one thread makes the
 *         helper's passes between the core's steps; then the helper has a thread of its own, which
 *         sleeps between requests. Mutants (stress/mutants.py) break each rule.
 */
#include "sock/sock_helper.h"
#include "support/test.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define FOLDER    "sock_XXXXXX"
#define PLACES    70u /* more than a word of news */
#define PLACE     66u
#define PASSES    2000u /* that an event may take */
#define STREAM    (5u * SOCK_RING_BYTES + 77u)
#define EXCHANGES rounds(20000u, 2000u)
#define YIELDS    5000000u

static struct sock_helper helper;
static struct sock_file files[PLACES];
static struct sock_port *port;
static struct region region;
static char folder[] = FOLDER;
static struct sock_target target;

SETUP(begin)
{
	strcpy(folder, FOLDER);
	check(mkdtemp(folder) != NULL);
	region = (struct region){.size = sock_port_bytes(PLACES)};
	region.base = aligned_alloc(CACHE_LINE_BYTES, (region.size + CACHE_LINE_BYTES - 1) /
							      CACHE_LINE_BYTES * CACHE_LINE_BYTES);
	check(region.base != NULL);
	memset(region.base, 0, region.size);
	check_eq(sock_helper_open(&helper, files, 1, PLACES), 0);
	port = sock_port_create(&region, PLACES, &helper.signal);
	sock_helper_attach(&helper, 0, port);
}

TEARDOWN(finish)
{
	static const char *const names[] = {"server", "left", "denied", "full", "echo"};
	char path[SOCK_PATH_BYTES];

	sock_helper_close(&helper);
	free(region.base);
	for (uint32_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		snprintf(path, sizeof path, "%s/%s", folder, names[i]);
		unlink(path);
	}
	rmdir(folder);
}

/* Makes passes until nothing moves. */
static void
settle(void)
{
	uint32_t idle = 0;

	for (uint32_t i = 0; i < PASSES && idle < 3; i++)
		idle = sock_helper_work(&helper) ? 0 : idle + 1;
	check(idle == 3);
}

static bool
state_is(enum sock_state wanted)
{
	enum sock_failure failure;
	enum sock_state state;

	return sock_port_state(port, PLACE, &state, &failure) && state == wanted;
}

static void
fails_as(enum sock_failure wanted)
{
	enum sock_failure failure;
	enum sock_state state;

	for (uint32_t i = 0; i < PASSES && !sock_port_state(port, PLACE, &state, &failure); i++)
		settle();
	check(sock_port_state(port, PLACE, &state, &failure));
	check_eq(state, SOCK_FAILED);
	check_eq(failure, wanted);
	sock_port_close(port, PLACE);
	settle();
	check(state_is(SOCK_CLOSED));
}

/* Returns a listening Unix socket in the folder, and makes it the target. */
static int
listen_at(const char *name, int backlog)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(at.sun_path, sizeof at.sun_path, "%s/%s", folder, name);
	target = (struct sock_target){0};
	memcpy(target.path, at.sun_path, sizeof target.path);
	unlink(at.sun_path);
	check(fd >= 0 && bind(fd, (struct sockaddr *)&at, sizeof at) == 0 &&
	      listen(fd, backlog) == 0);
	return fd;
}

/* Opens the place to a new server. Returns the server's end. */
static int
connect_to_server(void)
{
	const int listener = listen_at("server", 8);
	int fd;

	sock_port_open(port, PLACE, &target);
	settle();
	check(state_is(SOCK_OPENED));
	fd = accept(listener, NULL, NULL);
	check(fd >= 0);
	close(listener);
	return fd;
}

static uint8_t
byte_at(uint32_t i)
{
	return (uint8_t)(i * 31 + (i >> 8) * 7 + (i >> 16));
}

/* Puts bytes of the stream from *done on, as many as there is room for, at most `most` at a time.
 */
static void
put_some(uint32_t *done, uint32_t all, uint32_t most)
{
	uint32_t room, n;
	uint8_t *to = sock_port_room(port, PLACE, &room);

	n = room < most ? room : most;
	n = n < all - *done ? n : all - *done;
	for (uint32_t i = 0; i < n; i++)
		to[i] = byte_at(*done + i);
	if (n != 0)
		sock_port_put(port, PLACE, n);
	*done += n;
}

static void
get_some(uint32_t *done, uint32_t most)
{
	const struct view v = sock_port_view(port, PLACE);
	const uint32_t n = v.len < most ? v.len : most;

	for (uint32_t i = 0; i < n; i++)
		check_eq(v.data[i], byte_at(*done + i));
	if (n != 0)
		sock_port_get(port, PLACE, n);
	*done += n;
}

static void
server_reads(int fd, uint32_t *done, uint32_t most)
{
	static uint8_t bytes[4 * SOCK_RING_BYTES];
	const ssize_t n = recv(fd, bytes, most, MSG_DONTWAIT);

	for (ssize_t i = 0; i < n; i++)
		check_eq(bytes[i], byte_at(*done + (uint32_t)i));
	*done += n > 0 ? (uint32_t)n : 0;
}

static void
server_writes(int fd, uint32_t *done, uint32_t all)
{
	static uint8_t bytes[STREAM];
	ssize_t n;

	for (uint32_t i = *done; i < all; i++)
		bytes[i] = byte_at(i);
	n = send(fd, bytes + *done, all - *done, MSG_DONTWAIT | MSG_NOSIGNAL);
	*done += n > 0 ? (uint32_t)n : 0;
}

TEST(bytes_pass_both_ways_whatever_the_sizes)
{
	static const uint32_t sizes[] = {1021, 8191, SOCK_RING_BYTES, 4 * SOCK_RING_BYTES};

	for (uint32_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
		const int fd = connect_to_server();
		uint32_t put = 0, heard = 0, said = 0, got = 0;

		for (uint32_t i = 0; i < PASSES && (heard < STREAM || got < STREAM); i++) {
			put_some(&put, STREAM, sizes[s]);
			server_writes(fd, &said, STREAM);
			settle();
			server_reads(fd, &heard, sizes[s]);
			get_some(&got, sizes[s]);
		}
		check_eq(heard, STREAM);
		check_eq(got, STREAM);
		sock_port_close(port, PLACE);
		settle();
		check(state_is(SOCK_CLOSED));
		close(fd);
	}
}

TEST(a_server_that_does_not_read_stops_its_ring_only)
{
	uint32_t put = 0, heard = 0, room = 1;
	int fd;

	fd = connect_to_server();
	for (uint32_t i = 0; i < PASSES && room != 0; i++) {
		put_some(&put, UINT32_MAX, SOCK_RING_BYTES);
		settle();
		sock_port_room(port, PLACE, &room);
	}
	check_eq(room, 0);
	for (uint32_t i = 0; i < PASSES && heard < put; i++) {
		server_reads(fd, &heard, SOCK_RING_BYTES);
		settle();
	}
	check_eq(heard, put);
	close(fd);
}

/* Opens the place to a new server over TCP. Returns the server's end. */
static int
connect_over_tcp(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t len = sizeof at;
	int fd, few = 4 * SOCK_RING_BYTES;

	check(bind(listener, (struct sockaddr *)&at, len) == 0 && listen(listener, 1) == 0 &&
	      getsockname(listener, (struct sockaddr *)&at, &len) == 0);
	setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &few, sizeof few);
	target =
		(struct sock_target){.ip = ip_addr_v4(INADDR_LOOPBACK), .port = ntohs(at.sin_port)};
	sock_port_open(port, PLACE, &target);
	for (uint32_t i = 0; i < PASSES && !state_is(SOCK_OPENED); i++)
		settle();
	fd = accept(listener, NULL, NULL);
	check(fd >= 0);
	close(listener);
	return fd;
}

/* The bytes at the end of the ring are taken and a part of those at its begin, in one pass, for
 * some of the sizes: what is left leaves once the server reads. */
TEST(a_socket_that_takes_a_part_is_asked_again)
{
	for (uint32_t size = SOCK_RING_BYTES / 2; size < SOCK_RING_BYTES; size += 1021) {
		uint32_t put = 0, heard = 0, taken = 0;
		const int fd = connect_over_tcp();

		for (uint32_t i = 0; i < PASSES && taken == put; i++) {
			const uint32_t end = put + size;

			put_some(&put, end, size);
			put_some(&put, end, size); /* at the ring's begin */
			settle();
			taken = atomic_load(&port->places[PLACE].taken);
		}
		check(taken != put);
		for (uint32_t i = 0; i < YIELDS && heard < put; i++) {
			server_reads(fd, &heard, SOCK_RING_BYTES);
			sock_helper_work(&helper);
		}
		check_eq(heard, put);
		sock_port_close(port, PLACE);
		settle();
		close(fd);
	}
}

TEST(an_end_is_said_behind_the_last_byte)
{
	uint32_t said = 0, got = 0;
	int fd;

	fd = connect_to_server();
	while (said < STREAM && got < STREAM) {
		server_writes(fd, &said, STREAM);
		if (said == STREAM)
			break;
		settle();
		get_some(&got, SOCK_RING_BYTES);
	}
	close(fd);
	for (uint32_t i = 0; i < PASSES && got < STREAM; i++) {
		settle();
		check(!state_is(SOCK_ENDED) || STREAM - got <= SOCK_RING_BYTES);
		get_some(&got, 5000);
	}
	settle();
	check_eq(got, STREAM);
	check(state_is(SOCK_ENDED));
}

TEST(a_server_that_ends_amid_our_bytes_is_said_to_end)
{
	uint32_t put = 0;

	close(connect_to_server());
	for (uint32_t i = 0; i < 8; i++) {
		put_some(&put, UINT32_MAX, 1000);
		settle();
	}
	check(state_is(SOCK_ENDED));
	sock_port_close(port, PLACE);
	settle();
	check(state_is(SOCK_CLOSED));
}

TEST(each_way_of_failing_has_its_reason)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof at;
	const int taken = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	check(bind(taken, (struct sockaddr *)&at, len) == 0 &&
	      getsockname(taken, (struct sockaddr *)&at, &len) == 0);
	target =
		(struct sock_target){.ip = ip_addr_v4(INADDR_LOOPBACK), .port = ntohs(at.sin_port)};
	sock_port_open(port, PLACE, &target);
	fails_as(SOCK_REFUSED);
	close(taken);
	close(listen_at("left", 1));
	sock_port_open(port, PLACE, &target);
	fails_as(SOCK_REFUSED);
	unlink(target.path);
	sock_port_open(port, PLACE, &target);
	fails_as(SOCK_NO_PATH);
	if (geteuid() != 0) {
		const int fd = listen_at("denied", 1);

		chmod(target.path, 0);
		sock_port_open(port, PLACE, &target);
		fails_as(SOCK_DENIED);
		close(fd);
	}
}

TEST(a_full_backlog_is_tried_again)
{
	int listener, fds[8];
	uint32_t n = 0;
	struct sockaddr_un at = {.sun_family = AF_UNIX};

	listener = listen_at("full", 0);
	memcpy(at.sun_path, target.path, sizeof at.sun_path);
	for (; n < 8; n++) {
		fds[n] = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
		if (connect(fds[n], (struct sockaddr *)&at, sizeof at) != 0)
			break;
	}
	check(n < 8 && errno == EAGAIN);
	close(fds[n]);
	sock_port_open(port, PLACE, &target);
	settle();
	check_eq(helper.retrying, 1);
	for (uint32_t i = 0; i < n; i++)
		close(accept(listener, NULL, NULL));
	for (uint32_t i = 0; i < SOCK_RETRY_PASSES; i++)
		sock_helper_work(&helper);
	check(state_is(SOCK_OPENED));
	check_eq(helper.retrying, 0);
	while (n > 0)
		close(fds[--n]);
	close(listener);
}

TEST(a_place_is_the_cores_once_its_socket_is_closed)
{
	uint32_t put = 0, got = 0, said = 0;
	int fd;

	fd = connect_to_server();
	put_some(&put, 1000, 1000);
	server_writes(fd, &said, 1000);
	sock_port_close(port, PLACE);
	check(!state_is(SOCK_CLOSED));
	settle();
	check(state_is(SOCK_CLOSED));
	check_eq(files[PLACE].fd, -1);
	close(fd);
	/* The next connection begins with empty rings. */
	fd = connect_to_server();
	check_eq(sock_port_view(port, PLACE).len, 0);
	said = put = 0;
	server_writes(fd, &said, 500);
	put_some(&put, 500, 500);
	settle();
	get_some(&got, 500);
	check_eq(got, 500);
	got = 0;
	server_reads(fd, &got, 1000);
	check_eq(got, 500);
	/* An open that is closed before the helper has seen it. */
	sock_port_close(port, PLACE);
	settle();
	sock_port_open(port, PLACE, &target);
	sock_port_close(port, PLACE);
	settle();
	check(state_is(SOCK_CLOSED));
	close(fd);
}

/* ---- with a thread ---- */

static void *
help(void *arg)
{
	(void)arg;
	sock_helper_help(&helper);
	return NULL;
}

/* Echoes what arrives, and ends with its peer. */
static void *
echo(void *arg)
{
	const int fd = *(int *)arg;
	uint8_t bytes[4096];
	ssize_t n;

	while ((n = recv(fd, bytes, sizeof bytes, 0)) > 0)
		if (send(fd, bytes, (size_t)n, MSG_NOSIGNAL) != n)
			break;
	return NULL;
}

static void
wait_for(enum sock_state wanted)
{
	uint32_t i = 0;

	while (!state_is(wanted) && i++ < YIELDS)
		sched_yield();
	check(state_is(wanted));
}

/* Each exchange begins with a helper that may be about to sleep: a wake-up that is lost ends the
 * test by its time. */
TEST(a_helper_that_sleeps_is_woken)
{
	const int listener = listen_at("echo", 8);
	pthread_t helps, echoes;
	uint32_t put = 0, got = 0, i = 0;
	int fd;

	check_eq(pthread_create(&helps, NULL, help, NULL), 0);
	sock_port_open(port, PLACE, &target);
	fd = accept(listener, NULL, NULL);
	wait_for(SOCK_OPENED);
	check_eq(pthread_create(&echoes, NULL, echo, &fd), 0);
	for (uint32_t n = 0; n < EXCHANGES; n++) {
		const uint32_t size = 1 + n * 37 % 9000, all = put + size;

		while (got < all && i++ < YIELDS) {
			put_some(&put, all, SOCK_RING_BYTES);
			get_some(&got, SOCK_RING_BYTES);
			if (got < all)
				sched_yield();
		}
		check_eq(got, all);
		i = 0;
		/* Some exchanges find the helper asleep. */
		if (n % 64 == 0)
			while (atomic_load(&helper.signal.asleep) == 0 && i++ < YIELDS)
				sched_yield();
		i = 0;
	}
	sock_port_close(port, PLACE);
	wait_for(SOCK_CLOSED);
	pthread_join(echoes, NULL);
	sock_helper_end(&helper);
	pthread_join(helps, NULL);
	check(port->wakes > 0);
	close(fd);
	close(listener);
}
