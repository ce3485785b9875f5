#!/usr/bin/env bash
#
# Comments tell the rule, not the story: no marks of unfinished work and no
# numbers of issues, which belong in the history.

. "$(dirname "$0")/lib.bash"

pattern='\b(TODO|FIXME|XXX|HACK)\b|(^|[[:space:](])#[0-9]+\b|\b([Ii]ssue|PR|[Pp]ull request) *#?[0-9]+'

files "${product[@]}" sql test bench scripts examples helpers Makefile extension.mk -- '*' |
	grep -Ev '\.(o|d|a|out|sum)$' | matches "$pattern" |
	sed -E 's/^([^:]+:[0-9]+):[[:space:]]*(.*)/\1: unfinished, or history: \2/' | breaches
