#!/usr/bin/env bash
#
# The lists of objects, which are in the order of a task's life, name every C
# file.

. "$(dirname "$0")/lib.bash"

# listed FOLDER PREFIX MAKEFILE... -- the names there begin with the prefix
listed()
{
	local file object

	for file in $(files "$1" -- '*.c'); do
		object=$2${file#"$1/"}
		grep -qE "^[A-Z]+ [:+?]?=(.*[[:space:]])?${object%.c}\.o([[:space:]]|\$)" "${@:3}" ||
			echo "$3:1: ${object%.c}.o has no place in the list of objects"
	done
}

{
	listed src src/ extension.mk
	listed src/common '' lib/Makefile
	listed workers/lib '' workers/worker.mk workers/*/Makefile
	for folder in lib sidecar web tools; do listed $folder '' $folder/Makefile; done
	for makefile in workers/*/Makefile; do listed "${makefile%/*}" '' "$makefile" workers/worker.mk; done
} | breaches
