/*
 * serve_answer.h - answers: one function a verb, and what those of several protocols share.
 *
 * Private to lib/serve. serve_answer.c has the table of verbs; an answer is called once for an
 * operation, in order, and replies through serve_core.h.
 *
 * Thread: core-local.
 */
#ifndef CLOCKOO_SERVE_ANSWER_H
#define CLOCKOO_SERVE_ANSWER_H

#include "serve_core.h"

static inline struct view
serve_version(const struct serve *sv)
{
	const char *version = sv->shared->version;

	return (struct view){(const uint8_t *)version, (uint32_t)strnlen(version, 64)};
}

enum answer answer_store(struct serve *sv, struct op *op);
enum answer answer_set(struct serve *sv, struct op *op);
enum answer answer_stats(struct serve *sv, struct op *op);
enum answer answer_quit(struct serve *sv, struct op *op);
/* store_begin for a command that stores. */
enum store_result storage_begin(struct serve *sv, struct op *op, struct fill *fill);
/* Answer what it did not give room for. */
void storage_refused(struct serve *sv, struct op *op, enum store_result r);
/* Publish what is filled, and answer. */
void storage_finish(struct serve *sv, struct op *op, struct fill *fill);
/* The store's second at which a client's exptime ends; 0 never, 1 long ago. */
uint32_t serve_expiry_s(const struct serve_clock *clock, int32_t exptime);
const struct item *touch_and_get(struct serve *sv, struct op *op);
/* Answers flush_all, in whatever protocol it came. */
void reply_flushed(struct serve *sv, struct op *op);

/* What the counters of `stats` say of every protocol's commands. */
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
count_sum(struct serve *sv, bool decr, bool hit)
{
	if (decr)
		serve_count(sv, hit ? DECR_HITS : DECR_MISSES);
	else
		serve_count(sv, hit ? INCR_HITS : INCR_MISSES);
}

/* ---- meta commands (serve_meta.c) ---- */

enum answer answer_mg(struct serve *sv, struct op *op);
enum answer answer_md(struct serve *sv, struct op *op);
enum answer answer_ma(struct serve *sv, struct op *op);
enum answer answer_me(struct serve *sv, struct op *op);
enum answer answer_mn(struct serve *sv, struct op *op);
/* What came of an ms; made is NULL unless STORE_OK. */
void meta_stored(struct serve *sv, struct op *op, enum store_result r, const struct item *made);

/* ---- the binary protocol (serve_binary.c) ---- */

enum answer answer_bin_get(struct serve *sv, struct op *op);
enum answer answer_bin_touch(struct serve *sv, struct op *op);
enum answer answer_bin_delete(struct serve *sv, struct op *op);
enum answer answer_bin_sum(struct serve *sv, struct op *op);
enum answer answer_bin_noop(struct serve *sv, struct op *op);
enum answer answer_bin_version(struct serve *sv, struct op *op);
enum answer answer_bin_quit(struct serve *sv, struct op *op);
/* What came of a set and its like; made is NULL unless STORE_OK. */
void binary_stored(struct serve *sv, struct op *op, enum store_result r, const struct item *made);
void reply_status(struct serve *sv, struct op *op, enum mc_bin_status status);

/* ---- administration ---- */

enum answer answer_accepted(struct serve *sv, struct op *op);
enum answer answer_verbosity(struct serve *sv, struct op *op);
enum answer answer_shutdown(struct serve *sv, struct op *op);
enum answer answer_memlimit(struct serve *sv, struct op *op);
enum answer answer_crawler_switch(struct serve *sv, struct op *op);
enum answer answer_crawl(struct serve *sv, struct op *op);
enum answer answer_reassign(struct serve *sv, struct op *op);
enum answer answer_stats_reset(struct serve *sv, struct op *op);
enum answer answer_bin_stat(struct serve *sv, struct op *op);
enum answer answer_detail(struct serve *sv, struct op *op);
enum answer answer_cachedump(struct serve *sv, struct op *op);
enum answer answer_dump(struct serve *sv, struct op *op);
enum answer answer_watch(struct serve *sv, struct op *op);
enum answer answer_auth(struct serve *sv, struct op *op);
enum answer answer_auth_end(struct serve *sv, struct op *op);
enum answer answer_sasl(struct serve *sv, struct op *op);

#endif
