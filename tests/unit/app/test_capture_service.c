/*
 * The appliance's side of clockoo capture. Goal: each frame that passes the filter is sent or
 * counted as dropped, whenever the client reads; a capture that has ended stays ended. Method:
 * the service over a port that makes frames, with clocks of the test's own; a client of its
 * socket that reads late.
 */
#include "support/test.h"
#include "capture/capture_service.h"
#include "capture/capture_wire.h"
#include "pkt/capture.h"

#include <stdlib.h>
#include <unistd.h>

#define FRAME_BYTES 1514u
#define FRAME_BLOCK 6u /* block type of a frame in pcapng */
#define MS          1000000ull

static uint64_t now_ns;

uint64_t
tsc_clock_ns(const struct tsc_clock *clock)
{
	(void)clock;
	return now_ns;
}

/* ---- a port of frames ---- */

static void
made_rx(struct port *port, struct burst *b, uint32_t count)
{
	static uint8_t bytes[FRAME_BYTES];

	(void)port;
	for (b->count = 0; b->count < count; b->count++) {
		b->data[b->count] = bytes;
		b->len[b->count] = FRAME_BYTES;
		b->ol_flags[b->count] = 0;
	}
}

static const struct port_ops made_ops = {.rx = made_rx};

/* ---- the service, and a client ---- */

struct rig {
	struct device *device;
	struct capture_service *s;
	char prefix[32];
	int client;
	uint64_t received, blocks; /* frames: that the port received, that the client got */
	struct capture_summary sum;
	bool begun, over;
};

static const struct tsc_clock clock;
static const struct wall_watch wall;

static void
rig_make(struct rig *r)
{
	*r = (struct rig){.device = calloc(1, sizeof *r->device), .client = -1};
	check_ptr(r->device);
	snprintf(r->prefix, sizeof r->prefix, "test-%d", (int)getpid());
	r->device->queues = 1;
	r->device->ports[0].port.ops = &made_ops;
	now_ns = 1000 * MS;
	r->s = capture_service_start(
		&(struct capture_from){r->prefix, "made", r->device, &clock, &wall, NULL});
	check_ptr(r->s);
}

static void
rig_end(struct rig *r)
{
	close(r->client);
	capture_service_destroy(r->s);
	free(r->device);
}

static void
control_turn(struct rig *r)
{
	now_ns += 5 * MS;
	capture_service_run(r->s, now_ns);
}

static void
core_turn_of(struct rig *r, uint32_t frames)
{
	struct port *port = &r->device->ports[0].port;

	while (frames > 0) {
		struct burst b;

		port->ops->rx(port, &b, frames < BURST_MAX ? frames : BURST_MAX);
		r->received += b.count;
		frames -= b.count;
	}
}

static const struct capture_request all_frames = {.magic = CAPTURE_MAGIC,
						  .snap = CAPTURE_SNAP_MAX,
						  .seconds = CAPTURE_SECONDS_MAX,
						  .size = CAPTURE_SIZE_MAX};

static int
client_connect(const struct rig *r)
{
	const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un address;
	const socklen_t len = command_socket_address(&address, r->prefix, CAPTURE_COMMAND);

	check(fd >= 0);
	check_eq(connect(fd, (const struct sockaddr *)&address, len), 0);
	return fd;
}

static void
client_asks(struct rig *r)
{
	r->client = client_connect(r);
	check(send(r->client, &all_frames, capture_request_bytes(0), 0) > 0);
	control_turn(r);
}

static void
blocks_count(struct rig *r, const uint8_t *at, const uint8_t *end)
{
	for (uint32_t word[2]; at < end; at += word[1]) {
		check((size_t)(end - at) >= sizeof word);
		memcpy(word, at, sizeof word);
		check(word[1] >= 12 && word[1] <= (size_t)(end - at));
		r->blocks += word[0] == FRAME_BLOCK;
	}
}

