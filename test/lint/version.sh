#!/usr/bin/env bash
#
# The version stands in twtasks.control, and nowhere else; the changelog knows
# it or what comes after it.  Packages of helpers have it too, some as three numbers.
# SECURITY.md says which versions are supported, and where to report.

. "$(dirname "$0")/lib.bash"

version=$(sed -n "s/^default_version *= *'\([^']*\)'.*/\1/p" twtasks.control)
pattern=${version//./\\.}

literals()
{
	files "${product[@]}" scripts Makefile extension.mk -- '*' |
		grep -Ev '\.(o|d|a)$|/twtasksd$' |
		matches "[\"']${pattern}[\"']|twtasks--${pattern}\b" |
		sed -E 's/^([^:]+:[0-9]+):.*/\1: the version is in twtasks.control/'
}

# Go's modules have their versions in tags.
helpers()
{
	local file

	for file in helpers/*/{pyproject.toml,package.json,*.gemspec,pom.xml}; do
		[ -e "$file" ] || continue
		grep -m 1 -E '^\s*("version":|version =|spec\.version =|<version>)' "$file" |
			grep -qE "[\">]$pattern(\.0)?[\"<]" ||
			echo "$file:1: does not have the version of twtasks.control"
	done
}

{
	literals
	helpers
	[ "$(sed -n '1s/^twtasks (\([^)]*\)).*/\1/p' debian/changelog)" = "$version" ] ||
		echo "debian/changelog:1: does not begin with the version of twtasks.control"
	for heading in 'Reporting a vulnerability' 'Supported versions'; do
		grep -qx "## $heading" SECURITY.md || echo "SECURITY.md:1: no section \"$heading\""
	done
	make -s -f extension.mk checkver 2>&1 | sed -n 's/^\([a-zA-Z.]*\): /\1:1: /p'
	if [ -x sidecar/twtasksd ] && ! sidecar/twtasksd --version | grep -qw "$pattern"; then
		echo "sidecar/main.c:1: --version does not say $version"
	fi
} | breaches
