#!/usr/bin/python3 -BIS
"""mutants.py MUTANT FOLDER OUT... - the files of a room, or of any room of FOLDER, one rule broken.

Each mutant is a list of edits (file, text, replacement). A text must be in its file exactly once, or
the build fails: a mutant follows the code it breaks. OUT are the files to write, FOLDER/MUTANT_FILE
each, and must be all that the mutant edits.
"""

import os
import sys

# A moment of a few instructions, stretched: a short run meets it for certain.
LINGER = """for (uint32_t turn = 0; turn < 64; turn++) {
	cpu_pause();
	protocol_gap();
}
"""

# The same where no gap is: other threads run first.
YIELD = "for (uint32_t turn = 0; turn < 64; turn++)\n			sched_yield();\n"

PATH_FORWARDS = """
/* What is in hand goes into the slot that node n leaves from, and what is there into the hand. */
static void
kick_out(const struct index_core *ic, const struct search *s, uint32_t n, uint32_t *ref, uint16_t *tag)
{
	const struct node *node = &s->nodes[n];
	struct bucket *b = index_bucket(ic->ix, s->nodes[node->parent].bucket);

	bucket_lock(b);

	const uint32_t there = bucket_ref(b, node->slot);
	const uint16_t there_tag = bucket_tag(b, node->slot);

	if (there_tag == node->tag) {
		if ((there_tag & TAG_DISPLACED) == 0)
			bucket_overflow(b, there_tag);
		bucket_moved(b);
		if (*ref != 0)
			bucket_put(b, node->slot, *ref, *tag ^ TAG_DISPLACED);
		else
			bucket_clear(b, node->slot);
		*ref = there;
		*tag = there_tag;
	}
	bucket_unlock(b);
	""" + LINGER + """
}

/* The same path from its full end, as kicked-out items wander in cuckoo hashing's first
 * description: an item is in no bucket while it is in hand. */
static bool
run_forwards(const struct index_core *ic, const struct search *s, uint32_t end)
{
	uint32_t nodes[PATH_NODES_MAX], count = 0, ref = 0;
	uint16_t tag = 0;

	for (uint32_t n = end; n > 1; n = s->nodes[n].parent)
		nodes[count++] = n;
	while (count != 0)
		kick_out(ic, s, nodes[--count], &ref, &tag);

	struct bucket *b = index_bucket(ic->ix, s->nodes[end].bucket);

	bucket_lock(b);

	const uint32_t empty = bucket_empty_slot(b);

	if (empty < BUCKET_SLOTS)
		bucket_put(b, empty, ref, tag ^ TAG_DISPLACED);
	bucket_unlock(b);
	return true;
}

bool
path_free_slot("""

