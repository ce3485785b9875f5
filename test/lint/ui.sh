#!/usr/bin/env bash
#
# The built page of web/ui/dist is what its sources make, and small.  "make ui" builds it.

. "$(dirname "$0")/lib.bash"
need npm
node -e 'process.exit(parseInt(process.versions.node) < 18 ? 1 : 0)' || cannot_check 'there is no node 18'

# Kilobytes of script and style on their way to a browser.
most=60

size=$(cat web/ui/dist/*.js web/ui/dist/*.css | gzip -9nc | wc -c)
said=$(scripts/ui --check 2>&1) && status=0 || status=$?
[ "$status" -ne 2 ] || cannot_check 'npm could not install the tools that build the page'
{
	[ "$size" -le $((most * 1000)) ] || echo "web/ui/dist/app.js:1: script and style have $size bytes compressed, more than $most kB"
	[ "$status" -eq 0 ] || printf '%s\n' "$said" | sed 's,^,web/ui/dist/app.js:1: ,'
} | breaches
