/* driver/view/address.h: where a view is served, as users write it (address.c). */
#ifndef STC_DRIVER_VIEW_ADDRESS_H
#define STC_DRIVER_VIEW_ADDRESS_H

#include <stdbool.h>
#include <sys/socket.h>

/* What `address` says, "ADDRESS:PORT", "[ADDRESS]:PORT", "ADDRESS", "PORT", ":PORT" or "" (the loopback address, any
 * free port); false: something else. */
bool address_read(const char *address, struct sockaddr_storage *out, socklen_t *size);

#endif
