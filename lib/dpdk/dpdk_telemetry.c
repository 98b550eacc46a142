/*
 * dpdk_telemetry.c - writes rows into DPDK's dictionaries and calls the registered answer
 * function.
 */
#include "dpdk_telemetry.h"
#include "dpdk_release.h"

#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <rte_eal.h>
#include <rte_telemetry.h>

#define PATH       "/clockoo/"
#define ROW_EXTRA  8u /* quotes, colon and comma of a row */
#define NUMBER_MAX 20u

struct dpdk_reply {
	struct rte_tel_data *data;
	uint32_t rows, bytes;
};

/* The only state that our libraries keep outside of their callers' memory; the header says why. */
static struct {
	pthread_mutex_t lock;
	dpdk_answer *answer;
	void *arg;
} answering = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool
has_room(struct dpdk_reply *to, size_t name, size_t value)
{
	const uint32_t bytes = to->bytes + (uint32_t)(name + value) + ROW_EXTRA;

	if (to->rows == DPDK_REPLY_ROWS || bytes > DPDK_REPLY_BYTES)
		return false;
	to->rows++;
	to->bytes = bytes;
	return true;
}

/* Copies a name; DPDK allows only letters, digits and _, so each other character becomes _.
 * Returns the length. */
static size_t
name_of(char to[DPDK_REPLY_TEXT], const char *name)
{
	size_t len = 0;

	for (; name[len] != '\0' && len < DPDK_REPLY_TEXT - 1; len++)
		to[len] = isalnum((unsigned char)name[len]) ? name[len] : '_';
	to[len] = '\0';
	return len;
}

bool
dpdk_reply_number(struct dpdk_reply *to, const char *name, uint64_t value)
{
	char named[DPDK_REPLY_TEXT];

	return has_room(to, name_of(named, name), NUMBER_MAX) &&
	       dpdk_dict_add_number(to->data, named, value) == 0;
}

bool
dpdk_reply_text(struct dpdk_reply *to, const char *name, const char *text)
{
	char named[DPDK_REPLY_TEXT], value[DPDK_REPLY_TEXT];
	size_t len = 0;

	for (; text[len] != '\0' && len < sizeof value - 1; len++) {
		const bool plain = text[len] >= ' ' && text[len] < 0x7f;

		value[len] = plain && text[len] != '"' && text[len] != '\\' ? text[len] : '?';
	}
	value[len] = '\0';
	return has_room(to, name_of(named, name), len) &&
	       rte_tel_data_add_dict_string(to->data, named, value) == 0;
}

bool
dpdk_reply_left_out(struct dpdk_reply *to, uint64_t rows)
{
	return dpdk_dict_add_number(to->data, "left_out", rows) == 0;
}

static int
on_command(const char *command, const char *parameter, struct rte_tel_data *data)
{
	struct dpdk_reply reply = {.data = data};
	bool done;

	rte_tel_data_start_dict(data);
	pthread_mutex_lock(&answering.lock);
	done = answering.answer != NULL && strncmp(command, PATH, strlen(PATH)) == 0 &&
	       answering.answer(answering.arg, command + strlen(PATH),
				parameter != NULL ? parameter : "", &reply);
	pthread_mutex_unlock(&answering.lock);
	return done ? 0 : -1;
}

const char *
dpdk_telemetry_folder(void)
{
	const char *folder = rte_eal_get_runtime_dir();

	return folder != NULL && folder[0] != '\0' ? folder : NULL;
}

bool
dpdk_telemetry_add(const char *name, const char *words)
{
	char path[DPDK_REPLY_TEXT];
	const int len = snprintf(path, sizeof path, PATH "%s", name);

	return (size_t)len < sizeof path &&
	       rte_telemetry_register_cmd(path, on_command, words) == 0;
}

void
dpdk_telemetry_set(dpdk_answer *answer, void *arg)
{
	pthread_mutex_lock(&answering.lock);
	answering.answer = answer;
	answering.arg = arg;
	pthread_mutex_unlock(&answering.lock);
}
