#!/usr/bin/env bash
#
# Shell scripts, by their first line: shellcheck has nothing to say.

. "$(dirname "$0")/lib.bash"
need shellcheck

scripts()
{
	{
		files scripts test bench examples debian .ci -- '*' | grep -v '[.]p[lm]$'
		ls test/lint/*.sh test/lint/*.bash
	} | xargs grep -IlE -m 1 '^(#!.*\b(bash|sh)|# shellcheck shell=)' || [ $? -eq 123 ]
}

scripts | xargs -r shellcheck -f gcc | breaches
