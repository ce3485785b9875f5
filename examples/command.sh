#!/bin/sh
#
# A command: one process per task.  stdin is the task's data; the environment
# says which task it is; the exit status says what became of it, and when that
# is no success the end of stderr is kept with the task.

data=$(cat)

[ -n "$data" ] || {
	echo "task $TWTASKS_ID of type $TWTASKS_TYPE has no data" >&2
	exit 65						# EX_DATAERR: trying again would not help
}
[ -w "${TMPDIR:-/tmp}" ] || exit 75		# EX_TEMPFAIL, a failure: the retry policy decides

# Your work.  The id is the same in every try: hand it on as the key that keeps
# whoever you call from doing the same thing twice.
exit 0
