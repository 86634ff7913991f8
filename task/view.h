#ifndef TASK_VIEW_H
#define TASK_VIEW_H

/* view - a task as JSON, markdown or one line; for tools, resources and the
   command line. Appends to a buf, which remembers when memory ran out. */

#include "task/cause.h"
#include "task/change.h"
#include "task/claim.h"

/* The whole task, one flat object: the state as the record has it, then seq,
   updated_at, ready, blocked_by, deps_failed, needs_input, lease_expired,
   stale, parts. Of a task_of or a task_peek. */
void view_task_json(struct buf *b, const struct task *k);
/* The derived members alone, each with a comma in front. */
void view_derived_json(struct buf *b, const struct task *k);
/* What others told the owner, as members with a comma in front: those of a
   task's messages (raw) that the answer to event n delivered, or with n 0 those
   unread; and stop, who asks the owner to stop (raw, or .p NULL). Returns
   whether all of it costs no more than room, by json_cost; if not, the first of
   it is written. */
bool view_messages_json(struct buf *b, struct str messages, uint64_t n,
                        struct str stop, size_t room);
/* A small object for lists: task_id, title, match, the fields that are
   IN_SUMMARY (priority unless it is TASK_PRIORITY, of the lease only its end
   and, unless they are TASK_LEASE_S, its seconds),
   ready, blocked_by, deps_failed, needs_input, lease_expired, stale,
   steps_done and steps_total if there are any, tests {passed, failed}, why it
   is where it is (question: the first that is open; handoff, exhausted, or
   note: the reason of the update that set the status), version, seq,
   updated_at, damaged; and truncated, if something was too long. */
void view_summary_json(struct buf *b, const struct task *k);
/* What an agent that takes over must know, as markdown. Stored text is quoted,
   so that it cannot pass for a heading of the brief, and has no markup. */
void view_task_markdown(struct buf *b, struct arena *a, const struct task *k);
/* Text for one line: at most max characters, then "...", with instead in place
   of each control character and of each byte that is not UTF-8. What else would
   end the line or reorder it is written as <U+202E>. */
void view_plain(struct buf *b, struct str s, size_t max, char instead);
/* Takes the markup from the text of b from byte from on, which a model is to
   read: a host marks its own words with tags such as </system-reminder>, and
   text that agents stored must not pass for them. Each < that may begin a tag
   becomes &lt; so a second time changes nothing. */
void view_mask_markup(struct buf *b, size_t from);
/* "task-001  in_progress  P2  claude-code  3/5  Title", what a search found,
   and a line feed; text from outside with control characters replaced. */
void view_task_line(struct buf *b, struct arena *a, const struct task *k);

/* One event of the history, an object: seq, at, task_id, op, by, status,
   version, changed, note, warnings (those that there are). */
void view_event_json(struct buf *b, const struct task_event *ev);
/* "2026-07-28T09:30:00.000Z  claude-code": when and who. */
void view_event_author(struct buf *b, struct arena *a,
                       const struct task_event *ev);
/* The answer of claim_task that there is no task to claim, and why; partial:
   not all tasks were looked at. */
void view_none_json(struct buf *b, const struct task_why *w, bool partial);
/* The error as the object that tools answer and --json prints. */
void view_error_json(struct buf *b, const struct task_error *e);
/* Agents read one after each of their changes: what is empty is omitted, so
   is the owner if that is the agent itself, and of a lease all but its end. If
   memory runs out, so is what others told the owner. */
void view_receipt_json(struct buf *b, const struct task_receipt *r);

#endif
