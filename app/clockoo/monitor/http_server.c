/*
 * http_server.c - telemetry.http by libmicrohttpd: its connections, their time limits, and the
 * answers to requests.
 */
#include "http_server.h"
#include "http_listen.h"

#include "base/budget.h"
#include "base/time_units.h"

#include <arpa/inet.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define URL_BYTES 128u
/* Content-Security-Policy of the page: it loads from this server only, and sends nothing to
 * others. */
#define PAGE_POLICY                                                                                \
	"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src "  \
	"'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

struct http_conn {
	int fd;           /* -1: free */
	uint64_t from_ns; /* time of its opening, or of its last answer */
	uint64_t due_ns;  /* when it is closed unless a request is complete */
	bool ended;       /* we have shut it down; the library has not noticed yet */
	struct budget_place place;
};

struct http_server {
	struct MHD_Daemon *daemon;
	struct http_answers *answers; /* NULL until http_serve() */
	struct http_state state;
	int fd;
	bool local;      /* only this machine can connect */
	bool freed;      /* a connection was closed in this call of http_run() */
	uint64_t now_ns; /* of the present call of http_run() */
	struct http_conn conns[HTTP_CONNS_MAX];
	struct budget places; /* of HTTP_CONNS_KEPT connections */
	void *cells;          /* memory of `places` */
	struct counter *counters;
	/* By kind of answer: the last response, shared by the clients that read it. The library
	 * counts the references. */
	struct MHD_Response *response[HTTP_KINDS];
	uint64_t made[HTTP_KINDS]; /* number of its bytes (http_answers.h) */
};

bool
http_is_built(struct error *err)
{
	(void)err;
	return true;
}

/* ---- connections ---- */

static void
conn_end(struct http_server *s, struct http_conn *c)
{
	c->ended = true;
	budget_leave(&s->places, &c->place);
	budget_give(&s->places, 1);
	shutdown(c->fd, SHUT_RDWR);
}

/* Returns the connection that yields its place: the one that has waited longest, of those whose
 * source has more than its share, or of all if no source has. */
static struct http_conn *
conn_loser(struct http_server *s)
{
	struct http_conn *loser = NULL;
	bool over = false;

	for (uint32_t i = 0; i < HTTP_CONNS_MAX; i++) {
		struct http_conn *c = &s->conns[i];
		bool is_over;

		if (c->fd < 0 || c->ended)
			continue;
		is_over = budget_source_is_over(&s->places, &c->place);
		if (loser == NULL || is_over > over ||
		    (is_over == over && c->from_ns < loser->from_ns)) {
			loser = c;
			over = is_over;
		}
	}
	return loser;
}

static void
conns_check(struct http_server *s)
{
	for (uint32_t i = 0; i < HTTP_CONNS_MAX; i++) {
		struct http_conn *c = &s->conns[i];

		if (c->fd >= 0 && !c->ended && s->now_ns >= c->due_ns)
			conn_end(s, c);
	}
}

/* Returns the peer's address. All peers of a Unix socket have one address. */
static struct ip_addr
peer_of(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	const struct sockaddr *any = info != NULL ? info->client_addr : NULL;
	struct ip_addr ip = {0};

	if (any != NULL && any->sa_family == AF_INET)
		return ip_addr_v4(
			ntohl(((const struct sockaddr_in *)(const void *)any)->sin_addr.s_addr));
	if (any != NULL && any->sa_family == AF_INET6)
		memcpy(ip.b, &((const struct sockaddr_in6 *)(const void *)any)->sin6_addr,
		       sizeof ip.b);
	return ip;
}

/* Takes a place for a new connection. It joins before the loser is chosen; otherwise a source that
 * holds all places would have no more than its share. */
static void
place_take(struct http_server *s, struct http_conn *c, const struct ip_addr *ip)
{
	struct http_conn *loser;

	budget_join(&s->places, &c->place, ip);
	if (s->places.left == 0 && (loser = conn_loser(s)) != NULL) {
		counter_add(&s->counters[HTTP_YIELDED], 1);
		conn_end(s, loser);
	}
	budget_take(&s->places, 1);
}

static void
conn_opened(struct http_server *s, struct MHD_Connection *connection, void **context)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	const struct ip_addr ip = peer_of(connection);

	*context = NULL;
	for (uint32_t i = 0; info != NULL && i < HTTP_CONNS_MAX; i++) {
		struct http_conn *c = &s->conns[i];

		if (c->fd >= 0)
			continue;
		*c = (struct http_conn){.fd = -1};
		place_take(s, c, &ip);
		c->fd = info->connect_fd;
		c->from_ns = s->now_ns;
		c->due_ns = s->now_ns + HTTP_REQUEST_S * NS_PER_S;
		*context = c;
		return;
	}
}

static void
on_connection(void *arg, struct MHD_Connection *connection, void **context,
	      enum MHD_ConnectionNotificationCode what)
{
	struct http_server *s = arg;
	struct http_conn *c = *context;

