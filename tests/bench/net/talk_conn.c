/*
 * talk_conn.c - writes requests and compares replies on one connection, and reconnects it.
 */
#include "talk_conn.h"
#include "talk_value.h"

#include "base/check.h"
#include "bench_load.h"

#include <errno.h>
#include <math.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define READ_BYTES  262144u
#define CHANCE_UNIT 0x1p-53
#define PERCENT     100u

static const char set_end[] = "\r\n", get_end[] = "\r\nEND\r\n";

static struct talk_op *
op_at(struct talk_conn *c, uint32_t i)
{
	return &c->ops[i % DEPTH_MAX];
}

bool
talk_open(struct talk_conn *c, const struct talk_plan *plan, uint64_t now_ns)
{
	const int one = 1;

	c->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	if (c->fd < 0)
		return false;
	setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	if (connect(c->fd, (const struct sockaddr *)&plan->server, sizeof plan->server) != 0 &&
	    errno != EINPROGRESS)
		return false;
	c->reading = c->writing = c->asked = 0;
	memset(c->keys, 0, sizeof c->keys);
	c->write_part = c->read_part = PART_LINE;
	c->out_at = c->out_len = c->line_len = 0;
	c->run = plan->run;
	c->opened_ns = c->moved_ns = now_ns;
	c->moved_bytes = 0;
	c->blocked = true; /* until it is connected */
	c->connected = false;
	c->counts->connects++;
	return true;
}

void
talk_close(struct talk_conn *c)
{
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
}

/* ---- choosing requests ---- */

static uint32_t
log_uniform(uint64_t *chance, uint32_t most)
{
	const double u = (double)(bench_random(chance) >> 11) * CHANCE_UNIT;
	const uint32_t len = (uint32_t)exp(u * log((double)most + 1));

	return len < 1 ? 1 : len > most ? most : len;
}

void
talk_fill(struct talk_conn *c, const struct talk_plan *plan)
{
	while (talk_waiting(c) < plan->depth) {
		struct talk_op *op = op_at(c, c->asked);
		const uint32_t key = bench_below(&c->chance, plan->keys);

		op->key = key;
		op->is_set = bench_below(&c->chance, PERCENT) < plan->sets_percent;
		if (op->is_set) {
			c->keys[key].version++;
			c->keys[key].len = log_uniform(&c->chance, plan->value_max);
			if (c->keys[key].len < plan->value_min)
				c->keys[key].len = plan->value_min;
		}
		op->version = c->keys[key].version;
		op->len = c->keys[key].len;
		c->asked++;
	}
}

static uint64_t
seed_of(const struct talk_conn *c, const struct talk_op *op)
{
	return value_seed((uint64_t)c->id * KEYS_MAX + op->key, op->version);
}

/* ---- writing ---- */

/* Writes the next piece of the current request to out; a part may take several calls. */
static void
compose(struct talk_conn *c)
{
	const struct talk_op *op = op_at(c, c->writing);
	char *to = (char *)c->out + c->out_len;
	const uint32_t room = OUT_BYTES - c->out_len;
	uint32_t n;

	if (c->write_part == PART_VALUE) {
		n = op->len - c->write_at < room ? op->len - c->write_at : room;
		value_write(seed_of(c, op), c->write_at, (uint8_t *)to, n);
		c->write_at += n;
		c->write_part = c->write_at == op->len ? PART_END : PART_VALUE;
	} else if (c->write_part == PART_END) {
		n = sizeof set_end - 1;
		memcpy(to, set_end, n);
		c->write_part = PART_LINE;
		c->writing++;
	} else if (op->is_set) {
		n = (uint32_t)snprintf(to, LINE_BYTES, "set r%xc%uk%u 0 0 %u\r\n", c->run, c->id,
				       op->key, op->len);
		c->write_at = 0;
		c->write_part = PART_VALUE;
	} else {
		n = (uint32_t)snprintf(to, LINE_BYTES, "get r%xc%uk%u\r\n", c->run, c->id, op->key);
		c->writing++;
	}
	c->out_len += n;
}

