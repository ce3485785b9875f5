# 204_edition_move.pl -- the tasks of the SQL edition move to the extension, and back, and no
# task is lost or done twice.  The database that they left runs nothing any more.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Move;
use TwTasks::Session;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $node = TwTasks::Cluster->create('main', queue => 'notify', edition => 'sql');
my $ledger = TwTasks::Ledger->new;
my $super = $node->value('SELECT session_user');

$node->safe_psql('postgres', 'CREATE DATABASE library');
$node->safe_psql('library', 'CREATE EXTENSION twtasks');
$node->safe_psql('postgres', 'CREATE DATABASE again OWNER installer');
$node->command_ok([ 'psql', '-Xq', '-o', '/dev/null', '-f', "$ENV{TWT_EDITIONS}/sql.sql", '-d', $node->connstr('again') . ' user=installer' ],
	'a third database has the SQL edition');

my $move = TwTasks::Move->new($node);
my @tables = $move->tables_in('library', 'twtasks');

sub session_of { return TwTasks::Session->new($node->connstr($_[0])); }

sub sidecar_of
{
	my ($name, $database) = @_;

	return TwTasks::Sidecar->start(
		$node, $name,
		lease => '5s',
		postgres => $node->connstr($database) . ' user=sidecar',
		handlers => [
			{ types => ['NOOP'], noop => JSON::PP::true },
			{ types => ['FAILS'], command => $ledger->command(undef, 65) },
			{ types => ['GATED|retry'], stuck => 'retry', command => $ledger->command('gate') },
			{ types => ['GATED|error'], stuck => 'error', command => $ledger->command('gate') }
		]);
}

sub move_out { return $move->out(@_); }
sub psql { return $move->in(@_); }
sub rows_of { return $move->rows_of($_[0], @tables); }

sub state_in
{
	my ($database, $id) = @_;

	return session_of($database)->query("SELECT status || ' ' || version FROM twtasks.tasks WHERE id = '$id'");
}

# ---- tasks in each status, in the SQL edition ----

my $sidecar = sidecar_of('a', 'postgres');
my $hour = q{clock_timestamp() + interval '1 hour'};

$node->value($_) foreach
	q{SELECT twtasks.configure_type('NOOP', priority => 3, retry => '[{"delays": ["1s"]}, {"delay": "1min"}]')},
	q{SELECT twtasks.pause_type('PAUSED', 'for now')},
	q{SELECT twtasks.allow_type('FOREIGN*', 'twtasks_producer')},
	q{SELECT twtasks.configure_limit('LIMITED', 3, 'cluster')},
	q{SELECT twtasks.schedule('yearly', '0 0 1 1 *', 'NOOP')},
	q{UPDATE twtasks.setting SET value = '400d' WHERE name = 'keep_finished'},
	'CREATE TABLE twtasks.of_somebody (n integer)';
my %id = (
	done => $node->add_task('NOOP', key => 'done', data => '{"a": 1.10, "b": "é\\\\"}'),
	error => $node->add_task('FAILS'),
	retry => $node->add_task('GATED|retry'),
	stuck => $node->add_task('GATED|error'),
	later => $node->value("SELECT task_id FROM twtasks.add_task('NOOP', key => 'later', run_after => $hour)"),
	held => $node->value("SELECT task_id FROM twtasks.add_task('NOOP', run_after => $hour)"),
	waiting => $node->value(q{SELECT task_id FROM twtasks.add_task('NOBODY', payload => '\x00ff0a')}));
$node->value("SELECT twtasks.hold_task('$id{held}', 0, 'to be kept')");
wait_ok(
	sub {
		$node->status_of($id{done}) eq 'DONE' && $node->status_of($id{error}) eq 'ERROR'
		  && $node->tasks('status = \'PROCESSING\'') == 2;
	},
	'tasks are in each status');

# ---- from the SQL edition to the extension ----

