/* driver/view/address.c: parses the address at which a view is served. */
#include "driver/view/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Splits an address: its host is written to `name`, *port is the start of its port; false if it has another form. */
static bool take_apart(const char *address, char name[64], const char **port) {
  const char *colon = strrchr(address, ':'), *from = address, *rest;
  *port = "0";
  if (*address && strspn(address, "0123456789") == strlen(address))
    return *port = address, true;
  size_t n = colon ? (size_t)(colon - address) : strlen(address);
  if (*address == '[') {
    from = address + 1;
    n = strcspn(from, "]");
    if (!from[n])
      return false;
  }
  rest = from + n + (*address == '[');
  if (n >= 64 || (*rest && *rest != ':'))
    return false;
  if (n) {
    memcpy(name, from, n);
    name[n] = 0;
  }
  *port = *rest ? rest + 1 : *port;
  return true;
}

bool address_read(const char *address, struct sockaddr_storage *out, socklen_t *size) {
  char name[64] = "127.0.0.1";
  const char *port;
  struct sockaddr_in four = {.sin_family = AF_INET};
  struct sockaddr_in6 six = {.sin6_family = AF_INET6};
  if (!take_apart(address, name, &port) || !*port || strspn(port, "0123456789") != strlen(port) || strlen(port) > 5)
    return false;
  unsigned long number = strtoul(port, NULL, 10);
  if (number > UINT16_MAX)
    return false;
  memset(out, 0, sizeof *out);
  if (inet_pton(AF_INET, strcmp(name, "localhost") == 0 ? "127.0.0.1" : name, &four.sin_addr) == 1) {
    four.sin_port = htons((uint16_t)number);
    memcpy(out, &four, *size = sizeof four);
    return true;
  }
  six.sin6_port = htons((uint16_t)number);
  bool ok = inet_pton(AF_INET6, name, &six.sin6_addr) == 1;
  memcpy(out, &six, *size = sizeof six);
  return ok;
}
