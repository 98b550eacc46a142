/*
 * Requests to a store whose memory is full. Goal: a request that needs no memory with memcached
 * (1.6.45) needs none here, and a refused request leaves the old value, except where memcached
 * removes it, too. Method: each verb over each kind of value, in a store that never evicts (-M)
 * until no set succeeds any more, and in one that has memory only once another core has turned.
 * Each verb that stores also gets values longer than -I; the other verbs write none.
 */
#include "support/test.h"
#include "fake_stack.h"

#include <string.h>

#define CORES     2u
#define REPLY_MAX 512u
#define TURNS     30u
#define SEGMENT   1460u
#define NO_NUMBER "CLIENT_ERROR cannot increment or decrement non-numeric value\r\n"

static struct rig *rigs[CORES];

/* Kinds of values by their place: within an item, in one that has a long cas, in chunks. */
static const struct kind {
	const char *name;
	uint32_t len;
} kinds[] = {{"a number", 3}, {"a small one", 400}, {"a large one", 3000}, {"in chunks", 200000}};
#define KINDS (sizeof kinds / sizeof *kinds)

static uint8_t value[STORE_VALUE_MAX + 1];

static const uint8_t *
value_of(const struct kind *k)
{
	memset(value, k->len == 3 ? '7' : 'v', sizeof value);
	return value;
}

static void
turn_all(void)
{
	for (uint32_t i = 0; i < CORES; i++)
		rig_turn(rigs[i]);
}

static enum store_result
put(const char *key, const uint8_t *bytes, uint32_t len)
{
	const struct view k = {(const uint8_t *)key, (uint32_t)strlen(key)};
	struct fill f;
	const enum store_result r =
		store_begin(rigs[0]->core, &f, k, store_hash(rigs[0]->core, k), len, 0, 0);

	if (r != STORE_OK)
		return r;
	store_fill(rigs[0]->core, &f, bytes, len);
	return store_finish(rigs[0]->core, &f, STORE_SET, 0);
}

/* Stores values of this size until no more fit. */
static void
fill_with(uint32_t len, char name)
{
	char key[32];
	uint32_t refused = 0;

	for (uint32_t n = 0; refused < 20; n++) {
		snprintf(key, sizeof key, "%c%u", name, n);

		const enum store_result r = put(key, value, len);

		refused = r == STORE_OK ? 0 : refused + 1;
		if (r != STORE_OK || n % 64 == 0)
			turn_all();
	}
}

