#ifndef CLI_STORE_H
#define CLI_STORE_H

/* store - how commands open the store, run a tool on it, and commit to it. */

#include "cli/command.h"

/* Opens the store; only once in a process. Returns 0 or an error, explained in
   why as by store_open. Close it after an error, too. */
int cli_open_store(const struct cli_env *env, bool readonly,
                   struct cli_store *out, char why[256]);
void cli_close_store(struct cli_store *s);

/* Opens the store. Returns 0, or an exit code after printing the error. */
int cli_open(struct cli *c, bool readonly);
/* Closes the store. Returns the exit code, which so far was rc. A damaged log
   is read as far as it is whole; this prints that more may be lost. */
int cli_close(struct cli *c, int rc);

/* Takes the write lock and releases it, which cuts off a torn tail and brings
   memory up to date. Returns what store_lock_patiently returns. */
int cli_try_lock(struct cli *c);
/* Call it under the lock: settles the calls that wait for the staged changes,
   commits, and releases the lock. Returns what store_commit returns once it is
   known: after ERR_AGAIN, which also means that a compaction was tried for want
   of room, the caller takes the lock and does it all again. */
int cli_commit(struct cli *c, bool *unknown);
/* Runs a message of MCP in this process, as a server runs that of a client: one
   turn, with the lock and a commit if it writes; as often as it waits. person:
   a person asks. Returns 0 with the answer, which is in c->a; CLI_NOT_MET once
   cli_interrupted; or an error of the store, which did not change. */
int cli_run_message(struct cli *c, struct str text, bool person,
                    struct str *answer);
/* store_follow, and what other hosts committed. That they cannot be asked is
   told once, and is no error. */
int cli_catch_up(struct cli *c);
/* Whether r is the newest record of its key. */
bool cli_is_newest(const struct cli *c, const struct store_rec *r);
/* Whether the disk has room for a change, once the log is compacted if that
   helps; the store is not locked. */
bool cli_make_room(struct cli *c);
/* Whether the log was removed, or never was: nothing may be made for it. With a
   remote it comes back. */
bool cli_is_gone(const struct cli *c);
/* Sleeps until the store has to go on, and shows how much of the log the remote
   has. */
void cli_await_upload(struct cli *c);

#endif
