/*-------------------------------------------------------------------------
 *
 * time_limit.c
 *		twtasks.function_timeout: how long functions of users may run.
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "miscadmin.h"
#include "storage/latch.h"
#include "utils/memutils.h"
#include "utils/timeout.h"
#include "utils/timestamp.h"

#include "base/settings.h"
#include "policy/time_limit.h"

/* A cancel of the same SQLSTATE, from the same place in the server. */
#define STATEMENT_TIMEOUT_TEXT "canceling statement due to statement timeout"

static TimeoutId time_limit;
static bool has_time_limit = false;
static bool is_timed = false;
static volatile sig_atomic_t is_over;
static volatile sig_atomic_t is_cutting;	/* its cancel may not be spent yet */
static char blamed[8 * NAMEDATALEN];	/* "": none yet */

/* Again after each further period, for calls that go on. */
static void
on_time_over(void)
{
	is_over = is_cutting = true;
	QueryCancelPending = true;
	InterruptPending = true;
	SetLatch(MyLatch);
}

bool
time_limit_start(void)
{
	if (is_timed)
		return false;
	if (!has_time_limit)
		time_limit = RegisterTimeout(USER_TIMEOUT, on_time_over);
	has_time_limit = is_timed = true;
	is_over = is_cutting = false;
	blamed[0] = '\0';
	enable_timeout_every(time_limit, TimestampTzPlusMilliseconds(GetCurrentTimestamp(), twt_function_timeout),
						 twt_function_timeout);
	return true;
}

void
time_limit_spend(void)
{
	if (is_cutting)
		QueryCancelPending = false;
	is_cutting = false;
}

bool
time_limit_stop(void)
{
	disable_timeout(time_limit, false);
	is_timed = false;
	time_limit_spend();
	return is_over;
}

bool
time_limit_is_over(void)
{
	return is_timed && is_over;
}

bool
time_limit_caused(void)
{
	MemoryContext context;
	ErrorData  *error;
	bool		caused;

	if (!is_timed || !is_cutting)
		return false;
	context = MemoryContextSwitchTo(CurTransactionContext);
	error = CopyErrorData();
	caused = error_is_cancel(error) && (error->message_id == NULL ||
										strcmp(error->message_id, STATEMENT_TIMEOUT_TEXT) != 0);
	FreeErrorData(error);
	MemoryContextSwitchTo(context);
	return caused;
}

void
time_limit_blame(const char *name)
{
	if (blamed[0] == '\0')
		strlcpy(blamed, name, sizeof(blamed));
}

void
time_limit_refuse(const char *name)
{
	ereport(ERROR,
			(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
			 errmsg("function \"%s\" took too long", blamed[0] == '\0' ? name : blamed),
			 errdetail("The setting twtasks.function_timeout allows %d ms.", twt_function_timeout)));
}

/* No SQLSTATE tells them apart, but the place in the server's source does. */
bool
error_is_cancel(const ErrorData *error)
{
	return error->sqlerrcode == ERRCODE_QUERY_CANCELED && error->funcname != NULL &&
		strcmp(error->funcname, "ProcessInterrupts") == 0;
}
