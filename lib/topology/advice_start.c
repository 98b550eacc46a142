/*
 * advice_start.c - rules about what a start needs: hugepages, locked memory, free ports.
 */
#include "advice.h"
#include "memory_nodes.h"

#include "base/check.h"
#include "base/size_units.h"

#include <stdio.h>
#include <string.h>

static_assert(CONFIG_NODES_MAX <= NODES_MAX, "a node without its pages");

#define TCP_LISTEN 0x0au /* include/net/tcp_states.h of the kernel */
#define SMALL_KB   2048u
/* Tolerated difference: page tables are rounded, and the number of nodes may not divide the pages
 * of 1 GB. */
#define MISPLACED_PERCENT 2u

/* Returns the total of pages of that size that the node needs to have the bytes free. */
static uint64_t
pages_wanted(const struct topology_pages *p, uint64_t bytes)
{
	const uint64_t page = (uint64_t)p->kb << 10, wanted = (bytes + page - 1) / page;

	return wanted > p->free ? p->total + wanted - p->free : p->total;
}

/* Memory that the appliance needs on one node. */
struct share {
	uint32_t node;
	uint64_t block_bytes; /* bytes that need pages of one size */
	uint64_t bytes;       /* the same, and the bytes of frames */
};

/* Returns the page size to reserve: the configured one; otherwise the one already reserved;
 * otherwise the smaller one. */
static const struct topology_pages *
kind_to_reserve(const struct topology *t, const struct config *cfg, uint32_t n)
{
	const struct topology_pages *small = &t->node[n].pages[0], *large = small + 1;

	if (cfg->hugepage != HUGEPAGE_ANY)
		return cfg->hugepage == HUGEPAGE_2M ? small : large;
	return small->total == 0 && large->total != 0 ? large : small;
}

struct advice_reservation
advice_reservation(const struct topology *t, const struct config *cfg, uint32_t node,
		   uint64_t bytes)
{
	const struct topology_pages *kind = kind_to_reserve(t, cfg, node);

	return (struct advice_reservation){kind->kb == SMALL_KB ? "2M" : "1G",
					   pages_wanted(kind, bytes)};
}

static bool
is_of_kind(const struct advice_input *c, uint32_t k)
{
	return c->config->hugepage == HUGEPAGE_ANY ||
	       c->config->hugepage == (k == 0 ? HUGEPAGE_2M : HUGEPAGE_1G);
}

static bool
fits(const struct advice_input *c, const struct share *s)
{
	const struct topology_node *node = &c->topology->node[s->node];
	bool block = s->block_bytes == 0;

	for (uint32_t k = 0; k < HUGEPAGE_SIZES; k++)
		block |= is_of_kind(c, k) &&
			 node->pages[k].free * node->pages[k].kb << 10 >= s->block_bytes;
	return block && topology_huge_free(node) >= s->bytes;
}

static struct share
share_of(const struct advice_input *c, uint32_t n)
{
	struct share s = {
		.node = n,
		.block_bytes = memory_node_share(c->config, c->topology, c->placement->node, n,
						 c->block_bytes),
	};

	s.bytes = s.block_bytes + (n == c->placement->node ? c->pool_bytes : 0);
	return s;
}

/* True if all nodes together have enough memory. Then the program starts, with some memory on
 * remote nodes. */
static bool
fits_somewhere(const struct advice_input *c)
{
	uint64_t of_kind[HUGEPAGE_SIZES] = {0}, all = 0;
	bool block = false;

	for (uint32_t n = 0; n < c->topology->node_end; n++) {
		const struct topology_node *node = &c->topology->node[n];

		all += topology_huge_free(node);
		for (uint32_t k = 0; k < HUGEPAGE_SIZES; k++)
			of_kind[k] += node->pages[k].free * node->pages[k].kb << 10;
	}
	for (uint32_t k = 0; k < HUGEPAGE_SIZES; k++)
		block |= is_of_kind(c, k) && of_kind[k] >= c->block_bytes;
	return block && all >= c->block_bytes + c->pool_bytes;
}

