-- twin: twt_limit_name LANGUAGE sql
	SELECT CASE
		WHEN NOT starts_with(type, rtrim(pattern, '*')) THEN NULL
		WHEN pattern LIKE '%|*' THEN left(type, length(pattern) - 1) || split_part(substr(type, length(pattern)), '|', 1)
		WHEN pattern LIKE '%*' THEN pattern
		WHEN substr(type, length(pattern) + 1, 1) IN ('', '|') THEN pattern END
