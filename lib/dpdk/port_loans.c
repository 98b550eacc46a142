/*
 * port_loans.c - appends loans to frames, and makes an idle driver free the frames that it has
 * sent.
 */
#include "port_loans.h"

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#define REAP_POLLS 64u /* polls between two requests while frames arrive */

/* The note of a loan, after each mbuf of the pool. */
struct loan_note {
	struct rte_mbuf_ext_shared_info shared;
	struct port_loan loan;
	struct port_dpdk *port;
};

/* Ends the loan when its mbuf is freed (rte_mbuf_extbuf_free_callback_t). */
static void
loan_end(void *bytes, void *note)
{
	const struct loan_note *n = note;

	n->port->loans--;
	n->loan.done(n->loan.lender, n->loan.owner);
}

static bool
port_lend(struct port *port, struct frame *frame, const struct port_loan *loan)
{
	struct port_dpdk *p = (struct port_dpdk *)(void *)port;
	struct rte_mbuf *head = (struct rte_mbuf *)(void *)frame;
	struct rte_mbuf *m = rte_pktmbuf_alloc(p->loan_pool);
	void *bytes = (void *)(uintptr_t)
			      loan->data; /* not changed; const is missing in DPDK's prototype */
	struct loan_note *n;

	if (unlikely(m == NULL)) {
		counter_add(&p->counters[PORT_NO_LOANS], 1);
		return false;
	}
	n = rte_mbuf_to_priv(m);
	*n = (struct loan_note){{loan_end, n, 1}, *loan, p};
	/* A NIC sees the arena at its virtual address, at which device_lend has mapped it. */
	rte_pktmbuf_attach_extbuf(m, bytes, (rte_iova_t)(uintptr_t)bytes, (uint16_t)loan->len,
				  &n->shared);
	m->data_len = (uint16_t)loan->len;
	head->next = m;
	head->nb_segs = 2;
	p->loans++;
	return true;
}

/* Receives, and makes the driver free sent frames, which some do only when they send again. */
static void
rx_and_reap(struct port *port, struct burst *b, uint32_t count)
{
	struct port_dpdk *p = (struct port_dpdk *)(void *)port;

	port_dpdk_ops.rx(port, b, count);
	if (p->loans != 0 && (b->count == 0 || ++p->polls % REAP_POLLS == 0))
		(void)rte_eth_tx_done_cleanup(p->id, p->queue, 0);
}

bool
port_loans_begin(struct port_dpdk *p, int node)
{
	char name[RTE_MEMPOOL_NAMESIZE];

	snprintf(name, sizeof name, "loans%u_%u", p->id, p->queue);
	/* Without a cache, since that would hold mbufs, of which there are few. */
	p->loan_pool = rte_pktmbuf_pool_create(
		name, PORT_LOANS_MAX, 0, RTE_ALIGN(sizeof(struct loan_note), RTE_MBUF_PRIV_ALIGN),
		0, node);
	if (p->loan_pool == NULL)
		return false;
	p->loan_ops = port_dpdk_ops;
	p->loan_ops.rx = rx_and_reap;
	p->loan_ops.lend = port_lend;
	p->port.ops = &p->loan_ops;
	p->port.caps |= PORT_TX_LOANS;
	return true;
}
