#!/usr/bin/env bash
#
# Each function that is bound to the library has a twin in SQL, and each twin has such a
# function.

. "$(dirname "$0")/lib.bash"

scripts/edition 2>&1 >/dev/null | breaches
