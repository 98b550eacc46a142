#include "advice.h"

#include <stdio.h>
#include <string.h>

#define TCP_LISTEN 0x0au /* include/net/tcp_states.h of the kernel */
#define MB_SHIFT   20
#define SMALL_KB   2048u

/* Pages of that size on the node, and how many it takes until bytes are free. */
static uint64_t
pages_wanted(const struct topology_pages *p, uint64_t bytes)
{
	const uint64_t page = (uint64_t)p->kb << 10, wanted = (bytes + page - 1) / page;

	return wanted > p->free ? p->total + wanted - p->free : p->total;
}

static bool
fits(const struct topology_node *node, uint64_t block_bytes, uint64_t all_bytes)
{
	bool block = false;

	for (uint32_t k = 0; k < HUGE_KINDS; k++)
		block |= node->pages[k].free * node->pages[k].kb << 10 >= block_bytes;
	return block && topology_huge_free(node) >= all_bytes;
}

/* Which size to reserve: what the operator said, or has already reserved, or the smaller one. */
static const struct topology_pages *
kind_to_reserve(const struct topology_node *node)
{
	const struct topology_pages *small = &node->pages[0], *large = &node->pages[1];

	return small->total == 0 && large->total != 0 ? large : small;
}

static void
judge_hugepages(struct advice_list *list, const struct advice_case *c)
{
	const struct topology_node *node = &c->topology->node[c->placement->node];
	const struct topology_pages *kind = kind_to_reserve(node);
	const uint64_t bytes = c->block_bytes + c->pool_bytes;
	uint64_t everywhere = 0;
	struct advice *a;

	if (c->config->no_huge) {
		a = advice_add(list, ADVICE_WARN, "hugepages",
			       "not used: a random get misses the TLB twice");
		advice_cure(a, "leave out --no-huge");
		return;
	}
	for (uint32_t n = 0; n < c->topology->node_end; n++)
		everywhere += topology_huge_free(&c->topology->node[n]);
	if (fits(node, c->block_bytes, bytes)) {
		advice_add(list, ADVICE_OK, "hugepages", "%llu MB free on node %u, %llu MB needed",
			   (unsigned long long)(topology_huge_free(node) >> MB_SHIFT),
			   c->placement->node, (unsigned long long)(bytes >> MB_SHIFT));
		return;
	}
	a = advice_add(list, everywhere >= bytes ? ADVICE_WARN : ADVICE_FAIL, "hugepages",
		       "%llu MB free on node %u, %llu MB needed%s",
		       (unsigned long long)(topology_huge_free(node) >> MB_SHIFT),
		       c->placement->node, (unsigned long long)(bytes >> MB_SHIFT),
		       everywhere >= bytes ? "; the rest would be another node's" : "");
	advice_cure(a, "tools/nic hugepages %u %s %llu", c->placement->node,
		    kind->kb == SMALL_KB ? "2M" : "1G",
		    (unsigned long long)pages_wanted(kind, bytes));
}

static void
judge_memlock(struct advice_list *list, const struct advice_case *c)
{
	uint64_t bytes;
	struct advice *a;

	if (c->root || !tree_value_of(c->tree, &bytes, "Max locked memory", "proc/self/limits") ||
	    bytes >= c->pool_bytes) {
		advice_add(list, ADVICE_OK, "memlock",
			   c->root ? "no limit for root" : "enough for the frames");
		return;
	}
	a = advice_add(list, c->nic != NULL ? ADVICE_FAIL : ADVICE_WARN, "memlock",
		       "%llu MB may be locked, %llu MB of frames want to be",
		       (unsigned long long)(bytes >> MB_SHIFT),
		       (unsigned long long)(c->pool_bytes >> MB_SHIFT));
	advice_cure(a, "ulimit -l unlimited; for a service, LimitMEMLOCK=infinity");
}

/* Who listens where: "  0: 0100007F:2BCB 00000000:0000 0A ...". */
struct listeners {
	uint32_t port;
	uint32_t state; /* 0: any */
	bool found;
};

static bool
is_listener(void *arg, const char *line)
{
	struct listeners *l = arg;
	unsigned int port, state;

	if (sscanf(line, " %*u: %*[0-9A-Fa-f]:%x %*s %x", &port, &state) == 2)
		l->found = port == l->port && (l->state == 0 || state == l->state);
	return !l->found;
}

static bool
somebody_has(const struct tree *tree, const char *files[2], uint32_t port, uint32_t state)
{
	struct listeners l = {port, state, false};

	for (uint32_t i = 0; i < 2 && port != 0 && !l.found; i++)
		tree_lines(tree, files[i], is_listener, &l);
	return l.found;
}

static void
judge_ports(struct advice_list *list, const struct advice_case *c)
{
	static const char *tcp[2] = {"proc/net/tcp", "proc/net/tcp6"};
	static const char *udp[2] = {"proc/net/udp", "proc/net/udp6"};
	const bool t = somebody_has(c->tree, tcp, c->config->tcp_port, TCP_LISTEN);
	const bool u = somebody_has(c->tree, udp, c->config->udp_port, 0);
	struct advice *a;

	if (!t && !u) {
		advice_add(list, ADVICE_OK, "ports", "nobody else listens on ours");
		return;
	}
	a = advice_add(list, ADVICE_WARN, "ports",
		       "the kernel has a listener on %s port %u too: who connects to its addresses "
		       "meets that one",
		       t ? "TCP" : "UDP", t ? c->config->tcp_port : c->config->udp_port);
	advice_cure(a, "ss -lntup | grep :%u names it; systemctl disable --now memcached",
		    t ? c->config->tcp_port : c->config->udp_port);
}

void
advice_start(struct advice_list *list, const struct advice_case *c)
{
	judge_hugepages(list, c);
	judge_memlock(list, c);
	judge_ports(list, c);
}
