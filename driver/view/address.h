/* driver/view/address.h: parses the address at which a view is served (address.c). */
#ifndef STC_DRIVER_VIEW_ADDRESS_H
#define STC_DRIVER_VIEW_ADDRESS_H

#include <stdbool.h>
#include <sys/socket.h>

/* Parses `address`: "ADDRESS:PORT", "[ADDRESS]:PORT", "ADDRESS", "PORT", ":PORT" or "" (the loopback address, any free
 * port); false if it has another form. */
bool address_read(const char *address, struct sockaddr_storage *out, socklen_t *size);

#endif
