/* err - the one table of errors. A text is made of constants: what is known
   of one task or one file is added where the error is met. */

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

static const struct err_row rows[] = { /* by -code */
    [-ERR_MAY_NOT_WAIT] = {
        .name = "invalid_argument", .exit = 3,
        .message = "the call has to wait",
        .rpc = -32600, .rpc_2026 = -32600,
        .rpc_text = "This call waits, so send it outside a batch"},
    [-ERR_SYNTAX] = {
        .name = "invalid_argument", .exit = 2,
        .message = "invalid argument"},
    [-ERR_NOMEM] = {
        .name = "out_of_memory", .retryable = true, .exit = 3,
        .message = "out of memory",
        .next = "try again"},
    [-ERR_INVALID] = {
        .name = "invalid_argument", .exit = 2,
        .message = "invalid argument",
        .rpc = -32602, .rpc_2026 = -32602,
        .rpc_text = "Invalid params"},
    [-ERR_NOT_FOUND] = {
        .name = "not_found", .exit = 1,
        .message = "not found",
        .next = "call list_tasks to see the tasks that exist",
        .shell = "run \"mcptask list --all\"",
        .rpc = -32002, .rpc_2026 = -32602,
        .rpc_text = "Resource not found"},
    [-ERR_EXISTS] = {
        .name = "already_exists", .exit = 4,
        .message = "the task_id is already in use",
        .next = "use another task_id, or call update_task to change that task",
        .shell = "use another id, or change that task with \"mcptask edit "
            "ID\""},
    [-ERR_TOO_LARGE] = {
        .name = "too_large", .exit = 2,
        .message = "too large",
        .next = "make it shorter",
        .rpc = -32602, .rpc_2026 = -32602,
        .rpc_text = "Too large, or too many"},
    [-ERR_VERSION] = {
        .name = "version_conflict", .exit = 4,
        .message = "the task has changed",
        .next = "call get_task, then repeat with its version as "
                "expected_version",
        .shell = "run \"mcptask show ID\" and try again"},
    [-ERR_KEPT] = {
        .name = "kept", .retryable = true, .exit = 4,
        .message = "the task is kept for another agent",
        .next = "choose another task, or claim this one with takeover and a "
                "reason",
        .shell = "to claim it anyway, run \"mcptask claim ID --takeover "
                 "--reason TEXT\""},
    [-ERR_BLOCKED] = {
        .name = "blocked", .retryable = true, .exit = 4,
        .message = "tasks that it depends on are not done",
        .next = "call get_task to see blocked_by, and finish those tasks first",
        .shell = "run \"mcptask show ID\" to see them, and finish those first"},
    [-ERR_TRANSITION] = {
        .name = "invalid_transition", .exit = 4,
        .message = "the task cannot go from its status to this one",
        .next = "set one of the allowed statuses first",
        .shell = "claim it first with \"mcptask claim ID\""},
    [-ERR_TERMINAL] = {
        .name = "terminal", .exit = 4,
        .message = "the task has ended",
        .next = "to continue it, call update_task with an allowed status and a "
            "reason",
        .shell = "to continue it, run \"mcptask reopen ID REASON\""},
    [-ERR_CYCLE] = {
        .name = "dependency_cycle", .exit = 4,
        .message = "the task would depend on itself",
        .next = "remove the dependency that leads back to this task",
        .shell = "omit the task that leads back to ID; \"mcptask show\" prints "
            "what each depends on"},
    [-ERR_IDEMPOTENCY] = {
        .name = "idempotency_conflict", .exit = 4,
        .message = "the idempotency_key was used with other arguments",
        .next = "use a new key for a new request"},
    [-ERR_EVIDENCE] = {
        .name = "evidence_required", .exit = 4,
        .message = "done needs test_results",
        .next = "run the tests and pass test_results in the same call",
        .shell = "save test_results first with \"mcptask checkpoint ID -\""},
    [-ERR_BUSY] = {
        .name = "store_busy", .retryable = true, .exit = 3,
        .message = "another process holds the store",
        .next = "try again"},
    [-ERR_FULL] = {
        .name = "store_full", .retryable = true, .exit = 3,
        .message = "the disk lacks room, or etcd has reached its quota",
        .next = "tell the operator to run \"mcptask doctor\", then try again"},
    /* Not retryable: the commit was tried twice, and a faulty disk stays
       faulty. */
    [-ERR_IO] = {
        .name = "store_error", .exit = 3,
        .message = "the store cannot be read or written",
        .next = "tell the operator to run \"mcptask verify\""},
    [-ERR_READONLY] = {
        .name = "store_readonly", .exit = 3,
        .message = "the store is read-only",
        .next = "tools that only read still work"},
    [-ERR_DAMAGED] = {
        .name = "store_error", .exit = 3,
        .message = "the log is damaged",
        .next = "tell the operator to run \"mcptask verify\""},
    [-ERR_FORMAT] = {
        .name = "store_error", .exit = 3,
        .message = "a newer mcptask wrote the record",
        .next = "tell the operator to update this mcptask"},
    [-ERR_UNKNOWN] = {
        .name = "store_error", .exit = 3,
        .message = "the change may or may not be on disk",
        .next = "after the next successful write, call get_task to see whether "
                "it took effect",
        .shell = "run \"mcptask show ID\" to see whether it took effect"},
    [-ERR_UNAUTHORIZED] = {
        .name = "unauthorized", .exit = 3,
        .message = "the token may only read",
        .next = "tools that only read still work"},
    [-ERR_CAPABILITY] = {
        .name = "unauthorized", .exit = 3,
        .message = "the client lacks a capability",
        .rpc = -32600, .rpc_2026 = -32021,
        .rpc_text = "The client lacks a capability"},
    [-ERR_LEASE] = {
        .name = "lease_held", .retryable = true, .exit = 4,
        .message = "another agent holds a lease on the task",
        .next = "work on another task, or try again when the lease has ended; "
            "to reach the holder, call update_task with message; if the lease "
            "is yours, pass the same agent",
        .shell = "to reach that agent, run \"mcptask message ID TEXT\""},
    [-ERR_UNREACHABLE] = {
        .name = "store_unreachable", .retryable = true, .exit = 3,
        .message = "the shared store does not answer",
        .next = "try again; until it answers, tools that only read still work"},
    [-ERR_AGAIN] = {
        .name = "store_busy", .retryable = true, .exit = 3,
        .message = "others committed first",
        .next = "try again"},
    [-ERR_SKEW] = {
        .name = "clock_skew", .exit = 3,
        .message = "this host's clock is too far from the store's",
        .next = "tell the operator to set the clock; tools that only read "
            "still work"},
    [-ERR_GARBLED] = {
        .name = "damaged", .exit = 3,
        .message = "the task's newest record is not JSON",
        .next = "call update_task to continue from the record before it; if "
            "that is damaged too, call create_task with this task_id to start "
            "over",
        .rpc = -32603, .rpc_2026 = -32603,
        .rpc_text = "Damaged: its newest record is not JSON"},
    [-ERR_INCOMPLETE] = {
        .name = "invalid_argument", .exit = 2,
        .message = "invalid argument"},
    [-ERR_QUEUE_FULL] = {
        .name = "out_of_memory", .retryable = true, .exit = 3,
        .message = "out of memory",
        .next = "try again"},
    [-ERR_PENDING] = {
        .name = "store_busy", .retryable = true, .exit = 3,
        .message = "the step is still under way",
        .next = "try again"},
    [-ERR_NOT_YOURS] = {
        .name = "not_yours", .exit = 4,
        .message = "the question is for others to answer",
        .next = "leave it to the name in its to, or to a person",
        .shell = "leave it to the addressee or to a person; to withdraw a "
            "question of your own, run \"mcptask answer ID --decline\""},
};

const struct err_row *
err_row(int err)
{
    static const struct err_row unknown = {
        .name = "store_error", .exit = 3, .message = "unexpected store error"};
    size_t i = (size_t)-(int64_t)err;

    if (i >= sizeof(rows) / sizeof(*rows) || rows[i].name == NULL)
        return &unknown;
    return &rows[i];
}

const char *
err_name(int err)
{
    return err_row(err)->name;
}
