#!/usr/bin/env bash
#
# Tests wait for conditions, not for time to pass: no sleeping, except in the
# handlers that play a task at work (test/handlers, or a line that says
# "workload").

. "$(dirname "$0")/lib.bash"

files test -- '*' | grep -v '^test/handlers/' |
	xargs -r perl -ne '
		my $nap = /\b(u|nano)?sleep\s*\(|\bpg_sleep\b|\bsleep\s+[\d.\$]|\bselect\s*\(\s*undef\s*,\s*undef\s*,\s*undef/;
		print "$ARGV:$.: sleeps: wait for a condition instead\n"
			if $nap && !/\bworkload\b/;
		close ARGV if eof' | breaches
