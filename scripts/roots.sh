# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154
#
# roots.sh -- root directories of releases of Debian, for the scripts that try twtasks
# there.  Sourced after lib.sh, never run.
#
# The roots hold packages only.  Each is kept for a week.  Its file /made says that it
# may be thrown away.  Only root can make such roots.

# Release, its name, PostgreSQL.  No release of Debian has version 16.
servers='
bookworm Debian-12      15
trixie   Debian-13      17
forky    Debian-testing 18'

cache=${XDG_CACHE_HOME:-/var/cache}/twtasks/roots
days_kept=7

# server RELEASE -- sets name, version and directory
server()
{
	read -r name version < <(sed -n "s/^$1 //p" <<<"$servers") || die "unrecognized release: $1"
	directory=$cache/$1
}

# Where this machine's own packages come from.
mirror()
{
	apt-get indextargets --format '$(REPO_URI)' 2>/dev/null | sed 's,/$,,' | grep -m 1 '/debian$' ||
		{ echo "apt knows no mirror of Debian" && return 1; }
}

fresh()
{
	[ -n "$(find "$1/made" -mtime "-$days_kept" 2>/dev/null)" ]
}

# make_root RELEASE -- unless there is a fresh one
make_root()
{
	local directory name version from

	server "$1"
	! fresh "$directory" || return 0
	from=$(mirror) || return 1
	rm -rf --one-file-system "$directory"
	mkdir -p "$cache"
	debootstrap --variant=minbase --keyring=/usr/share/keyrings/debian-archive-keyring.gpg \
		"$1" "$directory" "$from" /usr/share/debootstrap/scripts/sid || return 1
	echo force-unsafe-io >"$directory/etc/dpkg/dpkg.cfg.d/twtasks"
	touch "$directory/made"
}

# take ROOT OTHER -- makes a root that is a copy of the other one
take()
{
	rm -rf --one-file-system "${cache:?}/$1"
	cp -a "$cache/$2" "$cache/$1"
	cp /etc/resolv.conf /etc/hosts "$cache/$1/etc/"
}

# sources RELEASE -- this machine's repositories of Debian, for that release: a package
# may need the server of a security update, with which it was built
sources()
{
	local here

	here=$(. /etc/os-release && echo "$VERSION_CODENAME")
	# shellcheck disable=SC2016 # apt's variables
	apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)' |
		grep -E '/debian(-security)?/? ' | sed "s/ $here/ $1/" | sort -u
}

# in_root RELEASE COMMAND... -- runs it in /twtasks there.  Its first process
# ends with us, and all others end with that one.
in_root()
{
	# shellcheck disable=SC2016 # the inner shell's parameters
	unshare --mount --pid --ipc --fork --kill-child bash -euc '
		mount --rbind /dev "$1/dev"
		mount -t tmpfs -o mode=1777 shm "$1/dev/shm"
		mount -t proc proc "$1/proc"
		exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
			DEBIAN_FRONTEND=noninteractive ${CI:+CI=$CI} ${http_proxy:+http_proxy=$http_proxy} \
			chroot "$1" sh -c "mkdir -p /twtasks && cd /twtasks && exec \"\$@\"" in_root "${@:2}"
	' in_root "$cache/$1" "${@:2}" </dev/null 9>&-
}

# trust_as_here RELEASE -- certificates that the administrator of this machine added, since
# a registry may be reached through a server of the house
trust_as_here()
{
	local added=/usr/local/share/ca-certificates

	[ ! -d $added ] || cp -RT $added "$cache/$1$added" || return 1
	in_root "$1" sh -c '! command -v update-ca-certificates || update-ca-certificates' >/dev/null
}

# copy_clone RELEASE -- without what was built for this machine
copy_clone()
{
	local clone=$cache/$1/twtasks

	rm -rf "$clone" && mkdir "$clone" || return 1
	cp /etc/resolv.conf /etc/hosts "$cache/$1/etc/"		# names are found as here
	trust_as_here "$1" || return 1
	tar -C "$root" --exclude=./.git --exclude=./check-output --exclude=./packages --exclude=./build.told -cf - . | tar -C "$clone" --no-same-owner -xf - || return 1
	in_root "$1" sh -c 'rm -rf /tmp/*'
}

# with_cgroups COMMAND... -- with control groups of version 2 where programs look for them;
# mounts are the command's own
with_cgroups()
{
	unshare --mount bash -euc '
		[ -e /sys/fs/cgroup/cgroup.procs ] || {
			umount -R /sys/fs/cgroup || true
			mount -t cgroup2 cgroup2 /sys/fs/cgroup
		}
		exec "$@"
	' with_cgroups "$@"
}
