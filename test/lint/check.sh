#!/usr/bin/env bash
#
# scripts/check counts each skipped test with its file and its reason, and in CI allows
# those that test/allowed-skips has.  It names a test that hangs.  A signal ends
# it soon, and all that it has started.

. "$(dirname "$0")/lib.bash"
. scripts/check

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
output=$place

# says WHAT EXPECTED... -- compares these lines with the input
says()
{
	diff <(printf '%b\n' "${@:2}") - | sed -n "s,^[<>],scripts/check:1: $1: &,p"
}

count()
{
	awk -v skips=/dev/stdout -v failures=/dev/stdout -f scripts/count.awk
}

skips()
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

# Files that may be skipped, of some, with the reasons that allow it
permitted()
{
	local root=$place file reason

	mkdir -p "$root/test"
	printf '%s\n' 'four.pl	another reason	3' >"$root/test/edition-misses"
	printf '%b\n' '# one.pl\ta comment' 'one*.pl\ta reason' 'one.pl\t* is away' 'two.pl' 'three.pl\ta reason\tWITH_THREE=no' >"$root/test/allowed-skips"
	for file in one.pl one_more.pl two.pl three.pl four.pl; do
		for reason in '' 'a reason' 'another reason' 'a reason that goes on' 'PyPI is away'; do
			! allowed $file "$reason" || echo "$file: $reason"
		done
	done
}

hanging()
{
	printf '%s\n' '#!/bin/sh' "trap '' TERM" 'echo ok 1 - begins' 'tail -f /dev/null' >"$place/hangs"
	chmod +x "$place/hangs"
	prove -v --exec 'test/unit/tap.sh 10' "$place/hangs" 2>&1 || true
}

# The second process has a group of its own, and its parent ends first.
broken_off()
{
	mkfifo "$place/begun"
	(
		trap end_tests EXIT
		trap 'exit 143' TERM
		logged broken sh -c "timeout 600 sh -c 'trap \"echo ended >$place/ended; exit\" TERM; echo >$place/begun; tail -f /dev/null & wait' & wait"
	) >/dev/null 2>&1 &
	read -r <"$place/begun"
	kill $!
	wait $! || echo $?
	cat "$place/ended"
}

# The second process has a group and a session of its own.  The shell is a runner of many tests,
# and the last process has one for its input.
overdue()
{
	mkdir -p "$place/test/t"
	touch "$place/test/t/hangs.pl"
	eval 'limit_of() { echo 1; }'
	logged overdue sh -c 'setsid tail -f /dev/null & echo "test/x.sql .. "; echo "ok 1 - begins"; tail -f /dev/null <"$0"' \
		"$place/test/t/hangs.pl" test/t/other.pl >/dev/null 2>&1 || echo "is a failure"
	sed -n 's/^not //p' "$place/overdue.log" | sed 's/([0-9]* s)/(its seconds)/'
	running "TWT_CHECK_PART=$run.overdue"
	printf '%s\n' "${summary[@]%% (*}"
}

# The limits of a part, with and without a limit of the run, which began a minute ago
times()
{
	local SECONDS=60

	time_of unit
	TWT_CHECK_MINUTES=2 time_of unit
	TWT_CHECK_MINUTES=100 time_of unit
	TWT_CHECK_MINUTES=1 time_of unit
}

# Logs of a test that failed, and of others
logs()
{
	mkdir "$output/tap"
	printf '%s\n' 'test/t/1.pl: a claim' 'test/t/1.pl: broke off: ok 2' >"$output/tap.failures"
	seq 40 >"$output/tap/1_main.log"
	touch -d 'last year' "$output/tap/1_main.log"
	seq 41 42 | tee "$output/tap/regress_log_1" >"$output/tap/regress_log_1_more"
	touch "$output/tap/1_more_main.log" "$output/tap/1_more.1.a.log" "$output/tap/2.1.a.log"
	show_logs
	show_first
	printf '%s\n' 'not ok 1 - a claim' '# got: 2' >>"$output/tap/regress_log_1"
	show_first
}

# A check without a failure has no file of failures.  "set -e" counts there, as it does not
# in a list with && or ||.
passed()
{
	(
		set -e
		output=$place/passed summary=('tap 1 passed, 0 failed') total_passed=1
		mkdir "$output"
		finish
	) &
	wait $! && echo "it passed"
}

{
	skips | count | says skips 'test/t/1.pl\tnot built' 'test/t/2.pl\tnot installed' 'test/t/2.pl\tnot there' '1 0 3'
	permitted | says 'allowed skips' 'one.pl: a reason' 'one.pl: PyPI is away' 'one_more.pl: a reason' 'four.pl: another reason'
	WITH_THREE=no permitted | says 'allowed skips of a build' 'one.pl: a reason' 'one.pl: PyPI is away' 'one_more.pl: a reason' 'three.pl: a reason' 'four.pl: another reason'
	hanging | count | says 'a test that hangs' "$place/hangs: broke off: ok 1 - begins" '1 1 0'
	logs | says 'the logs of a failure' '-- regress_log_1' 41 42 '-- 1_main.log' "$(seq 11 40)" \
		'failed: test/t/1.pl: a claim' 'failed: test/t/1.pl: broke off: ok 2' 41 42 \
		'failed: test/t/1.pl: a claim' 'failed: test/t/1.pl: broke off: ok 2' 'not ok 1 - a claim' '# got: 2'
	passed | says 'a check that passes' '' 'tap 1 passed, 0 failed' '1 passed, 0 failed' 'it passed'
	broken_off | says 'a signal' 143 ended
	times | says 'the time of a part' 1800 60 1800 0
	overdue | says 'a part that hangs' 'is a failure' 'ok 0 - did not end within 1 s: test/t/hangs.pl (its seconds)' 'overdue              1 passed, 1 failed'
} | breaches
