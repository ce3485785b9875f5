#!/bin/sh
#
# command.sh -- a handler of the tests that behaves as its arguments say:
#
#	exit STATUS [TEXT]		says TEXT on stderr and exits
#	signal NAME				ends itself by a signal
#	hold FIFO HOW			holds FIFO open and stays, see below
#	leave FIFO HOW			starts a child that does, and exits with 0
#	flood BYTES				writes so much to stdout and to stderr, exits with 3
#	unread [FIFO]			never reads its stdin; with FIFO stays
#	compare FILE			exits with 0 if stdin is what FILE holds
#	drip FIFO				writes a byte to stderr now and then, for ever

# Says on the fifo that it is there, and keeps it open: who reads from the fifo
# finds its end when all who hold it are dead.
hold()
{
	exec 9>"$1"
	echo here >&9
	[ -z "${READY:-}" ] || kill -s USR1 "$READY"
}

# For ever, without a process of its own to wait for.
stay()
{
	exec sleep 100000
}

case $1 in
	exit)
		[ -z "${3:-}" ] || printf '%b' "$3" >&2
		exit "$2"
		;;
	signal)
		kill -s "$2" $$
		;;
	hold)
		case $3 in
			alone) hold "$2" && stay ;;
			deaf)						# to TERM
				trap '' TERM
				hold "$2" && stay
				;;
			polite)						# exits well when asked to end
				trap 'echo bye >&2; exit 0' TERM
				hold "$2"
				sleep 100000 &
				wait						# no signal falls between a look and a wait
				;;
			briefly)					# until the fifo beside it has a line
				hold "$2"
				read -r _ <"$2.go"
				;;
			child)						# in its group, with its pipes
				(hold "$2" && stay) &
				stay
				;;
			session)					# out of its group, with its pipes
				setsid "$0" hold "$2" deaf &
				stay
				;;
			*) exit 99 ;;
		esac
		;;
	leave)
		trap 'exit 0' USR1				# the child is there
		export READY=$$
		case $3 in
			child) "$0" hold "$2" deaf & ;;
			session) setsid "$0" hold "$2" briefly & ;;
			*) exit 99 ;;
		esac
		wait
		;;
	flood)
		head -c "$2" /dev/zero
		head -c "$2" /dev/zero >&2
		exit 3
		;;
	unread)
		[ -z "${2:-}" ] || { hold "$2" && stay; }
		exit 0
		;;
	compare)
		exec cmp -s - "$2"
		;;
	drip)
		hold "$2"
		while :; do printf x >&2; sleep 0.01; done
		;;
	*)
		exit 99
		;;
esac
