#!/usr/bin/env bash
#
# alone.sh -- runs a command, and prints its output when it has ended, so that the
# outputs of commands that run at the same time do not mix.
#
#	alone.sh COMMAND...

set -uo pipefail

log=$(mktemp) || exit
trap 'rm -f "$log"' EXIT
status=0
"$@" >"$log" 2>&1 </dev/null || status=$?
flock "$0" cat "$log"
exit $status
