-- twin: twt_is_paused LANGUAGE sql SECURITY DEFINER
	SELECT EXISTS (
		SELECT FROM twtasks.pause p
		WHERE p.kind = 'type' AND twtasks_internal.fits(p.name, is_paused.type) IS NOT NULL
		   OR p.kind = 'bucket' AND p.name = is_paused.bucket)
