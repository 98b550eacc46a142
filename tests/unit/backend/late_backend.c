#include "late_backend.h"

#include "support/test.h"
#include "backend/pending.h"
#include "serve/serve_execute.h"
#include "store/conditional.h"
#include "store/introspect.h"
#include "store/tier.h"

#include <stdlib.h>

#define RECLAIM_TURNS_MAX 20000u
#define ASKS_MAX          8192u /* most requests that are open or whose answer is under way */
#define COPIES_MAX        256u  /* items that the flash has room for; further ones are lost */

enum ask_state {
	ASK_NONE,
	ASK_OPEN,
	ASK_FORGOTTEN, /* the request has ended, and its answer still arrives */
	ASK_TAKEN,     /* the rig uses the answer's item */
};

struct ask {
	enum ask_state state;
	uint64_t ticket, due;
	char key[16];
	uint32_t key_len;
	struct fill fill; /* the item of its answer */
	bool write, valued, promote;
	bool read, found;      /* read: the key was read when it was requested; found: it existed */
	uint8_t verb, written; /* written: number of writes of the key at that time */
	struct fill value;     /* the value of the request */
	struct backend_answer said;
};

/* An item on the flash. */
struct copy {
	uint8_t *value; /* NULL: none */
	uint64_t hash, cas;
	char key[16];
	uint32_t key_len, len, flags, expiry_s, status;
};

struct late {
	struct rig *rig;
	struct late_config cfg;
	uint64_t rng, turn, asked, stale, answered;
	bool hold;
	uint64_t moved; /* number of lanes by which keys have moved */
	uint32_t used;  /* entries of asks[] that were ever used */
	void *memory;
	struct rig *server; /* the server's store, to which clients' writes go */
	uint64_t values;
	uint8_t written[LATE_NUMBERS];
	struct store_tier tier;
	uint64_t promotions, read;
	uint32_t unended; /* requests of this turn, before send() */
	bool ended;
	struct copy copies[COPIES_MAX];
	struct ask asks[ASKS_MAX];
	uint64_t tickets[1u << 16]; /* last ticket of each slot */
};

static uint32_t
below(struct late *late, uint32_t n)
{
	late->rng = late->rng * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(late->rng >> 33) % n;
}

/* ---- values of keys ---- */

static uint32_t
number_of(const struct ask *a)
{
	return (uint32_t)strtoul(a->key + 1, NULL, 10);
}

static uint32_t
length_of(uint32_t n)
{
	return n % 7 == 3 ? 1024 + n * 397 % 9000 : n * 31 % 900;
}

static const struct item *
written_item(struct late *late, const struct ask *a)
{
	struct store_core *sc = late->server->core;
	const struct view key = {(const uint8_t *)a->key, a->key_len};

	return store_peek(sc, key, store_hash(sc, key));
}

/* Copies an item's value from one store into a fill of another. */
static void
value_copy_to(struct store_core *to, struct fill *f, const struct store_core *from,
	      const struct item *it)
{
	for (uint32_t at = 0; at < item_value_len(it);) {
		const struct view run = store_value_at(from, it, at);

		store_fill(to, f, run.data, run.len);
		at += run.len;
	}
}

static void
written_copy(struct late *late, struct ask *a)
{
	const struct item *it = written_item(late, a);
	const struct view key = {(const uint8_t *)a->key, a->key_len};
	struct store_core *sc = late->rig->core;

	a->said.cas = item_cas(it);
	check_eq(store_begin(sc, &a->fill, key, store_hash(sc, key), item_value_len(it),
			     item_flags(it), 0),
		 STORE_OK);
	value_copy_to(sc, &a->fill, late->server->core, it);
}

/* ---- the flash ---- */

static struct copy *
copy_of(struct late *late, uint64_t hash)
{
	for (uint32_t i = 0; late->cfg.flash && i < COPIES_MAX; i++)
		if (late->copies[i].value != NULL && late->copies[i].hash == hash)
			return &late->copies[i];
	return NULL;
}

static void
copy_drop(struct copy *c)
{
	if (c == NULL)
		return;
	free(c->value);
	c->value = NULL;
}

static uint64_t
flash_evicting(void *arg, struct store_core *sc, const struct item *it, uint64_t hash)
{
	return 0; /* the test evicts */
}

