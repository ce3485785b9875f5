#!/usr/bin/env bash
#
# Comments, and headings of pages, can be read once: see prose.pl for the rules.
# -v counts the breaches of each folder, also of those that are not clean yet.

. "$(dirname "$0")/lib.bash"

# The folders that are clean.
clean=(
	docs examples scripts test bench .ci README.md CONTRIBUTING.md SECURITY.md CHANGELOG.md Makefile extension.mk
	sql src/commit src/queue sidecar/api sidecar/check sidecar/node sidecar/pg sidecar/queue sidecar/table
)
rest=(src sidecar web workers)

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

if [ "${1:-}" = -v ]; then
	prose_files "${rest[@]}" | xargs perl test/lint/prose.pl |
		sed -E 's,^([^/:]*(/[^/:]*)?)[/:].*,\1,' | sort | uniq -c | sort -rn
fi
prose_files "${clean[@]}" | xargs perl test/lint/prose.pl | breaches
