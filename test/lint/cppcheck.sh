#!/usr/bin/env bash
#
# cppcheck finds nothing.  It does not read the headers of others, so it is
# asked only what it can tell without them: not that ereport(ERROR) does not
# return, for one.

. "$(dirname "$0")/lib.bash"
need cppcheck

findings()
{
	files "${product[@]}" -- '*.c' | xargs -r cppcheck -q -j "$(nproc)" --std=c11 \
		--enable=warning,performance,portability --inline-suppr \
		--suppress=missingInclude --suppress=unknownMacro --suppress=nullPointerArithmetic \
		--suppress=normalCheckLevelMaxBranches \
		--suppress="nullPointerRedundantCheck:src/*" \
		--template='{file}:{line}: {id}: {message}' -Isrc -Ilib -Isidecar -I. -D__GNUC__ '-Dpg_attribute_aligned(n)=' -DPG_VERSION_NUM=150000 2>&1
}

findings | breaches
