/*
 * flash_uring.c - makes transfers by entries of a ring. A slot holds what remains of its transfer.
 */
#include "flash_uring.h"

#include "base/check.h"

#include <errno.h>

#define NO_SLOT UINT32_MAX
#define OUR_FD  0 /* index of the file among those registered with the kernel */

/* ---- slots ---- */

static uint32_t
list_take(struct flash_uring *u, uint32_t *list)
{
	const uint32_t slot = *list;

	if (slot != NO_SLOT)
		*list = u->slots[slot].next;
	return slot;
}

static void
list_put(struct flash_uring *u, uint32_t *list, uint32_t slot)
{
	u->slots[slot].next = *list;
	*list = slot;
}

static void
end_with(struct flash_uring *u, uint32_t slot, int32_t error)
{
	u->slots[slot].error = error;
	list_put(u, &u->ended, slot);
}

/* ---- entries ---- */

/* Enters the remaining part of a slot's transfer into the ring. A slot has at most one entry, so
 * there is room. */
static void
enter(struct flash_uring *u, uint32_t slot)
{
	const struct flash_uring_slot *s = &u->slots[slot];
	const uint32_t len = s->io.len - s->done;
	const uint64_t offset = s->io.offset + s->done;
	uint8_t *data = s->io.data + s->done;
	const bool fixed =
		u->fixed && s->io.data >= u->memory && s->io.data < u->memory + u->memory_bytes;
	struct io_uring_sqe *sqe = io_uring_get_sqe(&u->ring);

	ensure(sqe != NULL);
	if (s->io.kind == FLASH_SYNC)
		io_uring_prep_fsync(sqe, OUR_FD, IORING_FSYNC_DATASYNC);
	else if (s->io.kind == FLASH_READ && fixed)
		io_uring_prep_read_fixed(sqe, OUR_FD, data, len, offset, 0);
	else if (s->io.kind == FLASH_READ)
		io_uring_prep_read(sqe, OUR_FD, data, len, offset);
	else if (fixed)
		io_uring_prep_write_fixed(sqe, OUR_FD, data, len, offset, 0);
	else
		io_uring_prep_write(sqe, OUR_FD, data, len, offset);
	io_uring_sqe_set_flags(sqe, IOSQE_FIXED_FILE);
	io_uring_sqe_set_data64(sqe, slot);
	u->unsent = true;
	u->under_way++;
}

/* Submits entries. If the kernel temporarily refuses some, the next call submits these again. */
static void
entries_submit(struct flash_uring *u)
{
	const int sent = u->unsent && u->broken == 0 ? io_uring_submit(&u->ring) : 0;

	if (sent < 0 && sent != -EAGAIN && sent != -EBUSY && sent != -EINTR)
		u->broken = -EIO;
	u->unsent = io_uring_sq_ready(&u->ring) != 0;
}

static uint32_t
uring_submit(struct flash_device *device, const struct flash_io *ios, uint32_t count)
{
	struct flash_uring *u = (struct flash_uring *)device;
	uint32_t taken = 0, slot;

	for (; taken < count && (slot = list_take(u, &u->unused)) != NO_SLOT; taken++) {
		ensure(flash_device_may_take(device, &ios[taken]));
		u->slots[slot] = (struct flash_uring_slot){.io = ios[taken]};
		if (u->broken != 0)
			end_with(u, slot, u->broken);
		else
			enter(u, slot);
	}
	entries_submit(u);
	return taken;
}

/* ---- ends ---- */

static void
slot_complete(struct flash_uring *u, uint32_t slot, int32_t res)
{
	struct flash_uring_slot *s = &u->slots[slot];
	const bool short_one = res > 0 && (uint32_t)res < s->io.len - s->done &&
			       (uint32_t)res % FLASH_PAGE == 0,
		   again = (res == -EAGAIN || res == -EINTR) && ++s->tries < FLASH_TRIES_MAX;

	if ((short_one || again) && u->broken == 0) {
		s->done += short_one ? (uint32_t)res : 0;
		enter(u, slot);
	} else if (res < 0) {
		end_with(u, slot, res);
	} else {
		end_with(u, slot,
			 s->io.kind == FLASH_SYNC || s->done + (uint32_t)res == s->io.len ? 0
											  : -EIO);
	}
}

static uint32_t
uring_poll(struct flash_device *device, struct flash_result *results, uint32_t count)
{
	struct flash_uring *u = (struct flash_uring *)device;
	struct io_uring_cqe *cqe;
	uint32_t n = 0, slot;

	for (uint32_t i = 0; i < count && io_uring_peek_cqe(&u->ring, &cqe) == 0; i++) {
		slot_complete(u, (uint32_t)io_uring_cqe_get_data64(cqe), cqe->res);
		io_uring_cqe_seen(&u->ring, cqe);
		u->under_way--;
	}
	entries_submit(u);
	for (; n < count && (slot = list_take(u, &u->ended)) != NO_SLOT; n++) {
		const struct flash_uring_slot *s = &u->slots[slot];

		results[n] = (struct flash_result){.tag = s->io.tag, .error = s->error};
		list_put(u, &u->unused, slot);
	}
	return n;
}

/* ---- opening ---- */

static const struct flash_device_ops uring_ops = {.submit = uring_submit, .poll = uring_poll};

int
flash_uring_open(struct flash_uring *u, const struct flash_file *file, uint32_t depth, void *memory,
		 size_t memory_bytes)
{
	const struct iovec all = {.iov_base = memory, .iov_len = memory_bytes};
	int e;

	ensure(depth >= 1 && depth <= FLASH_DEPTH_MAX && (uintptr_t)memory % FLASH_PAGE == 0);
	*u = (struct flash_uring){.device = {&uring_ops, file->bytes, depth},
				  .memory = memory,
				  .memory_bytes = memory_bytes,
				  .fd = file->fd,
				  .unused = NO_SLOT,
				  .ended = NO_SLOT};
	for (uint32_t slot = depth; slot-- != 0;)
		list_put(u, &u->unused, slot);
	e = io_uring_queue_init(depth, &u->ring, 0);
	if (e != 0)
		return e;
	e = io_uring_register_files(&u->ring, &u->fd, 1);
	if (e != 0) {
		io_uring_queue_exit(&u->ring);
		return e;
	}
	u->fixed = io_uring_register_buffers(&u->ring, &all, 1) == 0;
	return 0;
}

bool
flash_uring_close(struct flash_uring *u)
{
	struct __kernel_timespec limit = {.tv_sec = FLASH_CLOSE_S};
	struct io_uring_cqe *cqe;

	/* The kernel has never taken these entries, so they will not end. */
	u->under_way -= io_uring_sq_ready(&u->ring);
	while (u->under_way != 0 && io_uring_wait_cqe_timeout(&u->ring, &cqe, &limit) == 0) {
		io_uring_cqe_seen(&u->ring, cqe);
		u->under_way--;
	}
	io_uring_queue_exit(&u->ring);
	return u->under_way == 0;
}

int
flash_uring_probe(void)
{
	struct io_uring ring;
	const int e = io_uring_queue_init(1, &ring, 0);

	if (e == 0)
		io_uring_queue_exit(&ring);
	return e;
}

const char *
flash_uring_words(const struct flash_uring *u)
{
	return u->fixed ? "io_uring, O_DIRECT, registered buffers" : "io_uring, O_DIRECT";
}
