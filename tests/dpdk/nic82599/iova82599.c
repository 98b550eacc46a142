/*
 * iova82599.c - addresses for DMA, in a program that has no hugepages.
 *
 * The bus maps devices of igb_uio only if physical addresses are known, which takes hugepages and
 * root. Only the model reads the addresses that the driver writes into registers and descriptors,
 * so they are reported as known, and as the virtual ones.
 */
#include <stdint.h>

/* No header has these functions: DPDK's PCI bus library and EAL call them by name, and the
 * program's own are found first. */
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
