#!/usr/bin/env bash
#
# tap.sh -- runs a unit test for prove, and kills it with its children after so
# many seconds.  cmocka says "not ok" of a test that was skipped, which is not how
# TAP says it.
#
#	tap.sh SECONDS [RUNNER...] PROGRAM

set -uo pipefail

CMOCKA_MESSAGE_OUTPUT=TAP timeout -v -s KILL "$@" |
	sed -uE 's/^not ok ([0-9]+) *# *SKIP *(.*)/ok \1 # SKIP \2/'
