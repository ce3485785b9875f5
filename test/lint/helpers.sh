#!/usr/bin/env bash
#
# A file of a helper is a page: at most 100 lines that are not blank.  docs/helpers.md
# says how many each has.

. "$(dirname "$0")/lib.bash"

files helpers -- '*.py' '*.js' '*.rb' '*.java' '*.go' | while read -r file; do
	lines=$(grep -c '[^[:space:]]' "$file")
	[ "$lines" -le 100 ] || echo "$file:1: $lines lines, more than 100"
	grep -qF "](../$file), $lines lines" docs/helpers.md ||
		echo "docs/helpers.md:1: does not say that $file has $lines lines"
done | breaches
