/*
 * How connections end. Goal: every way through the closing states of RFC 9293 figure 5, opened()
 * and gone() once each, TIME-WAIT, resets in every state. Method: scripts (tcp_script.h).
 */
#include "tcp_script.h"

#include "support/test.h"

#define ESTABLISHED HANDSHAKE
#define FIN_WAIT_1  ESTABLISHED, CLOSE, OUT(F | A, 1, 1, 0)
#define FIN_WAIT_2  FIN_WAIT_1, IN(A, 1, 2, 0)
#define CLOSE_WAIT  ESTABLISHED, IN(F | A, 1, 1, 0), OUT(A, 1, 2, 0), END_OF_STREAM(true)
#define CLOSING     FIN_WAIT_1, IN(F | A, 1, 1, 0), OUT(A, 2, 2, 0)
#define LAST_ACK    CLOSE_WAIT, CLOSE, OUT(F | A, 1, 2, 0)
#define TIME_WAIT   FIN_WAIT_2, GONE(0), IN(F | A, 1, 2, 0), OUT(A, 2, 2, 0), GONE(1)

static struct stack_config
one_connection(void)
{
	struct stack_config cfg = sim_config(1);

	cfg.conns_max = 1;
	return cfg;
}

static const struct script_step we_close_first[] = {TIME_WAIT,       WAIT(1010), IN(A, 2, 2, 0),
						    OUT(R, 2, 0, 0), GONE(1),    END};
static const struct script_step peer_closes_first[] = {
	LAST_ACK, GONE(0), IN(A, 2, 2, 0), GONE(1), COUNTED(TCP_CLOSED_BY_BOTH, 1), END};
static const struct script_step both_close[] = {CLOSING, GONE(0), IN(A, 2, 2, 0), GONE(1), END};
static const struct script_step fin_with_ack_of_fin[] = {FIN_WAIT_1, IN(F | A, 1, 2, 0),
							 OUT(A, 2, 2, 0), GONE(1), END};
static const struct script_step text_then_fin[] = {
	ESTABLISHED,      WRITE(100), OUT(P | A, 1, 1, 100), CLOSE, OUT(F | A, 101, 1, 0),
	IN(A, 1, 102, 0), END};
static const struct script_step fin_waits_for_window[] = {
	ESTABLISHED, IN_W(A, 1, 1, 0, 0),    WRITE(100),
	CLOSE,       IN_W(A, 1, 1, 0, 1000), OUT(F | P | A, 1, 1, 100),
	END};
static const struct script_step read_after_fin[] = {ESTABLISHED,
						    IN(F | P | A, 1, 1, 10),
						    OUT(A, 1, 12, 0),
						    END_OF_STREAM(false),
						    READ(10),
						    END_OF_STREAM(true),
						    WRITE(5),
						    OUT(P | A, 1, 12, 5),
						    CLOSE,
						    OUT(F | A, 6, 12, 0),
						    END};
static const struct script_step fin_before_text[] = {
	ESTABLISHED,     IN(F | A, 11, 1, 5), OUT(A, 1, 1, 0), END_OF_STREAM(false), READABLE(0),
	IN(A, 1, 1, 10), OUT(A, 1, 17, 0),    READ(15),        END_OF_STREAM(true),  END};
static const struct script_step unread_at_close[] = {
	ESTABLISHED, IN(A, 1, 1, 10),      OUT(A, 1, 11, 0), HELD(1),
	CLOSE,       OUT(F | A, 1, 11, 0), HELD(0),          END};
static const struct script_step text_in_fin_wait_1[] = {
	FIN_WAIT_1, IN(A, 1, 1, 10), OUT(A, 2, 11, 0), COUNTED(TCP_DROP_TEXT_CLOSED, 1), GONE(0),
	END};
