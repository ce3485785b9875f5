#!/usr/bin/env bash
#
# One trouble has one severity: the table of incident_rules(), the rules for
# Prometheus and the pages agree, and the runbook has a heading for each warning
# and each alert.

. "$(dirname "$0")/lib.bash"

warning_names | sed 's/^[^ ]* //' | sort -u | {
	mapfile -t names
	[ ${#names[@]} -gt 30 ] || echo "test/lint/lib.bash:1: only ${#names[@]} warnings were found"
	perl test/lint/severities.pl "${names[@]}"
} | breaches
