/*
 * device_loans.c - decides whether a device may send values from the store's memory, and maps that
 * memory for a NIC.
 */
/* rte_dev_dma_map is experimental in DPDK 22.11. */
#define ALLOW_EXPERIMENTAL_API

#include "device.h"
#include "port_loans.h"

#include <string.h>

#include <rte_dev.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>

#define LOAN_BYTES 384u /* struct rte_mbuf, its note, and a header of the mempool */

uint64_t
device_loans_bytes(const struct profile *p, const struct config *cfg)
{
	return p->offloads & OFFLOAD_TX_LOANS ? (uint64_t)cfg->cores * PORT_LOANS_MAX * LOAN_BYTES
					      : 0;
}

/* Returns why the ports of this device cannot accept loans; NULL: they can. */
static const char *
why_ports_take_none(const struct device *d, const struct device_request *req)
{
	if (!(req->profile->offloads & OFFLOAD_TX_LOANS))
		return "the profile does not ask for them";
	if (req->plan->handover || config_has_bond(req->cfg) || profile_is_cable(req->profile))
		return "another thread or NIC may free a frame";
	if (!(d->offloads_tx & RTE_ETH_TX_OFFLOAD_MULTI_SEGS))
		return "the port sends no frames of two segments";
	if (!(d->ports[0].port.caps & PORT_TX_TCP_CKSUM))
		return "the port does not fill TCP checksums";
	return NULL;
}

/* Maps the memory at its virtual address. False: nothing has changed. */
static bool
map_for(struct rte_device *device, const struct device_memory *memory)
{
	if (rte_extmem_register(memory->base, memory->bytes, NULL, 0, memory->page_bytes) != 0)
		return false;
	if (rte_dev_dma_map(device, memory->base, (uint64_t)(uintptr_t)memory->base,
			    memory->bytes) == 0)
		return true;
	rte_extmem_unregister(memory->base, memory->bytes);
	return false;
}

/* True if the driver has copied a frame by the time its send returns, in this process. The peers of
 * other software ports read frames in EAL's memory, which they share; our memory they do not. */
static bool
copies_at_once(const struct device *d)
{
	return strcmp(d->driver, "net_tap") == 0 || strcmp(d->driver, "net_vhost") == 0;
}

/* True if the driver, asked to free sent frames, forgets which descriptor of a frame of two buffers
 * the NIC marks as done. When its ring is full, it then waits for the other one (DPDK 22.11:
 * igb_tx_done_cleanup, igc_tx_done_cleanup; eth_igb_xmit_pkts). */
static bool
stops_once_freed(const struct device *d)
{
	return strncmp(d->driver, "net_e1000_igb", 13) == 0 || strcmp(d->driver, "net_igc") == 0;
}

/* Returns why the device cannot read the memory. NULL: it can, and if it is a NIC, the memory is
 * mapped for it. */
static const char *
why_unmapped(const struct device *d, const struct device_request *req,
	     const struct device_memory *memory)
{
	struct rte_eth_dev_info info;

	if (!profile_is_pci(req->profile))
		return copies_at_once(d) ? NULL : "the port's peer cannot read the store's memory";
	if (stops_once_freed(d) || rte_eth_tx_done_cleanup(d->id, 0, 0) == -ENOTSUP)
		return "the driver cannot free sent frames on request";
	if (req->cfg->no_huge || rte_eal_iova_mode() != RTE_IOVA_VA)
		return "the NIC does not use our addresses: it needs hugepages and an IOMMU";
	if (rte_eth_dev_info_get(d->id, &info) != 0 || !map_for(info.device, memory))
		return "the memory could not be mapped for the NIC";
	return NULL;
}

const char *
device_lend(struct device *d, const struct device_request *req, const struct device_memory *memory)
{
	const char *why = why_ports_take_none(d, req);

	if (why == NULL)
		why = why_unmapped(d, req, memory);
	for (uint32_t i = 0; i < d->queues && why == NULL; i++)
		if (!port_loans_begin(&d->ports[i], d->node))
			why = "there is no memory for their mbufs";
	return why;
}
