/*
 * flash_threads.c - passes transfers from owners to helpers in rings, and results back in lists.
 */
#include "flash_threads.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define NO_SLOT UINT32_MAX

static_assert((FLASH_DEPTH_MAX & (FLASH_DEPTH_MAX - 1)) == 0, "positions wrap with the ring");
static_assert(sizeof(_Atomic uint32_t) == sizeof(uint32_t), "a futex is a word of 32 bits");

/* ---- sleep ---- */

static long
futex(_Atomic uint32_t *word, int operation, uint32_t value)
{
	return syscall(SYS_futex, word, operation | FUTEX_PRIVATE_FLAG, value, NULL, NULL, 0);
}

static void
wake(struct flash_threads *t, uint32_t count)
{
	/* Release: pairs with the acquire in sleep_until_woken; the helper sees the submitted
	 * transfers. */
	atomic_fetch_add_explicit(&t->signal, 1, memory_order_release);
	futex(&t->signal, FUTEX_WAKE, count);
}

static bool
has_work(struct flash_threads *t)
{
	for (uint32_t i = 0; i < t->count; i++) {
		struct flash_queue *q = &t->queues[i];

		if (atomic_load(&q->submitted) != atomic_load(&q->taken))
			return true;
	}
	return false;
}

/* Sleeps until a signal. An owner submits, and then checks for sleepers. A helper counts itself as
 * a sleeper, and then checks for work. All four accesses are sequentially consistent, so at least
 * one of the two sees the other. If the signal changes after it was read here, the wait ends at
 * once. */
static void
sleep_until_woken(struct flash_threads *t)
{
	const uint32_t seen = atomic_load_explicit(&t->signal, memory_order_acquire);

	atomic_fetch_add(&t->asleep, 1);
	if (!has_work(t) && !atomic_load(&t->over))
		futex(&t->signal, FUTEX_WAIT, seen);
	atomic_fetch_sub(&t->asleep, 1);
}

/* ---- the owner's side ---- */

static uint32_t
pop(struct flash_queue *q, uint32_t *list)
{
	const uint32_t slot = *list;

	if (slot != NO_SLOT)
		*list = q->slots[slot].next;
	return slot;
}

static void
put_back(struct flash_queue *q, uint32_t slot)
{
	q->slots[slot].next = q->unused;
	q->unused = slot;
}

static uint32_t
queue_submit(struct flash_device *device, const struct flash_io *ios, uint32_t count)
{
	struct flash_queue *q = (struct flash_queue *)device;
	const uint32_t from = atomic_load_explicit(&q->submitted, memory_order_relaxed);
	uint32_t n = 0, slot;

	for (; n < count && (slot = pop(q, &q->unused)) != NO_SLOT; n++) {
		ensure(flash_device_may_take(device, &ios[n]));
		q->slots[slot].io = ios[n];
		/* The transfer that last used this position has ended, so its helper has read the
		 * position. */
		atomic_store_explicit(&q->ring[(from + n) % FLASH_DEPTH_MAX], slot,
				      memory_order_relaxed);
	}
	if (n == 0)
		return 0;
	/* Pairs with the loads in transfer_take and has_work, which then see the slots and the
	 * ring. */
	atomic_store(&q->submitted, from + n);
	if (atomic_load(&q->threads->asleep) != 0)
		wake(q->threads, n);
	return n;
}

/* Returns the slot of a transfer that has ended. When all results taken before are returned, it
 * takes all that helpers have pushed since. */
static uint32_t
next_end(struct flash_queue *q)
{
	if (q->ended == NO_SLOT && atomic_load_explicit(&q->done, memory_order_relaxed) != NO_SLOT)
		/* Acquire: pairs with the release in push_end. */
		q->ended = atomic_exchange_explicit(&q->done, NO_SLOT, memory_order_acquire);
	return pop(q, &q->ended);
}

static uint32_t
queue_poll(struct flash_device *device, struct flash_result *results, uint32_t count)
{
	struct flash_queue *q = (struct flash_queue *)device;
	uint32_t n = 0, slot;

	for (; n < count && (slot = next_end(q)) != NO_SLOT; n++) {
		const struct flash_queue_slot *s = &q->slots[slot];

		results[n] = (struct flash_result){.tag = s->io.tag, .error = s->error};
		put_back(q, slot);
	}
	return n;
}

static const struct flash_device_ops queue_ops = {.submit = queue_submit, .poll = queue_poll};

