/*
 * check_print.c - --check: a line for each part of a start that can be checked without DPDK and
 * without root.
 */
#include "check_print.h"
#include "access/own_addrs.h"
#include "access/access.h"
#include "file_check.h"
#include "fleet/fleet_spec.h"
#include "flash/flash_state.h"
#include "keep/arena_check.h"
#include "kernel_doctor.h"
#include "keep/memory_save.h"
#include "monitor/http_server.h"
#include "tap/kernel_copy.h"
#include "tap/kernel_tap.h"
#include "tier/flash_check.h"
#include "tier/tier_io.h"

#include <stdio.h>

static void
report_front(const struct fleet_spec *front)
{
	struct front_warning warnings[FRONT_WARNINGS_MAX];
	const uint32_t n = front_plan_warnings(&front->plan, &front->config, warnings);

	for (uint32_t i = 0; i < n; i++)
		printf("%s: %s; better: %s\n", warnings[i].key, warnings[i].words, warnings[i].fix);
}

/* Prints why a start would fail. Returns false, as its callers do. */
static bool
say_not_ready(const struct settings *s, struct error *err)
{
	config_error_locate(&s->source, err);
	printf("not ready to start: %s\n", err->text);
	return false;
}

/* Prints whether a stop could save, and which saved items a start would load. False if a start
 * would fail. */
static bool
report_save(const struct settings *s)
{
	char words[SAVE_WORDS_BYTES];
	struct error err;
	bool ready;

	if (s->config.memory_save[0] == '\0' || s->config.sysfs[0] != '\0')
		return true;
	ready = memory_save_check(&s->config, &err) || say_not_ready(s, &err);
	if (ready && !memory_save_has_room(&s->config, &err))
		printf("%s\n", err.text);
	memory_save_words(&s->config, words);
	printf("memory.save: %s: %s\n", s->config.memory_save, words);
	if (s->config.keep_for_s < SAVE_KEEP_FOR_MIN_S)
		printf("memory.save: a reboot takes longer than memory.keep_for, %u s\n",
		       s->config.keep_for_s);
	return ready;
}

/* Prints whether a start would keep the items of --memory-file. False if a start would fail. */
static bool
report_arena(const struct settings *s)
{
	struct memory_warning warnings[MEMORY_PLACE_WARNINGS_MAX];
	struct arena_check check;
	struct error err;
	uint32_t warned;
	bool huge;

	if (s->config.memory_file[0] == '\0' || s->config.sysfs[0] != '\0')
		return true;
	if (!memory_file_place_ok(MEMORY_OPTION, s->config.memory_file, &huge, &err))
		return say_not_ready(s, &err);
	arena_check_configured(&check, &s->config);
	printf("memory.file: %s: %s%s\n", s->config.memory_file,
	       check.state == ARENA_LOST ? "would start empty: " : "", check.words);
	warned = arena_place_warnings(&s->config, warnings);
	for (uint32_t i = 0; i < warned; i++)
		printf("memory.file: %s; better: %s\n", warnings[i].words, warnings[i].fix);
	return true;
}

static bool
report_flash(const struct settings *s)
{
	char words[FLASH_CHECK_BYTES];
	struct tier_io_check io;
	struct error err;
	uint64_t bytes;
	bool huge;

	if (s->config.flash.device[0] == '\0')
		return true;
	if (!flash_check(&s->config, &err) || !flash_check_bytes(&bytes, &s->config, &err) ||
	    !tier_io_check(&io, &s->config, &err) ||
	    (s->config.flash.state[0] != '\0' &&
	     !memory_file_place_ok(FLASH_STATE_OPTION, s->config.flash.state, &huge, &err)))
		return say_not_ready(s, &err);
	flash_check_words(&s->config, bytes, words);
	printf("flash.device: %s: %s; by %s\n", s->config.flash.device, words, io.words);
	return true;
}

static bool
report_http(const struct settings *s)
{
	const struct config_http *http = &s->config.http;
	struct error err;

	if (http->text[0] == '\0' || s->config.sysfs[0] != '\0')
		return true;
	if (!http_is_built(&err) || http_place_check(http, &err) == HTTP_PLACE_BAD)
		return say_not_ready(s, &err);
	printf("telemetry.http: %s: %s\n", http->text,
	       http_place_is_open(http) ? "whoever reaches it reads figures and keys"
					: "for this machine only");
	return true;
}

static bool
report_kernel(const struct settings *s)
{
	char iface[TOPOLOGY_NAME_BYTES];
	struct error err;

	if (config_shares_nic(&s->config) && kernel_copy_has_nic(&s->config) &&
	    !kernel_copy_find(iface, &s->config, &err))
		return say_not_ready(s, &err);
	if (!kernel_tap_check(&s->config, &err))
		return say_not_ready(s, &err);
	kernel_doctor_check(&s->config, stdout);
	return true;
}

int
check_print(struct settings *s, struct error *err)
{
	char size[FLEET_SPEC_SIZE_BYTES], age[FRONT_AGE_BYTES];
	char let_in[ACCESS_WORDS_BYTES];
	char addresses[OWN_ADDRS_WORDS_BYTES];
	struct access_lists access;
	struct addr_list addrs;
	struct fleet_spec *front;
	const char *users;
	bool ready;

	if (!file_check(&s->config, err) || !access_lists_read(&access, &s->config, err))
		return -1;
	access_lists_words(&access, let_in);
	access_lists_free(&access);
	if (!addr_list_read(&addrs, &s->config, err))
		return -1;
	own_addrs_words(&addrs, addresses);
	addr_list_free(&addrs);
	if (!fleet_spec_read(&front, &s->config, err))
		return -1;
	printf("%s: configuration OK\n", s->source.file);
	config_warn(&s->config, stdout);
	if (s->config.allow[0] != '\0' || s->config.deny[0] != '\0')
		printf("network: %s\n", let_in);
	if (s->config.addresses[0] != '\0' || s->config.routes[0] != '\0')
		printf("network: %s\n", addresses);
	if (front != NULL) {
		fleet_spec_size(front, &s->config, size);
		front_plan_age(&front->plan, &front->config, age);
		printf("front: %s\nfront: %s\n", size, age);
		if (s->config.front.tls_ca[0] != '\0')
			printf("front: TLS to the servers, issued by %s, for %s%s%s\n",
			       s->config.front.tls_ca,
			       s->config.front.tls_name[0] != '\0' ? s->config.front.tls_name
								   : "each server's host",
			       s->config.front.tls_cert[0] != '\0' ? "; our certificate is " : "",
			       s->config.front.tls_cert);
		report_front(front);
	}
	fleet_spec_free(front);
	ready = (file_check_complete(&s->config, err) && file_check_nic(&s->config, err)) ||
		say_not_ready(s, err);
	if (config_is_user(&s->config))
		printf("port.nic: user: %s\n", CONFIG_USER_LIMITS);
	if (s->config.sysfs[0] == '\0' && users_file_is_open(&s->config, &users))
		printf(AUTH_FILE_OPEN_FORMAT "\n", "auth.file", users);
	if (s->config.sysfs[0] == '\0' && auth_file_is_open(s->config.front.login))
		printf(AUTH_FILE_OPEN_FORMAT "\n", "front.login", s->config.front.login);
	ready = report_save(s) && ready;
	ready = report_arena(s) && ready;
	ready = report_flash(s) && ready;
	ready = report_http(s) && ready;
	ready = report_kernel(s) && ready;
	return ready ? 0 : NOT_READY;
}
