#!/usr/bin/env bash
#
# docs/reference.md says what the comments in sql/ say.

. "$(dirname "$0")/lib.bash"

scripts/docs --check
