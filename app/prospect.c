#include "prospect.h"
#include "firmware.h"
#include "nic_profile.h"
#include "paths.h"
#include "sizes.h"

#include <string.h>
#include <unistd.h>

/* On the machine we are on, what we may use; of another one, everything. */
static bool
place(struct prospect *p, struct config *cfg, struct fault *f)
{
	struct host host;

	if (!tree_is_live(&p->machine.tree))
		return machine_place(&p->machine, cfg, NULL, f);
	host_look(&host, cfg);
	machine_add_isolated(&p->machine, &host.cpus);
	firmware_ask(&p->machine.nic);
	return machine_place(&p->machine, cfg, &host.cpus, f);
}

static void
advise(struct prospect *p, const struct config *cfg)
{
	const struct advice_case c = {
		.tree = &p->machine.tree,
		.topology = &p->machine.topology,
		.placement = &p->machine.placement,
		.nic = cfg->pci[0] != '\0' ? &p->machine.nic : NULL,
		.config = cfg,
		.block_bytes = p->sizes.block_bytes,
		.pool_bytes = p->sizes.pool_bytes + nic_ring_bytes(&p->steer, cfg) +
			      ((uint64_t)EAL_MB << 20),
		.nic_tool = paths_nic_tool(),
		.root = !tree_is_live(&p->machine.tree) || geteuid() == 0,
	};

	p->advice.count = 0;
	advice_nic(&p->advice, &c);
	advice_start(&p->advice, &c);
	advice_speed(&p->advice, &c);
}

static bool
think(struct prospect *p, struct config *cfg, struct fault *f)
{
	const struct secrets none = {0};
	struct port_caps promise;

	if (!nic_profile(&p->profile, cfg, f) || !place(p, cfg, f))
		return false;
	steer_promise(&p->profile, &promise);
	if (!steer_make(&p->steer, cfg, &p->profile, &promise, f))
		return false;
	sizes_compute(&p->sizes, cfg, &p->profile, &none);
	advise(p, cfg);
	return true;
}

bool
prospect_make(struct prospect *p, struct config *cfg, struct fault *f)
{
	memset(p, 0, sizeof *p);
	if (!machine_read(&p->machine, cfg, cfg->sysfs[0] != '\0' ? cfg->sysfs : "/", f))
		return false;
	if (think(p, cfg, f))
		return true;
	prospect_close(p);
	return false;
}

void
prospect_close(struct prospect *p)
{
	machine_close(&p->machine);
}