bool
talk_write(struct talk_conn *c)
{
	while (!c->blocked) {
		ssize_t n;

		while (c->writing != c->asked && c->out_len + LINE_BYTES <= OUT_BYTES)
			compose(c);
		if (c->out_at == c->out_len)
			return true;
		n = send(c->fd, c->out + c->out_at, c->out_len - c->out_at, MSG_NOSIGNAL);
		if (n < 0 && errno == EAGAIN)
			c->blocked = true;
		else if (n < 0)
			return false;
		else
			c->out_at += (uint32_t)n;
		if (c->out_at == c->out_len)
			c->out_at = c->out_len = 0;
	}
	return true;
}

/* ---- reading ---- */

static bool
begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

static void
answered(struct talk_conn *c)
{
	c->reading++;
	c->read_part = PART_LINE;
}

/* Checks a whole line, without its end. False: no server sends it here. */
static bool
take_line(struct talk_conn *c)
{
	const struct talk_op *op = op_at(c, c->reading);
	char want[LINE_BYTES];

	if (op->is_set) {
		const bool stored = strcmp(c->line, "STORED") == 0;

		if (!stored && !begins(c->line, "SERVER_ERROR "))
			return false;
		c->counts->set_bytes += stored ? op->len : 0;
		c->counts->sets += stored;
		c->counts->refused += !stored;
		answered(c);
		return true;
	}
	if (strcmp(c->line, "END") == 0) {
		c->counts->misses += op->version != 0;
		c->counts->gets++;
		answered(c);
		return true;
	}
	snprintf(want, sizeof want, "VALUE r%xc%uk%u 0 %u", c->run, c->id, op->key, op->len);
	c->read_at = 0;
	c->read_part = PART_VALUE;
	return op->version != 0 && strcmp(c->line, want) == 0;
}

/* Reads bytes of a line. Returns how many belong to it; 0 if the line is not an allowed one. */
static uint32_t
read_line(struct talk_conn *c, const char *bytes, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++) {
		if (c->line_len == LINE_BYTES)
			return 0;
		c->line[c->line_len++] = bytes[i];
		if (bytes[i] != '\n')
			continue;
		if (c->line_len < 2 || c->line[c->line_len - 2] != '\r')
			return 0;
		c->line[c->line_len - 2] = '\0';
		c->line_len = 0;
		return take_line(c) ? i + 1 : 0;
	}
	return len;
}

static uint32_t
read_value(struct talk_conn *c, const uint8_t *bytes, uint32_t len)
{
	const struct talk_op *op = op_at(c, c->reading);
	const uint32_t n = op->len - c->read_at < len ? op->len - c->read_at : len;
	const uint32_t wrong = value_wrong(seed_of(c, op), c->read_at, bytes, n);

	c->counts->wrong_bytes += wrong;
	c->counts->get_bytes += n - wrong;
	c->read_at += n;
	if (c->read_at == op->len) {
		c->read_part = PART_END;
		c->read_at = 0;
	}
	return n;
}

static uint32_t
read_end(struct talk_conn *c, const char *bytes, uint32_t len)
{
	const uint32_t left = sizeof get_end - 1 - c->read_at, n = left < len ? left : len;

	if (memcmp(bytes, get_end + c->read_at, n) != 0)
		return 0;
	c->read_at += n;
	if (n == left) {
		c->counts->gets++;
		answered(c);
	}
	return n;
}

/* Reads bytes of answers. False: an answer is not allowed. */
static bool
take(struct talk_conn *c, const uint8_t *bytes, uint32_t len)
{
	while (len != 0) {
		uint32_t n;

		if (talk_waiting(c) == 0)
			return false;
		if (c->read_part == PART_VALUE)
			n = read_value(c, bytes, len);
		else if (c->read_part == PART_END)
			n = read_end(c, (const char *)bytes, len);
		else
			n = read_line(c, (const char *)bytes, len);
		if (n == 0)
			return false;
		bytes += n;
		len -= n;
	}
	return true;
}

bool
talk_read(struct talk_conn *c)
{
	uint8_t bytes[READ_BYTES];

	for (uint32_t i = 0; i < READS_A_VISIT; i++) {
		const ssize_t n = recv(c->fd, bytes, sizeof bytes, 0);

		if (n < 0 && errno == EAGAIN)
			return true;
		if (n <= 0)
			return false;
		if (!take(c, bytes, (uint32_t)n)) {
			c->counts->wrong_answers++;
			c->hopeless = true;
			return false;
		}
		if ((size_t)n < sizeof bytes)
			return true;
	}
	return true;
}
