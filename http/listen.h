#ifndef HTTP_LISTEN_H
#define HTTP_LISTEN_H

/* listen - addresses, and the sockets that listen on them. */

#include "http/conn.h"

/* Opens what o says, not blocking, and writes its name as http_address gives
   it. 0; ERR_INVALID or ERR_IO, and *why names the address and the reason. */
int http_listen(const struct http_options *o, int *out,
                char address[HTTP_MAX_ADDRESS], char why[256]);
/* Marks fd as one that never blocks and that no child inherits. */
bool http_prepare_fd(int fd);
/* Has TCP send at once, and probe clients that are silent for long, to notice
   those whose machine or network is gone. */
void http_prepare_tcp(int fd);

#endif
