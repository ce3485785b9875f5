#!/usr/bin/env bash
#
# Messages speak as PostgreSQL's do: see messages.pl for the rules.

. "$(dirname "$0")/lib.bash"

{
	files src sidecar web workers -- '*.c' '*.h' | xargs -r perl test/lint/messages.pl c
	files sql -- '*.sql' | xargs -r perl test/lint/messages.pl sql
} | breaches
