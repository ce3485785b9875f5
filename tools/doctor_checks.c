/*-------------------------------------------------------------------------
 *
 * doctor_checks.c
 *		What the doctor looks at.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "common/version.h"
#include "tools/doctor_checks.h"

/* Relations of ours that have rows. */
#define OUR_TABLES "pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname IN ('twtasks', 'twtasks_internal')" \
	" AND c.relkind IN ('r', 'p')"

/* True in a database with the SQL edition.  SQL of 1.0 has no twtasks.edition(). */
#define IS_SQL "EXISTS (SELECT FROM pg_class i JOIN pg_namespace s ON s.oid = i.relnamespace" \
	" WHERE s.nspname = 'twtasks_internal' AND i.relname = 'installed')"

/* The owner of our tables.  The SQL edition for one role belongs to the role that loaded it. */
#define OUR_OWNER "CASE WHEN " IS_SQL " THEN pg_get_userbyid(n.nspowner) ELSE 'twtasks_owner' END"

const char	doctor_is_sql[] = "SELECT WHERE " IS_SQL;

const Check doctor_edition_check = {
	"extension", "the SQL edition has the version of this program",
	"SELECT 'WARN' AS finding, format('the SQL of %s has version %s, and this program %s', f.name, f.version, '" TWT_VERSION "') AS sentence,"
	" 'load the update that scripts/edition --update writes, or install the programs of that version' AS command"
	" FROM (SELECT 'twtasks' AS name, e.version FROM twtasks.edition() e"
	" UNION ALL SELECT o.key, o.value FROM twtasks.edition() e, jsonb_each_text(e.extensions) o) f"
	" WHERE f.version <> '" TWT_VERSION "'"
};

