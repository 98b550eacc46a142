/*
 * plan_print.c - --plan: prints a dry run.
 */
#include "plan_print.h"
#include "access/tls_servers.h"
#include "base/size_units.h"
#include "dry_run.h"
#include "fleet/front_cores.h"
#include "kernel_doctor.h"
#include "monitor/http_server.h"
#include "start/sizes.h"
#include "tier/flash_check.h"
#include "tier/tier_io.h"
#include "tier/tier_start.h"
#include "topology/memory_nodes.h"
#include "topology/number_list.h"

#include <stdlib.h>
#include <string.h>

#define LIST_BYTES      512u
#define RULES_SHOWN_MAX 40u

static const char *
plural(uint32_t n)
{
	return n == 1 ? "" : "s";
}

static void
print_node(const struct topology *t, uint32_t n, FILE *out)
{
	const struct topology_node *node = &t->node[n];
	bool has[LCORE_ID_END];
	char list[LIST_BYTES];

	for (uint32_t cpu = 0; cpu < t->cpu_end; cpu++)
		has[cpu] = t->cpu[cpu].online && t->cpu[cpu].node == n;
	number_list_write(list, sizeof list, has, t->cpu_end);
	fprintf(out, "           node %u: CPUs %s; %llu MB of memory; hugepages free:", n, list,
		mb_of(node->memory_bytes));
	for (uint32_t k = 0; k < HUGEPAGE_SIZES; k++)
		fprintf(out, "%s %llu of %llu x %s", k == 0 ? "" : ",",
			(unsigned long long)node->pages[k].free,
			(unsigned long long)node->pages[k].total, k == 0 ? "2 MB" : "1 GB");
	fputs("\n", out);
}

static void
print_machine(const struct topology *t, FILE *out)
{
	fprintf(out, "machine    %s\n", t->model[0] != '\0' ? t->model : "unnamed");
	fprintf(out, "           %u socket%s, %u core%s, %u CPU%s\n", t->sockets,
		plural(t->sockets), t->cores, plural(t->cores), t->cpus, plural(t->cpus));
	if (t->cpus_beyond != 0)
		fprintf(out, "           %u more with numbers from %u on, which stay unused\n",
			t->cpus_beyond, LCORE_ID_END);
	for (uint32_t n = 0; n < t->node_end; n++)
		if (t->node[n].online)
			print_node(t, n, out);
}

static void
print_nic(const struct dry_run *p, const struct config *cfg, FILE *out)
{
	const struct pci_nic *nic = &p->machine.nic;

	if (cfg->pci[0] == '\0') {
		const bool iface = cfg->iface[0] != '\0' && profile_has_iface(&p->profile);

		fprintf(out, "port       %s%s%s\n", cfg->port, iface ? " on " : "",
			iface ? cfg->iface : "");
	} else {
		fprintf(out, "port       %s, %04x:%04x, driver %s, ", nic->address, nic->vendor,
			nic->device, nic->driver[0] != '\0' ? nic->driver : "none");
		if (nic->node >= 0)
			fprintf(out, "node %d", nic->node);
		else
			fputs("node unknown", out);
		if (nic->pcie_width != 0)
			fprintf(out, ", PCIe x%u %s", nic->pcie_width, nic->pcie_speed);
		fputs("\n", out);
	}
	if (config_has_bond(cfg))
		fprintf(out, "bond       %s and %s: %s\n", nic_member_name(cfg, 0),
			nic_member_name(cfg, 1),
			cfg->bond == CONFIG_BOND_BACKUP ? "active-backup"
			: cfg->bond == CONFIG_BOND_LACP ? "LACP, fast"
							: "LACP, slow");
	fprintf(out, "profile    %s: %s\n", p->profile.name, p->profile.summary);
}

