# shellcheck shell=bash
#
# stage.bash -- the stage of the demos: what is printed, SQL, processes, the
# server, and their end.  Sourced by scripts/demo and scripts/demo-kafka, which
# say in $yaml what the sidecars run.

root=${root:?}
TWT_CLUSTER=
demo=			# the directory of the processes' files
yaml='' words=''
promises=0 failures=0
exec 3>&1

# ---- What is printed ----

choose_marks()
{
	local charmap

	charmap=$(locale charmap 2>/dev/null || true)
	bold='' dim='' red='' green='' plain=''
	yes=ok
	[ "$charmap" != UTF-8 ] || yes=✓
	[ -t 1 ] && [ -z "${NO_COLOR:-}" ] && [ "${TERM:-dumb}" != dumb ] || return 0
	bold=$'\e[1m' dim=$'\e[2m' red=$'\e[31m' green=$'\e[32m' plain=$'\e[0m'
}

# act NUMBER TITLE
act()
{
	printf '\n%s%-3s%s%s\n' "$bold" "$1" "$2" "$plain"
}

# statements TEXT -- shows the statements about to run
statements()
{
	{
		echo
		printf '%s\n' "$1" | sed "s/^/     $dim/; s/\$/$plain/"
		echo
	} >&3
}

# fact TEXT -- prints an event, in several lines if need be
fact()
{
	printf '%s\n' "$1" | sed 's/^/   /'
}

