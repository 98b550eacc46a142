/*
 * The place of a memory file. Goal: each risk of the place is warned of, and nothing else.
 * Method: a table of places; texts of /proc/swaps.
 */
#include "memfile/memory_place.h"
#include "support/test.h"

TEST(each_place_has_its_warnings)
{
	static const struct {
		struct memory_place place;
		const char *words[MEMORY_PLACE_WARNINGS_MAX]; /* in this order */
	} rows[] = {
		{{"/var/lib/hugetlbfs/user/clockoo", true, true, 1000}, {NULL}},
		{{"/dev/shm", true, true, 1000}, {NULL}},
		{{"/run/clockoo", false, false, 1000}, {NULL}},
		{{"/run/clockoo", false, true, 0}, {"swap out"}},
		{{"/dev/shm", false, false, 0}, {NULL}},
		{{"/dev/shm", false, false, 999}, {NULL}},
		{{"/dev/shm", false, false, 1000}, {"RemoveIPC"}},
		{{"/dev/shm/mine", false, true, 65534}, {"swap out", "RemoveIPC"}},
		{{"/dev/shmem", false, false, 1000}, {NULL}},
		{{"/tmp", false, false, 0}, {"systemd-tmpfiles"}},
		{{"/tmp/kept", false, true, 0}, {"swap out", "systemd-tmpfiles"}},
		{{"/var/tmp", false, false, 0}, {"systemd-tmpfiles"}},
		{{"/tmpfs", false, false, 0}, {NULL}},
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct memory_warning w[MEMORY_PLACE_WARNINGS_MAX];
		const uint32_t count = memory_place_warnings(&rows[i].place, w);

		for (uint32_t n = 0; n < MEMORY_PLACE_WARNINGS_MAX; n++) {
			const char *words = rows[i].words[n];

			if ((n < count) != (words != NULL) ||
			    (words != NULL &&
			     (strstr(w[n].words, words) == NULL || w[n].fix[0] == '\0')))
				fail_msg("row %zu: %u warnings", i, count);
		}
	}
}

TEST(swap_is_known_by_its_second_line)
{
	static const struct {
		const char *text;
		bool swaps;
	} rows[] = {
		{"Filename\tType\tSize\tUsed\tPriority\n", false},
		{"Filename\tType\tSize\tUsed\tPriority\n/dev/sda2 partition 1 0 -2\n", true},
		{"\n", false},
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		char text[128];
		FILE *file;

		snprintf(text, sizeof text, "%s", rows[i].text);
		file = fmemopen(text, strlen(text), "r");
		check_eq(memory_place_swaps(file), rows[i].swaps);
		fclose(file);
	}
}
