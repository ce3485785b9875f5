-- twin: twt_new_task LANGUAGE plpgsql INLINE
DECLARE
	made twtasks.new_task;
BEGIN
	made.type := type;
	made.data := data;
	made.sub_type := sub_type;
	made.key := key;
	made.task_id := task_id;
	made.priority := priority;
	made.run_after := run_after;
	made.bucket := bucket;
	made.expires := expires;
	made.context := context;
	made.payload := payload;
	RETURN made;
END

-- twin: twt_message LANGUAGE plpgsql INLINE
DECLARE
	made twtasks.message;
BEGIN
	made.topic := topic;
	made.partition := partition;
	made."offset" := "offset";
	made."time" := "time";
	made.key := key;
	made.value := value;
	made.headers := headers;
	RETURN made;
END

-- twin: twt_task_input LANGUAGE plpgsql INLINE
DECLARE
	made twtasks.task_input;
BEGIN
	made.id := id;
	made.version := version;
	made.type := type;
	made.sub_type := sub_type;
	made.bucket := bucket;
	made.priority := priority;
	made.tries := tries;
	made.grabbed := grabbed;
	made.data := data;
	made.payload := payload;
	made.context := context;
	made.key := key;
	RETURN made;
END

-- twin: twt_change_result LANGUAGE plpgsql INLINE
DECLARE
	made twtasks.change_result;
BEGIN
	made.result := result;
	made.version := version;
	made.status := status;
	RETURN made;
END

-- twin: twt_late_result LANGUAGE plpgsql INLINE
DECLARE
	made twtasks.late_result;
BEGIN
	made.id := id;
	made.version := version;
	made.result := result;
	made.message := message;
	made.outcome := outcome;
	RETURN made;
END