/* Prints the other hyper-threads of a worker's physical core and what runs on them. */
static void
print_siblings(const struct dry_run *p, uint32_t cpu, FILE *out)
{
	const struct topology *t = &p->machine.topology;
	const struct placement *l = &p->machine.placement;

	for (uint32_t other = 0; other < t->cpu_end; other++) {
		const char *does = "idle";

		if (other == cpu || !t->cpu[other].online || t->cpu[other].core != t->cpu[cpu].core)
			continue;
		for (uint32_t i = 0; i < l->lcores.count; i++)
			if (l->at[i].cpu == other)
				does = "a worker";
		if (l->control_cpu == other)
			does = "control";
		fprintf(out, "  CPU %u: %s", other, does);
	}
}

static void
print_cores(const struct dry_run *p, const struct config *cfg, FILE *out)
{
	const struct placement *l = &p->machine.placement;

	fprintf(out, "cores      %u worker%s%s\n", l->lcores.count, plural(l->lcores.count),
		p->steer.handover      ? ", which share queues"
		: l->lcores.count == 1 ? ""
				       : ", one queue each");
	fprintf(out, "           core  CPU  socket  node  queue  isolated  other hyper-thread\n");
	for (uint32_t i = 0; i < l->lcores.count; i++) {
		const struct placement_core *c = &l->at[i];
		char queue[16];

		snprintf(queue, sizeof queue, "%u", i);
		fprintf(out, "           %4u %4u %7u %5u %6s  %-8s", l->lcores.at[i].id, c->cpu,
			c->socket, c->node, i < p->steer.queues ? queue : "-",
			c->isolated ? "yes" : "no");
		print_siblings(p, c->cpu, out);
		fputs("\n", out);
	}
	if (l->control_cpu == CPU_NONE)
		fputs("control    no CPU of its own: shares one with a worker\n", out);
	else
		fprintf(out, "control    CPU %u, node %u\n", l->control_cpu,
			p->machine.topology.cpu[l->control_cpu].node);
}

static void
print_queues(const struct dry_run *p, const struct config *cfg, FILE *out)
{
	fprintf(out, "rings      %u RX and %u TX descriptors per queue; bursts of %u packets\n",
		cfg->rx_ring != 0 ? cfg->rx_ring : p->profile.rx_ring,
		cfg->tx_ring != 0 ? cfg->tx_ring : p->profile.tx_ring,
		cfg->burst != 0 ? cfg->burst : p->profile.burst);
	fputs("offloads  ", out);
	for (uint32_t i = 0; config_offloads[i] != NULL; i++)
		if (p->profile.offloads & 1u << i)
			fprintf(out, " %s", config_offloads[i]);
	fprintf(out, "%s\n", p->profile.offloads == 0 ? " none" : "");
	fprintf(out, "steering   %s\n", p->steer.words);
}

/* Prints the first few steering rules of each kind. */
static void
print_rules(const struct steer_plan *plan, FILE *out)
{
	const uint32_t shown =
		plan->rule_count <= RULES_SHOWN_MAX ? plan->rule_count : RULES_SHOWN_MAX;

	fprintf(out, "rules      %u\n", plan->rule_count);
	for (uint32_t i = 0; i < shown; i++)
		fprintf(out, "           %s\n", plan->rules[i].words);
	if (shown != plan->rule_count)
		fprintf(out, "           and %u more of the last kind\n", plan->rule_count - shown);
}

/* Prints the memory of each NUMA node, unless the NIC's node has all of it. */
static void
print_nodes(const struct dry_run *p, const struct config *cfg, FILE *out)
{
	for (uint32_t n = 0; n < NODES_MAX; n++) {
		const uint64_t bytes =
			memory_node_share(cfg, &p->machine.topology, p->machine.placement.node, n,
					  (uint64_t)config_reserved_mb(cfg) << MB_SHIFT);

		if (bytes != 0 && (cfg->node_count != 0 || cfg->numa != CONFIG_NUMA_NIC))
			fprintf(out, "           of the items, %llu MB on node %u%s\n",
				mb_of(bytes), n,
				cfg->node_count != 0 ? "" : ", page by page in turn");
	}
}

