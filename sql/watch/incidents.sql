/*
 * Something that is wrong, from its opening to its end.  The leader judges once a
 * minute: see judge_incidents().  The columns "told" and "repeated" decide what is
 * sent; twtasks.incident_sent lists what was sent.  So a sidecar that dies between
 * both loses no message, and its successor sends none again.
 */
CREATE TABLE twtasks.incident (
	id				bigint GENERATED ALWAYS AS IDENTITY,	-- Ascends with the openings
	key				text COLLATE "C" NOT NULL,				-- KIND/OBJECT; one incident of a key is open at a time
	kind			text COLLATE "C" NOT NULL,				-- error, stuck and the like, or the name of a warning
	object			text COLLATE "C" NOT NULL,				-- The type, bucket, node, schedule or other thing that is wrong; may be empty
	severity		text NOT NULL,							-- page: wake somebody; ticket: look at it today
	opened			timestamptz NOT NULL,					-- Time since when it is open
	refreshed		timestamptz NOT NULL,					-- Last time at which it was seen
	acknowledged	timestamptz,							-- Time at which somebody took it on; from then on it is not sent again
	acknowledged_by	text,									-- The role that logged in, or the person for whom twtasks-web did
	resolved		timestamptz,							-- Time of its end; NULL: it is open
	count			bigint NOT NULL,						-- How many tasks or other things are concerned; at least so many if summary says so
	summary			text NOT NULL,							-- One sentence, without payloads
	detail			text,									-- More of the same, such as a reason
	hint			text,									-- The next step, such as a statement to type
	told			timestamptz,							-- From when its opening is sent; NULL: it is silenced, or too many opened at once
	repeated		timestamptz,							-- Time of the last refresh that is sent
	repeats			integer NOT NULL DEFAULT 0,				-- Number of refreshes that are sent
	told_count		bigint NOT NULL DEFAULT 0,				-- The count when it was last sent
	told_severity	text,									-- The severity when it was last sent
	is_damped		boolean NOT NULL DEFAULT false,			-- It opens again and again, and so is not resolved soon
	CONSTRAINT incident_pkey PRIMARY KEY (id),
	CONSTRAINT incident_severity_check CHECK (severity IN ('page', 'ticket'))
);
CREATE UNIQUE INDEX incident_key ON twtasks.incident (key) WHERE resolved IS NULL;
CREATE INDEX incident_resolved ON twtasks.incident (resolved);
COMMENT ON TABLE twtasks.incident IS 'Troubles of now and before; a row for each time that one opened';

CREATE TABLE twtasks.incident_sent (
	id				bigint GENERATED ALWAYS AS IDENTITY,	-- Ascends with the messages
	incident		bigint NOT NULL,						-- id of the incident
	key				text COLLATE "C" NOT NULL,				-- Its key
	target			text COLLATE "C" NOT NULL,				-- The target's name in the configuration of the sidecar
	state			text NOT NULL,							-- open, refresh, acknowledge, resolve
	at				timestamptz NOT NULL,					-- Time of the last attempt
	status			text NOT NULL,							-- sent; failed: given up; retry: attempts go on
	answer			text,									-- The target's answer, or what kept the message from it
	repeat			integer NOT NULL DEFAULT 0,				-- Number of the refresh; 0 in other states
	CONSTRAINT incident_sent_pkey PRIMARY KEY (id),
	CONSTRAINT incident_sent_message UNIQUE (incident, target, state, repeat),
	CONSTRAINT incident_sent_state_check CHECK (state IN ('open', 'refresh', 'acknowledge', 'resolve')),
	CONSTRAINT incident_sent_status_check CHECK (status IN ('sent', 'failed', 'retry'))
);
COMMENT ON TABLE twtasks.incident_sent IS 'Messages about incidents: a row for each state, refresh and target';

CREATE TABLE twtasks.silence (
	id				bigint GENERATED ALWAYS AS IDENTITY,	-- For twtasks.unsilence()
	kind			text COLLATE "C" NOT NULL,				-- The kind of incidents; *: all
	pattern			text COLLATE "C" NOT NULL,				-- Their object, or its beginning and a *
	until			timestamptz NOT NULL,					-- When it ends
	reason			text NOT NULL,							-- In the actor's words
	actor			text NOT NULL,							-- The role that logged in
	at				timestamptz NOT NULL,					-- Time of its beginning
	CONSTRAINT silence_pkey PRIMARY KEY (id)
);
COMMENT ON TABLE twtasks.silence IS 'Kinds and objects whose incidents are not sent for a time';