static bool
flash_copying(void *arg, struct store_core *sc, uint64_t offer, const struct item *it)
{
	fail_msg("nothing was offered");
	return true;
}

static void
flash_evicted(void *arg, struct store_core *sc, uint64_t offer, const struct item *it,
	      uint32_t generation)
{
	fail_msg("nothing was offered");
}

static void
flash_absent(void *arg, struct store_core *sc, uint64_t hash, uint32_t generation)
{
	copy_drop(copy_of(arg, hash));
}

static void
flash_flushed(void *arg, struct store_core *sc, uint32_t generation)
{
	struct late *late = arg;

	for (uint32_t i = 0; i < COPIES_MAX; i++)
		copy_drop(&late->copies[i]);
}

static struct view
key_with_l(char text[static 16], uint32_t number)
{
	return (struct view){(const uint8_t *)text, (uint32_t)sprintf(text, "l%u", number)};
}

/* True if a promoted item must stay. It was promoted for a write as often as allowed; evicting it
 * again before the write runs would lose it, which a cache may, but the client would see it. */
static bool
is_to_stay(const struct late *late, uint64_t hash)
{
	const struct pending_table *pt = late->rig->serve->pending;

	for (uint32_t i = 0; i < PENDING_MAX && !late->cfg.thrashes; i++)
		if (pt->table[i].state == PENDING_READY && pt->table[i].hash == hash &&
		    pt->table[i].times == PENDING_TIMES_MAX)
			return true;
	return false;
}

void
late_evict(struct late *late, uint32_t number)
{
	struct store_core *sc = late->rig->core;
	struct copy *c = late->copies;
	char text[16];
	const struct view key = key_with_l(text, number);
	const struct item *it = store_peek(sc, key, store_hash(sc, key));
	struct copy new = {.hash = store_hash(sc, key), .key_len = key.len};

	if (it == NULL || is_to_stay(late, new.hash))
		return;
	check(copy_of(late, new.hash) == NULL);
	memcpy(new.key, text, sizeof new.key);
	new.len = item_value_len(it);
	new.flags = item_flags(it);
	new.expiry_s = item_expiry_s(it);
	new.status = item_status(it);
	new.cas = item_cas(it);
	new.value = malloc(new.len + 1);
	for (uint32_t at = 0; at < new.len;) {
		const struct view run = store_value_at(sc, it, at);

		memcpy(new.value + at, run.data, run.len);
		at += run.len;
	}
	check_eq(store_delete(sc, key, new.hash), STORE_OK);
	while (c < late->copies + COPIES_MAX && c->value != NULL)
		c++;
	check(c < late->copies + COPIES_MAX);
	*c = new;
}

void
late_put(struct late *late, uint32_t number)
{
	struct store_core *sc = late->rig->core;
	char text[16];
	const struct view key = key_with_l(text, number);
	struct fill f;

	check_eq(store_begin(sc, &f, key, store_hash(sc, key), 2, 5, 0), STORE_OK);
	store_fill(sc, &f, "17", 2);
	check_eq(store_finish(sc, &f, STORE_SET, 0), STORE_OK);
}

static bool
claim_begin(void *arg, struct store_core *sc, uint32_t generation)
{
	return ((struct copy *)arg)->value != NULL;
}

static void
claim_end(void *arg, struct store_core *sc)
{
	copy_drop(arg);
}

static void
copy_begin(struct late *late, const struct copy *c, struct fill *f)
{
	struct store_core *sc = late->rig->core;
	const struct view key = {(const uint8_t *)c->key, c->key_len};

	check_eq(store_begin(sc, f, key, c->hash, c->len, c->flags, c->expiry_s), STORE_OK);
	store_fill(sc, f, c->value, c->len);
}

static void
copy_promote(struct late *late, struct copy *c, struct fill *f)
{
	const struct store_promotion promotion = {
		.cas = c->cas, .status = c->status, .claim = {c, claim_begin, claim_end}};
	const struct item *made;

	check_eq(store_promote(late->rig->core, f, &promotion, &made), STORE_OK);
	check(c->value == NULL);
	late->promotions++;
}

static void
copy_bring(struct late *late, struct copy *c)
{
	struct fill f;

	copy_begin(late, c, &f);
	copy_promote(late, c, &f);
}

