
/*
 * twtasks_internal.cron_value(field, word)
 *
 *		The value of a number or name in the field, from 0 for minutes to 4 for days of the
 *		week; NULL: it has none.
 */
CREATE FUNCTION twtasks_internal.cron_value(field integer, word text)
RETURNS integer
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	least_value CONSTANT integer := ('{0,0,1,1,0}'::integer[])[field + 1];
	most CONSTANT integer := ('{59,23,31,12,7}'::integer[])[field + 1];
	value integer;
BEGIN
	IF word ~ '^[0-9]' THEN
		value := CASE WHEN length(ltrim(word, '0')) < 4 THEN word::integer END;
	ELSE
		value := least_value - 1 + array_position(
			CASE field WHEN 3 THEN '{jan,feb,mar,apr,may,jun,jul,aug,sep,oct,nov,dec}' WHEN 4 THEN '{sun,mon,tue,wed,thu,fri,sat}' ELSE '{}' END::text[],
			lower(word));
	END IF;
	RETURN CASE WHEN value BETWEEN least_value AND most THEN value END;
END $$;

/*
 * twtasks_internal.refuse_cron_field(field, problem, element)
 *
 *		Raises the error for an element of a field.
 */
CREATE FUNCTION twtasks_internal.refuse_cron_field(field integer, problem text, element text)
RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RAISE EXCEPTION 'invalid % in cron expression: "%"',
		('{minute,hour,day of month,month,day of week}'::text[])[field + 1], twtasks_internal.shown(element)
		USING ERRCODE = 'invalid_parameter_value',
			DETAIL = CASE field
				WHEN 0 THEN 'A minute is a number from 0 to 59.'
				WHEN 1 THEN 'An hour is a number from 0 to 23.'
				WHEN 2 THEN 'A day of month is a number from 1 to 31.'
				WHEN 3 THEN 'A month is a number from 1 to 12, or jan to dec.'
				ELSE 'A day of week is a number from 0 to 7, of which both 0 and 7 are Sunday, or sun to sat.' END,
			HINT = CASE problem
				WHEN 'backwards' THEN 'Write a range that goes over the end as two, such as 22-23,0-5.'
				WHEN 'step' THEN 'A step counts within its field, from 1 to the field''s largest value.'
				WHEN 'lone step' THEN 'Give the step a range, such as 5-59/10.'
				ELSE 'A field is a value, a range such as 1-5, or *, with or without a step such as */10; several are separated by commas.' END;
END $$;

/*
 * twtasks_internal.cron_element(field, element)
 *
 *		The values of an element of a field.
 *
 * Errors
 *		22023			it is not valid
 */
CREATE FUNCTION twtasks_internal.cron_element(field integer, element text)
RETURNS integer[]
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	-- first, -last, last, /step, step, and what follows
	part CONSTANT text[] := regexp_match(element, '^([*]|[0-9]+|[A-Za-z]{3})(-([0-9]+|[A-Za-z]{3})?)?(/([0-9]+)?)?(.*)$');
	has_range CONSTANT boolean := part[2] IS NOT NULL;
	first integer := ('{0,0,1,1,0}'::integer[])[field + 1];
	last integer := ('{59,23,31,12,7}'::integer[])[field + 1];
	most_step CONSTANT integer := last - first;
	step integer := 1;
	problem text;
