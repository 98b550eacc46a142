/*
 * test_store_turns.c - no turn does much of any background job.
 *
 * Goal: what a job has to do at once it does over several turns, and all of it. Method: jobs that
 * are as large as they come; what each turn does of them is counted. No clock is read.
 */
#include "support/test.h"

#include "store_rig.h"

/* ---- magazines ---- */

static void
fill_magazines_but(struct rig *rig, uint32_t class)
{
	struct slab *sl = &rig->store->slab;

	for (uint32_t c = 0; c < sl->class_count; c++) {
		const uint32_t count = c == class ? 0 : 2 * sl->classes[c].batch;
		uint32_t refs[2 * MAGAZINE_BATCH_MAX];

		for (uint32_t i = 0; i < count; i++)
			refs[i] = slab_alloc(sl, rig->core->magazines, c, 0);
		for (uint32_t i = 0; i < count; i++)
			slab_free(sl, rig->core->magazines, refs[i]);
	}
}

/* The magazine of a class holds objects of two pages, as many of each. */
static void
fill_from_two_pages(struct rig *rig, uint32_t class)
{
	struct slab *sl = &rig->store->slab;
	const struct slab_class *c = &sl->classes[class];
	const uint32_t count = c->per_page + c->batch;
	uint32_t *refs = calloc(count, sizeof *refs);

	slab_empty_magazines(sl, rig->core->magazines);
	for (uint32_t i = 0; i < count; i++)
		refs[i] = slab_alloc(sl, rig->core->magazines, class, 0);
	for (uint32_t i = c->batch; i < c->per_page; i++)
		slab_free(sl, rig->core->magazines, refs[i]);
	slab_empty_magazines(sl, rig->core->magazines);
	for (uint32_t i = 0; i < c->batch; i++) {
		slab_free(sl, rig->core->magazines, refs[i]);
		slab_free(sl, rig->core->magazines, refs[c->per_page + i]);
	}
	free(refs);
}

static uint32_t
held(const struct rig *rig, uint32_t class)
{
	return magazine_count(&rig->core->magazines[class]);
}

/* Objects of pages being evacuated in a magazine. */
static uint32_t
held_of_evacuated(const struct rig *rig, uint32_t class)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < held(rig, class); i++)
		n += slab_evacuating(&rig->store->slab, rig->core->magazines[class].ref[i]);
	return n;
}

static uint32_t
held_in_all(const struct rig *rig)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < rig->store->slab.class_count; i++)
		n += held(rig, i);
	return n;
}

/* One page of a class is to be evacuated: what lies on it leaves that class's magazine in the same
 * turn, and all else that magazines hold over some turns. */
static void
a_recall_empties_magazines_over_some_turns(void **state)
{
	struct rig rig = rig_up(64, 1);
	struct slab *sl = &rig.store->slab;
	const uint32_t class = slab_class_for(sl, 64);
	uint32_t on_page, turns_taken = 0;

	fill_from_two_pages(&rig, class);
	fill_magazines_but(&rig, class);
	check(slab_evacuate_start(sl, class));
	on_page = held_of_evacuated(&rig, class);
	check(on_page > 0 && on_page < held(&rig, class));
	check(held_in_all(&rig) > 10 * RECALL_SLICE);
	while (held_in_all(&rig) != 0 && turns_taken < 100) {
		const uint32_t before = held_in_all(&rig);

		store_turn(rig.core, rig.core->now_s);
		turns_taken++;
		check_eq(held_of_evacuated(&rig, class), 0);
		check(before - held_in_all(&rig) <=
		      RECALL_SLICE + 2 * MAGAZINE_BATCH_MAX + (turns_taken == 1 ? on_page : 0));
	}
	check(turns_taken > 5 && turns_taken < 100);
	rig_down(&rig);
}

/* ---- values of many chunks ---- */

#define LEN           (30u << 20)
#define CHUNKS_A_TURN (RETIRE_LIST_SLICE / RETIRE_LIST_CHUNK)

static void
free_a_value(struct rig *rig, struct view value)
{
	const struct slab_class *c =
		&rig->store->slab.classes[slab_class_for(&rig->store->slab, ITEM_CHUNK_BYTES)];
	uint32_t waited, turns_taken = 0;

	check_eq(put_waiting(rig->core, text("k"), value, 100, &waited), STORE_OK);
	turns(rig->core, 10);
	check_eq(del(rig->core, "k"), STORE_OK);
	while (retire_list_used(&rig->core->retire_list) != 0 && turns_taken < 100) {
		const uint32_t free_before = c->free_count;

		store_turn(rig->core, rig->core->now_s);
		turns_taken++;
		check(c->free_count - free_before <= CHUNKS_A_TURN);
		/* What is left is still counted as coming. */
		check_eq(slab_class_waiting(c), slab_class_pages(c) * c->per_page);
	}
	check(turns_taken >= LEN / ITEM_CHUNK_BYTES / CHUNKS_A_TURN);
	check(turns_taken < 100);
	check_eq(c->free_count, slab_class_pages(c) * c->per_page);
}

static void
a_value_of_many_chunks_is_freed_over_some_turns(void **state)
{
	struct rig rig = rig_up_for(64, 1, LEN);
	uint8_t *value = calloc(1, LEN);

	for (uint32_t round = 0; round < 2; round++)
		free_a_value(&rig, (struct view){value, LEN});
	free(value);
	rig_down(&rig);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_recall_empties_magazines_over_some_turns),
		cmocka_unit_test(a_value_of_many_chunks_is_freed_over_some_turns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
