#ifndef CLI_SCREEN_H
#define CLI_SCREEN_H

/* screen - the terminal of a command. */

#include "cli/command.h"

/* The width of the terminal fd; 0 if fd is not a terminal. */
size_t cli_terminal(int fd);
/* Its height; SIZE_MAX if it is not one. */
size_t cli_terminal_rows(int fd);
/* The columns of stdout: COLUMNS, or of the terminal; 0: it is none. */
size_t screen_columns(void);
/* Whether the locale's characters are UTF-8; if not, ASCII has to do. */
bool screen_is_utf8(void);
/* Appends s, in the colour sgr ("31;1"; NULL: none) if stdout shows colours. */
void cli_paint(struct cli *c, struct buf *b, struct str s, const char *sgr);

/* Takes the whole terminal, until screen_close or the end of the process: what
   it showed before comes back then. Keys are not echoed, and screen_key reads
   them. */
void screen_open(void);
/* Does nothing if it is not open. */
void screen_close(void);
/* Whether it is taken: a message gives it back. */
bool screen_is_open(void);
/* The keys' descriptor; -1: there are none. */
int screen_keys(void);
/* The next key that was pressed; 0: none. */
int screen_key(void);
/* After ^Z gives the terminal back, stops the process, and takes the terminal
   again once that goes on. Returns whether it did. */
bool screen_was_stopped(void);

#endif
