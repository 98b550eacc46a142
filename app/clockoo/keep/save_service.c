/*
 * save_service.c - receives a request with its file, starts the snapshot, and reports the result.
 */
#include "save_service.h"
#include "base/time_units.h"
#include "save_wire.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINE "clockoo: save: "
#define GB   (double)(1 << 30)

void
save_service_start(struct save_service *s, struct memory_save *save)
{
	*s = (struct save_service){.snapshot.save = save, .client = -1, .listener = -1};
	s->starter = getuid();
	if (save->used)
		s->listener = command_socket_listen(save->of.config->file_prefix, SAVE_COMMAND);
}

uint32_t
save_service_polls(const struct save_service *s, struct pollfd *to)
{
	uint32_t n = 0;

	if (s->listener < 0)
		return 0;
	to[n++] = (struct pollfd){s->listener, POLLIN, 0};
	if (s->client >= 0 && !s->snapshot.runs)
		to[n++] = (struct pollfd){s->client, POLLIN, 0};
	return n;
}

static void
save_client_close(struct save_service *s)
{
	if (s->client >= 0)
		close(s->client);
	s->client = -1;
}

static void
save_clients_accept(struct save_service *s, uint64_t now_ns)
{
	for (uint32_t i = 0; i < SAVE_CLIENTS; i++) {
		const int fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0)
			return;
		/* the file gets all values */
		if (!command_socket_lets_in(fd, s->starter)) {
			command_socket_refuse(
				fd, "only root and the user who started the appliance may save");
		} else if (s->client >= 0 || s->snapshot.runs) {
			command_socket_refuse(
				fd, "another save is running; wait for its end, or end it");
		} else {
			s->client = fd;
			s->due_ns = now_ns + SAVE_ASK_NS;
			continue;
		}
		close(fd);
	}
}

/* ---- the request ---- */

/* Receives a message and its descriptor. *file is -1 if the message has none. */
static ssize_t
receive(int fd, struct save_request *r, int *file)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec part = {r, sizeof *r};
	/* CMSG_SPACE() would have room for a second descriptor, which would never be closed. */
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = control.bytes,
				 .msg_controllen = CMSG_LEN(sizeof *file)};
	const ssize_t got = recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	const struct cmsghdr *c = got > 0 ? CMSG_FIRSTHDR(&message) : NULL;

	*file = -1;
	if (c != NULL && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
	    c->cmsg_len == CMSG_LEN(sizeof *file))
		memcpy(file, CMSG_DATA(c), sizeof *file);
	return got;
}

static bool
is_request(const struct save_request *r, ssize_t bytes, int file, struct error *err)
{
	struct stat st;

	if (bytes != (ssize_t)sizeof *r || r->magic != SAVE_WIRE || file < 0 ||
	    memchr(r->path, 0, sizeof r->path) == NULL)
		return error_set(err,
				 "the request is not one of this version: use the same program");
	return (fstat(file, &st) == 0 && S_ISREG(st.st_mode) && st.st_size == 0) ||
	       error_set(err, "%s: not an empty file", r->path);
}

static void
save_request_read(struct save_service *s, uint64_t now_ns)
{
	struct save_request request;
	struct error err;
	int file;
	const ssize_t got = receive(s->client, &request, &file);

	if (got < 0 && (errno == EAGAIN || errno == EINTR) && now_ns < s->due_ns)
		return;
	if (is_request(&request, got, file, &err) &&
	    memory_snapshot_begin(&s->snapshot, file, request.path, &err))
		return;
	if (got > 0)
		command_socket_refuse(s->client, err.text);
	if (file >= 0)
		close(file);
	save_client_close(s);
}

/* ---- the result ---- */

static bool
command_has_gone(const struct save_service *s)
{
	char byte;
	const ssize_t got = recv(s->client, &byte, sizeof byte, MSG_DONTWAIT);

	return got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
}

static void
tell_command(const struct save_service *s)
{
	const struct memory_snapshot *snap = &s->snapshot;
	struct save_summary sum = {snap->result.items, snap->result.value_bytes, snap->took_ns,
				   snap->result.skew_ns, ""};
	uint8_t message[1 + sizeof sum] = {SAVE_OVER};

	if (!snap->done) {
		command_socket_refuse(s->client, snap->err.text);
		return;
	}
	snprintf(sum.how, sizeof sum.how, "%s", snap->result.how);
	memcpy(message + 1, &sum, sizeof sum);
	send(s->client, message, sizeof message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void
result_report(struct save_service *s)
{
	const struct memory_snapshot *snap = &s->snapshot;

	if (s->client >= 0)
		tell_command(s);
	if (snap->done && s->client >= 0)
		fprintf(stderr,
			LINE "%s: saved %llu items, %.1f GB in %.2f s, snapshot_skew_ms %llu\n",
			snap->path, (unsigned long long)snap->result.items,
			(double)snap->result.value_bytes / GB, (double)snap->took_ns / NS_PER_S,
			(unsigned long long)(snap->result.skew_ns / NS_PER_MS));
	else
		fprintf(stderr, LINE "not saved: %s\n",
			snap->done ? "the command was ended" : snap->err.text);
	close(snap->fd);
	save_client_close(s);
}

void
save_service_run(struct save_service *s, uint64_t now_ns)
{
	if (s->listener < 0)
		return;
	save_clients_accept(s, now_ns);
	if (s->snapshot.runs && s->client >= 0 && command_has_gone(s)) {
		memory_snapshot_cancel(&s->snapshot);
		save_client_close(s);
	}
	if (s->snapshot.runs && memory_snapshot_has_ended(&s->snapshot)) {
		memory_snapshot_end(&s->snapshot);
		result_report(s);
	} else if (!s->snapshot.runs && s->client >= 0) {
		save_request_read(s, now_ns);
	}
}

void
save_service_stop(struct save_service *s)
{
	memory_snapshot_cancel(&s->snapshot);
	if (s->client >= 0)
		command_socket_refuse(s->client, "the appliance stops");
	save_client_close(s);
	if (s->listener >= 0)
		close(s->listener);
	s->listener = -1;
}

void
save_service_end(struct save_service *s)
{
	const bool ran = s->snapshot.runs;

	memory_snapshot_end(&s->snapshot);
	if (ran)
		close(s->snapshot.fd);
}
