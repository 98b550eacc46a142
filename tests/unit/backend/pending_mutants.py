#!/usr/bin/python3 -B
"""A file of lib/backend or lib/serve with one rule of pending requests broken (tests/support/one_edit.py)."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))

from one_edit import main

MUTANTS = {
    # An answer goes to whoever is next in its slot.
    "SLOT_ONLY_TICKET": ("pending_table.c", "if (a->ticket != ticket || a->state", "if (a->state"),
    # An ask is answered twice.
    "DOUBLE_ANSWER": ("pending_table.c", "a->state != PENDING_ASKED)\n\t\treturn false;",
                      "a->state == PENDING_FREE)\n\t\treturn false;\n\tif (a->state == PENDING_READY) {"
                      "\n\t\ta->answer = *answer;\n\t\treturn true;\n\t}"),
    # The backend prefetches nothing.
    "MISSED_UNSAID": ("pending_table.c", "\tby->tier.prefetch(by->arg, hashes, count);", "\t(void)hashes;"),
    # An answer wakes nobody.
    "LOST_TICKET": ("pending_table.c", "if (a->session->pending == a)", "if (false)"),
    # A kept request is completed before its answer is here; none has a deadline; a backend hears of no request that is over.
    # (tests/sim/test_backend.c)
    "LATER_FIRST": ("pending_execute.c", "a != NULL && a->state != PENDING_ASKED && sv->op_count", "a != NULL && sv->op_count"),
    "NO_DEADLINE": ("backend.c", "a->deadline_ns <= now_ns &&", "a->deadline_ns < 0 * now_ns &&"),
    "NOT_FORGOTTEN": ("pending_table.c", "		asked_end(pt, a);\n\t\tpt->backend.forget(pt->backend.arg, a->ticket);", "		asked_end(pt, a);"),
    # A request takes whatever answer is here.
    "ANY_LINE_WRITES": ("pending_order.c", "if (a != NULL && a->offset == offset)",
                        "if (a != NULL && a->state == PENDING_READY)"),
    # The table does not hear of lost connections.
    "KEPT_AT_CLOSE": ("serve.c", "sv->backend_ops->forget(sv, ss);", "(void)0;"),
    # Requests move in the read buffer, and their pending requests do not.
    "NO_REBASE": ("serve_defer.c", "sv->backend_ops->bytes_move(sv, ss, first);", "(void)0;"),
    "NO_REBASE_GATHERED": ("serve_parse.c", "sv->backend_ops->bytes_move(sv, ss, sv->op_count);", "(void)0;"),
    # The backend is told of the end behind each pass; or waits for a pass that this turn does not have.
    "PASS_ENDS": ("backend.c", "if (!pt->asked_in_turn || more)", "if (!pt->asked_in_turn)"),
    "ENDS_LATER": ("backend.c", "sv->more && sv->pass - pt->turn_pass < PASSES_MAX;", "sv->more;"),
    # The pending requests of an earlier pass end with a later pass that requests nothing.
    "PASS_FORGOTTEN": ("pending_datagrams.c", "sv->read_bufs_in_use |= pt->asked_in_turn;", ";"),
    # A line that a pass ends, behind hits only, has lost its beginning when the next pass misses.
    "LINE_UNMARKED": ("serve_datagram.c", "unlikely(sv->backend_mode != BACKEND_NONE) && cursor_in_line(dc)", "false"),
    # A pending request without a user keeps its place.
    "NO_SWEEP": ("serve_execute.c", "sv->backend_ops->session_swept(sv, ss);", "(void)0;"),
    # One pipeline asks for a key twice at once.
    "KEY_TWICE": ("pending_ahead.c", "struct pending *same = waiting_for(&at->waited, ss, op->hash);",
                  "struct pending *same = NULL;"),
    # Three gets of one key on one line: the second is answered by a copy, the third by an older answer.
    "COPY_BETWEEN": ("pending_table.c", "\tss->passed_on += !a->passed_on;\n", ""),
    # A get is asked for ahead of its turn behind one that had a copy when it was looked at; or no key like it is.
    "PASSED_ASKED": ("pending_ahead.c", "\twaited_add(&at->passed, hash);\n", ""),
    "PASSED_ANY": ("pending_ahead.c", "before->session == op->session && before->hash == op->hash",
                   "before->session == op->session"),
    # An answer that is here is told before its turn.
    "TOLD_EARLY": ("pending_complete.c", "a->offset == ss->read_buf_at && ", ""),
    # A copy answers a get that stands behind requests that are kept.
    "HIT_OVERTAKES": ("pending_complete.c", "if (ss->pending == NULL || ss->read_buf == NULL",
                      "if ((ss->pending == NULL && ss->kept == NULL) || ss->read_buf == NULL"),
    # The position of later bytes is taken from a request that was made ahead of its turn.
    "AHEAD_STAYS": ("serve_parse.c", "\t\tss->ahead = false;", ";"),
    # The bytes of a request that waits for a read buffer move, and the record of their begin does not.
    "AHEAD_UNMOVED": ("pending_table.c", "\tss->ahead_at -= base < ss->ahead_at ? base : ss->ahead_at;\n", ""),
    # The wait for a place does not count in the timeout.
    "WAIT_FORGOTTEN": ("pending_table.c", "if (likely(since_ns == 0))", "if (true)"),
    "NO_SESSION_SHARE": ("pending_places.c",
                         "return share < PENDING_SESSION_MAX ? share : PENDING_SESSION_MAX;", "return left;"),
    "NO_SERVER_SHARE": ("pending_places.c", "return lane->open < places_left(pt);", "return places_left(pt) > 0;"),
    # A later request takes the place granted to one that waits.
    "WAKE_WITHOUT_GRANT": ("pending_places.c", "ss->place_granted = true;\n\t\tpt->granted++;\n\t\tlane->open++;",
                           ";"),
    "GRANT_KEPT": ("pending_execute.c", "if (!ss->place_granted || session_credit(sv, ss))", "if (true)"),
    # A request that waits for an answer yields its read buffer.
    "YIELDS_WHILE_PENDING": ("serve_read_buf.c", "if (ss->quota.ticket == 0)", "if (false)"),
    # Waiting requests may take all read buffers.
    "NO_BUFFER_SHARE": ("pending_order.c", "waiting < sv->read_bufs_max / 2", "true || waiting != 0"),
    # Answers that nobody reads keep their places.
    "KEPT_UNREAD": ("backend.c", "\t\t\tpending_drop(sv, a);", "\t\t\tpending_ready_push(sv, a);"),
    # All keys of a datagram are known, and nobody looks.
    "LOST_LINE": ("pending_table.c", "list_push_back(&pt->lines_ready, &a->line->link);", ";"),
    # A request that has waited is counted again.
    "COUNTED_TWICE": ("serve_execute.c", "ss->memory_wait_turns != 0 || ss->pending_counted;",
                      "ss->memory_wait_turns != 0;"),
    # A write is executed again, as retrievals are.
    "ASKED_TWICE": ("pending_kept.c", "op->session != NULL ? EXEC_PARTIAL : EXEC_LATER;",
                    "op->session != NULL ? EXEC_RETRY : EXEC_LATER;"),
    # A request with an effect is made before its turn.
    "WRITE_AHEAD": ("pending_kinds.c", "return (req->meta.flags & MG_EFFECTS) == 0;", "return true;"),
    # Requests behind a write are put back, and do not fit.
    "BEHIND_WRITES": ("backend.c", "mode >= BACKEND_WRITES ? VERB_WRITES : 0", "0"),
    "BEHIND_BODY": ("serve_parse.c", "sv->later_traits != 0 && ss->pass_ops > 0", "sv->later_traits != 0 && ss->pass_ops > OPS_MAX"),
    "BEHIND_ANSWER": ("pending_execute.c", "ss->deferrable_bytes = 1;", ";"),
    "WHOLE_BODY": ("serve_parse.c", "(likely(sv->few_behind == 0) ||", "(likely(!sv->under_pressure) ||"),
    # Behind a write that has no answer, another of its key is asked; or what is no write of a key is executed; or the
    # end of the stream is seen.
    "SAME_KEY_BEHIND": ("pending_kept.c", "return last->state == PENDING_ASKED && by->follows != NULL &&\n\t       by->follows(by->arg, last->ticket, op->req.key, op->hash);",
                        "(void)by;\n\treturn true;"),
    "ALL_BEHIND": ("pending_kinds.c", "\tcase MC_BIN_TOUCH:\n\t\treturn true;\n\tdefault:\n\t\treturn false;", "\tcase MC_BIN_TOUCH:\n\tdefault:\n\t\treturn true;"),
    "END_BEHIND": ("serve_parse.c", "conn_eof(ss->conn) && ss->kept == NULL", "conn_eof(ss->conn)"),
    # Answers that are here wait for the share of work of a request behind them; once told they leave the limit of requests
    # behind; what is cut behind them takes the last read buffer, or tries to in each turn.
    "WORK_BEHIND": ("pending_execute.c", "!(op_is(op, VERB_TAKES_WORK) && copies_value(&op->req))", "true"),
    "LIMIT_PASSED": ("serve_parse.c", "\tif (room != PARSE_CONTINUE)\n\t\treturn room;", "\tif (room != PARSE_CONTINUE && ss->served <= sv->cfg.conn_requests_max)\n\t\treturn room;"),
    "GATHERS_ALWAYS": ("pending_kept.c", "!sv->pending->draining && pending_may_defer(sv, ss) &&", "!sv->pending->draining &&"),
    # A later answer is here, and nobody looks; a write that found no place is tried without end, or is counted each time.
    "ANSWER_UNSEEN": ("pending_execute.c", "ss->pass_ops > 0 ? PARSE_NEXT_PASS : PARSE_WAIT", "PARSE_WAIT"),
    "TRIED_ALWAYS": ("pending_kept.c", "op->session->pipeline_stopped = true;", ";"),
    "TRIES_COUNTED": ("serve_execute.c", "if (!counted && !behind)\n\t\trequest_count(sv, op);", "if (!counted)\n\t\trequest_count(sv, op);"),
    # A retrieval behind them is asked for although its key waits, or there is a copy; or its turn does not come when the
    # copy has gone, or amid another value; or it is asked for in a drain; or its answer is kept for who does not read.
    "READ_OF_WRITTEN": ("pending_kept.c", "pending_may_follow(sv, op) && pending_lacks", "pending_lacks"),
    "READ_OF_COPY": ("pending_kept.c", "pending_may_follow(sv, op) && pending_lacks(sv, op)", "pending_may_follow(sv, op)"),
    "TURN_LOST": ("pending_kept.c", "status != EXEC_RETRY);", "true);"),
    "AMID_VALUE": ("serve_parse.c", "ss->kept != NULL && !reply_resume(sv, ss)", "false"),
    "DRAIN_READS": ("pending_order.c", "	if (sv->pending->draining)\n\t\treturn failed", "	if (false)\n\t\treturn failed"),
    "KEPT_ANSWER": ("backend.c", "\t\t\tpending_unask(sv, a);", "\t\t\tpending_ready_push(sv, a);"),
    # A retrieval is answered by a copy that is newer than its own answer; an answer behind which its key was written is
    # dropped and asked for again, after a while or for its memory.
    "COPY_AHEAD": ("pending_kept.c", "a->state == PENDING_READY ? read_pending(sv, op)", "false ? read_pending(sv, op)"),
    "UNASKED_FOLLOWED": ("backend.c", "		else if (pending_is_followed(sv, a))\n", "		else if (false)\n"),
    "YIELD_FOLLOWED": ("pending_table.c", "if (!pending_is_followed(sv, a)) {", "if (true) {"),
    # A client that does not read keeps all others from pipelines.
    "KEPT_UNREAD_FOR_EVER": ("pending_execute.c", "		kept_make_room(sv);", "		;"),
    # A pipeline takes as many of the last places as it finds.
    "PIPELINE_NO_SHARE": ("pending_places.c", "return ss->pending_count < share_of(left);", "return true;"),
    # Two requests of a pass are of one key, or are too many, or too large to go back.
    "PASS_UNSEEN": ("pending_kept.c", "if (!pending_may_follow(sv, op) ||", "if (false ||"),
    "PASS_UNCOUNTED": ("pending_execute.c", "ss->pending_count + ss->pass_ops >= PENDING_KEPT_MAX", "ss->pending_count >= PENDING_KEPT_MAX"),
    "PASS_TOO_LARGE": ("pending_execute.c", "ss->deferrable_bytes + raw.len > MC_LINE_MAX && ss->pass_ops > 0", "false"),
    # The reply has no room, or its chunk does not come back.
    "NO_ROOM": ("pending_kept.c", "stack_chunk_credit(sv->stack, (uint8_t *)a->kept);",
                "stack_chunk_put(sv->stack, (uint8_t *)a->kept);"),
    "CHUNK_KEPT": ("pending_table.c", "stack_chunk_put(sv->stack, (uint8_t *)a->kept);", ";"),
    # Values that nobody ends, or whose part of the quota does not come back.
    "VALUE_KEPT": ("pending_kept.c", "store_abandon(sv->store, &ss->fill);", ";"),
    "VALUE_KEPT_UDP": ("pending_kept.c", "store_abandon(sv->store, value);", "(void)0;"),
    "QUOTA_KEPT": ("pending_kept.c", "fill_quota_end(sv, ss);\n\treturn write_ask", "return write_ask"),
    "NO_VALUE_SHARE": ("pending_places.c", "return bytes == 0 || used == 0 ||", "return true ||"),
    "VALUES_PASS": ("pending_places.c", "if (value_len > 0 && !list_empty(&lane->waiting))", "if (false)"),
    "NO_CHUNK_SHARE": ("pending_places.c", "if (pt->kept_count >= sv->read_bufs_max / 2)", "if (false)"),
    "COPY_ANSWERS": ("pending_table.c", "by->copies.answers(by->arg, req, item, cas)", "BACKEND_COPY_HERE"),
    "DRAIN_ASKS": ("pending_kept.c", "if (sv->pending->draining || ss->place_refused)", "if (ss->place_refused)"),
    "SILENT_FLUSH": ("pending_kept.c", "if (ss == NULL || !is_flush(op) || !op_noreply(op))", "if (true)"),
    # An answered key is requested again; a body that waits for a promotion is freed with its request; an add is not
    # refused for an item that the backend has; the backend is not told that a write wants the item; a datagram's body
    # is left out.
    "PROMOTE_TWICE": ("pending_order.c", "	if (a == NULL && !pending_may_have(sv, op->req.key, op->hash))\n\t\treturn false;",
                    "	if (a != NULL && a->state == PENDING_READY && !a->answer.failed)\n\t\ta = NULL;\n"
                    "	if (a == NULL && !pending_may_have(sv, op->req.key, op->hash))\n\t\treturn false;"),
    # An item that is evicted again before its use is not requested again, or without end, or a datagram does not wait
    # for it.
    "PROMOTE_ONCE": ("pending_order.c", "if (a != NULL && a->state == PENDING_READY && a->answer.here && ask_again(sv, op, a))\n\t\treturn true", "if (false)\n\t\treturn true"),
    "PROMOTE_FOR_EVER": ("pending_order.c", "a->times >= PENDING_TIMES_MAX || ", ""),
    "BODY_DROPPED": ("backend.c", "if (a->session->body == BODY_FILLED)", "if (false)"),
    "BODY_LOST": ("pending_order.c", "	if (ss->body == BODY_FILLED)\n\t\treturn;\n", ""),
    "ADD_UNREAD": ("pending_kinds.c", "	switch (req->verb) {\n	case MC_BIN_SET:",
                   "	switch (req->verb) {\n	case MC_ADD:\n		return false;\n	case MC_BIN_SET:"),
    "PROMOTE_UNSAID": ("pending_table.c", "return sv->backend_mode == BACKEND_PROMOTES ? BACKEND_ASK_PROMOTE", "return false ? BACKEND_ASK_PROMOTE"),
    # In a datagram what stands behind a write, or behind a line that waits, does not wait.
    "REST_PASSES_WRITE": ("pending_kept.c", "w->rest = pending_rest_keep(sv, op);", "w->rest = NULL;"),
    "REST_PASSES_LINE": ("pending_datagrams.c", "	return parsed;\n", "	return op->raw.data + op->raw.len;\n"),
    # A later line of a datagram has the answer of an earlier one, or is requested although one before it was not.
    "LINE_TAKES_ANY": ("pending_datagrams.c", "if (a->hash == op->hash && a->offset == begin)", "if (a->hash == op->hash)"),
    # A datagram's write is answered, and nobody looks.
    "LOST_WRITE": ("pending_datagrams.c", "\tpending_writes_parse(sv);", "(void)0;"),
    "SILENT_WRITE": ("pending_table.c", "if (a->session != NULL)\n\t\t\tconn_requeue", "if (false)\n\t\t\tconn_requeue"),
}

if __name__ == "__main__":
    main(MUTANTS, sys.argv[1:])
