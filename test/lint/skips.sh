#!/usr/bin/env bash
#
# A skipped test is counted with its file and its reason, whether the file was
# skipped as a whole or in part: in CI it is a failure unless it is allowed.

. "$(dirname "$0")/lib.bash"

log()
{
	cat <<-'END'
		test/t/1.pl .. skipped: not built
		test/t/2.pl ..
		ok 1 - a claim
		ok 2 # skip not installed
		ok 3 - its name # SKIP not there
		1..3
	END
}

expected()
{
	printf '%s\t%s\n' test/t/1.pl 'not built' test/t/2.pl 'not installed' test/t/2.pl 'not there'
	echo '1 0 3'
}

diff <(expected) <(log | awk -v skips=/dev/stdout -f scripts/count.awk) | sed -n 's,^[<>],scripts/count.awk:1: &,p' | breaches
