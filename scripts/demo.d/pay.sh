#!/bin/sh
#
# pay.sh FILE -- succeeds once FILE exists.

[ -e "$1" ] || {
	echo 'the bank is closed' >&2
	exit 1
}
