/*
 * iova82599.c - addresses for DMA, in a program that has no hugepages.
 *
 * DPDK's PCI bus maps devices of igb_uio only if EAL knows physical addresses, which takes
 * hugepages and root. Here only the model of the NIC reads the addresses that the driver writes
 * into registers and descriptors. So these functions report that addresses are known, and return
 * virtual ones.
 */
#include <stdint.h>

/* No header declares these functions. DPDK's PCI bus library and EAL call them, and the linker
 * finds those of the program first. */
int rte_eal_using_phys_addrs(void);
uint64_t rte_malloc_virt2iova(const void *address);
uint64_t rte_mem_virt2iova(const void *address);

int
rte_eal_using_phys_addrs(void)
{
	return 1;
}

uint64_t
rte_malloc_virt2iova(const void *address)
{
	return (uintptr_t)address;
}

uint64_t
rte_mem_virt2iova(const void *address)
{
	return (uintptr_t)address;
}
