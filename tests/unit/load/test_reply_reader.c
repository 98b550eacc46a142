/*
 * Replies are read wherever they are cut. Goal: the counts are the same for every cut, a wrong
 * byte anywhere is either counted or breaks the reply, and no byte beyond the reply is touched.
 * Method: replies made from the request, every prefix and remainder of each, every bit flipped.
 */
#include "load/reply_reader.h"
#include "support/test.h"

#define ROOM 4096u

struct rig {
	struct workload w;
	struct request req;
	uint32_t keys[MULTIGET_MAX];
	struct counter tally[LOAD_COUNTER_COUNT];
	struct reply_mismatch mismatch;
	uint8_t line[REPLY_LINE_MAX];
	struct reply_reader reader;
};

static void
rig_make(struct rig *rig, enum load_protocol protocol, uint32_t value_len)
{
	*rig = (struct rig){.w = {.protocol = protocol, .multiget = 3, .keys = {.n = 100}}};
	size_distribution_uniform(&rig->w.key_size, 16, 16);
	size_distribution_uniform(&rig->w.value_size, value_len, value_len);
	workload_init(&rig->w);
	rig->req = (struct request){.op = LOAD_GET, .key_count = 3, .keys = rig->keys};
	for (uint32_t i = 0; i < 3; i++)
		rig->keys[i] = 7 + i;
	rig->reader.line = rig->line;
	reply_begin(&rig->reader);
}

static uint64_t
count(const struct rig *rig, enum load_counter which)
{
	return counter_read(&rig->tally[which]);
}

/* Writes the reply with the values of the keys whose bit is set. Returns its length. */
static uint32_t
reply_make(const struct rig *rig, uint8_t *at, uint32_t found)
{
	const bool meta = rig->w.protocol == LOAD_META;
	uint8_t *p = at;

	for (uint32_t i = 0; i < rig->req.key_count; i++) {
		const uint32_t key = rig->keys[i], len = workload_value_len(&rig->w, key);
		uint8_t key_text[ITEM_KEY_ROOM];
		struct item_value v;

		item_key_put(key_text, key, 16);
		if (!(found & 1u << i)) {
			/* Old servers send EN alone, new ones add the key. */
			if (meta)
				p += i == 1 ? sprintf((char *)p, "EN k%.16s\r\n", (char *)key_text)
					    : sprintf((char *)p, "EN\r\n");
			continue;
		}
		if (meta)
			p += sprintf((char *)p, "VA %u k%.16s\r\n", len, (char *)key_text);
		else
			p += sprintf((char *)p, "VALUE %.16s 0 %u\r\n", (char *)key_text, len);
		item_value_begin(&v, key, len, 99);
		item_value_put(&v, p, len);
		p += len;
		p += sprintf((char *)p, "\r\n");
	}
	p += meta ? 0 : sprintf((char *)p, "END\r\n");
	return (uint32_t)(p - at);
}

static enum reply_status
feed(struct rig *rig, const uint8_t *at, uint32_t len, uint32_t *used)
{
	const struct reply_sink sink = {rig->tally, &rig->mismatch};

	return reply_read(&rig->reader, &rig->w, &rig->req, &sink, (struct view){at, len}, used);
}

TEST(every_cut_gives_the_same_counts)
{
	static const uint32_t lengths[] = {0, 2, 32, 300};

	for (uint32_t k = 0; k < 2 * 4 * 8; k++) {
		const enum load_protocol protocol = k % 2 == 0 ? LOAD_TEXT : LOAD_META;
		const uint32_t found = k / 8;
		uint8_t reply[ROOM];
		uint32_t len, used;
		struct rig rig;

		rig_make(&rig, protocol, lengths[k / 2 % 4]);
		len = reply_make(&rig, reply, found);
		for (uint32_t cut = 1; cut < len; cut++) {
			rig_make(&rig, protocol, lengths[k / 2 % 4]);
			check_eq(feed(&rig, reply, cut, &used), REPLY_MORE);
			check_eq(used, cut);
			/* The five extra bytes belong to the next reply. */
			check_eq(feed(&rig, reply + cut, len - cut + 5, &used), REPLY_DONE);
			check_eq(used, len - cut);
			check_eq(count(&rig, LOAD_HITS), __builtin_popcount(found));
			check_eq(count(&rig, LOAD_MISSES), 3 - __builtin_popcount(found));
			check_eq(count(&rig, LOAD_WRONG_VALUE) + count(&rig, LOAD_WRONG_KEY), 0);
		}
	}
}

