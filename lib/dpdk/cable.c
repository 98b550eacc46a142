/*
 * cable.c - lanes of mbufs between cores and a thread, over DPDK's ring driver; wakes sleepers on
 * both sides.
 */
#include "cable.h"
#include "base/check.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_eth_ring.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

/* Wakes the sleeper, after the caller has written to the ring. The fence pairs with the one in
 * falls_asleep(). */
static inline void
wake(struct cable_sleeper *s)
{
	const uint64_t one = 1;

	atomic_thread_fence(memory_order_seq_cst);
	if (likely(!atomic_load_explicit(&s->asleep, memory_order_relaxed)))
		return;
	if (atomic_exchange_explicit(&s->asleep, false, memory_order_relaxed))
		(void)!write(s->fd, &one, sizeof one);
}

/* Announces a sleep; the caller reads its rings afterwards. The fence pairs with the one in
 * wake(). */
static inline void
falls_asleep(struct cable_sleeper *s)
{
	atomic_store_explicit(&s->asleep, true, memory_order_relaxed);
	atomic_thread_fence(memory_order_seq_cst);
}

/* Withdraws the announcement. An event written meanwhile stays in the descriptor, and only makes
 * the next sleep end at once. */
static inline void
wakes_up(struct cable_sleeper *s)
{
	atomic_store_explicit(&s->asleep, false, memory_order_relaxed);
}

static void
sleeper_open(struct cable_sleeper *s)
{
	atomic_init(&s->asleep, false);
	s->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

static struct rte_ring *
ring_make(const char *kind, uint32_t lane)
{
	char name[RTE_RING_NAMESIZE];

	snprintf(name, sizeof name, "cable_%s%u", kind, lane);
	return rte_ring_create(name, CABLE_RING, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
}

bool
cable_open(struct cable *c, uint32_t lanes, struct error *err)
{
	struct rte_ring *rx[CORES_MAX], *tx[CORES_MAX];

	memset(c, 0, sizeof *c);
	sleeper_open(&c->thread);
	c->lanes = lanes;
	for (uint32_t i = 0; i < lanes; i++) {
		struct cable_lane *lane = &c->lane[i];

		sleeper_open(&lane->core);
		lane->thread = &c->thread;
		rx[i] = lane->to_core = ring_make("in", i);
		tx[i] = lane->to_thread = ring_make("out", i);
		if (rx[i] == NULL || tx[i] == NULL || lane->core.fd < 0 || c->thread.fd < 0)
			return error_set(
				err,
				"--port: no memory or descriptor for the rings of "
				"core %u: %s",
				i, strerror(rx[i] == NULL || tx[i] == NULL ? rte_errno : errno));
	}
	return rte_eth_from_rings("cable", rx, lanes, tx, lanes, SOCKET_ID_ANY) >= 0 ||
	       error_set(err, "--port: DPDK refused a port over rings: %s",
			 rte_strerror(rte_errno));
}

static uint32_t
cable_tx(struct port *port, const struct burst *b)
{
	struct cable_lane *lane = ((struct port_dpdk *)(void *)port)->lane;
	const uint32_t sent = port_dpdk_ops.tx(port, b);

	if (sent != 0)
		wake(lane->thread);
	return sent;
}

void
cable_plug(struct cable *c, struct port_dpdk *ports)
{
	c->ops = port_dpdk_ops;
	c->ops.tx = cable_tx;
	for (uint32_t i = 0; i < c->lanes; i++) {
		c->lane[i].pool = ports[i].pool;
		ports[i].lane = &c->lane[i];
		ports[i].port.ops = &c->ops;
	}
}

void
cable_close(struct cable *c)
{
	for (uint32_t i = 0; i < c->lanes; i++) {
		rte_ring_free(c->lane[i].to_core);
		rte_ring_free(c->lane[i].to_thread);
		close(c->lane[i].core.fd);
	}
	close(c->thread.fd);
}

static void
sleep_on(int fd, uint64_t ns)
{
	const struct timespec most = {.tv_sec = (time_t)(ns / NS_PER_S),
				      .tv_nsec = (long)(ns % NS_PER_S)};
	struct pollfd event = {.fd = fd, .events = POLLIN};
	uint64_t count;

	if (ppoll(&event, 1, &most, NULL) > 0)
		(void)!read(fd, &count, sizeof count);
}

void
cable_core_wait(struct cable_lane *lane, uint64_t ns)
{
	falls_asleep(&lane->core);
	if (rte_ring_empty(lane->to_core))
		sleep_on(lane->core.fd, ns);
	wakes_up(&lane->core);
}

struct frame *
cable_thread_frame(struct cable_lane *lane, uint32_t len, uint8_t **data)
{
	struct rte_mbuf *m = len <= UINT16_MAX ? rte_pktmbuf_alloc(lane->pool) : NULL;

	if (m == NULL)
		return NULL;
	*data = (uint8_t *)rte_pktmbuf_append(m, (uint16_t)len);
	if (*data != NULL)
		return (struct frame *)(void *)m;
	rte_pktmbuf_free(m);
	return NULL;
}

bool
cable_thread_send(struct cable_lane *lane, struct frame *frame)
{
	if (rte_ring_sp_enqueue(lane->to_core, frame) != 0) {
		rte_pktmbuf_free((struct rte_mbuf *)(void *)frame);
		return false;
	}
	wake(&lane->core);
	return true;
}

uint32_t
cable_thread_receive(struct cable_lane *lane,
		     void (*take)(void *arg, const uint8_t *data, uint32_t len), void *arg)
{
	struct rte_mbuf *got[CABLE_BURST];
	const uint32_t n =
		rte_ring_sc_dequeue_burst(lane->to_thread, (void **)got, CABLE_BURST, NULL);

	for (uint32_t i = 0; i < n; i++)
		take(arg, rte_pktmbuf_mtod(got[i], uint8_t *), got[i]->data_len);
	rte_pktmbuf_free_bulk(got, n);
	return n;
}

bool
cable_thread_is_ahead(const struct cable *c)
{
	for (uint32_t i = 0; i < c->lanes; i++)
		if (rte_ring_count(c->lane[i].to_core) > CABLE_RING / 2)
			return true;
	return false;
}

bool
cable_thread_sleeps(struct cable *c)
{
	falls_asleep(&c->thread);
	for (uint32_t i = 0; i < c->lanes; i++)
		if (!rte_ring_empty(c->lane[i].to_thread)) {
			wakes_up(&c->thread);
			return false;
		}
	return true;
}

void
cable_thread_woke(struct cable *c)
{
	uint64_t count;

	wakes_up(&c->thread);
	(void)!read(c->thread.fd, &count, sizeof count);
}
