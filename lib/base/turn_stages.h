/*
 * turn_stages.h - the stages of a core's turn, in their order (lib/core documents them).
 */
#ifndef CLOCKOO_TURN_STAGES_H
#define CLOCKOO_TURN_STAGES_H

#define CORE_STAGES(X)                                                                             \
	X(RX)                                                                                      \
	X(CLASSIFY)                                                                                \
	X(MATCH)                                                                                   \
	X(INPUT)                                                                                   \
	X(PARSE)                                                                                   \
	X(PREFETCH)                                                                                \
	X(EXECUTE)                                                                                 \
	X(TICK)                                                                                    \
	X(OUTPUT)                                                                                  \
	X(TX)                                                                                      \
	X(HOUSEKEEPING)

#define CORE_STAGE_SYMBOL(stage) STAGE_##stage,
enum core_stage { CORE_STAGES(CORE_STAGE_SYMBOL) STAGE_COUNT };

#endif
