#!/bin/sh
#
# report.sh -- the first try takes long enough to be killed in the middle.

[ "$TWTASKS_TRIES" -gt 1 ] || exec sleep 500
