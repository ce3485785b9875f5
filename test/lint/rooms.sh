#!/usr/bin/env bash
#
# Includes point one way: from folder to folder as rooms.txt allows, and never
# in a circle of files.

. "$(dirname "$0")/lib.bash"

files src sidecar -- '*.c' '*.h' | xargs -r perl test/lint/rooms.pl test/lint/rooms.txt | breaches
