/*
 * front_lane.h - a connection to a server, and its batches.
 *
 * Private to lib/front.
 *
 * Shape:  a batch is what one line sends: some plain gets, or one other request. A lane's batches
 *         are answered in the order in which they were sent; its reader is within the reply to the
 *         first of them. Its functions are in front_core.h.
 * Thread: core-local, except counts and report.
 */
#ifndef CLOCKOO_FRONT_LANE_H
#define CLOCKOO_FRONT_LANE_H

#include "front.h"
#include "front_compose.h"
#include "front_reply.h"

#include "base/list.h"

struct front_request;

struct front_batch {
	struct list link; /* in pool or lane */
	struct list requests;
	enum front_ask ask;
	bool cas;
	bool asks_ttl;   /* `me k` precedes it */
	int32_t ttl_s;   /* the TTL reported by that; or FRONT_TTL_UNKNOWN */
	uint32_t sent_s; /* on the store's clock */
	uint32_t opaque; /* of a meta line */
	uint64_t end;    /* of its bytes, in all bytes written on the connection */
	uint64_t sent_ns;
	uint32_t count;                   /* of its requests, as they were sent */
	uint16_t request[FRONT_KEYS_MAX]; /* indices in the pool; a list would make the core wait
					 for each next one */
};

enum front_reading {
	READING_LINE,
	READING_BEGIN, /* a value waits for memory */
	READING_VALUE,
	READING_VALUE_END,
};

/* Events of a connection that the front has not handled yet, as bits. */
enum front_event {
	EVENT_OPENED = 1u << 0,
	EVENT_READY = 1u << 1,
	EVENT_LOST = 1u << 2, /* the connection has ended */
};

struct front_lane {
	struct front *front;
	struct front_server_counts *counts; /* of its server */
	struct conn *conn;                  /* NULL: LANE_DOWN, or the connection was lost */
	enum front_lane_state state;
	uint32_t server;
	struct front_report *report; /* of its server, for all cores */
	uint8_t condition;           /* enum front_condition */
	uint32_t probe;          /* the probe that this lane makes of a server not in use; else 0 */
	uint32_t flush;          /* flush_due when the flush was sent */
	uint64_t opened_ns;      /* or the time of the attempt */
	uint8_t connect_failure; /* enum front_failure of the last attempt to connect */
	uint32_t events;         /* enum front_event */
	struct list event_link;  /* in front.events while events are set */
	struct list look_link;   /* in front.looks while replies are open */
	struct list send_link;   /* in front.unsent while requests are queued */
	struct list queue, batches;
	uint32_t request_count, batch_count;
	uint64_t due_ns;         /* DOWN: to be opened; CONNECTING: to be checked */
	uint64_t connect_end_ns; /* CONNECTING: the attempt has failed then */
	uint32_t lost_tries;     /* consecutive tries whose reply reached another core */
	uint64_t up_ns;
	uint64_t pause_ns; /* before it is opened again, beyond failure_limit */
	uint64_t pause_max_ns;
	uint32_t failures; /* consecutive ones */
	bool meta;
	bool reports_ttl;              /* of its server's version, as in front_reply.h */
	bool logs_in;                  /* its connection began with a login */
	struct front_request *sending; /* whose value is not yet completely queued; NULL: none */
	uint32_t sending_at;
	uint64_t written;
	uint32_t opaque; /* of the last meta line */

	struct front_fence fence;

	/* The reply being read. */
	enum front_reading reading;
	struct front_asked asked; /* of the first batch */
	uint8_t opaque_text[MC_U64_DIGITS_MAX];
	struct view views[FRONT_KEYS_MAX];
	struct front_request *requests[FRONT_KEYS_MAX]; /* NULL: answered */
	struct front_reply reply;                       /* the reply whose value is read */
	uint32_t value_left, end_left;
	struct front_request *relayed; /* whose value leaves as it arrives; NULL: none */
	uint32_t relay_bytes;          /* of it that may leave */
	uint32_t relay_parts; /* FRONT_MOVES_BYTES of values that were relayed of this batch */
	uint64_t memory_ns;   /* start of its value's wait for memory; 0: it does not wait */
	uint64_t excused_ns;  /* until then this front did not read */
	uint32_t moved_bytes; /* since moved_ns */
	uint64_t moved_ns;    /* when the last FRONT_MOVES_BYTES were complete */
	uint32_t line_len;
	uint8_t line[FRONT_REPLY_LINE_MAX]; /* a line that arrived in pieces */
};

#endif
