#include "nic82599/nic82599.h"
#include "support/test.h"
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>
static struct nic82599 nic;
int main(int argc,char**argv){
 struct pci_folder f; pci_folder_make(&f,0x8086,0x10f7);
 nic82599_start(&nic);
 const char *a[]={"x","--allow","0000:82:00.0","--no-huge","-m","64","--no-shconf","--no-telemetry","--lcores","0@0",NULL};
 int rc=rte_eal_init(10,(char**)(uintptr_t)a);
 printf("rc %d ports %d resets %u\n",rc,rte_eth_dev_count_avail(),nic.resets);
 void *p=rte_malloc(NULL,100,64); printf("%p %lx %lx\n",p,rte_malloc_virt2iova(p),rte_mem_virt2iova(p));
 struct rte_mempool *m=rte_pktmbuf_pool_create("p",100,0,0,2048,-1);
 struct rte_mbuf*b=m?rte_pktmbuf_alloc(m):NULL; if(b)printf("%p %lx\n",b->buf_addr,rte_mbuf_iova_get(b));
 pci_folder_remove(&f);
 return 0;}