BEGIN
	IF part[1] <> '*' THEN
		first := twtasks_internal.cron_value(field, part[1]);
		last := CASE WHEN has_range THEN twtasks_internal.cron_value(field, part[3]) ELSE first END;
		-- As the end of a range, the name of Sunday means the later one.
		IF field = 4 AND has_range AND last = 0 AND first > 0 AND part[3] !~ '^[0-9]' THEN
			last := 7;
		END IF;
	END IF;
	IF part[5] IS NOT NULL THEN
		step := CASE WHEN length(ltrim(part[5], '0')) < 4 THEN part[5]::integer ELSE 1000 END;
	END IF;
	problem := CASE
		WHEN part IS NULL OR first IS NULL OR last IS NULL OR part[1] = '*' AND has_range THEN 'value'
		WHEN last < first THEN 'backwards'
		WHEN part[4] = '/' THEN 'value'
		WHEN step NOT BETWEEN 1 AND most_step THEN 'step'
		WHEN part[4] IS NOT NULL AND part[1] <> '*' AND NOT has_range THEN 'lone step'
		WHEN part[6] <> '' THEN 'value' END;
	IF problem IS NOT NULL THEN
		PERFORM twtasks_internal.refuse_cron_field(field, problem, element);
	END IF;
	RETURN ARRAY(SELECT generate_series(first, last, step));
END $$;

/*
 * twtasks_internal.read_cron(expr)
 *
 *		A cron expression as sets of values.
 *
 * Errors
 *		22004			it is NULL
 *		22023			it is not valid
 */
CREATE FUNCTION twtasks_internal.read_cron(expr text)
RETURNS twtasks_internal.cron
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	text CONSTANT text := btrim(expr, concat(' ', chr(9)));
	fields text[] := CASE WHEN text = '' THEN '{}' ELSE regexp_split_to_array(text, concat('[ ', chr(9), ']+')) END;
	read twtasks_internal.cron;
BEGIN
	IF expr IS NULL THEN
		RAISE EXCEPTION 'expr must not be null' USING ERRCODE = 'null_value_not_allowed';
	ELSIF cardinality(fields) = 1 AND fields[1] ^@ '@' THEN
		fields := string_to_array(CASE lower(fields[1])
			WHEN '@yearly' THEN '0 0 1 1 *' WHEN '@annually' THEN '0 0 1 1 *' WHEN '@monthly' THEN '0 0 1 * *'
			WHEN '@weekly' THEN '0 0 * * 0' WHEN '@daily' THEN '0 0 * * *' WHEN '@midnight' THEN '0 0 * * *'
			WHEN '@hourly' THEN '0 * * * *' END, ' ');
		IF fields IS NULL THEN
			RAISE EXCEPTION 'invalid cron expression: "%"', twtasks_internal.shown(expr)
				USING ERRCODE = 'invalid_parameter_value',
					DETAIL = 'The words are @yearly, @annually, @monthly, @weekly, @daily, @midnight and @hourly.';
		END IF;
	ELSIF cardinality(fields) <> 5 THEN
		RAISE EXCEPTION 'invalid cron expression: "%"', twtasks_internal.shown(expr)
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = format('It must have 5 fields, for minute, hour, day of month, month and day of week, and has %s.', cardinality(fields));
	END IF;
	read.minutes := twtasks_internal.cron_field(0, fields[1]);
	read.hours := twtasks_internal.cron_field(1, fields[2]);
	read.days := twtasks_internal.cron_field(2, fields[3]);
	read.months := twtasks_internal.cron_field(3, fields[4]);
	read.weekdays := twtasks_internal.cron_field(4, fields[5]);
	read.either_day := NOT fields[3] ^@ '*' AND NOT fields[5] ^@ '*';
	read.every_hour := cardinality(read.hours) = 24;
	RETURN read;
END $$;

/*
 * twtasks_internal.cron_field(field, elements)
 *
 *		The values of a field, in order.  Both 0 and 7 are Sunday.
 */
CREATE FUNCTION twtasks_internal.cron_field(field integer, elements text)
RETURNS integer[]
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT array_agg(DISTINCT CASE WHEN field = 4 THEN v % 7 ELSE v END)
	FROM (SELECT e FROM string_to_array(elements, ',') a, unnest(a) WITH ORDINALITY u(e, n) GROUP BY e ORDER BY min(n)) s,
		unnest(twtasks_internal.cron_element(field, s.e)) v
$$;
