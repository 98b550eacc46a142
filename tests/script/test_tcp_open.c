/*
 * How connections begin. Goal: the handshake of RFC 9293 section 3.10.7.2 and 3.10.7.4 in
 * SYN-RECEIVED, its options, its limits, and what segments of no connection get. Method: scripts
 * (tcp_script.h) of what is sent and all that must come back.
 */
#include "tcp_script.h"

#include "support/test.h"

static struct stack_config
two_connections(void)
{
	struct stack_config cfg = sim_config(1);

	cfg.conns_max = 2;
	return cfg;
}

static const struct script_step three_segments[] = {
	IN_SYN(1460, 0), OUT(S | A, 0, 1, 0), WINDOW(65535), OPENED(0),
	IN(A, 1, 1, 0),  OPENED(1),           END,
};
static const struct script_step text_ends_handshake[] = {
	IN_SYN(1460, 0),
	OUT(S | A, 0, 1, 0),
	IN(A | P, 1, 1, 10),
	OPENED(1),
	OUT(A, 1, 11, 0),
	READABLE(10),
	END,
};
static const struct script_step fin_ends_handshake[] = {
	IN_SYN(1460, 0),
	OUT(S | A, 0, 1, 0),
	IN(F | A, 1, 1, 0),
	OPENED(1),
	OUT(A, 1, 2, 0),
	END_OF_STREAM(true),
	END,
};
static const struct script_step scaled_window[] = {
	IN_SYN(1460, 1),
	OUT(S | A, 0, 1, 0),
	WINDOW(65535),
	IN(A, 1, 1, 0),
	IN(A | P, 1, 1, 10),
	OUT(A, 1, 11, 0),
	WINDOW((131072 - 10 + 3) / 4),
	END,
};
static const struct script_step small_mss[] = {
	IN_SYN(500, 0),
	OUT(S | A, 0, 1, 0),
	IN(A, 1, 1, 0),
	WRITE(800),
	OUT(A, 1, 1, 500),
	OUT(P | A, 501, 1, 300),
	END,
};
static const struct script_step default_mss[] = {
	IN_SYN(0, 0), OUT(S | A, 0, 1, 0), IN(A, 1, 1, 0),
	WRITE(600),   OUT(A, 1, 1, 536),   OUT(P | A, 537, 1, 64),
	END,
};
static const struct script_step absurd_mss[] = {
	IN_SYN(1, 0), OUT(S | A, 0, 1, 0), IN(A, 1, 1, 0),
	WRITE(100),   OUT(A, 1, 1, 64),    OUT(P | A, 65, 1, 36),
	END,
};
static const struct script_step syn_again[] = {
	IN_SYN(1460, 0),
	OUT(S | A, 0, 1, 0),
	IN_SYN(1460, 0),
	OUT(S | A, 0, 1, 0),
	IN(A, 1, 1, 0),
	OPENED(1),
	END,
};
static const struct script_step syn_ack_again[] = {
	IN_SYN(1460, 0),     OUT(S | A, 0, 1, 0), WAIT(1010),
	OUT(S | A, 0, 1, 0), WAIT(2010),          OUT(S | A, 0, 1, 0),
	IN(A, 1, 1, 0),      OPENED(1),           END,
};
static const struct script_step syn_ack_unanswered[] = {
	IN_SYN(1460, 0),
	OUT(S | A, 0, 1, 0),
	WAIT(1010),
	OUT(S | A, 0, 1, 0),
	WAIT(2010),
	OUT(S | A, 0, 1, 0),
	WAIT(4010),
	OUT(S | A, 0, 1, 0),
	WAIT(8010),
	OUT(S | A, 0, 1, 0),
	WAIT(16010),
	OUT(S | A, 0, 1, 0),
	WAIT(32010),
	COUNTED(TCP_TIMEOUT_SYN, 1),
	OPENED(0),
	GONE(0),
	END,
};
static const struct script_step wrong_ack[] = {
	IN_SYN(1460, 0), OUT(S | A, 0, 1, 0), IN(A, 1, 2, 0), OUT(R, 2, 0, 0), IN(A, 1, 0, 0),
	OUT(R, 0, 0, 0), OPENED(0),           IN(A, 1, 1, 0), OPENED(1),       END,
};
static const struct script_step reset_half_open[] = {
	IN_SYN(1460, 0), OUT(S | A, 0, 1, 0), IN(R, 1, 0, 0),  COUNTED(TCP_RESET_BY_PEER, 1),
	GONE(0),         IN(A, 1, 1, 0),      OUT(R, 1, 0, 0), END,
};
static const struct script_step syn_in_window[] = {
	IN_SYN(1460, 0),
	OUT(S | A, 0, 1, 0),
	IN(S, 100, 0, 0),
	COUNTED(TCP_HALF_OPEN_SYN, 1),
	OPENED(0),
	GONE(0),
	END,
};
static const struct script_step no_ack[] = {
	IN_SYN(1460, 0), OUT(S | A, 0, 1, 0),
	IN(0, 1, 0, 10), COUNTED(TCP_DROP_NO_ACK, 1),
	OPENED(0),       END,
};
static const struct script_step ack_of_nobody[] = {
	IN(A, 7, 9, 0),
	OUT(R, 9, 0, 0),
	COUNTED(TCP_DROP_UNKNOWN, 1),
	END,
};
static const struct script_step fin_of_nobody[] = {
	IN(F | A, 7, 9, 0),
	OUT(R, 9, 0, 0),
	END,
};
static const struct script_step syn_ack_of_nobody[] = {
	IN(S | A, 7, 9, 0),
	OUT(R, 9, 0, 0),
	END,
};
static const struct script_step rst_of_nobody[] = {
	IN(R, 7, 0, 0),
	IN(R | A, 7, 9, 0),
	COUNTED(TCP_DROP_RST_UNKNOWN, 2),
	END,
};
static const struct script_step text_without_ack_of_nobody[] = {
	IN(P, 7, 0, 10), IN(F, 7, 0, 0), IN(S | F, 7, 0, 0), COUNTED(TCP_DROP_NO_SYN, 3), END,
};
static const struct script_step resets_rationed[] = {
	IN(A, 7, 1, 0),   OUT(R, 1, 0, 0),
	IN(A, 7, 2, 0),   OUT(R, 2, 0, 0),
	IN(A, 7, 3, 0),   OUT(R, 3, 0, 0),
	IN(A, 7, 4, 0),   OUT(R, 4, 0, 0),
	IN(A, 7, 5, 0),   OUT(R, 5, 0, 0),
	IN(A, 7, 6, 0),   OUT(R, 6, 0, 0),
	IN(A, 7, 7, 0),   OUT(R, 7, 0, 0),
	IN(A, 7, 8, 0),   OUT(R, 8, 0, 0),
	IN(A, 7, 9, 0),   OUT(R, 9, 0, 0),
	IN(A, 7, 10, 0),  OUT(R, 10, 0, 0),
	IN(A, 7, 11, 0),  COUNTED(TCP_RESETS_RATIONED, 1),
	WAIT(11),         IN(A, 7, 12, 0),
	OUT(R, 12, 0, 0), END,
};
/* conns_max 2: at most two half open. */
static const struct script_step oldest_half_open[] = {
	FROM_PORT(1001),     IN_SYN(1460, 0),
	OUT(S | A, 0, 1, 0), FROM_PORT(1002),
	IN_SYN(1460, 0),     OUT(S | A, 0, 1, 0),
	FROM_PORT(1003),     IN_SYN(1460, 0),
	OUT(S | A, 0, 1, 0), COUNTED(TCP_HALF_OPEN_DROPPED, 1),
	IN(A, 1, 1, 0),      OPENED(1),
	FROM_PORT(1001),     IN(A, 1, 1, 0),
	OUT(R, 1, 0, 0),     END,
};
static const struct script_step no_slot[] = {
	FROM_PORT(1001),
	HANDSHAKE,
	FROM_PORT(1002),
	IN_SYN(1460, 0),
	OUT(S | A, 0, 1, 0),
	IN(A, 1, 1, 0),
	OPENED(2),
	FROM_PORT(1003),
	IN_SYN(1460, 0),
	OUT(R | A, 0, 1, 0),
	COUNTED(TCP_REFUSED_CONNS_MAX, 1),
	END,
};
static const struct script_step drained[] = {
	DRAIN, IN_SYN(1460, 0), OUT(R | A, 0, 1, 0), COUNTED(TCP_REFUSED_DRAINING, 1), END,
};

