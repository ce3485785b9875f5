#!/usr/bin/env bash
#
# Every setting of the extension, every key of the configuration file, every
# option of the sidecar and every warning is named in the README or in docs/.

. "$(dirname "$0")/lib.bash"

# Lines as file:line: name
settings()
{
	perl -ne 'print "$ARGV:$.: $1\n" while /"(twtasks\.[a-z_]{2,})"/g' \
		src/base/settings.c src/add/context.c
}

keys()
{
	files "${programs[@]}" -- '*.c' | xargs -r perl -ne '
		print "$ARGV:$.: $1\n" if /^\s*\{?\s*"([a-z_]+)",\s*OPTION_/;
		close ARGV if eof'
}

options()
{
	files "${programs[@]}" -- '*.c' | xargs -r perl -ne '
		print "$ARGV:$.: --$1\n" if /\{\s*"([a-z-]+)"\s*,\s*(no|required|optional)_argument/;
		close ARGV if eof'
}

# Generated pages do not count: they are not written for readers to learn from.
pages=$(files README.md docs -- '*.md' | sed '/^docs\/reference\.md$/d')

{
	settings
	keys
	options
	warning_names
} | while read -r place name; do
	# shellcheck disable=SC2086 # the pages' names have no spaces
	grep -qE -- "(^|[^a-z_-])$name([^a-z_-]|\$)" $pages /dev/null || echo "$place $name is in no page of the documentation"
done | breaches
