#!/bin/sh
#
# torture_run.sh LEDGER -- a command that says in LEDGER when it starts and when it ends,
# before it exits.  Some commands of the type RUN_AGAIN fail.

# A line as torture_worker.py writes it.
note()
{
	read -r now _ </proc/uptime
	printf '\n%s .\n' "$1 $TWTASKS_ID $TWTASKS_VERSION $2 $now" >>"$3"
}

note start "$TWTASKS_TYPE" "$1"
result='done' status=0
[ "$TWTASKS_TYPE" = RUN_ONCE ] || [ $(($$ % 20)) -ne 0 ] || result=retry status=75
note end "$result" "$1"
exit $status
