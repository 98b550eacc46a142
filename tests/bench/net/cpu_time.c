/*
 * cpu_time.c - reads CPU time from schedstat, stat and getrusage.
 */
#include "cpu_time.h"

#include <dirent.h>
#include <stdio.h>
#include <unistd.h>

#define THREADS_MAX 1024u
#define PATH_BYTES  64u

double
cpu_time_of(uint32_t pid)
{
	char path[PATH_BYTES];
	double sum = 0;
	struct dirent *entry;
	DIR *tasks;

	snprintf(path, sizeof path, "/proc/%u/task", pid);
	tasks = opendir(path);
	for (uint32_t i = 0; tasks != NULL && i < THREADS_MAX; i++) {
		unsigned long long ns = 0;
		unsigned int tid;
		FILE *f;

		entry = readdir(tasks);
		if (entry == NULL)
			break;
		if (sscanf(entry->d_name, "%u", &tid) != 1)
			continue;
		snprintf(path, sizeof path, "/proc/%u/task/%u/schedstat", pid, tid);
		f = fopen(path, "r");
		if (f == NULL)
			continue;
		if (fscanf(f, "%llu", &ns) == 1)
			sum += (double)ns / 1e9;
		fclose(f);
	}
	if (tasks != NULL)
		closedir(tasks);
	return sum;
}

double
cpu_time_machine(void)
{
	/* user nice system idle iowait irq softirq: proc(5) */
	unsigned long long t[7] = {0};
	FILE *f = fopen("/proc/stat", "r");

	if (f == NULL)
		return 0;
	if (fscanf(f, "cpu %llu %llu %llu %llu %llu %llu %llu", &t[0], &t[1], &t[2], &t[3], &t[4],
		   &t[5], &t[6]) != 7)
		t[0] = t[1] = t[2] = t[5] = t[6] = 0;
	fclose(f);
	return (double)(t[0] + t[1] + t[2] + t[5] + t[6]) / (double)sysconf(_SC_CLK_TCK);
}