like(move_out('installer', 'postgres', 'none.sql'), qr/sidecars of this database run: a.*Stop them/s, 'tasks do not move while a sidecar runs');
$sidecar->kill9;
wait_ok(sub { move_out('installer', 'postgres', 'moved.sql') eq '' }, 'they do when its lease has ended');
my $before = rows_of('postgres');

cmp_ok(length $before->{$_}, '>', 0, "$_ has rows") foreach qw(twtasks.task twtasks.finished_task twtasks.node twtasks.unique_key
  twtasks.audit twtasks.type_policy twtasks.policy_audit twtasks.pause twtasks.limit_rule twtasks.schedule twtasks.allowed_type);
like($node->common_session->try('SELECT twtasks.add_task(\'NOOP\')'), qr/55000: .*were moved to another one/, 'the database that they left refuses new ones');
like($node->common_session->try($_), qr/55000: .*were moved to another one/, "... and refuses $_")
  foreach q{SELECT twtasks.add_task('NOOP', key => 'done')}, q{SELECT twtasks.pause_type('LATER', 'too late')}, q{SELECT twtasks.adopt(NULL, hold => false)};
is($node->value('SELECT is_adopted FROM twtasks.adoption_state'), 'f', '... and runs none');
like(move_out('installer', 'postgres', 'none.sql'), qr/were moved already/, '... and moves none a second time');

like((psql($super, 'library', 'moved.sql'))[0], qr/keeps its history for a shorter time.*keep_finished 400 days/s, 'a cleaning would drop what has moved');
$node->append_conf('postgresql.conf', "twtasks.keep_finished = '400d'");
$node->reload;
wait_ok(sub { session_of('library')->query('SELECT twtasks_internal.keep_finished() = interval \'400 days\'') eq 't' }, '... unless the time is as long');

# A row that is lost on the way.
my $text = slurp_file($move->file('moved.sql'));
$text =~ s/^(COPY twtasks.unique_key .*\n).*\n/$1/m or die 'no keys';
append_to_file($move->file('short.sql'), $text);
like((psql($super, 'library', 'short.sql'))[0], qr/table "twtasks.unique_key" has not arrived as it was/, 'a row that is missing is noticed');
is(session_of('library')->query('SELECT count(*) FROM twtasks.task'), 0, '... and nothing arrives');

# A file that was cut: psql ends a COPY in order when its file ends.
$text = slurp_file($move->file('moved.sql'));
foreach my $place ('\set QUIET', 'DO $$', 'COPY twtasks.finished_task ', "\nCOPY twtasks.unique_key", 'SELECT setval', 'COMMIT')
{
	my $name = $place =~ s/\W+/ /gr;

	append_to_file($move->file("$name.sql"), substr($text, 0, index($text, $place)));
	command_fails([ 'psql', '-X', '-d', $node->connstr('library') . " user=$super", '-f', $move->file("$name.sql") ], "psql fails if the file ends before $name");
	is(session_of('library')->query('SELECT count(*) FROM twtasks.task'), 0, '... and nothing arrives');
}

# Triggers of the application see no task that moves, and each is afterwards as it was.
my $triggers = 'SELECT tgrelid::regclass, tgname, tgenabled FROM pg_trigger WHERE NOT tgisinternal AND tgparentid = 0 ORDER BY 1, 2';

session_of('library')->query($_) foreach
	q{CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'a new task'; END $$},
	'CREATE TRIGGER refuse BEFORE INSERT ON twtasks.task FOR EACH ROW EXECUTE FUNCTION refuse()',
	'CREATE TRIGGER "Always: one" BEFORE INSERT ON twtasks.task EXECUTE FUNCTION refuse()',
	'ALTER TABLE twtasks.task ENABLE ALWAYS TRIGGER "Always: one"',
	'ALTER TABLE twtasks.schedule DISABLE TRIGGER USER';
my $switched = session_of('library')->query($triggers);

