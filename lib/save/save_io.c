/*
 * save_io.c - transfers slots by io_uring, or else one after the other.
 */
#include "save_io.h"

#include <errno.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#define MODE 0600

/* If the kernel has no memory for a transfer, or no room for its completion, the call is repeated,
 * for up to a second. */
#define WAITS_MAX     1000u
#define WAIT_AGAIN_NS 1000000

/* Transfers the rest of a slot from byte `done` on by single calls: after a short transfer, or
 * without io_uring. Returns the bytes of the slot, or -errno. */
static int32_t
transfer(const struct save_io *io, uint64_t slot, uint32_t len, uint32_t done)
{
	uint8_t *buffer = save_io_buffer(io, slot);
	const off_t from = (off_t)(slot * SAVE_SLOT_BYTES);

	while (done < len) {
		const ssize_t n = io->writes
					  ? pwrite(io->fd, buffer + done, len - done, from + done)
					  : pread(io->fd, buffer + done, len - done, from + done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return io->writes ? -ENOSPC : (int32_t)done;
		done += (uint32_t)n;
		/* O_DIRECT requires the next call to begin at a multiple; the file ends here. */
		if (!io->writes && done % SAVE_ALIGN != 0)
			break;
	}
	return (int32_t)done;
}

int
save_io_open(struct save_io *io, const char *path, int flags, bool uring, void *memory)
{
	*io = (struct save_io){.memory = memory, .writes = (flags & O_ACCMODE) != O_RDONLY};
	flags |= O_CLOEXEC | O_NOFOLLOW;
	io->fd = open(path, flags | O_DIRECT, MODE);
	io->direct = io->fd >= 0;
	if (io->fd < 0 && errno == EINVAL)
		io->fd = open(path, flags & ~O_EXCL, MODE); /* tmpfs before Linux 6.6 */
	if (io->fd < 0)
		return -errno;
	io->uring = uring && io_uring_queue_init(SAVE_IO_DEPTH, &io->ring, 0) == 0;
	return 0;
}

void
save_io_use(struct save_io *io, int fd, bool uring, void *memory)
{
	const int flags = fcntl(fd, F_GETFL);

	*io = (struct save_io){.fd = fd, .memory = memory, .writes = true, .lent = true};
	io->direct = flags >= 0 && fcntl(fd, F_SETFL, flags | O_DIRECT) == 0;
	io->uring = uring && io_uring_queue_init(SAVE_IO_DEPTH, &io->ring, 0) == 0;
}

const char *
save_io_words(const struct save_io *io)
{
	static const char *const words[2][2] = {{"pread and pwrite", "pread and pwrite, O_DIRECT"},
						{"io_uring", "io_uring, O_DIRECT"}};

	return words[io->uring][io->direct];
}

void
save_io_begin(struct save_io *io, uint64_t slot, uint32_t len)
{
	struct save_transfer *t = &io->at[slot % SAVE_IO_DEPTH];
	struct io_uring_sqe *sqe;

	ensure(t->len == 0 && len != 0 && len <= SAVE_SLOT_BYTES);
	t->done = io->broken ? -EIO : 0;
	if (io->broken)
		return;
	if (!io->uring) {
		t->done = transfer(io, slot, len, 0);
		return;
	}
	sqe = io_uring_get_sqe(&io->ring);
	ensure(sqe != NULL);
	if (io->writes)
		io_uring_prep_write(sqe, io->fd, save_io_buffer(io, slot), len,
				    slot * SAVE_SLOT_BYTES);
	else
		io_uring_prep_read(sqe, io->fd, save_io_buffer(io, slot), len,
				   slot * SAVE_SLOT_BYTES);
	io_uring_sqe_set_data64(sqe, slot);
	t->len = len;
	io_uring_submit(&io->ring);
}

static struct io_uring_cqe *
completion_wait(struct save_io *io)
{
	const struct timespec pause = {.tv_nsec = WAIT_AGAIN_NS};
	struct io_uring_cqe *cqe;

	for (uint32_t n = 0; n < WAITS_MAX; n++) {
		int e;

		if (io_uring_peek_cqe(&io->ring, &cqe) == 0)
			return cqe;
		e = io_uring_submit_and_wait(&io->ring, 1);
		if (e == -EAGAIN || e == -EBUSY)
			nanosleep(&pause, NULL);
		else if (e < 0 && e != -EINTR)
			break;
	}
	return NULL;
}

/* Handles the next completion, of any slot. False: none will come. */
static bool
complete_one(struct save_io *io)
{
	struct io_uring_cqe *cqe = io->broken ? NULL : completion_wait(io);
	struct save_transfer *t;
	uint64_t slot;

	if (cqe == NULL)
		return false;
	slot = io_uring_cqe_get_data64(cqe);
	t = &io->at[slot % SAVE_IO_DEPTH];
	t->done = cqe->res;
	/* In an older release, or for some files, a kernel may refuse by io_uring what it does by a
	 * system call. */
	if (cqe->res == -EINTR || cqe->res == -EAGAIN || cqe->res == -EINVAL ||
	    cqe->res == -EOPNOTSUPP)
		t->done = 0;
	io_uring_cqe_seen(&io->ring, cqe);
	/* A short transfer is continued by single calls; at the end of a file there are no more
	 * bytes. */
	if (t->done >= 0 && (uint32_t)t->done < t->len && t->done % (int32_t)SAVE_ALIGN == 0)
		t->done = transfer(io, slot, t->len, (uint32_t)t->done);
	t->len = 0;
	return true;
}

int32_t
save_io_wait(struct save_io *io, uint64_t slot)
{
	struct save_transfer *t = &io->at[slot % SAVE_IO_DEPTH];
	int32_t done;

	while (t->len != 0)
		if (!complete_one(io)) {
			io->broken = true;
			t->len = 0;
			return -EIO;
		}
	done = t->done;
	t->done = 0;
	return done;
}

int
save_io_sync(struct save_io *io)
{
	return fsync(io->fd) == 0 ? 0 : -errno;
}

void
save_io_close(struct save_io *io)
{
	if (io->uring) {
		/* The kernel uses the buffers until their transfers complete. */
		for (uint32_t i = 0; i < SAVE_IO_DEPTH; i++)
			save_io_wait(io, i);
		io_uring_queue_exit(&io->ring);
	}
	if (io->fd >= 0 && !io->lent)
		close(io->fd);
	io->fd = -1;
}
