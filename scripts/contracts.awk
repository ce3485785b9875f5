# contracts.awk -- the declarations that the library knows: prints a row for each
# C function in install scripts.
#
#	awk -f contracts.awk SCRIPT...
#
# See src/base/contract.h.  A declaration is written as contract.c writes it
# from the catalog: types by the names in pg_type, then the result.

BEGIN {
	n = split("integer int4 bigint int8 smallint int2 boolean bool real float4", word, " ")
	for (i = 1; i < n; i += 2)
		catalog_name[word[i]] = word[i + 1]
}

FNR == 1 {
	version = extension = FILENAME
	sub(/.*\//, "", extension)
	sub(/--.*/, "", extension)
	sub(/.*--/, "", version)
	sub(/\.sql$/, "", version)
}

/^CREATE (FUNCTION|PROCEDURE) / { statement = ""; inside = 1 }
inside { line = $0; sub(/[ \t]*--.*/, "", line); statement = statement " " line }
inside && /^AS / {
	if (statement ~ / LANGUAGE c /)
		contract(statement)
	inside = 0
}

function contract(sql,		symbol, strict, declaration)
{
	gsub(/[ \t]+/, " ", sql)
	symbol = sql
	sub(/.* AS 'MODULE_PATHNAME', '/, "", symbol)
	sub(/'.*/, "", symbol)
	strict = sql ~ / LANGUAGE c ([A-Z]+ )*STRICT / ? " strict" : ""
	declaration = symbol ~ /^twt_as_owner/ ? "any" : arguments(sql) " > " result(sql) strict
	if ((symbol in known) && known[symbol] != declaration) {
		print FILENAME ": \"" symbol "\" is declared in two ways: a new declaration needs a new symbol" >"/dev/stderr"
		exit 1
	}
	known[symbol] = declaration
	if (!((version, symbol) in printed))
		printf "\t{\"%s\", \"%s\", \"%s\", \"%s\"},\n", version, symbol, declaration, extension
	printed[version, symbol]
}

# The list between the parentheses, by its commas at the outermost level.
function arguments(sql,		i, c, depth, item, list)
{
	for (i = index(sql, "("); ; i++) {
		c = substr(sql, i, 1)
		depth += (c == "(") - (c == ")")
		if ((c == "," && depth == 1) || depth == 0) {
			list = list (item ~ /^ *$/ ? "" : (list == "" ? "" : ",") argument(item))
			item = ""
			if (depth == 0)
				break
		} else if (c != "(" || depth > 1)
			item = item c
	}
	rest = substr(sql, i + 1)
	return list
}

# [OUT | VARIADIC] NAME TYPE [DEFAULT ...]
function argument(item,		mode, word)
{
	sub(/ DEFAULT .*/, "", item)
	split(item, word, " ")
	mode = word[1] == "OUT" ? "out " : word[1] == "VARIADIC" ? "variadic " : ""
	return mode type(mode == "" ? word[2] : word[3])
}

# A procedure has no RETURNS; arguments() has cut off what stands before.
function result(sql,		word)
{
	if (!match(rest, /^ *RETURNS /))
		return "record"
	split(substr(rest, RLENGTH + 1), word, " ")
	return word[1] == "SETOF" ? "setof " type(word[2]) : type(word[1])
}

function type(name,		schema, array)
{
	gsub(/"/, "", name)
	array = sub(/\[\]$/, "", name) ? "_" : ""
	if (name ~ /\./) {
		schema = substr(name, 1, index(name, "."))
		name = substr(name, length(schema) + 1)
	}
	return schema array (name in catalog_name ? catalog_name[name] : name)
}
