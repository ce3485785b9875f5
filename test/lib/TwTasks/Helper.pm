# Helper.pm -- what each helper of helpers/ promises, tried by an application in its
# language, test/helpers/NAME, with a real sidecar.
#
# The application is told what to do by arguments:
#	work				is a worker: the handler of a task with {"name": ...} notes name, try and
#						pid in "deliveries", takes the lock 1 shared, and fails in the first
#						try if the name begins with "fail"; "odd": it answers what JSON cannot say;
#						"noise": it prints "noise of a handler", and has a child that prints "noise of
#						a child".  It prints "noise of a start" as early as the helper allows
#	add NAME...			for each name a transaction: inserts it into "orders" and adds a task
#	rollback NAME...	the same, and the transaction fails
#	options NAME...		the same as add, with priority 2 for the database, to run in 2100, and with
#						the name as key, and as payload instead of data, if the helper has these
#	test NAME...		in test mode: inserts it and adds a task, which is not stored but run
#	print NAME...		prints them, if only the sidecar's mark makes the application a worker
# It logs in by DATABASE_URL, as a role of its own.

package TwTasks::Helper;

use strict;
use warnings FATAL => 'all';

use Cwd qw(abs_path);
use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Sidecar;
use TwTasks::Wait;
use TwTasks::Web;

