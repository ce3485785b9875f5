-- twin: twt_limit_name LANGUAGE plpgsql
BEGIN
	IF pattern !~ '^([A-Za-z0-9_.:|/-]{1,120}[*]?|[*])$' THEN
		RAISE EXCEPTION 'invalid pattern: "%"', pattern USING ERRCODE = 'invalid_parameter_value';
	END IF;
	RETURN CASE
		WHEN NOT starts_with(type, rtrim(pattern, '*')) THEN NULL
		WHEN pattern LIKE '%|*' THEN left(type, length(pattern) - 1) || split_part(substr(type, length(pattern)), '|', 1)
		WHEN pattern LIKE '%*' THEN pattern
		WHEN substr(type, length(pattern) + 1, 1) IN ('', '|') THEN pattern END;
END
