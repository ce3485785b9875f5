# Producer.pm -- a process that adds tasks, and keeps a record of its own.
#
# It records every id before it adds the task, and the outcome afterwards, so no
# acknowledged task can get lost unseen.  A task whose outcome the end of the
# server left open may exist or not.

package TwTasks::Producer;

use strict;
use warnings FATAL => 'all';

use POSIX ();
use PostgreSQL::Test::Utils;
use Test::More import => ['is'];
use Time::HiRes qw(time);
use TwTasks::Session;
use TwTasks::Wait;

my $producers = 0;

# Adds tasks of these types in turn, some of them in transactions that are
# rolled back, until stop() is called.
sub start
{
	my ($class, $node, @types) = @_;

	return $class->start_at_rate($node, undef, @types);
}

# The same, with at most so many transactions a second.
sub start_at_rate
{
	my ($class, $node, $rate, @types) = @_;
	my $directory = PostgreSQL::Test::Utils::tempdir();
	my $self = bless {
		rate => $rate,
		first => 1e9 * $producers++,	# the first of its ids, which are its own
		path => "$directory/record",
		connstr => $node->connstr('postgres') . ' user=producer',
		types => \@types
	}, $class;

	PostgreSQL::Test::Utils::append_to_file($self->{path}, '');
	$self->{pid} = fork // die "could not fork: $!";
	return $self if $self->{pid};

	# the test's own objects are not ours to destroy
	eval { $self->produce };
	POSIX::_exit(0);
}

sub note
{
	my ($self, $id, $what) = @_;

	PostgreSQL::Test::Utils::append_to_file($self->{path}, "$id $what\n");
	return;
}

sub add
{
	my ($self, $session, $n) = @_;
	my $id = sprintf '00000000-0000-4000-8000-%012d', $self->{first} + $n;
	my $type = $self->{types}[ $n % @{ $self->{types} } ];
	my $end = $n % 10 == 0 ? 'ROLLBACK' : 'COMMIT';

	$self->note($id, 'intended');
	my $said = $session->try(
		"BEGIN;
		SELECT result FROM twtasks.add_task('$type', task_id => '$id');
		$end; SELECT 'ended'");

	$self->note($id, 'left open'), return 0
	  unless defined $said && $said eq "added\nended";
	$self->note($id, $end eq 'COMMIT' ? 'committed' : 'rolled back');
	return 1;
}

sub produce
{
	my ($self) = @_;
	my $rate = $self->{rate};
	my $began = time;
	my $is_told;
	my $session;

	local $SIG{TERM} = sub { $is_told = 1 };
	for (my $n = 1; !$is_told; $n++)
	{
		TwTasks::Wait::nap() while $rate && !$is_told && $n > $rate * (time - $began);
		$session ||= TwTasks::Session->new($self->{connstr});
		next if $self->add($session, $n) && ($rate || $n % 5);
		undef $session if ($session->try('SELECT 1') // '') ne '1';
		TwTasks::Wait::nap();
	}
	return;
}

# Lets it end what it is at, so that nothing comes after.
sub stop
{
	my ($self) = @_;
	my $pid = delete $self->{pid} or return;

	local $?;
	kill TERM => $pid;
	waitpid $pid, 0;
	return;
}

sub DESTROY
{
	$_[0]->stop;
	return;
}

# Returns the ids with this fate.  Ids with an intention and no outcome are open too.
sub ids
{
	my ($self, $fate) = @_;
	my %fates;

	foreach my $line (split /\n/,
		PostgreSQL::Test::Utils::slurp_file($self->{path}))
	{
		my ($id, $what) = split / /, $line, 2;

		$fates{$id} = $what eq 'intended' ? 'left open' : $what;
	}
	return grep { $fates{$_} eq $fate } sort keys %fates;
}

# When all tasks have ended.
sub none_lost_ok
{
	my ($self, $node) = @_;
	my %exists = map { $_ => 1 } split /\n/, $node->value('SELECT id FROM twtasks.finished_task');

	return is(scalar(grep { !$exists{$_} } $self->ids('committed')), 0, $node->name . ': no committed task is lost');
}

1;
