#!/usr/bin/env bash
#
# Only src/base/compat.h knows the server's version; all else is written once.  It lets nobody
# build the library for a server on which no test ran.

. "$(dirname "$0")/lib.bash"

# builds VERSION -- whether compat.h takes it
builds()
{
	sed -n '/^#if PG_VERSION_NUM </,/^#endif/p' src/base/compat.h | cc -E -P -x c "-DPG_VERSION_NUM=$1" - >/dev/null 2>&1
}

{
	for version in 149999 190000; do
		! builds $version || echo "src/base/compat.h:1: it builds for version $version of the server"
	done
	for version in 150000 189999; do
		builds $version || echo "src/base/compat.h:1: it does not build for version $version of the server"
	done
	c_files | grep -v '^src/base/compat\.h$' | xargs -r perl test/lint/code.pl |
		sed -nE 's/^([^:]+:[0-9]+):.*PG_VERSION_NUM.*/\1: PG_VERSION_NUM outside of src\/base\/compat.h/p'
} | breaches
