#!/bin/sh
#
# ledger.sh LEDGER GATE STATUS [VERSION [OTHER]] -- a command handler that says in LEDGER
# when it starts and ends, waits at the fifo GATE between them ("-": does not),
# and exits with STATUS; with OTHER, or 80, before that VERSION of its task.

facts="$TWTASKS_ID $TWTASKS_VERSION $TWTASKS_TRIES $$ $TWTASKS_TYPE"

echo "start $facts" >>"$1"
[ "$2" = - ] || read -r _ <"$2"
echo "end $facts" >>"$1"
[ "$TWTASKS_VERSION" -ge "${4:-0}" ] || exit "${5:-80}"
exit "$3"