static void
report_shortage(struct advice_list *list, const struct advice_input *c, const struct share *s)
{
	const struct advice_reservation all =
		advice_reservation(c->topology, c->config, s->node, s->bytes);
	const bool elsewhere = fits_somewhere(c);
	struct advice *a;

	a = advice_add(
		list, elsewhere ? ADVICE_WARN : ADVICE_FAIL, "hugepages",
		"%llu MB free on node %u, %llu MB needed%s",
		(unsigned long long)(topology_huge_free(&c->topology->node[s->node]) >> MB_SHIFT),
		s->node, mb_of(s->bytes),
		elsewhere ? "; the rest would come from another node" : "");
	advice_fix(a, "%s hugepages %u %s %llu (by hugeadm, of libhugetlbfs-bin)", c->nic_tool,
		   s->node, all.size, (unsigned long long)all.pages);
}

static void
check_ordinary_pages(struct advice_list *list, const struct advice_input *c)
{
	const uint64_t needed = c->block_bytes + c->pool_bytes;
	const uint64_t available = c->topology->available_bytes;
	struct advice *a = advice_add(list, ADVICE_WARN, "hugepages",
				      "not used: a random get misses the TLB twice");

	advice_fix(a, config_is_user(c->config) ? "reserve some, and --hugepage-size 2m"
						: "leave out --no-huge");
	if (available == 0 || available >= needed)
		return;
	a = advice_add(list, ADVICE_FAIL, "memory", "%llu MB free, %llu MB needed",
		       (unsigned long long)(available >> MB_SHIFT), mb_of(needed));
	advice_fix(a, "lower -m, -c or -t");
}

static void
check_hugepages(struct advice_list *list, const struct advice_input *c)
{
	const uint32_t node = c->placement->node;

	if (c->config->no_huge) {
		check_ordinary_pages(list, c);
		return;
	}
	/* CONFIG_NODES_MAX is less than NODES_MAX: a node that does not exist has nothing
	 * free. */
	for (uint32_t n = 0; n < NODES_MAX; n++) {
		const struct share s = share_of(c, n);

		if (fits(c, &s))
			continue;
		report_shortage(list, c, &s);
		return;
	}
	advice_add(list, ADVICE_OK, "hugepages", "%llu MB free on node %u, %llu MB needed",
		   (unsigned long long)(topology_huge_free(&c->topology->node[node]) >> MB_SHIFT),
		   node, mb_of(share_of(c, node).bytes));
}

/* Returns how much memory of the running process is on other nodes than it should be. *lacking: the
 * node that lacks most. */
static uint64_t
misplaced_kb(const struct memory_nodes *m, const struct advice_input *c, uint32_t *lacking)
{
	uint64_t kb = 0, most = 0;

	for (uint32_t n = 0; n < NODES_MAX; n++) {
		const uint64_t share = memory_node_share(c->config, c->topology, c->placement->node,
							 n, m->all_kb << 10) >>
				       10;
		const uint64_t lack = share > m->kb[n] ? share - m->kb[n] : 0;

		kb += lack;
		if (lack > most)
			*lacking = n;
		most = lack > most ? lack : most;
	}
	return kb;
}

static void
fix_misplaced(struct advice *a, const struct advice_input *c, uint32_t node, uint64_t kb)
{
	const struct advice_reservation all =
		advice_reservation(c->topology, c->config, node, kb << 10);

	if (c->config->no_huge)
		advice_fix(a, "free memory on node %u, then restart it", node);
	else
		advice_fix(a, "%s hugepages %u %s %llu, then restart it", c->nic_tool, node,
			   all.size, (unsigned long long)all.pages);
}

void
advice_running(struct advice_list *list, const struct advice_input *c, uint32_t pid)
{
	struct memory_nodes m;
	struct advice *a;
	uint32_t node = c->placement->node;
	uint64_t kb;

	memory_nodes_read(&m, c->tree, pid);
	if (m.all_kb == 0) {
		advice_add(list, ADVICE_UNKNOWN, "memory nodes",
			   m.readable
				   ? "process %u: the kernel shows no memory with a policy"
				   : "process %u: cannot read its numa_maps; be its user, or root",
			   pid);
		return;
	}
	kb = misplaced_kb(&m, c, &node);
	if (kb <= m.all_kb / 100 * MISPLACED_PERCENT) {
		advice_add(list, ADVICE_OK, "memory nodes",
			   "process %u: %llu MB where they should be", pid, mb_of(m.all_kb << 10));
		return;
	}
	a = advice_add(list, ADVICE_WARN, "memory nodes",
		       "process %u: %llu of %llu MB are on other NUMA nodes than configured", pid,
		       mb_of(kb << 10), mb_of(m.all_kb << 10));
	fix_misplaced(a, c, node, kb);
}

