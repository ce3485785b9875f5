# 171_import_misfits.pl -- twtasks-import names each task that does not fit, and imports
# nothing beside it unless told to; it finds each difference, and refuses to begin
# while others work.

use strict;
use warnings FATAL => 'all';

use Compress::Zlib ();
use Test::More;
use TwTasks::Cluster;
use TwTasks::Original;
use TwTasks::Session;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $node = TwTasks::Cluster->create('main', conf => { 'twtasks.max_payload' => q{'512kB'} });
my $original = TwTasks::Original->create($node, 80);
my $here = 'SELECT count(*) FROM twtasks.tasks';
my ($out, $err);

$node->value('CREATE ROLE migrator LOGIN');

# Adds a task in WAITING to the source, with its bytes of data in a format.
my $number = 0;

sub misfit
{
	my (%has) = @_;
	my $id = sprintf '00000000-0000-4000-8000-%012d', ++$number;
	my %column = (type => 'FITS', sub_type => undef, status => 'WAITING', version => 0, tries => 0, format => 0, data => 'fits', context => undef, context_format => 0, next => 'now', %has);
	my $text = sub { defined $_[0] ? "'" . ($_[0] =~ s/'/''/gr) . "'" : 'NULL' };

	$original->value(sprintf <<'SQL', $text->($id), map({ $text->($column{$_}) } qw(type sub_type status next)), $column{tries}, $column{version});
		INSERT INTO tw_task (id, type, sub_type, status, data, next_event_time, state_time, time_created, time_updated, processing_tries_count, version)
		VALUES (%s, %s, %s, %s, '', %s, now(), now(), now(), %s, %s)
SQL
	my $bytes = $column{bytes} // "convert_to(" . $text->($column{data}) . ", 'UTF8')";

	my $context = $column{context_bytes} // (defined $column{context} ? "convert_to('$column{context}', 'UTF8')" : 'NULL');

	$original->value("INSERT INTO tw_task_data VALUES ('$id', $column{format}, $bytes, $column{context_format}, $context)");
	$original->value("INSERT INTO unique_tw_task_key VALUES ('$id', $number, " . $text->($has{key}) . ')') if defined $has{key};
	return $id;
}

# ---- who may ----

my %granted = (
	'USAGE ON SCHEMA twtasks' => $node,
	'SELECT ON twtasks.nodes' => $node,
	(map { ("EXECUTE ON FUNCTION twtasks.$_" => $node) } qw(begin_import import_tasks compare_import end_import)),
	'USAGE ON SCHEMA tables' => $original,
	(map { ("SELECT ON tables.$_" => $original) } qw(tw_task tw_task_data unique_tw_task_key)));
my @as_migrator = ('--schema', 'tables', '--ended', 0);

$original->value('CREATE SCHEMA tables');
$original->value("ALTER TABLE $_ SET SCHEMA tables") foreach qw(tw_task tw_task_data unique_tw_task_key);
($out, $err) = $original->ends(1, [ @as_migrator, '--dry-run' ], 'a role without rights is refused', 'migrator');
like($err, qr/lacks rights in the target: USAGE ON SCHEMA twtasks, SELECT ON twtasks.nodes, EXECUTE [^\n]*import_tasks, .*\nhint: grant them/,
	'and learns at once what it needs');
$granted{$_}->value("GRANT $_ TO migrator") foreach keys %granted;
$original->ends(0, [ @as_migrator, '--dry-run' ], 'the rights of docs/migrating.md are enough', 'migrator');
foreach my $right (sort keys %granted)
{
	$granted{$right}->value("REVOKE $right FROM migrator");
	($out, $err) = $original->ends(1, [ @as_migrator, '--dry-run' ], "not without $right", 'migrator');
	like($err, qr/lacks rights in the (?:source|target): \Q$right\E\n/, 'which the message names');
	$granted{$right}->value("GRANT $right TO migrator");
}
$original->ends(0, [ @as_migrator, '--name', 'migrator' ], 'the same rights are enough to import', 'migrator');
is($node->value($here), $original->value(q{SELECT count(*) FROM tables.tw_task WHERE status NOT IN ('DONE', 'FAILED', 'CANCELLED')}), 'all tasks are here');
$node->value('TRUNCATE twtasks.task, twtasks.unique_key, twtasks.imported, twtasks.import');
$original->value("ALTER TABLE tables.$_ SET SCHEMA public") foreach qw(tw_task tw_task_data unique_tw_task_key);
($out, $err) = $original->ends(3, [ '--dry-run', '--schema', 'elsewhere' ], 'tables that are not there are an error');
like($err, qr/^twtasks-import: relation "tw_task" does not exist\nhint: --schema names/, 'which says what to do');
($out, $err) = $original->ends(2, [ '--to', 'dbname=postgres password=secret' ], 'a password in the arguments is refused');
unlike($err, qr/secret/, 'and not repeated');
$original->ends(2, [ '--ended', 'x' ], 'days must be a number');
($out, $err) = $original->ends(1, [ '--ended', 31 ], 'no more history is taken than is kept');
like($err, qr/twtasks\.keep_finished/, 'which the message explains');

# ---- misfits ----

# Data and a context that are small when packed, and together too large for a message.
my $packed = q{'\x} . unpack('H*', Compress::Zlib::memGzip('x' x 70_000_000)) . q{'};
my $sum = misfit(format => 1, bytes => $packed, context_format => 1, context_bytes => $packed);

($out, $err) = $original->ends(1, ['--dry-run'], 'data and a context are too large together');
like($out, qr/^refused $sum [^\n]*: it is too large when unpacked$/m, 'the task is named, and the run goes on');
like($err, qr/^twtasks-import: 1 tasks do not fit/m, 'to its end');
$original->value("DELETE FROM tw_task WHERE id = '$sum'");

my %why = (
	misfit(context_bytes => q{convert_to(repeat(' ', 130000000), 'UTF8')}) => qr/it is too large for a message/,
	misfit(sub_type => 's' x 1_100_000) => qr/it is too large for a message/,
	misfit(type => 'two words') => qr/invalid type: "two words"/,
	misfit(type => 'T' x 121) => qr/invalid type/,
	misfit(sub_type => 's' x 251) => qr/invalid sub_type/,
	misfit(key => 'k' x 1001) => qr/invalid key: A key has 1 to 1000 bytes/,
	misfit(key => "a\nb") => qr/invalid key/,
	misfit(status => 'PAUSED') => qr/unrecognized task status: "PAUSED"/,
	misfit(status => 'HELD') => qr/unrecognized task status: "HELD"/,
	misfit(version => '9223372036854775000') => qr/version, tries, priority or a time/,
	misfit(tries => '3000000000') => qr/version, tries, priority or a time/,
	misfit(version => -1) => qr/version, tries, priority or a time/,
	misfit(next => 'infinity') => qr/version, tries, priority or a time/,
	misfit(format => 4) => qr/its format is not one of 0 to 3/,
	misfit(format => 1) => qr/the gzip stream is broken or cut/,
	misfit(format => 2) => qr/a block of the LZ4 stream is broken or missing/,
	misfit(format => 2, bytes => q{'\x4c5a34426c6f636b10000000000000000000000000ff'}) => qr/bytes follow the end/,
	misfit(format => 3) => qr/the zstd stream is broken/,
	misfit(context => '{"map": {}}') => qr/the context is not an object with contextMap alone/,
	misfit(context => '{"contextMap":') => qr/invalid input syntax for type json/,
	misfit(bytes => "decode(repeat('00', 600000), 'hex')") => qr/task of 600000 bytes is too large/,
	misfit(type => 'DATA|x', data => 'no JSON') => qr/invalid input syntax for type json/,
	misfit(type => 'DATA|y', data => '"\u0000"') => qr/unsupported Unicode escape sequence/,
	misfit(type => 'DATA|z', bytes => q{'\xff'}) => qr/invalid byte sequence/,
	misfit(key => 'taken') => qr/its key "taken" belongs to task \S+ here/);
my $data = misfit(type => 'DATA|fits', data => '{"n": 1.50}', key => 'data');
my @json = ('--json', 'DATA|*');

$node->value(q{SELECT twtasks.add_task('OURS', key => 'taken', run_after => '2100-01-01')});
foreach my $arguments ([ '--dry-run', @json ], \@json)
{
	($out, $err) = $original->ends(1, $arguments, "tasks do not fit: @$arguments");
	like($out, qr/^refused $_ \S+ [^\n]*: $why{$_}/m, "$_ is named, with the reason") foreach sort keys %why;
	is(scalar(() = $out =~ /^refused /mg), scalar keys %why, 'and no other');
}
like($err, qr/25 tasks do not fit, so none was imported/, 'nothing is imported beside them');
is($node->value($here), 1, 'indeed nothing');

# ---- others at work ----

my $sidecar = TwTasks::Sidecar->start($node, 'main', handlers => [ { types => ['TYPE_1|*'], noop => JSON::PP::true } ]);

($out, $err) = $original->ends(1, [ @json, '--skip-misfits' ], 'a sidecar would start the tasks at once');
like($err, qr/sidecars of the target would start the tasks at once: \S+ handles TYPE_1\|a\.b\n/, 'which the message says');
$sidecar->stop;

# ---- without the misfits ----

$node->value(q{SELECT twtasks.configure_bucket('side'), twtasks.configure_type('FITS', bucket => 'side', expires_after => '1 minute')});
my $fits = misfit();

$original->ends(0, [ @json, '--skip-misfits', '--processing', 'retry', '--ended', 0 ], 'all others can be imported');
is($node->value($here), 1 + $original->value(q{SELECT count(*) FROM tw_task WHERE id::text !~ '^00000000' AND status NOT IN ('DONE', 'FAILED', 'CANCELLED')}) + 2,
	'and no task that has ended');
is($node->value("SELECT data || jsonb_build_object('payload', payload IS NULL) FROM twtasks.task WHERE id = '$data'"), '{"n": 1.50, "payload": true}', 'the data of a named type is JSON');
is($node->value("SELECT bucket || ' ' || coalesce(expires::text, 'never') FROM twtasks.task WHERE id = '$fits'"), 'side never', 'a policy gives the bucket, and no time to expire');
is($node->value(q{SELECT count(*) FROM twtasks.unknown_outcomes}), 0, 'tasks that were PROCESSING run again');
is($node->value(q{SELECT result FROM twtasks.add_task('DATA|fits', key => 'data')}), 'already_exists', 'a key stays taken');

# ---- differences ----

my @rest = (@json, '--skip-misfits', '--processing', 'retry', '--ended', 0);

# Changes tasks here, each in a way of its own, and finds by one run that all differ.
sub differ
{
	my ($name, %change) = @_;
	my $ids = join ', ', map { "'$_'" } keys %change;

	$node->value("CREATE TABLE public.kept AS SELECT * FROM twtasks.task WHERE id IN ($ids)");
	$node->value("UPDATE twtasks.task SET $change{$_} WHERE id = '$_'") foreach keys %change;
	($out, $err) = $original->ends(1, \@rest, $name);
	like($out, qr/^differs $_ WAITING FITS$/m, "a task is named: $change{$_}") foreach sort keys %change;
	is(scalar(() = $out =~ /^differs /mg), scalar keys %change, 'and no other');
	like($out, qr/^WAITING .* [0-9a-f]{64} <> [0-9a-f]{64}$/m, 'both hashes are shown');
	$node->value("DELETE FROM twtasks.task WHERE id IN ($ids)");
	$node->value('INSERT INTO twtasks.task SELECT * FROM public.kept; DROP TABLE public.kept');
	return;
}

my %change = map { (misfit() => $_) } (
	q{payload = 'xx'}, q{priority = priority + 1}, q{key = 'x'}, q{next_event_time = next_event_time + interval '1 microsecond'},
	q{context = '{"a": 1}'}, q{sub_type = 'x'}, q{tries = tries + 1}, q{state_time = state_time + interval '1 ms'});
my %moved = map { (misfit() => $_) } (
	q{type = 'OTHER'}, q{sub_type = 'x'}, q{key = 'x'}, q{created = created + interval '1 ms'}, q{context = '{"a": 1}'},
	q{payload = 'xx'}, q{payload = NULL}, q{data = '1'});

$original->ends(0, \@rest, 'more tasks are imported');
differ('differences are found', %change);
$original->value("UPDATE tw_task SET version = version + 1 WHERE id = '$fits'");
($out) = $original->ends(1, \@rest, 'a task that has changed in the source is a difference');
like($out, qr/^differs $fits WAITING FITS$/m, 'it is named');
$original->value("UPDATE tw_task SET version = version - 1 WHERE id = '$fits'");

# ---- later ----

$node->value("SELECT twtasks.hold_task('$fits')");
($out) = $original->ends(0, \@rest, 'a task that has gone on here is no difference');
like($out, qr/^WAITING +\d+ +\d+ +1  /m, 'it is counted');
$node->value("SELECT twtasks.hold_task('$_')") foreach keys %moved;
differ('a later version with another content is a difference', %moved);
$node->value("WITH d AS (DELETE FROM twtasks.task WHERE id = '$data') DELETE FROM twtasks.unique_key WHERE task_id = '$data'");
($out) = $original->ends(1, \@rest, 'a task that was done and deleted since is for a person to judge');
like($out, qr/^1 tasks are gone, or were left out/m, 'the import counts it');
like($out, qr/^gone $data WAITING DATA\|fits$/m, 'and names it');
is($node->value("SELECT count(*) FROM twtasks.tasks WHERE id = '$data'"), 0, 'and does not add it again');
my $all = $node->value('SELECT sum(hashtext(t::text)), count(*) FROM twtasks.task t');

($out) = $original->ends(1, [ @rest, '--name', 'another' ], 'nor does an import of another name add it');
like($out, qr/^gone $data WAITING DATA\|fits$/m, 'which names it too');
unlike($out, qr/^[A-Z]+ +\d+ +[1-9]\d* +\d+ +\d+  \S/m, 'and adds no other task twice');
is($node->value('SELECT sum(hashtext(t::text)), count(*) FROM twtasks.task t'), $all, 'all tasks stay as they are');
$original->value("DELETE FROM tw_task WHERE id = '$data'");
my $later = misfit();

$original->ends(0, \@rest, 'an import can be repeated when the source has more tasks');
is($node->value("SELECT count(*) FROM twtasks.tasks WHERE id = '$later'"), 1, 'a task that was created since is added');

# A handler may have done and deleted the task of a run after the first.
sub forget
{
	my ($id) = @_;

	$node->value("WITH d AS (DELETE FROM twtasks.task WHERE id = '$id') DELETE FROM twtasks.unique_key WHERE task_id = '$id'");
}

forget($later);
($out) = $original->ends(1, \@rest, 'nor does a later run add what an earlier one added later');
like($out, qr/^gone $later WAITING FITS$/m, 'which it names');
is($node->value("SELECT count(*) FROM twtasks.tasks WHERE id = '$later'"), 0, 'it is not there');
$original->value("DELETE FROM tw_task WHERE id = '$later'");

# ---- a run that was never found equal ----

my ($early, $change) = (misfit(), misfit());

$node->value("CREATE FUNCTION public.change() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.priority := 9; RETURN NEW; END'");
$node->value("CREATE TRIGGER change BEFORE INSERT ON twtasks.task FOR EACH ROW WHEN (NEW.id = '$change') EXECUTE FUNCTION public.change()");
($out) = $original->ends(1, [ @rest, '--name', 'unequal' ], 'a run finds a difference');
like($out, qr/^differs $change WAITING FITS$/m, 'and names it');
$node->value('DROP FUNCTION public.change() CASCADE');
$node->value("UPDATE twtasks.task SET priority = 5 WHERE id = '$change'");
forget($early);
my $since = misfit();

($out) = $original->ends(1, [ @rest, '--name', 'unequal' ], 'a repeated run adds no task that this run had added');
like($out, qr/^gone $early WAITING FITS$/m, 'it names it');
is($node->value("SELECT string_agg(id::text, ' ') FROM twtasks.tasks WHERE id IN ('$early', '$since')"), $since, 'and adds a task that was created since');
$original->value("DELETE FROM tw_task WHERE id = '$early'");
$original->ends(0, [ @rest, '--name', 'unequal' ], 'then everything is equal');

# ---- a view ----

$original->value(<<'SQL');
	CREATE SCHEMA views;
	CREATE VIEW views.tw_task AS SELECT id, type, sub_type, CASE WHEN type <> 'NULL' THEN status END AS status, data, next_event_time,
		state_time, processing_client_id, time_created, processing_tries_count, version, priority FROM tw_task;
	CREATE VIEW views.tw_task_data AS SELECT * FROM tw_task_data;
	CREATE VIEW views.unique_tw_task_key AS SELECT * FROM unique_tw_task_key
SQL
my $null = misfit(type => 'NULL');

($out) = $original->ends(1, [ @json, '--schema', 'views', '--ended', 0 ], 'a view may give no status');
like($out, qr/^refused $null\b[^\n]*: unrecognized task status/m, 'which is refused by name');
$original->ends(0, [ @rest, '--schema', 'views', '--name', 'unequal' ], 'and can be left there');

# ---- the nodes of the original ----

my $reading = q{SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'SELECT count(*) FROM tw_task%'};
my $reader = TwTasks::Session->new($original->connstr);

# Each statement is one of its own, since a session tells of its reads only when idle.
$reader->send('SELECT count(*) FROM tw_task \watch 0.2');
wait_ok(sub { $original->value($reading) == 1 }, 'a node of the original reads its table');
($out, $err) = $original->ends(1, [ @rest, '--watch', '60s' ], 'an import does not begin while nodes run');
like($err, qr/other sessions read table tw_task.*\ndetail: Sessions of this database: .*pid \d+/, 'it names the sessions');
$original->value(q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'SELECT count(*) FROM tw_task%'});
$reader->receive;

# Sessions tell late of what they have read.
once_ok(sub { ($original->run([ @rest, '--watch', '2s' ]))[0] == 0 }, 'and begins when they are gone');

done_testing();
