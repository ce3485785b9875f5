/*
 * twtasks_internal.check_identifier(name, identifier)
 *
 *		Raises an error unless the text can name an action.
 *
 * Errors
 *		22023			it is NULL, empty, longer than 250 bytes, or has control characters
 */
CREATE FUNCTION twtasks_internal.check_identifier(name text, identifier text)
RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF identifier IS NULL THEN
		RAISE EXCEPTION 'identifier of kind "%" is null', name USING ERRCODE = 'invalid_parameter_value';
	END IF;
	IF octet_length(identifier) NOT BETWEEN 1 AND 250 OR identifier ~ '[[:cntrl:]]' THEN
		RAISE EXCEPTION 'invalid identifier of kind "%": "%"', name, twtasks_internal.shown(identifier)
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = 'An identifier has 1 to 250 bytes and no control characters.';
	END IF;
END $$;

/*
 * twtasks_internal.template_values(template, event)
 *
 *		Returns the values to which the JSON pointers (RFC 6901) of a template lead, in
 *		their order.
 *
 * Errors
 *		22023			the event has no text, number or boolean there
 */
CREATE FUNCTION twtasks_internal.template_values(template text, event jsonb)
RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	pieces CONSTANT text[] := string_to_array(template, '{/');
	pointer text;
	path text[];
	value jsonb;
	values text[] := '{}';
BEGIN
	FOR i IN 2 .. cardinality(pieces) LOOP
		pointer := split_part(pieces[i], '}', 1);
		path := string_to_array(pointer, '/');
		IF strpos(pointer, '~') > 0 THEN
			FOR n IN 1 .. cardinality(path) LOOP
				path[n] := replace(replace(path[n], '~1', '/'), '~0', '~');
			END LOOP;
		END IF;
		value := event #> path;
		IF value IS NULL OR jsonb_typeof(value) NOT IN ('string', 'number', 'boolean') THEN
			RAISE EXCEPTION 'path "/%" names no value', pointer
				USING ERRCODE = 'invalid_parameter_value',
					DETAIL = format('The identifier "%s" needs a text, a number or a boolean there.', template);
		END IF;
		values := array_append(values, value #>> '{}');
	END LOOP;
	RETURN values;
END $$;

/*
 * twtasks_internal.fill_template(template, event)
 *
 *		Replaces each JSON pointer in braces by the value to which it points.
 *
 * Errors
 *		22023			as template_values()
 */
CREATE FUNCTION twtasks_internal.fill_template(template text, event jsonb)
RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	values CONSTANT text[] := twtasks_internal.template_values(template, event);
	pieces CONSTANT text[] := string_to_array(template, '{/');
	filled text := pieces[1];
BEGIN
	FOR i IN 2 .. cardinality(pieces) LOOP
		filled := concat(filled, values[i - 1], split_part(pieces[i], '}', 2));
	END LOOP;
	RETURN filled;
END $$;

/*
 * twtasks_internal.is_same_action(known, event, started)
 *
 *		Whether two events of one identifier have the same values where its template
 *		looks.  By {/a}-{/b} the values x-y and z make the same identifier as x and y-z.
 */
CREATE FUNCTION twtasks_internal.is_same_action(known twtasks.kind, event jsonb, started jsonb)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT known.identifier !~ '[{]' OR event = started
		OR twtasks_internal.template_values(known.identifier, event) = twtasks_internal.template_values(known.identifier, started)
$$;

/*
 * twtasks_internal.identifier_of(known, event)
 *
 *		Returns the identifier that the kind's template or function makes of an event.
 *
 * Errors
 *		22023			the event lacks a value, or the identifier is not valid; all errors of
 *						the function
 */
CREATE FUNCTION twtasks_internal.identifier_of(known twtasks.kind, event jsonb)
RETURNS text
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	made CONSTANT text := CASE WHEN known.identifier ~ '[{]'
		THEN twtasks_internal.fill_template(known.identifier, event)
		ELSE twtasks_internal.call_function('identifier', known.identifier, 'text', NULL, event) END;
BEGIN
	PERFORM twtasks_internal.check_identifier(known.name, made);
	RETURN made;
END $$;

/*
 * twtasks_internal.kind_named(name)
 *
 *		Returns the kind of that name.
 *
 * Errors
 *		22004			name is NULL
 *		42704			there is no such kind
 */
CREATE FUNCTION twtasks_internal.kind_named(name text)
RETURNS twtasks.kind
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	known twtasks.kind;
BEGIN
	IF name IS NULL THEN
		RAISE EXCEPTION 'name must not be null' USING ERRCODE = 'null_value_not_allowed';
	END IF;
	SELECT k.* INTO known FROM twtasks.kind k WHERE k.name = name;
	IF NOT FOUND THEN
		RAISE EXCEPTION 'kind "%" is not configured', twtasks_internal.shown(name)
			USING ERRCODE = 'undefined_object', HINT = 'Configure it with twtasks.configure_kind().';
	END IF;
	RETURN known;
END $$;
