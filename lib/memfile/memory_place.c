/*
 * memory_place.c - warnings about swap, and about services that clean up shared folders.
 */
#include "memory_place.h"

#include <string.h>

#define SYSTEM_UID_MAX 999u /* logind removes nothing of these users, nor of root */
#define LINE_BYTES     512

static bool
lies_in(const char *folder, const char *parent)
{
	const size_t len = strlen(parent);

	return strncmp(folder, parent, len) == 0 && (folder[len] == '\0' || folder[len] == '/');
}

uint32_t
memory_place_warnings(const struct memory_place *place,
		      struct memory_warning out[MEMORY_PLACE_WARNINGS_MAX])
{
	uint32_t count = 0;

	if (place->huge)
		return 0;
	if (place->swaps)
		out[count++] = (struct memory_warning){
			"on a tmpfs, which the kernel may swap out to a disk",
			"a path on a hugetlbfs, or swapoff -a"};
	if (lies_in(place->folder, "/dev/shm") && place->uid > SYSTEM_UID_MAX)
		out[count++] = (struct memory_warning){
			"systemd removes a user's files in /dev/shm with the last session "
			"(RemoveIPC)",
			"a path on a hugetlbfs, or RemoveIPC=no in logind.conf"};
	if (lies_in(place->folder, "/tmp") || lies_in(place->folder, "/var/tmp"))
		out[count++] =
			(struct memory_warning){"systemd-tmpfiles removes what is old in /tmp",
						"a path on a hugetlbfs, or a tmpfs of its own"};
	return count;
}

bool
memory_place_swaps(FILE *swaps)
{
	char line[LINE_BYTES];

	/* A swap area has a line after the one with the names of columns. */
	return fgets(line, sizeof line, swaps) != NULL && fgets(line, sizeof line, swaps) != NULL;
}
