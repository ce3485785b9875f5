# shellcheck shell=bash
#
# lib.sh -- what the scripts share.  Sourced, never run.
#
# PostgreSQL refuses to run as root.  So its servers, and whatever must read
# their files, run as "the server's user": postgres when root calls, otherwise
# the caller.  That user may be unable to read this clone; what it needs is
# copied to directories made by new_directory.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
PG_CONFIG=$("$root/scripts/pg-config")
export PG_CONFIG

die()
{
	printf '%s: %s\n' "${0##*/}" "$*" >&2
	exit 1
}

server_user()
{
	if [ "$(id -u)" -eq 0 ]; then
		echo postgres
	else
		id -un
	fi
}

# as_server COMMAND... -- runs it as the server's user
as_server()
{
	if [ "$(id -u)" -eq 0 ]; then
		runuser -u postgres -- "$@"
	else
		"$@"
	fi
}

# Where the server's user may make directories, and not too deep: the path of
# a socket has at most 107 bytes.
temporary_root()
{
	local place=${TMPDIR:-/tmp}

	if [ ${#place} -le 60 ] && (cd / && as_server test -w "$place" -a -x "$place"); then
		echo "$place"
	else
		echo /tmp
	fi
}

# new_directory -- prints a fresh directory owned by the server's user
new_directory()
{
	local directory

	directory=$(mktemp -d "$(temporary_root)/twtasks.XXXXXX")
	chmod 755 "$directory"
	[ "$(id -u)" -ne 0 ] || chown postgres "$directory"
	echo "$directory"
}

# copy_tree DIRECTORY PATH... -- copies parts of the clone, as far as they exist
copy_tree()
{
	local directory=$1 path

	shift
	for path in "$@"; do
		[ -e "$root/$path" ] || continue
		mkdir -p "$directory/$(dirname "$path")"
		cp -R "$root/$path" "$directory/$path"
	done
}

# copy_sources DIRECTORY -- copies what a build reads, without what it wrote
copy_sources()
{
	(cd "$root" &&
		find Makefile extension.mk twtasks.control CHANGELOG.md scripts/*.awk scripts/alone.sh src sql extensions lib sidecar web tools workers test/unit \
			-type f '(' -name '*.*' -o -name Makefile -o -name embed ')' ! -path '*/node_modules/*' \
			! -name '*.[oad]' ! -name '*_files.inc' '(' -path '*/released/*' -o ! -name 'twtasks--*.sql' ! -name 'twtasks_*--*.sql' ')' -print0 |
		xargs -0 cp --parents -t "$1")
}

# give_to_server DIRECTORY -- lets the server's user own what it must read
give_to_server()
{
	chmod -R u+rwX,go+rX "$1"
	[ "$(id -u)" -ne 0 ] || chown -R postgres "$1"
}

# Drops the caller's settings for other servers.
forget_servers()
{
	local config=$PG_CONFIG

	unset "${!PG@}"
	export PG_CONFIG=$config
}

# run_make ARGUMENT... -- make, whatever -j the make above us was given
run_make()
{
	MAKEFLAGS=$(printf '%s' "${MAKEFLAGS:-}" |
		sed -E 's/(^| )-j[0-9]*//g; s/--jobserver-[a-z]*=[^ ]*//g') \
		make --no-print-directory -j "$(nproc)" "$@"
}

# prove_alone FILE [NAME=VALUE...] -- a TAP test with these variables, as the
# server's user, on a copy of the tests that goes away with the script; after a
# failure the logs are in check-output/alone/
prove_alone()
{
	local pgxs_test

	pgxs_test=$(dirname "$("$PG_CONFIG" --pgxs)")/../test
	work=$(new_directory)
	trap 'rm -rf "$work"' EXIT
	copy_tree "$work" test helpers
	mkdir -p "$work/bin" "$work/tmp" "$work/ports"
	cp "$root/sidecar/twtasksd" "$root/web/twtasks-web" "$root/tools/twtasksctl" "$root/tools/twtasks-import" "$root"/workers/*/twtasks-* "$work/bin/"
	mkdir -p "$work/share/twtasks" && cp -r "$root/share/notify" "$work/share/twtasks/"
	give_to_server "$work"
	(cd "$work" && as_server env HOME="$work" TMPDIR="$work/tmp" \
		PATH="$("$PG_CONFIG" --bindir):$PATH" TWTASKSD="$work/bin/twtasksd" TWTASKS_WEB="$work/bin/twtasks-web" TWTASKSCTL="$work/bin/twtasksctl" TWTASKS_IMPORT="$work/bin/twtasks-import" \
		PERL5LIB="$pgxs_test/perl:$work/test/lib" PG_REGRESS="$pgxs_test/regress/pg_regress" \
		PG_TEST_PORT_DIR="$work/ports" TESTDIR="$work" TESTDATADIR="$work/tmp_check" \
		TESTLOGDIR="$work/tmp_check/log" "${@:2}" prove "$1") && return
	rm -rf "$root/check-output/alone"
	mkdir -p "$root/check-output/alone"
	cp -R "$work/tmp_check/log/." "$root/check-output/alone/"
	echo 'logs of servers and the test: check-output/alone/'
	return 1
}

# The Go that helpers/go needs, at least.
go_wanted()
{
	sed -n 's/^go //p' "$root/helpers/go/go.mod"
}

# Whether this machine has such a Go.
has_go()
{
	local found

	found=$(GOTOOLCHAIN=local go version 2>/dev/null | sed 's/^go version go\([0-9.]*\).*/\1/') && [ -n "$found" ] &&
		printf '%s\n' "$(go_wanted)" "$found" | sort -VC
}

# Whether Debian's golang-go is such a Go: Debian 12 has 1.19.
debian_has_go()
{
	local found

	found=$(apt-cache show --no-all-versions golang-go 2>/dev/null | sed -n 's/^Version: 2:\([0-9.]*\).*/\1/p') && [ -n "$found" ] &&
		printf '%s\n' "$(go_wanted | cut -d . -f 1,2)" "$found" | sort -VC
}

# free_ports NUMBER -- prints so many, in one line
free_ports()
{
	perl -MIO::Socket::INET -e '
		my @sockets = map { IO::Socket::INET->new(LocalAddr => "127.0.0.1", Listen => 1) } 1 .. shift;
		print join(" ", map { $_->sockport } @sockets), "\n"' "$1"
}
