#!/usr/bin/env bash
#
# A function is read in one look: at most 60 lines and 5 parameters, unless it
# is a hook of the server.  A file of the product is about one thing: at most
# 500 lines, or 700 if ideas.txt has it, as a test or a script may have.  A C file
# with less than 60 lines that one other file includes is a part of that one,
# unless ideas.txt has it.  -v prints statistics.

. "$(dirname "$0")/lib.bash"
need ctags

# file, line, name, lines, parameters of every function
functions()
{
	c_files | ctags -L - -o - --languages=C --language-force=C --kinds-C=f \
		--fields=neS --sort=no 2>/dev/null |
		perl -ne 'next unless /^(\S+)\t(\S+)\t.*?\tline:(\d+)/;
			my ($name, $file, $line) = ($1, $2, $3);
			my ($end) = /\tend:(\d+)/ or next;
			my ($list) = /\tsignature:\((.*)\)/;
			$list //= "";
			1 while $list =~ s/\([^()]*\)//;
			my $count = $list =~ /^\s*(void)?\s*$/ ? 0 : 1 + ($list =~ tr/,//);
			print join("\t", $file, $line, $name, $end - $line + 1, $count), "\n"'
}

ideas=$(sed -n 's/^\([^#[:space:]]*\.[a-z]*\)\s.*/\1/p' test/lint/ideas.txt)

# is_idea FILE
is_idea()
{
	grep -qxF "$1" <<<"$ideas"
}

# long_files LINES FOLDER...
long_files()
{
	local most=$1

	shift
	files "$@" -- '*.[ch]' '*.sql' '*.p[lm]' '*.sh' '*.py' |
		while read -r file; do
			lines=$(wc -l <"$file")
			[ "$lines" -le "$most" ] || { [ "$lines" -le 700 ] && is_idea "$file"; } ||
				echo "$file:1: $lines lines, more than $most"
		done
}

# Files that are included by one module only.
parts_of_one()
{
	files "${product[@]}" -- '*.[ch]' | xargs -r grep -H '^#include "' | perl -ne '
		my ($from, $name) = m{^(\S+?)\.[ch]:#include "([^"]+)\.h"} or next;
		my ($to) = grep { -e "$_.c" } (split m{/}, $from)[0] . "/$name", "lib/$name", "src/$name", $name or next;
		$users{$to}{$from} = 1 unless $to eq $from;
		END { print map { "$_.c\n" } grep { 1 == keys %{ $users{$_} } } sort keys %users }'
}

single=$(parts_of_one)

is_short()
{
	[ "$(wc -l <"$1")" -lt 60 ]
}

short_files()
{
	for file in $single; do
		! is_short "$file" || is_idea "$file" || echo "$file:1: a part of the one file that includes it"
	done
}

# Lines of ideas.txt that nothing needs.
idle_ideas()
{
	for file in $ideas; do
		[ -e "$file" ] && { [ "$(wc -l <"$file")" -gt 500 ] || { is_short "$file" && grep -qxF "$file" <<<"$single"; }; } ||
			echo "test/lint/ideas.txt:1: $file needs no line"
	done
}

statistics()
{
	for part in "${product[@]}"; do
		functions | grep "^$part/" | cut -f 4 | sort -n | awk -v part="$part" '
			{ n[NR] = $1 }
			END { if (NR) printf "%s: %d functions, median %d lines, p90 %d, longest %d\n",
				part, NR, n[int((NR + 1) / 2)], n[int(NR * 0.9 + 0.5)], n[NR] }' || true
	done
}

[ "${1:-}" != -v ] || statistics
{
	functions | awk -F '\t' '
		$4 > 60 { printf "%s:%d: %s() has %d lines, more than 60\n", $1, $2, $3, $4 }
		$5 > 5 && $3 !~ /_hook$/ { printf "%s:%d: %s() has %d parameters, more than 5\n", $1, $2, $3, $5 }'
	long_files 500 "${product[@]}" sql extensions
	long_files 700 test bench scripts examples
	short_files
	idle_ideas
} | breaches