TEST(a_flipped_bit_is_counted_or_breaks_the_reply)
{
	for (uint32_t k = 0; k < 2; k++) {
		const enum load_protocol protocol = k == 0 ? LOAD_TEXT : LOAD_META;
		uint8_t reply[ROOM];
		struct rig rig;
		uint32_t len, used;

		rig_make(&rig, protocol, 32);
		len = reply_make(&rig, reply, 7);
		for (uint32_t bit = 0; bit < 8 * len; bit++) {
			enum reply_status status;

			rig_make(&rig, protocol, 32);
			reply[bit / 8] ^= (uint8_t)(1u << bit % 8);
			status = feed(&rig, reply, len, &used);
			/* A length that was made larger needs more bytes than there are. */
			check(status == REPLY_MALFORMED || status == REPLY_MORE ||
			      count(&rig, LOAD_WRONG_VALUE) + count(&rig, LOAD_WRONG_KEY) != 0);
			check(count(&rig, LOAD_HITS) <= 3);
			reply[bit / 8] ^= (uint8_t)(1u << bit % 8);
		}
	}
}

/* The common reply, value and end in one piece, has a path of its own: every byte is checked
 * there, too. */
TEST(the_one_value_of_a_get_is_held_against_every_byte)
{
	static const uint32_t lengths[] = {8, 13, 32, 100, 999};

	for (uint32_t k = 0; k < 5; k++) {
		uint8_t reply[ROOM];
		struct rig rig;
		uint32_t len, used;

		rig_make(&rig, LOAD_TEXT, lengths[k]);
		rig.req.key_count = 1;
		len = reply_make(&rig, reply, 1);
		check_eq(feed(&rig, reply, len, &used), REPLY_DONE);
		check_eq(used, len);
		check_eq(count(&rig, LOAD_HITS), 1);
		check_eq(count(&rig, LOAD_KEYS_ASKED), 1);
		for (uint32_t cut = 1; cut < len; cut++) {
			rig_make(&rig, LOAD_TEXT, lengths[k]);
			rig.req.key_count = 1;
			check_eq(feed(&rig, reply, cut, &used), REPLY_MORE);
		}
		for (uint32_t bit = 0; bit < 8 * len; bit++) {
			enum reply_status status;

			rig_make(&rig, LOAD_TEXT, lengths[k]);
			rig.req.key_count = 1;
			reply[bit / 8] ^= (uint8_t)(1u << bit % 8);
			status = feed(&rig, reply, len, &used);
			check(status != REPLY_DONE ||
			      count(&rig, LOAD_WRONG_VALUE) + count(&rig, LOAD_WRONG_KEY) != 0);
			reply[bit / 8] ^= (uint8_t)(1u << bit % 8);
		}
	}
}

TEST(the_first_wrong_value_is_remembered)
{
	uint8_t reply[ROOM];
	uint32_t len, used;
	struct rig rig;

	rig_make(&rig, LOAD_TEXT, 32);
	len = reply_make(&rig, reply, 7);
	reply[len - 7 - 1] ^= 4; /* the last byte of the third value */
	check_eq(feed(&rig, reply, len, &used), REPLY_DONE);
	check_eq(count(&rig, LOAD_WRONG_VALUE), 1);
	check(rig.mismatch.seen);
	check_eq(rig.mismatch.key, 9);
	check_eq(rig.mismatch.len, 32);
}

static const struct {
	enum load_op op;
	enum load_protocol protocol;
	const char *reply;
	enum reply_status status;
	enum load_counter count; /* LOAD_SENT: none */
} answers[] = {
	{LOAD_SET, LOAD_TEXT, "STORED\r\n", REPLY_DONE, LOAD_STORED},
	{LOAD_SET, LOAD_TEXT, "NOT_STORED\r\n", REPLY_DONE, LOAD_REFUSED},
	{LOAD_SET, LOAD_TEXT, "SERVER_ERROR out of memory storing object\r\n", REPLY_DONE,
	 LOAD_REFUSED},
	{LOAD_SET, LOAD_META, "HD\r\n", REPLY_DONE, LOAD_STORED},
	{LOAD_SET, LOAD_META, "STORED\r\n", REPLY_MALFORMED, LOAD_SENT},
	{LOAD_DELETE, LOAD_TEXT, "DELETED\r\n", REPLY_DONE, LOAD_DELETED},
	{LOAD_DELETE, LOAD_TEXT, "NOT_FOUND\r\n", REPLY_DONE, LOAD_NOT_FOUND},
	{LOAD_DELETE, LOAD_META, "NF\r\n", REPLY_DONE, LOAD_NOT_FOUND},
	{LOAD_GET, LOAD_TEXT, "ERROR\r\n", REPLY_DONE, LOAD_REFUSED},
	{LOAD_GET, LOAD_TEXT, "STORED\r\n", REPLY_MALFORMED, LOAD_SENT},
	{LOAD_GET, LOAD_TEXT, "VALUE AAAAAAAH 0 x\r\n", REPLY_MALFORMED, LOAD_SENT},
	{LOAD_GET, LOAD_TEXT, "VALUE nokey 0 2\r\nab\r\nEND\r\n", REPLY_DONE, LOAD_WRONG_KEY},
	{LOAD_GET, LOAD_TEXT, "VALUE nokey 0 2\r\nabEND\r\n", REPLY_MALFORMED, LOAD_WRONG_KEY},
	{LOAD_GET, LOAD_TEXT, "END\n", REPLY_MALFORMED, LOAD_SENT},
	{LOAD_GET, LOAD_META, "VA 2\r\nab\r\n", REPLY_MALFORMED, LOAD_SENT},
};

