#ifndef HTTP_LISTEN_H
#define HTTP_LISTEN_H

/* listen - addresses, and the sockets that listen on them. */

#include "http.h"

#include <sys/socket.h>

#define HTTP_MAX_ADDRESS 160

/* Opens a non-blocking listening socket for o and writes its address in the
   form http_address returns. Returns 0, or ERR_INVALID or ERR_IO with the
   address and the reason in *why. */
int http_listen(const struct http_options *o, int *out,
                char address[HTTP_MAX_ADDRESS], char why[256]);
/* Reads a numeric IPv4 or IPv6 address, without brackets, into *to. Returns its
   length; 0: it is neither. */
socklen_t http_tcp_address(struct sockaddr_storage *to, const char *host,
                           uint16_t port);
/* Makes fd non-blocking and close-on-exec. */
bool http_prepare_fd(int fd);
/* Turns off Nagle's delay and turns on keepalive probes, which find clients
   whose machine or network has failed. */
void http_prepare_tcp(int fd);

#endif
