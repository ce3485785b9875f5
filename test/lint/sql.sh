#!/usr/bin/env bash
#
# The install script can be trusted where others may have made objects before:
# it replaces nothing and skips nothing that exists, and a function that runs
# with its owner's rights fixes its search_path.  A condition compares a column
# with a constant time, or no index serves it.  No literal has a backslash, which
# means something else while standard_conforming_strings is off.  No row counts the
# attributes of a type of ours.  No script takes in the name of the role that installs it,
# or of a schema, as text: a hostile name would become SQL.  order.txt names every file,
# but twins and those in upgrade/.

. "$(dirname "$0")/lib.bash"

# Bodies of functions are not run at installation; DO blocks are.
statements()
{
	xargs -r perl -0777 -ne '
		s{/\*.*?\*/|--[^\n]*}{$& =~ tr/\n//cdr}gse;
		while (/\b([a-z]\.\w+)\s*(?:[<>]=?|=|BETWEEN)\s*((?:pg_catalog\.|twtasks\.)?clock(?:_timestamp)?\(\))/g) {
			printf "%s:%d: %s: write (SELECT %s)\n", $ARGV, 1 + (substr($_, 0, $-[0]) =~ tr/\n//), $1, $2;
		}
		s{(\bAS\s+\$(\w*)\$).*?\$\2\$}{$1 . ($& =~ tr/\n//cdr) . "\$\$"}gsei;
		while (/\b(CREATE\s+OR\s+REPLACE|(?:CREATE|ADD)\b[^;(\x27]*\bIF\s+NOT\s+EXISTS)\b/gi) {
			my $start = $-[0];
			my $found = $1 =~ /REPLACE/i ? "OR REPLACE" : "IF NOT EXISTS";
			# An upgrade replaces objects of its own extension.
			next if $found eq "OR REPLACE" && $ARGV =~ m{/upgrade/};
			printf "%s:%d: %s: fail if it exists\n", $ARGV, 1 + (substr($_, 0, $start) =~ tr/\n//), $found;
		}
		while (/\bCREATE\s+(?:OR\s+REPLACE\s+)?(?:FUNCTION|PROCEDURE)\s+([\w.]+)([^;]*);/gi) {
			my ($name, $rest, $start) = ($1, $2, $-[0]);
			next unless $rest =~ /\bSECURITY\s+DEFINER\b/i;
			printf "%s:%d: %s: SECURITY DEFINER without SET search_path = pg_catalog, pg_temp\n",
				$ARGV, 1 + (substr($_, 0, $start) =~ tr/\n//), $name
				unless $rest =~ /\bSET\s+search_path\s*(?:=|TO)\s*pg_catalog\s*,\s*pg_temp\b/i;
		}'
}

backslashes()
{
	xargs -r perl -0777 -ne '
		s{/\*.*?\*/|--[^\n]*}{$& =~ tr/\n//cdr}gse;
		printf "%s:%d: a backslash: write [*] for \\* in an expression, chr(92) for the character\n",
			$ARGV, 1 + (substr($_, 0, $-[0]) =~ tr/\n//) while /^[^\\\n]*\\/mg;'
}

# A row that is cast to a type of ours fails once a user adds an attribute to it.
counted_attributes()
{
	local types

	types=$(files sql extensions -- '*.sql' |
		xargs grep -hoE '^CREATE (TYPE [a-z_.]+ AS \(|TABLE [a-z_.]+ \()' |
		sed -E 's/^CREATE (TYPE|TABLE) ([a-z_.]+).*/\2/' | paste -sd'|')
	{ files sql extensions -- '*.sql'; files "${programs[@]}" -- '*.c' '*.h'; } |
		matches "(\\)::|CAST *\\(.* AS )($types)([^[a-z_.]|\$)" |
		sed -E 's/^([^:]*:[0-9]+:).*/\1 call a function of constructors.sql, or assign to a variable by name, in place of a row with a cast/'
}

substitutions()
{
	matches '@ext(owner|schema)' | sed -E 's/^([^:]*:[0-9]+:).*/\1 a substitution: write the name, or ask the catalog/'
}

# unlisted DIRECTORY
unlisted()
{
	comm -3 <(files "$1" -- '*.sql' | grep -vE '/upgrade/|[.]twin[.]sql$' | sed "s,^$1/,," | sort) \
		<(sed 's/#.*//; s/ *$//; /^$/d' "$1/order.txt" | sort) |
		tr -d '\t' | sed "s,.*,$1/order.txt:1: & is not both there and in $1/,"
}

{
	files sql extensions -- '*.sql' | statements
	files sql extensions examples -- '*.sql' | backslashes
	files sql extensions -- '*.sql' | substitutions
	counted_attributes
	for order in sql/order.txt extensions/*/order.txt; do unlisted "${order%/order.txt}"; done
} | breaches
