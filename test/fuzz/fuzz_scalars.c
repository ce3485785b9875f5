/*-------------------------------------------------------------------------
 *
 * fuzz_scalars.c
 *		Times, durations, sizes, addresses and connection strings, as people write them.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <time.h>

#include "base/address.h"
#include "base/iso8601.h"
#include "base/task.h"
#include "base/units.h"
#include "input.h"
#include "options/conninfo.h"
#include "options/statuses.h"
#include "pg/hosts.h"

/* The zone in seconds; its text has the right form. */
static int
zone_of(const char *text)
{
	const char *zone = strpbrk(text + 10, "Zz+-");
	int			hours = 0;
	int			minutes = 0;

	if (sscanf(zone + 1, strchr(zone, ':') != NULL ? "%2d:%2d" : "%2d%2d", &hours, &minutes) < 1)
		return 0;
	return (hours * 60 + minutes) * (*zone == '-' ? -60 : 60);
}

/* The C library reads the same time. */
static void
read_time(const char *text)
{
	int64		us;
	struct tm	tm = {0};

	if (!iso8601_parse(text, &us))
		return;
	must(sscanf(text, "%4d-%2d-%2d%*c%2d:%2d:%2d", &tm.tm_year, &tm.tm_mon, &tm.tm_mday,
				&tm.tm_hour, &tm.tm_min, &tm.tm_sec) >= 5, "a time has its parts", text);
	tm.tm_year -= 1900;
	tm.tm_mon--;
	us -= SECONDS_TO_US(timegm(&tm) - zone_of(text));
	must(us >= 0 && us < SECONDS_TO_US(1), "the C library reads the same time", text);
}

/* Seconds since 1970 at the beginning of year 1, and at the end of year 9999. */
#define FIRST INT64CONST(-62135596800)
#define LAST INT64CONST(253402300799)

/* A time that the C library writes is read to the same time. */
static void
write_time(const char *text)
{
	uint64		number = 0;
	time_t		seconds;
	struct tm	tm;
	char		written[64];
	int64		us;

	for (const char *byte = text; *byte != '\0' && byte < text + 8; byte++)
		number = number * 251 + (unsigned char) *byte;
	seconds = FIRST + (time_t) (number % (LAST - FIRST + 1));
	must(gmtime_r(&seconds, &tm) != NULL, "there is such a time", text);
	snprintf(written, sizeof(written), "%04d-%02d-%02dT%02d:%02d:%02dZ", tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec);
	must(iso8601_parse(written, &us) && us == SECONDS_TO_US(seconds), "a time is read as it was written", written);
}

static void
read_units(const char *text)
{
	int64		value;
	const char *at = text;

	if (units_parse_duration(text, &value))
		must(value >= 0, "a duration is not negative", text);
	if (units_parse(text, size_units, &value) == PARSED)
		must(value >= 0, "a size is not negative", text);
	(void) units_parse_digits(&at, &value);
	must(at >= text && at <= text + strlen(text), "digits end within the text", text);
}

static void
read_address(const char *text)
{
	Address		address;
	char	   *again;
	Address		other;

	(void) address_parse(text, &address);
	if (!address_split(text, &address))
		return;
	again = psprintf(strchr(address.host, ':') != NULL ? "[%s]:%d" : "%s:%d", address.host, address.port);
	must(address_split(again, &other) && other.port == address.port && strcmp(other.host, address.host) == 0, "an address is read as it is written", text);
	pfree(again);
}

/* A fault or a copy that is shown has no part of the password. */
static void
read_conninfo(const char *text)
{
	char	   *reason = NULL;
	char	   *shown = conninfo_redact(text);

	if (conninfo_check(text, &reason))
		hosts_free(hosts_new(text));
	else
		must(reason != NULL, "a fault has a reason", text);
	pfree(reason);
	pfree(shown);
}

int
LLVMFuzzerTestOneInput(const uint8 *bytes, size_t size)
{
	Input		input = {bytes, size};
	char	   *text = input_text(&input);

	read_time(text);
	write_time(text);
	read_units(text);
	read_address(text);
	(void) statuses_check(text);
	read_conninfo(text);
	pfree(text);
	return 0;
}
