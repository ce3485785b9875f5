#!/usr/bin/env bash
#
# META.json, which PGXN reads, names each extension with the version of its control
# file, and keeps to PGXN's schema.

. "$(dirname "$0")/lib.bash"
need /usr/bin/python3

/usr/bin/python3 test/lint/meta.py META.json | breaches
need cargo
/usr/bin/python3 -c 'import jsonschema' 2>/dev/null || cannot_check 'python3-jsonschema is not installed'
schemas=$(scripts/pgxn-schema 2>/dev/null) || cannot_check 'cargo could not fetch the schema of PGXN'
/usr/bin/python3 test/lint/meta.py META.json "$schemas" | breaches
