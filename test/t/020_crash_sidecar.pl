# 020_crash_sidecar.pl -- a sidecar that is killed at any point of a task's
# life loses nothing: what it had not grabbed runs, what it had grabbed follows
# its stuck rule without a wait for its lease, and its handlers die with it.
#
# Each sidecar here has one handler with one slot.  Its first task waits at a
# gate; the trigger of the second is in the sidecar's memory then.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $node =
  TwTasks::Cluster->create('main', conf => { max_connections => 100 });
my $ledger = TwTasks::Ledger->new;
my @rules = qw(retry error);
my (@buckets, @handlers, %case);

# Serves a bucket where nothing happens; clears up after the others.
my $other = TwTasks::Sidecar->start(
	$node, 'other',
	buckets => ['other'],
	handlers => [ { types => ['NOTHING'], noop => JSON::PP::true } ]);

# A sidecar with a task that runs and one behind it.
sub prepare
{
	my ($name, $rule) = @_;
	my $bucket = "$name-$rule";
	my $handler = { types => [$bucket], concurrency => 1, stuck => $rule };
	my $case = { gate => $bucket };

	push @buckets, $bucket;
	push @handlers, { %$handler, command => $ledger->command };
	$case->{sidecar} = TwTasks::Sidecar->start(
		$node, $bucket,
		lease => '1h',
		buckets => [$bucket],
		handlers => [ { %$handler, command => $ledger->command($bucket) } ]);
	# else its first look may bring the first task again, and be grabbed in vain
	$case->{sidecar}->wait_until_idle;
	$case->{first} = $node->add_task($bucket, bucket => $bucket);
	wait_for(sub { $ledger->starts($case->{first}) }, "start of $bucket");
	$case->{second} = $node->add_task($bucket, bucket => $bucket);
	wait_for(
		sub {
			$node->value(
				"SELECT waiting FROM twtasks.queue_stats()
				WHERE bucket = '$bucket' AND pushed = 2") eq '0';
		},
		"the trigger of $bucket to be taken") if $node->has_ring;
	return $case{$name}{$rule} = $case;
}

sub wait_for_lock
{
	my ($function) = @_;

	return wait_for(sub { $node->wait_in_call($function) == 1 },
		"a call of $function that waits for a lock");
}

sub wait_for_status
{
	my ($id, $status) = @_;

	return wait_for(sub { $node->status_of($id) eq $status },
		"task to be $status");
}

# The handler of the first task has ended; its finish and the grab of the
# second wait for a lock.
sub bring_to_grab
{
	my ($case) = @_;
	my $lock = $node->lock_tasks;

	$ledger->release($case->{gate});
	wait_for_lock('finish_tasks');
	wait_for_lock('grab_tasks');
	return $lock;
}

my %kill_when = (
	during_handler => sub {
		my ($case) = @_;

		$case->{sidecar}->kill9;
	},
	grab_sent => sub {
		my ($case) = @_;
		my $lock = bring_to_grab($case);

		# the server may notice that the client is gone, or not
		$case->{sidecar}->kill9;
		$lock->close;
	},
	grabbed => sub {
		my ($case) = @_;
		my $lock = bring_to_grab($case);

		$case->{sidecar}->freeze;
		$lock->close;
		wait_for_status($case->{first}, 'DONE');
		wait_for_status($case->{second}, 'PROCESSING');
		$case->{sidecar}->kill9;
	},
	handler_ended => sub {
		my ($case) = @_;

		$case->{sidecar}->freeze;
		$ledger->release($case->{gate});
		wait_for(sub { $ledger->ends($case->{first}) }, 'end of the handler');
		$case->{sidecar}->kill9;
	},
	finish_sent => sub {
		my ($case) = @_;
		my $lock = $node->lock_task($case->{first});

		# its slot is free as soon as it ends, so the second one starts
		$ledger->release($case->{gate});
		wait_for_lock('finish_tasks');
		wait_for(sub { $ledger->starts($case->{second}) }, 'the next start');
		$case->{sidecar}->kill9;
		$lock->close;
	});

# The states of both tasks in the database at the crash.  A call that was under
# way may have been executed or not.
my %known = (
	during_handler => qr/^PROCESSING SUBMITTED$/,
	grab_sent => qr/^(DONE|PROCESSING) (PROCESSING|SUBMITTED)$/,
	grabbed => qr/^DONE PROCESSING$/,
	handler_ended => qr/^PROCESSING SUBMITTED$/,
	finish_sent => qr/^(DONE|PROCESSING) PROCESSING$/);

# The state and the number of starts that each must lead to.
sub expect
{
	my ($known, $rule, $starts) = @_;

	return "DONE $starts" if $known eq 'DONE';
	return "ERROR $starts" if $known eq 'PROCESSING' && $rule eq 'error';
	return 'DONE ' . ($starts + 1);
}

# The crash is over when the sessions of the dead have ended: those of one
# sidecar at rest are left.
sub note_crash
{
	my ($name, $rule) = @_;
	my $case = $case{$name}{$rule};

	wait_for(
		sub {
			$node->value(
				'SELECT count(*) FROM pg_stat_activity
				WHERE application_name LIKE \'twtasksd %\'
				  AND application_name <> \'twtasksd duties\'') == 2;
		},
		'the sessions of a killed sidecar to end');
	my @tasks = @$case{qw(first second)};
	my @known = map { $node->status_of($_) } @tasks;

	like("@known", $known{$name},
		"killed: $name; stuck rule $rule: the tasks have the expected states");
	$case->{expected} = join ', ',
	  map { expect($known[$_], $rule, $ledger->starts($tasks[$_])) } 0, 1;
	return;
}

foreach my $name (sort keys %kill_when)
{
	foreach my $rule (@rules)
	{
		$kill_when{$name}->(prepare($name, $rule));
		note_crash($name, $rule);
	}
}
wait_ok(
	sub {
		!grep { TwTasks::Sidecar::is_running($_->{pid}) }
		  $ledger->select('start');
	},
	'handlers die with their sidecar');
wait_ok(sub { $node->tasks('status = \'PROCESSING\'') == 0 },
	'a sidecar of other buckets applies the stuck rules, long before their leases end');

# As if they had been restarted: a new incarnation, the same work.
my $heir = TwTasks::Sidecar->start(
	$node, 'heir',
	sweep => '1h',
	buckets => \@buckets,
	handlers => \@handlers);

wait_ok(sub { $node->tasks('status NOT IN (\'DONE\', \'ERROR\')') == 0 },
	'a restarted sidecar runs the tasks that are left');

foreach my $name (sort keys %kill_when)
{
	foreach my $rule (@rules)
	{
		my $case = $case{$name}{$rule};
		my @states = map { $node->status_of($_) . ' ' . $ledger->starts($_) }
		  @$case{qw(first second)};

		is(join(', ', @states),
			$case->{expected},
			"killed: $name; stuck rule $rule: states and starts are as expected");
	}
}
like(
	$node->value('SELECT DISTINCT error FROM twtasks.error_tasks'),
	qr/^the node that ran it is gone$/,
	'tasks in ERROR say why');
is($heir->stop, 0, 'the sidecar stops in order');
is($other->stop, 0, 'the other sidecar stops in order');

done_testing();
