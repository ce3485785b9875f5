/*-------------------------------------------------------------------------
 *
 * http_framing.c
 *		Requests that a proxy in front may read differently.
 *
 * libmicrohttpd 1.0 refuses bare LF itself, since it is told to be strict.  0.9
 * takes them, and has no option against that.  But it splits the lines where they
 * are, without a copy, and tells the size of the whole.  So the places of names
 * and values show whether two bytes were between each line and the next one.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <microhttpd.h>

#include "web/http_framing.h"

#define LINE_END 2

/* Headers that decide about a request, each of which may be there once. */
static const char *const single[] = {
	"Host", "Content-Length", "Transfer-Encoding", "Content-Type", "Authorization", "Origin"
};

#define CONTENT_LENGTH 1
#define TRANSFER_ENCODING 2

typedef struct Scan
{
	const char *end;			/* end of the line before; NULL: not known */
	bool		has[lengthof(single)];
	const char *fault;
} Scan;

static bool
is_token(const char *name)
{
	static const char token[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+-.^_`|~";

	return name[0] != '\0' && name[strspn(name, token)] == '\0';
}

static bool
has_control(const char *value)
{
	for (; *value != '\0'; value++)
		if (((unsigned char) *value < ' ' && *value != '\t') || *value == 0x7f)
			return true;
	return false;
}

static bool
is_repeated(Scan *scan, const char *name)
{
	for (int i = 0; i < (int) lengthof(single); i++)
	{
		if (pg_strcasecmp(name, single[i]) != 0)
			continue;
		if (scan->has[i])
			return true;
		scan->has[i] = true;
	}
	return false;
}

static const char *
judge_line(Scan *scan, const char *name, const char *value)
{
	if (scan->end != NULL && name != scan->end + LINE_END)
		return "Each line of the headers must end in CR LF.";
	if (!is_token(name))
		return "The name of a header has a character that is not allowed there.";
	if (has_control(value))
		return "The value of a header has a control character.";
	if (is_repeated(scan, name))
		return "A header that may be there once is there twice.";
	if (pg_strcasecmp(name, "Transfer-Encoding") == 0 && pg_strcasecmp(value, "chunked") != 0)
		return "The only transfer encoding is \"chunked\".";
	return NULL;
}

static enum MHD_Result
on_header(void *arg, enum MHD_ValueKind kind, const char *name, const char *value)
{
	Scan	   *scan = arg;

	if (value == NULL)
		value = "";
	scan->fault = judge_line(scan, name, value);
	if (scan->end != NULL)
		scan->end = value + strlen(value);
	return scan->fault == NULL ? MHD_YES : MHD_NO;
}

static bool
splits_in_place(void)
{
	return strncmp(MHD_get_version(), "0.9.", 4) == 0;
}

const char *
http_framing_fault(struct MHD_Connection *connection, const char *method, const char *version)
{
	Scan		scan = {.end = splits_in_place() ? version + strlen(version) : NULL};
	size_t		size = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE)->header_size;

	MHD_get_connection_values(connection, MHD_HEADER_KIND, on_header, &scan);
	if (scan.fault != NULL)
		return scan.fault;
	if (scan.end != NULL && method + size != scan.end + 2 * LINE_END)
		return "Each line of the headers must end in CR LF.";
	if (scan.has[CONTENT_LENGTH] && scan.has[TRANSFER_ENCODING])
		return "A request has either a length or a transfer encoding.";
	return NULL;
}
