/*
 * sim_fleet.c - model servers: memcached's retrievals, version and mn, as a front uses them.
 */
#include "sim_fleet.h"
#include "sim_stack.h"
#include "zeroed.h"

#include "base/check.h"

#include <stdio.h>
#include <stdlib.h>

#define LETTERS 26u

void
sim_fleet_create(struct sim_fleet *fleet, struct stack *stack)
{
	memset(fleet, 0, sizeof *fleet);
	fleet->stack = stack;
}

void
sim_fleet_destroy(struct sim_fleet *fleet)
{
	for (uint32_t i = 0; i < FLEET_CONNS; i++)
		if (fleet->conn[i].out != NULL)
			zeroed_free(fleet->conn[i].out, FLEET_OUT);
}

/* ---- values ---- */

static uint32_t
number_of(struct view key)
{
	uint32_t n = 0;

	for (uint32_t i = 1; i < key.len && key.data[i] >= '0' && key.data[i] <= '9'; i++)
		n = n * 10 + key.data[i] - '0';
	return n;
}

int
sim_fleet_value(uint32_t server, struct view key, char *value)
{
	const uint32_t n = number_of(key);
	uint32_t len = n % 7 == 3 ? 1024 + n * 397 % 9000 : n * 31 % 900;

	if (key.data[0] == 's' && n % 5 == 0)
		return -1;
	if (key.data[0] == 'b')
		len = 100000 + n * 7919 % 100000;
	if (key.data[0] == 'm')
		len = 20000 + n * 7919 % 40000;
	for (uint32_t i = 0, letter = n % LETTERS; i < len && i < LETTERS; i++) {
		value[i] = (char)('a' + letter);
		letter = (letter + 7) % LETTERS;
	}
	for (uint32_t done = LETTERS; done < len; done *= 2)
		memcpy(value + done, value, done < len - done ? done : len - done);
	if (len > 0)
		value[0] = (char)('0' + server);
	return (int)len;
}

uint64_t
sim_fleet_cas(struct view key)
{
	return 1000000 + number_of(key);
}

uint32_t
sim_fleet_flags(struct view key)
{
	return number_of(key) % 3;
}

/* ---- connections ---- */

void
sim_fleet_opened(struct sim_fleet *fleet, struct conn *c)
{
	const uint32_t server = conn_local(c) == LOCAL_V4 ? 0 : 1;
	struct fleet_conn *fc = &fleet->conn[conn_slot(c)];

	ensure(conn_slot(c) < FLEET_CONNS && fc->conn == NULL);
	fleet->server[server].opened++;
	if (fc->out == NULL)
		fc->out = zeroed_memory(FLEET_OUT);
	fc->conn = c;
	fc->server = server;
	fc->in_len = fc->out_at = fc->out_len = 0;
	fc->logged_in = false;
}

void
sim_fleet_gone(struct sim_fleet *fleet, const struct conn *c)
{
	fleet->conn[conn_slot(c)].conn = NULL;
}

static void
say(struct fleet_conn *fc, const void *bytes, uint32_t len)
{
	if (fc->out_len + len > FLEET_OUT) {
		memmove(fc->out, fc->out + fc->out_at, fc->out_len - fc->out_at);
		fc->out_len -= fc->out_at;
		fc->out_at = 0;
	}
	ensure(fc->out_len + len <= FLEET_OUT);
	memcpy(fc->out + fc->out_len, bytes, len);
	fc->out_len += len;
}

static void
say_text(struct fleet_conn *fc, const char *text)
{
	say(fc, text, (uint32_t)strlen(text));
}

/* ---- requests ---- */

/* Returns the next word of *line, with len 0 at its end. */
static struct view
word(struct view *line)
{
	struct view w = {.data = line->data, .len = 0};

	while (w.len < line->len && w.data[w.len] != ' ')
		w.len++;
	line->data += w.len;
	line->len -= w.len;
	if (line->len > 0) {
		line->data++;
		line->len--;
		ensure(w.len > 0);
	}
	return w;
}

static bool
is(struct view w, const char *text)
{
	return w.len == strlen(text) && memcmp(w.data, text, w.len) == 0;
}

static void
get(struct fleet_conn *fc, struct view keys, bool cas)
{
	static char value[FLEET_VALUE_MAX];
	char head[400];

	ensure(keys.len > 0);
	while (keys.len > 0) {
		const struct view key = word(&keys);
		const int len = sim_fleet_value(fc->server, key, value);
		int n;

		if (len < 0)
			continue;
		n = snprintf(head, sizeof head, "VALUE %.*s %u %d", (int)key.len, key.data,
			     sim_fleet_flags(key), len);
		if (cas)
			n += snprintf(head + n, sizeof head - (size_t)n, " %llu",
				      (unsigned long long)sim_fleet_cas(key));
		say(fc, head, (uint32_t)n);
		say_text(fc, "\r\n");
		say(fc, value, (uint32_t)len);
		say_text(fc, "\r\n");
	}
	say_text(fc, "END\r\n");
}

