#!/usr/bin/env bash
#
# Beside several servers, scripts build for the one that runs, and setup installs
# what that one needs.

. "$(dirname "$0")/lib.bash"

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

# server VERSION STATUS
server()
{
	mkdir -p "$place/$1/bin"
	printf '#!/bin/sh\n' >"$place/$1/bin/postgres"
	chmod +x "$place/$1/bin/postgres"
	echo "echo $1 main 5432 $2 postgres" >>"$place/pg_lsclusters"
	chmod +x "$place/pg_lsclusters"
}

# expect WHAT PATTERN [NAME=VALUE]... -- what pg-config answers and says
expect()
{
	local said

	said=$(env -u PG_CONFIG TWT_SERVERS="$place" PATH="$place:/usr/bin:/bin" "${@:3}" scripts/pg-config 2>&1 | paste -sd ' ')
	# shellcheck disable=SC2053 # a pattern
	[[ $said == $2 ]] || echo "scripts/pg-config:1: $1: \"$said\""
}

{
	expect 'no server is there' pg_config
	printf '#!/bin/sh\n' >"$place/pg_lsclusters"
	server 17 down
	expect 'one server is there' "$place/17/bin/pg_config"
	server 14 online
	expect 'an unsupported server runs' "$place/17/bin/pg_config"
	server 15 down
	expect 'the newest is taken, and named' "*PostgreSQL 17*installed*$place/17/bin/pg_config"
	server 15 online,recovery
	expect 'the one that runs is taken, and named' "*PostgreSQL 15, which runs*$place/15/bin/pg_config"
	mkdir "$place/own"
	cp "$place/15/bin/postgres" "$place/own/pg_config"
	cp "$place/own/pg_config" "$place/own/pg_config17"
	expect 'one in the PATH is taken, by its whole path' "$place/own/pg_config" PATH="$place/own:$place:/usr/bin:/bin"
	expect 'PG_CONFIG decides' /else/pg_config PG_CONFIG=/else/pg_config
	expect 'a name in PG_CONFIG means one in the PATH' "$place/own/pg_config17" PG_CONFIG=pg_config17 PATH="$place/own:$place:/usr/bin:/bin"
	told=$(PATH="$place/own:$PATH" make -np help PG_CONFIG=pg_config17 2>/dev/null | grep -m1 '^PG_CONFIG := ' || true)
	[[ $told == "PG_CONFIG := $place/own/pg_config17" ]] || echo "Makefile:1: sudo would look for pg_config in another PATH: $told"
	packages=$(PG_CONFIG=/usr/lib/postgresql/16/bin/pg_config scripts/setup --list demo)
	[[ $packages == *postgresql-server-dev-16* ]] || echo 'scripts/setup:1: installs for another server than PG_CONFIG names'
	packages=$(PG_CONFIG=/else/pg_config scripts/setup --list demo)
	[[ $packages != *postgresql-server-dev* ]] || echo 'scripts/setup:1: installs a server beside the one that PG_CONFIG names'
	packages=$(PG_CONFIG=/usr/lib/postgresql/17/bin/pg_config scripts/setup --list extension | paste -sd ' ')
	[ "$packages" = 'postgresql-server-dev-17 make gcc libc6-dev' ] || echo "scripts/setup:1: the extension alone needs: $packages"
} | breaches
