# LateCommits.pm -- a server without preload, and transactions whose commits are held: a
# commit that waits for a standby has decided whether it notifies, and is not visible
# yet.  A cancel ends its wait.  pg_receivewal is a standby that applies nothing, so commits
# wait that want it to; those of sidecars do not.

package TwTasks::LateCommits;

use strict;
use warnings FATAL => 'all';

use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Wait;

use constant { ROUNDS => 20, SOON_MS => 100 };

my @standbys;

END
{
	local $?;
	$_->kill_kill foreach @standbys;
}

# Options as for TwTasks::Cluster->create().
sub new
{
	my ($class, %options) = @_;
	my $node = TwTasks::Cluster->create(
		'main',
		queue => 'notify',
		init => { allows_streaming => 1 },
		conf => { synchronous_commit => 'local', synchronous_standby_names => '\'*\'', max_prepared_transactions => 5 },
		%options);
	my $said;

	push @standbys,
		IPC::Run::start(
		[ 'pg_receivewal', '--synchronous', '-D', PostgreSQL::Test::Utils::tempdir(), '-d', $node->connstr('postgres') ],
		'<', \undef, '>&', \$said);
	wait_for(sub { $node->value('SELECT count(*) FROM pg_stat_replication WHERE sync_state = \'sync\'') > 0 },
		'the standby');
	return bless { node => $node, said => \$said, early => $node->session, late => $node->session }, $class;
}

sub node { return $_[0]{node} }
sub session { return $_[0]{ $_[1] } }

# The event for which the session waits.
sub held
{
	my ($self, $name) = @_;
	my $session = $self->{$name};

	return $self->{node}->value("SELECT coalesce(max(wait_event), '') FROM pg_stat_activity WHERE pid = " . $session->backend_pid);
}

# Commits a task in the session 'early' or 'late', and waits until the commit waits.
sub commit
{
	my ($self, $name, $type, %options) = @_;
	my $session = $self->{$name};
	my $for = $options{waits_for} || 'SyncRep';
	my $after = $options{after} ? ", run_after => now() + interval '1 hour'" : '';
	my $level = $options{level} || 'READ COMMITTED';

	$session->backend_pid;
	$session->query('SET synchronous_commit = remote_apply');
	$session->send("BEGIN ISOLATION LEVEL $level; SELECT FROM twtasks.add_task('$type'$after); COMMIT");
	wait_for(sub { $self->held($name) eq $for }, "the commit of $type to wait for $for");
	return;
}

sub let_commit
{
	my ($self, $name) = @_;

	$self->{node}->value('SELECT pg_cancel_backend(' . $self->{$name}->backend_pid . ')');
	$self->{$name}->receive;
	return;
}

sub done
{
	my ($self, $type) = @_;

	return $self->{node}->tasks("status = 'DONE' AND type = '$type'");
}

# A sidecar asks again while a transaction is late.
sub wait_for_question
{
	my ($self) = @_;
	my $now = $self->{node}->value('SELECT clock_timestamp()');

	wait_for(
		sub {
			$self->{node}->value("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'twtasksd queue'
				AND query LIKE '%late_commits%' AND query_start > '$now'") > 0;
		},
		'another question');
	return;
}

# Tasks that commit while a notification is on its way, and become visible after the look
# that follows it.
sub start_soon
{
	my ($self) = @_;
	my ($early, $late, $soon) = ($self->done('EARLY'), $self->done('LATE'), 0);

	foreach my $round (1 .. ROUNDS)
	{
		$self->commit(early => 'EARLY');
		$self->commit(late => 'LATE');
		$self->let_commit('early');
		wait_for(sub { $self->done('EARLY') == $early + $round }, 'the task that notified');
		$self->wait_for_question;
		my $before = $self->{node}->value('SELECT clock_timestamp()');

		$self->let_commit('late');
		wait_for(sub { $self->done('LATE') == $late + $round }, "late task $round, without a sweep");
		$soon++ if $self->{node}->value("SELECT max(started) < '$before'::timestamptz + interval '" . SOON_MS . " ms'
			FROM twtasks.finished_task WHERE type = 'LATE'") eq 't';
	}
	is($self->done('LATE'), $late + ROUNDS, 'each late task started without a sweep');
	note("$soon of " . ROUNDS . ' within ' . SOON_MS . ' ms');
	cmp_ok($soon, '>', 0, 'late tasks start soon');
	return;
}

# While another commit notifies, transactions that notify all the same.
sub all_notify
{
	my ($self) = @_;
	my $listener = $self->{node}->session;
	my $heard = sub { scalar(() = $listener->query('SELECT 1') =~ /Asynchronous notification "twtasks"/g) };

	$listener->query('LISTEN twtasks');
	$self->commit(early => 'EARLY');
	$self->commit(late => 'LATE');
	$self->let_commit($_) foreach qw(early late);
	is($heard->(), 1, 'one notification is in flight');
	foreach my $kind ([ 'a task that is due later', after => 1 ], [ 'a serializable one', level => 'SERIALIZABLE' ])
	{
		my ($name, %options) = @$kind;

		$self->commit(early => 'EARLY');
		$self->commit(late => 'LATE', %options, waits_for => 'object');
		$self->{node}->value('SELECT pg_cancel_backend(' . $self->{early}->backend_pid . ')');
		$self->{early}->receive;
		wait_for(sub { $self->held('late') eq 'SyncRep' }, "the commit of $name");
		$self->let_commit('late');
		is($heard->(), 2, "$name notifies too");
	}
	$listener->close;
	return;
}

1;
