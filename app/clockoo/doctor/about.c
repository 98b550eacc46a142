/*
 * about.c - releases of the libraries in the program, DPDK's drivers, and the end of DPDK's
 * support.
 */
#include "about.h"
#include "access/tls_cores.h"
#include "dpdk/dpdk_support.h"
#include "version.h"

#define SUBJECT "DPDK"

void
about_print(FILE *out)
{
	fprintf(out,
		"clockoo %s\n"
		"DPDK %s, drivers: %s\n"
		"%s\n"
		"liburing %s\n",
		CLOCKOO_VERSION, dpdk_release_name(), dpdk_drivers(), tls_library_words(),
		CLOCKOO_URING);
}

void
about_advise(struct advice_list *list, int64_t now_s)
{
	const char *name = dpdk_release_name();
	const struct dpdk_support s = dpdk_support_of(dpdk_release_linked(), now_s);
	struct advice *a;

	if (!s.over) {
		if (s.year != 0)
			advice_add(list, ADVICE_OK, SUBJECT, "%s, gets fixes until %u-%02u", name,
				   s.year, s.month);
		else
			advice_add(list, ADVICE_OK, SUBJECT, "%s", name);
		return;
	}
	if (s.year != 0)
		a = advice_add(list, ADVICE_WARN, SUBJECT,
			       "%s, in this program, is out of support since %u-%02u", name, s.year,
			       s.month);
	else
		a = advice_add(list, ADVICE_WARN, SUBJECT,
			       "%s, in this program, is no release with long-term support", name);
	advice_fix(a, "install a package of clockoo made on Debian 13 or newer, or build it "
		      "against a newer "
		      "DPDK: tools/run --dpdk DIR");
}
