/*
 * counter_lists.h - every list of counters of every room, with the reply of `stats` that shows
 * it.
 *
 * tests/unit/app/counters_test.py finds a list that the program does not register, and one that
 * is missing here.
 *
 * Shape:  names only, made from the rooms' own lists; lists shown by one reply stand together.
 */
#ifndef CLOCKOO_COUNTER_LISTS_H
#define CLOCKOO_COUNTER_LISTS_H

#include "base/turn_times.h"
#include "monitor/http_counters.h"
#include "control/port_watch.h"
#include "core/core.h"
#include "dpdk/port_dpdk.h"
#include "flash/flash_convert.h"
#include "flash/flash_tier.h"
#include "front/front.h"
#include "bond/bond.h"
#include "pkt/handover.h"
#include "tap/kernel_thread.h"
#include "sock/sock_links.h"
#include "telemetry/telemetry.h"
#include "tls/tls_conns.h"
#include "tls/tls_links.h"

#define STAGE_CYCLES_NAME(stage)                                                                   \
	{"CORE_CYCLES_" #stage, "of the turns timed, cycles in this stage"},
#define STAGE_LONG_NAME(stage)                                                                     \
	{"CORE_LONG_" #stage, "of the long turns timed, those in which it took longest"},

static const struct counter_name list_net[] = {NET_COUNTERS(COUNTER_NAME)};
static const struct counter_name list_port[] = {PORT_COUNTERS(COUNTER_NAME)};
static const struct counter_name list_watch[] = {PORT_WATCH_COUNTERS(COUNTER_NAME)};
static const struct counter_name list_bond[] = {BOND_COUNTERS(COUNTER_NAME)};
static const struct counter_name list_handover[] = {HANDOVER_COUNTERS(COUNTER_NAME)};
static const struct counter_name list_kernel[] = {KERNEL_THREAD_COUNTERS(COUNTER_NAME)};
static const struct counter_name list_tcp[] = {TCP_COUNTERS(COUNTER_NAME)};
static const struct counter_name list_tls[] = {TLS_COUNTERS(COUNTER_NAME)};
static const struct counter_name list_tls_links[] = {TLS_LINK_COUNTERS(COUNTER_NAME)};
static const struct counter_name list_sock[] = {SOCK_LINK_COUNTERS(COUNTER_NAME)};
static const struct counter_name list_core[] = {CORE_COUNTERS(COUNTER_NAME)};
static const struct counter_name list_turn[] = {TURN_COUNTERS(COUNTER_NAME)};
static const struct counter_name list_serve[] = {SERVE_COUNTERS(COUNTER_NAME)};
static const struct counter_name list_store[] = {STORE_COUNTERS(COUNTER_NAME)};
static const struct counter_name list_front[] = {FRONT_COUNTERS(COUNTER_NAME)};
static const struct counter_name list_offer[] = {FLASH_OFFER_COUNTERS(COUNTER_NAME)};
static const struct counter_name list_ask[] = {FLASH_ASK_COUNTERS(COUNTER_NAME)};
static const struct counter_name list_flash[] = {FLASH_COUNTERS(COUNTER_NAME)};
static const struct counter_name list_convert[] = {FLASH_CONVERT_COUNTERS(COUNTER_NAME)};
static const struct counter_name list_http[] = {HTTP_COUNTERS(COUNTER_NAME)};
static const struct counter_name list_stages[] = {CORE_STAGES(STAGE_CYCLES_NAME)
							  CORE_STAGES(STAGE_LONG_NAME)};

struct counter_list {
	enum telemetry_kind kind;
	const struct counter_name *names;
	uint32_t count;
};

#define COUNTER_LIST(kind, names)                                                                  \
	{                                                                                          \
		TELEMETRY_##kind, names, sizeof(names) / sizeof((names)[0])                        \
	}

static const struct counter_list counter_lists[] = {
	COUNTER_LIST(NET, list_net),         COUNTER_LIST(NET, list_port),
	COUNTER_LIST(NET, list_bond),        COUNTER_LIST(NET, list_handover),
	COUNTER_LIST(NET, list_kernel),      COUNTER_LIST(NET, list_watch),
	COUNTER_LIST(STACK, list_tcp),       COUNTER_LIST(STACK, list_tls),
	COUNTER_LIST(STACK, list_tls_links), COUNTER_LIST(STACK, list_sock),
	COUNTER_LIST(CORES, list_core),      COUNTER_LIST(CORES, list_stages),
	COUNTER_LIST(CORES, list_turn),      COUNTER_LIST(COUNTERS, list_serve),
	COUNTER_LIST(COUNTERS, list_store),  COUNTER_LIST(COUNTERS, list_front),
	COUNTER_LIST(COUNTERS, list_offer),  COUNTER_LIST(COUNTERS, list_ask),
	COUNTER_LIST(COUNTERS, list_flash),  COUNTER_LIST(COUNTERS, list_convert),
	COUNTER_LIST(COUNTERS, list_http),
};
#define COUNTER_LISTS (sizeof counter_lists / sizeof counter_lists[0])

static const struct {
	const char *command, *words;
} counter_replies[] = {
	[TELEMETRY_NET] = {"stats net", "The NIC, frames, and drops below TCP and UDP"},
	[TELEMETRY_STACK] = {"stats stack", "TCP and TLS"},
	[TELEMETRY_CORES] = {"stats cores", "For each core `<core>:` and the names below"},
	[TELEMETRY_COUNTERS] = {"stats counters", "All other counters"},
};

/* Writes the row's name as clients see it: the symbol in small letters. */
static inline void
counter_row_name(char *to, const char *symbol)
{
	do
		*to++ = *symbol >= 'A' && *symbol <= 'Z' ? (char)(*symbol + 'a' - 'A') : *symbol;
	while (*symbol++ != '\0');
}

#endif