SELECT pg_catalog.pg_extension_config_dump('twtasks.incident', '');
SELECT pg_catalog.pg_extension_config_dump('twtasks.incident_id_seq', '');
SELECT pg_catalog.pg_extension_config_dump('twtasks.incident_sent', '');
SELECT pg_catalog.pg_extension_config_dump('twtasks.incident_sent_id_seq', '');
SELECT pg_catalog.pg_extension_config_dump('twtasks.silence', '');
SELECT pg_catalog.pg_extension_config_dump('twtasks.silence_id_seq', '');

/*
 * twtasks_internal.silenced_until(kind, object)
 *
 *		How long incidents of that kind and object are silenced.
 *
 * Returns
 *		NULL: they are not
 */
CREATE FUNCTION twtasks_internal.silenced_until(kind text, object text)
RETURNS timestamptz
LANGUAGE sql STABLE STRICT PARALLEL SAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT max(s.until) FROM twtasks.silence s
	WHERE s.until > (SELECT twtasks.clock()) AND s.kind IN ('*', silenced_until.kind)
	  AND CASE WHEN right(s.pattern, 1) = '*' THEN silenced_until.object ^@ left(s.pattern, -1)
			   ELSE silenced_until.object = s.pattern END
$$;

CREATE VIEW twtasks.incidents AS
	SELECT i.id, i.key, i.kind, i.object, i.severity,
		   CASE WHEN i.resolved IS NOT NULL THEN 'resolved'
				WHEN i.acknowledged IS NOT NULL THEN 'acknowledged' ELSE 'open' END AS state,
		   i.opened, i.refreshed, i.acknowledged, i.acknowledged_by, i.resolved, i.count, i.summary, i.detail, i.hint,
		   CASE WHEN i.resolved IS NULL THEN twtasks_internal.silenced_until(i.kind, i.object) END AS silenced_until
	FROM twtasks.incident i;
COMMENT ON VIEW twtasks.incidents IS 'Troubles of now and before, and what to do; see state';

/*
 * twtasks_internal.is_silent()
 *
 *		Whether a sidecar has counted here, and none has for 150 seconds.  False if this
 *		database is a copy and not adopted.
 */
CREATE FUNCTION twtasks_internal.is_silent()
RETURNS boolean
LANGUAGE sql STABLE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT twtasks.is_adopted()
	   AND EXISTS (SELECT FROM twtasks.monitor_look m WHERE m.at < (SELECT twtasks.clock()) - interval '150 s')
$$;

/*
 * twtasks.next_incidents(targets, most, is_deputy)
 *
 *		The messages about incidents that are to be sent next: of each key and target
 *		the first one, so that a target hears of a key in order.  note_sent() brings
 *		its successor.  Messages with the status retry are returned again; a sender that
 *		has one under way leaves it out.
 *
 *		An incident that was resolved before a target heard of it is sent for an hour,
 *		and any other one for a day after its end.
 *
 * Parameters
 *		targets			their names
 *		most			at most this many messages, page first
 *		is_deputy		true: for a program that sends in place of the leader, only while
 *						no sidecar counts, see is_silent()
 *
 * Returns
 *		incident, target, state, repeat		name the message, for note_sent()
 *		at				when it became due
 *		key ... hint	of the incident; since is the time of its opening
 *		environment		of this database; NULL: it has none
 *
 *		No row: all was sent, or this database is a copy and not adopted.
 *
 * Locks		none
 */
CREATE FUNCTION twtasks.next_incidents(
	targets text[],
	most integer DEFAULT 100,
	is_deputy boolean DEFAULT false,
	OUT incident bigint,
	OUT target text,
	OUT state text,
	OUT repeat integer,
	OUT at timestamptz,
	OUT key text,
	OUT kind text,
	OUT object text,
	OUT severity text,
	OUT count bigint,
	OUT since timestamptz,
	OUT summary text,
	OUT detail text,
	OUT hint text,
	OUT environment text)