/* Ends the use of a copy's item. Now and then it is promoted, if the copy still exists. */
static void
copy_release(struct late *late, struct ask *a)
{
	struct copy *c = copy_of(late, a->fill.hash);

	if (c != NULL && c->cas == a->said.cas && below(late, 3) == 0)
		copy_promote(late, c, &a->fill);
	else
		store_abandon(late->rig->core, &a->fill);
}

static bool
may_have(void *arg, struct view key, uint64_t hash)
{
	struct late *late = arg;

	/* The backend may have any other key. Of the l keys that it lacks it claims one in eight,
	 * as an index with false matches does. */
	return key.data[0] != 'l' || copy_of(late, hash) != NULL || hash % 8 == 0;
}

/* A real backend forgets the copy. This one promotes it, so that the client's reply is the one that
 * the test expects. */
static bool
missed(void *arg, struct view key, uint64_t hash)
{
	struct late *late = arg;
	struct copy *c = copy_of(late, hash);

	if (c != NULL)
		copy_bring(late, c);
	return store_shadow(late->rig->core, key, hash, NULL) != STORE_EXISTS;
}

/* Promotes the copy of a key with an l if the request asks for that, and returns false. Otherwise
 * returns true if there is a copy to read. */
static bool
flash_is_here(struct late *late, struct ask *a)
{
	struct store_core *sc = late->rig->core;
	const struct view key = {(const uint8_t *)a->key, a->key_len};
	struct copy *c = copy_of(late, store_hash(sc, key));

	if (!a->promote)
		return c != NULL;
	if (c != NULL)
		copy_bring(late, c);
	a->said.here = store_peek(sc, key, store_hash(sc, key)) != NULL;
	return false;
}

static void
value_make(struct late *late, struct ask *a)
{
	static uint8_t bytes[16384];
	const struct view key = {(const uint8_t *)a->key, a->key_len};
	const uint32_t n = number_of(a), len = a->key[0] == 'v' ? 6 : length_of(n);
	struct store_core *sc = late->rig->core;

	if (a->key[0] == 'l' && late->cfg.flash) {
		struct copy *c = copy_of(late, store_hash(sc, key));

		c->status |= ITEM_FETCHED;
		copy_begin(late, c, &a->fill);
		a->said.cas = c->cas;
		late->read++;
		return;
	}
	if (a->key[0] == 'l') {
		written_copy(late, a);
		return;
	}
	if (a->key[0] == 'v')
		snprintf((char *)bytes, sizeof bytes, "%06u", (uint32_t)late->answered);
	else
		for (uint32_t i = 0; i < len; i++)
			bytes[i] = (uint8_t)('a' + (n + i * 7) % 26);
	check_eq(store_begin(sc, &a->fill, key, store_hash(sc, key), len, n % 3, 0), STORE_OK);
	store_fill(sc, &a->fill, bytes, len);
}

static uint64_t
cas_of(const struct ask *a)
{
	return a->key[0] == 'l' ? a->said.cas : 1000 + number_of(a);
}

/* True if the key with an l was not written since: a value of that time may be a copy. */
static bool
is_newest(const struct late *late, const struct ask *a)
{
	return a->key[0] != 'l' || late->written[number_of(a) % LATE_NUMBERS] == a->written;
}

/* Ends a value: it is published, so that its pinned bytes stay, and then kept or deleted. */
static void
value_end(struct late *late, struct ask *a, bool keep)
{
	struct store_core *sc = late->rig->core;
	const struct view key = {(const uint8_t *)a->key, a->key_len};
	const struct store_conditions as_is = {
		.mode = STORE_SET, .set_cas = true, .new_cas = cas_of(a)};

	keep = keep && is_newest(late, a);
	if (!keep && (a->fill.value_len < ITEM_PIN_MIN_BYTES || !is_newest(late, a))) {
		store_abandon(sc, &a->fill);
		return;
	}
	check_eq(store_finish_with(sc, &a->fill, &as_is, &(const struct item *){NULL}), STORE_OK);
	if (!keep)
		store_delete(sc, key, store_hash(sc, key));
}

/* ---- the backend ---- */

static uint32_t
lane(void *arg, struct view key, uint64_t hash)
{
	const struct late *late = arg;

	return (uint32_t)((hash + late->moved) % LATE_LANES);
}

