#!/usr/bin/env bash
#
# Comments, and headings of pages, can be read once: see prose.pl for the rules.

. "$(dirname "$0")/lib.bash"

checked=(
	docs examples helpers scripts test bench .ci README.md CONTRIBUTING.md SECURITY.md CHANGELOG.md Makefile extension.mk
	sql extensions "${product[@]}"
)

# Generated pages repeat comments of sql/.  Scripts may have no extension.
prose_files()
{
	{
		files "$@" -- '*.[ch]' '*.sql' '*.p[lm]' '*.sh' '*.bash' '*.awk' '*.spec' '*.py' '*.js' \
			'*.md' '*.yaml' '*.service' '*.mk' Makefile | grep -vx docs/reference.md
		find "$@" -type f -perm -u+x ! -name '*.*' -exec grep -lI '^#!' {} + 2>/dev/null || true
		find test/lint -type f -name '*.*' | grep -v '\.txt$'
	} | sort -u
}

prose_files "${checked[@]}" | xargs perl test/lint/prose.pl | breaches
