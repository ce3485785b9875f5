#!/usr/bin/env bash
#
# Includes point one way: from folder to folder as rooms.txt allows, and never in a
# circle of files or from a program into another.  CONTRIBUTING.md names each folder of code.

. "$(dirname "$0")/lib.bash"

# Folders that the map of CONTRIBUTING.md leaves out; those of sidecar/execute
# stand there without their path.
unmapped()
{
	files src lib sidecar sql web tools workers -- '*.c' '*.sql' | sed -n 's,/[^/]*$,,p' | sort -u |
		grep -vx 'src\|sidecar\|sql' |
		while read -r folder; do
			grep -q "\`${folder#sidecar/execute/}\`" CONTRIBUTING.md ||
				echo "CONTRIBUTING.md:1: the map has no $folder"
		done
}

{
	files "${product[@]}" -- '*.c' '*.h' | xargs -r perl test/lint/rooms.pl test/lint/rooms.txt
	unmapped
} | breaches