static const struct script_step text_in_fin_wait_2[] = {FIN_WAIT_2,
							IN(A, 1, 2, 10),
							OUT(R | A, 2, 1, 0),
							GONE(1),
							COUNTED(TCP_RESET_TEXT_CLOSED, 1),
							END};
static const struct script_step fin_never_comes[] = {
	FIN_WAIT_2, WAIT(59000), GONE(0), WAIT(1100), GONE(1), COUNTED(TCP_TIMEOUT_FIN_WAIT, 1),
	END};
static const struct script_step fin_sent_again[] = {FIN_WAIT_1,
						    WAIT(210),
						    OUT(F | A, 1, 1, 0),
						    WAIT(410),
						    OUT(F | A, 1, 1, 0),
						    IN(F | A, 1, 2, 0),
						    OUT(A, 2, 2, 0),
						    GONE(1),
						    END};
static const struct script_step peers_fin_again[] = {CLOSE_WAIT, IN(F | A, 1, 1, 0),
						     OUT(A, 1, 2, 0), GONE(0), END};
static const struct script_step peers_fin_again_in_time_wait[] = {
	TIME_WAIT, WAIT(900),          IN(F | A, 1, 2, 0), OUT(A, 2, 2, 0),
	WAIT(900), IN(F | A, 1, 2, 0), OUT(A, 2, 2, 0),    END};
static const struct script_step text_after_peers_fin[] = {
	CLOSE_WAIT, IN(A, 2, 1, 10), READABLE(0), END_OF_STREAM(true), GONE(0), END};

static const struct script_step rst_established[] = {ESTABLISHED, IN(R, 1, 0, 0), GONE(1),
						     COUNTED(TCP_RESET_BY_PEER, 1), END};
static const struct script_step rst_fin_wait_1[] = {FIN_WAIT_1, IN(R, 1, 0, 0), GONE(1), END};
static const struct script_step rst_fin_wait_2[] = {FIN_WAIT_2, IN(R, 1, 0, 0), GONE(1), END};
static const struct script_step rst_close_wait[] = {CLOSE_WAIT, IN(R, 2, 0, 0), GONE(1), END};
static const struct script_step rst_closing[] = {CLOSING, IN(R, 2, 0, 0), GONE(1), END};
static const struct script_step rst_last_ack[] = {LAST_ACK, IN(R, 2, 0, 0), GONE(1), END};
static const struct script_step rst_time_wait[] = {TIME_WAIT,      IN(R, 2, 0, 0),  GONE(1),
						   IN(A, 2, 2, 0), OUT(R, 2, 0, 0), END};
static const struct script_step abort_established[] = {
	ESTABLISHED,          WRITE(10), OUT(P | A, 1, 1, 10),    ABORT,
	OUT(R | A, 11, 1, 0), GONE(1),   COUNTED(TCP_ABORTED, 1), END};
static const struct script_step abort_close_wait[] = {CLOSE_WAIT, ABORT, OUT(R | A, 1, 2, 0),
						      GONE(1), END};
static const struct script_step abort_fin_wait_1[] = {FIN_WAIT_1, ABORT, OUT(R | A, 2, 1, 0),
						      GONE(1), END};
static const struct script_step drain_closes[] = {ESTABLISHED,
						  WRITE(10),
						  OUT(P | A, 1, 1, 10),
						  DRAIN,
						  OUT(F | A, 11, 1, 0),
						  IN(F | A, 1, 12, 0),
						  OUT(A, 12, 2, 0),
						  GONE(1),
						  END};
/* The new SYN is above all that the old connection received: seq 5000 over rcv_nxt 2. */
static const struct script_step time_wait_reused[] = {TIME_WAIT,
						      IN(S, 5000, 0, 0),
						      OUT(S | A, 0, 5001, 0),
						      COUNTED(TCP_TIME_WAIT_REUSED, 1),
						      IN(A, 5001, 1, 0),
						      OPENED(2),
						      GONE(1),
						      END};
