#!/usr/bin/env bash
#
# Each function that is bound to the library has a twin in SQL, and each twin has such a
# function.  test/edition-misses names files that are there, and each check that a test of
# pgTAP skips there: with its reason and how many, at most 40 in all.  It names each file of
# TAP that has a part for one of the two alone.  "make demo
# EDITION=sql" gives each makefile a variable, so none has a use of its own for it.

. "$(dirname "$0")/lib.bash"

# skipped -- by file and reason, as the list has it
skipped()
{
	grep -o "^SELECT skip('[^']*', [0-9]*)" test/pgtap/*.sql |
		sed -E "s/^([^:]*):SELECT skip\('(.*)', ([0-9]+)\)$/\1\t\2\t\3/" |
		awk -F '\t' '{ n[$1 "\t" $2] += $3 } END { for (miss in n) print miss "\t" n[miss] }' | LC_ALL=C sort
}

listed()
{
	awk -F '\t' '!/^#/ && NF == 3 && $3 != "part"' test/edition-misses | LC_ALL=C sort
}

# in_part -- files of TAP, as the list has them
in_part()
{
	awk -F '\t' '!/^#/ && NF == 3 && $3 == "part" { print $1 }' test/edition-misses | LC_ALL=C sort
}

{
	scripts/edition 2>&1 >/dev/null
	diff <(listed) <(skipped) | sed -nE 's,^([<>]) ([^\t]*),\2:1: \1,p' | tr '\t' ' '
	diff <(in_part) <(grep -lE 'has_edition|has_ring|TWT_TEST_EDITION' test/t/*.pl) | sed -nE 's,^([<>]) (.*),\2:1: \1 a part for one edition,p'
	awk -F '\t' '!/^#/ { print $1 }' test/edition-misses | sort -u | while read -r file; do
		[ -e "$file" ] || echo "test/edition-misses:1: there is no $file"
	done
	[ "$(listed | awk -F '\t' '{ n += $3 } END { print n + 0 }')" -le 40 ] || echo 'test/edition-misses:1: more than 40 checks'
	grep -nE '^EDITION[[:space:]]*[:?+]?=' Makefile ./*.mk ./*/Makefile ./*/*/Makefile | sed 's,^\./,,; s,:[^:]*$,: "make demo EDITION=sql" sets it,' || :
} | breaches
