# variables.awk -- lets variables of PL/pgSQL go before columns of the same name, which
# users may add to our tables:
#
#	awk -f variables.awk SCRIPT
#
# Gives each function in PL/pgSQL the word for it, unless its source says which goes first.
# The word stands behind the opening quotes, so that the lines of a body keep their numbers.

/^CREATE (OR REPLACE )?(FUNCTION|PROCEDURE) / { is_plpgsql = 0 }
/^LANGUAGE plpgsql/ { is_plpgsql = 1 }
opening != "" {
	print opening ($0 ~ /^#variable_conflict / ? "" : " #variable_conflict use_variable")
	opening = ""
}
is_plpgsql && /^AS \$[a-z_]*\$$/ { opening = $0; is_plpgsql = 0; next }
{ print }
