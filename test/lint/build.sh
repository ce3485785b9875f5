#!/usr/bin/env bash
#
# A clean build has no warnings, with gcc and with clang.

. "$(dirname "$0")/lib.bash"
# shellcheck source=../../scripts/lib.sh
. scripts/lib.sh

copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT

# from_root -- names files as seen from the root: those of the programs do not
from_root()
{
	while IFS= read -r line; do
		line=${line#../}
		for directory in lib sidecar web tools; do
			[ -e "${line%%:*}" ] || [ ! -e "$directory/${line%%:*}" ] || line=$directory/$line
		done
		printf '%s\n' "$line"
	done | sort -u
}

# build COMPILER TARGET... [VARIABLE=VALUE...] -- in a copy, so that nobody's objects are
# touched; -k, to hear everything at once
build()
{
	rm -rf "${copy:?}/$1"
	mkdir "$copy/$1"
	copy_sources "$copy/$1"
	run_make -s -k -C "$copy/$1" CC="$1" WERROR=1 "${@:2}" >"$copy/$1.log" 2>&1 && return
	sed -n "s,^\([^ ]*:[0-9]*\):.* \(error\|warning\): ,\1: $1: ,p" "$copy/$1.log" | from_root
	echo "Makefile:1: $* could not build everything"
	grep -E 'ld: |undefined reference|No rule' "$copy/$1.log" | head -n 5 || true
}

# build_supervisor COMPILER FLAG... -- it has no C library, whatever flags a builder adds
build_supervisor()
{
	run_make -s -B -C "$copy/$1/workers/run" CC="$1" CFLAGS="${*:2}" WERROR=1 >"$copy/$1.log" 2>&1 ||
		echo "workers/run/Makefile:1: could not be built by $*"
}

# absent HEADER... -- makes headers that no build can include
absent()
{
	local header

	for header; do
		mkdir -p "$copy/absent/${header%/*}"
		echo '#error "this library is not installed"' >"$copy/absent/$header"
	done
}

absent librdkafka/rdkafka.h zookeeper/zookeeper.h
for compiler in gcc clang; do
	command -v $compiler >/dev/null || cannot_check "$compiler is not installed"
	build $compiler all
	build_supervisor $compiler -O0 -g
	build_supervisor $compiler -O2 -flto
done | breaches

# Without the libraries that a build can leave out.  That decides which files of the
# programs are compiled, not how, so one compiler with little optimization is enough.
# shellcheck disable=SC2046 # words
C_INCLUDE_PATH=$copy/absent build gcc sidecar web tools workers CFLAGS=-O1 $(sed -n 's/^# \(WITH_[A-Z]*=no\) .*/\1/p' Makefile | sort -u) | breaches
