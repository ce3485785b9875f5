#!/bin/sh
#
# A worker in shell: one line per task on stdin, one line per reply on stdout.
#
# This worker needs no JSON parser: each task's line begins with
# {"id":"...","version":N, in this order, whatever the data contains.

do_task()						# LINE
{
	: "put your work here: $1"
}

while IFS= read -r line; do
	case $line in
		'{"id":"'*) ;;
		*) continue ;;			# a hello or a cancel: nothing to stop
	esac
	id=${line#'{"id":"'} && id=${id%%'"'*}
	version=${line#*'"version":'} && version=${version%%[!0-9]*}

	printf '{"id":"%s","version":%s,"started":true}\n' "$id" "$version"

	# Output of your work must not mix with the replies.
	if do_task "$line" >&2; then result="done"; else result="retry"; fi
	printf '{"id":"%s","version":%s,"result":"%s"}\n' "$id" "$version" "$result"
done
