/*
 * pending_kept.h - requests that are kept until they are told: writes that a supplier does, and
 * retrievals behind them. When they may be asked, and their answers as operations.
 *
 * Private to lib/backend; pending_kept.c. pending.h says what a kept request is.
 *
 * Thread: core-local.
 */
#ifndef CLOCKOO_PENDING_KEPT_H
#define CLOCKOO_PENDING_KEPT_H

#include "pending.h"

/* ---- writes ---- */

enum await_turn {
	AWAIT_NOW,   /* await_write() may follow */
	AWAIT_QUEUE, /* no place: await_write_queue() and await_later(). A datagram is dropped */
	AWAIT_NEVER, /* it has failed, and was not asked */
};
enum await_turn await_write_turn(struct serve *sv, struct op *op, uint32_t value_len);
/* The session is in no other queue. */
void await_write_queue(struct serve *sv, struct op *op, uint32_t value_len);
/* Asks. False: a datagram's is dropped, there is no chunk, and the value is still the caller's. */
bool await_write(struct serve *sv, struct op *op, const struct fill *value);
/* A set of this key is refused: what there is goes. */
void await_drop_key(struct serve *sv, struct view key, uint64_t hash);
/* Makes op what was asked, and its answer; copies the key. The await is no one's then: its item is
 * used until await_free(). */
struct await *await_written(struct serve *sv, struct op *op, uint8_t key[static MC_KEY_MAX]);
/* Operations of the datagrams' writes that are answered. */
void awaited_writes_parse(struct serve *sv);
void awaited_writes_drop(struct serve *sv);

/* ---- retrievals behind requests that are kept ---- */

/* It is kept, too. asks: now, else at its turn. There is a place: await_has_place(). */
void await_keep_read(struct serve *sv, struct op *op, bool asks);
/* Its turn has come: op is what was kept, of which key[] has the key, and its reply has its room.
 */
struct await *await_read_begin(struct serve *sv, struct op *op, uint8_t key[static MC_KEY_MAX]);
/* It was told; or it waits on, and is kept once more. */
void await_read_end(struct serve *sv, struct op *op, struct await *a, uint64_t since_ns, bool told);

#endif
