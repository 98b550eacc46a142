/*
 * Random input. Goal: for any bytes of clients, in any protocol, broken or not, and with any
 * resource exhausted meanwhile, no freed byte is read, and no memory is held once all clients
 * have left. Method: random conversations of text, meta, administrative words and packets, some
 * of their bytes corrupted, on several connections and in datagrams, cut anywhere; a stack that
 * frees every received byte at the end of its turn. The sanitized build checks the first half.
 */
#include "binary_talk.h"
#include "support/test.h"

#define ROUNDS     200u
#define TURNS      60u
#define TALKERS    3u
#define TALK_BYTES (1u << 20)
#define VALUE_MAX  40000u

static uint64_t rng_state;

static uint32_t
below(uint32_t n)
{
	rng_state = rng_state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(rng_state >> 33) % n;
}

#define ONE_OF(list) (list)[below(sizeof(list) / sizeof((list)[0]))]

struct talk {
	uint8_t bytes[TALK_BYTES];
	uint32_t len, said;
};

static void
add(struct talk *t, const char *text)
{
	const uint32_t len = (uint32_t)strlen(text);

	memcpy(t->bytes + t->len, text, len);
	t->len += len;
}

static void
add_value(struct talk *t, uint32_t len)
{
	memset(t->bytes + t->len, '7', len);
	t->len += len;
}

static uint32_t
any_len(void)
{
	return below(6) != 0 ? below(40) : 1000 + below(VALUE_MAX - 1000);
}

