-- twin: twt_cut_message LANGUAGE sql INLINE
	SELECT CASE WHEN pg_catalog.length(message) OPERATOR(pg_catalog.>) 8192
		THEN pg_catalog.concat(pg_catalog.left(message, 1000), ' [...] ', pg_catalog.right(message, 7185)) ELSE message END
