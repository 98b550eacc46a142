/*
 * Goal:   any bytes of a server are an answer, incomplete, or the end of the connection; no key
 *         gets a value that was not sent for it, and the cuts between the bytes make no
 *         difference. Method: the input chooses the request; the rest is the server's stream,
 *         read whole, and read byte by byte; the two must agree line by line.
 */
#include "fuzz_target.h"

#include "front/front_listing.h"
#include "front/front_reply.h"

#include <stdlib.h>

#define LINES_MAX 64
#define KEYS      8

#define must(cond)                                                                                 \
	do {                                                                                       \
		if (!(cond))                                                                       \
			abort();                                                                   \
	} while (0)

static const struct view keys[KEYS] = {{(const uint8_t *)"a", 1},   {(const uint8_t *)"b", 1},
				       {(const uint8_t *)"ab", 2},  {(const uint8_t *)"a", 1},
				       {(const uint8_t *)"key", 3}, {(const uint8_t *)"\xff", 1},
				       {(const uint8_t *)"k7", 2},  {(const uint8_t *)"k8", 2}};

static struct front_listing listing; /* of any port */

/* Checks that a view is within the line, and clears it: the line is freed soon. */
static void
check_view(struct view *v, const uint8_t *line, uint32_t len)
{
	if (v->len != 0)
		must(v->data > line && v->data + v->len <= line + len);
	v->data = NULL;
}

/* Reads a line from a copy that ends where its bytes do, so that a sanitizer
 * detects a read past them. */
static void
read_exactly(struct front_reply *r, struct front_asked *asked, const uint8_t *data, uint32_t len)
{
	uint8_t *exact = malloc(len != 0 ? len : 1);

	must(exact != NULL);
	memcpy(exact, data, len);
	front_reply_read(r, asked, (struct view){.data = exact, .len = len});
	if (r->kind == FRONT_REPLY_ROW)
		front_listing_row(&listing, r->name, r->text);
	check_view(&r->text, exact, len);
	check_view(&r->name, exact, len);
	free(exact);
}

static void
check_reply(const struct front_reply *r, const struct front_asked *asked, uint64_t had,
	    uint32_t len, const uint8_t *line)
{
	if (r->kind == FRONT_REPLY_MORE || r->kind == FRONT_REPLY_BROKEN)
		return;
	must(r->line_len >= 2 && r->line_len <= len && r->line_len <= FRONT_REPLY_LINE_MAX);
	must(line[r->line_len - 2] == '\r' && line[r->line_len - 1] == '\n');
	must(r->value_len <= FRONT_VALUE_MAX && asked->received);
	if (asked->ask == FRONT_ASK_GET && r->kind == FRONT_REPLY_VALUE) {
		const struct view key = asked->keys[r->key];

		must(r->key < asked->nkeys && (had >> r->key & 1) == 0);
		must(memcmp(line + 6, key.data, key.len) == 0 && line[6 + key.len] == ' ');
	}
}

static bool
same(const struct front_reply *a, const struct front_reply *b)
{
	return a->kind == b->kind && a->status == b->status &&
	       a->ends_connection == b->ends_connection && a->line_len == b->line_len &&
	       a->key == b->key && a->value_len == b->value_len &&
	       a->client_flags == b->client_flags && a->meta == b->meta && a->size == b->size &&
	       a->hit == b->hit && a->last_access_s == b->last_access_s && a->ttl_s == b->ttl_s &&
	       a->cas == b->cas && a->number == b->number && a->text.len == b->text.len &&
	       a->name.len == b->name.len;
}

/* Reads the same line with one byte more at a time. */
static void
check_pieces(const struct front_reply *whole, struct front_asked asked, const uint8_t *line,
	     uint32_t len)
{
	const uint32_t most = len < 80 ? len : 80;

	for (uint32_t n = 0; n <= most; n++) {
		struct front_asked copy = asked;
		struct front_reply r;

		read_exactly(&r, &copy, line, n);
		if (r.kind == FRONT_REPLY_MORE)
			continue;
		if (!asked.received)
			return;
		must(same(&r, whole));
		return;
	}
}

/* Checks that a whole value is read at once as in steps, or not at all. */
static void
check_whole(const struct front_reply *r, struct front_asked before, const struct front_asked *after,
	    const uint8_t *data, uint32_t len)
{
	uint8_t *exact = malloc(len != 0 ? len : 1);
	const struct front_asked was = before;
	struct front_value v;

	must(exact != NULL);
	memcpy(exact, data, len);
	if (front_value_read(&v, &before, (struct view){.data = exact, .len = len})) {
		must(r->kind == FRONT_REPLY_VALUE && r->key == v.key);
		must(r->value_len == v.value_len && r->client_flags == v.client_flags);
		must(v.at == r->line_len && v.bytes == v.at + v.value_len + 2 && v.bytes <= len);
		must(front_value_end((struct view){.data = data + v.bytes - 2, .len = 2}));
		must(before.had == after->had && before.next == after->next);
	} else {
		must(memcmp(&was, &before, sizeof was) == 0);
	}
	free(exact);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct front_asked asked = {.keys = keys};
	struct front_reply r;

	if (size < 2 || size > 1u << 16)
		return 0;
	asked.ask = (enum front_ask)(data[0] % FRONT_ASKS_COUNT);
	asked.received = (data[0] & 0x80) == 0;
	asked.wants_cas = (data[1] & 0x80) != 0;
	asked.nkeys = asked.ask == FRONT_ASK_GET ? 1 + data[1] % KEYS : 1;
	if ((data[1] & 0x40) != 0)
		asked.opaque = (struct view){.data = (const uint8_t *)"o7", .len = 2};
	listing = (struct front_listing){.port = {data[1]}};
	front_listing_begin(&listing, &(struct ip_addr){{0xfd, [15] = 1}}, data[1]);
	data += 2, size -= 2;
	for (int lines = 0; lines < LINES_MAX; lines++) {
		const struct front_asked before = asked;
		const uint64_t body = 2;
		uint64_t value;

		memset(&r, 0xa5, sizeof r);
		read_exactly(&r, &asked, data, (uint32_t)size);
		check_reply(&r, &asked, before.had, (uint32_t)size, data);
		check_pieces(&r, before, data, (uint32_t)size);
		check_whole(&r, before, &asked, data, (uint32_t)size);
		if (r.kind == FRONT_REPLY_ROW) {
			must(asked.ask == FRONT_ASK_STATS && r.name.len != 0);
			data += r.line_len, size -= r.line_len;
			continue;
		}
		if (r.kind != FRONT_REPLY_VALUE || asked.ask != FRONT_ASK_GET)
			return 0;
		value = r.line_len + r.value_len;
		if (value + body > size ||
		    !front_value_end((struct view){.data = data + value, .len = 2}))
			return 0;
		data += value + body, size -= value + body;
	}
	return 0;
}
