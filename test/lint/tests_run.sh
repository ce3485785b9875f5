#!/usr/bin/env bash
#
# Every test is run, and every expectation is of a test.  The tests share the
# folder of expectations, and pg_regress looks into sql/ first: so their names
# differ from each other and from the extension's own SQL files.

. "$(dirname "$0")/lib.bash"

# Lists the files in folders of tests that are no tests of check's.  In
# test/unit, files with other names than test_*.c are linked into the tests.  There and in
# test/campaign those without an ending are built.
unknown_files()
{
	find test -type f ! -path 'test/lib/*' ! -path 'test/handlers/*' ! -path 'test/lint/*' ! -path 'test/ui/*' ! -path 'test/helpers/*' ! -path 'test/mariadb/*' ! -path 'test/published/*' ! -path 'test/simulation/*' ! -path 'test/fuzz/*' \
		! -name Makefile ! -path test/unit/tap.sh ! -name '*.h' ! -name '*.[oad]' ! -name build.stamp ! -path test/allowed-skips ! -path test/edition-misses ! -path test/kafka/pom.xml ! -path test/api/requirements.txt ! -path test/prometheus/twtasks.test.yml ! -path test/models/table.txt \
		! '(' -path 'test/unit/*.c' ! -name 'test_*' ')' ! '(' '(' -path 'test/unit/*' -o -path 'test/campaign/*' ')' ! -name '*.*' ')' |
		sort | comm -23 - <(scripts/check --list | sort) |
		sed 's/$/:1: scripts\/check does not run it/'
}

names()
{
	files "$1" -- "$2" | sed 's,.*/,,; s/\.[a-z]*$//' | sort
}

tests()
{
	names test/sql '*.sql'
	names test/specs '*.spec'
}

expectations()
{
	# name_1.out is a second expectation of name
	names expected '*.out' | sed 's/_[0-9]$//' | sort -u
}

{
	unknown_files
	tests | sort | uniq -d | sed 's,.*,test/specs/&.spec:1: a test in test/sql has its name,'
	comm -12 <(names test/sql '*.sql') <(names sql '*.sql') |
		sed 's,.*,test/sql/&.sql:1: a file in sql/ has its name,'
	comm -23 <(tests | sort) <(expectations) | sed 's,.*,expected/&.out:1: is missing,'
	comm -13 <(tests | sort) <(expectations) | sed 's,.*,expected/&.out:1: is of no test,'
} | breaches
