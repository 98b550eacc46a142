/*
 * serve_meta.c - meta commands: executes their flags on the store, and composes their replies. If
 * an item is stale, about to expire (R) or just created by a get (N), one client should fetch it
 * anew. The store chooses that client, which gets W; all others get Z.
 */
#include "serve_record.h"

#include "store/introspect.h"

/* Most tries of a get to create its item while other clients delete it. */
#define VIVIFY_TRIES_MAX 8u

/* ---- replies ---- */

/* True if the key must be shown in base64. Any other key is shown as it is; a key that only the
 * binary protocol can store may break the line. */
static bool
shown_as_base64(const struct item *it)
{
	const struct view key = item_key(it);

	return item_key_is_binary(it) || memchr(key.data, ' ', key.len) != NULL ||
	       memchr(key.data, '\n', key.len) != NULL;
}

static int32_t
ttl_s(const struct serve *sv, uint32_t expiry_s)
{
	if (expiry_s == 0)
		return -1;
	return expiry_s > sv->clock.now_s ? (int32_t)(expiry_s - sv->clock.now_s) : 0;
}

/* Replies with a line without an item: the request's key and opaque, and the fields in *shown. */
static void
reply_code(struct serve *sv, struct op *op, enum mc_meta_code code, struct mc_meta_item *shown)
{
	const struct mc_meta *meta = &op->req.meta;
	uint8_t key[MC_KEY_MAX], *at;

	shown->shown |= MC_META_ECHOED;
	shown->base64 = (op->req.flags & MC_KEY_BASE64) != 0;
	shown->key = op->req.key;
	/* The request's key may be in the memory to which the reply is written. */
	if (op->session == NULL && (meta->flags & MC_FLAG_KEY)) {
		memcpy(key, shown->key.data, shown->key.len);
		shown->key.data = key;
	}
	at = reply_begin(sv, op, MC_META_LINE_MAX);
	reply_end(sv, op, at, mc_put_meta(at, code, meta, shown));
	shown->key = op->req.key; /* `key` is valid only in this block */
}

static void
reply_echo(struct serve *sv, struct op *op, enum mc_meta_code code)
{
	reply_code(sv, op, code, &(struct mc_meta_item){.shown = 0});
}

static inline bool
has_flag(const struct op *op, uint32_t flags)
{
	return (op->req.meta.flags & flags) != 0;
}

/* ---- mg ---- */

/* The item that a get has found or created. */
struct found {
	const struct item *item;
	bool created, fetched, recache, won;
	/* The outcome of flag T. STORE_NO_MEMORY and STORE_NOT_YET: the expiry is unchanged. */
	enum store_result touched;
	uint32_t idle_s;
	uint32_t ttl_expiry_s; /* the expiry that flag t shows */
	uint64_t cas;
};

/* Returns the expiry of a created item: of the flags N and T the later one in the request
 * decides. */
static uint32_t
made_expiry_s(const struct serve *sv, const struct op *op)
{
	const bool touch =
		has_flag(op, MC_FLAG_SET_EXPTIME) && !has_flag(op, MC_FLAG_VIVIFY_AFTER_TOUCH);

	return serve_expiry_s(&sv->clock, touch ? op->req.exptime : op->req.meta.vivify_exptime);
}

/* Creates an empty item, which the client is expected to fill, or finds one that another core has
 * created meanwhile. */
static void
vivify(struct serve *sv, struct op *op, struct found *f)
{
	const struct store_conditions conditions = {
		.mode = STORE_ADD,
		.won = true,
		.set_cas = has_flag(op, MC_FLAG_NEW_CAS),
		.new_cas = op->req.meta.new_cas,
		.binary_key = (op->req.flags & MC_KEY_BASE64) != 0,
	};
	const uint32_t expiry_s = made_expiry_s(sv, op);

	for (uint32_t tries = 0; tries < VIVIFY_TRIES_MAX && f->item == NULL; tries++) {
		struct fill fill;

		if (store_begin(sv->store, &fill, op->req.key, op->hash, 0, 0, expiry_s) !=
		    STORE_OK)
			return;
		switch (store_finish_with(sv->store, &fill, &conditions, &f->item)) {
		case STORE_OK:
			f->created = true;
			return;
		case STORE_NOT_STORED:
			f->item = store_peek(sv->store, op->req.key, op->hash);
			break;
		default:
			return;
		}
	}
}

/* Sets the expiry. Another core may remove the item at the same time. Without memory the old expiry
 * stays. */