static struct ask *
find(struct late *late, uint64_t ticket)
{
	for (uint32_t i = 0; i < late->used; i++)
		if (late->asks[i].state != ASK_NONE && late->asks[i].ticket == ticket)
			return &late->asks[i];
	fail_msg("no such ask");
	return NULL;
}

static struct ask *
ask_new(struct late *late, const struct backend_ask *q)
{
	struct ask *a = late->asks;

	check_eq(q->hash, q->key.len > 0 ? store_hash(late->rig->core, q->key) : 0);
	check_eq(q->lane, lane(late, q->key, q->hash));
	check(late->tickets[q->ticket & 0xffff] < q->ticket + 1);
	late->tickets[q->ticket & 0xffff] = q->ticket + 1;
	while (a->state != ASK_NONE)
		check(++a < late->asks + ASKS_MAX);
	check(q->key.len < sizeof a->key);
	*a = (struct ask){.state = ASK_OPEN,
			  .ticket = q->ticket,
			  .due = late->turn + 1 + below(late, late->cfg.delay_max + 1),
			  .key_len = q->key.len};
	if (q->key.len > 0)
		memcpy(a->key, q->key.data, q->key.len);
	if (a - late->asks >= late->used)
		late->used = (uint32_t)(a - late->asks) + 1;
	late->asked++;
	late->unended++;
	return a;
}

/* ---- writes ---- */

static bool
returns_value(const struct ask *a)
{
	return a->verb == MC_GAT || a->verb == MC_GATS || a->verb == MC_MG || a->verb == MC_BIN_GAT;
}

static void
serve_store(struct late *late, struct ask *a, const struct backend_ask *q)
{
	struct store_core *sc = late->server->core;
	const struct mc_req *req = q->req;
	const bool vivify = req->verb == MC_MS && (req->meta.flags & MC_FLAG_VIVIFY) != 0;
	const bool binary = (req->flags & MC_BINARY) != 0;
	const struct store_conditions how = {.mode = store_mode_of(req),
					     .cas = req->cas,
					     .compare = binary && req->cas != 0,
					     .vivify = vivify};
	const struct item *made = NULL;
	struct fill f;

	check_eq(req->body_len, a->value.value_len);
	check_eq(req->client_flags, item_flags(a->value.item));
	check_eq(store_begin(sc, &f, q->key, q->hash, a->value.value_len, req->client_flags, 0),
		 STORE_OK);
	value_copy_to(sc, &f, late->rig->core, a->value.item);
	a->said.result = store_finish_with(sc, &f, &how, &made);
	a->said.cas = made != NULL ? item_cas(made) : 0;
	a->said.size = made != NULL ? item_value_len(made) : 0;
}

static void
serve_count_up(struct late *late, struct ask *a, const struct backend_ask *q)
{
	const struct mc_req *req = q->req;
	const bool meta = req->verb == MC_MA, text = req->verb == MC_INCR || req->verb == MC_DECR;
	const struct store_arith_args sum = {
		.delta = req->delta,
		.decr = meta ? req->meta.mode == MC_MODE_DECR
			     : req->verb == MC_DECR || req->verb == MC_BIN_DECR,
		.compare = !text && req->cas != 0,
		.cas = req->cas,
		.vivify = !text && (req->meta.flags & MC_FLAG_VIVIFY),
		.initial = text ? 0 : req->meta.initial,
	};
	struct store_arith_result total;

	a->said.result = store_arith_with(late->server->core, q->key, q->hash, &sum, &total);
	a->said.number = total.value;
	a->said.cas = total.made != NULL ? item_cas(total.made) : 0;
	a->said.ttl_s = -1;
}

static void
serve_delete(struct late *late, struct ask *a, const struct backend_ask *q)
{
	const struct store_removal how = {.compare = q->req->cas != 0, .cas = q->req->cas};
	const struct item *left;

	a->said.result = store_delete_with(late->server->core, q->key, q->hash, &how, &left);
}

static void
serve_touch(struct late *late, struct ask *a, const struct backend_ask *q)
{
	const struct item *it = NULL;

	a->said.result = store_touch(late->server->core, q->key, q->hash, 0, &it);
	a->said.client_flags = it != NULL ? item_flags(it) : 0;
	a->said.cas = it != NULL ? item_cas(it) : 0;
}