/* Returns the number of items for which the logs of all shards have room. */
static uint64_t
log_items(const struct flash_plan *p)
{
	return p->shards / p->streams * (p->log[0].items + p->log[1].items);
}

static uint64_t
hash_items(const struct flash_plan *p)
{
	return p->shards / p->streams * p->column.count * p->column.items;
}

/* Prints the memory of the second tier. */
static void
print_flash(const struct sizes *z, const struct config *cfg, FILE *out)
{
	const struct tier_sizes *f = &z->flash;

	if (f->device == 0)
		return;
	fprintf(out, "           flash: index %llu MB, %.2f bytes an item\n", mb_of(f->index),
		(double)f->index / (double)log_items(&f->plan));
	if (f->convert != 0)
		fprintf(out, "           flash: one conversion at a time %llu MB\n",
			mb_of(f->convert));
	if (f->ghosts != 0)
		fprintf(out, "           flash: ghosts of what is not admitted %llu MB\n",
			mb_of(f->ghosts));
	fprintf(out, "           flash: asks %llu MB (%llu MB per core)\n", mb_of(f->asks),
		mb_of(f->asks / cfg->cores));
	fprintf(out, "           flash: reads %llu MB (%llu MB per core), tables %llu MB\n",
		mb_of(f->reads), mb_of(f->reads / cfg->cores), mb_of(f->tables));
}

static void
print_memory(const struct dry_run *p, const struct config *cfg, FILE *out)
{
	const struct sizes *z = &p->sizes;
	const uint64_t conns = sizes_connections(z, cfg);
	const uint64_t rings = nic_ring_bytes(&p->steer, cfg);
	const uint64_t kernel = nic_kernel_ring_bytes(&p->profile, cfg, p->steer.queues);
	const uint64_t state =
		tier_start_huge_bytes(cfg, &z->flash.plan, tree_is_live(&p->machine.tree)).all;
	const uint64_t all = z->block_bytes + z->file_bytes + state + z->pool_bytes + rings +
			     ((uint64_t)EAL_MB << MB_SHIFT);
	/* Buffers and columns of the tier: in a state file of hugepages, which `state` counts, or
	 * in ordinary pages. */
	const uint64_t ordinary = state != 0 ? 0 : z->flash.buffers + z->flash.rows;
	const uint64_t tls = tls_heap_max(cfg).all + tls_servers_heap_max(cfg, &z->front);
	const uint64_t beside = kernel + ordinary + tls + ((uint64_t)PROGRAM_MB << MB_SHIFT);

	fprintf(out, "memory     %llu MB on node %u, %s:\n", mb_of(all), p->machine.placement.node,
		cfg->no_huge ? "ordinary pages" : "hugepages");
	fprintf(out, "           items %llu MB (-m %u), their index in it\n",
		mb_of(z->store.memory_bytes), cfg->memory_mb);
	if (z->file_bytes != 0)
		fprintf(out, "           all of that, %llu MB, in %s\n", mb_of(z->file_bytes),
			cfg->memory_file);
	if (cfg->memory_save[0] != '\0')
		fprintf(out, "           saved by a stop in %s, up to %llu MB\n", cfg->memory_save,
			mb_of((uint64_t)cfg->memory_mb << MB_SHIFT));
	print_nodes(p, cfg, out);
	fprintf(out, "           connections and requests %llu MB (%llu MB per core)\n",
		mb_of(conns), mb_of(conns / cfg->cores));
	fprintf(out, "           tables of the cores %llu MB\n",
		mb_of(sizes_tables(z, cfg) - tier_sizes_bytes(&z->flash)));
	print_flash(z, cfg, out);
	if (state != 0)
		fprintf(out, "           flash: buffers %llu MB, columns %llu MB, in flash.state\n",
			mb_of(z->flash.buffers), mb_of(z->flash.rows));
	fprintf(out, "           frames %llu MB, ", mb_of(z->pool_bytes));
	if (p->steer.handover)
		fprintf(out, "one pool for all cores\n           rings between cores %llu MB\n",
			mb_of(rings));
	else
		fprintf(out, "a pool of %llu MB for each queue\n",
			mb_of(z->pool_bytes / p->steer.queues));
	fprintf(out, "           EAL %u MB\n", EAL_MB);
	fputs("and        ", out);
	if (kernel != 0)
		fprintf(out, "%llu MB of rings in the kernel, ", mb_of(kernel));
	if (ordinary != 0)
		fprintf(out, "%llu MB of buffers and columns for flash, ", mb_of(ordinary));
	if (tls != 0)
		fprintf(out, "%llu MB of heap for TLS at most, ", mb_of(tls));
	fprintf(out, "%u MB of program and libraries: %llu MB in all, %llu of them beside -m\n",
		PROGRAM_MB, mb_of(all + beside), mb_of(all + beside - z->store.memory_bytes));
}

