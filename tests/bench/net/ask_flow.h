/*
 * ask_flow.h - one socket of a kernel client that sends the requests that clockoo-load would
 * send.
 *
 * Requests are drawn, written and checked by tests/load, so every server gets the same keys,
 * values and mixes, and a wrong byte is found. Only redis uses its own protocol.
 *
 * Shape:  a closed loop: depth requests are always in flight. Over TCP they are a ring, the oldest
 *         at head; over UDP the ID of a datagram names its slot.
 * Units:  bytes; ns on the caller's clock.
 * Thread: one.
 * Errors: false: the flow has ended, and says why (enum ask_end). Faults in replies are counted.
 * Bounds: ASK_DEPTH_MAX requests, ASK_READS reads a visit. A datagram without a reply after
 *         ASK_LOST_NS is lost, and the request is sent again.
 */
#ifndef CLOCKOO_ASK_FLOW_H
#define CLOCKOO_ASK_FLOW_H

#include "load/histogram.h"
#include "load/load_counters.h"
#include "load/reply_reader.h"
#include "load/workload.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>

#define ASK_DEPTH_MAX 64u
#define ASK_READS     8u
#define ASK_IN_BYTES  65536u
#define ASK_OUT_BYTES (ASK_DEPTH_MAX * 4096u)
#define ASK_LOST_NS   200000000ull

enum ask_talk { ASK_TEXT, ASK_RESP };

/* Why a flow sends and reads no more. */
enum ask_end {
	ASK_RUNS,
	ASK_NO_REPLY, /* the server sent bytes that are no reply to the oldest request */
	ASK_UNASKED,  /* the server sent bytes while no request was in flight */
	ASK_CLOSED,   /* the server closed the connection */
	ASK_FAILED,   /* a system call failed with the flow's error */
};

struct ask_plan {
	struct workload w;
	struct sockaddr_in server;
	bool udp;
	enum ask_talk talk;
	uint32_t depth;
	struct load_rng rng;
	uint32_t fill_next, fill_end; /* keys still to be stored, before the requests of w */
	bool filling, stopping;
	struct counter tally[LOAD_COUNTER_COUNT];
	struct reply_mismatch mismatch;
	uint64_t heard_ns;         /* when the bytes now read arrived */
	struct histogram *latency; /* latency of requests; NULL: not counted */
};

struct ask {
	struct request req;
	uint32_t keys[MULTIGET_MAX];
	uint64_t sent_ns; /* over UDP 0: the slot is free */
	uint16_t id;
};

struct ask_flow {
	int fd;
	bool blocked; /* the socket accepts no more at present */
	uint32_t head, count;
	uint64_t answers;
	struct reply_reader reader;
	uint32_t in_len, out_at, out_len;
	enum ask_end end;
	int error;
	uint32_t last_at, last_len; /* in `in`: the bytes read last, or that are no reply */
	struct ask asks[ASK_DEPTH_MAX];
	uint8_t line[REPLY_LINE_MAX];
	uint8_t in[ASK_IN_BYTES];
	uint8_t out[ASK_OUT_BYTES];
};

/* Opens the socket. False: this machine cannot (errno). */
bool ask_open(struct ask_flow *f, const struct ask_plan *plan);

/* Makes as many requests as the plan allows, and sends as much as the socket accepts. */
bool ask_send(struct ask_flow *f, struct ask_plan *plan, uint64_t now_ns);
/* Reads the pending bytes; plan->heard_ns is the time of their arrival. */
bool ask_receive(struct ask_flow *f, struct ask_plan *plan);
/* Prints why the flow has ended, and the last bytes that it read. */
void ask_end_print(const struct ask_flow *f, FILE *to);
/* Over UDP: sends overdue requests again. */
void ask_overdue(struct ask_flow *f, struct ask_plan *plan, uint64_t now_ns);

/* ---- between the files ---- */

/* Counts an answer of the flow to that request. */
void ask_answered(struct ask_flow *f, struct ask_plan *plan, const struct ask *a);
/* Records why the flow ends; the first reason stays. Returns false. */
bool ask_ends(struct ask_flow *f, enum ask_end why, int error);
/* Draws the next request, of the workload or of the fill. False: none is left. */
bool ask_draw(struct ask_plan *plan, struct ask *a);
/* Writes the whole request in the protocol of the plan's server. Returns the bytes written. */
uint32_t ask_put(const struct ask_plan *plan, const struct ask *a, uint8_t *at);
bool ask_udp_send(struct ask_flow *f, struct ask_plan *plan, uint64_t now_ns);
bool ask_udp_receive(struct ask_flow *f, struct ask_plan *plan);

#endif