/* Writes as a server does; both stores use the same hash. */
static void
serve_write(struct late *late, struct ask *a, const struct backend_ask *q)
{
	check_eq(store_hash(late->server->core, q->key), q->hash);
	if (a->valued)
		serve_store(late, a, q);
	else if (a->verb == MC_DELETE || a->verb == MC_MD || a->verb == MC_BIN_DELETE)
		serve_delete(late, a, q);
	else if (a->verb == MC_TOUCH || a->verb == MC_BIN_TOUCH || returns_value(a))
		serve_touch(late, a, q);
	else
		serve_count_up(late, a, q);
}

/* Makes a result that follows from the key's number. */
static void
pretend(struct late *late, struct ask *a)
{
	static const uint8_t results[] = {STORE_OK,          STORE_NOT_STORED, STORE_EXISTS,
					  STORE_NOT_FOUND,   STORE_TOO_LARGE,  STORE_NO_MEMORY,
					  STORE_NOT_A_NUMBER};
	const uint32_t n = number_of(a);

	a->said = (struct backend_answer){.result = results[n % sizeof results],
					  .number = 1000003ull * n,
					  .cas = 7,
					  .ttl_s = (int32_t)n - 1,
					  .size = n,
					  .client_flags = n,
					  .error = n % 11 == 10 ? MC_ERR_TOO_LARGE : MC_ERR_NONE};
}

static void
write_ask(struct late *late, struct ask *a, const struct backend_ask *q)
{
	const struct fill *value = q->value;

	a->write = true;
	a->verb = q->req->verb;
	if (value != NULL) {
		check_eq(value->filled, value->value_len);
		check_eq(item_key(value->item).len, q->key.len);
		check_bytes(item_key(value->item).data, q->key.data, q->key.len);
		a->value = *value;
		a->valued = true;
		late->values++;
	}
	if (q->key.len > 0)
		store_delete(late->rig->core, q->key, q->hash);
	if (a->key[0] == 'l') {
		late->written[number_of(a) % LATE_NUMBERS]++;
		serve_write(late, a, q);
	} else if (q->key.len > 0 && !returns_value(a)) {
		pretend(late, a);
	}
}

static void
read_now(struct late *late, struct ask *a)
{
	a->read = true;
	a->found = written_item(late, a) != NULL;
	if (a->found)
		value_make(late, a);
}

static void
ask(void *arg, const struct backend_ask *q)
{
	struct late *late = arg;
	struct ask *a = ask_new(late, q);

	a->promote = q->kind == BACKEND_ASK_PROMOTE;
	check(!a->promote || late->cfg.flash);
	check(q->value == NULL || q->kind == BACKEND_ASK_WRITE);
	if (q->kind == BACKEND_ASK_WRITE)
		write_ask(late, a, q);
	else if (late->cfg.in_order && a->key[0] == 'l')
		read_now(late, a);
	a->written = late->written[number_of(a) % LATE_NUMBERS];
}

static bool
follows(void *arg, uint64_t ticket, struct view key, uint64_t hash)
{
	struct late *late = arg;
	const struct ask *a = find(late, ticket);

	check_eq(a->state, ASK_OPEN);
	check_eq(a->key_len, key.len);
	check_bytes(a->key, key.data, key.len);
	return late->cfg.in_order;
}

static enum backend_copy
copy_answers(void *arg, const struct mc_req *req, const struct item *item, uint64_t *cas)
{
	return req->verb == MC_GETS || req->verb == MC_BIN_GET ? BACKEND_COPY_NONE
							       : BACKEND_COPY_HERE;
}

/* Ends the value of a write. The value of a plain set may become a copy. */
static void
write_end(struct late *late, struct ask *a, bool wanted)
{
	struct store_core *sc = late->rig->core;
	const struct store_conditions as_is = {
		.mode = STORE_SET, .set_cas = true, .new_cas = a->said.cas};
	const bool keep = wanted && a->key[0] == 'l' && a->said.result == STORE_OK &&
			  (a->verb == MC_SET || a->verb == MC_BIN_SET) && is_newest(late, a) &&
			  below(late, 10) < late->cfg.copies_of_ten;

	if (!a->valued)
		return;
	if (keep)
		store_finish_with(sc, &a->value, &as_is, &(const struct item *){NULL});
	else
		store_abandon(sc, &a->value);
	backend_value_end(late->rig->serve, (uint32_t)(a->value.hash % LATE_LANES),
			  a->value.value_len);
	late->values--;
}