static void
meta_get(struct fleet_conn *fc, struct view line)
{
	static char value[FLEET_VALUE_MAX];
	const struct view key = word(&line);
	const int len = sim_fleet_value(fc->server, key, value);
	char head[400];
	int n;

	if (len < 0) {
		say_text(fc, "EN\r\n");
		return;
	}
	n = snprintf(head, sizeof head, "VA %d", len);
	while (line.len > 0) {
		const struct view flag = word(&line);
		char *at = head + n;
		const size_t room = sizeof head - (size_t)n;

		switch (flag.data[0]) {
		case 'f':
			n += snprintf(at, room, " f%u", sim_fleet_flags(key));
			break;
		case 'c':
			n += snprintf(at, room, " c%llu", (unsigned long long)sim_fleet_cas(key));
			break;
		case 't':
			n += snprintf(at, room, " t%u", 1000 + number_of(key));
			break;
		case 'h':
			n += snprintf(at, room, " h1");
			break;
		case 'l':
			n += snprintf(at, room, " l%u", number_of(key));
			break;
		case 'O':
			n += snprintf(at, room, " %.*s", (int)flag.len, flag.data);
			break;
		default:
			ensure(strchr("vuTRNE", flag.data[0]) != NULL);
		}
	}
	if (number_of(key) % 11 == 1)
		n += snprintf(head + n, sizeof head - (size_t)n, " W");
	say(fc, head, (uint32_t)n);
	say_text(fc, "\r\n");
	say(fc, value, (uint32_t)len);
	say_text(fc, "\r\n");
}

/* Answers a request with keys in the server's mode. False: the connection is closed. */
static bool
answer(struct sim_fleet *fleet, struct fleet_conn *fc, struct view verb, struct view line)
{
	struct fleet_server *server = &fleet->server[fc->server];

	server->requests++;
	switch (server->mode) {
	case FLEET_SILENT:
		return true;
	case FLEET_RESETS:
		conn_abort(fleet->stack, fc->conn);
		return false;
	case FLEET_CLOSES:
		conn_close_detach(fleet->stack, fc->conn);
		return false;
	case FLEET_SAYS:
		say_text(fc, server->says);
		return true;
	default:
		break;
	}
	if (is(verb, "gat") || is(verb, "gats"))
		word(&line);
	for (uint32_t i = 0; i < 1 + (server->mode == FLEET_REPEATS); i++)
		if (is(verb, "mg"))
			meta_get(fc, line);
		else
			get(fc, line, verb.data[verb.len - 1] == 's');
	return true;
}

static void
list_row(struct fleet_conn *fc, const struct ip_addr *ip, uint16_t port)
{
	const bool v4 = ip_addr_is_v4(ip);
	char text[IP_ADDR_TEXT_MAX + 1], row[100];

	*ip_addr_text(text, ip) = '\0';
	sprintf(row, "STAT 9:addr %s%s%s:%u\r\n", v4 ? "tcp:" : "tcp6:[", text, v4 ? "" : "]",
		port);
	say_text(fc, row);
}

static void
list(struct sim_fleet *fleet, struct fleet_conn *fc)
{
	struct ip_addr ip;
	uint16_t port;

	for (uint32_t i = 0; i < FLEET_CONNS; i++) {
		if (fleet->conn[i].conn == NULL || fleet->conn[i].server != fc->server)
			continue;
		conn_peer(fleet->conn[i].conn, &ip, &port);
		list_row(fc, &ip, port);
	}
	if (fleet->server[fc->server].lists_former)
		list_row(fc, &ip, 7);
	say_text(fc, "END\r\n");
}

static bool
execute(struct sim_fleet *fleet, struct fleet_conn *fc, struct view line)
{
	struct fleet_server *server = &fleet->server[fc->server];
	const struct view verb = word(&line);

	if (is(verb, "version")) {
		say_text(fc, "VERSION 1.6.0\r\n");
	} else if (is(verb, "stats")) {
		list(fleet, fc);
	} else if (is(verb, "mn")) {
		say_text(fc, server->meta ? "MN\r\n" : "ERROR\r\n");
	} else {
		ensure(is(verb, "get") || is(verb, "gets") || is(verb, "gat") || is(verb, "gats") ||
		       (server->meta && is(verb, "mg")));
		return answer(fleet, fc, verb, line);
	}
	return true;
}

