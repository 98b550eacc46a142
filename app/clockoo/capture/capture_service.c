/*
 * capture_service.c - checks that a client may capture, makes the rings, and sends their frames,
 * oldest first.
 */
#include "capture_service.h"
#include "base/time_units.h"
#include "capture_filter.h"
#include "command_socket.h"
#include "pkt/capture.h"
#include "pkt/filled_cksum.h"
#include "pkt/pcapng.h"
#include "version.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum state {
	IDLE,
	ASKED, /* a client is connected and has not sent its request */
	RUNS,
	ENDS, /* the cores were asked to leave the capture */
	LEFT, /* the cores have left; the last frames and the summary are not sent yet */
	LOST, /* the client has disconnected, and some core has not left yet */
};

struct capture_service {
	struct capture_from from;
	int listener, client;
	enum state state;
	uint64_t due_ns; /* when the present state times out, on CLOCK_MONOTONIC */
	uid_t starter;   /* the user who started the appliance */
	struct capture_request request;
	struct capture_rule rule;
	struct capture *rings[2 * CORES_MAX]; /* one per queue of each NIC */
	uint32_t ring_count;
	struct region memory;        /* memory of the rings */
	uint64_t begun_ns, ended_ns; /* begin and end of the capture, on the cores' clock */
	uint64_t frames;             /* frames put into messages */
	uint64_t bytes;              /* bytes sent to the client */
	enum capture_reason reason;  /* why the capture has ended */
	bool full;                   /* --count or --size is reached: no further frame is sent */
	bool summed;                 /* the statistics are in the message, or sent */
	size_t used;                 /* bytes of message */
	uint8_t message[CAPTURE_MESSAGE_BYTES];
};

/* ---- the socket ---- */

struct capture_service *
capture_service_start(const struct capture_from *from)
{
	struct capture_service *s = calloc(1, sizeof *s);

	if (s == NULL)
		return NULL;
	s->from = *from;
	s->client = -1;
	s->starter = getuid();
	s->listener = command_socket_listen(from->file_prefix, CAPTURE_COMMAND);
	return s;
}

static void
client_close(struct capture_service *s)
{
	if (s->client >= 0)
		close(s->client);
	s->client = -1;
}

/* Asks the kernel for CAPTURE_SEND_BYTES, so that the client may pause without losing frames. */
static void
send_room_make(int fd)
{
	const int bytes = (int)CAPTURE_SEND_BYTES;

	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof bytes) != 0)
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
}

static void
clients_accept(struct capture_service *s, uint64_t now_ns)
{
	for (uint32_t i = 0; i < CAPTURE_ACCEPTS_MAX; i++) {
		const int fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0)
			return;
		/* Frames have all that clients send, passwords too. */
		if (!command_socket_lets_in(fd, s->starter)) {
			command_socket_refuse(
				fd, "only root and the user who started the appliance may capture");
		} else if (s->state == LOST) {
			command_socket_refuse(
				fd, "a core has yet to leave the last capture; try again");
		} else if (s->state != IDLE) {
			command_socket_refuse(
				fd, "another capture is running; wait for its end, or end it");
		} else {
			send_room_make(fd);
			s->client = fd;
			s->state = ASKED;
			s->due_ns = now_ns + CAPTURE_ASK_NS;
			continue;
		}
		close(fd);
	}
}

/* ---- begin and end ---- */

static uint64_t
cores_ns(const void *clock)
{
	return tsc_clock_ns(clock);
}

static uint32_t
ring_bytes(uint32_t rings)
{
	uint32_t bytes = CAPTURE_RING_LARGE;

	while (bytes > CAPTURE_RING_MIN && (uint64_t)bytes * rings > CAPTURE_MEMORY)
		bytes /= 2;
	return bytes;
}

/* Returns the port of a ring. The rings are those of the first NIC's queues, then those of the
 * bond's second NIC. */
static struct port *
port_of(const struct capture_service *s, uint32_t ring)
{
	struct device *d = s->from.device;

	return ring < d->queues ? &d->ports[ring].port
				: &s->from.other->ports[ring - d->queues].port;
}