/* Prints the number of planned copies, and the most requests that they let the busiest server
 * get. */
static void
print_size(const struct front_plan *f, FILE *out)
{
	if (f->items == FRONT_ITEMS_MEMORY) {
		fputs("           copies: as many as -m holds, without a bound\n", out);
		return;
	}
	fprintf(out,
		"           %u copies; 8 n' ln n' + 1 is %.0f with n' = %.1f, 1 / the smallest "
		"share of a "
		"server; %u slots, %llu KB\n",
		f->items, f->formula, f->n, f->slots,
		(unsigned long long)((f->slot_bytes + (1u << 10) - 1) >> 10));
	fprintf(out,
		"           whatever is asked for, no server has more than %.2f of its share of "
		"gets\n",
		f->bound);
}

static void
print_copies(const struct fleet_spec *front, FILE *out)
{
	char words[FRONT_AGE_BYTES];

	if (front->plan.items != 0)
		print_size(&front->plan, out);
	front_plan_age(&front->plan, &front->config, words);
	fprintf(out, "           %s\n", words);
}

static void
print_ejection(const struct front_config *c, FILE *out)
{
	const bool gutter = c->gutter.count != 0;
	const uint32_t others = gutter ? c->gutter.count : c->servers.count - 1;

	fprintf(out, "           a server that fails %u times in a row ", c->server_failure_limit);
	if (!c->auto_eject_hosts) {
		fputs("is down until it answers: its keys fail\n", out);
		return;
	}
	fprintf(out,
		"leaves for %.10g s, and returns %s; in its place: %u %s, whose values live %u s\n",
		(double)c->server_retry_timeout_ns / 1e9,
		c->shared ? "with what it has" : "flushed", others,
		gutter ? "of the gutter" : "of the fleet", c->gutter_ttl_s);
}

static void
print_warm(const struct front_config *c, FILE *out)
{
	if (c->warm_ns != 0)
		fprintf(out,
			"           for %.10g s after a reload, keys that move are fetched from "
			"the "
			"servers that had them (%zu MB of memory)\n",
			(double)c->warm_ns / 1e9, sizeof(struct front_warm) >> 20);
}

/* Prints the memory of TLS to servers. */
static void
print_tls_to_servers(const struct config *cfg, const struct sizes *z, FILE *out)
{
	if (cfg->front.tls_ca[0] == '\0')
		return;
	fprintf(out,
		"           TLS, issued by %s, for %s; %zu KB a core, heap at most %llu KB in "
		"all\n",
		cfg->front.tls_ca,
		cfg->front.tls_name[0] != '\0' ? cfg->front.tls_name : "each server's host",
		tls_servers_core_bytes(cfg, &z->front) >> 10,
		(unsigned long long)tls_servers_heap_max(cfg, &z->front) >> 10);
}

