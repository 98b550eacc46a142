#!/usr/bin/python3 -B
"""await_mutants.py MUTANT SERVE OUT - a file of lib/serve, one rule of awaited operations broken.
await_mutants.py --caught PROGRAM [ARG] - PROGRAM, built with it, must fail.

A text must be in its file exactly once, or the build fails: a mutant follows the code it breaks.
"""

import pathlib
import subprocess
import sys

FAILURE = "Failure!"  # cmocka's word for a check that failed

MUTANTS = {
    # An answer goes to whoever is next in its slot.
    "SLOT_ONLY_TICKET": ("serve_await.c", "if (a->ticket != ticket || a->state", "if (a->state"),
    # An ask is answered twice.
    "DOUBLE_ANSWER": ("serve_await.c", "a->state != AWAIT_ASKED)\n\t\treturn false;",
                      "a->state == AWAIT_FREE)\n\t\treturn false;\n\tif (a->state == AWAIT_READY) {"
                      "\n\t\ta->answer = *answer;\n\t\treturn true;\n\t}"),
    # The supplier hears of each missed key by itself.
    "MISSED_UNSAID": ("serve_await.c", "\tby->prefetch(by->arg, hashes, count);", "\t(void)hashes;"),
    # An answer wakes nobody.
    "LOST_TICKET": ("serve_await.c", "if (a->session->awaits == a)", "if (false)"),
    # A request takes whatever answer is here.
    "ANY_LINE_WRITES": ("serve_await_order.c", "if (a != NULL && a->offset == offset)",
                        "if (a != NULL && a->state == AWAIT_READY)"),
    # The table does not hear of lost connections.
    "KEPT_AT_CLOSE": ("serve.c", "awaits_forget(sv, ss);", "(void)0;"),
    # Requests move in the read buffer, and their awaits do not.
    "NO_REBASE": ("serve_defer.c", "awaits_rebase(sv, ss, first);", "(void)0;"),
    "NO_REBASE_GATHERED": ("serve_parse.c", "awaits_rebase(sv, ss, sv->op_count);", "(void)0;"),
    # The supplier hears of the end behind each pass; or waits for a pass that this turn does not have.
    "PASS_ENDS": ("serve_await_order.c", "if (!aw->asked_in_turn || more)", "if (!aw->asked_in_turn)"),
    "ENDS_LATER": ("serve_await_order.c", "sv->more && sv->pass - aw->turn_pass < PASSES_MAX;", "sv->more;"),
    # The pending requests of an earlier pass end with a later pass that requests nothing.
    "PASS_FORGOTTEN": ("serve_datagram.c", "sv->read_bufs_in_use |= aw->asked_in_turn;", ";"),
    # A line that a pass ends, behind hits only, has lost its beginning when the next pass misses.
    "LINE_UNMARKED": ("serve_datagram.c", "unlikely(sv->awaits != NULL) && cursor_in_line(dc)", "false"),
    # A pending request without a user keeps its place.
    "NO_SWEEP": ("serve_execute.c", "awaits_sweep(sv, ss);", "(void)0;"),
    # One pipeline asks for a key twice at once.
    "KEY_TWICE": ("serve_await_look.c", "struct await *same = waiting_for(&at->waited, ss, op->hash);",
                  "struct await *same = NULL;"),
    # Three gets of one key on one line: the second is answered by a copy, the third by an older answer.
    "COPY_BETWEEN": ("serve_await_order.c", "\tss->passes_on = true;\n", ""),
    # A get is asked for ahead of its turn behind one that had a copy when it was looked at; or no key like it is.
    "PASSED_ASKED": ("serve_await_look.c", "\twaited_add(&at->passed, hash);\n", ""),
    "PASSED_ANY": ("serve_await_look.c", "before->session == op->session && before->hash == op->hash",
                   "before->session == op->session"),
    # An answer that is here is told before its turn.
    "TOLD_EARLY": ("serve_tell.c", "a->offset == ss->read_buf_at && !a->answer.failed",
                   "!a->answer.failed"),
    # A copy answers a get that stands behind, or is, one that waits.
    "HIT_OVERTAKES": ("serve_tell.c", "(a != NULL && (a->is_kept || a->offset <= ss->read_buf_at))", "false"),
    # The position of later bytes is taken from a request that was made ahead of its turn.
    "AHEAD_STAYS": ("serve_parse.c", "\t\tss->ahead = false;", ";"),
    # The bytes of a request that waits for a read buffer move, and the record of their begin does not.
    "AHEAD_UNMOVED": ("serve_await_order.c", "\tss->ahead_at -= base;\n", ""),
    "NO_SESSION_SHARE": ("serve_await_place.c",
                         "return ss->await_count < share_of(left);", "return true;"),
    "NO_SERVER_SHARE": ("serve_await_place.c", "return lane->open < places_left(aw);", "return places_left(aw) > 0;"),
    # A later request takes the place granted to one that waits.
    "WAKE_WITHOUT_GRANT": ("serve_await_place.c", "ss->await_granted = true;\n\t\taw->granted++;\n\t\tlane->open++;",
                           ";"),
    "GRANT_KEPT": ("serve_await_order.c", "if (!ss->await_granted || session_credit(sv, ss))", "if (true)"),
    "STALE_WHILE_AWAITED": ("serve_parse.c", "ss->read_buf != NULL && (ss->waits == 0 || ss->value.item != NULL) &&",
                            "ss->read_buf != NULL &&"),
    # Waiting requests may take all read buffers.
    "NO_BUFFER_SHARE": ("serve_await_order.c", "sv->read_bufs_used < sv->read_bufs_max / 2", "true"),
    # Answers that nobody reads keep their places.
    "KEPT_UNREAD": ("serve_await.c", "\t\t\tawait_drop(sv, a);", "\t\t\tready_push(sv, a);"),
    # All keys of a datagram are known, and nobody looks.
    "LOST_LINE": ("serve_await.c", "list_push_back(&aw->lines_ready, &a->line->link);", ";"),
    # A request that has waited is counted again.
    "COUNTED_TWICE": ("serve_execute.c", "ss->memory_wait_turns != 0 || ss->await_counted;",
                      "ss->memory_wait_turns != 0;"),
    # A write is executed again, as retrievals are.
    "ASKED_TWICE": ("serve_write.c", "op->session != NULL ? EXEC_PARTIAL : EXEC_DONE;",
                    "op->session != NULL ? EXEC_RETRY : EXEC_DONE;"),
    # A request with an effect is made before its turn.
    "WRITE_AHEAD": ("serve_await_order.c", "return (req->meta.flags & MG_EFFECTS) == 0;", "return true;"),
    "SWEPT_WRITE": ("serve_await_order.c", "while (session_kept(ss) == NULL && ss->awaits", "while (ss->awaits"),
    # Requests behind a write are put back, and do not fit.
    "BEHIND_WRITES": ("serve_parse.c", "sv->writes_wait ? VERB_WRITES : VERB_BRINGS", "sv->writes_wait ? 0 : VERB_BRINGS"),
    "BEHIND_BODY": ("serve_parse.c", "ss->pass_ops > 0\n\t\t       ? PARSE_NEXT_PASS", "ss->pass_ops > OPS_MAX\n\t\t       ? PARSE_NEXT_PASS"),
    "BEHIND_ANSWER": ("serve_await_order.c", "ss->deferrable_bytes = 1;", ";"),
    "WHOLE_BODY": ("serve_parse.c", "(likely(sv->few_behind == 0) ||", "(likely(!sv->under_pressure) ||"),
    # Behind a write that has no answer, another of its key is asked; or what is no write of a key is executed; or the
    # end of the stream is seen.
    "SAME_KEY_BEHIND": ("serve_pipeline.c", "awaits_find(ss->awaits, op->hash) == NULL &&", "true &&"),
    "ALL_BEHIND": ("serve_await_write.c", "\tdefault:\n\t\treturn false;", "\tdefault:\n\t\treturn true;"),
    "END_BEHIND": ("serve_parse.c", "conn_eof(ss->conn) && session_kept(ss) == NULL", "conn_eof(ss->conn)"),
    # Answers that are here wait for the share of work of a request behind them; once told they leave the limit of requests
    # behind; what is cut behind them takes the last read buffer, or tries to in each turn.
    "WORK_BEHIND": ("serve_pipeline.c", "!(op_is(op, VERB_TAKES_WORK) && copies_value(&op->req))", "true"),
    "LIMIT_PASSED": ("serve_parse.c", "\tif (room != PARSE_CONTINUE)\n\t\treturn room;", "\tif (room != PARSE_CONTINUE && ss->served <= sv->cfg.conn_requests_max)\n\t\treturn room;"),
    "GATHERS_ALWAYS": ("serve_await_write.c", "!sv->awaits->draining && await_may_defer(sv, ss) &&", "!sv->awaits->draining &&"),
    # A write that has failed ends the next one.
    "ENDED_BEHIND": ("serve_await_order.c", "ss->awaits == NULL || session_kept(ss) != NULL", "ss->awaits == NULL"),
    # A later answer is here, and nobody looks; a write that found no place is tried without end, or is counted each time.
    "ANSWER_UNSEEN": ("serve_pipeline.c", "ss->pass_ops > 0 ? PARSE_NEXT_PASS : PARSE_WAIT", "PARSE_WAIT"),
    "TRIED_ALWAYS": ("serve_write.c", "op->session->pipeline_stopped = true;", ";"),
    "TRIES_COUNTED": ("serve_execute.c", "if (!counted && !behind)\n\t\trequest_count(sv, op);", "if (!counted)\n\t\trequest_count(sv, op);"),
    # A retrieval behind them is asked for although its key waits, or there is a copy; or its turn does not come when the
    # copy has gone, or amid another value; or it is asked for in a drain; or its answer is kept for who does not read.
    "READ_OF_WRITTEN": ("serve_write.c", "awaits_find(ss->awaits, op->hash) == NULL && await_lacks", "await_lacks"),
    "READ_OF_COPY": ("serve_write.c", "awaits_find(ss->awaits, op->hash) == NULL && await_lacks(sv, op)", "awaits_find(ss->awaits, op->hash) == NULL"),
    "TURN_LOST": ("serve_write.c", "status != EXEC_RETRY);", "true);"),
    "AMID_VALUE": ("serve_parse.c", "session_kept(ss) != NULL && !reply_resume(sv, ss)", "false"),
    "DRAIN_READS": ("serve_await_order.c", "	if (sv->awaits->draining)\n\t\treturn failed", "	if (false)\n\t\treturn failed"),
    "KEPT_ANSWER": ("serve_await.c", "\t\t\tawait_unask(sv, a);", "\t\t\tready_push(sv, a);"),
    # A client that does not read keeps all others from pipelines.
    "KEPT_UNREAD_FOR_EVER": ("serve_pipeline.c", "		kept_make_room(sv);", "		;"),
    # Two requests of a pass are of one key, or are too many, or too large to go back.
    "PASS_UNSEEN": ("serve_pipeline.c", " && !pass_names(sv, op)", ""),
    "PASS_UNCOUNTED": ("serve_pipeline.c", "ss->await_count + ss->pass_ops >= AWAIT_KEPT_MAX", "ss->await_count >= AWAIT_KEPT_MAX"),
    "PASS_TOO_LARGE": ("serve_pipeline.c", "ss->deferrable_bytes + raw.len > MC_LINE_MAX && ss->pass_ops > 0", "false"),
    # The reply has no room, or its chunk does not come back.
    "NO_ROOM": ("serve_await_write.c", "stack_chunk_credit(sv->stack, (uint8_t *)a->kept);",
                "stack_chunk_put(sv->stack, (uint8_t *)a->kept);"),
    "CHUNK_KEPT": ("serve_await.c", "stack_chunk_put(sv->stack, (uint8_t *)a->kept);", ";"),
    # Values that nobody ends, or whose part of the quota does not come back.
    "VALUE_KEPT": ("serve_write.c", "store_abandon(sv->store, &ss->fill);", ";"),
    "VALUE_KEPT_UDP": ("serve_write.c", "store_abandon(sv->store, value);", "(void)0;"),
    "QUOTA_KEPT": ("serve_write.c", "fill_quota_end(sv, ss);\n\treturn write_ask", "return write_ask"),
    "NO_VALUE_SHARE": ("serve_await_place.c", "return bytes == 0 || used == 0 ||", "return true ||"),
    "VALUES_PASS": ("serve_await_place.c", "if (value_len > 0 && !list_empty(&lane->waiting))", "if (false)"),
    "NO_CHUNK_SHARE": ("serve_await_place.c", "if (aw->kept_count >= sv->read_bufs_max / 2)", "if (false)"),
    "COPY_ANSWERS": ("serve_await_write.c", "by->passes_copies(by->arg, req);", "false;"),
    "DRAIN_ASKS": ("serve_await_write.c", "if (sv->awaits->draining || ss->await_refused)", "if (ss->await_refused)"),
    "SILENT_FLUSH": ("serve_write.c", "if (ss == NULL || !is_flush(op) || !op_noreply(op))", "if (true)"),
    # An answered key is requested again; a body that waits for a promotion is freed with its request; an add is not
    # refused for an item that the backend has; the backend is not told that a write wants the item; a datagram's body
    # is left out.
    "BRING_TWICE": ("serve_await_order.c", "	if (a == NULL && !await_may_have(sv, op->req.key, op->hash))\n\t\treturn false;",
                    "	if (a != NULL && a->state == AWAIT_READY && !a->answer.failed)\n\t\ta = NULL;\n"
                    "	if (a == NULL && !await_may_have(sv, op->req.key, op->hash))\n\t\treturn false;"),
    # An item that is evicted again before its use is not requested again, or without end, or a datagram does not wait
    # for it.
    "BRING_ONCE": ("serve_await_order.c", "if (a != NULL && a->state == AWAIT_READY && a->answer.here && ask_again(sv, op, a))\n\t\treturn true", "if (false)\n\t\treturn true"),
    "BRING_FOR_EVER": ("serve_await_order.c", "a->times >= AWAIT_TIMES_MAX || ", ""),
    "BODY_DROPPED": ("serve_await.c", "if (a->session->body == BODY_FILLED)", "if (false)"),
    "BODY_LOST": ("serve_await_order.c", "	if (ss->body == BODY_FILLED)\n\t\treturn;\n", ""),
    "ADD_UNREAD": ("serve_storage.c", "	switch (req->verb) {\n	case MC_BIN_SET:",
                   "	switch (req->verb) {\n	case MC_ADD:\n		return false;\n	case MC_BIN_SET:"),
    "BRING_UNSAID": ("serve_await.c", ".bring = sv->brings && !await_reads(req)", ".bring = false"),
    # In a datagram what stands behind a write, or behind a line that waits, does not wait.
    "REST_PASSES_WRITE": ("serve_await_write.c", "w->rest = awaited_rest_keep(sv, op);", "w->rest = NULL;"),
    "REST_PASSES_LINE": ("serve_await_udp.c", "	return parsed;\n", "	return op->raw.data + op->raw.len;\n"),
    # A later line of a datagram has the answer of an earlier one, or is requested although one before it was not.
    "LINE_TAKES_ANY": ("serve_await_udp.c", "if (a->hash == op->hash && a->offset == begin)", "if (a->hash == op->hash)"),
    # A datagram's write is answered, and nobody looks.
    "LOST_WRITE": ("serve_datagram.c", "\tawaited_writes_parse(sv);", "(void)0;"),
    "SILENT_WRITE": ("serve_await.c", "if (a->session != NULL)\n\t\t\tconn_requeue", "if (false)\n\t\t\tconn_requeue"),
}


def write(mutant, serve, out):
    name, old, new = MUTANTS[mutant]
    text = pathlib.Path(serve, name).read_text()
    if text.count(old) != 1:
        sys.exit(f"{mutant}: {name} has this {text.count(old)} times, not once:\n{old}")
    pathlib.Path(out).write_text(text.replace(old, new))


def caught(command):
    """One failure is enough: the program's other tests do not run."""
    said = []
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, errors="replace") as program:
        for line in program.stdout:
            said.append(line)
            if FAILURE in line:
                program.kill()
                break
    print("".join(said)[-600:])
    return program.returncode != 0


if __name__ == "__main__":
    if sys.argv[1] == "--caught":
        sys.exit(0 if caught(sys.argv[2:]) else "the mutant was not caught")
    write(*sys.argv[1:])