/* Makes a ring for each queue. capture_create() touches all their pages: a core that touched one
 * first would wait for the kernel. */
static bool
rings_take(struct capture_service *s)
{
	struct device *d = s->from.device;
	const uint32_t queues = s->from.other != NULL ? 2 * d->queues : d->queues;
	const uint32_t ring = ring_bytes(queues);
	struct region *m = &s->memory;

	*m = (struct region){.size = queues * capture_bytes(ring)};
	m->base = mmap(NULL, m->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (m->base == MAP_FAILED)
		return false;
	s->ring_count = queues;
	for (uint32_t i = 0; i < s->ring_count; i++)
		s->rings[i] = capture_create(m, &s->rule, i, ring);
	return true;
}

static uint64_t
unix_ns(const struct capture_service *s, uint64_t at_ns)
{
	const struct wall_watch *w = s->from.wall;

	return (uint64_t)(w->unix_ns + (int64_t)(at_ns - w->start_ns));
}

static void
head_put(struct capture_service *s)
{
	const struct port_dpdk *port = &s->from.device->ports[0];
	const struct pcapng_about about = {.program = "clockoo " CLOCKOO_VERSION,
					   .interface = s->from.interface,
					   .filter = s->request.insn_count != 0 ? s->request.filter
										: NULL,
					   .mac = port->port.mac,
					   .snap = s->request.snap};

	s->message[0] = CAPTURE_BLOCKS;
	s->used = 1 + pcapng_head(s->message + 1, sizeof s->message - 1, &about);
}

static bool
capture_start(struct capture_service *s, const char **words)
{
	const struct capture_request *r = &s->request;
	const char begun = CAPTURE_BEGUN;

	*words = "the filter is not one that this program can run";
	if (r->insn_count != 0 && !capture_filter_is_valid(r->insns, r->insn_count))
		return false;
	s->rule = (struct capture_rule){.match = r->insn_count != 0 ? capture_filter_match : NULL,
					.filter = r,
					.snap = r->snap,
					.now_ns = cores_ns,
					.clock = s->from.clock};
	*words = "there is no memory for its rings";
	if (!rings_take(s))
		return false;
	s->begun_ns = tsc_clock_ns(s->from.clock);
	s->frames = s->bytes = 0;
	s->full = s->summed = false;
	head_put(s);
	send(s->client, &begun, sizeof begun, MSG_DONTWAIT | MSG_NOSIGNAL);
	for (uint32_t i = 0; i < s->ring_count; i++)
		capture_begin(s->rings[i], port_of(s, i));
	return true;
}

static void
request_read(struct capture_service *s, uint64_t now_ns)
{
	const ssize_t got =
		recv(s->client, &s->request, sizeof s->request, MSG_DONTWAIT | MSG_TRUNC);
	const char *words = "the request is not one of this version: use the same program";

	if (got < 0 && errno == EAGAIN && now_ns < s->due_ns)
		return;
	if (got > 0 && (size_t)got <= sizeof s->request &&
	    capture_request_is_good(&s->request, (size_t)got) && capture_start(s, &words)) {
		s->state = RUNS;
		s->due_ns = now_ns + s->request.seconds * NS_PER_S;
		return;
	}
	if (got > 0)
		command_socket_refuse(s->client, words);
	client_close(s);
	s->state = IDLE;
}

static void
capture_leave(struct capture_service *s, enum capture_reason reason, uint64_t now_ns)
{
	for (uint32_t i = 0; i < s->ring_count; i++)
		capture_end(s->rings[i]);
	s->reason = reason;
	s->ended_ns = tsc_clock_ns(s->from.clock);
	s->state = ENDS;
	s->due_ns = now_ns + CAPTURE_LAST_NS;
}

static bool
all_left(const struct capture_service *s)
{
	for (uint32_t i = 0; i < s->ring_count; i++)
		if (!capture_ended(s->rings[i]))
			return false;
	return true;
}

static void
client_lost(struct capture_service *s, uint64_t now_ns)
{
	if (s->state == RUNS)
		capture_leave(s, CAPTURE_BY_CLIENT, now_ns);
	client_close(s);
	s->state = LOST;
}

static void
rings_give_back(struct capture_service *s)
{
	munmap(s->memory.base, s->memory.size);
	s->ring_count = 0;
	client_close(s);
	s->state = IDLE;
}

/* ---- frames ---- */

/* Returns the ring whose next frame is the oldest one before until_ns; NULL: no such frame. */
static struct capture *
oldest(const struct capture_service *s, uint64_t until_ns)
{
	struct capture *found = NULL;

	for (uint32_t i = 0; i < s->ring_count; i++) {
		const struct capture_record *r = capture_next(s->rings[i]);

		if (r != NULL && r->at_ns < until_ns) {
			until_ns = r->at_ns;
			found = s->rings[i];
		}
	}
	return found;
}

/* Adds the ring's next frame to the message. False if the message is full, or the capture has
 * reached its limit. */
static bool
frame_put(struct capture_service *s, struct capture *ring)
{
	const struct capture_record *r = capture_next(ring);
	const struct pcapng_frame frame = {.at_ns = unix_ns(s, r->at_ns),
					   .len = r->len,
					   .kept = r->kept,
					   .queue = r->queue,
					   .sent = r->direction == CAPTURE_OUT,
					   .data = capture_data(r)};
	uint8_t *data;
	const size_t bytes =
		pcapng_frame(s->message + s->used, sizeof s->message - s->used, &frame, &data);

	if (bytes == 0)
		return false;
	if (s->bytes + s->used + bytes + PCAPNG_STATS_BYTES > s->request.size) {
		s->reason = CAPTURE_BY_SIZE;
		return s->full = true, false;
	}
	if (r->kept == r->len && frame.sent)
		filled_cksum(data, r->len, r->ol_flags);
	s->used += bytes;
	capture_pop(ring);
	if (++s->frames == s->request.count) {
		s->reason = CAPTURE_BY_COUNT;
		return s->full = true, false;
	}
	return true;
}

/* Fills the message. False if frames remain for another message. */
static bool
frames_put(struct capture_service *s)
{
	const uint64_t now_ns = tsc_clock_ns(s->from.clock);
	const uint64_t until_ns = s->state == LEFT ? UINT64_MAX : now_ns - CAPTURE_HORIZON_NS;
	struct capture *ring;

	while (!s->full && (ring = oldest(s, until_ns)) != NULL)
		if (!frame_put(s, ring))
			return s->full;
	return true;
}

/* True if a send failed only because the client has not read its earlier messages. */
static bool
is_to_wait(void)
{
	return errno == EAGAIN || errno == ENOBUFS || errno == EINTR;
}

/* Sends the message. False if the client has not read its earlier messages, or has disconnected. */
static bool
message_send(struct capture_service *s, uint64_t now_ns)
{
	if (s->used <= 1)
		return true;
	if (send(s->client, s->message, s->used, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
		if (!is_to_wait())
			client_lost(s, now_ns);
		return false;
	}
	s->bytes += s->used - 1;
	s->message[0] = CAPTURE_BLOCKS;
	s->used = 1;
	return true;
}

/* ---- the end ---- */

static uint64_t
dropped(const struct capture_service *s)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < s->ring_count; i++)
		sum += capture_dropped(s->rings[i]);
	return sum;
}

