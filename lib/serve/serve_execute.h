/*
 * serve_execute.h - executors, one for each verb, and functions that several protocols share.
 *
 * Private to lib/serve. serve_execute.c has the table of verbs. An executor is called once for each
 * operation, in order, and replies through serve_internal.h.
 *
 * Thread: core-local.
 */
#ifndef CLOCKOO_SERVE_EXECUTE_H
#define CLOCKOO_SERVE_EXECUTE_H

#include "serve_internal.h"

static inline struct view
serve_version(const struct serve *sv)
{
	const char *version = sv->shared->version;

	return (struct view){(const uint8_t *)version, (uint32_t)strnlen(version, 64)};
}

enum exec_status execute_store(struct serve *sv, struct op *op);
enum exec_status execute_flush_all(struct serve *sv, struct op *op);
enum exec_status execute_set(struct serve *sv, struct op *op);
enum store_mode store_mode_of(const struct mc_req *req);
/* Calls store_begin() for a command that stores. */
enum store_result storage_begin(struct serve *sv, struct op *op, struct fill *fill);
/* Replies to a command whose value the store could not begin. */
void storage_refused(struct serve *sv, struct op *op, enum store_result r);
/* Makes a command with a complete body wait for memory, or refuses it if it cannot wait. */
enum exec_status storage_not_begun(struct serve *sv, struct op *op, enum store_result r);
/* Publishes the filled value, and replies. whole: the body came with its request. In that case an
 * append or prepend without memory for its new version waits, and is begun again. */
enum exec_status storage_finish(struct serve *sv, struct op *op, struct fill *fill, bool whole);
/* Abandons a filled value whose body does not end in CR LF, and replies. */
void storage_bad_end(struct serve *sv, struct op *op, struct fill *fill);
/* Returns the second of the store's clock at which exptime ends; 0: never; 1: in the past. */
uint32_t serve_expiry_s(const struct serve_clock *clock, int32_t exptime);
enum store_result touch_and_get(struct serve *sv, struct op *op, const struct item **it);
static inline bool
touch_lacks_memory(enum store_result touched)
{
	return touched == STORE_NOT_YET || touched == STORE_NO_MEMORY;
}
/* Makes a touch that found no memory wait, or refuses it. The item is unchanged. */
enum exec_status touch_without_memory(struct serve *sv, struct op *op, enum store_result touched);
/* Replies to flush_all in the protocol of the request. */
void reply_flushed(struct serve *sv, struct op *op);

/* Copies a value shorter than ITEM_PIN_MIN_BYTES. */
static inline uint8_t *
value_copy(struct serve *sv, uint8_t *at, const struct item *it, uint32_t len)
{
	for (uint32_t offset = 0; offset < len;) {
		const struct view run = store_value_at(sv->store, it, offset);

		at = mc_put_view(at, run);
		offset += run.len;
	}
	return at;
}

/* Counts a retrieval of any protocol for `stats`. */
static inline void
count_get(struct serve *sv, bool touch, bool hit)
{
	if (touch) {
		serve_count(sv, CMD_TOUCH);
		serve_count(sv, hit ? TOUCH_HITS : TOUCH_MISSES);
	} else {
		serve_count(sv, CMD_GET);
		serve_count(sv, hit ? GET_HITS : GET_MISSES);
	}
}

static inline void
count_delete(struct serve *sv, bool hit)
{
	serve_count(sv, hit ? DELETE_HITS : DELETE_MISSES);
}

static inline void
count_arith(struct serve *sv, bool decr, bool hit)
{
	if (decr)
		serve_count(sv, hit ? DECR_HITS : DECR_MISSES);
	else
		serve_count(sv, hit ? INCR_HITS : INCR_MISSES);
}

/* Executes an operation on the store, by its verb's own code. */
enum exec_status verb_execute(struct serve *sv, struct op *op);

/* ---- completion by a backend's answer (serve_backend.h) ---- */

/* Replies to a request by the backend's answer. Each verb has such a function. */
typedef enum exec_status completer(struct serve *sv, struct op *op,
				   const struct backend_answer *answer);
completer get_completed, store_completed, delete_completed, arith_completed, touch_completed,
	flush_completed;
completer mg_completed, md_completed, ma_completed, bin_get_completed, bin_touch_completed,
	bin_delete_completed, bin_arith_completed;

/* ---- commands of text that neither retrieve nor store (serve_text.c) ---- */

enum exec_status execute_delete(struct serve *sv, struct op *op);
enum exec_status execute_arith(struct serve *sv, struct op *op);
enum exec_status execute_touch(struct serve *sv, struct op *op);
enum exec_status execute_mn(struct serve *sv, struct op *op);
enum exec_status execute_version(struct serve *sv, struct op *op);

/* ---- meta commands (serve_meta.c) ---- */

enum exec_status execute_mg(struct serve *sv, struct op *op);
/* Executes an mg, given its item; NULL: a miss. cas: the cas to show; NULL: the item's. */
enum exec_status mg_execute(struct serve *sv, struct op *op, const struct item *it,
			    const uint64_t *cas);
enum exec_status me_execute(struct serve *sv, struct op *op, const struct item *it);
enum exec_status execute_md(struct serve *sv, struct op *op);
enum exec_status execute_ma(struct serve *sv, struct op *op);
/* Replies to ms. made: the stored item; NULL unless r is STORE_OK. */
void meta_stored(struct serve *sv, struct op *op, enum store_result r, const struct item *made);
void meta_store_completed(struct serve *sv, struct op *op, const struct backend_answer *answer);

/* ---- the binary protocol (serve_binary.c) ---- */

enum exec_status execute_bin_get(struct serve *sv, struct op *op);
enum exec_status execute_bin_touch(struct serve *sv, struct op *op);
enum exec_status execute_bin_delete(struct serve *sv, struct op *op);
enum exec_status execute_bin_arith(struct serve *sv, struct op *op);
enum exec_status execute_bin_noop(struct serve *sv, struct op *op);
enum exec_status execute_bin_version(struct serve *sv, struct op *op);
enum exec_status execute_bin_quit(struct serve *sv, struct op *op);
/* Replies to a set, add, replace, append or prepend. made: the stored item; NULL unless r is
 * STORE_OK. */
void binary_stored(struct serve *sv, struct op *op, enum store_result r, const struct item *made);
void binary_store_completed(struct serve *sv, struct op *op, const struct backend_answer *answer);
void reply_status(struct serve *sv, struct op *op, enum mc_bin_status status);

#endif