RETURNS SETOF record
LANGUAGE sql STABLE STRICT PARALLEL UNSAFE SECURITY DEFINER ROWS 10
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT n.id, n.target, n.state, n.repeat, n.at, n.key, n.kind, n.object, n.severity, n.count,
		   n.opened, n.summary, n.detail, n.hint,
		   (SELECT a.environment FROM twtasks.adoption_state a)
	FROM (
		SELECT DISTINCT ON (i.key, t.target) i.id, i.key, i.kind, i.object, i.severity, i.count, i.opened, i.summary, i.detail, i.hint,
			t.target, m.state, m.repeat, m.at
		FROM twtasks.incident i
		CROSS JOIN (SELECT DISTINCT u.target FROM unnest(next_incidents.targets) u(target)) t
		CROSS JOIN LATERAL (
			VALUES ('open', 0, i.told, 1),
				   ('refresh', i.repeats, CASE WHEN i.resolved IS NULL THEN i.repeated END, 2),
				   ('acknowledge', 0, i.acknowledged, 3),
				   ('resolve', 0, i.resolved, 4)) m(state, repeat, at, place)
		WHERE m.at IS NOT NULL
		  AND (i.told IS NOT NULL
			   OR EXISTS (SELECT FROM twtasks.incident_sent w
						  WHERE w.incident = i.id AND w.target = t.target AND w.status = 'sent'))
		  AND (i.resolved IS NULL OR i.resolved > (SELECT twtasks.clock()) - interval '1 day')
		  AND (i.resolved IS NULL OR i.resolved > (SELECT twtasks.clock()) - interval '1 hour'
			   OR EXISTS (SELECT FROM twtasks.incident_sent h WHERE h.incident = i.id AND h.target = t.target))
		  AND NOT EXISTS (SELECT FROM twtasks.incident_sent s
						  WHERE s.incident = i.id AND s.target = t.target AND s.state = m.state
							AND s.repeat = m.repeat AND s.status <> 'retry')
		ORDER BY i.key, t.target, i.id, m.place = 1 DESC, m.at, m.place) n
	WHERE twtasks.is_adopted() AND (NOT next_incidents.is_deputy OR twtasks_internal.is_silent())
	ORDER BY n.severity, n.at, n.id LIMIT next_incidents.most
$$;

/*
 * twtasks.note_sent(incident, target, state, repeat, status, answer)
 *
 *		Notes what became of a message of next_incidents().
 *
 * Parameters
 *		status			sent; failed: it is given up, and the next message of its key
 *						may go; retry: it failed, and the sender tries again
 *		answer			of the target, or the reason of the failure; without secrets
 *
 * Returns
 *		false: it was sent or given up before, or there is no such incident
 *
 * Errors
 *		23514			no such state or status
 *		55P03			another transaction has locked the message for more than a second
 *
 * Writes		twtasks.incident_sent, twtasks.incident
 * Locks		a row
 */
CREATE FUNCTION twtasks.note_sent(
	incident bigint, target text, state text, repeat integer, status text, answer text DEFAULT NULL)
RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '1s'
AS $$
BEGIN
	INSERT INTO twtasks.incident_sent AS s (incident, key, target, state, at, status, answer, repeat)
	SELECT i.id, i.key, note_sent.target, note_sent.state, twtasks.clock(), note_sent.status,
		   left(note_sent.answer, 1000), coalesce(note_sent.repeat, 0)
	FROM twtasks.incident i WHERE i.id = note_sent.incident
	ON CONFLICT ON CONSTRAINT incident_sent_message DO UPDATE
	SET at = EXCLUDED.at, status = EXCLUDED.status, answer = EXCLUDED.answer
	WHERE s.status = 'retry';
	IF NOT FOUND THEN
		RETURN false;
	END IF;
	-- A silence may have begun while the message was under way; its end must be sent, too.
	UPDATE twtasks.incident i SET told = twtasks.clock()
	WHERE i.id = (SELECT s.id FROM twtasks.incident s
				  WHERE s.id = note_sent.incident AND s.told IS NULL FOR NO KEY UPDATE SKIP LOCKED);
	RETURN true;
END $$;
