#!/bin/sh
#
# greet.sh FILE -- writes down which task it was run for, and with which data.

printf '%s %s\n' "$TWTASKS_ID" "$(cat)" >>"$1"