static void
set_expiry(struct serve *sv, struct op *op, struct found *f)
{
	const uint32_t expiry_s = serve_expiry_s(&sv->clock, op->req.exptime);
	const struct item *it = NULL;
	const enum store_result r =
		store_expire_at(sv->store, op->req.key, op->hash, expiry_s, &it);

	f->touched = r;
	if (r == STORE_OK || r == STORE_NOT_FOUND)
		f->item = it;
}

/* Returns the expiry that flag t shows for a created item. Flags act in the order of the request,
 * so t shows T and N only if they precede it. */
static uint32_t
made_expiry_shown(const struct serve *sv, const struct op *op)
{
	const bool before_touch = has_flag(op, MC_FLAG_TTL_BEFORE_TOUCH);

	if (!has_flag(op, MC_FLAG_TTL_BEFORE_VIVIFY))
		return before_touch ? serve_expiry_s(&sv->clock, op->req.meta.vivify_exptime)
				    : made_expiry_s(sv, op);
	return has_flag(op, MC_FLAG_SET_EXPTIME) && !before_touch
		       ? serve_expiry_s(&sv->clock, op->req.exptime)
		       : 0;
}

static bool
must_recache(const struct serve *sv, const struct op *op, uint32_t before_s, uint32_t after_s)
{
	const uint32_t expiry_s = has_flag(op, MC_FLAG_RECACHE_BEFORE_TOUCH) ? before_s : after_s;

	return has_flag(op, MC_FLAG_RECACHE) && expiry_s != 0 &&
	       expiry_s < serve_expiry_s(&sv->clock, op->req.meta.recache_s);
}

/* The flags that most gets do not have. */
#define RARE_FLAGS                                                                                 \
	(MC_FLAG_HIT | MC_FLAG_IDLE | MC_FLAG_TTL | MC_FLAG_SET_EXPTIME | MC_FLAG_RECACHE |        \
	 MC_FLAG_VIVIFY)

static void
apply_flags(struct serve *sv, struct op *op, struct found *f)
{
	const uint32_t before_s = item_expiry_s(f->item);

	if (has_flag(op, MC_FLAG_HIT))
		f->fetched = store_is_fetched(sv->store, f->item);
	if (has_flag(op, MC_FLAG_IDLE))
		f->idle_s = store_idle_s(sv->store, f->item);
	if (f->created) {
		f->ttl_expiry_s = made_expiry_shown(sv, op);
		return;
	}
	if (has_flag(op, MC_FLAG_SET_EXPTIME))
		set_expiry(sv, op, f);
	if (f->item == NULL)
		return;
	f->ttl_expiry_s = item_expiry_s(f->item);
	f->recache = must_recache(sv, op, before_s, f->ttl_expiry_s);
	if (has_flag(op, MC_FLAG_TTL_BEFORE_TOUCH))
		f->ttl_expiry_s = before_s;
}

static void
find(struct serve *sv, struct op *op, struct found *f)
{
	if (f->item == NULL && has_flag(op, MC_FLAG_VIVIFY))
		vivify(sv, op, f);
	if (f->item != NULL && has_flag(op, RARE_FLAGS))
		apply_flags(sv, op, f);
	if (f->item == NULL)
		return;
	if (likely(!has_flag(op, MC_FLAG_NO_BUMP)))
		store_bump(sv->store, f->item);
	f->cas = item_cas(f->item); /* read before store_win(), which changes it */
	f->won = f->created ||
		 ((f->recache || item_is_stale(f->item)) && store_win(sv->store, f->item));
}

static struct mc_meta_item
show(const struct serve *sv, const struct op *op, const struct found *f)
{
	const struct item *it = f->item;

	return (struct mc_meta_item){
		.shown = MC_META_RETURNED,
		.base64 = has_flag(op, MC_FLAG_KEY) && shown_as_base64(it),
		.fetched = f->fetched,
		.sent = !f->won && item_is_won(it),
		.stale = item_is_stale(it),
		.won = f->won,
		.key = item_key(it),
		.size = item_value_len(it),
		.client_flags = item_flags(it),
		.ttl_s = ttl_s(sv, f->ttl_expiry_s),
		.idle_s = f->idle_s,
		.cas = f->cas,
	};
}