TEST(each_answer_has_its_count)
{
	for (uint32_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
		struct rig rig;
		uint32_t used;

		rig_make(&rig, answers[i].protocol, 32);
		rig.req.op = answers[i].op;
		rig.req.key_count = answers[i].op == LOAD_GET ? 3 : 1;
		check_eq(feed(&rig, (const uint8_t *)answers[i].reply,
			      (uint32_t)strlen(answers[i].reply), &used),
			 answers[i].status);
		for (uint32_t c = 0; c < LOAD_COUNTER_COUNT; c++)
			if (c == answers[i].count && c != LOAD_SENT)
				check_eq(count(&rig, c), 1);
			else if (c != LOAD_MISSES && c != LOAD_KEYS_ASKED)
				check_eq(count(&rig, c), 0);
	}
}

TEST(a_line_longer_than_any_reply_ends_it)
{
	uint8_t reply[REPLY_LINE_MAX + 1];
	uint32_t used;
	struct rig rig;

	memset(reply, 'x', sizeof reply);
	rig_make(&rig, LOAD_TEXT, 32);
	check_eq(feed(&rig, reply, REPLY_LINE_MAX, &used), REPLY_MORE);
	check_eq(feed(&rig, reply, 1, &used), REPLY_MALFORMED);
}

TEST(requests_are_what_the_protocol_says)
{
	uint8_t at[ROOM];
	struct rig rig;
	uint32_t len;

	rig_make(&rig, LOAD_TEXT, 32);
	rig.req.key_count = 2;
	len = request_put(&rig.w, &rig.req, at);
	check(len <= workload_head_bytes(&rig.w));
	check_eq(len, 3 + 2 * 17 + 2);
	check_bytes(at, "get HAAAAAAA", 12);
	check_bytes(at + 3 + 17, " IAAAAAAA", 9);
	check_bytes(at + len - 2, "\r\n", 2);
	rig.req.op = LOAD_SET;
	len = request_put(&rig.w, &rig.req, at);
	check_bytes(at, "set HAAAAAAA", 12);
	check_bytes(at + len - 9, " 0 0 32\r\n", 9);
	rig.req.op = LOAD_DELETE;
	len = request_put(&rig.w, &rig.req, at);
	check_bytes(at, "delete HAAAAAAA", 15);
	check_eq(len, 7 + 16 + 2);
	rig.w.protocol = LOAD_META;
	len = request_put(&rig.w, &rig.req, at);
	check_bytes(at, "md HAAAAAAA", 11);
	rig.req.op = LOAD_GET;
	len = request_put(&rig.w, &rig.req, at);
	check_eq(len, 2 * (3 + 16 + 6));
	check_bytes(at + 3 + 16, " k v\r\nmg IAAAAAAA", 17);
}

TEST(operations_come_in_their_shares)
{
	uint32_t seen[3] = {0}, draws = 100000;
	struct load_rng rng = {5};
	struct rig rig;

	rig_make(&rig, LOAD_TEXT, 32);
	rig.w.set_share = 0.3;
	rig.w.delete_share = 0.05;
	workload_init(&rig.w);
	for (uint32_t i = 0; i < draws; i++) {
		request_draw(&rig.w, &rng, &rig.req);
		seen[rig.req.op]++;
		check_eq(rig.req.key_count, rig.req.op == LOAD_GET ? 3 : 1);
	}
	check(seen[LOAD_SET] > 29000 && seen[LOAD_SET] < 31000);
	check(seen[LOAD_DELETE] > 4500 && seen[LOAD_DELETE] < 5500);
	check_eq(seen[0] + seen[1] + seen[2], draws);
}
