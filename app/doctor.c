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

int
doctor_print(struct config *cfg, FILE *out, struct fault *f)
{
	static const int statuses[] = {
		[ADVICE_UNKNOWN] = 0, [ADVICE_OK] = 0, [ADVICE_WARN] = 1, [ADVICE_FAIL] = 2};
	struct prospect p;
	uint32_t counts[ADVICE_FAIL + 1] = {0};

	if (!prospect_make(&p, cfg, f))
		return -1;
	look_for_owner(&p);
	look_for_company(&p, cfg);
	print_table(&p.advice, out);
	for (uint32_t i = 0; i < p.advice.count; i++)
		counts[p.advice.at[i].grade]++;
	fprintf(out, "%u ok, %u warning%s, %u failure%s, %u not to be seen\n", counts[ADVICE_OK],
		counts[ADVICE_WARN], counts[ADVICE_WARN] == 1 ? "" : "s", counts[ADVICE_FAIL],
		counts[ADVICE_FAIL] == 1 ? "" : "s", counts[ADVICE_UNKNOWN]);
	prospect_close(&p);
	return statuses[advice_worst(&p.advice)];
}