static inline enum exec_status
reply_found(struct serve *sv, struct op *op, const struct item *it, struct mc_meta_item shown)
{
	const uint32_t len = shown.size;
	uint8_t *begin, *at;

	/* A client that names the present cas already has the value. */
	if (!has_flag(op, MC_FLAG_VALUE) ||
	    (has_flag(op, MC_FLAG_COMPARE) && shown.cas == op->req.cas)) {
		begin = reply_begin(sv, op, MC_META_LINE_MAX);
		reply_end(sv, op, begin, mc_put_meta(begin, MC_META_HD, &op->req.meta, &shown));
		return EXEC_DONE;
	}
	if (unlikely(len >= ITEM_PIN_MIN_BYTES)) {
		reply_in_parts(op);
		begin = reply_begin(sv, op, MC_META_LINE_MAX);
		at = mc_put_meta_value_head(begin, len, &op->req.meta, &shown);
		reply_end(sv, op, begin, at);
		return reply_pinned(sv, op, it, TAIL_LAST);
	}
	begin = reply_begin(sv, op, MC_META_LINE_MAX + len + VALUE_TAIL_MAX);
	at = mc_put_meta_value_head(begin, len, &op->req.meta, &shown);
	at = value_copy(sv, at, it, len);
	reply_end(sv, op, begin, value_tail_put(at, TAIL_LINE));
	return EXEC_DONE;
}

static enum exec_status
mg_missed(struct serve *sv, struct op *op)
{
	if (!has_flag(op, MC_FLAG_QUIET))
		reply_echo(sv, op, MC_META_EN);
	return EXEC_DONE;
}

static enum exec_status
mg_answered(struct serve *sv, struct op *op, const struct backend_answer *answer)
{
	const struct found f = {.item = answer->item,
				.fetched = answer->fetched,
				.idle_s = answer->idle_s,
				.ttl_expiry_s = item_expiry_s(answer->item)};
	struct mc_meta_item shown = show(sv, op, &f);

	shown.cas = answer->cas;
	shown.won = answer->won;
	shown.stale = answer->stale;
	shown.sent = answer->sent;
	return reply_found(sv, op, answer->item, shown);
}

enum exec_status
mg_completed(struct serve *sv, struct op *op, const struct backend_answer *answer)
{
	serve_count(sv, CMD_META);
	record_completed(sv, op, answer->item, has_flag(op, MC_FLAG_SET_EXPTIME));
	return answer->item != NULL ? mg_answered(sv, op, answer) : mg_missed(sv, op);
}

enum exec_status
mg_execute(struct serve *sv, struct op *op, const struct item *it, const uint64_t *cas)
{
	const bool touch = has_flag(op, MC_FLAG_SET_EXPTIME);
	struct found f = {.item = it};

	serve_count(sv, CMD_META);
	find(sv, op, &f);
	if (unlikely(touch_lacks_memory(f.touched)) && !f.created)
		return touch_without_memory(sv, op, f.touched);
	if (unlikely(f.created))
		record_made(sv, op, f.item, touch);
	else
		record_get(sv, op, f.item, touch);
	if (f.item == NULL)
		return mg_missed(sv, op);
	if (cas != NULL)
		f.cas = *cas;
	return reply_found(sv, op, f.item, show(sv, op, &f));
}

enum exec_status
execute_mg(struct serve *sv, struct op *op)
{
	return mg_execute(sv, op, store_peek_probed(sv->store, &op->probe, op->req.key), NULL);
}

/* ---- ms ---- */

static inline __attribute__((always_inline)) void
meta_reply_stored(struct serve *sv, struct op *op, enum store_result r, uint32_t size, uint64_t cas)
{
	struct mc_meta_item shown = {.shown = MC_FLAG_CAS | MC_FLAG_SIZE, .size = size, .cas = cas};

	serve_count(sv, CMD_META);
	switch (r) {
	case STORE_OK:
		if (!has_flag(op, MC_FLAG_QUIET))
			reply_code(sv, op, MC_META_HD, &shown);
		break;
	case STORE_NOT_STORED:
		reply_code(sv, op, MC_META_NS, &shown);
		break;
	case STORE_EXISTS:
		reply_code(sv, op, MC_META_EX, &shown);
		break;
	case STORE_NOT_FOUND:
		reply_code(sv, op, MC_META_NF, &shown);
		break;
	case STORE_TOO_LARGE:
		reply_error(sv, op, MC_ERR_TOO_LARGE);
		break;
	default:
		reply_error(sv, op, MC_ERR_MEMORY);
		break;
	}
}

void
meta_stored(struct serve *sv, struct op *op, enum store_result r, const struct item *made)
{
	meta_reply_stored(sv, op, r, made != NULL ? item_value_len(made) : op->req.body_len,
			  made != NULL ? item_cas(made) : 0);
}

void
meta_store_completed(struct serve *sv, struct op *op, const struct backend_answer *answer)
{
	const bool stored = answer->result == STORE_OK;

	meta_reply_stored(sv, op, (enum store_result)answer->result,
			  stored ? answer->size : op->req.body_len, answer->cas);
}

