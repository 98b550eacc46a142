/*
 * impair_line.h - one direction of a bad link: decides what happens to each frame, and when it
 * leaves.
 *
 * Chance decides frame by frame: lost, sent twice, sent late, one byte changed. A frame stays in
 * its receive slot until it is due; late ones are copied to a second ring. In each ring all
 * frames wait equally long, so both are queues and need no sorting.
 *
 * Shape:  line_room, receive into those slots, line_take, then line_due and line_sent until
 *         nothing is due.
 * Units:  ns on the caller's clock; chances in parts of CHANCE_ONE.
 * Thread: one.
 * Bounds: LINE_SLOTS frames on time, more are not received; LATE_SLOTS late ones, more are lost
 *         and counted.
 */
#ifndef CLOCKOO_IMPAIR_LINE_H
#define CLOCKOO_IMPAIR_LINE_H

#include <stdbool.h>
#include <stdint.h>

#define LINE_SLOTS  16384u /* powers of two: indices run on and wrap */
#define LATE_SLOTS  2048u
#define FRAME_BYTES 2048u
#define LINE_BURST  64u
#define CHANCE_ONE  1000000u

struct impairment {
	uint32_t lose, twice, late, spoil; /* chances */
	uint64_t delay_ns;                 /* of every frame */
	uint64_t late_ns;                  /* in addition, of late ones */
};

struct line_frame {
	uint64_t due_ns;
	uint32_t len;
	uint32_t copies; /* 0: lost, or late and in the other ring */
	uint8_t bytes[FRAME_BYTES];
};

struct line_counts {
	uint64_t in, out, lost, twice, late, spoiled;
	uint64_t no_slot; /* lost for want of a late slot */
};

struct line_ring {
	struct line_frame *slots;
	uint32_t mask;
	uint32_t head, tail; /* oldest, next free */
};

struct line {
	struct impairment how;
	uint64_t chance; /* state of the random numbers */
	struct line_ring on_time, late;
	struct line_counts counts;
};

void line_create(struct line *line, const struct impairment *how, uint64_t seed);
void line_destroy(struct line *line);

/* Returns the free slots to receive into, consecutive from line_slot(line, 0); at most
 * LINE_BURST. */
uint32_t line_room(const struct line *line);
struct line_frame *line_slot(struct line *line, uint32_t i);
/* Decides the fate of count frames, whose bytes and len the caller has filled in. */
void line_take(struct line *line, uint32_t count, uint64_t now_ns);

/* Returns the frame that leaves next, if one is due; it stays until line_sent. */
const struct line_frame *line_due(struct line *line, uint64_t now_ns);
void line_sent(struct line *line);
/* Returns when the next frame is due; UINT64_MAX: none is pending. */
uint64_t line_next_ns(struct line *line);

#endif
