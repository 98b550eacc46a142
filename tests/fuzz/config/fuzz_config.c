/*
 * Files that operators might write. Goal: the readers of configurations and of profiles end on
 * any bytes; a refusal is one line that begins with the file's name; an accepted file prints as
 * one that reads back as the same configuration, byte for byte, and stays a fixed point. Method:
 * the same bytes go to both readers.
 */
#include "base/check.h"
#include "config/config_file.h"
#include "config/net_list.h"
#include "profile/profile.h"
#include "fuzz_target.h"

#include <string.h>

#define PRINT_BYTES 65536

static void
check_line(const struct error *f, const char *file)
{
	ensure(memchr(f->text, 0, sizeof f->text) != NULL);
	ensure(strchr(f->text, '\n') == NULL);
	ensure(file[0] == '\0' || strncmp(f->text, file, strlen(file)) == 0);
}

/* Finishes the configuration. An error of config_finish alone may be about options that were not
 * set: then its line names no file. */
static bool
settle(struct config *cfg, const struct config_source *src)
{
	struct error f = {0};

	if (config_finish(cfg, &f))
		return true;
	config_error_locate(src, &f);
	check_line(&f, "");
	return false;
}

static void
print_and_read(const struct config *cfg)
{
	static char text[PRINT_BYTES];
	struct config_source src = {.default_file = NULL};
	FILE *out = fmemopen(text, sizeof text, "w");
	struct config again;
	struct error f = {0};

	ensure(out != NULL);
	config_print(cfg, out);
	ensure(ftell(out) < PRINT_BYTES - 1);
	fclose(out);
	config_defaults(&again);
	ensure(config_file_read(&again, &src, "again", text, strlen(text), &f));
	ensure(memcmp(&again, cfg, sizeof again) == 0);
}

/* Checks that the networks of a list can be put into the table. */
static void
check_nets(const char *text, size_t size)
{
	struct config_net nets[64];
	struct net_list list = {.nets = nets, .max = 64};
	struct error f = {0};

	if (!net_list_read(&list, "deny", "F", text, size, &f))
		check_line(&f, "--deny: F: line ");
	ensure(list.count <= list.max);
	for (uint32_t i = 0; i < list.count; i++) {
		const uint32_t len = nets[i].prefix_len;

		ensure(len <= IP_ADDR_BITS);
		ensure(!ip_addr_is_v4(&nets[i].ip) || len >= IP_ADDR_V4_BITS);
		for (uint32_t bit = len; bit < IP_ADDR_BITS; bit++)
			ensure((nets[i].ip.b[bit / 8] & 0x80u >> bit % 8) == 0);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct config_source src = {.default_file = NULL};
	struct config cfg, finished;
	struct profile profile;
	struct error f = {0};

	config_defaults(&cfg);
	if (config_file_read(&cfg, &src, "f.yaml", (const char *)data, size, &f)) {
		finished = cfg;
		if (settle(&finished, &src))
			print_and_read(&cfg);
	} else {
		check_line(&f, "f.yaml:");
	}
	check_nets((const char *)data, size);
	if (!profile_read(&profile, "p.yaml", "fuzz", (const char *)data, size, &f))
		check_line(&f, "p.yaml:");
	return 0;
}