/* Prints the memory of connections to servers that the kernel reaches. */
static void
print_by_kernel(const struct front_config *c, const struct sizes *z, FILE *out)
{
	const struct front_servers *const lists[] = {&c->servers, &c->gutter};
	uint32_t n = 0;

	for (uint32_t l = 0; l < 2; l++)
		for (uint32_t i = 0; i < lists[l]->count; i++)
			n += lists[l]->host[i].by_kernel;
	if (n != 0)
		fprintf(out,
			"           %u server%s through the kernel, by a thread of their own; %zu "
			"KB a core\n",
			n, plural(n), z->kernel_servers_bytes >> 10);
}

static void
print_front(const struct fleet_spec *front, const struct config *cfg, const struct sizes *z,
	    FILE *out)
{
	char size[FLEET_SPEC_SIZE_BYTES];

	if (front == NULL)
		return;
	fleet_spec_size(front, cfg, size);
	fprintf(out, "front      %s; %s", size,
		front_distribution_name(front->config.distribution));
	if (front->config.distribution != FRONT_JUMP)
		fprintf(out, " by %s", front_hash_name(front->config.hash));
	fprintf(out, "; the busiest has %.2f times the keys its weight asks for\n",
		front->plan.busiest);
	print_copies(front, out);
	if (front->config.peers.count != 0)
		fprintf(out,
			"           %u other front%s notified over UDP of keys that are written, "
			"best effort: a lost notification costs until the copy ends\n",
			front->config.peers.count,
			front->config.peers.count == 1 ? " is" : "s are");
	print_ejection(&front->config, out);
	print_warm(&front->config, out);
	print_by_kernel(&front->config, z, out);
}

/* Prints the lists of networks. Their table is on the heap; during a reload there are two. */
static void
print_access(const struct access_lists *lists, FILE *out)
{
	char words[ACCESS_WORDS_BYTES];

	if (lists->list == NULL)
		return;
	access_lists_words(lists, words);
	fprintf(out, "let in     %s, ordinary pages, twice during a reload\n", words);
}

static void
print_shards(const struct flash_plan *p, FILE *out)
{
	const uint32_t shards = p->shards / p->streams;
	const uint64_t large = (uint64_t)p->log[1].segments * FLASH_SEGMENT_BYTES;

	fprintf(out,
		"           %u shard%s of %u segments of 2 MB, %u of them full and the others "
		"being "
		"emptied\n",
		shards, plural(shards), p->log[0].segments, p->log[0].live);
	if (!flash_plan_has_columns(p))
		return;
	fprintf(out,
		"           and of %u columns of %llu MB; and %llu MB for items above %u bytes, a "
		"log\n",
		p->column.count, mb_of((uint64_t)p->column.pages * FLASH_PAGE_BYTES), mb_of(large),
		CONFIG_FLASH_HASHED);
}

/* Prints the memory and the writes of a million items of mean size. */
static void
print_million(const struct tier_sizes *f, const struct config *cfg, FILE *out)
{
	const struct flash_plan *p = &f->plan;
	const uint32_t writes = flash_plan_writes(p);
	const double log_mb =
		(double)p->log[0].segments * FLASH_SEGMENT_BYTES / (double)p->log[0].items;
	const double index =
		(double)p->log[0].buckets * sizeof(struct bucket) / (double)p->log[0].items;

	fprintf(out, "           a million items: %.1f MB of memory and %.0f MB of a log", index,
		log_mb);
	if (flash_plan_has_columns(p))
		fprintf(out, ", or %.1f MB and %.0f MB of columns",
			(double)f->rows / (double)hash_items(p),
			(double)p->column.pages * FLASH_PAGE_BYTES / (double)p->column.items);
	fprintf(out, "; a byte is written %u.%02u times%s\n", writes / 1000, writes % 1000 / 10,
		flash_plan_has_columns(p) ? ", above 1016 bytes an item once" : "");
}

