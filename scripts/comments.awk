# comments.awk -- what \df+ shows: prints, for each function of one of the
# files in sql/, a COMMENT with the first paragraph of its doc block.
#
# The heading of a block names the types of the parameters where there are
# several functions of that name.

/^ \* twtasks(_internal)?\.[a-z_]+\(/ { heading = substr($0, 4); text = ""; state = 1; next }
state == 1 && /^ \*\t\t/ { state = 2 }
state == 2 && /^ \*$/ { state = 3 }
state == 2 { sub(/^ \*[\t ]*/, ""); text = text (text == "" ? "" : " ") $0 }

/^CREATE (FUNCTION|PROCEDURE) twtasks(_internal)?\./ && text != "" {
	kind = $2
	name = heading
	sub(/\(.*/, "", name)
	types = heading ~ /\([a-z_]+ [a-z_.\[\]]+[,)]/ ? heading : name
	gsub(/\047/, "\047\047", text)
	comments = comments sprintf("COMMENT ON %s %s IS \047%s\047;\n", kind, types, text)
	text = ""
}

END { printf "%s", comments }
