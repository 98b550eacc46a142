/*
 * Reads of what was evicted. Goal: whichever verb of whichever protocol misses an evicted key, the
 * eviction learns that the key was asked for. Method: a store that has evicted keys of which it
 * took a note (store/asked.h); a read of one marks its note as taken.
 */
#include "support/test.h"
#include "fake_stack.h"

#include "store/store_state.h"

#include <string.h>

#define KEYS      120000u
#define VALUE_LEN 300u

static struct rig *rig;

static struct view
key_of(uint32_t n, char *text)
{
	return (struct view){(const uint8_t *)text, (uint32_t)snprintf(text, 32, "key%u", n)};
}

/* More keys than there is memory for. */
static void
start(void)
{
	static const uint8_t value[VALUE_LEN];
	char text[32];

	rig = rig_create();
	for (uint32_t n = 0; n < KEYS; n++) {
		const struct view key = key_of(n, text);
		struct fill f;

		while (store_begin(rig->core, &f, key, store_hash(rig->core, key), VALUE_LEN, 0,
				   0) != STORE_OK)
			rig_turn(rig);
		store_fill(rig->core, &f, value, VALUE_LEN);
		check_eq(store_finish(rig->core, &f, STORE_SET, 0), STORE_OK);
		if (n % 16 == 0)
			rig_turn(rig);
	}
}

static void
stop(void)
{
	rig_destroy(rig);
}

/* The note of an evicted key; NULL: there is none, or it was evicted long ago. */
static _Atomic uint64_t *
note_of(struct view key)
{
	struct asked *asked = rig->store->slab.asked;
	const uint64_t hash = store_hash(rig->core, key);
	_Atomic uint64_t *note =
		asked_notes(asked, hash) && store_peek(rig->core, key, hash) == NULL
			? asked_find(asked, hash)
			: NULL;

	return note != NULL && asked_in_time(asked, atomic_load(note)) ? note : NULL;
}

static uint32_t next;

/* The next key that has a note. */
static _Atomic uint64_t *
next_noted(char *text)
{
	_Atomic uint64_t *note;

	do
		check(next < KEYS);
	while ((note = note_of(key_of(next++, text))) == NULL);
	check_eq(atomic_load(note) & ASKED_TAKEN, 0);
	return note;
}

static void
is_taken(const _Atomic uint64_t *note, const char *request)
{
	if ((atomic_load(note) & ASKED_TAKEN) == 0)
		fprintf(stderr, "after %s\n", request);
	check((atomic_load(note) & ASKED_TAKEN) != 0);
}

TEST(every_text_read_that_misses_is_a_question)
{
	static const char *const requests[] = {
		"get %s\r\n",      "gets %s\r\n",      "get a %s\r\n", "gat 0 %s\r\n",
		"gats 100 %s\r\n", "touch %s 100\r\n", "mg %s v\r\n",  "mg %s\r\n",
		"mg %s T30\r\n",   "mg %s q\r\nmn\r\n"};

	for (uint32_t i = 0; i < sizeof requests / sizeof *requests; i++) {
		struct conn *c = rig_open(rig);
		char key[32], line[64];
		_Atomic uint64_t *note = next_noted(key);

		snprintf(line, sizeof line, requests[i], key);
		rig_receive_text(rig, c, line);
		rig_turns(rig, 2);
		is_taken(note, line);
		rig_lose(rig, c);
	}
}

TEST(every_binary_read_that_misses_is_a_question)
{
	static const struct {
		const char *name;
		uint8_t opcode, extras;
	} requests[] = {{"Get", 0x00, 0},   {"GetQ", 0x09, 0},  {"GetK", 0x0c, 0},
			{"GetKQ", 0x0d, 0}, {"Touch", 0x1c, 4}, {"GAT", 0x1d, 4},
			{"GATQ", 0x1e, 4}};

	for (uint32_t i = 0; i < sizeof requests / sizeof *requests; i++) {
		struct conn *c = rig_open(rig);
		char key[32];
		_Atomic uint64_t *note = next_noted(key);
		const uint8_t len = (uint8_t)strlen(key), extras = requests[i].extras;
		uint8_t packet[64] = {
			0x80, requests[i].opcode, 0, len, extras, [11] = (uint8_t)(extras + len)};

		memcpy(packet + 24 + extras, key, len);
		rig_receive(rig, c, packet, 24u + extras + len);
		rig_turns(rig, 2);
		is_taken(note, requests[i].name);
		rig_lose(rig, c);
	}
}

TEST(a_get_by_udp_that_misses_is_a_question)
{
	char key[32], line[64];
	_Atomic uint64_t *note = next_noted(key);

	snprintf(line, sizeof line, "get %s\r\n", key);
	rig_datagram_text(rig, 1, line);
	rig_turns(rig, 2);
	is_taken(note, line);
}

/* Requests that write or delete do not read, so they count no key as asked for. */
TEST(what_reads_nothing_is_no_question)
{
	static const char *const requests[] = {"delete %s\r\n", "md %s\r\n", "incr %s 1\r\n",
					       "append %s 0 0 1\r\nx\r\n", "me %s\r\n"};

	for (uint32_t i = 0; i < sizeof requests / sizeof *requests; i++) {
		struct conn *c = rig_open(rig);
		char key[32], line[64];
		_Atomic uint64_t *note = next_noted(key);

		snprintf(line, sizeof line, requests[i], key);
		rig_receive_text(rig, c, line);
		rig_turns(rig, 2);
		check_eq(atomic_load(note) & ASKED_TAKEN, 0);
		rig_lose(rig, c);
	}
}

int
main(void)
{
	return tests_run(start, stop);
}