/* ---- answers ---- */

static bool
is_here(struct late *late, struct ask *a)
{
	if (a->write && !returns_value(a))
		return false;
	if (a->read)
		return a->found;
	if (a->key[0] == 'l' && late->cfg.flash)
		return flash_is_here(late, a);
	if (a->promote)
		return false;
	if (a->key[0] == 'l')
		return written_item(late, a) != NULL;
	return a->key[0] == 'v' || (a->key[0] == 's' && number_of(a) % 5 != 0);
}

static void
answer(struct late *late, struct ask *a)
{
	const bool here = is_here(late, a);
	const bool wanted = a->state == ASK_OPEN;
	struct backend_answer said = a->said;

	late->answered++;
	if (here) {
		if (!a->read)
			value_make(late, a);
		said.item = a->fill.item;
	}
	said.failed = a->key[0] == 'f';
	if (here || !a->write)
		said.cas = here || !a->read ? cas_of(a) : 0;
	if (a->write)
		write_end(late, a, wanted);
	check_eq(backend_answer(late->rig->serve, a->ticket, &said), wanted);
	/* The second answer must be refused. */
	check(!backend_answer(late->rig->serve, a->ticket, &said));
	late->stale += !wanted;
	if (said.here && (late->cfg.thrashes || below(late, 3) == 0))
		late_evict(late, number_of(a));
	a->state = here && wanted ? ASK_TAKEN : ASK_NONE;
	if (here && !wanted && late->cfg.flash && a->key[0] == 'l')
		store_abandon(late->rig->core, &a->fill);
	else if (here && !wanted)
		value_end(late, a, false);
}

static void
poll(void *arg, uint64_t now_ns)
{
	struct late *late = arg;
	const uint32_t from = below(late, late->used + 1);

	if (late->hold)
		return;
	while (late->used > 0 && late->asks[late->used - 1].state == ASK_NONE)
		late->used--;
	for (uint32_t i = 0; i < late->used; i++) {
		struct ask *a = &late->asks[(from + i) % late->used];

		if (a->state != ASK_OPEN && a->state != ASK_FORGOTTEN)
			continue;
		if (a->due <= late->turn && (a->key[0] != 'd' || a->state == ASK_FORGOTTEN))
			answer(late, a);
	}
}

/* Called once in a turn, when all requests of the turn are known. */
static void
send(void *arg)
{
	struct late *late = arg;

	check(late->unended > 0 && !late->ended);
	late->unended = 0;
	late->ended = true;
}

static void
forget(void *arg, uint64_t ticket)
{
	struct ask *a = find(arg, ticket);

	check_eq(a->state, ASK_OPEN);
	a->state = ASK_FORGOTTEN;
}

static void
release(void *arg, uint64_t ticket, const struct item *item)
{
	struct late *late = arg;
	struct ask *a = find(late, ticket);

	check_eq(a->state, ASK_TAKEN);
	check_ptr(item);
	check(item == a->fill.item);
	if (late->cfg.flash && a->key[0] == 'l')
		copy_release(late, a);
	else
		value_end(late, a, below(late, 10) < late->cfg.copies_of_ten);
	a->state = ASK_NONE;
}

/* ---- calls of the test ---- */

struct late *
late_create(const struct late_config *cfg)
{
	struct late *late = calloc(1, sizeof *late);
	const struct backend backend = {
		.arg = late,
		.mode = cfg->flash    ? BACKEND_PROMOTES
			: cfg->writes ? BACKEND_WRITES
				      : BACKEND_READS,
		.misses_on_failure = cfg->misses_on_failure,
		.lanes = LATE_LANES,
		.timeout_ns = LATE_TIMEOUT_NS,
		.ask = ask,
		.send = send,
		.poll = poll,
		.forget = forget,
		.release = release,
		.lane = lane,
		.follows = cfg->in_order ? follows : NULL,
		.tier.may_have = cfg->flash ? may_have : NULL,
		.tier.missed = cfg->flash ? missed : NULL,
		.copies.answers = cfg->writes ? copy_answers : NULL,
	};
	struct region region = {.size = backend_bytes() + CACHE_LINE_BYTES};

	late->cfg = *cfg;
	late->rng = cfg->seed;
	late->rig = rig_create();
	late->server = rig_create();
	if (cfg->plain)
		return late;
	late->tier = (struct store_tier){.arg = late,
					 .evicting = flash_evicting,
					 .copying = flash_copying,
					 .evicted = flash_evicted,
					 .absent = flash_absent,
					 .flushed = flash_flushed};
	if (cfg->flash)
		store_tier_attach(late->rig->store, &late->tier);
	late->memory = region.base = calloc(1, region.size);
	backend_attach(&region, late->rig->serve, &backend);
	return late;
}