const Check doctor_checks[] = {
	{"extension", "the extensions have the version of their files",
		"SELECT 'WARN' AS finding, format('extension %s has version %s, and its files have %s', e.extname, e.extversion, a.default_version) AS sentence,"
		" format('ALTER EXTENSION %I UPDATE', e.extname) AS command"
		" FROM pg_extension e JOIN pg_available_extensions a ON a.name = e.extname"
		" WHERE e.extname ^@ 'twtasks' AND e.extversion <> a.default_version"},
	{"preload", "triggers go through shared memory",
		"SELECT 'WARN' AS finding, 'twtasks is not preloaded, so triggers go by NOTIFY' AS sentence,"
		" 'shared_preload_libraries = ''twtasks'' in postgresql.conf, and a restart' AS command"
		" WHERE twtasks.queue_kind() <> 'ring' AND NOT " IS_SQL},
	{"rights", "the sessions of all roles can be seen",
		"SELECT 'WARN' AS finding, 'sessions of other roles cannot be seen: \"old transactions\" and \"sessions\" are about your own only' AS sentence,"
		" format('GRANT pg_read_all_stats TO %I', current_user) AS command"
		" WHERE NOT pg_has_role('pg_read_all_stats', 'USAGE')"},
	{"warnings", "twtasks.warnings is empty",
		"SELECT CASE WHEN w.warning IN ('not adopted', 'switched off', 'no node', 'no handler', 'nodes missing', 'broken handler',"
		" 'worker crashes', 'nobody leads', 'listener stands still', 'listener in trouble') THEN 'FAIL' ELSE 'WARN' END AS finding, w.warning || ': ' || w.detail AS sentence, w.hint AS command"
		" FROM twtasks.warnings w"},
	{"nodes", "a sidecar lives",
		"SELECT 'FAIL' AS finding, 'no sidecar lives' AS sentence, 'systemctl start twtasksd' AS command"
		" WHERE NOT EXISTS (SELECT FROM twtasks.nodes n WHERE n.ended IS NULL AND n.heartbeat > clock_timestamp() - n.lease)"},
	{"leader", "a leader counts the tasks",
		"SELECT 'FAIL' AS finding, format('the last count of a leader is %s old', date_trunc('second', m.age)) AS sentence,"
		" 'twtasksctl nodes' AS command"
		" FROM twtasks.monitor m WHERE m.age > interval '5 minutes'"},
	{"partitions", "the history has partitions for the next days",
		"SELECT 'WARN' AS finding, format('the history has no partition for %s', d.day) AS sentence,"
		" 'SELECT twtasks_internal.make_partitions()' AS command"
		" FROM (SELECT (twtasks.clock() AT TIME ZONE 'UTC')::date + i AS day FROM generate_series(0, 2) i) d"
		" WHERE NOT EXISTS (SELECT FROM pg_inherits h JOIN pg_class c ON c.oid = h.inhrelid"
		" WHERE h.inhparent = (SELECT p.oid FROM pg_class p JOIN pg_namespace n ON n.oid = p.relnamespace"
		" WHERE n.nspname = 'twtasks' AND p.relname = 'finished_task')"
		" AND c.relname ~ ('^finished_task_' || to_char(d.day, 'YYYYMMDD') || '(_[0-9]+)?$'))"},
	{"default partition", "the default partition of the history is empty",
		"SELECT 'WARN' AS finding, format('%s rows are in the default partition of the history', s.n_live_tup) AS sentence,"
		" 'SELECT twtasks_internal.make_partitions()' AS command"
		" FROM pg_stat_user_tables s WHERE s.schemaname = 'twtasks' AND s.relname = 'finished_task_other' AND s.n_live_tup > 0"},
	{"autovacuum", "autovacuum works on our tables",
		"SELECT 'FAIL' AS finding, format('%s is off', s.name) AS sentence, format('ALTER SYSTEM SET %s = on; SELECT pg_reload_conf()', s.name) AS command"
		" FROM pg_settings s WHERE s.name IN ('autovacuum', 'track_counts') AND s.setting = 'off'"
		" UNION ALL SELECT 'FAIL', format('autovacuum is off for table %s.%s', n.nspname, c.relname),"
		" format('ALTER TABLE %I.%I RESET (autovacuum_enabled)', n.nspname, c.relname)"
		" FROM " OUR_TABLES " WHERE 'autovacuum_enabled=false' = ANY (c.reloptions) OR 'autovacuum_enabled=off' = ANY (c.reloptions)"},
	{"dead rows", "few rows of the tasks are dead",
		"SELECT 'WARN' AS finding, format('table twtasks.%s has %s dead rows beside %s', s.relname, s.n_dead_tup, s.n_live_tup) AS sentence,"
		" format('look for old transactions, then VACUUM twtasks.%I', s.relname) AS command"
		" FROM pg_stat_user_tables s WHERE s.schemaname = 'twtasks' AND s.n_dead_tup > 200000 AND s.n_dead_tup > 2 * s.n_live_tup"},
	{"old transactions", "no transaction is old",
		"SELECT 'WARN' AS finding, format('process %s of %s has a transaction that is %s old, and no dead row after its begin can be removed',"
		" a.pid, coalesce(nullif(a.application_name, ''), a.usename), date_trunc('second', clock_timestamp() - a.xact_start)) AS sentence,"
		" format('SELECT pg_terminate_backend(%s)', a.pid) AS command"
		" FROM pg_stat_activity a WHERE a.pid <> pg_backend_pid() AND a.backend_type = 'client backend'"
		" AND a.xact_start < clock_timestamp() - $1::interval"
		" UNION ALL SELECT 'WARN', format('prepared transaction \"%s\" is %s old', p.gid, date_trunc('second', clock_timestamp() - p.prepared)),"
		" format('ROLLBACK PREPARED %L', p.gid)"
		" FROM pg_prepared_xacts p WHERE p.database = current_database() AND p.prepared < clock_timestamp() - $1::interval"},
	{"slots", "no replication slot stands still",
		"SELECT 'WARN' AS finding, format('replication slot \"%s\" is not in use, and keeps WAL or dead rows', s.slot_name) AS sentence,"
		" format('SELECT pg_drop_replication_slot(%L)', s.slot_name) AS command"
		" FROM pg_replication_slots s WHERE NOT s.active AND (s.restart_lsn IS NOT NULL OR s.xmin IS NOT NULL)"},
	{"dropped triggers", "no trigger found its queue full",
		"SELECT 'WARN' AS finding, format('bucket \"%s\" dropped %s triggers since the start of the server; a sweep found their tasks', q.bucket, q.dropped) AS sentence,"
		" 'increase twtasks.queue_size, and restart the server' AS command"
		" FROM twtasks.queue_stats() q WHERE q.dropped > 0"},
	{"foreign triggers", "our tables have no triggers of others",
		"SELECT 'WARN' AS finding, format('trigger \"%s\" on %s.%s is not of twtasks, and runs with each change of a task', t.tgname, n.nspname, c.relname) AS sentence,"
		" format('DROP TRIGGER %I ON %I.%I', t.tgname, n.nspname, c.relname) AS command"
		" FROM pg_trigger t JOIN " OUR_TABLES " ON c.oid = t.tgrelid JOIN pg_proc f ON f.oid = t.tgfoid"
		" WHERE NOT t.tgisinternal AND t.tgparentid = 0 AND f.pronamespace NOT IN (SELECT o.oid FROM pg_namespace o WHERE o.nspname IN ('twtasks', 'twtasks_internal'))"},
	{"indexes", "all indexes are valid",
		"SELECT 'FAIL' AS finding, format('index %s.%s is not valid', n.nspname, i.relname) AS sentence,"
		" format('REINDEX INDEX CONCURRENTLY %I.%I', n.nspname, i.relname) AS command"
		" FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid JOIN " OUR_TABLES " ON c.oid = x.indrelid WHERE NOT x.indisvalid"},
	{"owner", "our tables belong to twtasks_owner",
		"SELECT 'FAIL' AS finding, format('table %s.%s belongs to \"%s\"', n.nspname, c.relname, pg_get_userbyid(c.relowner)) AS sentence,"
		" format('ALTER TABLE %I.%I OWNER TO %I', n.nspname, c.relname, " OUR_OWNER ") AS command"
		" FROM " OUR_TABLES " WHERE pg_get_userbyid(c.relowner) <> " OUR_OWNER},
	{"roles", "the roles of twtasks can do what they should, and no more",
		"SELECT 'FAIL' AS finding, format('role \"%s\" is a superuser, creates roles or can log in', r.rolname) AS sentence,"
		" format('ALTER ROLE %I NOLOGIN NOSUPERUSER NOCREATEROLE', r.rolname) AS command"
		" FROM pg_roles r WHERE r.rolname IN ('twtasks_owner', 'twtasks_producer', 'twtasks_worker', 'twtasks_web', 'twtasks_operator',"
		" 'twtasks_viewer', 'twtasks_payload_viewer', 'twtasks_tester') AND (r.rolsuper OR r.rolcreaterole OR r.rolcanlogin)"
		" UNION ALL SELECT 'WARN', format('role \"%s\" is a member of twtasks_owner: it reads payloads and can change everything', r.rolname),"
		" format('REVOKE twtasks_owner FROM %I', r.rolname)"
		" FROM pg_auth_members m JOIN pg_roles r ON r.oid = m.member JOIN pg_roles o ON o.oid = m.roleid"
		" WHERE o.rolname = 'twtasks_owner' AND NOT r.rolsuper"

		/*
		 * The role that loads the edition owns the database, and needs the
		 * membership for updates.
		 */
		" AND NOT (" IS_SQL " AND EXISTS (SELECT FROM pg_database d WHERE d.datname = current_database() AND d.datdba = m.member))"
		" UNION ALL SELECT 'FAIL', format('\"%s\" may create objects in schema %s', CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE pg_get_userbyid(a.grantee) END, n.nspname),"
		" format('REVOKE CREATE ON SCHEMA %I FROM %s', n.nspname, CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END)"
		" FROM pg_namespace n CROSS JOIN LATERAL aclexplode(n.nspacl) a"
		" WHERE n.nspname IN ('twtasks', 'twtasks_internal') AND a.privilege_type = 'CREATE' AND a.grantee <> n.nspowner"},
	{"durability", "a crash of the server loses nothing",
		"SELECT 'FAIL' AS finding, format('%s is off: a crash can lose tasks', s.name) AS sentence,"
		" format('ALTER SYSTEM SET %s = on; SELECT pg_reload_conf()', s.name) AS command"
		" FROM pg_settings s WHERE s.name IN ('fsync', 'full_page_writes') AND s.setting = 'off'"},
	{"sessions", "the server has sessions left",
		"SELECT 'WARN' AS finding, format('%s of %s sessions of the server are in use', count(*), current_setting('max_connections')) AS sentence,"
		" 'end idle sessions, or increase max_connections' AS command"
		" FROM pg_stat_activity a WHERE a.backend_type = 'client backend'"
		" HAVING count(*) > 0.85 * current_setting('max_connections')::integer"},
	{"transaction ids", "the database is far from wraparound",
		"SELECT 'FAIL' AS finding, format('the oldest transaction id of the database is %s old', age(d.datfrozenxid)) AS sentence,"
		" 'VACUUM (FREEZE), after old transactions have ended' AS command"
		" FROM pg_database d WHERE d.datname = current_database() AND age(d.datfrozenxid) > 1000000000"},
	{NULL}
};
