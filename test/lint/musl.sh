#!/usr/bin/env bash
#
# The product compiles with the headers of musl, the C library of Alpine, and its objects
# call only what musl, the server or a library of the product has: it would link there.
# The headers of the server and of the libraries are those made for glibc, since Debian has
# no others.  So nothing is run.

. "$(dirname "$0")/lib.bash"

machine=$(gcc -print-multiarch)
musl=/usr/include/${machine/%-gnu/-musl}
[ -d "$musl" ] || cannot_check 'the headers of musl are not installed'
work=$(mktemp -d) others=$work/include
trap 'rm -rf "$work"' EXIT
mkdir -p "$others" "$work/extension" "$work/programs"

# Libraries of the programs, beside the server's archives.
libraries=(pq event_core yaml jansson curl microhttpd gnutls smartcols z lz4 xxhash zstd rdkafka zookeeper_st crypto)

# The headers of the kernel and of libraries, without those of glibc beside them.
link_others()
{
	local place name

	for place in /usr/include "/usr/include/$machine"; do
		for name in asm asm-generic curl event2 gnutls jansson.h jansson_config.h libpq-fe.h lz4.h librdkafka libsmartcols \
			linux microhttpd.h openssl postgresql xxhash.h xxh3.h yaml.h zconf.h zdict.h zlib.h zookeeper zstd.h zstd_errors.h; do
			[ ! -e "$place/$name" ] || cp -Rs "$place/$name" "$others/"
		done
	done
}

# flags_of ARGUMENT... -- what make says, without folders that have glibc's headers
flags_of()
{
	make -s "$@" flags | xargs -n 1 | sed "s,^/usr/include\(/$machine\)\?$,$others,"
}

# compile FOLDER FILE FLAG... -- glibc's checks of calls need headers of glibc
compile()
{
	gcc -nostdinc -isystem "$musl" -isystem "$(gcc -print-file-name=include)" "${@:3}" -U_FORTIFY_SOURCE -O0 -w \
		-idirafter "$others" -Werror=implicit-function-declaration -Wa,-Iweb -c "$2" -o "$work/$1/${2//\//-}.o" 2>&1 |
		sed -n "s,^\(.*\) error: ,\1 with musl: ,p" | head -n 3
}

# names FILE... -- what these libraries and archives define
names()
{
	local file

	for file in "$@"; do
		[ -e "$file" ] || { echo "there is no $file" >&2 && kill $$; }
		case $file in
			*.a) nm -g --defined-only "$file" 2>/dev/null ;;
			*) nm -D --defined-only "$file" ;;
		esac
	done | awk 'NF == 3 { sub(/@.*/, "", $3); print $3 }'
}

# calls_only FOLDER FILE... -- as far as the files, musl and the objects themselves have it
calls_only()
{
	{
		names "${@:2}" "/usr/lib/${musl##*/}/libc.a" "$(gcc -print-file-name=libgcc.a)"
		nm -g --defined-only "$work/$1"/*.o | awk 'NF == 3 { print $3 }'
		echo _GLOBAL_OFFSET_TABLE_
	} | sort -u >"$work/known"
	nm -A -u "$work/$1"/*.o | awk '{ sub(/.*\//, "", $1); sub(/\.o:.*/, "", $1); gsub(/-/, "/", $1); print $NF, $1 }' | sort |
		join -v 1 - "$work/known" | sed 's/\([^ ]*\) \(.*\)/\2:1: no library has \1 beside musl/'
}

link_others
{
	mapfile -t extension < <(flags_of -f extension.mk)
	mapfile -t programs < <(flags_of -C sidecar TOP="$PWD")
	for file in $(files "${product[@]}" -- '*.c'); do
		case $file in
			src/common/*)
				compile programs "$file" "${programs[@]}"
				compile extension "$file" "${extension[@]}"
				;;
			src/*) compile extension "$file" "${extension[@]}" ;;
			*) compile programs "$file" "${programs[@]}" ;;
		esac
	done
	mapfile -t found < <(for name in "${libraries[@]}"; do gcc -print-file-name="lib$name.so"; done)
	calls_only extension "$("$PG_CONFIG" --bindir)/postgres"
	calls_only programs "${found[@]}" "$("$PG_CONFIG" --pkglibdir)"/libpg{common,port}.a
} | breaches
