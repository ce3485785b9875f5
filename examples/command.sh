#!/bin/sh
#
# A command: one process per task.  stdin has the task's data, the environment
# has its id and type, and the exit status reports the result.  After a failure
# the task keeps the end of stderr.

data=$(cat)

[ -n "$data" ] || {
	echo "task $TWTASKS_ID of type $TWTASKS_TYPE has no data" >&2
	exit 65						# EX_DATAERR: a retry would not help
}
[ -w "${TMPDIR:-/tmp}" ] || exit 75		# EX_TEMPFAIL, a failure: the policy decides about a retry

# Put your work here.  The id is the same in every try: pass it on as an
# idempotency key.
exit 0
