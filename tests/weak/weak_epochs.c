/*
 * weak_epochs.c - grace periods: memory that readers may still look at is not written.
 *
 * Goal:   a core that reads what it has found in its turn is in no race with the core that uses the
 *         memory again after its grace period; a core that comes online or goes offline, too; and
 *         a pinned value stays until its last pin has ended.
 * Method: weak.h. The shipped functions of epoch.h over one word that is linked or not; then the
 *         store's own deletes, pins and sets.
 */
#include "weak_setup.h"
#include "index/epoch.h"

#include <string.h>

#define TURNS 4u
#define ROOM  1024u
#define LARGE (2 * ITEM_PIN_MIN_BYTES)

static struct epoch epoch;
static _Alignas(CACHE_LINE_BYTES) uint8_t room[ROOM];
static _Atomic uint32_t link;
static uint32_t word;

/* ---- epochs alone ---- */

static void
begin_offline(uint32_t cores)
{
	struct region region = {.base = room, .size = sizeof room};

	memset(room, 0, sizeof room);
	memset(&epoch, 0, sizeof epoch);
	epoch_init(&epoch, &region, cores);
	atomic_init(&link, 1);
	word = 1;
}

static void
begin_two(void)
{
	begin_offline(2);
	epoch_online(&epoch, 0);
	epoch_online(&epoch, 1);
}

static void
begin_three(void)
{
	begin_offline(3);
	for (uint32_t i = 0; i < 3; i++)
		epoch_online(&epoch, i);
}

static void
begin_one_offline(void)
{
	begin_offline(2);
	epoch_online(&epoch, 1);
}

static void
look(void)
{
	if (atomic_load_explicit(&link, memory_order_acquire) != 0)
		weak_check(word == 1, "memory is used again in its grace period");
}

static void
look_and_turn(void)
{
	look();
	for (uint32_t i = 0; i < TURNS; i++) {
		epoch_quiescent(&epoch, 0);
		look();
		weak_pause();
	}
}

/* Reads the word in this turn only: a core that has seen it unlinked does not read it again. */
static void
turn_and_look(void)
{
	for (uint32_t i = 0; i < TURNS; i++) {
		epoch_quiescent(&epoch, 0);
		weak_pause();
	}
	look();
}

static void
look_and_go_offline(void)
{
	look();
	epoch_offline(&epoch, 0);
}

static void
come_online_and_look(void)
{
	epoch_online(&epoch, 0);
	look();
}

static void
unlink_and_use(void)
{
	atomic_store_explicit(&link, 0, memory_order_relaxed);

	const uint32_t then = (uint32_t)epoch_now(&epoch);

	for (uint32_t i = 0; i < TURNS; i++) {
		epoch_quiescent(&epoch, 1);
		if (epoch_passed(then, epoch_advance(&epoch))) {
			word = 2;
			return;
		}
		weak_pause();
	}
}

/* No other core is online in this core's view, so it waits for none. */
static void
unlink_and_use_at_once(void)
{
	atomic_store_explicit(&link, 0, memory_order_relaxed);

	const uint32_t then = (uint32_t)epoch_now(&epoch);

	for (uint32_t i = 0; i < TURNS; i++) {
		epoch_quiescent(&epoch, 1);
		if (epoch_passed(then, epoch_advance(&epoch))) {
			word = 2;
			return;
		}
	}
}

/* Another core steps the epoch. */
static void
unlink_and_turn(void)
{
	atomic_store_explicit(&link, 0, memory_order_relaxed);

	const uint32_t then = (uint32_t)epoch_now(&epoch);

	for (uint32_t i = 0; i < TURNS; i++) {
		weak_pause();
		epoch_quiescent(&epoch, 1);
	}
	if (epoch_passed(then, epoch_advance(&epoch)))
		word = 2;
}

static void
turn_only(void)
{
	for (uint32_t i = 0; i < TURNS; i++) {
		epoch_quiescent(&epoch, 2);
		epoch_advance(&epoch);
		weak_pause();
	}
}

/* ---- the store's items ---- */

/* The set of key_b that uses the memory of key_a again, once its grace period has ended, is found
 * in a rehearsal. Turns alternate, as those of cores do. */
#define REUSE_TURNS 4u
static uint32_t sets_to_reuse;