/* ---- md ---- */

/* True if the item may be marked as stale; large ones are copied for that. For a datagram without
 * work budget the item is deleted instead: a cache may forget. */
static bool
may_mark(struct serve *sv, const struct op *op)
{
	return op->session != NULL || copy_admit(sv, NULL, &op->req, op->req.key, op->hash);
}

static inline __attribute__((always_inline)) void
reply_deleted(struct serve *sv, struct op *op, enum store_result r)
{
	if (r == STORE_EXISTS)
		reply_echo(sv, op, MC_META_EX);
	else if (r != STORE_OK)
		reply_echo(sv, op, MC_META_NF);
	else if (!has_flag(op, MC_FLAG_QUIET))
		reply_echo(sv, op, MC_META_HD);
}

enum exec_status
md_completed(struct serve *sv, struct op *op, const struct backend_answer *answer)
{
	const bool hit = answer->result == STORE_OK;

	serve_count(sv, CMD_META);
	if (!hit || !has_flag(op, MC_FLAG_INVALIDATE))
		record_delete(sv, op, NULL, hit);
	reply_deleted(sv, op, (enum store_result)answer->result);
	return EXEC_DONE;
}

enum exec_status
execute_md(struct serve *sv, struct op *op)
{
	const struct store_removal how = {
		.compare = has_flag(op, MC_FLAG_COMPARE),
		.mark_stale = has_flag(op, MC_FLAG_INVALIDATE) && may_mark(sv, op),
		.drop_value = has_flag(op, MC_FLAG_DROP),
		.new_expiry = has_flag(op, MC_FLAG_SET_EXPTIME),
		.waits = op->session != NULL,
		.set_cas = has_flag(op, MC_FLAG_NEW_CAS),
		.client_flags = op->req.client_flags,
		.expiry_s = serve_expiry_s(&sv->clock, op->req.exptime),
		.cas = op->req.cas,
		.new_cas = op->req.meta.new_cas,
	};
	const struct item *it = store_peek_probed(sv->store, &op->probe, op->req.key);
	const struct item *left;
	enum store_result r;

	serve_count(sv, CMD_META);
	record_lookup(sv, op, it);
	r = store_delete_with(sv->store, op->req.key, op->hash, &how, &left);
	if (unlikely(r == STORE_NOT_YET) && op_wait_memory(sv, op))
		return EXEC_RETRY;
	if (unlikely(r == STORE_NO_MEMORY || r == STORE_NOT_YET)) {
		reply_error(sv, op, MC_ERR_OUT_OF_MEMORY);
		return EXEC_DONE;
	}
	if (left != NULL && how.drop_value)
		record_store(sv, op, r, left);
	if (r != STORE_OK || !how.mark_stale)
		record_delete(sv, op, it, r == STORE_OK);
	reply_deleted(sv, op, r);
	return EXEC_DONE;
}

/* ---- ma ---- */

static inline __attribute__((always_inline)) void
meta_reply_number(struct serve *sv, struct op *op, uint64_t number, struct view key,
		  struct mc_meta_item shown)
{
	uint8_t digits[MC_U64_DIGITS_MAX];
	const uint32_t len = (uint32_t)(mc_put_u64(digits, number) - digits);
	uint8_t *begin, *at;

	if (has_flag(op, MC_FLAG_QUIET))
		return;
	if (!has_flag(op, MC_FLAG_VALUE)) {
		reply_code(sv, op, MC_META_HD, &shown);
		return;
	}
	shown.shown |= MC_META_ECHOED;
	shown.key = key;
	shown.base64 = (op->req.flags & MC_KEY_BASE64) != 0;
	begin = reply_begin(sv, op, MC_META_LINE_MAX + MC_NUMBER_LINE_MAX);
	at = mc_put_meta_value_head(begin, len, &op->req.meta, &shown);
	at = mc_put_view(at, (struct view){digits, len});
	reply_end(sv, op, begin, mc_put_line_end(at));
}

static void
reply_total(struct serve *sv, struct op *op, const struct store_arith_result *total,
	    uint32_t expiry_s)
{
	meta_reply_number(sv, op, total->value, item_key(total->made),
			  (struct mc_meta_item){.shown = MC_FLAG_CAS | MC_FLAG_TTL,
						.ttl_s = ttl_s(sv, expiry_s),
						.cas = item_cas(total->made)});
}

