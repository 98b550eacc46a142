/*
 * kernel_thread.c - moves frames between the interface and the cores' lanes. It polls the lanes
 * every POLL_BUSY_NS while frames pass, and then less and less often.
 */
#include "kernel_thread.h"
#include "kernel_copy.h"
#include "kernel_tap.h"

#include "base/time_units.h"
#include "process/last_words.h"
#include "process/process.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define POLL_BUSY_NS  (100ull * 1000)
#define POLL_IDLE_NS  NS_PER_MS
#define BUSY_ROUNDS   100u /* polls without a frame before they become less frequent */
#define POLL_SLACK_NS 1000ul

const struct counter_name kernel_thread_counter_names[KERNEL_THREAD_COUNTER_COUNT] = {
	KERNEL_THREAD_COUNTERS(COUNTER_NAME)};

void
kernel_thread_create(struct kernel_thread *t, struct region *region, const struct config *cfg,
		     struct kernel_ring *copies)
{
	t->fd = -1;
	t->in = copies;
	if (cfg->kernel[0] == '\0' || copies != NULL)
		return;
	t->lanes = cfg->cores;
	for (uint32_t i = 0; i < t->lanes; i++)
		t->lane[i] = kernel_lane_create(region, cfg->mtu, i == 0);
	t->in = &t->lane[0]->from_kernel;
}

bool
kernel_thread_attach(struct kernel_thread *t, const struct config *cfg, const uint8_t mac[6],
		     struct error *err)
{
	if (config_shares_nic(cfg))
		return kernel_copy_attach(&t->fd, cfg, err);
	return t->in == NULL || kernel_tap_attach(&t->fd, cfg, mac, err);
}

/* Writes some of a lane's frames to the kernel. A tap never blocks; while it is down it refuses
 * frames. */
static uint32_t
write_lane(struct kernel_thread *t, struct kernel_ring *ring)
{
	uint32_t n = 0;

	for (; n < KERNEL_THREAD_BATCH; n++) {
		uint32_t len = 0;
		const uint8_t *frame = kernel_ring_first(ring, &len);

		if (frame == NULL)
			break;
		counter_add(&t->counters[write(t->fd, frame, len) == (ssize_t)len
						 ? KERNEL_WRITTEN
						 : KERNEL_DROP_REFUSED],
			    1);
		kernel_ring_pop(ring);
	}
	return n;
}

/* Reads a batch of the kernel's frames. What the core has no room for stays in the interface's own
 * queue. */
/* Reads some of the kernel's frames. Those for which the core has no room stay in the interface's
 * queue. */
static uint32_t
read_interface(struct kernel_thread *t)
{
	struct kernel_ring *ring = t->in;
	uint32_t n = 0;

	for (; n < KERNEL_THREAD_BATCH; n++) {
		uint8_t *slot = kernel_ring_begin(ring);
		const ssize_t len = slot != NULL ? read(t->fd, slot, ring->slot_bytes) : -1;

		if (len <= 0)
			break;
		counter_add(&t->counters[KERNEL_READ], 1);
		kernel_ring_commit(ring, (uint32_t)len);
	}
	return n;
}

static void
wait_for_frames(struct kernel_thread *t, uint32_t idle_rounds)
{
	const bool has_room = kernel_ring_begin(t->in) != NULL;
	struct pollfd fd = {t->fd, has_room ? POLLIN : 0, 0};
	const struct timespec most = {
		.tv_nsec = (long)(idle_rounds < BUSY_ROUNDS ? POLL_BUSY_NS : POLL_IDLE_NS)};

	/* A removed interface reports an error. poll() would return at once each time. */
	if (ppoll(&fd, 1, &most, NULL) > 0 && (fd.revents & (POLLERR | POLLHUP)) != 0)
		nanosleep(&most, NULL);
}

static void *
run(void *arg)
{
	struct kernel_thread *t = arg;
	uint32_t idle_rounds = 0;

	last_words_thread("the thread of the kernel's interface");
	process_pin(t->process);
	prctl(PR_SET_TIMERSLACK, POLL_SLACK_NS);
	while (!atomic_load_explicit(&t->end, memory_order_relaxed)) {
		uint32_t moved = read_interface(t);

		for (uint32_t i = 0; i < t->lanes; i++)
			moved += write_lane(t, &t->lane[i]->to_kernel);
		idle_rounds = moved != 0 ? 0 : idle_rounds + 1;
		if (moved == 0)
			wait_for_frames(t, idle_rounds);
	}
	return NULL;
}

bool
kernel_thread_start(struct kernel_thread *t, const struct process *process, struct error *err)
{
	int rc;

	if (t->in == NULL)
		return true;
	t->process = process;
	rc = pthread_create(&t->thread, NULL, run, t);
	t->runs = rc == 0;
	return t->runs || error_set(err, "--kernel: cannot start a thread: %s", strerror(rc));
}

void
kernel_thread_end(struct kernel_thread *t)
{
	if (t->in == NULL)
		return;
	if (t->runs) {
		atomic_store_explicit(&t->end, true, memory_order_relaxed);
		pthread_join(t->thread, NULL);
		t->runs = false;
	}
	if (t->fd >= 0)
		close(t->fd);
	t->fd = -1;
}
