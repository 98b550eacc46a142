/*
 * ration.h - bounds of answers that anybody can provoke.
 *
 * Thread: core-local.
 */
#ifndef CLOCKOO_RATION_H
#define CLOCKOO_RATION_H

#include <stdint.h>

/* How many answers of a kind may leave in a stretch of time: enough for every honest asker, too
 * little to be of use to another. */
struct ration {
	uint64_t since_ns;
	uint32_t count;
};

#define RATION_NS      (10ull * 1000000)
#define ECHOES_MAX     200u                /* in RATION_NS: RFC 4443 section 2.4 (f) */
#define NEIGHBOURS_MAX 100u                /* answers to neighbours, the same */
#define ANNOUNCE_TIMES 3u                  /* RFC 4861 section 10, MAX_NEIGHBOR_ADVERTISEMENT */
#define ANNOUNCE_NS    (1000ull * 1000000) /* RETRANS_TIMER */
#define REPORTS_MAX    32u                 /* reports of a path MTU told to other cores, the same */

#endif
