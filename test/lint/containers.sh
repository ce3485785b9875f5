#!/usr/bin/env bash
#
# compose.yaml and the Deployment of docs/containers.md are YAML, and name what
# Containerfile makes: targets, users, ports, files.

. "$(dirname "$0")/lib.bash"
need /usr/bin/python3

/usr/bin/python3 -c 'import yaml' 2>/dev/null || cannot_check 'python3-yaml is not installed'
/usr/bin/python3 test/lint/containers.py | breaches