/* Reads one message; false if none is pending. */
static bool
client_reads(struct rig *r)
{
	static uint8_t message[CAPTURE_MESSAGE_BYTES];
	const ssize_t n = recv(r->client, message, sizeof message, 0);

	if (n <= 0)
		return false;
	r->begun |= message[0] == CAPTURE_BEGUN;
	if (message[0] == CAPTURE_BLOCKS)
		blocks_count(r, message + 1, message + n);
	r->over = message[0] == CAPTURE_OVER;
	if (r->over) {
		check_eq(n, 1 + sizeof r->sum);
		memcpy(&r->sum, message + 1, sizeof r->sum);
	}
	return true;
}

/* ---- ends ---- */

/* There are more frames than the socket takes: at the end of the capture the rest waits in a full
 * message and in the ring. */
TEST(a_client_that_reads_late_gets_all_that_was_not_dropped)
{
	struct rig r;

	rig_make(&r);
	client_asks(&r);
	for (uint32_t i = 0; i < 40; i++) {
		core_turn_of(&r, 500);
		control_turn(&r);
	}
	shutdown(r.client, SHUT_WR);
	control_turn(&r);
	core_turn_of(&r, 1);
	for (uint32_t i = 0; i < 2000 && !r.over; i++) {
		now_ns -= 5 * MS; /* the client has all the time that it needs */
		control_turn(&r);
		client_reads(&r);
	}
	check(r.begun && r.over);
	check(r.sum.dropped > 0);
	check_eq(r.sum.frames, r.blocks);
	check_eq(r.sum.frames + r.sum.dropped, r.received);
	check_eq(r.sum.reason, CAPTURE_BY_CLIENT);
	rig_end(&r);
}

/* ---- clients ---- */

TEST(what_is_no_request_is_refused)
{
	struct capture_request bad[5];
	size_t bytes[5];
	struct rig r;

	for (uint32_t i = 0; i < 5; i++) {
		bad[i] = all_frames;
		bytes[i] = capture_request_bytes(0);
	}
	bytes[0]--;
	bad[1].insn_count = CAPTURE_INSNS_MAX + 1;
	bytes[1] = sizeof bad[1];
	bad[2].insn_count = 1; /* the instruction is not sent */
	memset(bad[3].filter, 'x', sizeof bad[3].filter);
	bad[4].snap = CAPTURE_SNAP_MAX + 1;
	rig_make(&r);
	for (uint32_t i = 0; i < 5; i++) {
		char word[256];

		r.client = client_connect(&r);
		check(send(r.client, &bad[i], bytes[i], 0) > 0);
		control_turn(&r);
		check(recv(r.client, word, sizeof word, 0) > 1 && word[0] == CAPTURE_REFUSED);
		check_eq(recv(r.client, word, sizeof word, 0), 0);
		close(r.client);
	}
	check(r.device->ports[0].port.ops == &made_ops);
	rig_end(&r);
}

/* The client leaves before its request, before the first frame, with frames in the ring, and
 * while the capture ends. */
TEST(a_client_that_goes_makes_room_for_the_next_one)
{
	struct port *port;
	struct rig r;
	char word;

	rig_make(&r);
	port = &r.device->ports[0].port;
	for (uint32_t when = 0; when < 4; when++) {
		if (when == 0)
			r.client = client_connect(&r);
		else
			client_asks(&r);
		control_turn(&r);
		if (when > 1)
			core_turn_of(&r, 12000);
		if (when == 3)
			shutdown(r.client, SHUT_WR);
		control_turn(&r);
		close(r.client);
		for (uint32_t i = 0; i < 3; i++)
			control_turn(&r);
		if (when > 0) { /* the core has not turned since */
			check(port->ops != &made_ops);
			r.client = client_connect(&r);
			control_turn(&r);
			check_eq(recv(r.client, &word, 1, 0), 1);
			check_eq(word, CAPTURE_REFUSED);
			close(r.client);
			core_turn_of(&r, 1);
		}
		check(port->ops == &made_ops);
		control_turn(&r);
	}
	client_asks(&r);
	check_eq(recv(r.client, &word, 1, 0), 1);
	check_eq(word, CAPTURE_BEGUN);
	rig_end(&r);
}