static void
check_memlock(struct advice_list *list, const struct advice_input *c)
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
		       "%llu MB may be locked, %llu MB of packet buffers are needed", mb_of(bytes),
		       mb_of(c->pool_bytes));
	advice_fix(a, "ulimit -l unlimited; for a service, LimitMEMLOCK=infinity");
}

#define PORT_WORDS_BYTES 160u /* some twenty ports; the rest is left out */

/* A search among the kernel's listeners, with lines such as " 0: 0100007F:2BCB 00000000:0000 0A
 * ...". */
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
has_listener(const struct tree *tree, const char *files[2], uint32_t port, uint32_t state)
{
	struct listeners l = {port, state, false};

	for (uint32_t i = 0; i < 2 && port != 0 && !l.found; i++)
		tree_lines(tree, files[i], is_listener, &l);
	return l.found;
}

/* The ports of one protocol that other processes use. */
struct taken_ports {
	uint32_t count, first;
	char numbers[PORT_WORDS_BYTES]; /* "11211, 11212" */
};

static void
port_taken_add(struct taken_ports *t, uint32_t port)
{
	const size_t used = strlen(t->numbers);

	snprintf(t->numbers + used, sizeof t->numbers - used, "%s%u", used == 0 ? "" : ", ", port);
	if (t->count++ == 0)
		t->first = port;
}

/* Returns TCP port number n: first that of -p, then the one without TLS, then those of -l; 0: there
 * is none. */
static uint32_t
tcp_port_of(const struct config *cfg, uint32_t i)
{
	if (i < 2)
		return i == 0 ? cfg->tcp_port : cfg->tls.plain_port;
	return cfg->listeners.more_ports[i - 2];
}

static void
tcp_ports_look(struct taken_ports *t, const struct advice_input *c)
{
	static const char *files[2] = {"proc/net/tcp", "proc/net/tcp6"};

	for (uint32_t i = 0; i < 2 + c->config->listeners.more_count; i++)
		if (has_listener(c->tree, files, tcp_port_of(c->config, i), TCP_LISTEN))
			port_taken_add(t, tcp_port_of(c->config, i));
}

static void
udp_ports_look(struct taken_ports *t, const struct advice_input *c)
{
	static const char *files[2] = {"proc/net/udp", "proc/net/udp6"};
	const uint32_t count = c->config->udp_port == 0       ? 0
			       : c->config->udp_port_per_core ? c->config->cores
							      : 1;

	for (uint32_t i = 0; i < count; i++)
		if (has_listener(c->tree, files, c->config->udp_port + i, 0))
			port_taken_add(t, c->config->udp_port + i);
}

static const char *
ports_word(const struct taken_ports *t, const char *one, const char *several)
{
	return t->count == 0 ? "" : t->count == 1 ? one : several;
}

static void
check_ports(struct advice_list *list, const struct advice_input *c)
{
	struct taken_ports tcp = {0}, udp = {0};
	struct advice *a;

	tcp_ports_look(&tcp, c);
	udp_ports_look(&udp, c);
	if (tcp.count + udp.count == 0) {
		advice_add(list, ADVICE_OK, "ports", "no other listener on these ports");
		return;
	}
	a = advice_add(
		list, ADVICE_WARN, "ports",
		"a process of this host also listens on %s%s%s%s%s: what clients send to the "
		"host's own addresses reaches that process",
		ports_word(&tcp, "TCP port ", "TCP ports "), tcp.numbers,
		tcp.count != 0 && udp.count != 0 ? " and " : "",
		ports_word(&udp, "UDP port ", "UDP ports "), udp.numbers);
	advice_fix(a, "ss -lntup | grep :%u names it; systemctl disable --now memcached",
		   tcp.count != 0 ? tcp.first : udp.first);
}

void
advice_start(struct advice_list *list, const struct advice_input *c)
{
	check_hugepages(list, c);
	check_memlock(list, c);
	check_ports(list, c);
}