static void
add_meta(struct talk *t)
{
	static const char *const verbs[] = {"mg", "mg", "ms", "ms", "md", "ma", "me", "mn"};
	static const char *const flags[] = {
		" v",  " k",  " O1",  " q",  " s",   " f",
		" h",  " t",  " T60", " N9", " R30", " c",
		" u",  " l",  " C5",  " E7", " I",   " x",
		" MA", " MP", " ME",  " MR", " MI",  " MD",
		" D3", " J4", " b",   " F9", " ~",   " Oxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"};
	static const char *const keys[] = {"k0", "k1", "k2", "k3", "YWJj"};
	const char *verb = ONE_OF(verbs);
	const uint32_t len = any_len();
	char line[64];

	snprintf(line, sizeof line, "%s %s", verb, ONE_OF(keys));
	add(t, line);
	snprintf(line, sizeof line, " %u", len);
	if (verb[1] == 's')
		add(t, line);
	for (uint32_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
		if (below(9) == 0)
			add(t, flags[i]);
	add(t, "\r\n");
	if (verb[1] != 's')
		return;
	add_value(t, len);
	add(t, "\r\n");
}

static void
add_line(struct talk *t)
{
	static const char *const lines[] = {
		"get k0 k1 k9\r\n",
		"get k2\r\n",
		"gats 10 k0 k3\r\n",
		"incr k1 5\r\n",
		"delete k0\r\n",
		"touch k1 9\r\n",
		"stats\r\n",
		"stats items\r\n",
		"stats slabs\r\n",
		"stats sizes\r\n",
		"stats conns\r\n",
		"stats detail on\r\n",
		"stats detail dump\r\n",
		"stats settings\r\n",
		"stats reset\r\n",
		"stats cachedump 1 10\r\n",
		"lru_crawler metadump all\r\n",
		"lru_crawler mgdump hash\r\n",
		"lru_crawler crawl all\r\n",
		"watch\r\n",
		"watch fetchers mutations evictions connevents deletions rawcmds\r\n",
		"cache_memlimit 12\r\n",
		"slabs reassign 1 2\r\n",
		"verbosity 1 noreply\r\n",
		"shutdown\r\n",
		"flush_all\r\n",
		"quit\r\n",
		"lru tune 1 2 3 4\r\n"};
	const uint32_t len = any_len();
	char line[64];

	if (below(3) != 0) {
		add(t, ONE_OF(lines));
		return;
	}
	snprintf(line, sizeof line, "%s k%u 1 0 %u\r\n", below(3) != 0 ? "set" : "append", below(4),
		 len);
	add(t, line);
	add_value(t, len);
	add(t, "\r\n");
}

/* Adds a packet of any opcode, nearly always with valid lengths. */
static void
add_packet(struct talk *t)
{
	static const uint8_t extras[0x28] = {
		[SET] = 8,   [ADD] = 8,   [REPLACE] = 8, [SETQ] = 8,   [ADDQ] = 8,  [REPLACEQ] = 8,
		[INCR] = 20, [DECR] = 20, [INCRQ] = 20,  [DECRQ] = 20, [TOUCH] = 4, [GAT] = 4,
		[GATQ] = 4,  [GATK] = 4,  [GATKQ] = 4,   [FLUSHQ] = 4};
	static const char zeros[20];
	const uint8_t op = (uint8_t)below(sizeof extras);
	const bool stores = extras[op] == 8 || op == APPEND || op == PREPENDQ;
	const uint32_t at = t->len, len = any_len();
	char key[8];
	struct packet list[] = {{.op = op, .extras = zeros, .key = key, .cas = below(5) / 4}, LAST};
	uint32_t body;

	snprintf(key, sizeof key, "k%u", below(4));
	list[0].extras_len = below(60) != 0 ? extras[op] : (uint8_t)below(20);
	if (op == NOOP || op == VERSION || op == FLUSHQ || op == STAT)
		list[0].key = NULL;
	t->len += packets_put(t->bytes + at, list);
	if (!stores)
		return;
	body = t->len - at - 24 + len;
	for (uint32_t i = 0; i < 4; i++)
		t->bytes[at + 8 + i] = (uint8_t)(body >> (24 - 8 * i));
	add_value(t, len);
}

static void
compose(struct talk *t)
{
	const bool binary = below(2) == 0;

	t->len = t->said = 0;
	for (uint32_t n = 1 + below(25); n > 0 && t->len < TALK_BYTES - 2 * VALUE_MAX; n--)
		if (binary)
			add_packet(t);
		else if (below(2) == 0)
			add_meta(t);
		else
			add_line(t);
	for (uint32_t n = below(2) * below(5); n > 0; n--)
		t->bytes[below(t->len)] = (uint8_t)below(256);
}

static void
say(struct rig *rig, struct conn *c, struct talk *t)
{
	uint32_t n = below(4) != 0 ? 1 + below(3000) : 1 + below(60);

	n = n < t->len - t->said ? n : t->len - t->said;
	if (rig_closed(c))
		return;
	rig_receive(rig, c, t->bytes + t->said, n);
	t->said += n;
}

static void
run_short(struct rig *rig)
{
	rig_set_pieces(rig, below(3) != 0 ? below(6) : 4000);
	rig_set_chunks(rig, below(3) == 0 ? rig_chunks_used(rig) + below(40) : 4096);
	rig_set_tx_room(rig, below(30));
	rig->clock.now_s += below(9) == 0 ? below(20) : 0;
}

static void
send_datagram(struct rig *rig, struct talk *t)
{
	compose(t);
	rig_datagram(rig, 7, 1, t->bytes, t->len < 1400 ? t->len : 1400);
}

static void
storm(struct rig *rig)
{
	static struct talk talks[TALKERS], datagram;
	struct conn *conns[TALKERS];

	for (uint32_t k = 0; k < TALKERS; k++) {
		conns[k] = rig_open(rig);
		compose(&talks[k]);
	}
	for (uint32_t turn = 0; turn < TURNS; turn++) {
		for (uint32_t k = 0; k < TALKERS; k++)
			if (conns[k] != NULL)
				say(rig, conns[k], &talks[k]);
		if (below(3) == 0)
			send_datagram(rig, &datagram);
		run_short(rig);
		rig_turn(rig);
		for (uint32_t k = 0; k < TALKERS; k++) {
			if (conns[k] != NULL && rig_aborted(conns[k]))
				conns[k] = NULL;
			if (conns[k] != NULL && below(2) == 0)
				rig_acked(rig, conns[k]);
		}
		rig_forget_datagrams(rig);
	}
	for (uint32_t k = 0; k < TALKERS; k++)
		if (conns[k] != NULL)
			rig_lose(rig, conns[k]);
}

TEST(nothing_is_held_whatever_was_said)
{
	struct rig *rig = rig_create();

	for (uint32_t round = 0; round < ROUNDS; round++) {
		rng_state = round;
		storm(rig);
		rig_set_chunks(rig, 4096);
		rig_set_tx_room(rig, 256);
		for (uint32_t i = 0; i < TURNS; i++) /* messages leave */
			rig_turn(rig);
		rig_forget_datagrams(rig);
		check_eq(rig_chunks_used(rig), 0);
	}
	check(rig_count(rig, REQ_BAD) > ROUNDS);
	rig_destroy(rig);
}