static void
fill_up(void)
{
	static const uint32_t sizes[] = {200000, 60000, 3000, 1100, 400, 60, 30, 3};

	for (uint32_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		fill_with(sizes[i], (char)('a' + i));
}

static const char *
sent_by(struct conn *c)
{
	static char reply[REPLY_MAX];
	uint32_t sent;
	const char *at = rig_sent(c, &sent);

	sent = sent < REPLY_MAX - 1 ? sent : REPLY_MAX - 1;
	memcpy(reply, at, sent);
	reply[sent] = 0;
	return reply;
}

/* Returns the start of the core's answer. body: the bytes that follow the line, or NULL. */
static const char *
reply_to(uint32_t core, const char *line, const uint8_t *body, uint32_t len)
{
	struct conn *c = rig_open(rigs[core]);
	const char *reply;

	rig_receive_text(rigs[core], c, line);
	for (uint32_t i = 0; body != NULL && i < len; i += SEGMENT) {
		rig_receive(rigs[core], c, body + i, len - i < SEGMENT ? len - i : SEGMENT);
		turn_all();
	}
	if (body != NULL)
		rig_receive_text(rigs[core], c, "\r\n");
	for (uint32_t i = 0; i < TURNS; i++)
		turn_all();
	reply = sent_by(c);
	rig_lose(rigs[core], c);
	turn_all();
	return reply;
}

static void
answers(uint32_t core, const char *request, const char *key, const struct kind *k,
	const char *wanted)
{
	char line[REPLY_MAX];
	const char *reply;

	snprintf(line, sizeof line, request, key);
	reply = reply_to(core, line, NULL, 0);
	if (strncmp(reply, wanted, strlen(wanted)) != 0)
		fprintf(stderr, "of %s: %s: %.60s\n", k->name, line, reply);
	check_bytes(reply, wanted, strlen(wanted));
}

/* Requests with which memcached changes an expiry, marks or a number in place. %s is the key. */
static const struct in_place {
	const char *request;
	const char *replies[KINDS]; /* the beginnings of the replies */
	const char *then, *shows;   /* a request and the reply; NULL: the number shows it */
} in_place[] = {
	{"touch %s 100\r\n",
	 {"TOUCHED\r\n", "TOUCHED\r\n", "TOUCHED\r\n", "TOUCHED\r\n"},
	 "mg %s t\r\n",
	 "HD t100\r\n"},
	{"gat 100 %s\r\n", {"VALUE ", "VALUE ", "VALUE ", "VALUE "}, "mg %s t\r\n", "HD t100\r\n"},
	{"gats 100 %s\r\n", {"VALUE ", "VALUE ", "VALUE ", "VALUE "}, "mg %s t\r\n", "HD t100\r\n"},
	{"mg %s T100 s t\r\n",
	 {"HD s3 t100", "HD s400 t100", "HD s3000 t100", "HD s200000 t100"},
	 "mg %s t\r\n",
	 "HD t100\r\n"},
	{"md %s I T30\r\n",
	 {"HD\r\n", "HD\r\n", "HD\r\n", "HD\r\n"},
	 "mg %s t\r\n",
	 "HD t30 X W\r\n"},
	{"incr %s 1\r\n", {"778\r\n", NO_NUMBER, NO_NUMBER, NO_NUMBER}, NULL, NULL},
	{"decr %s 1\r\n", {"776\r\n", NO_NUMBER, NO_NUMBER, NO_NUMBER}, NULL, NULL},
	{"ma %s v\r\n", {"VA 3\r\n778\r\n", NO_NUMBER, NO_NUMBER, NO_NUMBER}, NULL, NULL},
	{"ma %s MD T50 t\r\n", {"HD t50\r\n", NO_NUMBER, NO_NUMBER, NO_NUMBER}, NULL, NULL},
};
#define IN_PLACE (sizeof in_place / sizeof *in_place)

static const char *
name_of(uint32_t row, uint32_t kind)
{
	static char name[32];

	snprintf(name, sizeof name, "k%u.%u", row, kind);
	return name;
}

/* Stores one key of each kind for each row. */
static void
store_keys(uint32_t rows)
{
	for (uint32_t r = 0; r < rows; r++)
		for (uint32_t k = 0; k < KINDS; k++) {
			check_eq(put(name_of(r, k), value_of(&kinds[k]), kinds[k].len), STORE_OK);
			turn_all();
		}
}

TEST(what_needs_no_memory_is_done_in_full_memory)
{
	rig_create_never_evicting(rigs, CORES);
	store_keys(IN_PLACE);
	fill_up();
	for (uint32_t r = 0; r < IN_PLACE; r++)
		for (uint32_t k = 0; k < KINDS; k++) {
			const struct in_place *row = &in_place[r];
			const char *key = name_of(r, k);

			answers(r % CORES, row->request, key, &kinds[k], row->replies[k]);
			if (row->then != NULL)
				answers(0, row->then, key, &kinds[k], row->shows);
		}
}

/* Checks the status of a binary Touch or GAT. */
static void
binary_touch_succeeds(uint8_t opcode, const char *key)
{
	struct conn *c = rig_open(rigs[0]);
	const uint8_t len = (uint8_t)strlen(key);
	uint8_t packet[64] = {0x80, opcode, 0, len, 4, [11] = (uint8_t)(4 + len), [27] = 100};
	const char *reply;

	memcpy(packet + 28, key, len);
	rig_receive(rigs[0], c, packet, 28u + len);
	for (uint32_t i = 0; i < TURNS; i++)
		turn_all();
	reply = rig_sent(c, NULL);
	check_eq((uint8_t)reply[0], 0x81);
	check_eq((uint8_t)reply[1], opcode);
	check_eq(reply[6] | reply[7], 0);
	rig_lose(rigs[0], c);
}

TEST(a_binary_touch_succeeds_in_full_memory)
{
	rig_create_never_evicting(rigs, CORES);
	store_keys(2);
	fill_up();
	for (uint32_t k = 0; k < KINDS; k++) {
		binary_touch_succeeds(0x1c, name_of(0, k));
		binary_touch_succeeds(0x1d, name_of(1, k));
		answers(0, "mg %s t\r\n", name_of(0, k), &kinds[k], "HD t100\r\n");
		answers(0, "mg %s t\r\n", name_of(1, k), &kinds[k], "HD t100\r\n");
	}
}

/* Each core finds an object for the new version, again and again. */
TEST(a_number_counts_on_in_full_memory)
{
	rig_create_never_evicting(rigs, CORES);
	store_keys(1);
	fill_up();
	for (uint32_t n = 0; n < 20; n++) {
		char wanted[32];

		snprintf(wanted, sizeof wanted, "%u\r\n", 778 + n);
		answers(n % CORES, "incr %s 1\r\n", name_of(0, 0), &kinds[0], wanted);
	}
}

/* There is no memory for a new value. A failed set removes the old value;
 * other commands leave it. */
static const struct refused {
	const char *line; /* %s: the key; %u: bytes of the value */
	bool removes;
} refused[] = {
	{"set %s 0 0 %u\r\n", true},      {"ms %s %u\r\n", true},
	{"replace %s 0 0 %u\r\n", false}, {"append %s 0 0 %u\r\n", false},
	{"prepend %s 0 0 %u\r\n", false}, {"ms %s %u MA\r\n", false},
	{"ms %s %u MR\r\n", false},
};
#define REFUSED (sizeof refused / sizeof *refused)

static void
is_refused(uint32_t row, uint32_t kind, uint32_t len, const char *wanted, bool removes)
{
	const char *key;
	char line[REPLY_MAX], left[REPLY_MAX];

	fill_up(); /* an earlier refused set has freed its old value's memory */
	key = name_of(row, kind);
	snprintf(line, sizeof line, refused[row].line, key, len);
	check_bytes(reply_to(0, line, value, len), wanted, strlen(wanted));
	snprintf(left, sizeof left, removes ? "EN\r\n" : "HD s%u\r\n", kinds[kind].len);
	answers(0, "mg %s s\r\n", key, &kinds[kind], left);
}

TEST(a_value_without_memory_is_refused_and_the_old_one_stays)
{
	rig_create_never_evicting(rigs, CORES);
	store_keys(REFUSED);
	for (uint32_t r = 0; r < REFUSED; r++)
		for (uint32_t k = 0; k < KINDS; k++)
			is_refused(r, k, 50000, "SERVER_ERROR out of memory", refused[r].removes);
}

/* While the other core does not turn, memory does not come free: a request waits for it, and does
 * not report a miss. */
TEST(a_request_waits_for_memory_that_is_to_come)
{
	static const char *const requests[][2] = {
		{"touch k 100\r\n", "TOUCHED\r\n"},
		{"gat 100 k\r\n", "VALUE k 0 3\r\n777\r\nEND\r\n"},
		{"mg k T100 t\r\n", "HD t100\r\n"},
		{"md k I T30\r\n", "HD\r\n"},
		{"incr k 1\r\n", "778\r\n"}};

	rig_create_cores(rigs, CORES);
	for (uint32_t r = 0; r < sizeof requests / sizeof *requests; r++) {
		struct conn *c = rig_open(rigs[0]);
		uint32_t not_yet = 0;
		char key[32];

		for (uint32_t i = 0; i < TURNS; i++)
			turn_all();
		check_eq(put("k", value_of(&kinds[0]), 3), STORE_OK);
		for (uint32_t n = 0; not_yet < 50; n++) {
			snprintf(key, sizeof key, "%u", n);
			not_yet = put(key, value, 3) == STORE_OK ? 0 : not_yet + 1;
			store_get(
				rigs[0]->core, (struct view){(const uint8_t *)"k", 1},
				store_hash(rigs[0]->core, (struct view){(const uint8_t *)"k", 1}));
			rig_turn(rigs[0]);
		}
		rig_receive_text(rigs[0], c, requests[r][0]);
		for (uint32_t i = 0; i < 5; i++)
			rig_turn(rigs[0]);
		check_str(sent_by(c), "");
		for (uint32_t i = 0; i < TURNS; i++)
			turn_all();
		check_str(sent_by(c), requests[r][1]);
		rig_lose(rigs[0], c);
	}
}

TEARDOWN(stop)
{
	for (uint32_t i = CORES; i-- > 0;)
		rig_destroy(rigs[i]);
}

/* ---- values longer than -I ---- */

#define TOO_LONG   (STORE_VALUE_MAX + 1)
#define NEARLY     1000000u /* what it is before a part of PART bytes would make it too long */
#define PART       60000u
#define TOO_LARGE  "SERVER_ERROR object too large for cache\r\n"
#define STATUS_BIG 3
#define STATUS_NS  5

/* Every verb that stores a value, as memcached 1.6.45 answers one that is too long: by the line, or
 * by the opcode of the binary protocol. */
static const struct stores {
	const char *line; /* %s: the key; %u: bytes of the value; NULL: it is binary */
	uint8_t opcode, extras;
	bool removes;      /* the old value goes, too */
	const char *grown; /* the answer to a part that makes a value too long */
} stores[] = {
	{.line = "set %s 0 0 %u\r\n", .removes = true},
	{.line = "add %s 0 0 %u\r\n"},
	{.line = "replace %s 0 0 %u\r\n"},
	{.line = "append %s 0 0 %u\r\n", .grown = "NOT_STORED\r\n"},
	{.line = "prepend %s 0 0 %u\r\n", .grown = "NOT_STORED\r\n"},
	{.line = "cas %s 0 0 %u 1\r\n"},
	{.line = "ms %s %u\r\n", .removes = true},
	{.line = "ms %s %u ME\r\n", .removes = true},
	{.line = "ms %s %u MR\r\n", .removes = true},
	{.line = "ms %s %u MA\r\n", .removes = true, .grown = "NS\r\n"},
	{.line = "ms %s %u MP\r\n", .removes = true, .grown = "NS\r\n"},
	{.line = "ms %s %u C1\r\n", .removes = true},
	{.opcode = 0x01, .extras = 8, .removes = true}, /* Set */
	{.opcode = 0x02, .extras = 8},                  /* Add */
	{.opcode = 0x03, .extras = 8},                  /* Replace */
	{.opcode = 0x0e, .grown = ""},                  /* Append */
	{.opcode = 0x0f, .grown = ""},                  /* Prepend */
};
#define STORES (sizeof stores / sizeof *stores)

/* The start of the answer to a binary request with so long a value. */
static const char *
binary_reply_to(const struct stores *how, const char *key, uint32_t len)
{
	struct conn *c = rig_open(rigs[0]);
	const uint8_t key_len = (uint8_t)strlen(key);
	const uint32_t body = how->extras + key_len + len;
	uint8_t packet[64] = {0x80,
			      how->opcode,
			      0,
			      key_len,
			      how->extras,
			      [8] = (uint8_t)(body >> 24),
			      [9] = (uint8_t)(body >> 16),
			      [10] = (uint8_t)(body >> 8),
			      [11] = (uint8_t)body};
	const char *reply;

	memcpy(packet + 24 + how->extras, key, key_len);
	rig_receive(rigs[0], c, packet, 24u + how->extras + key_len);
	for (uint32_t i = 0; i < len; i += SEGMENT) {
		rig_receive(rigs[0], c, value, len - i < SEGMENT ? len - i : SEGMENT);
		turn_all();
	}
	for (uint32_t i = 0; i < TURNS; i++)
		turn_all();
	reply = sent_by(c);
	rig_lose(rigs[0], c);
	turn_all();
	return reply;
}

static void
is_answered(const struct stores *how, const char *key, uint32_t len, const char *wanted,
	    uint8_t status)
{
	char line[REPLY_MAX];

	if (how->line == NULL) {
		const char *reply = binary_reply_to(how, key, len);

		check_eq((uint8_t)reply[0], 0x81);
		check_eq((uint8_t)reply[1], how->opcode);
		check_eq((uint8_t)reply[7], status);
		return;
	}
	snprintf(line, sizeof line, how->line, key, len);
	check_bytes(reply_to(0, line, value, len), wanted, strlen(wanted));
}

static void
too_long_values_are_refused(void)
{
	char left[REPLY_MAX];

	for (uint32_t r = 0; r < STORES; r++)
		for (uint32_t k = 0; k < KINDS; k++) {
			is_answered(&stores[r], name_of(r, k), TOO_LONG, TOO_LARGE, STATUS_BIG);
			snprintf(left, sizeof left, stores[r].removes ? "EN\r\n" : "HD s%u\r\n",
				 kinds[k].len);
			answers(0, "mg %s s\r\n", name_of(r, k), &kinds[k], left);
		}
}

TEST(a_value_above_the_largest_is_refused_with_room)
{
	rig_create_cores(rigs, CORES);
	store_keys(STORES);
	too_long_values_are_refused();
}

TEST(a_value_above_the_largest_is_refused_in_full_memory)
{
	rig_create_never_evicting(rigs, CORES);
	store_keys(STORES);
	fill_up();
	too_long_values_are_refused();
}

/* With room: in full memory the part itself is refused, as above. */
TEST(a_part_that_makes_a_value_too_long_is_not_stored)
{
	const struct kind nearly = {"nearly too long", NEARLY};

	rig_create_never_evicting(rigs, CORES);
	check_eq(put("k", value, NEARLY), STORE_OK);
	for (uint32_t r = 0; r < STORES; r++) {
		if (stores[r].grown == NULL)
			continue;
		is_answered(&stores[r], "k", PART, stores[r].grown, STATUS_NS);
		answers(0, "mg %s s\r\n", "k", &nearly, "HD s1000000\r\n");
	}
}