void
late_pace(struct late *late, uint32_t delay_max, uint32_t copies_of_ten)
{
	late->cfg.delay_max = delay_max;
	late->cfg.copies_of_ten = copies_of_ten;
}

/* Checks that all quota charged for values is returned. */
static void
quotas_check(const struct late *late)
{
	const struct pending_table *pt = late->rig->serve->pending;

	for (uint32_t i = 0; i < FILL_QUOTA_ACCOUNTS; i++)
		check_eq(atomic_load(&late->rig->shared->quota_used[i]), 0);
	if (pt == NULL)
		return;
	check_eq(pt->values, 0);
	check_eq(pt->kept_count, 0);
	check_eq(pt->udp_count, 0);
	check_eq(pt->free_count, PENDING_MAX);
	for (uint32_t i = 0; i < LATE_LANES; i++)
		check(pt->lanes[i].values == 0 && pt->lanes[i].open == 0);
}

static uint64_t
objects_used(const struct late *late)
{
	uint64_t used = 0;

	for (uint32_t i = 1; i <= store_class_count_mt(late->rig->store); i++) {
		struct store_class_usage u;

		store_class_usage_mt(late->rig->store, i, late->rig->clock.now_s, &u);
		used += u.used;
	}
	return used;
}

/* Checks that no object stays in use once all items are flushed: that would
 * be a value never ended. */
static void
objects_check(struct late *late)
{
	struct rig *r = late->rig;
	uint32_t turns = 0;

	check_eq(store_flush(r->core, r->clock.now_s), STORE_OK);
	for (; objects_used(late) > 0 && turns < RECLAIM_TURNS_MAX; turns++) {
		r->clock.now_s++;
		late_turn(late);
	}
	check_eq(objects_used(late), 0);
}

void
late_destroy(struct late *late)
{
	for (uint32_t i = 0; i < ASKS_MAX; i++)
		check(late->asks[i].state == ASK_NONE);
	check_eq(backend_pending(late->rig->serve), 0);
	check_eq(late->values, 0);
	quotas_check(late);
	objects_check(late);
	rig_destroy(late->server);
	rig_destroy(late->rig);
	free(late->memory);
	free(late);
}

struct rig *
late_rig(struct late *late)
{
	return late->rig;
}

void
late_turn(struct late *late)
{
	late->turn++;
	late->rig->clock.now_ns += LATE_TURN_NS;
	late->ended = false;
	rig_turn(late->rig);
	check_eq(late->unended, 0);
	rig_turn(late->server);
}

void
late_hold(struct late *late, bool hold)
{
	late->hold = hold;
}

void
late_move_keys(struct late *late)
{
	late->moved++;
}

uint64_t
late_asked(const struct late *late)
{
	return late->asked;
}

uint32_t
late_written(const struct late *late, uint32_t number)
{
	return late->written[number % LATE_NUMBERS];
}

void
late_forget(struct late *late, uint32_t number)
{
	char text[16];
	const struct view key = {(const uint8_t *)text, (uint32_t)sprintf(text, "l%u", number)};
	struct store_core *sc = late->server->core, *copies = late->rig->core;

	store_delete(sc, key, store_hash(sc, key));
	store_delete(copies, key, store_hash(copies, key));
	late->written[number % LATE_NUMBERS] = 0;
}

uint64_t
late_promotions(const struct late *late)
{
	return late->promotions;
}

uint64_t
late_read(const struct late *late)
{
	return late->read;
}

uint64_t
late_values(const struct late *late)
{
	return late->values;
}

uint64_t
late_stale(const struct late *late)
{
	return late->stale;
}
