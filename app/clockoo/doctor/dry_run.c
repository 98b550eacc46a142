/*
 * dry_run.c - computes profile, machine, plan and sizes as a start does, and adds advice on them.
 */
#include "dry_run.h"
#include "config/addr_list.h"
#include "access/tls_servers.h"
#include "firmware.h"
#include "keep/arena_check.h"
#include "nic.h"
#include "nic_profile.h"
#include "paths.h"
#include "start/sizes.h"
#include "tier/flash_check.h"
#include "tier/tier_start.h"

#include <string.h>
#include <unistd.h>

/* Places the workers: on CPUs that this process may use, or on any CPU of the machine that --sysfs
 * names. */
static bool
place_workers(struct dry_run *p, struct config *cfg, struct error *err)
{
	struct host host;

	if (!tree_is_live(&p->machine.tree))
		return machine_place(&p->machine, cfg, NULL, err);
	host_probe(&host, cfg);
	machine_add_isolated(&p->machine, &host.cpus);
	firmware_ask(&p->machine.nic);
	return machine_place(&p->machine, cfg, &host.cpus, err);
}

/* Returns the hugepage bytes that files need in addition to the block: those of files that outlive
 * the process. */
static uint64_t
file_bytes_needed(const struct dry_run *p, const struct config *cfg)
{
	const bool live = tree_is_live(&p->machine.tree);

	return (live ? arena_huge_bytes_needed(cfg) : p->sizes.file_bytes) +
	       tier_start_huge_bytes(cfg, &p->sizes.flash.plan, live).needed;
}

static struct advice_input
input_of(const struct dry_run *p, const struct config *cfg)
{
	return (struct advice_input){
		.tree = &p->machine.tree,
		.topology = &p->machine.topology,
		.placement = &p->machine.placement,
		.nic = cfg->pci[0] != '\0' ? &p->machine.nic : NULL,
		.config = cfg,
		.block_bytes = p->sizes.block_bytes + file_bytes_needed(p, cfg),
		.pool_bytes = p->sizes.pool_bytes + nic_ring_bytes(&p->steer, cfg) +
			      ((uint64_t)EAL_MB << 20),
		.nic_tool = paths_nic_tool(),
		.root = !tree_is_live(&p->machine.tree) || geteuid() == 0,
	};
}

static void
advise_front(struct advice_list *list, const struct fleet_spec *front)
{
	struct front_warning warnings[FRONT_WARNINGS_MAX];
	const uint32_t n =
		front != NULL ? front_plan_warnings(&front->plan, &front->config, warnings) : 0;

	for (uint32_t i = 0; i < n; i++)
		advice_fix(advice_add(list, ADVICE_WARN, warnings[i].key, "%s", warnings[i].words),
			   "%s", warnings[i].fix);
}

static void
collect_advice(struct dry_run *p, const struct config *cfg)
{
	const struct advice_input c = input_of(p, cfg);

	p->advice.count = 0;
	advice_nic(&p->advice, &c);
	advice_start(&p->advice, &c);
	advice_speed(&p->advice, &c);
	advise_front(&p->advice, p->front);
}

void
dry_run_check_process(struct dry_run *p, const struct config *cfg, uint32_t pid)
{
	const struct advice_input c = input_of(p, cfg);

	advice_running(&p->advice, &c, pid);
}

/* Reads the addresses and routes, only to report faults. */
static bool
check_addresses(const struct config *cfg, struct error *err)
{
	struct addr_list list;

	if (!addr_list_read(&list, cfg, err))
		return false;
	addr_list_free(&list);
	return true;
}

static bool
run(struct dry_run *p, struct config *cfg, struct error *err)
{
	const struct secrets none = {0};
	struct sizes_asked asked;
	struct port_caps expected;

	if (!nic_profile(&p->profile, cfg, err) || !place_workers(p, cfg, err) ||
	    !access_lists_read(&p->access, cfg, err) || !check_addresses(cfg, err) ||
	    !fleet_spec_read(&p->front, cfg, err) ||
	    !flash_check_bytes(&asked.flash_bytes, cfg, err) || !tls_files_check(cfg, err) ||
	    !tls_servers_check(cfg, err))
		return false;
	steer_caps_max(&p->profile, &expected);
	if (!steer_plan_make(&p->steer, cfg, &p->profile, &expected, err))
		return false;
	asked.front = p->front != NULL ? &p->front->config : NULL;
	sizes_compute(&p->sizes, cfg, &p->profile, &asked, &none);
	collect_advice(p, cfg);
	return true;
}

bool
dry_run_make(struct dry_run *p, struct config *cfg, struct error *err)
{
	memset(p, 0, sizeof *p);
	if (!machine_read(&p->machine, cfg, cfg->sysfs[0] != '\0' ? cfg->sysfs : "/", err))
		return false;
	if (run(p, cfg, err))
		return true;
	dry_run_close(p);
	return false;
}

void
dry_run_close(struct dry_run *p)
{
	machine_close(&p->machine);
	access_lists_free(&p->access);
	fleet_spec_free(p->front);
}
