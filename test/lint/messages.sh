#!/usr/bin/env bash
#
# Messages speak as PostgreSQL's do: see messages.pl for the rules.

. "$(dirname "$0")/lib.bash"

{
	files "${product[@]}" -- '*.c' '*.h' | xargs -r perl test/lint/messages.pl c
	# A reader calls what a hint says.
	files "${product[@]}" sql extensions -- '*.c' '*.h' '*.sql' | matches 'see twtasks[.][a-z_]+[(][)]' |
		sed 's/$/: name the arguments/'
	files sql -- '*.sql' | xargs -r perl test/lint/messages.pl sql
} | breaches
