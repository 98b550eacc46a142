/*
 * front_lane.h - a lane: a core's connection to a server, with its batches.
 *
 * Private to lib/front.
 *
 * Shape:  a batch is what one line sends: several plain gets, or one other request. The server
 *         answers a lane's batches in the order in which they were sent, so the lane always reads
 *         the reply to the first one. The functions of a lane are in front_core.h.
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
	struct list link; /* in the pool, or in the lane's batches */
	struct list requests;
	enum front_ask ask;
	bool cas;        /* its replies must have the cas */
	bool asks_ttl;   /* `me k` was sent before it */
	int32_t ttl_s;   /* the TTL that the reply to `me k` had; FRONT_TTL_UNKNOWN: none */
	uint32_t sent_s; /* when it was sent, on the store's clock */
	uint32_t opaque; /* of its meta line */
	uint64_t end;    /* number of bytes written on the connection up to its last one */
	uint64_t me_end; /* the same, up to the end of `me k` */
	uint64_t sent_ns;
	uint32_t count; /* of its requests when it was sent */
	/* Requests of the batch, by index in the pool. From a list the core could not prefetch
	 * them. */
	uint16_t request[FRONT_KEYS_MAX];
};

/* The part of a reply that the lane reads next. */
enum front_reading {
	READING_LINE,
	READING_BEGIN, /* the value's line was read; its item waits for memory */
	READING_VALUE,
	READING_VALUE_END,
};

/* Events of a connection that the front has not handled yet: bits. */
enum front_event {
	EVENT_OPENED = 1u << 0,
	EVENT_READY = 1u << 1,
	EVENT_LOST = 1u << 2, /* the connection has ended */
};

struct front_lane {
	struct front *front;
	struct front_server_counts *counts; /* of its server */
	struct conn *conn;                  /* NULL: there is none, or it was lost */
	enum front_lane_state state;
	uint32_t server;             /* the place of its server */
	struct front_report *report; /* of its server, for all cores */
	uint8_t condition;           /* enum front_condition */
	/* Number of the probe that this lane makes of a server not in use; 0: none. */
	uint32_t probe;
	uint32_t flush;          /* front_report.flush_due when the lane's flush was sent */
	uint64_t opened_ns;      /* the time at which its connection opened, or was attempted */
	uint8_t connect_failure; /* enum front_failure of the last attempt to connect */
	uint32_t events;         /* bits of enum front_event */
	struct list event_link;  /* in front.events while `events` is not 0 */
	struct list look_link;   /* in front.looks while batches are open */
	struct list send_link;   /* in front.unsent while requests can be sent */
	struct list queue;       /* requests that are not sent */
	struct list batches;     /* those that are not answered, in the order of sending */
	uint32_t request_count, batch_count;
	uint64_t due_ns;         /* LANE_DOWN: when to open it; LANE_CONNECTING: when to check it */
	uint64_t connect_end_ns; /* LANE_CONNECTING: when the attempt has failed */
	uint32_t lost_tries;     /* consecutive attempts whose reply reached another core */
	uint64_t up_ns;          /* when its server had answered the first requests */
	uint64_t pause_ns; /* the next pause before it is opened, once failure_limit is reached */
	uint64_t pause_max_ns;
	uint32_t failures; /* consecutive ones */
	bool meta;         /* its server knows meta commands */
	bool reports_ttl;  /* its server's version reports TTLs correctly (front_reply.h) */
	bool logs_in;      /* its connection began with a login */
	/* The write whose value is not completely queued; NULL: none. */
	struct front_request *sending;
	uint32_t sending_at; /* bytes of that value that are queued */
	uint64_t written;    /* bytes written on the connection */
	uint32_t opaque;     /* of the last meta line sent */

	struct front_fence fence;

	/* The state of reading the first batch's reply. */
	enum front_reading reading;
	/* The number of times FRONT_MOVES_BYTES in this batch's relayed values. */
	uint32_t relay_parts;
	struct front_asked asked; /* the request that the reply must answer */
	uint8_t opaque_text[MC_U64_DIGITS_MAX];
	struct view views[FRONT_KEYS_MAX];
	/* By key of the batch; NULL: it is answered. */
	struct front_request *requests[FRONT_KEYS_MAX];
	struct front_reply reply;      /* the line whose value is being read */
	uint32_t value_left, end_left; /* bytes to read: of the value, of its line end */
	/* The request whose value leaves while it arrives; NULL: none. */
	struct front_request *relayed;
	uint32_t relay_bytes; /* bytes of that value that may leave */
	uint64_t memory_ns;   /* when its value began to wait for memory; 0: it does not wait */
	uint64_t excused_ns;  /* until this time the front itself did not read */
	uint32_t moved_bytes; /* bytes that moved since moved_ns */
	uint64_t moved_ns;    /* when the last FRONT_MOVES_BYTES had moved */
	uint32_t line_len;
	/* The beginning of a line that has not arrived completely. */
	uint8_t line[FRONT_REPLY_LINE_MAX];
};

#endif
