/*
 * placement.c - chooses a CPU for each worker and for the control thread.
 */
#include "placement.h"

#include <string.h>

/* Costs of a CPU for a worker, the highest first: each exceeds the sum of all lower ones. */
#define COST_NODE         16u /* multiplied by the node's distance, 10 to 255 */
#define COST_THREAD       8u
#define COST_NOT_ISOLATED 2u
#define COST_HOUSEKEEPING 1u
#define COST_THREAD_LAST  (COST_NODE * 256u) /* more than any distance */
#define COST_NEVER        UINT32_MAX

/* The state of the CPUs while they are assigned. */
struct allocation {
	const struct topology *t;
	const struct placement_request *req;
	bool usable[LCORE_ID_END];
	bool taken[LCORE_ID_END];   /* by a worker */
	uint32_t on[LCORE_ID_END];  /* number of workers on each physical core */
	uint32_t near_node;         /* the node from which distances are measured */
	uint32_t housekeeping_core; /* the physical core of the lowest CPU */
};

void
placement_all_cpus(struct cpu_list *cpus, const struct topology *t)
{
	cpus->count = 0;
	for (uint32_t cpu = 0; cpu < t->cpu_end; cpu++)
		if (t->cpu[cpu].online)
			cpus->at[cpus->count++] = cpu;
}

static void
begin(struct allocation *g, const struct topology *t, const struct placement_request *req)
{
	struct cpu_list all;

	memset(g, 0, sizeof *g);
	g->t = t;
	g->req = req;
	placement_all_cpus(&all, t);
	for (uint32_t i = 0; i < all.count; i++)
		g->usable[all.at[i]] = req->usable == NULL;
	for (uint32_t i = 0; req->usable != NULL && i < req->usable->count; i++)
		g->usable[req->usable->at[i]] = true;
	g->housekeeping_core = all.count != 0 ? t->cpu[all.at[0]].core : 0;
	g->near_node = req->nic_node >= 0 && (uint32_t)req->nic_node < t->node_end
			       ? (uint32_t)req->nic_node
			       : 0;
}

static uint32_t
cost_of(const struct allocation *g, uint32_t cpu)
{
	const struct topology_cpu *c = &g->t->cpu[cpu];
	uint32_t cost = COST_NODE * g->t->node[g->near_node].distance[c->node];

	if (!g->usable[cpu] || g->taken[cpu] || cpu == g->req->control_cpu)
		return COST_NEVER;
	if (g->on[c->core] != 0)
		cost += g->req->both_threads ? COST_THREAD : COST_THREAD_LAST;
	if (!c->isolated)
		cost += COST_NOT_ISOLATED;
	if (c->core == g->housekeeping_core)
		cost += COST_HOUSEKEEPING;
	return cost;
}

static void
assign(struct allocation *g, struct placement *l, uint32_t id, uint32_t cpu)
{
	const struct topology_cpu *c = &g->t->cpu[cpu];
	struct placement_core *core = &l->at[l->lcores.count];

	*core = (struct placement_core){cpu, c->socket, c->node, c->isolated, false, false};
	l->lcores.at[l->lcores.count++] = (struct lcore){.id = id, .cpu = cpu};
	g->taken[cpu] = true;
	g->on[c->core]++;
}

static bool
choose_workers(struct allocation *g, struct placement *l, struct error *err)
{
	uint32_t cpus = 0;

	for (uint32_t i = 0; i < g->req->cores; i++) {
		uint32_t best = COST_NEVER, at = 0;

		for (uint32_t cpu = 0; cpu < LCORE_ID_END; cpu++) {
			const uint32_t cost = cost_of(g, cpu);

			if (cost >= best)
				continue;
			best = cost;
			at = cpu;
		}
		if (best != COST_NEVER) {
			assign(g, l, i, at);
			cpus = i + 1;
		} else if (g->req->share && cpus != 0) {
			assign(g, l, i, l->at[i % cpus].cpu);
		} else {
			return error_set(
				err,
				"-t: %u cores requested, %u CPUs available; request at most "
				"%u, or let them share CPUs with --share-cpus",
				g->req->cores, i, i);
		}
	}
	return true;
}

/* Returns the cost of a CPU for the control thread; the lowest is best. */
static uint32_t
control_cost(const struct allocation *g, const struct placement *l, uint32_t cpu)
{
	const struct topology_cpu *c = &g->t->cpu[cpu];

	if (!g->usable[cpu] || g->taken[cpu])
		return COST_NEVER;
	return (c->isolated ? 4u : 0u) + (g->on[c->core] != 0 ? 2u : 0u) +
	       (c->node != l->node ? 1u : 0u);
}

static uint32_t
choose_control(const struct allocation *g, const struct placement *l)
{
	uint32_t best = COST_NEVER, at = CPU_NONE;

	if (g->req->control_cpu != CPU_NONE)
		return g->req->control_cpu;
	for (uint32_t cpu = 0; cpu < LCORE_ID_END; cpu++) {
		const uint32_t cost = control_cost(g, l, cpu);

		if (cost >= best)
			continue;
		best = cost;
		at = cpu;
	}
	return at;
}

static void
summarize(const struct allocation *g, struct placement *l)
{
	for (uint32_t i = 0; i < l->lcores.count; i++) {
		struct placement_core *core = &l->at[i];

		core->local = core->node == l->node;
		core->sharing = g->on[g->t->cpu[core->cpu].core] > 1;
		l->remote += !core->local;
		l->sharing += core->sharing;
		l->not_isolated += !core->isolated;
	}
}

bool
placement_make(struct placement *l, const struct topology *t, const struct placement_request *req,
	       struct error *err)
{
	struct allocation g;

	memset(l, 0, sizeof *l);
	begin(&g, t, req);
	if (req->lcores != NULL && req->lcores->count != 0) {
		for (uint32_t i = 0; i < req->lcores->count; i++)
			assign(&g, l, req->lcores->at[i].id, req->lcores->at[i].cpu);
	} else if (!choose_workers(&g, l, err)) {
		return false;
	}
	l->node = req->nic_node >= 0 ? g.near_node : l->at[0].node;
	l->control_cpu = choose_control(&g, l);
	summarize(&g, l);
	return true;
}
