# shellcheck shell=bash
#
# claim.sh -- claims as TAP, for the scripts that try twtasks in other systems.  Sourced
# after lib.sh, never run.

number=0 failures=0

# claim WHAT COMMAND... -- a line of TAP, and what it said after a failure.  Lines of the
# command that begin with "# " are printed in any case: figures, and TAP of its own as
# comments.
claim()
{
	local what=$1 said status=0

	said=$(mktemp)
	number=$((number + 1))
	if "${@:2}" >"$said" 2>&1 </dev/null; then
		grep '^# ' "$said" || true
		echo "ok $number - $what"
	else
		status=1 failures=$((failures + 1))
		echo "not ok $number - $what"
		tail -n 40 "$said" | sed 's/^/# /'
	fi
	rm -f "$said"
	return $status
}

# skip WHAT REASON
skip()
{
	number=$((number + 1))
	echo "ok $number - $1 # SKIP $2"
}

# repeat PREFIX FILE -- its TAP with our numbers.  Fails if a claim did.
repeat()
{
	local line status=0

	while IFS= read -r line; do
		case $line in
			'ok '* | 'not ok '*)
				number=$((number + 1))
				[[ $line == ok* ]] || { failures=$((failures + 1)) && status=1; }
				echo "${line%%ok *}ok $number - $1${line#*- }"
				;;
			'#'*) echo "$line" ;;
		esac
	done <"$2"
	return $status
}

# The plan.  Fails if a claim did.
end_claims()
{
	echo "1..$number"
	[ $failures -eq 0 ]
}

# until_true COMMAND... -- within two minutes
until_true()
{
	local deadline=$((SECONDS + 120))

	until "$@"; do
		[ $SECONDS -lt $deadline ] || { echo "not within two minutes: $*" && return 1; }
		perl -e 'select undef, undef, undef, 0.1'
	done
}
