#!/usr/bin/env bash
#
# The units are confined: systemd's measure of exposure, from 0 to 10, is at most 3 for
# the daemon, whose handlers are programs of its users, and 2 for twtasks-web.

. "$(dirname "$0")/lib.bash"
need systemd-analyze

# confined UNIT TENTHS
confined()
{
	local said

	said=$(systemd-analyze security --offline=true --threshold="$2" "$1" 2>&1) ||
		echo "$1:1: $(tail -n 1 <<<"$said"), more than $2 tenths"
}

{
	confined sidecar/twtasksd.service 30
	confined web/twtasks-web.service 20
} | breaches
