#!/usr/bin/env bash
#
# The lists of objects, which are in the order of a task's life, name every C
# file.

. "$(dirname "$0")/lib.bash"

{
	for makefile in lib/Makefile sidecar/Makefile workers/*/Makefile; do
		for object in $(make -s -C "${makefile%/Makefile}" unlisted); do
			echo "$makefile:1: $object has no place in the list of objects"
		done
	done
	for file in $(files src -- '*.c'); do
		grep -q "^OBJS += ${file%.c}\.o\b" extension.mk ||
			echo "extension.mk:1: ${file%.c}.o has no place in the list of objects"
	done
} | breaches