# verdict SENTENCE VALUE -- the promise was kept if VALUE, a boolean of the
# database, is true
verdict()
{
	if [ "$2" = t ]; then
		printf '   %s%s%s %s\n' "$green" "$yes" "$plain" "$1"
		promises=$((promises + 1))
	else
		printf '   %sFAILED%s %s\n' "$red" "$plain" "$1"
		failures=$((failures + 1))
		sed 's/^/     log: /' <(tail -q -n 5 "$demo"/*.log)
	fi
}

# ---- SQL ----

# sql ROLE TEXT -- runs it and prints its rows
sql()
{
	psql -XAtq -F ', ' -v ON_ERROR_STOP=1 -U "$1" -d demo <<<"$2"
}

# see TEXT -- a query about tasks, by who may look at them
see()
{
	sql demo_operator "$1"
}

# shown ROLE TEXT -- the same as sql, and shows the statements
shown()
{
	statements "$2"
	sql "$1" "$2"
}

# ms INTERVAL -- an expression that prints it
ms()
{
	echo "round(extract(epoch FROM $1) * 1000) || ' ms'"
}

# wait_for CONDITION -- prints t, or f after three minutes: a machine may be busy.  Each
# look is a transaction of its own, which sees new partitions.
wait_for()
{
	local deadline=$((SECONDS + 180))

	until [ "$(see "SELECT ($1) FROM pg_sleep(0.01)" 2>/dev/null)" = t ]; do
		[ $SECONDS -lt $deadline ] || { echo f && return; }
	done
	echo t
}

# ---- Processes ----

# exec_as_server COMMAND... -- in place of this process, so that its id is
# the daemon's
exec_as_server()
{
	cd /
	[ "$(id -u)" -ne 0 ] || exec setpriv --reuid=postgres --regid=postgres --init-groups -- "$@"
	exec "$@"
}

# filled_in FILE [NODE] -- prints the file of demo.d with its words between percent
# signs replaced; $words has more expressions of sed for them
filled_in()
{
	sed "s,%DIRECTORY%,$demo,g; s,%NODE%,${2:-},g; s,%SOCKET%,$TWT_CLUSTER,g; $words" \
		"$root/scripts/demo.d/$1"
}

# start_process NAME COMMAND... -- in the background; its log is NAME.log
start_process()
{
	exec_as_server "${@:2}" >>"$demo/$1.log" 2>&1 &
	echo $! >"$demo/$1.pid"
	disown
}

# await NAME COMMAND... -- until it is true, for a minute at most
await()
{
	local i

	for ((i = 0; i < 600; i++)); do
		! "${@:2}" 2>/dev/null || return 0
		kill -0 "$(cat "$demo/$1.pid")" 2>/dev/null || break
		sleep 0.1
	done
	tail -n 10 "$demo/$1.log" >&2
	die "$1 does not start"
}

node_lives()
{
	[ "$(see "SELECT EXISTS (SELECT FROM twtasks.nodes WHERE name = '$1' AND ended IS NULL)")" = t ]
}

# start_sidecar NODE -- and waits until it is at work
start_sidecar()
{
	filled_in "$yaml" "$1" >"$demo/$1.yaml"
	start_process "$1" "$demo/twtasksd" --config "$demo/$1.yaml"
	await "$1" node_lives "$1"
}

# signal_process SIGNAL NAME
signal_process()
{
	kill -s "$1" "$(cat "$demo/$2.pid")"
}

# end_process SIGNAL NAME -- one that has not gone after 5 s is killed
end_process()
{
	local pid i

	[ -f "$demo/$2.pid" ] || return 0
	pid=$(cat "$demo/$2.pid")
	rm -f "$demo/$2.pid"
	kill -s "$1" "$pid" 2>/dev/null || return 0
	for ((i = 0; i < 250; i++)); do
		kill -0 "$pid" 2>/dev/null || return 0
		sleep 0.02
	done
	kill -s KILL "$pid" 2>/dev/null || true
}

# ---- Beginning and end ----

# Quiet, unless it fails.
install_all()
{
	local said

	"$root/scripts/setup" demo
	echo 'building and installing'
	said=$(run_make -s -C "$root" install 2>&1) || {
		printf '%s\n' "$said" | tail -n 40 >&2
		die 'could not build or install what is above'
	}
}

# start_server OPTION... -- those of private-cluster
start_server()
{
	local assignments

	PATH=$("$PG_CONFIG" --bindir):$PATH		# not before: this may have brought it
	SECONDS=0
	assignments=$("$root/scripts/private-cluster" start "$@")
	eval "$assignments"
	demo=$TWT_CLUSTER/demo
	mkdir "$demo"
}

# make_database FILE -- the demo's database, as the SQL of demo.d/FILE says
make_database()
{
	psql -XAtq -c 'CREATE DATABASE demo'
	fill_database "$1"
}

fill_database()
{
	psql -XAtq -v ON_ERROR_STOP=1 -d demo -f "$root/scripts/demo.d/$1"
}

say_versions()
{
	printf '\n%stwtasks %s%s on PostgreSQL %s, in %s\n' "$bold" \
		"$(sql postgres "SELECT version || CASE edition WHEN 'sql' THEN ', the SQL edition,' ELSE '' END FROM twtasks.edition()")" "$plain" \
		"$(sql postgres 'SHOW server_version')" "$TWT_CLUSTER"
}

say_promises()
{
	printf '\n%s of %s promises were kept, in %s seconds\n' \
		"$promises" "$((promises + failures))" "$SECONDS"
}

# stop_all DIRECTORY -- every process of the demo, then the server
stop_all()
{
	local file

	demo=$1/demo
	for file in "$demo"/*.pid; do
		[ ! -f "$file" ] || end_process TERM "$(basename "$file" .pid)"
	done
	"$root/scripts/private-cluster" stop "$1"
}

clean_up()
{
	[ -z "$TWT_CLUSTER" ] || stop_all "$TWT_CLUSTER" || true
}

# play_all RUN [stop DIRECTORY] -- calls RUN, or ends what was left running
play_all()
{
	local run=$1

	shift
	forget_servers
	choose_marks
	trap clean_up EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM HUP
	case ${1:-} in
		'') "$run" ;;
		stop) stop_all "${2:?}" ;;
		*) die "usage: ${0##*/} [stop DIRECTORY]" ;;
	esac
	[ $failures -eq 0 ] || die "$failures of the promises were not kept"
}
