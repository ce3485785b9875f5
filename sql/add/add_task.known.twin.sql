
/*
 * twtasks_internal.count_changes(word, other)
 *
 *		The number of characters to add, drop or replace between two words.
 */
CREATE FUNCTION twtasks_internal.count_changes(word text, other text)
RETURNS integer
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	before integer[];	-- Changes to each part of other
	changes integer[];
BEGIN
	-- A type has 120 characters at most, and what is longer is none.
	word := left(word, 250);
	other := left(other, 250);
	before := ARRAY(SELECT generate_series(0, length(other)));
	FOR i IN 1 .. length(word) LOOP
		changes := ARRAY[i];
		FOR j IN 1 .. length(other) LOOP
			changes[j + 1] := least(changes[j] + 1, before[j + 1] + 1,
				before[j] + CASE WHEN substr(word, i, 1) = substr(other, j, 1) THEN 0 ELSE 1 END);
		END LOOP;
		before := changes;
	END LOOP;
	RETURN before[length(other) + 1];
END $$;

/*
 * twtasks_internal.nearest_type(type)
 *
 *		The known type that is the fewest changes away, patterns excluded; NULL: none is near.
 */
CREATE FUNCTION twtasks_internal.nearest_type(type text)
RETURNS text
LANGUAGE sql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT n.name
	FROM (SELECT k.name, twtasks_internal.count_changes(nearest_type.type, k.name) AS changes
		  FROM (SELECT h.pattern FROM twtasks.handled_type h UNION ALL SELECT p.pattern FROM twtasks.type_policy p) k(name)
		  WHERE strpos(k.name, '*') = 0 AND abs(length(k.name) - length(nearest_type.type)) <= least(3, length(nearest_type.type) / 2)
		  OFFSET 0) n
	WHERE n.changes <= least(3, length(nearest_type.type) / 2)
	ORDER BY n.changes LIMIT 1
$$;
