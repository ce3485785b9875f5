# upgrade.awk -- the part of an upgrade script that follows from the sources:
#
#	awk -v extension=NAME -f upgrade.awk RELEASED BY-HAND FILE...
#
# RELEASED is the install script of the version before, BY-HAND the part of the
# upgrade that is written by hand.  The FILEs are the parts of the install script of
# today.
#
#		functions, procedures, views		are written anew, with their comments
#		tables, types, sequences,			are made if RELEASED makes none of that name,
#		indexes, triggers					or BY-HAND makes none; a change is written by hand
#		rows of constant tables				are written anew if they differ; an INSERT with
#											ON CONFLICT says itself what becomes of rows
#		rights								are given where RELEASED did not give them
#
# An administrator may have given more rights, or taken some away.  So an object
# that stays keeps its owner and its rights.

FNR == 1 { file++; statement = tag = ""; in_comment = 0 }
in_comment { in_comment = !/\*\//; next }
statement == "" && /^\/\*/ { in_comment = !/\*\//; next }
statement == "" && /^([ \t]*$|--|\\)/ { next }
{
	statement = statement $0 "\n"
	read_quotes($0)
	code = $0
	sub(/[ \t]*--.*/, "", code)
	if (tag != "" || code !~ /;[ \t]*$/)
		next
	if (file <= 2)
		remember(plain(statement))
	else
		upgrade(statement, plain(statement))
	statement = ""
}

# read_quotes(LINE) -- the tag of the quotes that its end is in goes to "tag", or nothing
function read_quotes(line)
{
	while (match(line, /\$[a-z_]*\$/)) {
		if (tag == "")
			tag = substr(line, RSTART, RLENGTH)
		else if (tag == substr(line, RSTART, RLENGTH))
			tag = ""
		else
			RLENGTH--
		line = substr(line, RSTART + RLENGTH)
	}
}

# plain(SQL) -- without comments, with one space between words
function plain(sql)
{
	gsub(/[ \t]*--[^\n]*/, "", sql)
	gsub(/[ \t\n]+/, " ", sql)
	sub(/;? $/, "", sql)
	return sql
}

# name_of(SQL) -- the object of a CREATE, which for a trigger includes its table
function name_of(sql,		word)
{
	sub(/^CREATE UNIQUE /, "CREATE ", sql)
	split(sql, word, " ")
	return word[2] " " word[3] (word[2] == "TRIGGER" && match(sql, / ON [^ ]+/) ? substr(sql, RSTART, RLENGTH) : "")
}

function remember(sql)
{
	known[sql]
	if (sql ~ /^CREATE /)
		known[name_of(sql)]
	if (sql ~ /^GRANT /)
		grants(sql, 0)
}

function upgrade(text, sql)
{
	if (text ~ /^CREATE (FUNCTION|PROCEDURE|VIEW) /)
		print "CREATE OR REPLACE" substr(text, 7)
	else if (sql ~ /^COMMENT /)
		print text
	else if (sql ~ /^DO /)
		upgrade_block(text)
	else if (sql ~ /^GRANT /)
		grants(sql, 1)
	else if (!(sql in known) && !(sql ~ /^CREATE / && name_of(sql) in known))
		print (sql ~ /^INSERT INTO / && sql !~ / ON CONFLICT / ? delete_of(sql) : "") text
}

function delete_of(sql,		word)
{
	split(sql, word, " ")
	return "DELETE FROM " word[3] ";\n"
}

# Three kinds of blocks run again: those that refuse a library or an order of
# installation, the one that makes the roles that are missing, and the one that gives
# all to twtasks_owner, which passes over what twtasks_owner has.
function upgrade_block(text)
{
	if (text ~ /feature_not_supported|CREATE ROLE/)
		print text
	if (text !~ /OWNER TO twtasks_owner/)
		return
	sub(/@extension@/, extension, text)
	print "SELECT pg_catalog.set_config('twtasks_update.made', COALESCE(pg_catalog.string_agg("
	print "\tpg_catalog.format('%s/%s', d.classid, d.objid), ' '), ''), true)"
	print "FROM pg_catalog.pg_depend d"
	print "JOIN pg_catalog.pg_extension e ON e.oid OPERATOR(pg_catalog.=) d.refobjid"
	print "WHERE d.refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_extension'::pg_catalog.regclass"
	print "  AND e.extname OPERATOR(pg_catalog.=) '" extension "' AND d.deptype OPERATOR(pg_catalog.=) 'e'"
	print "  AND NOT EXISTS (SELECT FROM pg_catalog.pg_shdepend s"
	print "\t\t\t\t  WHERE s.classid OPERATOR(pg_catalog.=) d.classid AND s.objid OPERATOR(pg_catalog.=) d.objid"
	print "\t\t\t\t\tAND s.dbid OPERATOR(pg_catalog.=) (SELECT b.oid FROM pg_catalog.pg_database b"
	print "\t\t\t\t\t\tWHERE b.datname OPERATOR(pg_catalog.=) pg_catalog.current_database())"
	print "\t\t\t\t\tAND s.deptype OPERATOR(pg_catalog.=) 'o'"
	print "\t\t\t\t\tAND s.refobjid OPERATOR(pg_catalog.=) 'twtasks_owner'::pg_catalog.regrole);\n"
	print text
}

# grants(SQL, WRITE) -- splits a GRANT by object and role, to remember or to write
function grants(sql, write,		part, kind, objects, roles, n, i, j)
{
	match(sql, / TO [^()]*$/)
	n = split(substr(sql, RSTART + 4), roles, /, */)
	sql = substr(sql, 7, RSTART - 7)
	split(sql, part, " ON ")
	kind = part[2] ~ /^(FUNCTION|PROCEDURE|SCHEMA) / ? substr(part[2], 1, index(part[2], " ") - 1) : "TABLE"
	sub(/^(FUNCTION|PROCEDURE|SCHEMA) /, "", part[2])
	split_list(part[2], objects)
	for (i = 1; i in objects; i++)
		for (j = 1; j <= n; j++)
			grant(part[1], kind, objects[i], roles[j], write)
}

# split_list(LIST, ITEMS) -- splits at commas outside of parentheses
function split_list(list, items,		i, c, depth, n)
{
	delete items
	n = 1
	for (i = 1; i <= length(list); i++) {
		c = substr(list, i, 1)
		depth += (c == "(") - (c == ")")
		if (c == "," && !depth)
			n++
		else if (c != " " || depth)
			items[n] = items[n] c
	}
}

function grant(privilege, kind, object, role, write,		key)
{
	key = privilege " ON " kind " " object " TO " role
	if (!write)
		known[key]
	else if (kind != "SCHEMA" || !(key in known))
		rows = rows sprintf("%s\t\t('%s', '%s', '%s', '%s', %s)", rows == "" ? "" : ",\n",
			privilege, kind, object, role, key in known ? "false" : "true")
}

END {
	if (statement != "") {
		print "an unfinished statement: " statement >"/dev/stderr"
		exit 1
	}
	if (rows == "")
		exit
	print "DO $$"
	print "DECLARE"
	print "\tmade CONSTANT text[] := pg_catalog.string_to_array(pg_catalog.current_setting('twtasks_update.made'), ' ');"
	print "\tgiven record;"
	print "BEGIN"
	print "\tFOR given IN SELECT * FROM (VALUES"
	print rows ") r (privilege, kind, object, role, is_new)"
	print "\tLOOP"
	print "\t\tCONTINUE WHEN NOT given.is_new AND (CASE"
	print "\t\t\tWHEN given.kind OPERATOR(pg_catalog.=) 'TABLE' THEN pg_catalog.format('%s/%s',"
	print "\t\t\t\t'pg_catalog.pg_class'::pg_catalog.regclass::pg_catalog.oid, given.object::pg_catalog.regclass::pg_catalog.oid)"
	print "\t\t\tELSE pg_catalog.format('%s/%s', 'pg_catalog.pg_proc'::pg_catalog.regclass::pg_catalog.oid,"
	print "\t\t\t\tCASE WHEN given.object OPERATOR(pg_catalog.~~) '%(%' THEN given.object::pg_catalog.regprocedure::pg_catalog.oid"
	print "\t\t\t\tELSE given.object::pg_catalog.regproc::pg_catalog.oid END) END) OPERATOR(pg_catalog.<>) ALL (made);"
	print "\t\tEXECUTE pg_catalog.format('GRANT %s ON %s %s TO %s', given.privilege, given.kind, given.object, given.role);"
	print "\tEND LOOP;"
	print "END $$;"
}
