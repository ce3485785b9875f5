#!/usr/bin/env bash
#
# A header includes what it needs: it compiles alone, twice, after the file
# that its side of the house always includes first.

. "$(dirname "$0")/lib.bash"

# first HEADER -- what every file there includes first
first()
{
	case $1 in
		src/common/*) ;;
		src/*) echo '#include "postgres.h"' ;;
		*) echo '#include "base/port.h"' ;;
	esac
}

# check COMPILER HEADER FLAG...
check()
{
	printf '%s\n' "$(first "$2")" "#include \"$2\"" "#include \"$2\"" |
		"$1" "${@:3}" -I. -Werror -fsyntax-only -x c - 2>&1 |
		sed -n "s,^,$2:1: not alone with $1: ,p" | grep -m 2 'error:' || true
}

{
	make -s -f extension.mk src/common/version.h
	for compiler in gcc clang; do
		command -v $compiler >/dev/null || continue
		mapfile -t extension < <(make -s -f extension.mk flags CC=$compiler | xargs -n 1)
		mapfile -t sidecar < <(make -s -C sidecar flags CC=$compiler TOP="$PWD" | xargs -n 1)
		for header in $(files "${product[@]}" test/unit -- '*.h'); do
			case $header in
				src/*) check $compiler "$header" "${extension[@]}" ;;
				*) check $compiler "$header" "${sidecar[@]}" ;;
			esac
		done
	done
} | breaches