void
flash_queue_open(struct flash_queue *q, struct flash_threads *threads,
		 const struct flash_file *file, uint32_t depth)
{
	ensure(depth >= 1 && depth <= FLASH_DEPTH_MAX);
	*q = (struct flash_queue){.device = {&queue_ops, file->bytes, depth},
				  .threads = threads,
				  .fd = file->fd,
				  .unused = NO_SLOT,
				  .ended = NO_SLOT,
				  .done = NO_SLOT};
	for (uint32_t slot = depth; slot-- != 0;)
		put_back(q, slot);
}

/* ---- the helpers' side ---- */

/* Takes a transfer from the ring. If another helper took the same position first, or the position
 * was reused, the exchange fails and the next one is tried. */
static uint32_t
transfer_take(struct flash_queue *q)
{
	/* Acquire: pairs with the exchange by the helper that took the previous transfer, so that
	 * `submitted` is never read older than `taken`. */
	uint32_t at = atomic_load_explicit(&q->taken, memory_order_acquire), slot;

	do {
		/* Acquire: pairs with the store in queue_submit. */
		if (at == atomic_load_explicit(&q->submitted, memory_order_acquire))
			return NO_SLOT;
		slot = atomic_load_explicit(&q->ring[at % FLASH_DEPTH_MAX], memory_order_relaxed);
	} while (!atomic_compare_exchange_weak_explicit(
		&q->taken, &at, at + 1, memory_order_acq_rel, memory_order_acquire));
	return slot;
}

/* Pushes a result. The owner takes the list as a whole, so no slot can leave the list and return to
 * it while a helper reads its head. */
static void
push_end(struct flash_queue *q, uint32_t slot)
{
	uint32_t head = atomic_load_explicit(&q->done, memory_order_relaxed);

	do {
		q->slots[slot].next = head;
		/* Release: pairs with the exchange in next_end, so that data and error are
		 * visible. */
	} while (!atomic_compare_exchange_weak_explicit(&q->done, &head, slot, memory_order_release,
							memory_order_relaxed));
}

static int64_t
sync_file(int fd)
{
	return fdatasync(fd) == 0 ? 0 : -errno;
}

/* Makes one call for the rest of a read or write. Returns the bytes transferred, or a negative
 * errno. */
static int64_t
transfer_part(int fd, const struct flash_io *io, uint32_t done)
{
	const struct iovec part = {.iov_base = io->data + done, .iov_len = io->len - done};
	const off_t offset = (off_t)(io->offset + done);
	const ssize_t n = io->kind == FLASH_READ ? preadv(fd, &part, 1, offset)
						 : pwritev(fd, &part, 1, offset);

	return n < 0 ? -errno : n;
}

static int32_t
transfer_whole(int fd, const struct flash_io *io)
{
	uint32_t done = 0, tries = 0;
	int64_t n;

	do {
		n = io->kind == FLASH_SYNC ? sync_file(fd) : transfer_part(fd, io, done);
		if (n < 0 && ((n != -EAGAIN && n != -EINTR) || ++tries == FLASH_TRIES_MAX))
			return (int32_t)n;
		if (n >= 0 && io->kind == FLASH_SYNC)
			return 0;
		if (n == 0 || (n > 0 && n % FLASH_PAGE != 0))
			return -EIO;
		done += n > 0 ? (uint32_t)n : 0;
	} while (io->kind == FLASH_SYNC || done < io->len);
	return 0;
}

void
flash_threads_init(struct flash_threads *t, struct flash_queue *queues, uint32_t count)
{
	*t = (struct flash_threads){.queues = queues, .count = count};
}

bool
flash_threads_work(struct flash_threads *t, uint32_t *at)
{
	for (uint32_t i = 0; i < t->count; i++) {
		const uint32_t which = (*at + i) % t->count;
		struct flash_queue *q = &t->queues[which];
		const uint32_t slot = transfer_take(q);

		if (slot == NO_SLOT)
			continue;
		*at = which + 1;
		q->slots[slot].error = transfer_whole(q->fd, &q->slots[slot].io);
		push_end(q, slot);
		return true;
	}
	return false;
}

void
flash_threads_help(struct flash_threads *t, uint32_t at)
{
	while (!atomic_load(&t->over))
		if (!flash_threads_work(t, &at))
			sleep_until_woken(t);
}

void
flash_threads_end(struct flash_threads *t)
{
	atomic_store(&t->over, true);
	wake(t, INT_MAX);
}
