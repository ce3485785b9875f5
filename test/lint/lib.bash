# shellcheck shell=bash
#
# lib.bash -- what the rules share.  Each rule is a script that prints
# file:line: message for every breach and then ends with 1; nothing and 0 when
# all is well; a reason and 77 when it cannot be checked here.

set -euo pipefail
export LC_ALL=C
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

# Code that is built beside the extension, and all code that we ship.
# shellcheck disable=SC2034 # for the rules
programs=(lib sidecar web tools workers)
product=(src "${programs[@]}")

# files PLACE... -- PATTERN...: files with such names there, without built ones.
# A place that is missing ends the rule: it would find nothing, and so no breach.
files()
{
	local places=() names=()

	while [ "$1" != -- ]; do
		[ -e "$1" ] || { echo "test/lint/lib.bash:1: there is no $1" >&2 && kill $$; }
		places+=("$1")
		shift
	done
	shift
	for name in "$@"; do names+=(-o -name "$name"); done
	find "${places[@]}" -type f '(' "${names[@]:1}" ')' \
		! -path src/common/version.h ! -path 'web/ui/dist/*' ! -path 'web/ui/packed/*' ! -path src/base/contracts.inc ! -name 'twtasks--*.sql' ! -name 'twtasks_*--*.sql' ! -path 'test/lint/*' | sort
}

# matches PATTERN -- file:line:text from the files named in its input; finding
# nothing is no failure, which xargs tells as 123
matches()
{
	xargs grep -IHnE "$1" /dev/null || [ $? -eq 123 ]
}

# Every C file of ours.
c_files()
{
	files "${product[@]}" test/unit test/campaign bench examples -- '*.c' '*.h'
}

# Lines as file:line: name of the rows of twtasks.warnings, of which some have one of
# several names
warning_names()
{
	perl -0777 -ne '
		while (/SELECT\s+(CASE\b.*?\bEND|\x27[a-z0-9 ]+\x27)(?: AS warning)?,/gs) {
			my ($row, $line) = ($1, 1 + (substr($_, 0, $-[0]) =~ tr/\n//));
			print "$ARGV:$line: $1\n" while $row =~ /(?:^|THEN |ELSE )\x27([a-z0-9 ]+)\x27/g;
		}' \
		sql/watch/blockers.sql sql/watch/standstill.sql sql/watch/warnings.sql extensions/*/views.sql
}

# breaches -- passes its input on, and is true when there was none
breaches()
{
	! grep .
}

cannot_check()
{
	echo "$1"
	exit 77
}

need()
{
	command -v "$1" >/dev/null || cannot_check "$1 is not installed"
}
