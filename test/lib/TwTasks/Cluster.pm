# Cluster.pm -- a server with the extension, as the tests want it.

package TwTasks::Cluster;

use strict;
use warnings FATAL => 'all';

use parent 'PostgreSQL::Test::Cluster';

use POSIX ();
use Test::More;
use TwTasks::Session;
use TwTasks::Wait;

# A test that takes too long is told to end: it stops its servers, and says for
# what it waited.  It may be told twice.
my $test = $$;

$SIG{TERM} = sub {
	POSIX::_exit(143) if $$ != $test;
	$SIG{TERM} = 'IGNORE';
	die "told to end\n";
};

# The server runs and has the extension in its database "postgres", and the
# roles "sidecar", "web" and "producer", which can do what their names say and no
# more.  Options:
#	queue => 'ring' (preloaded) or 'notify'; default: ring
#	conf => { name => value }
#	init => { more for PostgreSQL::Test::Cluster's init() }
#	install_path => as in PostgreSQL::Test::Cluster
#	clock => a TwTasks::Clock, by which the server goes
#	disk => a TwTasks::Disk, on which it is
#	version => of the extension; default: the current one
#	edition => in place of the extension: 'sql' or 'one-role', see install_edition();
#		default: TWT_TEST_EDITION, by which all tests run with the edition.  Parameters of the
#		library in conf are then rows of twtasks.setting, and there is no ring
sub create
{
	my ($class, $name, %options) = @_;
	my $edition = $options{edition} // ($options{version} ? undef : $ENV{TWT_TEST_EDITION});
	my $preload = ($options{queue} || 'ring') eq 'ring' && !$edition ? 'twtasks' : '';
	my %conf = (
		log_statement => 'none',
		shared_preload_libraries => "'$preload'",
		max_connections => 60,
		%{ $options{conf} || {} });
	my $self = $class->new($name,
		$options{install_path}
		? (install_path => $options{install_path})
		: ());

	$self->{_twt_clock} = $options{clock};
	$self->{_twt_disk} = $options{disk};
	$self->init(
		extra => [ '--no-sync', '--locale=C', '--encoding=UTF8' ],
		%{ $options{init} || {} });
	$self->append_conf('postgresql.conf',
		join('', map { "$_ = $conf{$_}\n" } grep { !$edition || !/^twtasks\./ } sort keys %conf));
	$self->start;
	push @TwTasks::Wait::on_failure, sub { $self->show_sessions };
	my $version = $options{version} ? "VERSION '$options{version}'" : '';
	$self->{_twt_edition} = $edition;
	if ($edition)
	{
		$self->install_edition('postgres', $edition);
		return $self if $edition eq 'one-role';
		$self->fit_to_tests if !$options{edition};
		$self->set($_, $conf{"twtasks.$_"} =~ s/^'|'$//gr) foreach map { /^twtasks\.(.*)/ ? $1 : () } sort keys %conf;
	}
	else
	{
		$self->safe_psql('postgres', "CREATE EXTENSION twtasks $version");
	}
	$self->safe_psql('postgres', <<'SQL');
		CREATE ROLE sidecar LOGIN IN ROLE twtasks_worker;
		CREATE ROLE web LOGIN IN ROLE twtasks_web;
		CREATE ROLE producer LOGIN IN ROLE twtasks_producer;
SQL
	return $self;
}

# Loads the SQL edition into a database, as a role "installer" without superuser; for
# 'one-role' that role may not make others.
sub install_edition
{
	my ($self, $database, $edition) = @_;
	my $file = ($ENV{TWT_EDITIONS} || die "scripts/check writes the editions\n") . "/$edition.sql";
	my $right = $edition eq 'sql' ? 'CREATEROLE' : 'NOCREATEROLE';

	$self->safe_psql('postgres', "CREATE ROLE installer LOGIN $right") if !$self->{_twt_has_installer}++;
	$self->safe_psql('postgres', "ALTER DATABASE $database OWNER TO installer");
	$self->command_ok([ 'psql', '-Xq', '-o', '/dev/null', '-f', $file, '-d', $self->connstr($database) . ' user=installer' ],
		"the edition $edition is loaded by a role without superuser");
	return;
}

# Loads an extension on top of it, such as events, as that role too.
sub install_on_top
{
	my ($self, $database, $edition, $name) = @_;
	my $file = "$ENV{TWT_EDITIONS}/" . ($edition eq 'one-role' ? 'one-role-' : '') . "$name.sql";

	$self->command_ok([ 'psql', '-Xq', '-o', '/dev/null', '-f', $file, '-d', $self->connstr($database) . ' user=installer' ],
		"the extension for $name is loaded by that role");
	return;
}

# Tests for both engines take this for granted.  Functions that they make become what the
# edition demands of them: SECURITY DEFINER, in a schema that twtasks_caller may use; those for
# decide stay as they are, and twtasks_nobody may use their schema.  Sidecars may come by any
# address, since many come by a proxy: 207_edition_copies.pl is about addresses.
sub fit_to_tests
{
	my ($self) = @_;

	$self->safe_psql('postgres', <<'SQL');
	CREATE OR REPLACE FUNCTION twtasks_internal.address_fault() RETURNS text LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
	AS 'SELECT NULL::text';
	CREATE FUNCTION public.fit_functions() RETURNS event_trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
	DECLARE
		made record;
	BEGIN
		FOR made IN SELECT c.* FROM pg_event_trigger_ddl_commands() c
				WHERE coalesce(c.schema_name, '') NOT IN ('twtasks', 'twtasks_internal', 'pg_temp') AND NOT c.in_extension LOOP
			IF made.object_type = 'schema' THEN
				EXECUTE format('GRANT USAGE ON SCHEMA %s TO twtasks_caller', made.object_identity);
				IF to_regrole('twtasks_nobody') IS NOT NULL THEN
					EXECUTE format('GRANT USAGE ON SCHEMA %s TO twtasks_nobody', made.object_identity);
				END IF;
			ELSIF made.object_type = 'function' AND made.object_identity !~ '\(pg_catalog\.jsonb,pg_catalog\.jsonb\)$' THEN
				EXECUTE format('ALTER FUNCTION %s SECURITY DEFINER', made.object_identity);
			END IF;
		END LOOP;
	END $$;
	CREATE EVENT TRIGGER fit_functions ON ddl_command_end WHEN TAG IN ('CREATE FUNCTION', 'CREATE SCHEMA')
		EXECUTE FUNCTION public.fit_functions();
SQL
	return;
}

# Makes extensions on top of twtasks, such as 'events' and 'kinds', in the database "postgres".
sub add_extensions
{
	my ($self, @names) = @_;

	$self->add_extension('postgres', $_) foreach @names;
	return;
}

# The same in another database.
sub add_extension
{
	my ($self, $database, $name) = @_;

	if ($self->{_twt_edition}) { $self->install_on_top($database, $self->{_twt_edition}, $name) }
	else { $self->safe_psql($database, "CREATE EXTENSION twtasks_$name") }
	return;
}

# Whether triggers wait in shared memory, where queue_stats() shows them.
sub has_ring
{
	my ($self) = @_;

	return $self->value('SELECT twtasks.queue_kind()') eq 'ring';
}

# Whether it has the SQL edition in place of the extension.
sub has_edition
{
	my ($self) = @_;

	return !!$self->{_twt_edition};
}

# Makes twtasks in another database, too.
sub install
{
	my ($self, $database) = @_;

	if ($self->{_twt_edition}) { $self->install_edition($database, $self->{_twt_edition}) }
	else { $self->safe_psql($database, 'CREATE EXTENSION twtasks') }
	return;
}

# Changes a parameter of the library while the server runs, or the setting of the edition, and
# waits until the common session knows it.  The value is as SHOW prints it.
sub change_setting
{
	my ($self, $name, $value) = @_;

	return $self->set($name, $value) if $self->{_twt_edition};
	$self->append_conf('postgresql.conf', "twtasks.$name = '$value'");
	$self->reload;
	wait_for(sub { $self->value("SELECT current_setting('twtasks.$name', true)") eq $value }, "twtasks.$name to be $value");
	return;
}

# Changes a setting of the edition, which is a row there.
sub set
{
	my ($self, $name, $value) = @_;

	$self->safe_psql('postgres', "UPDATE twtasks.setting SET value = '$value' WHERE name = '$name'");
	return;
}

# Lists the activity of the server's sessions, and what may keep tasks from a node,
# after a wait that failed.
sub show_sessions
{
	my ($self) = @_;
	my %of = (
		sessions => q(SELECT pid, application_name, state, wait_event, pg_blocking_pids(pid),
				clock_timestamp() - state_change, left(query, 60)
			FROM pg_stat_activity WHERE backend_type = 'client backend'),
		tasks => q(SELECT ctid, xmin, xmax, id, type, status, version, incarnation, state_time, next_event_time
			FROM twtasks.task ORDER BY created DESC LIMIT 20),
		nodes => q(SELECT incarnation, missing_since, ended, twtasks_internal.adoption_fault() FROM twtasks.node));

	foreach my $what (sort keys %of)
	{
		my $text = eval { $self->session->try($of{$what}) };

		diag("$what of " . $self->name . ":\n" . ($text // 'they cannot be read'));
	}
	return;
}

# A session of its own, as the owner of the server or as somebody else.
sub session
{
	my ($self, $user) = @_;

	return TwTasks::Session->new(
		$self->connstr('postgres') . ($user ? " user=$user" : ''));
}

# The common session, opened anew when the server has ended it.
sub common_session
{
	my ($self) = @_;

	return $self->{_twt_session} ||= $self->session;
}

# Returns the result of a statement in the common session.
sub value
{
	my ($self, $sql) = @_;

	return $self->common_session->query($sql);
}

# The same while the server may be away: undef then.
sub value_or_undef
{
	my ($self, $sql) = @_;
	my $text = $self->common_session->try($sql);

	return $text unless TwTasks::Session::has_failed($text);
	$self->forget_session;
	return;
}

sub forget_session
{
	my ($self) = @_;
	my $session = delete $self->{_twt_session};

	$session->close if $session;
	return;
}

# SQL literals of what add_task() is given by name.
sub arguments
{
	my (%arguments) = @_;

	return join ', ', map {
		my $value = $arguments{$_};
		$value =~ s/'/''/g;
		"$_ => '$value'"
	} sort keys %arguments;
}

# Makes buckets that are not there.
sub configure_buckets
{
	my ($self, @buckets) = @_;

	foreach my $bucket (grep { !$self->{_twt_buckets}{$_}++ } @buckets)
	{
		$self->value("SELECT twtasks.configure_bucket('$bucket')
			WHERE NOT EXISTS (SELECT FROM twtasks.buckets WHERE name = '$bucket')");
	}
	return;
}

# Adds a task in a transaction of its own, and its bucket if need be; returns
# its id.
sub add_task
{
	my ($self, $type, %arguments) = @_;

	$self->configure_buckets($arguments{bucket}) if $arguments{bucket};
	return $self->value('SELECT task_id FROM twtasks.add_task('
		  . arguments(type => $type, %arguments)
		  . ')');
}

# Adds n tasks, so many in each transaction.
sub add_many
{
	my ($self, $type, $n, $each) = @_;

	while ($n > 0)
	{
		my $now = $n < $each ? $n : $each;

		$self->value(
			"SELECT count(*) FROM twtasks.add_tasks(ARRAY(
			SELECT ('$type', to_jsonb(i), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)::twtasks.new_task
			FROM generate_series(1, $now) i))");
		$n -= $now;
	}
	return;
}

# An SQL handler, app.effect, that leaves a row each time that it has run.
sub create_effect
{
	my ($self) = @_;

	$self->value(<<'SQL');
	CREATE SCHEMA app;
	CREATE TABLE app.effect (id uuid);
	CREATE FUNCTION app.effect(task twtasks.task_input) RETURNS void
	LANGUAGE sql AS $$ INSERT INTO app.effect VALUES (task.id) $$;
	GRANT USAGE ON SCHEMA app TO sidecar;
	GRANT INSERT ON app.effect TO sidecar;
SQL
	return;
}

sub effects_once_ok
{
	my ($self) = @_;

	return is($self->value('SELECT count(*) = count(DISTINCT id) FROM app.effect'),
		't', 'each SQL function had its effect once');
}

# 'DONE 2': status and version; '' when there is no such task.
sub state_of
{
	my ($self, $id) = @_;

	return $self->value(
		"SELECT status || ' ' || version FROM twtasks.tasks WHERE id = '$id'"
	);
}

sub status_of
{
	return (split / /, $_[0]->state_of($_[1]))[0] // '';
}

# How many tasks there are, that is, for which the condition holds.
sub tasks
{
	my ($self, $condition) = @_;

	return $self->value(
		"SELECT count(*) FROM twtasks.tasks WHERE $condition");
}

# Until all tasks are done whose types match.
sub wait_until_done
{
	my ($self, $types, $name) = @_;

	return wait_ok(
		sub { $self->tasks("type ~ '$types' AND status <> 'DONE'") == 0 },
		$name);
}

# Locks the tasks against any change: grab, finish and all else wait until the
# session is closed.
sub lock_tasks
{
	my ($self) = @_;
	my $session = $self->session;

	$session->query('BEGIN; LOCK TABLE twtasks.task IN SHARE MODE');
	return $session;
}

# While the session is open nobody judges, which would open incidents and end those
# of a test.
sub hold_judge
{
	my ($self) = @_;
	my $session = $self->session;

	$session->query(q{SELECT twtasks_internal.lock_session(hashtextextended('twtasks.incident', 0))});
	return $session;
}

# Locks a task's row: its finish waits until the session is closed; a grab
# leaves it out.
sub lock_task
{
	my ($self, $id) = @_;
	my $session = $self->session;

	$session->query(
		"BEGIN; SELECT FROM twtasks.task WHERE id = '$id' FOR UPDATE");
	return $session;
}

# Holds up the next tick of an incarnation, with the row of its node locked; returns
# the session that does, and the process id of the backend.
sub hold_tick
{
	my ($self, $incarnation) = @_;
	my $holder = $self->session;
	my $pid;

	$holder->query('SELECT pg_advisory_lock(1)');
	$self->value(<<"SQL");
	CREATE FUNCTION public.hold() RETURNS trigger LANGUAGE plpgsql AS
	\$\$ BEGIN PERFORM pg_catalog.pg_advisory_xact_lock_shared(1); RETURN NULL; END \$\$;
	CREATE TRIGGER hold AFTER UPDATE OF heartbeat ON twtasks.node FOR EACH ROW
	WHEN (NEW.incarnation = $incarnation) EXECUTE FUNCTION public.hold();
SQL
	wait_for(
		sub {
			$pid = $self->value('SELECT pid FROM pg_stat_activity
				WHERE application_name = \'twtasksd control\' AND wait_event = \'advisory\'');
		},
		'a tick to be under way');
	return ($holder, $pid);
}

# Stops a backend that this condition finds, while it waits for its client or for
# time: one that runs may hold a lock of the server's own, for which all others wait.
# Returns its process id.
sub freeze_backend
{
	my ($self, $condition) = @_;
	my $waits = q(wait_event_type IN ('Activity', 'Client', 'Extension', 'Timeout'));

	return wait_for(
		sub {
			my $pid = $self->value("SELECT pid FROM pg_stat_activity WHERE $condition AND $waits
				ORDER BY xact_start DESC NULLS LAST LIMIT 1") or return 0;

			kill STOP => $pid;
			wait_for(sub { TwTasks::Sidecar::process_state($pid) =~ /^[Tt]?$/ }, 'a backend to stand still');
			return $pid if $self->value("SELECT count(*) FROM pg_stat_activity WHERE pid = $pid AND $waits") == 1;
			kill CONT => $pid;
			return 0;
		},
		"a backend to freeze: $condition");
}

# Does some session of the sidecars with this role wait for a lock?
sub waits_for_lock
{
	my ($self, $role, $program) = @_;

	$program //= 'twtasksd';
	return $self->value(
		"SELECT count(*) FROM pg_stat_activity
		WHERE application_name = '$program $role' AND wait_event_type = 'Lock'");
}

# How many of the sidecars' sessions wait for a lock in a call of this function?
sub wait_in_call
{
	my ($self, $function) = @_;

	return $self->value(
		"SELECT count(*) FROM pg_stat_activity
		WHERE application_name LIKE 'twtasksd %' AND wait_event_type = 'Lock'
		  AND query LIKE '%.$function(%'");
}

# The names of the nodes that lead.
sub leaders
{
	my ($self) = @_;

	return $self->value(
		q(SELECT coalesce(string_agg(name, ',' ORDER BY name), '') FROM twtasks.node
		WHERE leads AND ended IS NULL));
}

# A task that is due later needs a leader.
sub due_task_ok
{
	my ($self, $name) = @_;
	my $due = $self->add_task('DUE',
		run_after => $self->value(q(SELECT clock_timestamp() + interval '100 ms')));

	return wait_ok(sub { $self->status_of($due) eq 'DONE' }, $name);
}

# Waits until so many sidecars know of each other: each has ticked since the
# last one started.
sub wait_for_company
{
	my ($self, $n) = @_;

	wait_for(
		sub {
			$self->value(
				"SELECT count(*) = $n AND min(heartbeat) > max(started)
				FROM twtasks.nodes WHERE ended IS NULL") eq 't';
		},
		"$n sidecars to know of each other");
	return;
}

# Whether amcheck, which is installed, finds no damage in our tables and indexes.
sub undamaged_ok
{
	my ($self) = @_;

	is( $self->value(
			"SELECT count(bt_index_check(i.indexrelid, true)) > 5 FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
			JOIN pg_am m ON m.oid = c.relam WHERE m.amname = 'btree' AND c.relkind = 'i' AND i.indisvalid
			AND c.relnamespace = 'twtasks'::regnamespace"),
		't', 'every index has each row of its table');
	return is(
		$self->value(
			"SELECT count(*) FROM pg_class c, LATERAL verify_heapam(c.oid)
			WHERE c.relkind = 'r' AND c.relnamespace = 'twtasks'::regnamespace"),
		'0', 'no page of a table is damaged');
}

# Where the server keeps what is large in the live tasks.
sub toast_file
{
	my ($self) = @_;

	return $self->data_dir . '/' . $self->value(
		'SELECT pg_relation_filepath(reltoastrelid) FROM pg_class
		WHERE oid = \'twtasks.task\'::regclass');
}

sub while_stopped
{
	my ($self, $do) = @_;

	$self->stop;
	$do->();
	$self->start;
	return;
}

sub disk
{
	return $_[0]->{_twt_disk};
}

# With the server's clock or disk in its environment, if it has one of its own.
sub start
{
	my ($self, @rest) = @_;

	local %ENV = (%ENV, map { $_->environment } grep { $_ } @$self{qw(_twt_clock _twt_disk)});
	return $self->SUPER::start(@rest);
}

sub stop
{
	my ($self, @rest) = @_;

	$self->forget_session;
	return $self->SUPER::stop(@rest);
}

1;
