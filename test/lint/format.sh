#!/usr/bin/env bash
#
# C code looks as "make format" would have it.

. "$(dirname "$0")/lib.bash"
need pg_bsd_indent

scripts/format --check | breaches
