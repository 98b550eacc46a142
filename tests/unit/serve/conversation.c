#include "conversation.h"

#include "support/test.h"

static void
turns(struct rig *rig, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		rig_turn(rig);
}

/* Empties the cache by flush_all. If a flush is not allowed, no item was stored either. */
void
empty_cache(struct rig *rig)
{
	struct conn *c = rig_open(rig);
	uint32_t n = 0;

	rig_receive_text(rig, c, "flush_all\r\n");
	for (; n < FLUSH_TURNS && rig_sent(c, NULL)[0] == '\0'; n++)
		rig_turn(rig);
	rig_lose(rig, c);
}

/* Sends the bytes in two pieces, two turns apart, to an empty cache. Returns the connection. */
static struct conn *
exchange(struct rig *rig, struct view in, uint32_t cut)
{
	struct conn *c;

	empty_cache(rig);
	c = rig_open(rig);
	rig_receive(rig, c, in.data, cut);
	turns(rig, 2);
	rig_receive(rig, c, in.data + cut, in.len - cut);
	turns(rig, 3);
	return c;
}

static void
forget(struct rig *rig, struct conn *c)
{
	rig_lose(rig, c);
	check_eq(rig_chunks_used(rig), 0);
}

void
rows_hold(struct rig *rig, const struct row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct view in = {(const uint8_t *)rows[i].in, (uint32_t)strlen(rows[i].in)};

		for (uint32_t cut = 0; cut <= in.len; cut++) {
			struct conn *c = exchange(rig, in, cut);

			check_str(rig_sent(c, NULL), rows[i].out);
			forget(rig, c);
		}
	}
}