static void
begin_reuse(bool deletes)
{
	const struct item *old;

	setup_two_keys();
	old = setup_item(0, setup_key_a);
	setup_turns(0, 1);
	if (deletes)
		setup_drop(1, setup_key_a);
	else
		setup_put(1, setup_key_a, 11);
	for (uint32_t i = 0; i < REUSE_TURNS; i++) {
		setup_turns(1, 1);
		setup_turns(0, 1);
	}
	for (sets_to_reuse = 1; sets_to_reuse < 1000; sets_to_reuse++) {
		setup_put(1, setup_key_b, 20 + sets_to_reuse);
		if (setup_item(1, setup_key_b) == old)
			break;
	}
	ensure(sets_to_reuse < 1000);
	setup_two_keys();
}

static void
begin_set_reuse(void)
{
	begin_reuse(false);
}

static void
begin_delete_reuse(void)
{
	begin_reuse(true);
}

static void
pause_and_turn(uint32_t core)
{
	for (uint32_t i = 0; i < REUSE_TURNS; i++) {
		weak_pause();
		setup_turns(core, 1);
	}
}

static void
get_a_and_turn(void)
{
	setup_get(0, setup_key_a);
	setup_turns(0, 1);
	pause_and_turn(0);
}

static void
turn_and_reuse(void)
{
	for (uint32_t i = 0; i < REUSE_TURNS; i++) {
		setup_turns(1, 1);
		weak_pause();
	}
	for (uint32_t i = 1; i <= sets_to_reuse; i++)
		setup_put(1, setup_key_b, 20 + i);
}

static void
set_and_reuse(void)
{
	setup_put(1, setup_key_a, 11);
	turn_and_reuse();
}

static void
delete_and_reuse(void)
{
	setup_drop(1, setup_key_a);
	turn_and_reuse();
}

static void
end_reuse(void)
{
	weak_check(setup_get(0, setup_key_b) == 20 + sets_to_reuse, "the set is lost");
}

/* ---- pins ---- */

static void
put_large(uint64_t key, uint8_t byte)
{
	static uint8_t value[LARGE];
	struct fill f;

	memset(value, byte, sizeof value);
	ensure(store_begin(setup_core(1), &f, setup_view(&key), setup_hash(key), LARGE, 0, 0) ==
	       STORE_OK);
	store_fill(setup_core(1), &f, value, LARGE);
	ensure(store_finish(setup_core(1), &f, STORE_SET, 0) == STORE_OK);
}

static void
begin_pin(void)
{
	setup_two_keys();
	put_large(setup_key_a, 1);
	setup_turns(0, 2);
	setup_turns(1, 2);
}

static void
read_pinned(void)
{
	const struct item *it = setup_item(0, setup_key_a);
	uint8_t byte;

	if (it == NULL)
		return;
	store_pin(it);
	pause_and_turn(0);
	memcpy(&byte, store_value_at(setup_core(0), it, 0).data, 1);
	weak_check(byte == 1, "a pinned value is written");
	store_unpin(it);
	weak_pause();
}

static void
delete_and_reuse_large(void)
{
	setup_drop(1, setup_key_a);
	for (uint32_t i = 0; i < 2 * REUSE_TURNS; i++) {
		setup_turns(1, 1);
		weak_pause();
	}
	put_large(setup_key_b, 2);
}

static const struct weak_case cases[] = {
	{"epoch-turn", begin_two, {look_and_turn, unlink_and_use}, setup_nothing, 2, 2},
	{"epoch-three",
	 begin_three,
	 {turn_and_look, unlink_and_turn, turn_only},
	 setup_nothing,
	 0,
	 1},
	{"epoch-offline", begin_two, {look_and_go_offline, unlink_and_use}, setup_nothing, 2, 2},
	{"epoch-online",
	 begin_one_offline,
	 {come_online_and_look, unlink_and_use_at_once},
	 setup_nothing,
	 2,
	 2},
	{"delete-reuse", begin_delete_reuse, {get_a_and_turn, delete_and_reuse}, end_reuse, 1, 1},
	{"set-reuse", begin_set_reuse, {get_a_and_turn, set_and_reuse}, end_reuse, 1, 1},
	{"pin-reuse", begin_pin, {read_pinned, delete_and_reuse_large}, setup_nothing, 1, 1},
};
const struct weak_protocol weak_epochs = WEAK_PROTOCOL("epochs and pins", cases);
