#include "file_check.h"
#include "plan_print.h"
#include "prospect.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* A group of devices has one owner at a time; opening it tells whether there is one. */
static void
look_for_owner(struct prospect *p)
{
	const struct pci_nic *nic = &p->machine.nic;
	char path[128];
	struct advice *a;
	int fd;

	if (!tree_is_live(&p->machine.tree) || nic->iommu_group[0] == '\0' ||
	    strcmp(nic->driver, "vfio-pci") != 0)
		return;
	snprintf(path, sizeof path, "/dev/vfio/%s%s", nic->noiommu ? "noiommu-" : "",
		 nic->iommu_group);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd >= 0) {
		close(fd);
		advice_add(&p->advice, ADVICE_OK, "NIC's owner", "nobody yet");
	} else if (errno == EBUSY) {
		a = advice_add(&p->advice, ADVICE_FAIL, "NIC's owner", "another program has it");
		advice_cure(a, "fuser -v %s", path);
	} else {
		a = advice_add(&p->advice, ADVICE_FAIL, "NIC's owner", "cannot open %s: %s", path,
			       strerror(errno));
		advice_cure(a, "run as root, or: chown clockoo %s", path);
	}
}

/* What else a start would refuse: a port of the kernel's without its interface, users that are not
 * there. Of another machine nobody knows. */
static void
look_for_company(struct prospect *p, const struct config *cfg)
{
	struct advice *a;
	struct host host;
	struct fault f;

	if (!tree_is_live(&p->machine.tree))
		return;
	host_look(&host, cfg);
	if (!file_suffices(cfg, &f)) {
		a = advice_add(&p->advice, ADVICE_FAIL, "configuration", "%s", f.text);
		advice_cure(a, "give what it names, as an option or in the file");
	} else if (!(p->profile.needs & NEED_IFACE)) {
		return;
	} else if (host.iface == THING_READY) {
		advice_add(&p->advice, ADVICE_OK, "interface", "%s is up", cfg->iface);
	} else if (host.iface == THING_DOWN) {
		a = advice_add(&p->advice, ADVICE_FAIL, "interface", "%s is down", cfg->iface);
		advice_cure(a, "ip link set %s up", cfg->iface);
	} else {
		a = advice_add(&p->advice, ADVICE_FAIL, "interface", "there is no %s", cfg->iface);
		advice_cure(a, "ip link lists those that are");
	}
}

static void
print_table(const struct advice_list *list, FILE *out)
{
	for (uint32_t i = 0; i < list->count; i++) {
		const struct advice *a = &list->at[i];

		fprintf(out, "%-4s  %-15s  %s\n", advice_grade_name(a->grade), a->subject,
			a->words);
		if (a->grade >= ADVICE_WARN)
			fprintf(out, "      %-15s  -> %s\n", "", a->cure);
	}
}

static uint32_t
cpus_there(const struct config *cfg)
{
	struct machine machine;
	struct fault f;
	uint32_t cpus;

	if (!machine_read(&machine, cfg, cfg->sysfs[0] != '\0' ? cfg->sysfs : "/", &f))
		return 0;
	cpus = machine.topology.cpus;
	machine_close(&machine);
	return cpus;
}

/* Where more is asked than there is, the rest of the machine can be judged all the same: for as
 * many workers as it has CPUs for, or one. Then *f says what was too much, else it is empty. */
static bool
think_twice(struct prospect *p, struct config *cfg, struct fault *f)
{
	const uint32_t asked = cfg->cores, there = cpus_there(cfg);
	const uint32_t fewer[] = {asked < there ? asked : there, 1};
	const struct config as_said = *cfg;

	f->text[0] = '\0';
	if (prospect_make(p, cfg, f))
		return true;
	for (uint32_t i = 0; i < sizeof fewer / sizeof fewer[0] && there != 0; i++) {
		struct fault again;

		*cfg = as_said;
		cfg->cores = cfg->queues = fewer[i];
		cfg->lcores.count = 0;
		cfg->control_cpu = CONFIG_NO_CPU;
		if (prospect_make(p, cfg, &again))
			return true;
	}
	return false;
}

static void
count(const struct advice_list *list, uint32_t counts[ADVICE_FAIL + 1])
{
	for (uint32_t i = 0; i < list->count; i++)
		counts[list->at[i].grade]++;
}

int
doctor_print(struct config *cfg, const struct config_source *src, FILE *out, struct fault *f)
{
	static const int statuses[] = {
		[ADVICE_UNKNOWN] = 0, [ADVICE_OK] = 0, [ADVICE_WARN] = 1, [ADVICE_FAIL] = 2};
	struct advice_list first = {0};
	struct prospect p;
	uint32_t counts[ADVICE_FAIL + 1] = {0};
	int status;

	if (!think_twice(&p, cfg, f))
		return -1;
	if (f->text[0] != '\0') {
		config_blame(src, f);
		advice_cure(advice_add(&first, ADVICE_FAIL, "configuration", "%s", f->text),
			    "change that; the rest is judged for -t %u", cfg->cores);
	}
	look_for_owner(&p);
	look_for_company(&p, cfg);
	print_table(&first, out);
	print_table(&p.advice, out);
	count(&first, counts);
	count(&p.advice, counts);
	fprintf(out, "%u ok, %u warning%s, %u failure%s, %u not to be seen\n", counts[ADVICE_OK],
		counts[ADVICE_WARN], counts[ADVICE_WARN] == 1 ? "" : "s", counts[ADVICE_FAIL],
		counts[ADVICE_FAIL] == 1 ? "" : "s", counts[ADVICE_UNKNOWN]);
	prospect_close(&p);
	status = statuses[advice_worst(&p.advice)];
	return first.count != 0 ? statuses[ADVICE_FAIL] : status;
}