MUTANTS = {
    # The papers' baselines (tests/bench/papers): a value that was read is believed although it has moved.
    "PAPER_TABLE_UNVERSIONED": [
        ("table_cuckoo.c", "} while (!cuckoo_read_same(ix, place, version));", "} while (false);"),
    ],
    "PAPER_CLOCK_UNVERSIONED": [
        ("cache_cuckoo_clock.c", "} while (!cuckoo_read_same(c->ix, &at, version));",
         "} while (false);"),
    ],
    "PAPER_LRU_UNVERSIONED": [
        ("cache_cuckoo_lru.c", "same = cuckoo_read_same(c->ix, at, version);", "same = true;"),
    ],
    "PAPER_BAGS_KEY_UNSEEN": [
        ("cache_bags.c", "same = item_same_words(it, key);", "same = true;"),
    ],
    # A lookup believes a miss although a writer may have moved the key meanwhile.
    "NO_VERSION": [
        ("index.h", "if (version_same(primary, primary_version) &&\n"
         "		    (!overflows || version_same(alternate, alternate_version)) &&\n"
         "		    place_is_current(ix, p))", ""),
        ("get.c", "version_same(primary, version) &&\n	       probe_is_current(st, p)", "true"),
        ("get.c", "if (primary_hits == 0 && version_same(primary, primary_version) &&\n"
         "	    version_same(alternate, alternate_version) && probe_is_current(st, p))",
         "if (primary_hits == 0)"),
    ],
    # A lookup believes a miss although the index was resized while it was under way.
    "STALE_MISS": [
        ("index.h", " &&\n		    place_is_current(ix, p))\n			return 0;",
         ")\n			return 0;"),
        ("get.c", "version_same(primary, version) &&\n	       probe_is_current(st, p)",
         "version_same(primary, version)"),
        ("get.c", "version_same(alternate, alternate_version) && probe_is_current(st, p)",
         "version_same(alternate, alternate_version)"),
    ],
    # Retired memory is reused without a grace period.
    "NO_QUIESCENCE": [
        ("retire_list.c", "	add(sc, ref, slab_class_of_ref(&sc->store->slab, ref),\n"
         "	    (item_form(it) & (ITEM_IS_CHUNKED | ITEM_HAS_LONG)) == 0);",
         "	(void)ref;\n	item_free(sc, it);\n	return;"),
        ("link.c", "item_form(it) != 0 ||", "true ||"),
    ],
    # A move clears the old slot before it fills the new one.
    "CLEAR_FIRST": [
        ("index.c", "	bucket_put(to, empty, ref, tag ^ TAG_DISPLACED);\n"
         "	protocol_gap();\n"
         "	bucket_moved(from);\n"
         "	protocol_gap();\n"
         "	bucket_clear(from, slot);\n",
         "	bucket_moved(from);\n"
         "	bucket_clear(from, slot);\n" + LINGER +
         "	bucket_put(to, empty, ref, tag ^ TAG_DISPLACED);\n"),
    ],
    # A cuckoo path is run from its full end, with an item in no bucket between two steps.
    "FORWARDS": [
        ("path.c", "\nbool\npath_free_slot(", PATH_FORWARDS),
        ("path.c", "		while (n > 1 && move(ic, &s, n))",
         "		return run_forwards(ic, &s, n);\n		while (n > 1 && move(ic, &s, n))"),
    ],
    # A neighbour moves to its other bucket without that bucket's lock.
    "STEP_UNLOCKED": [("path.c", "|| !bucket_try_lock(to))", "|| false)"),
                      ("path.c", "	bucket_unlock(to);\n	return done;", "	return done;")],
    # A victim is taken out of the slot in which it was seen, without the bucket's lock.
    "EVICT_UNLOCKED": [
        ("unlink.c", "	bucket_lock(spot.bucket);\n	spot.slot = victim_slot(spot.bucket, v);",
         "	spot.slot = victim_slot(spot.bucket, v);\n" + LINGER),
        ("unlink.c", "	bucket_unlock(spot.bucket);\n	if (unlikely(spot.slot", "	if (unlikely(spot.slot"),
    ],
    # The primary bucket is locked first, whichever address it has.
    "LOCK_ORDER": [("index.c", "const bool swap = b < a;", "const bool swap = false;")],
    # A version made from an old one replaces whatever version is there by now.
    "LOST_UPDATE": [("link.c", "if (item_ref(sc->store, old) != link->expect)", "if (false)")],
    # A removed item does not raise the floor of its key's cas numbers.
    "LOW_FLOOR": [("unlink.c", "while (now < cas &&", "while (false &&")],
    # A chosen cas: the floor follows the version that it replaces once that is gone.
    "LATE_FLOOR": [
        ("link.c", "if (found->old != NULL && unlikely(link->conditions.set_cas || item_cas(it) > FLOOR_MAX))\n"
                   "\t\tfloor_raise(st, place->tag, item_cas(found->old));\n", "(void)0;\n"),
        ("link.c", "retire(sc, found->old, found->alive);", "{\n"
                   "\t\tretire(sc, found->old, found->alive);\n"
                   "\t\tif (link->conditions.set_cas)\n"
                   "\t\t\tfloor_raise(st, place->tag, item_cas(found->old));\n\t}"),
    ],
    # A flush asked for later outlives a flush that is done now, until a store of its own ends it.
    "FLUSH_TWICE": [
        ("sweep.c", "later ? store_due_flush(at_s, store_generation(st)) : 0",
         "later ? store_due_flush(at_s, store_generation(st) + 1) : 0"),
    ],
    # Repair, one step left out each: states of the process before count; locked buckets stay as they are;
    # an item is there twice, or in neither of its buckets; the floor of a dead one; chunks of a large value.
    "STALE_STATES": [
        ("repair.c", "memset((void *)&sl->states[n << sl->stride_shift], 0,\n"
                     "\t\t       sl->stride * sizeof sl->states[0]);", ""),
    ],
    "LOCKED_LEFT": [
        ("repair.c", "const uint32_t count = atomic_load_explicit(&open->locked_count, memory_order_relaxed);", "const uint32_t count = 0;"),
    ],
    "TWICE_LIVE": [
        ("repair.c", "memory_order_relaxed) & mask) != 0)\n\t\treturn false;",
         "memory_order_relaxed) & mask) != 0)\n\t\treturn true;"),
    ],
    "ANY_PLACE": [
        ("repair.c", "||\n\t    !place_is_sound(&st->ix, it, f))", ")"),
    ],
    "DEAD_FLOOR": [
        ("repair.c", "floor_raise(st, tag, item_cas(item_at(st, bucket_ref(b, slot))));", "(void)0;"),
    ],
    "BARE_CHUNKS": [
        ("repair.c", "i++;\n\tif (i == chunks)", "clear_live(object_of(open, item_chunk_ref(it, i++)));\n\tif (i == chunks)"),
    ],
    # Slots with one half of a change; a resize under way; lists of free objects.
    "HALF_SLOTS": [("repair.c", "bucket_clear(b, (uint32_t)__builtin_ctz(half));", "(void)0;")],
    "FORGOTTEN_RESIZE": [
        ("store_open.c", "if ((index_seq(&st->ix) & GEOMETRY_RESIZING) != 0)\n"
                         "\t\tatomic_store_explicit(&st->resize_phase, RESIZE_MIGRATE, memory_order_relaxed);", ""),
    ],
    "LISTS_LEFT": [
        ("open_pages.c", "memcpy(arena_at(sl->arena, ref), &p->free_head, sizeof p->free_head);", "(void)0;"),
    ],
    # A flush is in the memory only some time after it was acknowledged: in the next turn.
    "FLUSH_LATER": [
        ("sweep.c", "static uint64_t\nlinked_ever(",
         "static _Atomic bool flush_later;\nstatic bool step_generation(struct store_core *sc);\n\n"
         "static uint64_t\nlinked_ever("),
        ("sweep.c", "!nothing && !step_generation(sc))", "!nothing && !(flush_later = true))"),
        ("sweep.c", "void\nflush_due(struct store_core *sc)\n{\n\tstruct store *st = sc->store;\n",
         "void\nflush_due(struct store_core *sc)\n{\n\tstruct store *st = sc->store;\n\n"
         "\tif (flush_later) {\n\t\tflush_later = false;\n\t\tstep_generation(sc);\n\t}\n"),
        ("store.c", "if (unlikely(atomic_load_explicit(&st->due_flush, memory_order_acquire) != 0))\n\t\tflush_due(sc);",
         "flush_due(sc);"),
    ],
    # A page is of no class for a while as it is made anew: a start that is killed there loses its items.
    "RESET_PAGE": [
        ("open_pages.c", "	list_init(&p->of_class);\n	list_init(&p->has_free);\n",
         "	atomic_store_explicit(&p->state, PAGE_POOL, memory_order_relaxed);\n"
         "	list_init(&p->of_class);\n	list_init(&p->has_free);\n"),
    ],
    # An empty store is made over an image that stays valid meanwhile.
    "VALID_STILL": [
        ("store_image.c", "	image_invalidate(image);\n	st = ", "	st = "),
    ],
    # The flush generation is read again for the new version.
    "GENERATION_REREAD": [
        ("link.c", "const uint32_t generation = link->generation;",
         "const uint32_t generation = store_generation(st);"),
        ("link.c", "item_form(it) != 0 ||", "true ||"),
    ],
    # A batch takes what an early step saw for what is there at the end.
    "STALE_PROBE": [
        ("get.c", "return bucket_tag(b, p->slot) == p->tag && bucket_ref(b, p->slot) == p->ref;",
         "return true;"),
    ],
    # An item that moves to another page replaces whatever its key has by now.
    "STALE_RESCUE": [
        ("evacuate.c", "	bucket_lock(spot.bucket);", "	" + LINGER + "	bucket_lock(spot.bucket);"),
        ("evacuate.c", "	spot.slot = bucket_slot_of(spot.bucket, v->tag, v->ref);",
         "	uint32_t there;\n\n	spot.slot = bucket_scan(&sc->store->ix, spot.bucket, item_key(it), v->tag, &there);"),
    ],
    # An evacuated page is used again without a grace period.
    "EARLY_PAGE": [("slab_evacuate.c", "if (!passed(p->retired_epoch, oldest))", "if (false)")],
    # A status bit is read and then written: two readers may both find it clear.
    "TORN_TOKEN": [
        ("item.c", '#include "item_layout.h"\n', '#include "item_layout.h"\n#include "base/gap.h"\n'),
        ("item.c", "return (item_head(it) & bit) == 0 &&\n"
         "	       (atomic_fetch_or_explicit(&it->head, bit, memory_order_relaxed) & bit) == 0;",
         "const uint32_t head = item_head(it);\n\n"
         "	protocol_gap();\n"
         "	atomic_store_explicit(&it->head, head | bit, memory_order_relaxed);\n"
         "	return (head & bit) == 0;"),
    ],
    # A new version copies the token, and the old version's can still be won.
    "OPEN_TOKEN": [("item_access.c", "if ((inherit & ITEM_WON) != 0)", "if (false)")],
    # A number created where there was none is stored over whatever is there by now.
    "BLIND_CREATE": [("write.c", "{.mode = STORE_ADD,", "{.mode = STORE_SET,")],
    # A displaced item does not set the overflow bit of its primary bucket.
    "NO_OVERFLOW": [("bucket.h", "if ((v & overflow_bits(tag)) != overflow_bits(tag))",
                     "if (false)")],
    # The sweep clears overflow bits that are still needed. It does so in its second pass, which no resize may part from
    # the first: so there is none. And it sweeps as fast as it can.
    "CLEAR_FRESH": [
        ("bucket.h", "const uint32_t fresh = (v & FRESH_MASK) >> OVERFLOW_BITS;", "const uint32_t fresh = 0;"),
        ("resize.c", "if (rs->step == 0 || done == sc->considered", "if (true || done == sc->considered"),
        ("sweep.c", "if (sweep_rests(sc) || !spin_try", "if ((sweep_rests(sc) && false) || !spin_try"),
    ],
    # Items move past a walk.
    "WALK_UNASKED": [
        ("walk.h", "walks_let_item_move(ic, ref);\n}", "true;\n}"),
    ],
    # A walk says which positions are in progress when it has looked.
    "WALK_SAID_LATE": [
        ("walk.c", "	publish(w, cursor, s->first, s->last);\n", ""),
    ],
    # A walk looks into a bucket while an item is moved.
    "WALK_UNLOCKED": [
        ("walk.c", "	bucket_lock(b);\n", ""),
        ("walk.c", "	bucket_unlock(b);\n", ""),
        ("walk.c", "		tags[i] = bucket_tag(b, i);\n", "		tags[i] = bucket_tag(b, i);\n		protocol_gap();\n"),
    ],
    # A walk looks for displaced items at their positions only.
    "WALK_NEAR": [("walk.c", "to - from + 1 + ALTERNATE_BEHIND", "to - from + 1")],
    # Amid a resize a walk looks into new buckets before old ones.
    "WALK_NEW_FIRST": [
        ("walk.c", "	cursor->work_ns += find_among(ix, s, g.old_count);\n	if (is_resizing(&g))\n"
         "		cursor->work_ns += find_among(ix, s, g.new_count);\n",
         "	if (is_resizing(&g))\n		find_among(ix, s, g.new_count);\n	protocol_gap();\n	find_among(ix, s, g.old_count);\n"),
    ],
    # A resize begins or ends while a walk looks.
    "WALK_STALE": [("walk.c", "	if (same_buckets(&g, &now))", "	if (true || same_buckets(&g, &now))")],
    # A walk goes on with what it has found, and lets items move there meanwhile.
    "WALK_LET_GO": [
        ("walk.c", "s->of == cursor ? s->last : cursor->at);", "cursor->at);"),
    ],
    # A resize moves items past a walk that has come since its plan was made.
    "WALK_PLANNED": [("migrate.c", "	       !walks_let_move(ic, bucket_ref(b, slot));", "	       false;")],
    # A key that may be in its alternate bucket is put into its primary bucket unseen.
    "PRIMARY_ONLY": [("index.c", "if (!version_overflows(version, lock->place.tag) &&", "if (true &&")],
    # A resize clears a bucket before it steps the geometry.
    "CLEAR_BEFORE_STEP": [
        ("migrate.c", "	geometry_step(ic->ix);",
         "	clear_moved(m, b);\n" + LINGER + "	geometry_step(ic->ix);"),
    ],
    # A writer that waited for its buckets does not check that they are still the key's.
    "STALE_BUCKETS": [
        ("index.c", "		if (now.primary == p.primary && now.alternate == p.alternate)\n"
         "			return now;", "		return p;"),
        ("index.c", "		if (now.primary == p.primary)\n			return now;", "		return p;"),
    ],
    # A new version of an item spoils its bucket's plan, and a spoiled plan loses it.
    "SPOILED_PLAN": [
        ("migrate.c", "if (planned->ref == 0 ||", "if (true ||"),
        ("migrate.c", "if (tries == MIGRATE_TRIES)", "if (true)"),
    ],
    # A search computes where a slot leads, and then reads its tag again.
    "TAG_REREAD": [("path.c", "if (unlikely((p->seq & GEOMETRY_RESIZING) != 0))\n		return (struct spot)",
                    "if (true)\n		return (struct spot)"),
                   ("path.c", "const struct successor next = successor_of(&e, ix, slot);", "struct successor next = successor_of(&e, ix, slot);"),
                   ("path.c", "		protocol_gap();\n		if (next.tag == 0",
                    "		protocol_gap();\n		next.tag = bucket_tag(index_bucket(ix, bucket), slot);\n		if (next.tag == 0")],
    # Pinned memory is reused once its grace period is over.
    "NO_PINS": [("pinned.h", "return (item_form(it) & ITEM_HAS_LONG) != 0 &&", "return false &&")],
    # A page with a pinned object goes back to its class as if all of it were free.
    "PAGE_FREE": [
        ("slab_pinned.c", "	p->evacuate_next = 0;",
         "	p->evacuate_next = 0;\n	p->fresh = p->free_count = 0;"),
    ],
    # A flush takes the next generation number although items may have it.
    "EARLY_GENERATION": [
        ("sweep.c", "	if (store_generations_left(st) == 0)\n		return false;\n", ""),
    ],
    # The sweep frees the numbers of flushes that came while it was under way.
    "SWEEP_OVERRUN": [
        ("sweep.c", "atomic_store_explicit(&st->oldest_generation, sw->generation,",
         "atomic_store_explicit(&st->oldest_generation, store_generation(st),"),
    ],
    # A new version does not inherit the reference bit.
    "LOST_REFERENCE_BIT": [("link.c", "slab_set_live(sl, ref, OBJECT_USED);",
                        "slab_set_live(sl, ref, OBJECT_KEPT);")],
    # A page is spared, and evacuated as soon as the next one is wanted.
    "SPARED_BRIEFLY": [("slab_evacuate.c", "	atomic_store_explicit(&c->spared_at, slab_age(sl), memory_order_relaxed);\n", "")],
    # In a hurry, what is in use is evicted with its page for want of a free object.
    "HURRIED_EVICTION": [("evacuate.c", "return slab_is_referenced(&st->slab, ref) &&", "return false &&")],
    # A new item is never on probation.
    "NO_PROBATION": [("eviction_2q.c", "if (likely(!probation_skips(slab_probation_step(c), hash)))", "if (false)")],
    # An item that leaves probation leaves no ghost.
    "NO_GHOSTS": [("unlink.c", "if (how != UNLINKED_NOT && (simple ||", "if (false && (simple ||")],
    # A group keeps its latest ghost only.
    "SHORT_GHOSTS": [("ghost.h", "now << GHOST_BITS | entry", "(i == 0 ? entry : 0)")],
    # Probation does not end while another round of it could be had.
    "LONG_PROBATION": [("probation.h", "return 33 -", "return 2 - 0 *")],
    # A load looks at no marks: what a client has removed comes back.
    "LOAD_OVER_DELETE": [("store_load.c", "if (load_is_marked(st, saved->hash))", "if (false)")],
    # It does not ask whether the key is there: the item has two values.
    "LOAD_OVER_SET": [("store_load.c", "if (lock->spot.bucket != NULL)", "if (false)")],
    # Floors do not follow the items that were there.
    "LOAD_LOW_FLOOR": [("store_save.c", "if (floors[i] < scan->floors[i])", "if (false)")],
    # A snapshot's item is read after the turn that found it.
    "SNAPSHOT_UNHELD": [("store_snapshot.c", "#include \"image.h\"\n", "#include \"image.h\"\n#include <sched.h>\n"),
                        ("store_snapshot.c", "	*saved = (struct store_saved_item){",
                         "	for (uint32_t turn = 0; turn < 64; turn++) {\n		sched_yield();\n"
                         "		store_turn((struct store_core *)(uintptr_t)sc, sc->now_s);\n	}\n"
                         "	*saved = (struct store_saved_item){")],
    # A snapshot's floors do not cover what was written behind its walk.
    "SNAPSHOT_LOW_FLOOR": [("store_snapshot.c", "raised(floors[i], linked + STORE_SNAPSHOT_AHEAD)", "floors[i]")],
    # A removal of an item that is there leaves no mark.
    "LOAD_UNMARKED": [("unlink.c", "if (unlikely(sc->marks))", "if (false)")],
    # The front's admission (tests/unit/front, tests/bench/front). Whatever misses gets a slot.
    "ADMISSION_OF_ANY": [("admission.c", "if (!is_free && count <= count_at(*state, slot))", "if (false)"),
                           ("admission.c", "return frequency_estimate", "return true || frequency_estimate")],
    # A key that was once hot stays so for ever.
    "ADMISSION_NO_AGEING": [("admission.c", "if ((++state & STATE_SAMPLES) < ADMISSION_AGE)", "if (true)")],
    # Keys that have a slot are counted no more.
    "ADMISSION_HITS_UNCOUNTED": [("admission.c", "state = with_count(state, slot, count + 1);", "(void)0;")],
    # They age what is beside them.
    "ADMISSION_HITS_AGE": [("admission.c", "state = with_count(state, slot, count + 1);",
                        "state = aged(set, with_count(state, slot, count + 1));")],
    # Not the one that is asked least is replaced.
    "ADMISSION_ANY_VICTIM": [("admission.c", "return least_byte(state | COUNT_MASK) - 1;", "return 0;")],
    # A key that loses its slot loses its count.
    "ADMISSION_FORGETS_LEFT": [("admission.c", "	frequency_raise(&set->others, bits_of(name), count_at(state, slot));", "")],
    # A key that has a slot takes another one.
    "ADMISSION_TWO_SLOTS": [("admission.c", "if (slot_of(set, name_of(hash)) == ADMISSION_SET_SLOTS)\n\t\tentry", "entry")],
    # The lock keeps nobody out.
    "ADMISSION_UNLOCKED": [("admission.c", "return (*state & ADMISSION_LOCK) == 0 &&", "return true ||")],
    # A version word's writer is that of every key, or only that of the last one.
    "VERSION_ANY_TAG": [("versions.c", "(tag == 0 || tag == tag_of(hash))", "true")],
    "VERSION_LAST_TAG": [("versions.c", "\t\tword &= ~TAG_MASK;", "\t\tword = (word & ~TAG_MASK) | tag;")],
    # With a tier: it forgets a key after the version is published, or without the key's lock.
    "TIER_PUBLISH_FIRST": [
        ("link.c", "	if (unlikely(sc->tier != NULL))\n		tier_shadow(sc, hash, generation, NULL);\n", ""),
        ("link.c", "	index_put(&st->ix, &lock->place, spot, ref);\n",
         "	index_put(&st->ix, &lock->place, spot, ref);\n"
         "	if (unlikely(sc->tier != NULL))\n		tier_shadow(sc, hash, generation, NULL);\n"),
    ],
    "TIER_ERASE_OUTSIDE": [
        ("link.c", "	if (step != STEP_DONE || sc->tier == NULL ||\n", "	if (step != STEP_DONE || link->claim == NULL ||\n"),
        ("link.c", "			publish(sc, link, &lock.place, &found);\n		if (step == STEP_DONE && unlikely",
         "			publish(sc, link, &lock.place, &found);\n"
         "		if (step == STEP_DONE && found.old == NULL && sc->tier != NULL && link->claim == NULL) {\n"
         "			index_unlock_key(&sc->store->ix, &lock);\n"
         "			tier_shadow(sc, link->hash, link->generation, NULL);\n"
         "			return LINK_DONE;\n		}\n"
         "		if (step == STEP_DONE && unlikely"),
    ],
    # A delete of a key that no slot has does not ask the tier.
    "TIER_DELETE_SILENT": [("delete.c", "if (unlikely(sc->tier != NULL))", "if (false)")],
    # So does a touch, a count, a replacement.
    "TIER_TOUCH_SILENT": [("write.c", "		if (unlikely(sc->tier != NULL))\n			tier_shadow(", "		if (false)\n			tier_shadow(")],
    "TIER_COUNT_SILENT": [("rmw.c", "(likely(sc->tier == NULL) ||", "(likely(true) ||")],
    "TIER_REFUSED_SILENT": [("link.c", "if (found->old == NULL && unlikely(sc->tier != NULL))", "if (false)")],
    # An offer ends as taken without a look at the slot: the item may be another version's, or touched since.
    "TIER_EVICT_UNCHECKED": [
        ("evict.c", "		sc->tier->evicted(sc->tier->arg, sc, sc->offer, NULL, 0);",
         "		sc->tier->evicted(sc->tier->arg, sc, sc->offer, item_at(sc->store, v->ref), store_generation(sc->store));")],
    # An item leaves before its last slice is copied; what a slice is read from may be another item's by then.
    "TIER_UNWHOLE": [("evict.c", "	if (*offer == 0 || tier->copying(tier->arg, sc, *offer, it))\n",
                      "	if (*offer == 0 || tier->copying(tier->arg, sc, *offer, it) || true)\n")],
    "LOANS_NOT_REAPED": [("port_loans.c", "		(void)rte_eth_tx_done_cleanup(p->id, p->queue, 0);\n", "		{}\n")],
    "LOANS_END_EARLY": [("port_loans.c", "	p->loans++;\n", "	p->loans++;\n	loan->done(loan->lender, loan->owner);\n")],
    "LENT_UNHELD": [("lending.c", "		l->lender.hold(owner);\n", ""), ("lending.c", "	l->lender.release(owner);\n", "")],
    "LENT_FIRST_DONE": [("lending.c", "	if (--p->frames != 0)\n", "	if (p->bytes != 0)\n		l->lender.release(owner);\n"
                                      "	l->bytes -= p->bytes;\n	p->bytes = 0;\n	if (--p->frames != 0)\n"),
                        ("lending.c", "	p->owner = NULL;\n	l->lender.release(owner);\n", "	p->owner = NULL;\n")],
    "LENT_UNBOUNDED": [("lending.c", "		if (bytes > l->bytes_max - l->bytes)\n			return false;\n", "")],
    "LENT_UNCOUNTED": [("lending.c", "	l->bytes -= p->bytes;\n", "")],
    # The frame is as long as if the loan were in it.
    "LENT_TWICE": [("ip_out.c", "L4_AT6 + l4_len - lent,", "L4_AT6 + l4_len,")],
    # A stack that ends keeps its free frames, or those that the port did not send.
    "END_KEEPS_CACHE": [("tx_queue.c", "	port->ops->drop(port, net->frame_cache.frame, net->frame_cache.count);\n", "")],
    "END_KEEPS_QUEUE": [("tx_queue.c", "		port->ops->drop(port, out->burst[at / BURST_MAX].frame,\n				left < BURST_MAX ? left : BURST_MAX);\n",
                         "		(void)left;\n")],
    "TIER_UNPINNED": [("evict.c", "	store_pin(it);\n", ""), ("evict.c", "		store_unpin(item_at(sc->store, v->ref));\n", "		{}\n"),
                      ("evict.c", "	store_unpin(item_at(sc->store, ref));\n", "")],
    # An item that the tier will take later is evicted without it; a sleeping core keeps its offer.
    "TIER_LATER_FORGETS": [("evict.c", "		*offer = 0;\n		return false;\n", "		*offer = 0;\n		return true;\n")],
    "TIER_RESTS_OPEN": [("store.c", "	leaving_pause(sc);\n", "")],
    # So does one of an item that was flushed meanwhile.
    "TIER_EVICT_FLUSHED": [("unlink.c", "offer == 0 || item_flushed(it, generation) ||", "offer == 0 ||")],
    # The slot is cleared, and then the tier has it.
    "TIER_CLEAR_FIRST": [
        ("unlink.c", "	offer_take(sc, item_at(sc->store, bucket_ref(spot.bucket, spot.slot)));\n"
         "	unlink_spot(sc, spot, UNLINK_EVICTED);\n",
         "	const struct item *gone = item_at(sc->store, bucket_ref(spot.bucket, spot.slot));\n\n"
         "	unlink_spot(sc, spot, UNLINK_EVICTED);\n	offer_take(sc, gone);\n")],
    # A copy is promoted over a dead version; the tier forgets it when its lock is gone.
    "TIER_PROMOTE_OVER": [("link.c", "if (unlikely(link->claim != NULL) && found->old != NULL) {", "if (false) {")],
    "TIER_CLAIM_LATE": [
        ("link.c", "		if (step == STEP_DONE && unlikely(link->claim != NULL))\n"
         "			link->claim->end(link->claim->arg, sc);\n		index_unlock_key(&sc->store->ix, &lock);\n",
         "		index_unlock_key(&sc->store->ix, &lock);\n"
         "		if (step == STEP_DONE && unlikely(link->claim != NULL))\n"
         "			link->claim->end(link->claim->arg, sc);\n")],
    # A store that has nothing is not flushed, though the tier may have something.
    "TIER_FIRST_FLUSH_SKIPPED": [("sweep.c", "nothing = sc->tier == NULL && linked_ever(st)", "nothing = linked_ever(st)")],
    # Columns of filters: a look does not see that it was torn; rows that were seen answer for ever; an erasure leaves
    # a second match; used bits stay in their slots; digits are not compared; a bucket begins behind its own border.
    "COLUMNS_SEQUENCE_UNREAD": [("flash_columns.c", "if ((before & 1) == 0 &&\n		    atomic_load_explicit(&c->kept->sequence, memory_order_relaxed) == before)", "(void)before;\n		if (true)")],
    "COLUMNS_SEEN_FOR_EVER": [("flash_columns.c", "likely(flash_columns_sequence(c) == seen->sequence)", "true"),
                              ("flash_columns.c", "return (seen->sequence & 1) == 0 &&\n	       atomic_load_explicit(&c->kept->sequence, memory_order_relaxed) == seen->sequence;", "return true;")],
    "COLUMNS_ONE_MATCH": [("flash_columns.c", "		if (slots == 0)\n			continue;", "		if (slots == 0 || columns != 0)\n			continue;")],
    "COLUMNS_USED_STAYS": [("flash_columns.c", "used |= (was >> i & 1) << to;", "used |= (was >> i & 1) << i;")],
    "COLUMNS_ANY_DIGIT": [("flash_columns.c", "return slots & s->slots;", "return s->slots;")],
    "COLUMNS_OWN_BORDER": [("flash_columns.c", "((1ull << at % 64) - 1)", "((2ull << at % 64) - 1)")],
    # A write that is over leaves no trace.
    "VERSION_WRITES_UNSEEN": [("versions.c", "return word + VERSION_ONE + 1;", "return word + 1;")],
    # The end of a flush does so.
    "VERSION_FLUSH_ENDS": [("versions.c", "atomic_fetch_sub_explicit(&versions->flushes, 1,", "atomic_fetch_sub_explicit(&versions->flushes, EPOCH_ONE + 1,")],
    # So does a write whose outcome nobody knows.
    "VERSION_UNKNOWN_ENDS": [("versions.c", "atomic_fetch_or_explicit(at, UNKNOWN,", "atomic_fetch_or_explicit(at, 0,")],
    # A write stops being in doubt although its connection is listed; by a list that was asked for before it was lost.
    "DOUBT_ANY_LIST": [("in_doubt.c", "c->listed != pass && ", "")],
    "DOUBT_ANY_PASS": [("in_doubt.c", "c->listed != pass && c->pass < pass", "c->listed != pass")],
    "DOUBT_ANY_SERVER": [("in_doubt.c", "c->count != 0 && c->server == server && c->listed", "c->count != 0 && c->listed")],
    # A second lost write of a version word does not go on waiting for the next list.
    "DOUBT_OLD_PASS": [("in_doubt.c", "	conn->pass = d->pass;\n	if (d->write[at].conn != 0) {", "	if (d->write[at].conn != 0) {"),
                      ("in_doubt.c", "	conn->count++;", "	if (conn->count++ == 0)\n		conn->pass = d->pass;")],
    # A fill looks for writers before its lease is there, or not at all.
    "F2_FIRST": [("copies.c", """	const uint64_t lease = ++c->last_lease;
""", """	const uint64_t lease = ++c->last_lease;
	const bool clean = version_load_ordered_mt(c->shared.versions, key->hash).clean;

	protocol_gap();
"""), ("copies.c", "if (version_load_ordered_mt(c->shared.versions, key->hash).clean)\n\t\treturn lease;", "if (clean)\n\t\treturn lease;")],
    "FILL_BESIDE_WRITER": [("copies.c", "if (version_load_ordered_mt(c->shared.versions, key->hash).clean)", "version_load_ordered_mt(c->shared.versions, key->hash);\n\tif (true)")],
    # A leader is followed although a write has begun, was under way, or a flush was.
    "JOIN_ANY_VERSION": [("versions.c", "now.number == seen->number &&", "")],
    "JOIN_BESIDE_WRITER": [("versions.c", "return seen->clean && now.clean && now.number", "return ((seen->flushes | now.flushes) & FLUSHING) == 0 && now.number")],
    "JOIN_OVER_FLUSH": [("versions.c", "now.number == seen->number &&\n\t       now.flushes == seen->flushes;", "now.number == seen->number;")],
    "JOIN_COUNTED_IN_FLUSH": [("versions.c", "!has_writer(word, hash) && (flushes & FLUSHING) == 0};", "!has_writer(word, hash)};"),
                              ("versions.c", "now.flushes == seen->flushes;", "now.flushes / EPOCH_ONE == seen->flushes / EPOCH_ONE;")],
    # A miss is told, and older fetches go on.
    "MISS_KEEPS_COPY": [("copies.c", "	if (!put_miss(c, key, lease) &&", "	if (put_miss(c, key, lease) && false &&")],
    "MISS_KEEPS_VERSION": [("copies.c", "	version_advance_mt(c->shared.versions, key->hash);\n	protocol_gap();\n", "")],
    # A value is told that an earlier process has written late, or was kept once it could not any more, and older flights go on.
    "UNFENCED_KEEPS_VERSION": [("copies.c", "{\n	version_advance_mt(c->shared.versions, key->hash);\n}", "{\n}")],
    "FENCED_KEEPS_EPOCH": [("copies.c", "	versions_advance_mt(c->shared.versions);\n", "")],
    # Numbers of leases count for the store's floors.
    "LOW_LEASE": [("copies.c", "#define LEASE_BITS (3ull << 62)", "#define LEASE_BITS (3ull << 50)")],
    # The copy goes after the write is sent.
    "SEND_FIRST": [("copies.c", "		store_delete(c->store, key->name, key->hash);\n	return true;", "		*lease = 0;\n	return true;")],
    # A second write leaves what the first has kept, or is about to.
    "SECOND_KEEPS": [("copies.c", "		store_delete(c->store, key->name, key->hash);\n	return true;", "		if (own.clean)\n			store_delete(c->store, key->name, key->hash);\n	return true;")],
    # A set is kept although another write has begun before its lease came.
    "LEASE_BEHIND_WRITER": [("copies.c", "return version_write_is_alone_mt(c->shared.versions, key->hash, own);", "return true;")],
        # Whoever a server lists, copies are kept at once.
    "FENCE_OPEN": [("front_fence.c", "listed ? front_listing_end(&l->fence.listing) : FRONT_LISTING_UNABLE", "listed ? FRONT_LISTING_OURS : FRONT_LISTING_UNABLE")],
    "DOUBT_ROWS_UNREAD": [("front_fence.c", "	if (port != 0)", "	if (port == 0)")],
    # Any leader is followed, or none that is sent; a successor is never sent; a follower does not keep its answer.
    "FOLLOW_OLD": [("coalesce.c", "	if (!leader->sent)\n", "	if (true)\n")],
    "FOLLOW_NONE": [("coalesce.c", "	if (!leader->sent)\n		return !leader->closed;\n	return is_recent", "	return false && is_recent")],
    # A request is asked for behind one that waits for another's answer; one behind its client's own shares an answer.
    # Keys of a long line are asked for a pass at a time; a get is completed although its bytes are not all in the read
    # buffer; gets whose bytes are in no read buffer are forgotten with the buffer.
    "LINE_IN_PASSES": [("pending_ahead.c", "return ss->body == BODY_NONE &&",
                        "return ss->read_buf_at == ss->read_buf_len && ss->body == BODY_NONE &&")],
    "CUT_COMPLETED": [("pending_complete.c", "a->offset + a->bytes <= ss->read_buf_len &&", "")],
    "BEYOND_SWEPT": [("pending_order.c", "ss->read_buf_at == ss->read_buf_len && !session_asks_beyond(ss)",
                      "ss->read_buf_at == ss->read_buf_len")],
    "FOLLOWS_UNQUEUED": [("front_route.c", "return earlier->queued && earlier", "return earlier")],
    "FOLLOWED_BEHIND": [("front.c", " && !ask->behind", "")],
    "BEHIND_FOLLOWS": [("front_follow.c", "	if (request->behind)\n		return COALESCE_NONE;\n", "")],
    # Keys that are handed over: a write, or a miss, does not settle its key; a write, a flush or a miss waits for no
    # add; a flush leaves hand-overs; a former server is not told of writes; what it then has is taken for new; an item
    # lives for as long as at its former server, or for ever; an add whose answer is lost counts as ended.
    "WARM_WRITE_UNSETTLED": [("front_handover.c", "	front_warm_settle_mt(warm_of(f), ask->hash);\n", ""),
                             ("front_handover.c", "	    front_warm_settle_mt(warm_of(f), request->hash))\n		return false;\n	list", "	    true)\n		return false;\n	list")],
    "WARM_WRITE_UNHELD": [("front_handover.c", "	    front_warm_settle_mt(warm_of(f), request->hash))\n		return false;\n	list", "	    true)\n		return false;\n	list")],
    "WARM_MISS_UNSETTLED": [("front_handover.c", "	if (!front_warm_settle_mt(warm_of(f), request->hash)) {", "	if (false) {")],
    "WARM_FLUSH_UNHELD": [("front_handover.c", "return warm_of(f) == NULL || front_warm_flush_mt(warm_of(f));", "return warm_of(f) == NULL || front_warm_flush_mt(warm_of(f)) || true;")],
    "WARM_FLUSH_LEAVES": [("front_handover.c", "return warm_of(f) == NULL || front_warm_flush_mt(warm_of(f));", "return true;")],
    "WARM_FORMER_KEEPS": [("front_handover.c", "	if (l->condition == FRONT_PLACE_IN_USE && !front_lane_refuses(l))\n", "	if (false)\n"),
                           ("front_handover.c", "		front_report_outdated_mt(l->report);", "		(void)l;")],
    "WARM_DELETE_LOST": [("front_request.c", "	front_report_outdated_mt(request->lane->report);\n", "")],
    "WARM_FORMER_TRUSTED": [("front_reload.c", "c->place[i].outdated |= c->place[i].lost;", "")],
    "WARM_LIFE_LOST": [("front_handover.c", "	if (ttl_s < 0)\n", "	if (true)\n")],
    "WARM_EXPIRED_ADDED": [("front_handover.c", "answer->ttl_s > 1", "answer->ttl_s >= 0")],
    "WARM_UNKNOWN_ENDED": [("front_handover.c", "!add->sent || add->outcome_known", "true")],
    "WARM_NEWCOMER_COLD": [("front_reload.c", "now_ns >= c->join_ns || all_joined(c)", "true || all_joined(c)")],
    # The server of before both changes is always asked; it keeps values that are written since; keys are not settled during the second change.
    "WARM_BEFORE_TRUSTED": [("front_handover.c", "	if (!front_warm_was_settled_mt(warm_of(f), request->hash))\n", "")],
    "WARM_BEFORE_KEEPS": [("front_handover.c", "	for (uint32_t i = 0; i < formers->count; i++)\n", "	for (uint32_t i = 0; i < 1; i++)\n")],
    "WARM_CHAIN_UNSETTLED": [("front_handover.c", "	if (formers.count == 0)\n		return;\n", "	if (formers.count == 0 || f->state->next->npoints != 0)\n		return;\n"),
                             ("front_handover.c", "	    front_warm_settle_mt(warm_of(f), request->hash))\n		return false;\n	list", "	    f->state->next->npoints != 0 || front_warm_settle_mt(warm_of(f), request->hash))\n		return false;\n	list")],
    "WARM_CHAINS_ALWAYS": [("front_reload.c", "c->warming && c->stayed && front_warm_may_chain(c->exchange->warm)", "c->warming")],
    "SUCCESSOR_UNSENT": [("front_follow.c", "		front_request_queue(f, request_of(next));", "		(void)f;")],
    "FOLLOW_UNSHARED": [("front_follow.c", "		request->users++;", "")],
    # A set that waits is told what the one before it was told; it is sent as if it were no write; any command that stores may replace it.
    "SET_JOINS": [("front_follow.c", "		coalesce_succeed(leader, &request->coalesced);\n", "		front_request_value_end(f, request), list_push_back(&leader->followers, &request->link);\n")],
    "SET_UNWRITTEN": [("front_follow.c", "		front_write_queue(f, request_of(next));", "		front_request_queue(f, request_of(next));")],
    "SET_ANY_VERB": [("front_compose.c", "	if (q->verb == MC_SET)\n\t\treturn true;", "	if (q->verb == MC_SET || q->verb == MC_ADD)\n\t\treturn true;")],
    # A copy that does not know its cas answers who asks for it.
    "GETS_ANY_COPY": [("copies.c", "shows_cas(req) && !reports_cas(c, item) ? BACKEND_COPY_NONE", "false ? BACKEND_COPY_NONE")],
    # A copy tells the cas of a process that its server is not any more.
    "GETS_OF_FORMER": [("copies.c", "(item_cas(item) >> OPENED_SHIFT & VERSIONS_OPENED_MAX) == opened", "true")],
    # The copy of a set ends when its item does, as if seconds began at the same time.
    "SET_OUTLIVES": [("front_cache.c", "(uint32_t)request->query.exptime - 1;", "(uint32_t)request->query.exptime;")],
    # In shared mode copies do not end; a fill that began before they did is kept; they answer although they could not be ended; any flight is joined.
    "AGE_OF_COPIES": [("copies.c", "	if (likely(versions_are_fresh_mt(versions, now_ns, life_ns)))", "	if (true)")],
    "AGE_FROM_ANSWER": [("copies.c", ".mode = STORE_CAS, .cas = lease, .set_cas = true, .new_cas = number_of(b)}", ".mode = STORE_SET, .set_cas = true, .new_cas = number_of(b)}")],
    "AGE_UNFLUSHED": [("copies.c", "store_flush(c->store, 0) == STORE_OK", "store_flush(c->store, 0) <= STORE_NOT_YET")],
    "AGE_UNWAITED": [("front_cache.c", "	backend_copies_bypass(f->serve, !may_answer);", "	(void)0;")],
    "AGE_OF_TURN": [("front.c", "f->cfg.clock_ns != NULL ? f", "false ? f")],
    "AGE_OF_LEADERS": [("coalesce.c", "return is_recent(copies, leader, now_ns) &&", "return ")],
    # A front tells others of a write that is not done; hears of one and keeps what it has asked for before; tells what it has heard; hears
    # anybody, and without end; waits for who is nobody.
    "PEER_SENT_EARLY": [("front_cache.c", "	return request->is_writer;\n", "	if (request->is_writer)\n\t\tpeers_notify(f->peers, &request->coalesced.key);\n	return request->is_writer;\n"),
                        ("front_cache.c", "	if (request->sent)\n\t\tpeers_notify(f->peers, &request->coalesced.key);\n", "")],
    "PEER_KEEPS_FILL": [("copies.c", "	uint64_t lease;\n\n	if (copy_write_begin(c, key, false", "	uint64_t lease;\n	const struct item *there = store_peek(c->store, key->name, key->hash);\n\n	if (there == NULL || copy_kind(there) == COPY_LEASE)\n\t\treturn;\n	if (copy_write_begin(c, key, false")],
    "PEER_PASSES_ON": [("peers.c", "	coalesce_close(p->core.coalesce, &key);\n", "	coalesce_close(p->core.coalesce, &key);\n	invalidations_add(datagram_begin(p), name, 1), count(p, PEERS_TOLD);\n")],
    "PEER_ANYBODY": [("peers.c", "!is_peer(p, &from->ip) || request", "request")],
    "PEER_UNBOUNDED": [("peers.c", "p->received == PEERS_KEYS_MAX || ", "")],
    "PEER_WAITED_FOR": [("peers.c", "return now_ns < peer->gives_up_ns ? LATER : LOST;", "return LATER;")],
    # A budget gives its reserve to any source, or has no shares, of prefixes or of addresses; a source that leaves is
    # still counted; places outlive their shortage.
    "BUDGET_NO_RESERVE": [("budget.c", "b->left >= b->reserve + n && held", "b->left >= n && held")],
    "BUDGET_NO_SHARE": [("budget.c", " && held + n <= budget_share(b, p);", ";")],
    "BUDGET_NO_PREFIX": [("budget.c", "(b->total - b->reserve) / b->prefixes;", "b->total - b->reserve;")],
    "BUDGET_NO_ADDRESS": [("budget.c", "return of_network / b->networks[address->network].count;", "return of_network;")],
    "BUDGET_STAYS": [("budget.c", "		b->holders--;\n	}\n", "		b->holders--;\n		address->count++;\n	}\n")],
    "BUDGET_OF_ANY_SHORTAGE": [("budget.c", "cell->shortage == b->shortage && cell->count > 0;", "cell->count > 0;")],
    "BUDGET_KEEPERS_STAY": [("budget.c", "			list_push_back(line, at);\n", "			list_push_front(line, at);\n")],
    "BUDGET_LENDS_ALL": [("budget.c", "b->left >= b->reserve + n + BUDGET_LENT_PART * held;", "b->left >= n;")],
    # No node of a scoreboard is a connection's own.
    "SENT_NODES_COMMON": [("tcp_scoreboard.c", "return ranges <= SENT_NODES_OWN;", "return ranges == 0;")],
    # Answers that clients do not read keep their memory.
    "FRONT_NO_YIELD": [("front_fill.c", "		if (!backend_answer_yield(l->front->serve))\n			return r;\n", "		return r;\n")],
    # A server that still sends is late; is slow for ever; one byte makes it slow.
    "FRONT_SLOW_IS_LATE": [("front_lane.c", "	if (l->moved_ns > late_ns)\n", "	if (l->moved_ns > late_ns && false)\n")],
    "FRONT_SLOW_FOR_EVER": [("front_lane.c", "l->moved_ns < slow_ns ? l->moved_ns : slow_ns", "l->moved_ns")],
    "FRONT_SLOW_BY_A_BYTE": [("front_read.c", "front_lane_moves(l, most - *bytes)", "front_lane_moves(l, (most - *bytes) * FRONT_MOVES_BYTES)")],
    # A connection to a server asks for something before its login.
    "FRONT_LOGIN_LATE": [("front_send.c", "	if (l->logs_in)\n		probe_send(l, login, FRONT_ASK_LOGIN);\n	if (l->conn != NULL)\n		probe_send(l, \"version\\r\\n\", FRONT_ASK_VERSION);\n",
                          "	probe_send(l, \"version\\r\\n\", FRONT_ASK_VERSION);\n	if (l->logs_in && l->conn != NULL)\n		probe_send(l, login, FRONT_ASK_LOGIN);\n")],
    # A value leaves when it is complete; its last byte before the line end behind it has arrived; its client has a short
    # one, or an answer that is not complete; a value that its connection is not to send next leaves early, one that is
    # kept, or shared; its length gives no time; others wait as long.
    "RELAY_LATE": [("front_read.c", "	front_relay(l);\n", "	(void)l;\n")],
    "RELAY_ALL_BYTES": [("front_relay.c", "request->fill.value_len - 1;", "request->fill.value_len;")],
    "RELAY_CUT_SHORT": [("pending_arrivals.c", "	ss->end = SESSION_END_ERROR;\n	conn_abort(sv->stack, ss->conn);", "	conn_requeue(sv->stack, ss->conn);")],
    "RELAY_UNFAILED": [("pending_arrivals.c", "		answer_fail(sv, ticket);\n", "		(void)ticket;\n")],
    "RELAY_ANY": [("pending_arrivals.c", "a->session->pending == a && a->session->value.item == NULL", "!a->is_kept")],
    "RELAY_KEPT": [("front_relay.c", "request->lease == 0 &&", "")],
    "RELAY_SHARED": [("front_relay.c", " && list_empty(&request->coalesced.followers) &&", " &&")],
    "RELAY_NO_PARTS": [("front_relay.c", "	l->relay_parts += request", "	l->relay_parts += 0 * request")],
    "RELAY_KEEPS_OTHERS": [("front_lane.c", "return read != NULL &&\n\t       (read == request ||", "return true || (read != NULL ||")],
    "RELAY_CUTS_LINES": [("pending_arrivals.c", "		next_waits_anew(sv, v->reader);\n", "		(void)next_waits_anew;\n")],
    # More long answers are asked for ahead than memory takes.
    "AHEAD_OF_MEMORY": [("pending_places.c", "ahead < room ? ahead : room", "room == 0 || ahead < room ? ahead : room")],
    # A lane that has acted is not noted as due again.
    "LANE_DUE_UNNOTED": [("front.c", "\t\tfront_lane_due_note(l);\n", "\t\telse\n\t\t\tfront_lane_due_note(l);\n")],
    "SLOW_VALUE_FAILS": [("front.c", "request->ticket == ticket && front_request_is_coming(request)", "false")],
    # ECN (lib/tcp/ECN.md): the handshake; what is marked; echoes; answers; DCTCP.
    "ECN_ANY_SYN": [("tcp_ecn.c", "(a->seg.flags & ECN_SETUP) != ECN_SETUP)", "(a->seg.flags & ECN_SETUP) == 0)")],
    "ECN_REFLECTED": [("tcp_ecn.c", "(a->seg.flags & ECN_SETUP) == TCP_ECE", "(a->seg.flags & TCP_ECE) != 0")],
    "ECN_NO_FALLBACK": [("tcp_ecn.c", "	if (syn_only && c->snd_max != c->iss)\n		c->flags &= ~CONN_ECN;\n", "")],
    "ECN_TRUSTS_FIELD": [("tcp_ecn.c", "	return ecn_field(a) == IP_ECN_NOT_ECT || t->cfg.congestion == CC_DCTCP;", "	return true;")],
    "ECN_NOT_TAKEN_BACK": [("tcp_in.c", "			ecn_answered(t, c, a);\n", "			c->flags |= CONN_ECN;\n")],
    "ECN_UNASKED": [("tcp_ack.c", "	if (unlikely(c->flags & CONN_ECN))\n		ecn_ack_arrives(t, c, seg);", "	ecn_ack_arrives(t, c, seg);")],
    "ECN_NO_COOKIE": [("tcp_cookie.c", "const uint32_t ecn = ecn_syn_is_taken(t, a) ? COOKIE_ECN : 0;", "const uint32_t ecn = 0;")],
    "ECN_ECT_AGAIN": [("tcp_out.c", "{.seq = begin, .flags = TCP_ACK, .retransmit = true}", "{.seq = begin, .flags = TCP_ACK, .retransmit = true, .ecn = ecn_of_new_data(c)}")],
    "ECN_ECT_PROBE": [("tcp_out.c", "{.seq = c->snd_una, .flags = TCP_ACK, .retransmit = true}", "{.seq = c->snd_una, .flags = TCP_ACK, .retransmit = true, .ecn = ecn_of_new_data(c)}")],
    "ECN_ECT_EMPTY": [("tcp_out.c", "	const struct out_seg what = {.seq = seq, .flags = TCP_ACK};", "	const struct out_seg what = {.seq = seq, .flags = TCP_ACK, .ecn = ecn_of_new_data(c)};")],
    "ECN_FORGETS_ECE": [("tcp_out.c", "		what.flags |= TCP_ECE;", "		what.flags |= TCP_ECE, c->flags &= ~CONN_ECE;")],
    "ECN_LATE_CWR": [("tcp_in.c", "		c->flags &= ~CONN_ECE;\n		conn_ack_now(t, c);", "		c->flags &= ~CONN_ECE;")],
    "ECN_NO_CWR": [("tcp_cc.c", "	ecn_reduced(c);\n	g->t_us = 0;", "	g->t_us = 0;")],
    "ECN_EVERY_ECE": [("tcp_ecn.c", "	if (!echo || ecn_is_answered(c, seg->ack))", "	if (!echo)")],
    "ECN_TWICE": [("tcp_loss.c", "	if (conn_is_dctcp(t, c) || !ecn_is_answered(c, c->snd_una))\n", "")],
    "ECN_GROWS": [("tcp_ack.c", " && !ecn_is_echo(c, seg)", "")],
    "ECN_FOR_EVER": [("tcp_ecn.c", "	c->flags &= ~CONN_ECT;\n	tcp_count(t, TCP_ECN_STOPPED);", "	tcp_count(t, TCP_ECN_STOPPED);")],
    "ACK_NEVER_SENT": [("tcp_ack.c", "	if (!ack_acceptable(c, seg->ack)) {", "	if (seq_after(seg->ack, c->snd_max) || seq_before(seg->ack, c->snd_una - c->snd_wnd_max)) {")],
    "FIN_NOT_SACKED": [("tcp_ooo.c", "	const bool fin = max > count && fin_is_apart(c);", "	const bool fin = false && fin_is_apart(c);")],
    "FIN_NOT_OF_BLOCK": [("tcp_ooo.c", "	return end + (c->flags & CONN_PEER_FIN && end == c->peer_fin_seq);", "	return end;")],
    "FIN_NEVER_LATEST": [("tcp_in.c", "		c->ooo_clock += seg->payload.len == 0;\n", "")],
    "OPTION_SIZE_ENDS": [("tcp_wire.c", "		if (!parse_option(opt, p + at, p[at + 1]))\n			opt->seen |= TCP_HAS_MALFORMED;", "		if (!parse_option(opt, p + at, p[at + 1])) {\n			opt->seen |= TCP_HAS_MALFORMED;\n			return;\n		}")],
    "OPTION_LENGTH_FORGETS": [("tcp_wire.c", "			opt->seen |= TCP_HAS_MALFORMED;\n			return;", "			opt->seen = TCP_HAS_MALFORMED;\n			return;")],
    "DCTCP_LATE_ACK": [("tcp_in.c", "	if (c->flags & (CONN_ACK_NOW | CONN_ACK_DELAYED))\n		out_ack(t, c);\n", "")],
    "DCTCP_ALPHA": [("tcp_cc.c", "#define DCTCP_SHIFT_G       4u", "#define DCTCP_SHIFT_G       5u")],
    "DCTCP_LOSS": [("tcp_cc.c", "	if (t->cfg.congestion == CC_NEWRENO || conn_is_dctcp(t, c)) {", "	if (t->cfg.congestion == CC_NEWRENO) {")],
    "HYSTART_NEVER": [("tcp_cc.c", "first ? hystart(c, rtt_us) : 1;", "first && false ? hystart(c, rtt_us) : 1;")],
    "HYSTART_STAYS": [("tcp_cc.c", "		h->css_rounds = 0;\n	} else if", "	} else if")],
    # All pieces of a value are queued at once; a source above its share is judged as late as any other.
    "PIECES_ALL_AT_ONCE": [("tcp_api.c", "if (q.bytes > CONN_SENDQ_LEAST && q.bytes > conn_sendable_max(q.c)) {", "if (q.bytes > CONN_SENDQ_LEAST && q.bytes > (1u << 30)) {"), ("tcp_api.c", "	if (queue_may_take(&t->pool.pieces, &t->places[q.c->slot].pieces, q.c, q.pieces, 1))\n", "	if (t->pool.pieces.left > 0)\n")],
    # A connection within its share only waits for each ACK; queues behind a closed window grow in a shortage; all are reset at once.
    "CHUNKS_NOT_LENT": [("tcp_api.c", "	       (c->tries == 0 && budget_may_borrow(b, held, n));", "	       (held == 0 && budget_may_borrow(b, held, n));")],
    "CHUNKS_BEYOND_WINDOW": [("tcp_evict.c", "t->pool.chunks.is_short ? 0 : CONN_SENDQ_LEAST;", "CONN_SENDQ_LEAST;")],
    "EVICT_ALL_AT_ONCE": [("tcp_evict.c", "after_ns >= EVICT_EACH_NS)", "true)")],
    "EVICT_OVER_LATE": [("tcp_evict.c", "!(over && has_had_time(t, c, st)))", "true)")],
    # A peer's share is without its read buffer.
    "CHUNKS_READ_BUF_FREE": [("tcp_api.c", "places[c->slot].kept = holds;", "places[c->slot].kept = holds && false;")],
    # Work has no shares; a value is short by its length alone; its peer may be idle for long; no read buffer is yielded; a source keeps all watches.
    "WORK_NO_SHARE": [("serve_work.c", "	rate = WORK_SHARES / budget_share(&w->shares, &ss->work.place);", "	rate = 0;")],
    "WORK_NO_BURST": [("serve_work.c", "		work_take(sv, ss, ns, WORK_BURST);", "		work_take(sv, ss, ns, 0);")],
    "FILL_SHORT_FIXED": [("serve_begun.c", "store_begun_max(sv->store) / SHORT_PART;", "0;")],
    # A short value waits for longer ones that came before it.
    "FILL_SHORT_FIFO": [("serve_begun.c", "counted * SHORT_BYTE_NS", "counted * 0")],
    # Idle values that were demoted stay first in the line; a retransmission is dropped, too.
    "FILL_IDLE_FIRST": [("serve_fills.c", "	if (!ss->quota.idle || !look->no_room)", "	if (!ss->quota.idle)"),
        ("serve_fills.c", "	if (link == NULL)", "	if (link == NULL || !(look.stalls || look.no_room))")],
    "FRAMES_NOT_AGAIN": [("tcp_rx.c", "RX_FRAMES_GUARANTEED && !comes_again(c) ?", "RX_FRAMES_GUARANTEED ?")],
    # A request of some segments has no frame of the reserve while others' bodies hold the common ones.
    "FRAMES_FEW_WAIT": [("tcp_rx.c", "	if (!wait || ", "	if (true || wait || ")],
    "FILL_IDLE_LONG": [("serve_fills.c", "IDLE_FREE_US + gained", "300000 + gained")],
    "READ_BUF_NO_YIELD": [("serve_read_buf.c", "	link = budget_loser(&sv->read_bufs, place_rank, sv);", "	link = NULL;")],
    # A drain closes amid a discarded body, knows only the answers of its pass, or calls a discarded line idle.
    "DRAIN_AMID": [("serve_parse.c", "if (likely(!sv->closes_behind) || session_is_amid(ss))", "if (likely(!sv->closes_behind))")],
    "DRAIN_ONE_PASS": [("serve_parse.c", "	if (ss->pass_ops == 0)\n		return;\n	req", "	ss->answered = false;\n	if (ss->pass_ops == 0)\n		return;\n	req")],
    "DRAIN_IDLE_AMID": [("serve.c", "(sv->closes_behind && session_is_amid(ss))", "(sv->closes_behind && ss->body != BODY_NONE)")],
    "WATCH_NO_SOURCE": [("admin_watch.c", "budget_source_is_over(&a->watcher_places, &w->place);", "false;")],
    # Unread requests take more than their connection's share of the frames; out-of-order data takes any that is left; none is yielded.
    "FRAMES_NO_SHARE": [("tcp_rx.c", "	return unlikely(t->frames.is_short) && c->flags & CONN_WANT_WRITE &&", "	return false && unlikely(t->frames.is_short) && c->flags & CONN_WANT_WRITE &&"),
        ("tcp_rx.c", "		limit = min_u32(limit, window_while_refused(t, c));", "		limit = min_u32(limit, 64 * window_while_refused(t, c));")],
    "FRAMES_NOT_LENT": [("tcp_rx.c", "	if (is_lent(c))\n		return min_u32(BURST_MAX, rx_reserve(t) / 2);", "	if (c == NULL)\n		return min_u32(BURST_MAX, rx_reserve(t) / 2);")],
    "FRAMES_LENT_FOR_GOOD": [("tcp_rx.c", "		if (c->rx.frames > keep)", "		if (c->rx.frames > keep && t == NULL)")],
    "OOO_NO_SHARE": [("tcp_ooo.c", "	if (budget_may_take(&t->frames, place, &c->peer_ip, held, 1))\n		return true;", "	if (t->frames.left > 0)\n		return true;")],
    "OOO_NO_YIELD": [("tcp_ooo.c", "	greedy = ooo_greedy(t);\n", "	greedy = c;\n")],
    # A handshake has a place from its first byte on; nobody yields one.
    "TLS_HALF_A_RECORD": [("tls_conns.c", "	return conn_has_ended(wire) || tls_hello_is_whole(conn_peek(wire), conn_unread(wire));", "	return conn_has_ended(wire) || conn_unread(wire) > 0;")],
    "TLS_NO_YIELD": [("tls_handshakes.c", "	return tc->places.left > 0 || !list_empty(&tc->unproven) || answered_may_yield(tc);", "	return tc->places.left > 0 || (tc == NULL && answered_may_yield(tc));")],
    # A pipe's bytes are not its wire's; a visit counts frames, which leaves some unread, and no wire borrows for them.
    "PIPE_OF_ITS_OWN": [("tcp_api.c", "	const struct peer_queue q = peer_queue_of(t, c);\n	const uint32_t of_wire", "	const struct peer_queue q = {c, c->tx.bytes, c->tx.chunks, c->tx.pieces};\n	const uint32_t of_wire")],
    "TLS_FRAMES_FEW": [("tls_conns.c", "for (uint32_t i = 0; i < PIECES_READ_MAX && tc->records < most &&", "for (uint32_t i = tc->records; i < most &&"), ("tls_conns.c", "		conn_pipe_postpone(wire);\n", "		(void)wire;\n")],
    "TLS_RECORDS_ALL": [("tls_conns.c", " || tc->records >= TLS_RECORDS_A_TURN;", ";")],
    "TLS_RECORDS_MANY": [("tls_conns.c", "PIECES_READ_MAX : TLS_RECORDS_FEW;", "PIECES_READ_MAX : PIECES_READ_MAX;")],
    "TLS_OLDEST_FIRST": [("tls_handshakes.c", "oldest->deferred_ns + TLS_IN_ORDER_NS)", "oldest->deferred_ns + 1000 * TLS_IN_ORDER_NS)")],
    "TLS_NEWEST_FIRST": [("tls_handshakes.c", "oldest->deferred_ns + TLS_IN_ORDER_NS)", "oldest->deferred_ns)")],
    "TLS_YIELD_CLOSES": [("tls_handshakes.c", "	if (conn_unread(t->wire) > 0 || conn_has_ended(t->wire)) {", "	if (conn_unread(t->wire) > 0 || tc != NULL) {")],
    # A front's servers: any certificate will do, or any name; a session outlives its certificate, or its issuers; requests may leave before
    # the server is verified.
    "TLS_UNVERIFIED": [("tls_client.c", "SSL_CTX_set_verify(context->ctx, SSL_VERIFY_PEER, NULL);", "SSL_CTX_set_verify(context->ctx, SSL_VERIFY_NONE, NULL);")],
    "TLS_ANY_NAME": [("tls_client.c", "	return X509_VERIFY_PARAM_set1_host(param, host, 0) == 1 &&\n", "	return\n")],
    "TLS_SESSION_EXPIRED": [("tls_client.c", "X509_cmp_time(X509_get0_notAfter(cert), &now) > 0 &&", "X509_cmp_time(X509_get0_notAfter(cert), &now) != 2 &&")],
    "TLS_LINK_UNVERIFIED": [("tls_client.c", "SSL_CTX_set_verify(context->ctx, SSL_VERIFY_PEER, NULL);", "SSL_CTX_set_verify(context->ctx, SSL_VERIFY_NONE, NULL);")],
    "TLS_LINK_EARLY": [("tls_link_moves.c", "	else if (status == TLS_DONE)\n		handshake_done", "	else\n		handshake_done")],
    "TLS_LINK_OLD_SESSION": [("tls_links.c", "k->version == tl->version ? k->session : NULL", "k->session")],
    "TLS_LINK_CUT_UNSEEN": [("tls_link_moves.c", "!was_held && !tls_wire_has_input(l->stream, l->wire) && conn_eof(l->wire)", "!was_held && l->ended")],
    "TLS_LINK_RECORD_GOES_ON": [("front_links.c", "	return end - taken < most ? (uint32_t)(end - taken) : most;", "	return end > taken ? most : most;")],
    "TLS_LINK_HELD": [("tls_link_moves.c", "l->held == 0 && !tls_wire_has_input(l->stream, l->wire) && !conn_eof", "!tls_wire_has_input(l->stream, l->wire) && !conn_eof")],
    # Connections through the kernel: a ring's end is passed over; a place is given back with its socket open; the helper sleeps without
    # a look, or before news; who makes room tells nobody; an end is said before what arrived.
    "SOCK_WRAPS_SHORT": [("sock_helper.c", "wanted = here < most ? here : most;", "wanted = here < most ? here : most - 1;"),
                         ("sock_helper.c", "taken += (uint32_t)n;", "taken += (uint32_t)n + ((uint32_t)n == most - 1);")],
    "SOCK_PART_FORGOTTEN": [("sock_helper.c", "n < (ssize_t)wanted;", "n < 0;")],
    "SOCK_CLOSED_EARLY": [("sock_helper.c", "	file_close(h, v->file);\n	v->file->number = asked;\n", "	if (asked % 2 != 0)\n		file_close(h, v->file);\n	v->file->number = asked;\n")],
    "SOCK_SLEEPS_UNASKED": [("sock_helper.c", "	atomic_store(&h->signal.asleep, 1);\n	if (!has_news(h) && !atomic_load(&h->signal.over))\n", "	" + YIELD + "	atomic_store(&h->signal.asleep, 1);\n	if (!atomic_load(&h->signal.over))\n"),
                            ("sock_helper.c", "#include <string.h>\n", "#include <string.h>\n#include <sched.h>\n")],
    "SOCK_ROOM_SILENT": [("sock_port.c", "if (unlikely(atomic_load(&at->in_is_full) != 0))", "if (unlikely(atomic_load(&at->in_is_full) > 1))")],
    "SOCK_END_FIRST": [("sock_helper.c", "		if (n == 0 || (n < 0 && errno != EAGAIN", "		if ((n > 0 && (uint32_t)n < most && recv(v->file->fd, p->in, 1, MSG_PEEK) == 0) || n == 0 || (n < 0 && errno != EAGAIN")],
    "SOCK_WAKES_NOBODY": [("sock_port.c", "	if (write(p->signal->fd, &one, sizeof one) < 0)\n", "	if (one == 0)\n")],
    # Clients that do not read ask for as many answers as others.
    "LANE_NO_SHARE": [("pending_places.c", "return share < taken ? share : taken;", "return taken != 0 ? share : 0;")],
    # Newcomers ask whatever clients have yet to read.
    "NEWCOMERS_ASK": [("pending_order.c", "!pending_newcomer_asks(sv, ss)) {", "!pending_newcomer_asks(sv, ss) && false) {")],
    # Clients that read one value and no more return as fast as they are reset; ACKs that are under way are not waited for.
    "UNREAD_RESETS_FAST": [("pending_unread.c", "#define UNREAD_EACH_NS       (4 * NS_PER_MS)", "#define UNREAD_EACH_NS       NS_PER_MS")],
    "UNREAD_SILENT_IS_FULL": [("pending_unread.c", "bool full = conn_peer_is_full(sv->stack, ss->conn);", "bool full = true;")],
    # Partial lines of others take the read buffers of requests that wait for a backend.
    "PENDING_BESIDE_LINES": [("pending_order.c", "sv->read_bufs_used - sv->read_buf_places.holders;", "sv->read_bufs_used;")],
    # The context that was begun first yields, though its fragments arrive; or a newcomer finds none.
    "UDP_FAR_AS_NEAR": [("udp_io.c", "		rank += d[n].kept == DATAGRAM_KEPT_FAR ? RANK_FAR : 0;\n", "")],
    "UDP_FAR_ALL": [("udp_io.c", "UDP_BACKLOG_MAX / UDP_BACKLOG_FAR_PART", "UDP_BACKLOG_MAX")],
    "UDP_NO_TURNS": [("udp_io.c", "			rank = RANK_SOURCE;\n", "			rank = RANK_OTHER;\n"),
                     ("udp_io.c", "			rank = RANK_NETWORK;\n", "			rank = RANK_OTHER;\n")],
    "UDP_REASSEMBLED_ALONE": [("udp_io.c", "return left > 0 && held < UDP_BACKLOG_REASSEMBLED;", "return held == 0 && left > 0;")],
    "REASM_OLDEST_YIELDS": [("reasm.c", "	list_unlink(&c->line);\n	list_push_back(&r->line, &c->line);\n	return true;", "	return true;")],
    "REASM_NO_YIELD": [("reasm.c", "	if (list_empty(&r->unused) && !list_empty(&r->line))", "	if (list_empty(&r->unused) && !list_empty(&r->line) && net->now_ns == 0)")],
    # A wire is visited in the turn after its bytes have arrived.
    "TLS_NEXT_TURN": [("tls_conns.c", "	    serve_tls_may_read(tc->serve, t->pipe)) {", "	    serve_tls_may_read(tc->serve, t->pipe) && tc->turns == 0) {")],
    # A state is written while a core may read it.
    "FRONT_DRAFT_IN_USE": [("front_fleet.c", "if (!is_settled_by_all(x, now->generation))", "if (!is_settled_by_all(x, now->generation) && false)")],
    # The tier: an erasure leaves a neighbour's entry, or its key's own.
    "ONE_MATCH": [("flash_index.c", "for (uint32_t hits = bucket_match(b, p.tag); hits != 0; hits &= hits - 1) {\n\t\t\tbucket_clear", "for (uint32_t hits = bucket_match(b, p.tag); hits != 0 && erased == 0; hits = 0) {\n\t\t\tbucket_clear")],
    # A promotion is no step for looks; a claim looks for no entry, not at its segment's sequence, not at flushes.
    "NO_STEP": [("flash_shard.c", "	/* Lookups that saw neither the store's copy nor this one begin again. */\n	flash_index_step(&s->index);\n", "")],
    "NO_CLAIM": [("flash_shard.c", " &&\n		       flash_index_has(&s->index, hash, at->location);", ";")],
    "SHORT_TOKEN": [("flash_shard.c", "flash_log_live(&s->log, at->location) == at->sequence &&", "flash_log_live(&s->log, at->location) != 0 &&")],
    "PROMOTE_OVER_FLUSH": [("flash_shard.c", "	catch_up(s, generation);\n	if (s->generation == generation && is_there", "	if (is_there")],
    # A look counts if it found anything.
    "EARLY_LOOK": [("flash_shard.c", "	return flash_index_moves(&s->index) == l->moves;", "	return l->count != 0 || flash_index_moves(&s->index) == l->moves;")],
    # A key that matches no entry is absent, even if entries have moved meanwhile.
    "LACKED_AT_ONCE": [("flash_shard.c", "	return !key_matches(s, p) && flash_index_moves(&s->index) == moves;", "	return !key_matches(s, p);")],
    # A move along a path is no step.
    "PATH_UNSEEN": [("flash_index.c", "		flash_index_step(ix);\n", "")],
    # A segment that was lost has another key's record.
    "LOST_IS_OTHER": [("flash_read.c", ": FLASH_AGAIN;", ": FLASH_OTHER;")],
    # An unreadable record is taken for another key's.
    "MISS_KEEPS": [("flash_read.c", "? FLASH_UNREADABLE", "? FLASH_OTHER")],
    # A packed value is told as it lies; a stream that ends early, or tells more than was said, counts; a turn unpacks all that is there.
    # A copy that waits for the device waits for ever; it is whole with its first slice; a mark meanwhile is not seen.
    "PATIENCE_ENDLESS": [("flash_tier.c", "if (waits && (!needed || c->now_ns < since_ns + FLASH_PATIENCE_NS))", "if (waits)")],
    "PATIENCE_UNNEEDED": [("flash_tier.c", "	const bool needed = store_evictions_needed(sc);\n", "	const bool needed = true;\n")],
    "SLICE_IS_ALL": [("flash_copy.c", "	return o->value_at == len;\n", "	return true;\n")],
    # The core does not wait for the thread's copy; both copy one value; the core waits for a thread that does not come.
    "COPY_UNMADE": [("flash_copy.c", "	if (is_made(o)) {\n", "	if (true) {\n")],
    "COPY_TAKEN_TWICE": [("flash_copy.c", "		offer_bit(offer)) != 0;\n", "		offer_bit(offer)) + 1 != 0;\n")],
    "COPY_AWAITED": [("flash_copy.c", "	return is_late(c, o) && offer_take_back(c, offer)", "	return false && is_late(c, o) && offer_take_back(c, offer)")],
    "COPY_STAYS_POSTED": [("flash_copy.c", "	if (o->copier == FLASH_COPY_POSTED && !offer_take_back(c, offer))\n", "	if (false)\n")],
    "MARK_UNSEEN": [("flash_tier.c", "if (it != NULL && item_cas(it) != o->cas)", "if (false)")],
    "PACKED_AS_IS": [("flash_ask.c", "	if (!found->record.packed)\n", "	if (true)\n"), ("flash_ask.c", "	if (r->packed)\n", "	if (false)\n"), ("flash_ask.c", "r->packed && !unpack(s, pages, found)", "r->packed && unpack(s, pages, found) && false")],
    "UNPACKED_SHORT": [("flash_pack.c", " || !is_whole(&u->state, length))", ")\n		(void)is_whole;\n	if (false)")],
    "UNPACKED_AT_ONCE": [("flash_backend.c", " && s->unpacked < FLASH_UNPACK_TURN", "")],
    # A record without an answer stays in its place.
    "MISSED_KEEPS": [("flash_backend.c", "return store_shadow(s->c.store, key, hash, NULL) != STORE_EXISTS;", "return true;")],
    # A page gets entries although one of it was erased: of records reserved later, or before.
    "PAGE_REUSED": [("flash_log.c", "	if (is_spent(&log->buffer[log->open], 1 + log->at / FLASH_PAYLOAD_BYTES))\n		flash_log_turn_page(log);\n", ""), ("flash_log.c", " &&\n	       !is_spent(&log->buffer[r->buffer], flash_location_page(r->location));", ";")],
    "PAGE_SPENT_LATE": [("flash_log.c", " &&\n	       !is_spent(&log->buffer[r->buffer], flash_location_page(r->location));", ";")],
    # A buffer is used again while somebody reads it; written while somebody copies into it.
    "BUFFER_UNPINNED": [("flash_log.c", "	if (atomic_load_explicit(&b->readers, memory_order_seq_cst) == 0)\n", "")],
    "SEALED_EARLY": [("flash_log.c", " ||\n		    atomic_load_explicit(&b->copies, memory_order_acquire) != 0)", ")")],
    # A pin does not look again whose buffer it is.
    "PIN_UNCHECKED": [("flash_log.c", "		if (atomic_load_explicit(&log->kept->sequence[i], memory_order_seq_cst) == sequence)\n			return i;\n		flash_log_unpin(log, i);", "		return i;")],
    # A flush leaves the mark.
    "NO_MARK": [("flash_shard.c", "	atomic_store_explicit(&s->log.mark, mark, memory_order_release);\n", "	(void)mark;\n")],
    # A forgotten key is not in the log, or only after it was lost; nor is a flush, nor are the keys of a lost segment.
    "NO_TOMB": [("flash_shard.c", "		flash_shard_journal(s, FLASH_TOMB, hash);\n", "")],
    "TOMB_LATE": [("flash_shard.c", "		flash_shard_journal(s, FLASH_TOMB, hash);\n", ""), ("flash_shard.c", "	flash_shard_count(s, FLASH_ERASED, flash_index_erase(&s->index, hash));\n	protocol_gap();\n", "	flash_shard_count(s, FLASH_ERASED, flash_index_erase(&s->index, hash));\n	protocol_gap();\n	flash_shard_journal(s, FLASH_TOMB, hash);\n")],
    "FLUSH_SILENT": [("flash_shard.c", "	flash_shard_journal(s, FLASH_FLUSH, 0);\n", "")],
    "LOST_TOMBS": [("flash_shard.c", "			flash_shard_journal(s, record.kind, record.number);\n", "			continue;\n")],
    # A change that could not be journaled is not recorded as such.
    "UNJOURNALED_SILENT": [("flash_shard.c", "	atomic_store_explicit(&s->log.kept->unjournaled, 1, memory_order_release); /* U */\n", "")],
    # A key on its way between store and tier is not said to be.
    "NO_INTENT": [("flash_shard.c", "	atomic_store_explicit(&s->intents->hash[core], hash, memory_order_release);\n", "")],
    # A restart leaves a page out, or a record, and says so to nobody.
    "PAGE_SKIPPED": [("flash_recover.c", "		r->bad[slot / 64] |= 1ull << slot % 64;\n", "")],
    "FORGETS_SILENTLY": [("flash_recover.c", "	r->found.unindexed++;\n	flash_shard_forget(r->s, c->hash);\n", "	r->found.unindexed++;\n")],
    # Threads beside a recovery: a list is taken while it is made; its end is not waited for; nobody reads what is beyond it.
    "LIST_UNFINISHED": [("flash_workers.c", "memory_order_acquire) == FLASH_JOB_DONE;", "memory_order_acquire) >= FLASH_JOB_TAKEN;")],
    "SEGMENT_STILL_READ": [("flash_workers.c", "FLASH_JOB_TAKEN)\n		return false;", "FLASH_JOB_TAKEN)\n		return true;")],
    "LIST_CUT_SHORT": [("flash_recover.c", "			redo_list(r, sequence, r->c->workers->jobs[i].changes, p->count);\n", "			redo_list(r, sequence, r->c->workers->jobs[i].changes, p->count), p->step = FLASH_END;\n")],
    # Threads instead of io_uring: two take one transfer; an end is pushed over another, or behind the owner's back; a helper sleeps without a last look; a
    # stop makes all that waits; the rest of a short transfer is read from its start.
    "TRANSFER_TAKEN_TWICE": [("flash_threads.c", "	} while (!atomic_compare_exchange_weak_explicit(\n		&q->taken, &at, at + 1, memory_order_acq_rel, memory_order_acquire));\n", "		" + YIELD + "	} while (0);\n	atomic_store(&q->taken, at + 1);\n"),
                             ("flash_threads.c", "#include <errno.h>\n", "#include <errno.h>\n#include <sched.h>\n")],
    "END_PUSHED_OVER": [("flash_threads.c", "	} while (!atomic_compare_exchange_weak_explicit(&q->done, &head, slot, memory_order_release,\n							memory_order_relaxed));\n", "		" + YIELD + "	} while (0);\n	atomic_store(&q->done, slot);\n"),
                        ("flash_threads.c", "#include <errno.h>\n", "#include <errno.h>\n#include <sched.h>\n")],
    "ENDS_TAKEN_OVER": [("flash_threads.c", "		q->ended = atomic_exchange_explicit(&q->done, NO_SLOT, memory_order_acquire);\n", "	{\n		q->ended = atomic_load(&q->done);\n		" + YIELD + "		atomic_store(&q->done, NO_SLOT);\n	}\n"),
                        ("flash_threads.c", "#include <errno.h>\n", "#include <errno.h>\n#include <sched.h>\n")],
    "SLEEPS_UNASKED": [("flash_threads.c", "	atomic_fetch_add(&t->asleep, 1);\n	if (!has_work(t) && !atomic_load(&t->over))\n", "	(void)has_work;\n	" + YIELD + "	atomic_fetch_add(&t->asleep, 1);\n	if (!atomic_load(&t->over))\n"),
                       ("flash_threads.c", "#include <errno.h>\n", "#include <errno.h>\n#include <sched.h>\n")],
    "STOP_BEGINS_MORE": [("flash_threads.c", "	while (!atomic_load(&t->over))\n", "	while (!atomic_load(&t->over) || has_work(t))\n")],
    "REST_AT_START": [("flash_threads.c", "(off_t)(io->offset + done)", "(off_t)io->offset")],
    # A segment that was given up may have shadowed what is older.
    "GIVES_UP_ALL": [("flash_recover.c", "		if ((number & FLASH_DROP_ENTRIES) == 0)\n	", "")],
    "BAD_SILENT": [("flash_recover.c", "		flash_shard_journal(r->s, FLASH_DROP, sequence | FLASH_DROP_OLDER);\n", "")],
    # A record that was being begun is written as the page's end says.
    "TORN_TAIL": [("flash_log.c", "	truncate(log, payload(log, buffer), whole);\n", "	(void)whole;\n	(void)truncate;\n")],
    # A log that becomes a column: what was erased meanwhile stays; its entries go before the column is seen; an erasure leaves the column that is made, and one that is not seen yet.
    "NO_DRAIN": [("flash_convert.c", "		flash_column_check(c->shard, it->hash, sequence_of(c, it->location), it->location);\n", "		(void)it;\n		(void)sequence_of;\n")],
    "HIDE_FIRST": [("flash_shard_columns.c", "	flash_columns_show(&s->columns, visible_of(s) | column_bit(s, number));\n	protocol_gap();\n	flash_column_skip(s, to);\n", "	flash_column_skip(s, to);\n	protocol_gap();\n	flash_columns_show(&s->columns, visible_of(s) | column_bit(s, number));\n")],
    "ERASE_VISIBLE_ONLY": [("flash_shard_columns.c", "	s->erasable |= column_bit(s, s->building);\n", ""), ("flash_shard_columns.c", "	flash_column_skip(s, to);\n	s->building = 0;", "	s->erasable |= column_bit(s, s->building);\n	flash_column_skip(s, to);\n	s->building = 0;")],
    # A restart reads segments that have become a column; leaves a bucket half written.
    "CONVERTED_UNKEPT": [("flash_shard_columns.c", "	atomic_store_explicit(&s->log.kept->first, to + 1, memory_order_release);\n", "")],
    "BUCKET_TORN": [("flash_columns.c", "	atomic_store_explicit(&c->kept->torn, bucket + 1, memory_order_release);\n", "")],
    # A column goes, and looks do not begin again; what was erased of it is put into the log; a flush leaves columns, or the one that is made.
    # However much is written, the sweep takes one slice a turn.
    "SWEEP_BY_TURNS": [("flash_shard.c", "	slices = slices_due(s);\n", "	(void)slices_due;\n	slices = 1;\n")],
    "NO_DROP_STEP": [("flash_shard_columns.c", "		flash_index_step(&s->index);\n		protocol_gap();\n", "		protocol_gap();\n")],
    "REINSERT_BLIND": [("flash_shard_columns.c", "	    flash_columns_having(&s->columns, hash, column_bit(s, number)) == 0 ||\n", "")],
    "FLUSH_LEAVES_COLUMNS": [("flash_shard.c", "	flash_shard_columns_hide(s);\n", "")],
    "FLUSH_LEAVES_BUILDING": [("flash_shard_columns.c", "	s->building = 0;\n	s->erasable = 0;\n", "	s->erasable = s->building != 0 ? column_bit(s, s->building) : 0;\n")],
    # Rows of columns that were not written whole are kept, those of a cold start, and numbers that no process wrote; another shape of columns is not seen.
    "ROWS_UNSUMMED": [("flash_rows.c", " || rows_sum(c) != sum))", "))")],
    "ROWS_HANG_UNSAID": [("flash_rows.c", "		return !hangs;\n", "		return true;\n")],
    "ROWS_OF_ANYBODY": [("flash_rows.c", "	if (start == FLASH_COLD)\n		return true;\n", "")],
    "ROWS_UNSOUND": [("flash_rows.c", "	c->is_kept = rows_are_sound(c);\n", "	c->is_kept = true;\n	(void)rows_are_sound;\n")],
    "SHAPE_UNASKED": [("flash_super.c", " &&\n	       a->columns == b->columns && a->column_buckets == b->column_buckets &&", " &&")],
    # A claim takes any column's item for the one that was read.
    "COLUMN_UNCLAIMED": [("flash_shard.c", "	return flash_column_is_shown(s, number) &&\n	       flash_columns_having(&s->columns, hash, 1u << number % s->column.count) != 0;", "	return flash_column_is_shown(s, number);")],
    # Seen in the executions of tests/weak: one grace period; a hand that forgets without a fence; a frame that is
    # published before it is there; a capture that hands back what it still writes; a copy that is not looked at again.
    "ONE_GRACE": [("epoch.h", "#define EPOCH_GRACE   2u", "#define EPOCH_GRACE   1u")],
    "DUE_UNFENCED": [("due_hand.c", "	atomic_thread_fence(memory_order_seq_cst);\n}\n\nstatic bool\nis_due", "}\n\nstatic bool\nis_due")],
    "FRAME_PUBLISHED_FIRST": [("frame_ring.h", "	r->entries[(*at)++ % HANDOVER_RING] =", "	atomic_store_explicit(&r->tail, *at + 1, memory_order_release);\n	r->entries[(*at)++ % HANDOVER_RING] =")],
    "CAPTURE_LEAVES_EARLY": [("capture.c", "	struct copies copies;\n\n	c->below->rx(port, b, count);", "	struct copies copies;\n\n	leave_if_asked(c, port);\n	c->below->rx(port, b, count);")],
    "COPY_UNCHECKED": [("seq_words.h", "		if (SEQ_MUTANT == 2 ||", "		if (true ||")],
    # A port that was reset lacks its rules, queues or MAC; one that its driver recovered, its groups or rules.
    "RESET_NO_RULES": [("device.c", "!keep_mac(d, req, err))\n\t\treturn false;\n\treturn make_rules(d, req, err);\n", "!keep_mac(d, req, err))\n\t\treturn false;\n\treturn true;\n")],
    "RESET_NO_QUEUES": [("device.c", "if (!to_stopped(d, err) || !prepare(d, req, &caps, err) || !set_up_queues(d, err) ||", "if (!to_stopped(d, err) || !prepare(d, req, &caps, err) ||")],
    "RESET_NEW_MAC": [("device.c", "!bring_up(d, req, err) || !keep_mac(d, req, err))", "!bring_up(d, req, err) || (d == NULL && !keep_mac(d, req, err)))")],
    "RESTORE_NO_GROUPS": [("device.c", "{\n\tjoin_groups(d, req->cfg);\n\tif (!fill_reta(", "{\n\tif (!fill_reta(")],
    "RESTORE_NO_RULES": [("device.c", " a second time */\n\treturn make_rules(d, req, err);\n", " a second time */\n\treturn true;\n")],
    # Counters of a NIC that begin anew run backwards.
    "LOSSES_ANEW": [("device_counts.c", "now >= c->seen ? now - c->seen : now;", "now - c->seen;")],
    # A reset does not wait for the cores; the result of an earlier recovery counts for the next one.
    "RESET_BESIDE_CORES": [("port_watch.c", "i < PAUSE_STEPS && ", "i < PAUSE_STEPS && cores == 0 && "), ("port_watch.c", "now_ns >= n->retry_ns &&\n\t\t    process_all_paused(w->of.process, w->of.request.cfg->cores) &&", "now_ns >= n->retry_ns &&")],
    "RECOVERED_BEFORE": [("port_events.c", "\t PORT_EVENT_RECOVERED | PORT_EVENT_RECOVERY_FAILED},", "\t 0},"), ("port_events.c", "was & ~clears", "was & ~(clears * 0)")],
    # An estimate is one counter, not the least.
    "FREQUENCY_ONE_COUNTER": [("frequency.c", "count < least ? count : least", "count")],
}


def find_file(folder, name):
    found = [path for path in (f"{folder}/{name}", *(f"{folder}/{room}/{name}" for room in os.listdir(folder))) if os.path.isfile(path)]
    if len(found) != 1:
        sys.exit(f"{folder} has {len(found)} files {name}, not one")
    return found[0]


def read(path):
    with open(path) as file:
        return file.read()


def main(mutant, folder, outs):
    texts = {}
    for name, old, new in MUTANTS[mutant]:
        text = texts.get(name) or read(find_file(folder, name))
        if text.count(old) != 1:
            sys.exit(f"{mutant}: {name} has this {text.count(old)} times, not once:\n{old}")
        texts[name] = text.replace(old, new)
    files = {os.path.basename(o).removeprefix(mutant.lower() + "_"): o for o in outs}
    if files.keys() != texts.keys():
        sys.exit(f"{mutant} edits {sorted(texts)}, and is built from {sorted(files)}")
    for name, out in files.items():
        with open(out, "w") as file:
            file.write(texts[name])

if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
