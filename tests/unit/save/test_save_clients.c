/*
 * A load beside clients. Goal: a key has the saved value, or none, until a client stores or
 * removes it; from then on it has what the client left, and no number of its versions is used
 * twice. Method: a random history of sets, adds, deletes, increments, touches, stale marks,
 * flushes now and later, by one core between the blocks that another one loads, beside a model;
 * at the end every key is checked. Some stores are so small that the clients' items are evicted
 * meanwhile.
 */
#include "support/store_calls.h"
#include "support/test.h"
#include "save_rig.h"

#define KEYS    1200u
#define ROUNDS  60u
#define OPS_MAX 60u
#define NEW_LEN 700u

struct model {
	enum { SAVED, CLIENTS, GONE } is[KEYS];
	uint32_t version[KEYS]; /* of keys that are CLIENTS */
	uint64_t top[KEYS];     /* the largest number that the key has had */
	uint32_t flushes;
	bool due; /* a flush is pending; another flush replaces it */
};

static uint64_t state;
static uint8_t filler[8192];

static uint32_t
any(uint32_t below)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((state >> 33) % below);
}

static struct view
name_of(uint32_t key, char *name)
{
	return (struct view){(const uint8_t *)name, (uint32_t)sprintf(name, "key-%u", key)};
}

/* Returns the value of a version. Version 0 is the saved one: a number for some keys, some
 * thousand bytes for others. */
static struct view
value_of(uint32_t key, uint32_t version, uint8_t *to)
{
	const uint32_t len = version != 0   ? NEW_LEN + version % 8
			     : key % 4 == 0 ? 16
					    : 1000 + key * 5;

	memset(to, 'a', len);
	sprintf((char *)to, "%010u", key * 1000 + version);
	to[10] = key % 4 == 0 && version == 0 ? '\0' : 'x';
	return (struct view){to, key % 4 == 0 && version == 0 ? 10 : len};
}

static enum store_result
store(struct store_core *sc, uint32_t key, uint32_t version, enum store_mode mode)
{
	uint8_t value[8192];
	char name[24];
	uint32_t waited;

	if (mode != STORE_SET)
		return put(sc, name_of(key, name), value_of(key, version, value), mode, 0);
	return put_waiting(sc, name_of(key, name), value_of(key, version, value), 1000, &waited);
}

static void
make_file(struct bytes *b, uint64_t top[KEYS])
{
	struct rig rig = rig_up(32, 1);
	struct save_result result;
	char name[24];

	for (uint32_t key = 0; key < KEYS; key++) {
		for (uint32_t n = 0; n <= key % 3; n++)
			check_eq(store(rig.core, key, 0, STORE_SET), STORE_OK);
		top[key] = item_cas(find(rig.core, (name_of(key, name), name)));
		turns(rig.core, 1);
	}
	save(&rig, &(struct saving){SAVE_UNPACKED, .uring = true}, &result, b);
	check_eq(result.items, KEYS);
	rig_down(&rig);
}

/* Checks the item of a key. Its value must be right, and a client's new version must have a
 * number that the key has not had. */
static void
judge(struct store_core *sc, struct model *m, uint32_t key, bool is_new)
{
	char name[24];
	uint8_t value[8192];
	const struct view k = name_of(key, name);
	const struct item *it = store_get(sc, k, store_hash(sc, k));

	if (it == NULL)
		return;
	check(m->is[key] != GONE);
	check(value_is(sc, it, value_of(key, m->is[key] == SAVED ? 0 : m->version[key], value)));
	check(is_new ? item_cas(it) > m->top[key] : item_cas(it) <= m->top[key]);
	if (is_new)
		m->top[key] = item_cas(it);
}

static void
now_has(struct store_core *sc, struct model *m, uint32_t key, uint32_t version)
{
	m->is[key] = CLIENTS;
	m->version[key] = version;
	judge(sc, m, key, true);
}

static void
all_gone(struct model *m)
{
	for (uint32_t key = 0; key < KEYS; key++)
		m->is[key] = GONE;
	m->flushes++;
	m->due = false;
}

/* Makes one call as a client. */
static void
ask(struct store_core *sc, struct model *m, uint32_t now, bool flushes)
{
	const uint32_t key = any(KEYS);
	const struct store_removal stale = {.mark_stale = true};
	const struct item *it;
	char name[24];
	const struct view k = name_of(key, name);
	const uint64_t hash = store_hash(sc, k);
	uint64_t number;

	switch (any(flushes ? 400 : 399)) {
	default:
		judge(sc, m, key, false);
		break;
	case 0 ... 79:
		if (store(sc, key, now, STORE_SET) == STORE_OK) {
			now_has(sc, m, key, now);
			break;
		}
		store_delete(sc, k, hash);
		m->is[key] = GONE;
		break;
	case 80 ... 119:
		if (store(sc, key, now, STORE_ADD) == STORE_OK)
			now_has(sc, m, key, now);
		break;
	case 120 ... 199:
		store_delete(sc, k, hash);
		m->is[key] = GONE;
		break;
	case 200 ... 219: /* removed by an expiry in the past */
		if (store_touch(sc, k, hash, 1, &it) != STORE_NO_MEMORY)
			m->is[key] = GONE;
		break;
	case 220 ... 239: /* stale or removed: the saved item is out of date */
		if (store_delete_with(sc, k, hash, &stale, &it) == STORE_OK && it != NULL) {
			m->top[key] = item_cas(it) > m->top[key] ? item_cas(it) : m->top[key];
			store_delete(sc, k, hash);
		}
		m->is[key] = GONE;
		break;
	case 240 ... 259: /* a number that was incremented is this client's */
		if (store_count(sc, k, hash, 1, false, &number) == STORE_OK) {
			m->is[key] = CLIENTS;
			it = store_get(sc, k, hash);
			check(it != NULL && item_cas(it) > m->top[key]);
			m->top[key] = item_cas(it);
			check_eq(number, (uint64_t)key * 1000 + 1);
			store_delete(sc, k, hash);
			m->is[key] = GONE;
		}
		break;
	case 260 ... 269: /* the item has expired and is reclaimed */
		if (set_full(sc, name, "", 0, sc->now_s) == STORE_OK)
			m->is[key] = GONE;
		break;
	case 399:
		flush_now(sc);
		all_gone(m);
		break;
	}
}

