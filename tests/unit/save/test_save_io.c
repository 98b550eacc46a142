/*
 * A kernel that is short of resources. Goal: a call that it refuses for a while is repeated, and
 * one that it refuses for good is an error, soon and for all later calls. Method: the call of
 * liburing that waits is replaced by one that fails a set number of times.
 */
#include "support/test.h"
#include "save/save_io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#define FOR_EVER UINT32_MAX

static struct {
	int error;
	uint32_t times, calls;
} refusal;

int
io_uring_submit_and_wait(struct io_uring *ring, unsigned count)
{
	struct io_uring_cqe *cqe;

	refusal.calls++;
	if (refusal.times != 0) {
		refusal.times -= refusal.times != FOR_EVER;
		return refusal.error;
	}
	io_uring_submit(ring);
	return io_uring_wait_cqe_nr(ring, &cqe, count);
}

struct file {
	struct save_io io;
	void *memory;
	char path[32];
};

static bool
open_file(struct file *f)
{
	strcpy(f->path, "/tmp/save_io_XXXXXX");
	close(mkstemp(f->path));
	f->memory = aligned_alloc(SAVE_ALIGN, SAVE_IO_BYTES);
	check_ptr(f->memory);
	memset(f->memory, 'x', SAVE_IO_BYTES);
	check_eq(save_io_open(&f->io, f->path, O_WRONLY, true, f->memory), 0);
	refusal.times = refusal.calls = 0;
	return f->io.uring;
}

static void
close_file(struct file *f)
{
	save_io_close(&f->io);
	unlink(f->path);
	free(f->memory);
}

TEST(what_is_refused_for_a_while_is_asked_again)
{
	static const int errors[] = {EAGAIN, EBUSY, EINTR};

	for (uint32_t i = 0; i < 3; i++) {
		struct file f;

		if (!open_file(&f)) {
			print_message("no io_uring here\n");
			close_file(&f);
			skip();
		}
		refusal.error = -errors[i];
		for (uint64_t slot = 0; slot < SAVE_IO_DEPTH; slot++)
			save_io_begin(&f.io, slot, SAVE_SLOT_BYTES);
		refusal.times = 20;
		for (uint64_t slot = 0; slot < SAVE_IO_DEPTH; slot++)
			check_eq(save_io_wait(&f.io, slot), SAVE_SLOT_BYTES);
		check(refusal.calls != 0);
		check_eq(lseek(f.io.fd, 0, SEEK_END), SAVE_IO_DEPTH * SAVE_SLOT_BYTES);
		close_file(&f);
	}
}

TEST(what_is_refused_for_good_is_an_error_once)
{
	struct file f;

	if (!open_file(&f)) {
		close_file(&f);
		skip();
	}
	/* Transfers 3 and 4 are not submitted, so their ends cannot have arrived. */
	refusal.error = -EBUSY;
	refusal.times = FOR_EVER;
	f.io.at[3].len = f.io.at[4].len = SAVE_ALIGN;
	check_eq(save_io_wait(&f.io, 3), -EIO);
	refusal.calls = 0;
	check_eq(save_io_wait(&f.io, 4), -EIO);
	save_io_begin(&f.io, SAVE_IO_DEPTH + 3, SAVE_SLOT_BYTES);
	check_eq(save_io_wait(&f.io, SAVE_IO_DEPTH + 3), -EIO);
	check_eq(refusal.calls, 0);
	close_file(&f);
}