static const struct script scripts[] = {
	SCRIPT("three segments open a connection", three_segments),
	SCRIPT("the last segment of a handshake may carry text", text_ends_handshake),
	SCRIPT("the last segment of a handshake may carry a FIN", fin_ends_handshake),
	SCRIPT("a window is scaled if the peer offers it", scaled_window),
	SCRIPT("segments are no longer than the peer's MSS", small_mss),
	SCRIPT("without an MSS option segments are of 536 bytes", default_mss),
	SCRIPT("an MSS of one byte is not obeyed", absurd_mss),
	SCRIPT("a SYN sent again gets the SYN-ACK again", syn_again),
	SCRIPT("a SYN-ACK without an answer is sent again", syn_ack_again),
	SCRIPT("a handshake without an answer is given up", syn_ack_unanswered),
	SCRIPT("a handshake needs the right acknowledgment", wrong_ack),
	SCRIPT("a RST ends a half-open connection", reset_half_open),
	SCRIPT("a SYN in the window ends a half-open connection", syn_in_window),
	SCRIPT("a segment without ACK does not end a handshake", no_ack),
	SCRIPT("an ACK of no connection is reset", ack_of_nobody),
	SCRIPT("a FIN of no connection is reset", fin_of_nobody),
	SCRIPT("a SYN-ACK of no connection is reset", syn_ack_of_nobody),
	SCRIPT("a RST is never answered", rst_of_nobody),
	SCRIPT("text without ACK of no connection is not answered", text_without_ack_of_nobody),
	SCRIPT("resets are rationed", resets_rationed),
	SCRIPT_WITH(two_connections, "the oldest half-open connection makes room",
		    oldest_half_open),
	SCRIPT_WITH(two_connections, "a SYN is refused when every slot is open", no_slot),
	SCRIPT("a stack that stops refuses connections", drained),
};

int
main(void)
{
	return script_run_all("tcp-open", scripts, sizeof scripts / sizeof *scripts);
}
