#!/usr/bin/env bash
#
# The chain add -> commit -> ... -> finish can be walked: every file named in a
# "from: ... to: ..." line, and in the table of docs/life-of-a-task.md, exists.

. "$(dirname "$0")/lib.bash"

# Lines as file:line: name
named_in_headers()
{
	files "${product[@]}" sql -- '*.[ch]' '*.sql' | xargs -r perl -ne '
		if (/^\s*\*\s+(from|to):\s/) {
			print "$ARGV:$.: $1\n" while /([\w\/.*-]+\.(?:c|h|sql))\b/g;
		}
		close ARGV if eof'
}

named_in_page()
{
	perl -ne '
		next unless /^\|/;
		print "$ARGV:$.: $1\n" while /`([\w\/.*-]+\.(?:c|h|sql|spec|pl))`/g' docs/life-of-a-task.md
}

# exists NAME DIRECTORY -- beside the file that names it, or where code lies;
# a name may be a pattern
exists()
{
	compgen -G "$1" >/dev/null || compgen -G "$2/$1" >/dev/null ||
		[ -n "$(find "${product[@]}" -path "*/$1" -print -quit)" ]
}

{
	named_in_headers
	named_in_page
} | while read -r place name; do
	exists "$name" "$(dirname "${place%%:*}")" || echo "$place names $name, which does not exist"
done | breaches