/* Prints the device of the second tier. False if a start would refuse it. */
static bool
print_device(const struct tier_sizes *f, const struct config *cfg, FILE *out)
{
	char words[FLASH_CHECK_BYTES];
	struct tier_io_check io;
	struct error err;
	bool starts;

	if (f->device == 0)
		return true;
	flash_check_words(cfg, f->device, words);
	fprintf(out, "flash      %s: %s\n", cfg->flash.device, words);
	starts = tier_io_check(&io, cfg, &err);
	if (starts)
		fprintf(out, "           by %s\n", io.words);
	else
		fprintf(out, "           which a start refuses: %s\n", err.text);
	print_shards(&f->plan, out);
	print_million(f, cfg, out);
	return starts;
}

/* Prints the address of telemetry.http. False if a start would refuse it. */
static bool
print_http(const struct config_http *http, FILE *out)
{
	struct error err;
	const bool built = http_is_built(&err);

	if (http->text[0] == '\0')
		return true;
	fprintf(out, "http       %s, %s\n", http->text,
		built ? "by the control thread: /metrics, a page, /api/all"
		      : "which this program refuses: it was built without it");
	return built;
}

/* Prints the memory of TLS. OpenSSL allocates its part on the heap as handshakes need it. */
static void
print_tls(const struct config *cfg, const struct sizes *z, FILE *out)
{
	const struct tls_heap h = tls_heap_max(cfg);

	if (!cfg->tls.on)
		return;
	fprintf(out, "tls        %s; a second slot for each connection, %zu KB a core\n",
		cfg->tls.chain_cert, tls_core_bytes(cfg, z->serve.conns_max) >> 10);
	fprintf(out,
		"           heap at most: %u KB a connection amid a record, %u KB amid a "
		"handshake, "
		"of which there are %u at a time\n",
		h.conn_bytes >> 10, h.handshake_bytes >> 10, h.handshakes);
}

static void
print_warnings(const struct advice_list *list, FILE *out)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < list->count; i++)
		count += list->at[i].severity >= ADVICE_WARN;
	fprintf(out, "warnings   %u\n", count);
	for (uint32_t i = 0; i < list->count; i++) {
		const struct advice *a = &list->at[i];

		if (a->severity < ADVICE_WARN)
			continue;
		fprintf(out, "  %-4s %s: %s\n", advice_severity_name(a->severity), a->subject,
			a->words);
		fprintf(out, "       -> %s\n", a->fix);
	}
}

static bool
has_failure(const struct advice_list *list)
{
	for (uint32_t i = 0; i < list->count; i++)
		if (list->at[i].severity == ADVICE_FAIL)
			return true;
	return false;
}

bool
plan_print(struct config *cfg, FILE *out, bool *starts, struct error *err)
{
	struct dry_run p;
	bool device_starts, http_starts, kernel_starts;

	if (!dry_run_make(&p, cfg, err))
		return false;
	print_machine(&p.machine.topology, out);
	print_nic(&p, cfg, out);
	print_cores(&p, cfg, out);
	print_queues(&p, cfg, out);
	print_rules(&p.steer, out);
	print_memory(&p, cfg, out);
	print_access(&p.access, out);
	print_front(p.front, cfg, &p.sizes, out);
	if (p.front != NULL && cfg->cores > 1)
		fprintf(out, "           %s\n", front_cores_words(&p.steer, cfg->cores));
	print_tls_to_servers(cfg, &p.sizes, out);
	device_starts = print_device(&p.sizes.flash, cfg, out);
	print_tls(cfg, &p.sizes, out);
	http_starts = print_http(&cfg->http, out);
	kernel_starts = kernel_doctor_plan(cfg, out);
	print_warnings(&p.advice, out);
	*starts = device_starts && http_starts && kernel_starts && !has_failure(&p.advice);
	dry_run_close(&p);
	return true;
}