/* 5000 bytes in no time: the clock's number is below what was sent. */
static const struct script_step time_wait_reused_fast[] = {ESTABLISHED,
							   WRITE(5000),
							   OUT(A, 1, 1, 1460),
							   OUT(A, 1461, 1, 1460),
							   OUT(A, 2921, 1, 1460),
							   OUT(P | A, 4381, 1, 620),
							   CLOSE,
							   OUT(F | A, 5001, 1, 0),
							   IN(F | A, 1, 5002, 0),
							   OUT(A, 5002, 2, 0),
							   IN(S, 5000, 0, 0),
							   OUT(S | A, 0, 5001, 0),
							   END};
static const struct script_step time_wait_old_syn[] = {TIME_WAIT, IN(S, 1, 0, 0), OUT(A, 2, 2, 0),
						       COUNTED(TCP_TIME_WAIT_REUSED, 0), END};
static const struct script_step time_wait_recycled[] = {TIME_WAIT,
							FROM_PORT(50000),
							IN_SYN(1460, 0),
							OUT(S | A, 0, 1, 0),
							COUNTED(TCP_TIME_WAIT_RECYCLED, 1),
							IN(A, 1, 1, 0),
							OPENED(2),
							GONE(1),
							END};

static const struct script scripts[] = {
	SCRIPT("we close first and wait", we_close_first),
	SCRIPT("the peer closes first", peer_closes_first),
	SCRIPT("both close at the same time", both_close),
	SCRIPT("a FIN may carry the ACK of ours", fin_with_ack_of_fin),
	SCRIPT("what is queued goes before the FIN", text_then_fin),
	SCRIPT("a FIN rides on the last text", fin_waits_for_window),
	SCRIPT("what came before a FIN can be read, and answered", read_after_fin),
	SCRIPT("a FIN after a hole waits for the hole", fin_before_text),
	SCRIPT("a close lets go of what was not read", unread_at_close),
	SCRIPT("text for a closed connection is thrown away", text_in_fin_wait_1),
	SCRIPT("text after our FIN was acknowledged is reset", text_in_fin_wait_2),
	SCRIPT("a peer that never closes is given up", fin_never_comes),
	SCRIPT("a FIN without an answer is sent again", fin_sent_again),
	SCRIPT("a FIN that comes again is acknowledged again", peers_fin_again),
	SCRIPT("a FIN that comes again restarts TIME-WAIT", peers_fin_again_in_time_wait),
	SCRIPT("text after a FIN is not read", text_after_peers_fin),
	SCRIPT("a RST ends ESTABLISHED", rst_established),
	SCRIPT("a RST ends FIN-WAIT-1", rst_fin_wait_1),
	SCRIPT("a RST ends FIN-WAIT-2", rst_fin_wait_2),
	SCRIPT("a RST ends CLOSE-WAIT", rst_close_wait),
	SCRIPT("a RST ends CLOSING", rst_closing),
	SCRIPT("a RST ends LAST-ACK", rst_last_ack),
	SCRIPT("a RST ends TIME-WAIT", rst_time_wait),
	SCRIPT("an abort in ESTABLISHED sends a RST", abort_established),
	SCRIPT("an abort in CLOSE-WAIT sends a RST", abort_close_wait),
	SCRIPT("an abort in FIN-WAIT-1 sends a RST", abort_fin_wait_1),
	SCRIPT("a drain closes what is open", drain_closes),
	SCRIPT("a higher SYN opens a flow in TIME-WAIT anew", time_wait_reused),
	SCRIPT("our numbers go up when a flow is opened anew", time_wait_reused_fast),
	SCRIPT("an old SYN in TIME-WAIT is only answered", time_wait_old_syn),
	SCRIPT_WITH(one_connection, "the oldest in TIME-WAIT makes room", time_wait_recycled),
};

int
main(void)
{
	return script_run_all("tcp-close", scripts, sizeof scripts / sizeof *scripts);
}