# The directory of packages that scripts/helper-packages has fetched.  Skips the test only
# where that script allows it.
sub packages
{
	my ($name) = @_;
	my $packages = ($ENV{TWT_HELPERS} // die "scripts/check fetches the packages\n") . "/$name";

	return $packages if -d $packages;
	plan skip_all => (split /\n/, PostgreSQL::Test::Utils::slurp_file("$packages.skip"))[-1] if -e "$packages.skip";
	die "no packages for the helper:\n" . PostgreSQL::Test::Utils::slurp_file("$packages.log");
}

# Files of the clone, by absolute paths: the sidecar starts workers elsewhere.
sub paths
{
	return map { abs_path($_) } @_;
}

# A server, on which the application has a role and tables.  Options:
#	argv => the application's program
#	ways => first arguments, each of which is tried; undef: none
#	env => { more variables of the application }
#	types => of its tasks, in the sidecar's configuration
#	has_all => whether tasks have keys and payloads, and handlers have answers of their own
#	is_concurrent => whether the worker runs several tasks at once
#	unheard => kinds of noise that the helper cannot send to the log: "child"
sub start
{
	my ($class, %options) = @_;
	my $node = TwTasks::Cluster->create('main', conf => { listen_addresses => "'127.0.0.1'" });
	my $self = bless { node => $node, ways => [undef], has_all => 1, %options }, $class;
	my $url = 'postgres://shop@127.0.0.1:' . $node->port . '/postgres';

	$self->{env} = { DATABASE_URL => $url, %{ $options{env} || {} } };
	$node->safe_psql('postgres', <<'SQL');
	CREATE ROLE shop LOGIN IN ROLE twtasks_producer;
	CREATE TABLE orders (name text PRIMARY KEY);
	CREATE TABLE deliveries (name text, try int, pid int, role name DEFAULT current_user);
	GRANT SELECT, INSERT ON orders, deliveries TO shop;
SQL
	$self->{sidecar} = $self->start_sidecar('a');
	return $self;
}

sub start_sidecar
{
	my ($self, $name) = @_;
	my $file = TwTasks::Web::write_tokens(PostgreSQL::Test::Utils::tempdir() . '/env',
		map { "$_=$self->{env}{$_}" } sort keys %{ $self->{env} });

	return TwTasks::Sidecar->start(
		$self->{node}, $name,
		handlers => [
			{
				types => $self->{types},
				worker => [ $self->argv($self->{ways}[0], 'work') ],
				env_file => $file,
				prefetch => 16,
				timeout => '1h',
				retry => { delay => '100ms', max_tries => 3 }
			}
		]);
}

sub argv
{
	my ($self, $way, @words) = @_;

	return (@{ $self->{argv} }, grep { defined } $way, @words);
}

# Runs the application to its end; returns its output.
sub call
{
	my ($self, @arguments) = @_;
	my $output;

	local %ENV = (%ENV, %{ $self->{env} });
	IPC::Run::run([ $self->argv(@arguments) ], '<', \undef, '>&', \$output)
	  or die "the application failed: @arguments\n$output\n";
	return $output;
}

sub value
{
	my ($self, $sql) = @_;

	return $self->{node}->value($sql);
}

# The tries of a delivery, and the role that made it; '' if there was none.
sub deliveries
{
	my ($self, $name) = @_;

	return $self->value("SELECT coalesce(string_agg(try || ' ' || role, ', ' ORDER BY try), '') FROM deliveries WHERE name = '$name'");
}

# The process that ran a delivery.
sub pid_of
{
	my ($self, $name) = @_;

	return $self->value("SELECT string_agg(pid::text, ' ') FROM deliveries WHERE name = '$name'");
}

sub orders
{
	my ($self, $name) = @_;

	return $self->value("SELECT count(*) FROM orders WHERE name = '$name'");
}

# The ids of the tasks that a call of the application adds.
sub added_by_call
{
	my ($self, @arguments) = @_;
	my %known = map { $_ => 1 } split /\n/, $self->value('SELECT id FROM twtasks.tasks');

	$self->call(@arguments);
	return grep { !$known{$_} } split /\n/, $self->value('SELECT id FROM twtasks.tasks ORDER BY id');
}

# 'DONE 1': status and tries.
sub state
{
	my ($self, $id) = @_;

	return $self->value("SELECT status || ' ' || tries FROM twtasks.tasks WHERE id = '$id'");
}

sub wait_until_done_ok
{
	my ($self, $tries, $name, @ids) = @_;

	return wait_ok(sub { !grep { $self->state($_) ne "DONE $tries" } @ids }, $name);
}

# ---- the claims ----

sub commit_and_rollback_ok
{
	my ($self, $way) = @_;
	my $label = $way // 'the application';
	my $line_separator = "\xe2\x80\xa8";		# U+2028
	my $name = "Zo\xc3\xab$line_separator \"1\" \\ " . ($way // '');
	my @ids = $self->added_by_call($way, 'add', $name);

	is(scalar(@ids), 1, "$label: a commit adds a task");
	$self->wait_until_done_ok(1, "$label: ... which is done", @ids);
	is($self->deliveries($name), '1 shop', "$label: ... once, by the role of the application");
	is(scalar($self->added_by_call($way, 'rollback', 'rolled back')), 0, "$label: a rollback leaves no task");
	is($self->orders('rolled back'), 0, "$label: ... and nothing else");
	return;
}

sub options_ok
{
	my ($self, $way) = @_;
	my $name = 'later ' . ($way // '');
	my ($id) = $self->added_by_call($way, 'options', $name);

	is( $self->value(
			"SELECT concat_ws(' ', status, priority, extract(year FROM next_event_time AT TIME ZONE 'UTC'), key,
				convert_from(payload, 'UTF8'))
			FROM twtasks.task WHERE id = '$id'"),
		'WAITING 2 2100' . ($self->{has_all} ? " $name $name" : ''),
		($way // 'the application') . ': options of a task reach the database');
	return;
}

sub retry_ok
{
	my ($self) = @_;
	my ($id) = $self->added_by_call($self->{ways}[0], 'add', 'fail 1');

	$self->wait_until_done_ok(2, 'a task that fails runs again', $id);
	is($self->deliveries('fail 1'), '1 shop, 2 shop', '... and has its number of tries');
	like($self->value("SELECT string_agg(error, ' ') FROM twtasks.task_attempts WHERE task_id = '$id'"),
		qr/no van/, 'the database has the reason of the failure');
	return;
}

# The work is done, so it must not run again.
sub odd_answer_ok
{
	my ($self) = @_;
	my ($id) = $self->added_by_call($self->{ways}[0], 'add', 'odd');

	wait_ok(sub { $self->state($id) eq 'ERROR 1' }, 'an answer that JSON cannot say is an error');
	is($self->deliveries('odd'), '1 shop', '... and the task does not run again');
	return;
}

# A task that would end its process, as with sys.exit(), does not end the worker.  Names:
# those of tasks that try this; "child" has a child that looks at its input.
sub lasts_ok
{
	my ($self, @names) = @_;
	my ($pid) = $self->{sidecar}->programs;

	foreach my $name (@names)
	{
		$self->wait_until_done_ok(2, "$name: the task runs again", $self->added_by_call($self->{ways}[0], 'add', $name));
	}
	$self->wait_until_done_ok(1, 'a child does not have the tasks as its input', $self->added_by_call($self->{ways}[0], 'add', 'child'));
	is(join(' ', $self->{sidecar}->programs), $pid, 'one worker has done all that');
	return;
}

# A type, with these data, that is not a task of the application.
sub stranger_ok
{
	my ($self, $type, $data) = @_;
	my $id = $self->value("SELECT task_id FROM twtasks.add_task('$type', '$data')");

	wait_ok(sub { $self->state($id) eq 'ERROR 1' }, "$type is an error: it is no task of the application");
	return;
}

sub test_mode_ok
{
	my ($self, $way) = @_;
	my $label = $way // 'the application';
	my $name = 'tested ' . ($way // '');

	is(scalar($self->added_by_call($way, 'test', $name)), 0, "$label: test mode stores no task");
	is($self->deliveries($name) =~ s/^\d //r, 'shop', "$label: ... and runs it");
	return;
}

# Until its gate is open, the worker stands in the middle of a task; it has read others in
# one go, or runs them too.
sub while_it_works
{
	my ($self, $name, $do) = @_;
	my $gate = $self->{node}->session;

	$gate->query('SELECT pg_advisory_lock(1)');
	my ($pid) = $self->{sidecar}->programs;
	kill STOP => $pid;
	my @ids = $self->added_by_call($self->{ways}[0], 'add', map { "$name $_" } 1 .. 3);
	wait_for(sub { !grep { $self->state($_) ne 'PROCESSING 1' } @ids }, 'grab of the tasks');
	kill CONT => $pid;
	wait_for(sub { $self->deliveries("$name 1") }, 'start of the task');
	$do->();
	$gate->query('SELECT pg_advisory_unlock(1)');
	return @ids;
}

# Only a worker that is told to end gives back tasks that it was given.
sub given_back_ok
{
	my ($self, @ids) = @_;

	wait_ok(sub { $self->value("SELECT bool_and(version >= 3) FROM twtasks.tasks WHERE id IN ('" . join("', '", @ids) . "')") eq 't' },
		'... tasks that come later are given back while others run');
	return;
}

# A worker may notice TERM a little later, when it has begun the next task.
sub term_ok
{
	my ($self) = @_;
	my $sidecar = $self->{sidecar};
	my ($pid) = $sidecar->programs;
	my @late;
	my @ids = $self->while_it_works(
		'TERM',
		sub {
			kill TERM => $pid;
			@late = $self->added_by_call($self->{ways}[0], 'add', map { "late $_" } 1 .. 5);
			$self->given_back_ok(@late) if $self->{is_concurrent};
		});

	$self->wait_until_done_ok(1, 'after TERM for the worker all tasks are done, each in one try', @ids, @late);
	is($self->deliveries($_), '1 shop', "... $_ has run once") foreach 'TERM 1', 'TERM 2', 'TERM 3', map { "late $_" } 1 .. 5;
	is($self->pid_of('TERM 1'), $pid, '... the task that ran has ended where it ran');
	isnt($self->pid_of('TERM 3'), $pid, '... another process has run what it had read, but not begun') if !$self->{is_concurrent};
	isnt($self->pid_of('late 5'), $pid, '... and what came later');
	wait_ok(sub { !TwTasks::Sidecar::is_running($pid) }, '... and the worker has exited');
	unlike($sidecar->log, qr/broke the protocol|was killed|KILL/, '... in order');
	@ids = $self->while_it_works('stop', sub { $sidecar->signal('TERM'); $sidecar->wait_for_log(qr/stopping: /) });
	is($sidecar->wait_for_exit, 0, 'a sidecar that is told to stop waits for the worker');
	is($self->state($ids[0]), 'DONE 1', '... and for the task that runs');
	$self->{sidecar} = $self->start_sidecar('b');
	$self->wait_until_done_ok(1, '... and the next sidecar runs what is left', @ids);
	return;
}

# The prints of the application go to the log, not between the answers.
sub noise_ok
{
	my ($self) = @_;
	my $sidecar = $self->{sidecar};
	my ($pid) = $sidecar->programs;
	my %is_unheard = map { $_ => 1 } @{ $self->{unheard} || [] };

	$self->wait_until_done_ok(1, 'a task that prints is done', $self->added_by_call($self->{ways}[0], 'add', 'noise'));
	is($self->deliveries('noise'), '1 shop', '... once');
	is(join(' ', $sidecar->programs), $pid, '... and its worker goes on');
	$sidecar->wait_for_log(qr/noise of a $_/) foreach grep { !$is_unheard{$_} } 'start', 'handler', 'child';
	unlike($sidecar->log, qr/broke the protocol|ignores a line/, '... without a word among the answers');
	return;
}

# The helper takes stdout over as soon as it is loaded, in workers alone.
sub stdout_ok
{
	my ($self) = @_;
	my $output;

	local %ENV = (%ENV, %{ $self->{env} });
	IPC::Run::run([ $self->argv($self->{ways}[0], 'print', 'hello') ], '<', \undef, '>', \$output);
	is($output, "hello\n", 'a program that the sidecar has not started keeps its standard output');
	return;
}

sub claims_ok
{
	my ($self) = @_;

	foreach my $way (@{ $self->{ways} })
	{
		$self->commit_and_rollback_ok($way);
		$self->options_ok($way);
		$self->test_mode_ok($way);
	}
	$self->retry_ok;
	$self->odd_answer_ok if $self->{has_all};
	$self->noise_ok;
	$self->term_ok;
	return;
}

1;