/* Loads the file block by block, with client calls between the blocks. */
static void
play(uint32_t round, const struct bytes *b, const uint64_t top[KEYS], uint32_t mebibytes)
{
	static struct model m;
	struct rig rig = load_rig_up(mebibytes);
	struct save_loader l;
	struct save_block sb;
	uint32_t now = 0;

	memset(&m, 0, sizeof m);
	memcpy(m.top, top, sizeof m.top);
	m.due = round % 10 == 9;
	check(load_prepare(&rig, &l, b, 0));
	/* Memory is short from the beginning: items that clients store are evicted. */
	for (uint32_t i = 0; mebibytes < 16 && i < 900; i++) {
		sprintf((char *)filler, "filler-%u", i);
		put(rig.core, text((char *)filler), (struct view){filler, 8000}, STORE_SET, 0);
		turns(rig.core, 1);
	}
	if (m.due)
		check_eq(store_flush(rig.core, rig.core->now_s + 2), STORE_OK);
	for (size_t at = SAVE_FRONT_BYTES; at < b->len; at += sb.bytes) {
		check(save_block_read(b->at + at, b->len - at, &sb));
		for (uint32_t n = any(OPS_MAX); n != 0; n--)
			ask(rig.core, &m, ++now, round % 5 == 4);
		store_turn(rig.core, rig.core->now_s);
		store_offline(
			rig.core); /* or else the clients' core would delay the loader's memory */
		save_load_slot(&l, 1, b->at + at, sb.bytes, rig.core->now_s);
		store_offline(l.core);
		store_turn(rig.core, rig.core->now_s + (any(8) == 0));
		store_housekeeping(rig.core);
		if (m.due && rig.core->now_s >= STORE_CLOCK_START + 2)
			all_gone(&m);
	}
	load_end(&rig, &l);
	check(m.flushes == 0 || l.over || l.count.items != 0);
	for (uint32_t key = 0; key < KEYS; key++)
		judge(rig.core, &m, key, false);
	seconds(rig.core, 1);
	for (uint32_t key = 0; key < KEYS; key++) {
		if (m.due)
			break;
		judge(rig.core, &m, key, false);
		if (store(rig.core, key, ++now, STORE_SET) == STORE_OK)
			now_has(rig.core, &m, key, now);
		turns(rig.core, 1);
	}
	check(l.count.newer != 0 || m.flushes != 0);
	rig_down(&rig);
}

TEST(clients_win_over_a_load)
{
	static uint64_t top[KEYS];
	struct bytes b;

	make_file(&b, top);
	for (uint32_t round = 0; round < ROUNDS; round++) {
		state = round;
		play(round, &b, top, round % 3 == 0 ? 8 : 32);
	}
	free(b.at);
}

/* A flush has its effect even if nothing was stored before it and nothing loaded. */
TEST(a_flush_before_the_first_item_ends_the_load)
{
	static uint64_t top[KEYS];
	struct rig rig = load_rig_up(32);
	struct save_loader l;
	struct bytes b;

	make_file(&b, top);
	check(load_prepare(&rig, &l, &b, 0));
	check_eq(store_flush(rig.core, 0), STORE_OK);
	load_slots(&rig, &l, &b);
	load_end(&rig, &l);
	check(l.over);
	check_eq(l.count.items, 0);
	free(b.at);
	rig_down(&rig);
}

/* After the load removals are as fast as before it. */
TEST(marks_end_with_the_load)
{
	static uint64_t top[KEYS];
	struct rig rig = load_rig_up(32);
	struct save_loader l;
	struct bytes b;

	make_file(&b, top);
	check(load(&rig, &l, &b, 0));
	check(rig.core->marks && rig.core->evicts_slowly);
	check_eq(del(rig.core, "key-1"), STORE_OK);
	check(!rig.core->marks && !rig.core->evicts_slowly);
	free(b.at);
	rig_down(&rig);
}

/* The loader's core leaves last: pages that hold its retired items could never be evacuated
 * otherwise. */
TEST(the_loaders_core_leaves_when_it_has_freed_what_it_retired)
{
	static uint64_t top[KEYS];
	struct rig rig = load_rig_up(32);
	struct save_loader l;
	struct bytes b;

	make_file(&b, top);
	check(load_prepare(&rig, &l, &b, 0));
	load_slots(&rig, &l, &b);
	save_load_end(&l);
	store_load_end(rig.store);
	store_turn(rig.core, rig.core->now_s);
	check_eq(del(l.core, "key-1"), STORE_OK);
	for (uint32_t n = 0; n < 10; n++)
		check(!save_load_leave(&l, rig.core->now_s));
	for (uint32_t n = 0; n < 10 && !save_load_leave(&l, rig.core->now_s); n++)
		turns(rig.core, 1);
	check(!store_has_retired(l.core) && !l.core->online);
	free(b.at);
	rig_down(&rig);
}