/* True if the connection has too many unsent bytes for the server to read further requests. */
static bool
has_enough(const struct fleet_conn *fc)
{
	return fc->out_len - fc->out_at > FLEET_OUT / 8;
}

static void
read_all(struct sim_fleet *fleet, struct fleet_conn *fc)
{
	sim_receive(fleet->stack, fc->conn, fc->in, &fc->in_len, FLEET_BYTES);
}

/* Returns the bytes of the line at `at`; 0: it is incomplete. */
static uint32_t
line_bytes(const struct fleet_conn *fc, uint32_t at)
{
	const char *lf = memchr(fc->in + at, '\n', fc->in_len - at);

	return lf != NULL ? (uint32_t)(lf + 1 - (fc->in + at)) : 0;
}

/* Answers the commands of a connection before its login, as memcached does. A server without users
 * treats a login as a set. Returns the bytes answered. */
static uint32_t
log_in(struct sim_fleet *fleet, struct fleet_conn *fc)
{
	struct fleet_server *server = &fleet->server[fc->server];
	uint32_t at = 0, first, body;

	while (!fc->logged_in && (first = line_bytes(fc, at)) != 0) {
		if (strncmp(fc->in + at, "set ", 4) != 0) {
			fc->logged_in = server->login == NULL;
			if (fc->logged_in)
				break;
			say_text(fc, "CLIENT_ERROR unauthenticated\r\n");
			at += first;
			continue;
		}
		body = line_bytes(fc, at + first);
		if (body == 0)
			break;
		fc->logged_in = server->login == NULL ||
				(strlen(server->login) == first + body &&
				 memcmp(server->login, fc->in + at, first + body) == 0);
		server->logins += fc->logged_in;
		say_text(fc,
			 fc->logged_in ? "STORED\r\n" : "CLIENT_ERROR authentication failure\r\n");
		at += first + body;
	}
	return at;
}

/* Executes all complete requests. False: the connection is closed. */
static bool
execute_all(struct sim_fleet *fleet, struct fleet_conn *fc)
{
	uint32_t at = fc->logged_in ? 0 : log_in(fleet, fc);
	char *lf;

	while (fc->logged_in && !has_enough(fc) &&
	       (lf = memchr(fc->in + at, '\n', fc->in_len - at)) != NULL) {
		const uint32_t end = (uint32_t)(lf - fc->in);
		const struct view line = {(uint8_t *)fc->in + at, end - at - 1};

		ensure(end > at && lf[-1] == '\r' && line.len < 2048);
		at = end + 1;
		if (!execute(fleet, fc, line))
			return false;
	}
	memmove(fc->in, fc->in + at, fc->in_len - at);
	fc->in_len -= at;
	return true;
}

static void
write_some(struct sim_fleet *fleet, struct fleet_conn *fc)
{
	const uint32_t piece = fleet->server[fc->server].piece;
	uint32_t left = piece != 0 ? piece : UINT32_MAX;

	if (fc->rested++ < fleet->server[fc->server].rests)
		return;
	fc->rested = 0;
	while (fc->out_at < fc->out_len && left > 0 && conn_writable(fleet->stack, fc->conn, 1)) {
		uint32_t n = fc->out_len - fc->out_at;

		n = n < left ? n : left;
		n = n < CONN_RESERVE_MAX ? n : CONN_RESERVE_MAX;
		memcpy(conn_reserve(fleet->stack, fc->conn, n), fc->out + fc->out_at, n);
		conn_commit(fleet->stack, fc->conn, n);
		fc->out_at += n;
		left -= n;
	}
	if (fc->out_at == fc->out_len)
		fc->out_at = fc->out_len = 0;
}

static void
turn(struct sim_fleet *fleet, struct fleet_conn *fc)
{
	const struct fleet_server *server = &fleet->server[fc->server];

	if (server->mode == FLEET_DEAF)
		return;
	if (server->mode == FLEET_REFUSES) {
		conn_abort(fleet->stack, fc->conn);
		return;
	}
	if (!has_enough(fc))
		read_all(fleet, fc);
	if (!execute_all(fleet, fc))
		return;
	write_some(fleet, fc);
	if (conn_eof(fc->conn))
		conn_close_detach(fleet->stack, fc->conn);
}

void
sim_fleet_turn(struct sim_fleet *fleet)
{
	for (uint32_t i = 0; i < FLEET_CONNS; i++)
		if (fleet->conn[i].conn != NULL)
			turn(fleet, &fleet->conn[i]);
}
