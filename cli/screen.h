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

#endif
