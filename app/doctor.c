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
	print_table(&p.advice, out);
	for (uint32_t i = 0; i < p.advice.count; i++)
		counts[p.advice.at[i].grade]++;
	fprintf(out, "%u ok, %u warning%s, %u failure%s, %u not to be seen\n", counts[ADVICE_OK],
		counts[ADVICE_WARN], counts[ADVICE_WARN] == 1 ? "" : "s", counts[ADVICE_FAIL],
		counts[ADVICE_FAIL] == 1 ? "" : "s", counts[ADVICE_UNKNOWN]);
	prospect_close(&p);
	return statuses[advice_worst(&p.advice)];
}