my ($error, $out) = psql($super, 'library', 'moved.sql');
is($error, '', 'the extension takes all rows');
like($out, qr/twtasks\.task: 6 rows, as before\n.*All rows have arrived/s, '... and counts them');
is_deeply(rows_of('library'), $before, 'each row is as before');
like((psql($super, 'library', 'moved.sql'))[0], qr/all rows of this file have arrived before.*adopt\(environment/s, 'a second load says that the first one was enough');
is(session_of('library')->query($triggers), $switched, 'each trigger is on or off as before');
session_of('library')->query($_) foreach 'DROP FUNCTION refuse() CASCADE', 'ALTER TABLE twtasks.schedule ENABLE TRIGGER USER';
is(session_of('library')->query('SELECT is_adopted FROM twtasks.adoption_state'), 'f', 'nothing runs there before somebody calls adopt()');
is(session_of('library')->query('SELECT * FROM twtasks.adopt(NULL, hold => false)'), '0|0', 'a person lets the tasks run');
$ledger->release('gate');
my $second = sidecar_of('b', 'library');

wait_ok(sub { state_in('library', $id{retry}) =~ /^DONE/ }, 'a task that ran runs again by the stuck rule retry');
wait_ok(sub { state_in('library', $id{stuck}) =~ /^ERROR/ }, 'a task that ran is in ERROR by the stuck rule error');
is(session_of('library')->query(q{SELECT result FROM twtasks.add_task('NOOP', key => $$done$$)}), 'already_exists', 'a key of the history is known');
is($second->stop, 0, 'the sidecar stops in order');

# ---- and back ----

is(move_out($super, 'library', 'back.sql'), '', 'the tasks move from the extension');
$before = rows_of('library');
session_of('again')->query(q{UPDATE twtasks.setting SET value = '400d' WHERE name = 'keep_finished'});
like((psql('installer', 'postgres', 'back.sql'))[0], qr/has rows.*just installed/s, 'a database that has tasks takes no others');

# The file without its part behind the COMMIT.
append_to_file($move->file('cut.sql'), slurp_file($move->file('back.sql')) =~ s/^COMMIT;\n\K.*//smr);
command_fails([ 'psql', '-X', '-d', $move->connection('installer', 'again'), '-f', $move->file('cut.sql') ], 'psql fails if the file ends behind COMMIT');
like((psql('installer', 'again', 'back.sql'))[0], qr/all rows of this file have arrived before/, '... and a second load says that the SQL edition has taken them');
is_deeply(rows_of('again'), $before, 'each row is as before');
is(session_of('again')->query('SELECT * FROM twtasks.adopt(NULL, hold => false)'), '0|0', 'a person lets the tasks run');
session_of('again')->query("SELECT twtasks.release_task('$id{held}', 1, now()), twtasks.reschedule_task('$id{later}', 0, now())");
my $third = sidecar_of('c', 'again');
wait_ok(sub { state_in('again', $id{held}) =~ /^DONE/ }, 'a held task runs when it is released');
wait_ok(sub { state_in('again', $id{later}) =~ /^DONE/ }, 'a waiting task runs when its time comes');
like(state_in('again', $id{error}), qr/^ERROR/, 'a task that was given up still is');
like(state_in('again', $id{waiting}), qr/^SUBMITTED/, 'a task that nobody handles still waits');
is(session_of('again')->query('SELECT count(*) FROM twtasks.tasks'), 7 , 'there are as many tasks as were added');
is($third->stop, 0, 'the sidecar stops in order');

# ---- the way out ----

$node->value($_) foreach 'DROP FUNCTION twtasks_internal.refuse_moved() CASCADE', 'SELECT twtasks.adopt(NULL, hold => false)';
is($node->value('SELECT is_adopted FROM twtasks.adoption_state'), 't', 'the first database can be used again');
is($node->value('SELECT result FROM twtasks.add_task(\'NOOP\')'), 'added', '... and takes tasks');

done_testing();