enum exec_status
ma_completed(struct serve *sv, struct op *op, const struct backend_answer *answer)
{
	const bool decr = op->req.meta.mode == MC_MODE_DECR;

	serve_count(sv, CMD_META);
	switch (answer->result) {
	case STORE_OK:
		count_arith(sv, decr, true);
		meta_reply_number(sv, op, answer->number, op->req.key,
				  (struct mc_meta_item){.shown = MC_FLAG_CAS | MC_FLAG_TTL,
							.ttl_s = answer->ttl_s,
							.cas = answer->cas});
		break;
	case STORE_EXISTS:
		reply_echo(sv, op, MC_META_EX);
		break;
	case STORE_NOT_A_NUMBER:
		reply_error(sv, op, MC_ERR_NUMBER);
		break;
	default:
		count_arith(sv, decr, false);
		reply_echo(sv, op, MC_META_NF);
		break;
	}
	return EXEC_DONE;
}

/* Returns the expiry before the touch, which flag t shows if it precedes T. */
static uint32_t
expiry_before(struct serve *sv, const struct op *op)
{
	const struct item *it = NULL;

	if (has_flag(op, MC_FLAG_TTL_BEFORE_TOUCH))
		it = store_peek_probed(sv->store, &op->probe, op->req.key);
	return it != NULL ? item_expiry_s(it) : 0;
}

static uint32_t
expiry_shown(const struct serve *sv, const struct op *op, const struct store_arith_result *total,
	     uint32_t before_s)
{
	if (total->created)
		return made_expiry_shown(sv, op);
	return has_flag(op, MC_FLAG_TTL_BEFORE_TOUCH) ? before_s : item_expiry_s(total->made);
}

static struct store_arith_args
sum_of(const struct serve *sv, const struct op *op)
{
	const struct mc_req *req = &op->req;

	return (struct store_arith_args){
		.delta = req->delta,
		.decr = req->meta.mode == MC_MODE_DECR,
		.compare = req->cas != 0,
		.set_cas = has_flag(op, MC_FLAG_NEW_CAS),
		.new_expiry = has_flag(op, MC_FLAG_SET_EXPTIME),
		.vivify = has_flag(op, MC_FLAG_VIVIFY),
		.binary_key = (req->flags & MC_KEY_BASE64) != 0,
		.expiry_s = serve_expiry_s(&sv->clock, req->exptime),
		.initial_expiry_s = made_expiry_s(sv, op),
		.initial = req->meta.initial,
		.cas = req->cas,
		.new_cas = req->meta.new_cas,
	};
}

enum exec_status
execute_ma(struct serve *sv, struct op *op)
{
	const struct store_arith_args sum = sum_of(sv, op);
	const uint32_t before_s = expiry_before(sv, op);
	struct store_arith_result total;

	serve_count(sv, CMD_META);
	record_lookup_before_write(sv, op, op->hash);
	switch (store_arith_with(sv->store, op->req.key, op->hash, &sum, &total)) {
	case STORE_OK:
		record_total(sv, op, &total, sum.decr);
		reply_total(sv, op, &total, expiry_shown(sv, op, &total, before_s));
		break;
	case STORE_NOT_FOUND:
		record_arith(sv, NULL, sum.decr);
		reply_echo(sv, op, MC_META_NF);
		break;
	case STORE_EXISTS:
		reply_echo(sv, op, MC_META_EX);
		break;
	case STORE_NOT_A_NUMBER:
		reply_error(sv, op, MC_ERR_NUMBER);
		break;
	case STORE_NOT_YET:
		if (op_wait_memory(sv, op))
			return EXEC_RETRY;
		/* fall through */
	default:
		reply_error(sv, op, sum.vivify ? MC_ERR_NEW_ITEM : MC_ERR_OUT_OF_MEMORY);
		break;
	}
	return EXEC_DONE;
}

/* ---- me, mn ---- */

enum exec_status
me_execute(struct serve *sv, struct op *op, const struct item *it)
{
	struct mc_item_info info;
	uint8_t *at;

	serve_count(sv, CMD_META);
	record_lookup(sv, op, it);
	if (it == NULL) {
		reply_echo(sv, op, MC_META_EN);
		return EXEC_DONE;
	}
	info = (struct mc_item_info){
		.key = item_key(it),
		.base64 = shown_as_base64(it),
		.fetched = store_is_fetched(sv->store, it),
		.exptime = ttl_s(sv, item_expiry_s(it)),
		.access = store_idle_s(sv->store, it),
		.cas = item_cas(it),
		.slab_class = store_class_of(sv->store, it),
		.size = (uint32_t)item_bytes(it),
		.client_flags = item_flags(it),
	};
	at = reply_begin(sv, op, MC_ITEM_INFO_LINE_MAX);
	reply_end(sv, op, at, mc_put_debug(at, &info));
	return EXEC_DONE;
}