	if (what == MHD_CONNECTION_NOTIFY_STARTED) {
		conn_opened(s, connection, context);
	} else if (c != NULL) {
		if (!c->ended)
			conn_end(s, c);
		c->fd = -1;
		s->freed = true;
		*context = NULL;
	}
}

static void
on_completed(void *arg, struct MHD_Connection *connection, void **request,
	     enum MHD_RequestTerminationCode why)
{
	struct http_server *s = arg;
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	struct http_conn *c = info != NULL ? info->socket_context : NULL;

	(void)request, (void)why;
	if (c == NULL)
		return;
	c->from_ns = s->now_ns;
	c->due_ns = s->now_ns + HTTP_IDLE_S * NS_PER_S;
}

/* ---- answers ---- */

static struct MHD_Response *
response_of(const char *type, size_t len, const void *bytes, enum MHD_ResponseMemoryMode mode)
{
	struct MHD_Response *r =
		MHD_create_response_from_buffer(len, (void *)(uintptr_t)bytes, mode);

	if (r == NULL)
		return NULL;
	MHD_add_response_header(r, "Content-Type", type);
	MHD_add_response_header(r, "Cache-Control", "no-store");
	MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
	MHD_add_response_header(r, "Referrer-Policy", "no-referrer");
	MHD_add_response_header(r, "Content-Security-Policy", PAGE_POLICY);
	return r;
}

/* Refuses a request and ends its connection, so that no body is read. */
static enum MHD_Result
http_refuse(struct MHD_Connection *connection, unsigned status)
{
	static const char words[] = "GET and HEAD only, without a body; where only this machine is "
				    "served, by localhost or an address\n";
	struct MHD_Response *r =
		response_of("text/plain", sizeof words - 1, words, MHD_RESPMEM_PERSISTENT);
	enum MHD_Result done;

	if (r == NULL)
		return MHD_NO;
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(r, "Allow", "GET, HEAD");
	MHD_add_response_header(r, "Connection", "close");
	done = MHD_queue_response(connection, status, r);
	MHD_destroy_response(r);
	return done;
}

/* Returns the response for an answer. Equal bytes share one response. */
static struct MHD_Response *
response_for(struct http_server *s, const struct http_answer *answer)
{
	struct MHD_Response **kept = &s->response[answer->kind];
	const bool constant = answer->made == 0;

	if (*kept != NULL && s->made[answer->kind] == answer->made && answer->kind != HTTP_REPLY)
		return *kept;
	if (*kept != NULL)
		MHD_destroy_response(*kept);
	*kept = response_of(answer->type, answer->len, answer->bytes,
			    constant ? MHD_RESPMEM_PERSISTENT : MHD_RESPMEM_MUST_COPY);
	s->made[answer->kind] = answer->made;
	return *kept;
}

/* True if the request's Host header may be answered. Where only this machine can connect, it must
 * be `localhost` or an address: a page of another site whose name leads to this machine (DNS
 * rebinding) sends that name. Where other machines can connect, every name is accepted. */
static bool
host_is_right(const struct http_server *s, const char *host)
{
	size_t len;

	if (!s->local || host == NULL)
		return true;
	if (host[0] == '[')
		return strncmp(host, "[::1]", 5) == 0;
	len = strcspn(host, ":");
	return (len == 9 && strncasecmp(host, "localhost", len) == 0) ||
	       strspn(host, "0123456789.") == len;
}

static bool
has_body(struct MHD_Connection *connection)
{
	const char *length = MHD_lookup_connection_value(connection, MHD_HEADER_KIND,
							 MHD_HTTP_HEADER_CONTENT_LENGTH);

	return (length != NULL && strcmp(length, "0") != 0) ||
	       MHD_lookup_connection_value(connection, MHD_HEADER_KIND,
					   MHD_HTTP_HEADER_TRANSFER_ENCODING) != NULL;
}

/* Returns the status with which the request is refused, or 0. */
static unsigned
status_of_no(const struct http_server *s, struct MHD_Connection *connection, const char *url,
	     const char *method)
{
	if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
		return MHD_HTTP_METHOD_NOT_ALLOWED;
	if (has_body(connection))
		return MHD_HTTP_BAD_REQUEST;
	if (strlen(url) >= URL_BYTES)
		return MHD_HTTP_URI_TOO_LONG;
	return host_is_right(s, MHD_lookup_connection_value(connection, MHD_HEADER_KIND,
							    MHD_HTTP_HEADER_HOST))
		       ? 0
		       : MHD_HTTP_FORBIDDEN;
}

static unsigned
status_of(enum http_kind kind)
{
	switch (kind) {
	case HTTP_NOT_FOUND:
		return MHD_HTTP_NOT_FOUND;
	case HTTP_IS_STUCK:
	case HTTP_IS_STARTING:
	case HTTP_IS_STOPPING:
	case HTTP_IS_DRAINING:
		return MHD_HTTP_SERVICE_UNAVAILABLE;
	default:
		return MHD_HTTP_OK;
	}
}

