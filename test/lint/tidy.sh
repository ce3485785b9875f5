#!/usr/bin/env bash
#
# clang-tidy, with the checks of .clang-tidy, finds nothing.

. "$(dirname "$0")/lib.bash"
need clang-tidy

# tidy FLAGS -- the files in its input, all at once or one by one
tidy()
{
	# shellcheck disable=SC2086 # the flags are words
	xargs -r -n 4 -P "$(nproc)" sh -c 'clang-tidy --quiet "$@" -- $FLAGS 2>/dev/null' tidy ||
		[ $? -eq 123 ]
}

findings()
{
	make -s -f extension.mk src/common/version.h
	make -s -C web embedded
	export FLAGS
	FLAGS=$(make -s -f extension.mk flags CC=clang)
	files src -- '*.c' | tidy
	FLAGS=$(make -s -C sidecar flags CC=clang | sed "s,\.\./,$PWD/,g")
	files "${programs[@]}" -- '*.c' | tidy
}

findings | sed -nE "s,^$PWD/,,; /: (warning|error): /p" | sort -u | breaches
