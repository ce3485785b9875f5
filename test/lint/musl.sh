#!/usr/bin/env bash
#
# The product compiles with the headers of musl, the C library of Alpine, and so names
# nothing that only glibc has.  Nothing is linked or run.  The headers of the server and
# of the libraries are those made for glibc.

. "$(dirname "$0")/lib.bash"

machine=$(gcc -print-multiarch)
musl=/usr/include/${machine/%-gnu/-musl}
[ -d "$musl" ] || cannot_check 'the headers of musl are not installed'
others=$(mktemp -d)
trap 'rm -rf "$others"' EXIT

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

# compile FILE FLAG... -- glibc's checks of calls need headers of glibc
compile()
{
	gcc -nostdinc -isystem "$musl" -isystem "$(gcc -print-file-name=include)" "${@:2}" -U_FORTIFY_SOURCE \
		-idirafter "$others" -Werror=implicit-function-declaration -fsyntax-only "$1" 2>&1 |
		sed -n "s,^\(.*\) error: ,\1 with musl: ,p" | head -n 3
}

link_others
{
	mapfile -t extension < <(flags_of -f extension.mk)
	mapfile -t programs < <(flags_of -C sidecar TOP="$PWD")
	for file in $(files "${product[@]}" -- '*.c'); do
		case $file in
			src/common/*) compile "$file" "${programs[@]}" ;;
			src/*) compile "$file" "${extension[@]}" ;;
			*) compile "$file" "${programs[@]}" ;;
		esac
	done
} | breaches
