#!/usr/bin/env bash
#
# Functions that have no place in what we ship.  TWT_FUNCTION stands in for
# PG_FUNCTION_INFO_V1.  Processes are started below spawn.c only, without a shell, but
# for the check of a configuration in hello.c and the commands of twtasks-notify.
# SQL is constants and parameters: a statement put together by printf says, in a comment
# within the three lines above, "lint: sql" and why its parts are safe.

. "$(dirname "$0")/lib.bash"

banned='PG_FUNCTION_INFO_V1|system|popen|strcpy|strcat|sprintf|vsprintf|gets|atoi|atol|atof|strtok|tmpnam|mktemp'
# A hostile server may write past the end of what these functions of libpq are given.
banned+='|PQfn|lo_[a-z0-9]+'
builders='(v?snprintf|psprintf|appendStringInfo|appendPQExpBuffer|printfPQExpBuffer)'
statement='"\s*(SELECT|INSERT|UPDATE|DELETE|MERGE|CALL|CREATE|ALTER|DROP|LISTEN|NOTIFY|SET|COPY|WITH|DO|GRANT|PREPARE|EXECUTE)\b'

calls()
{
	files "${product[@]}" -- '*.[ch]' | xargs -r perl test/lint/code.pl --no-strings |
		perl -ne "print \"\$1: \$2() is banned\n\"
			if /^([^:]+:\d+):.*?(?<![\w.>])($banned)\s*\(/;
			print \"\$1: \$2() outside of spawn.c, hello.c and notify_command.c\n\"
			if /^([^:]+:\d+):.*?(?<![\w.>])(v?fork|posix_spawnp?)\s*\(/
				&& !m,^lib/(process/spawn|options/hello)\.c:|^workers/run/kernel\.h:|^workers/notify/notify_command\.c:,"
}

built_statements()
{
	files "${product[@]}" -- '*.c' | xargs -r perl -ne "
		\$excused = \$. if /lint: sql/;
		print \"\$ARGV:\$.: SQL built by printf\n\"
			if (/$builders\s*\(/ || \$builder) && /$statement.*%/ && \$. - (\$excused // -9) > 3;
		\$builder = /$builders\s*\([^;]*\$/;
		if (eof) { close ARGV; undef \$excused; }"
}

{
	calls
	built_statements
} | breaches
