#include "base/port.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/address.h"
#include "base/log.h"

static bool
is_loopback(const struct sockaddr *address)
{
	const struct sockaddr_in6 *six = (const struct sockaddr_in6 *) address;

	if (address->sa_family == AF_INET)
		return ntohl(((const struct sockaddr_in *) address)->sin_addr.s_addr) >> 24 == 127;
	return IN6_IS_ADDR_LOOPBACK(&six->sin6_addr);
}

/* Accepts numeric addresses only, so that it asks no name server. */
static struct addrinfo *
look_up(const Address *address)
{
	const struct addrinfo hints = {
		.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
		.ai_socktype = SOCK_STREAM
	};
	struct addrinfo *found;
	char		port[16];

	snprintf(port, sizeof(port), "%d", address->port);
	if (getaddrinfo(strcmp(address->host, "localhost") == 0 ? "127.0.0.1" : address->host,
					port, &hints, &found) != 0)
		return NULL;
	return found;
}

bool
address_split(const char *text, Address *address)
{
	const char *colon = strrchr(text, ':');
	size_t		len;
	long		port;
	char	   *end;

	if (colon == NULL || colon[1] < '0' || colon[1] > '9')
		return false;
	port = strtol(colon + 1, &end, 10);
	len = colon - text;
	if (text[0] == '[' && len > 1 && text[len - 1] == ']')
	{
		text++;
		len -= 2;
	}
	else if (memchr(text, ':', len) != NULL)
		return false;
	if (memchr(text, '[', len) != NULL || memchr(text, ']', len) != NULL ||
		*end != '\0' || port < 1 || port > 65535 || len == 0 || len >= sizeof(address->host))
		return false;
	memcpy(address->host, text, len);
	address->host[len] = '\0';
	address->port = port;
	return true;
}

const char *
address_parse(const char *text, Address *address)
{
	struct addrinfo *found;

	if (!address_split(text, address))
		return "it must be ADDRESS:PORT, such as 127.0.0.1:9180 or [::1]:9180";
	found = look_up(address);
	if (found == NULL)
		return "its host must be an address or localhost";
	address->is_local = is_loopback(found->ai_addr);
	freeaddrinfo(found);
	return NULL;
}

const char *
address_check(const char *text)
{
	Address		address;

	return address_parse(text, &address);
}

static int
open_socket(const struct addrinfo *found)
{
	int			on = 1;
	int			fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int			error;

	if (fd < 0 || (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
				   bind(fd, found->ai_addr, found->ai_addrlen) == 0 &&
				   listen(fd, SOMAXCONN) == 0))
		return fd;
	error = errno;
	close(fd);
	errno = error;
	return -1;
}

int
address_listen(const Address *address, bool *is_down)
{
	struct addrinfo *found = look_up(address);
	int			fd = -1;

	if (found == NULL)
		errno = EADDRNOTAVAIL;
	else
		fd = open_socket(found);
	if (fd >= 0)
		log_line(TWT_LOG_INFO, "http", "listening on %s port %d", address->host, address->port);
	else if (!*is_down)
		log_line(TWT_LOG_ERROR, "http", "could not listen on %s port %d: %m; will try again",
				 address->host, address->port);
	*is_down = fd < 0;
	if (found != NULL)
		freeaddrinfo(found);
	return fd;
}
