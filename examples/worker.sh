#!/bin/sh
#
# A worker in shell: one line per task on stdin, one line per reply on stdout.
#
# There is no JSON parser here, and none is needed: the line begins with
# {"id":"...","version":N, and in that order, whatever the task's data holds.

do_task()						# LINE
{
	: "your work: $1"
}

while IFS= read -r line; do
	case $line in
		'{"id":"'*) ;;
		*) continue ;;			# the hello, or a cancel: nothing to stop
	esac
	id=${line#'{"id":"'} && id=${id%%'"'*}
	version=${line#*'"version":'} && version=${version%%[!0-9]*}

	printf '{"id":"%s","version":%s,"started":true}\n' "$id" "$version"

	# What the work prints must not get in between the replies.
	if do_task "$line" >&2; then result="done"; else result="retry"; fi
	printf '{"id":"%s","version":%s,"result":"%s"}\n' "$id" "$version" "$result"
done