static void
stats_put(struct capture_service *s)
{
	const struct pcapng_stats stats = {.begin_ns = unix_ns(s, s->begun_ns),
					   .end_ns = unix_ns(s, s->ended_ns),
					   .received = s->frames + dropped(s),
					   .dropped = dropped(s)};

	s->used += pcapng_stats(s->message + s->used, sizeof s->message - s->used, &stats);
	s->summed = true;
}

/* Sends the summary. False: try again later. */
static bool
summary_send(const struct capture_service *s)
{
	const struct capture_summary sum = {.frames = s->frames,
					    .dropped = dropped(s),
					    .ns = s->ended_ns - s->begun_ns,
					    .reason = s->reason};
	uint8_t message[1 + sizeof sum] = {CAPTURE_OVER};

	memcpy(message + 1, &sum, sizeof sum);
	return send(s->client, message, sizeof message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0 ||
	       !is_to_wait();
}

/* Sends the remaining frames and then the statistics. True once all of it is sent. */
static bool
last_send(struct capture_service *s, uint64_t now_ns)
{
	for (uint32_t i = 0; i < CAPTURE_MESSAGES; i++) {
		if (!s->summed && frames_put(s) &&
		    sizeof s->message - s->used >= PCAPNG_STATS_BYTES)
			stats_put(s);
		if (!message_send(s, now_ns))
			return false;
		if (s->summed && s->used <= 1)
			return true;
	}
	return false;
}

/* True if the client asks for the end: it has shut its side down, or sent a second message. */
static bool
client_wants_the_end(const struct capture_service *s)
{
	char byte;
	const ssize_t got = recv(s->client, &byte, sizeof byte, MSG_DONTWAIT);

	return got >= 0 || (errno != EAGAIN && errno != EINTR);
}

/* Sends frames of the rings, CAPTURE_MESSAGES messages at most. True if the rings may have more. */
static bool
frames_send(struct capture_service *s, uint64_t now_ns)
{
	for (uint32_t i = 0; i < CAPTURE_MESSAGES && s->state == RUNS; i++) {
		if (!message_send(s, now_ns))
			return false;
		frames_put(s);
		if (s->full)
			capture_leave(s, s->reason, now_ns);
		if (s->used <= 1)
			return false;
	}
	return s->state == RUNS;
}

static bool
captured_run(struct capture_service *s, uint64_t now_ns)
{
	bool more = false;

	if (s->state == RUNS) {
		more = frames_send(s, now_ns);
		if (s->state == RUNS && now_ns >= s->due_ns)
			capture_leave(s, CAPTURE_BY_SECONDS, now_ns);
		else if (s->state == RUNS && client_wants_the_end(s))
			capture_leave(s, CAPTURE_BY_CLIENT, now_ns);
	}
	if (s->state == ENDS && all_left(s))
		s->state = LEFT;
	if (s->state == LEFT && last_send(s, now_ns) && summary_send(s))
		rings_give_back(s);
	if ((s->state == ENDS || s->state == LEFT) && now_ns >= s->due_ns)
		client_lost(s, now_ns);
	if (s->state == LOST && all_left(s))
		rings_give_back(s);
	return more;
}

/* ---- the control thread's side ---- */

uint32_t
capture_service_polls(const struct capture_service *s, struct pollfd *to)
{
	uint32_t n = 0;

	if (s == NULL || s->listener < 0)
		return 0;
	to[n++] = (struct pollfd){s->listener, POLLIN, 0};
	if (s->state == ASKED)
		to[n++] = (struct pollfd){s->client, POLLIN, 0};
	return n;
}

int64_t
capture_service_wait_ns(const struct capture_service *s, int64_t left_ns)
{
	const bool waits = s == NULL || s->state == IDLE || s->state == ASKED;

	return waits || left_ns < CAPTURE_POLL_NS ? left_ns : CAPTURE_POLL_NS;
}

bool
capture_service_run(struct capture_service *s, uint64_t now_ns)
{
	if (s == NULL || s->listener < 0)
		return false;
	clients_accept(s, now_ns);
	if (s->state == ASKED)
		request_read(s, now_ns);
	return captured_run(s, now_ns);
}

/* Ends the capture and sends as much as the client takes at once. The rings stay, since cores may
 * still write to them. */
void
capture_service_stop(struct capture_service *s)
{
	if (s == NULL)
		return;
	if (s->state == RUNS)
		capture_leave(s, CAPTURE_BY_STOP, 0);
	if (s->state == ENDS || s->state == LEFT) {
		for (uint32_t i = 0; i < CAPTURE_LAST_TURNS && !last_send(s, 0); i++)
			;
		summary_send(s);
	}
	client_close(s);
	if (s->listener >= 0)
		close(s->listener);
	s->listener = -1;
}

void
capture_service_destroy(struct capture_service *s)
{
	if (s == NULL)
		return;
	capture_service_stop(s);
	if (s->ring_count != 0)
		rings_give_back(s);
	free(s);
}
