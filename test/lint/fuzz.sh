#!/usr/bin/env bash
#
# Each file of the programs that parses text has a row in test/fuzz/parsers.txt: the fuzz
# target that reaches it, or why none does.  Each target has a corpus, and each corpus a
# target.

. "$(dirname "$0")/lib.bash"

list=test/fuzz/parsers.txt
# Functions of which nearly every parser calls one.
calls='json_load[sb]|json_member|json_unpack|strto(l|ll|ul|ull|d)|sscanf|strptime|yaml_parser_[a-z]+|inet_pton|curl_url_set|curl_getdate|PQconninfoParse|inflate|ZSTD_decompressStream|LZ4_decompress[a-z_]*|pg_b64_decode|getopt_long|trigger_decode|MHD_get_connection_values'

# file, target or -, reason
rows()
{
	grep -v '^#' $list
}

parsers()
{
	files "${programs[@]}" src/common -- '*.c' | xargs -r grep -lE "\b($calls)\(" || [ $? -eq 123 ]
}

targets()
{
	files test/fuzz -- 'fuzz_*.c' | sed 's,.*/fuzz_\(.*\)\.c,\1,' | sort
}

{
	comm -23 <(parsers | sort) <(rows | cut -f 1 | sort) | sed "s,\$,:1: has no row in $list,"
	rows | awk -F '\t' -v list=$list 'NF < 2 || ($2 == "-" && $3 == "") { print list ":1: " $1 " has neither a target nor a reason" }'
	rows | cut -f 1 | while read -r file; do
		[ -e "$file" ] || echo "$list:1: there is no $file"
	done
	comm -23 <(rows | cut -f 2 | grep -vx -e - | sort -u) <(targets) | sed "s,^,$list:1: there is no target ,"
	comm -13 <(rows | cut -f 2 | sort -u) <(targets) | sed "s,.*,test/fuzz/fuzz_&.c:1: $list does not name it,"
	comm -3 <(targets) <(cd test/fuzz/corpus && printf '%s\n' * | sort) | tr -d '\t' | sed 's,^,test/fuzz/corpus:1: target without corpus or corpus without target: ,'
} | breaches
