# columns.awk -- a block for an upgrade script that refuses a database without
# the tables and types of the version that it says it has.
#
#	awk -f columns.awk SCRIPT
#
# Before a version is released, sources of that number differ from day to day.

FNR == 1 {
	version = extension = FILENAME
	sub(/.*--/, "", version)
	sub(/\.sql$/, "", version)
	sub(/.*\//, "", extension)
	sub(/--.*/, "", extension)
}

/^CREATE (TABLE|TYPE) [a-z_.]+ (AS )?\($/ { relation = $3; next }
/^\)/ { relation = "" }
relation != "" && /^\t"?[a-z_]+"?[\t ]/ {
	name = $1
	gsub(/"/, "", name)
	rows = rows sprintf("%s\t\t('%s', '%s')", rows == "" ? "" : ",\n", relation, name)
}

END {
	if (rows == "")
		exit
	print "DO $$"
	print "DECLARE"
	print "\tlacks CONSTANT text := (SELECT pg_catalog.string_agg(pg_catalog.format('%s.%s', c.relation, c.name), ', ') FROM (VALUES"
	print rows ") c (relation, name)"
	print "\t\tWHERE NOT EXISTS (SELECT FROM pg_catalog.pg_attribute a"
	print "\t\t\tWHERE a.attrelid OPERATOR(pg_catalog.=) pg_catalog.to_regclass(c.relation)"
	print "\t\t\t  AND a.attname OPERATOR(pg_catalog.=) c.name::pg_catalog.name AND NOT a.attisdropped));"
	print "BEGIN"
	print "\tIF lacks IS NOT NULL THEN"
	print "\t\tRAISE EXCEPTION 'the SQL of extension \"" extension "\" in this database is not version " version ", though it says so'"
	print "\t\t\tUSING ERRCODE = 'feature_not_supported',"
	print "\t\t\t\tDETAIL = pg_catalog.format('It comes from sources before the release.  It lacks: %s.', lacks),"
	print "\t\t\t\tHINT = 'Install the library of those sources again, let the tasks end, then drop the extension and create it anew.';"
	print "\tEND IF;"
	print "END $$;"
	print ""
}