/* Handles a request. The library calls this once when the head has arrived, and again when no body
 * follows. */
static enum MHD_Result
on_request(void *arg, struct MHD_Connection *connection, const char *url, const char *method,
	   const char *version, const char *upload, size_t *upload_bytes, void **request)
{
	struct http_server *s = arg;
	const unsigned no = status_of_no(s, connection, url, method);
	struct http_answer answer;
	struct MHD_Response *r;

	(void)version, (void)upload, (void)upload_bytes;
	if (no != 0)
		return http_refuse(connection, no);
	if (*request == NULL) {
		*request = s; /* marks the request: its head has arrived */
		return MHD_YES;
	}
	if (!http_answer_probe(&s->state, url, &answer))
		http_answer(s->answers, url,
			    MHD_lookup_connection_value(connection, MHD_HEADER_KIND,
							MHD_HTTP_HEADER_ACCEPT),
			    s->now_ns, &answer);
	r = response_for(s, &answer);
	return r == NULL ? MHD_NO : MHD_queue_response(connection, status_of(answer.kind), r);
}

/* ---- start and stop ---- */

static bool
daemon_start(struct http_server *s, int fd)
{
	const union MHD_DaemonInfo *info;

	s->daemon = MHD_start_daemon(
		MHD_USE_EPOLL, 0, NULL, NULL, on_request, s, MHD_OPTION_LISTEN_SOCKET, fd,
		MHD_OPTION_CONNECTION_LIMIT, HTTP_CONNS_MAX, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
		(size_t)HTTP_CONN_BYTES, MHD_OPTION_CONNECTION_TIMEOUT, HTTP_IDLE_S,
		MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_NOTIFY_CONNECTION, on_connection, s,
		MHD_OPTION_NOTIFY_COMPLETED, on_completed, s, MHD_OPTION_END);
	if (s->daemon == NULL)
		return false;
	info = MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	s->fd = info != NULL ? info->epoll_fd : -1;
	return s->fd >= 0;
}

static bool
places_create(struct http_server *s)
{
	struct region region = {.size = budget_bytes() + CACHE_LINE_BYTES};

	region.base = s->cells = aligned_alloc(CACHE_LINE_BYTES, region.size);
	if (s->cells == NULL)
		return false;
	memset(s->cells, 0, region.size);
	budget_create(&s->places, &region, HTTP_CONNS_KEPT, 0, 0);
	budget_count_always(&s->places);
	return true;
}

bool
http_start(struct http_server **server, const struct http_at *at, struct error *err)
{
	struct http_server *s;

	*server = NULL;
	if (at->fd < 0)
		return true;
	s = calloc(1, sizeof *s);
	if (s == NULL || !places_create(s)) {
		free(s);
		return error_set(err, "--telemetry-http: no memory");
	}
	s->counters = at->counters;
	for (uint32_t i = 0; i < HTTP_CONNS_MAX; i++)
		s->conns[i].fd = -1;
	s->local = !http_place_is_open(at->config);
	*server = s;
	return daemon_start(s, at->fd) ||
	       error_set(err, "--telemetry-http: libmicrohttpd does not start");
}

bool
http_serve(struct http_server *s, const struct stat_source *rows, struct error *err)
{
	if (s == NULL)
		return true;
	if (!http_answers_create(&s->answers, rows, err))
		return false;
	s->state.phase = HTTP_SERVING;
	return true;
}

void
http_stopping(struct http_server *s)
{
	if (s != NULL)
		s->state.phase = HTTP_STOPPING;
}

void
http_draining(struct http_server *s)
{
	if (s != NULL)
		s->state.draining = true;
}

void
http_set_stuck(struct http_server *s, bool stuck)
{
	if (s != NULL)
		s->state.stuck = stuck;
}

int
http_fd(const struct http_server *s)
{
	return s != NULL ? s->fd : -1;
}

bool
http_run(struct http_server *s, uint64_t now_ns)
{
	MHD_UNSIGNED_LONG_LONG left_ms;

	if (s == NULL)
		return false;
	s->now_ns = now_ns;
	s->freed = false;
	conns_check(s);
	MHD_run(s->daemon);
	/* At its limit of connections the library does not poll the listening socket. It notices a
	 * closed connection only in its next run. */
	return s->freed || (MHD_get_timeout(s->daemon, &left_ms) == MHD_YES && left_ms == 0);
}

void
http_stop(struct http_server *s)
{
	if (s == NULL)
		return;
	if (s->daemon != NULL) {
		/* The caller owns the listening socket: this keeps the library from closing it. */
		MHD_quiesce_daemon(s->daemon);
		MHD_stop_daemon(s->daemon);
	}
	for (uint32_t i = 0; i < HTTP_KINDS; i++)
		if (s->response[i] != NULL)
			MHD_destroy_response(s->response[i]);
	free(s->cells);
	free(s);
}
