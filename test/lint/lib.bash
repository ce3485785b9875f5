# shellcheck shell=bash
#
# lib.bash -- what the rules share.  Each rule is a script that prints
# file:line: message for every breach and then ends with 1; nothing and 0 when
# all is well; a reason and 77 when it cannot be checked here.

set -euo pipefail
export LC_ALL=C
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

# files DIRECTORY... -- NAME PATTERN...: files below those directories that
# exist, without built ones
files()
{
	local directories=() names=()

	while [ "$1" != -- ]; do
		[ ! -e "$1" ] || directories+=("$1")
		shift
	done
	shift
	[ ${#directories[@]} -gt 0 ] || return 0
	for name in "$@"; do names+=(-o -name "$name"); done
	find "${directories[@]}" -type f '(' "${names[@]:1}" ')' \
		! -path src/common/version.h ! -path src/base/contracts.inc ! -name 'twtasks--*.sql' ! -name 'twtasks_*--*.sql' ! -path 'test/lint/*' | sort
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
	files src lib sidecar web workers test/unit test/campaign bench examples -- '*.c' '*.h'
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
