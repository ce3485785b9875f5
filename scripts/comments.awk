# comments.awk -- what \d+ and \df+ show: prints a COMMENT for each function
# and each column of one of the files in sql/.
#
# The comment of a function is the first paragraph of its doc block.  The
# heading of a block names the types of the parameters where several functions
# have that name.  The comment of a column stands behind it in CREATE TABLE.

# literal(TEXT) -- means the same whatever standard_conforming_strings says
function literal(text,		escaped)
{
	gsub(/\047/, "&&", text)
	escaped = gsub(/\\/, "&&", text)
	return (escaped ? "E" : "") "\047" text "\047"
}

/^CREATE TABLE twtasks\.[a-z_]+ \($/ { table = $3; next }
/^\)/ { table = "" }
table != "" && /^\t[a-z_]+[\t ]/ { column = $1 }
table != "" && / ?-- / {
	text = substr($0, index($0, "-- ") + 3)
	comments = comments sprintf("COMMENT ON COLUMN %s.%s IS %s;\n", table, column, literal(text))
	text = ""
}

/^ \* twtasks(_internal)?\.[a-z_]+\(/ { heading = substr($0, 4); text = ""; state = 1; next }
state == 1 && /^ \*\t\t/ { state = 2 }
state == 2 && /^ \*\/?$/ { state = 3 }
state == 2 { sub(/^ \*[\t ]*/, ""); text = text (text == "" ? "" : " ") $0 }

/^CREATE (FUNCTION|PROCEDURE) twtasks(_internal)?\./ && text != "" {
	kind = $2
	name = heading
	sub(/\(.*/, "", name)
	types = heading ~ /\([a-z_]+ [a-z_.\[\]]+[,)]/ ? heading : name
	comments = comments sprintf("COMMENT ON %s %s IS %s;\n", kind, types, literal(text))
	text = ""
}

END { printf "%s", comments }
