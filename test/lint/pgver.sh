#!/usr/bin/env bash
#
# Only src/base/compat.h knows the server's version; all else is written once.

. "$(dirname "$0")/lib.bash"

c_files | grep -v '^src/base/compat\.h$' | xargs -r perl test/lint/code.pl |
	sed -nE 's/^([^:]+:[0-9]+):.*PG_VERSION_NUM.*/\1: PG_VERSION_NUM outside of src\/base\/compat.h/p' |
	breaches
