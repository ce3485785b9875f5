#!/usr/bin/env bash
#
# Objects are made anew when the server, the compiler or its flags change, and only then:
# a tree that was built for one server builds for another without "make clean".

. "$(dirname "$0")/lib.bash"
# shellcheck source=../../scripts/lib.sh
. scripts/lib.sh

copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT

# One object of each folder that has flags of its own.
folders=(. lib sidecar web tools workers/http workers/run test/unit)
declare -A object=([.]=src/twtasks.o [lib]=base/heap.o [sidecar]=table/names.o [web]=http_path.o [tools]=verb.o
	[workers/http]=http_url.o [workers/run]=main.o [test/unit]=modules/heap.o)

version=$("$PG_CONFIG" --version | sed -E 's/^[^0-9]*([0-9]+).*/\1/')
other=16
[ "$version" != 16 ] || other=17

# A server of another version is that of this machine with another number in its headers.
make_other_server()
{
	local server=$copy/other headers

	headers=$("$PG_CONFIG" --includedir-server)
	headers=${headers#"$("$PG_CONFIG" --pkgincludedir)"}
	mkdir -p "$server${headers%/*}"
	cp -R "$("$PG_CONFIG" --includedir-server)" "$server$headers"
	sed -i -E "s/^(#define PG_VERSION_NUM) .*/\\1 ${other}0001/" "$server$headers/pg_config.h"
	cat >"$server/pg_config" <<END
#!/bin/sh
case \$1 in
	--pkgincludedir) echo "$server" ;;
	--includedir-server) echo "$server$headers" ;;
	--version) echo "PostgreSQL $other.1" ;;
	*) exec "$PG_CONFIG" "\$@" ;;
esac
END
	chmod +x "$server/pg_config"
}

# make_object FOLDER [VARIABLE=VALUE...] -- says whether the object was made anew.  Its
# library is left as it is, since only flags matter here.
make_object()
{
	local makefile=Makefile

	[ "$1" != . ] || makefile=extension.mk
	run_make -C "$copy/tree/$1" -f $makefile -o ../lib/libtwtasks.a -o ../../lib/libtwtasks.a "${object[$1]}" \
		PG_CONFIG="$PG_CONFIG" CC=gcc "${@:2}" >"$copy/log" 2>&1 || { cat "$copy/log" && return; }
	if grep -q -- " -c .*${object[$1]}" "$copy/log"; then echo anew; else echo kept; fi
}

# expect WHAT FOLDER [VARIABLE=VALUE...]
expect()
{
	local got

	got=$(make_object "${@:2}")
	[ "$got" = "$1" ] || echo "$2/Makefile:1: ${object[$2]} is not $1 with ${*:3}: $got"
}

# The version that an object of the extension was made for.
magic()
{
	cat >"$copy/magic.c" <<'END'
#include <stdio.h>
struct Magic { int length, version; };
extern const struct Magic *Pg_magic_func(void);
int main(void) { printf("%d\n", Pg_magic_func()->version); return 0; }
END
	gcc -static "$copy/magic.c" "$copy/tree/src/twtasks.o" -Wl,--unresolved-symbols=ignore-all -o "$copy/magic" && "$copy/magic"
}

check_folder()
{
	make_object "$1" >/dev/null
	expect kept "$1"
	expect kept "$1" WERROR=1
	expect kept "$1" CFLAGS=-O1 AS_BUILT=1
	expect anew "$1" CFLAGS=-O1
	expect kept "$1" CFLAGS=-O1
	expect anew "$1" CFLAGS=-O1 CC='gcc -fno-common'
	[ "$1" = workers/run ] || expect anew "$1" PG_CONFIG="$copy/other/pg_config"
}

# expect_flags HOW WANTED [VARIABLE=VALUE...] -- what an installation would compile with,
# after a build whose COPT was given HOW: by command or by environment
expect_flags()
{
	local got copt="-O1 -D'A=\"it # b\"'"

	if [ "$1" = command ]; then
		make -s -C "$copy/tree" told COPT="$copt"
	else
		COPT=$copt make -s -C "$copy/tree" told
	fi
	got=$(make -n -C "$copy/tree" install-extension DESTDIR=/nowhere "${@:3}" 2>&1 | sed -n '\, -c .*src/twtasks[.]c,p')
	[[ $got == *$2* ]] || echo "lib/told.mk:1: after flags by $1, an installation with '${*:3}' would do: $got"
}

make_other_server
mkdir "$copy/tree"
copy_sources "$copy/tree"
touch "$copy/tree/lib/libtwtasks.a"
{
	expect_flags command " -O1 -D'A=\"it # b\"' "
	expect_flags command ' -O3 ' COPT=-O3
	expect_flags command " -O1 -D'A=\"it # b\"' " LDFLAGS=-g
	expect_flags environment " -O1 -D'A=\"it # b\"' "
	for folder in "${folders[@]}"; do check_folder "$folder"; done
	[ "$(magic)" = ${other}00 ] || echo "extension.mk:1: src/twtasks.o is made for $(magic), not for ${other}00"
	expect anew .
	[ "$(magic)" = "${version}00" ] || echo "extension.mk:1: src/twtasks.o is made for $(magic), not for ${version}00"
	make_object test/unit >/dev/null
	expect anew test/unit WITH_KAFKA=no
	expect anew test/unit WITH_KAFKA=no WITH_ZOOKEEPER=no
} | breaches
