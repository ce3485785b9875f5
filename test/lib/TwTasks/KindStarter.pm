# KindStarter.pm -- a process that starts identifiers of kinds, or answers to-do
# items, and keeps a record of what became of each call.
#
# It calls in plain transactions, behind savepoints and in prepared transactions,
# some of which roll back.  The end of the server leaves some of them open: a prepared one is
# committed before the next, or it would keep others from its identifiers.

package TwTasks::KindStarter;

use strict;
use warnings FATAL => 'all';

use POSIX ();
use PostgreSQL::Test::Utils;
use TwTasks::Session;
use TwTasks::Wait;

use constant BATCH => 12;

# Starts an identifier, which is a kind and a number; the result is one word.
sub start_of
{
	my ($kind, $number) = @_;

	return "twtasks.start('$kind', '{\"n\": $number}')";
}

# The statements of a transaction, and the fate of its first and its second half.
my %forms = (
	commit => sub { my ($one, $two) = @_; return ("BEGIN; $one $two COMMIT;", 'kept', 'kept') },
	rollback => sub { my ($one, $two) = @_; return ("BEGIN; $one $two ROLLBACK;", 'gone', 'gone') },
	savepoint => sub {
		my ($one, $two) = @_;
		return ("BEGIN; SAVEPOINT s; $one ROLLBACK TO s; $two COMMIT;", 'gone', 'kept');
	},
	released => sub {
		my ($one, $two) = @_;
		return ("BEGIN; SAVEPOINT s; $one RELEASE s; $two COMMIT;", 'kept', 'kept');
	},
	prepared => sub {
		my ($one, $two, $name) = @_;
		return ("BEGIN; $one $two PREPARE TRANSACTION '$name'; COMMIT PREPARED '$name';", 'kept', 'kept');
	},
	prepared_rollback => sub {
		my ($one, $two, $name) = @_;
		return ("BEGIN; $one $two PREPARE TRANSACTION '$name'; ROLLBACK PREPARED '$name';", 'gone', 'gone');
	});

# Options:
#	identifiers => a list of kinds and numbers, which it takes in an order of its own;
#		the last pass commits all calls
#	call => a function of a kind, a number and a text that is used once, which returns
#		a value of SQL; default: starts the identifier
#	user => who calls; default: the producer
sub start
{
	my ($class, $node, $name, %options) = @_;
	my $directory = PostgreSQL::Test::Utils::tempdir();
	my $self = bless {
		name => $name,
		path => "$directory/record",
		call => $options{call} // \&start_of,
		connstr => $node->connstr('postgres') . ' user=' . ($options{user} // 'producer'),
		owner => $$
	}, $class;

	PostgreSQL::Test::Utils::append_to_file($self->{path}, '');
	my $seed = int rand 1e9;
	$self->{pid} = fork // die "could not fork: $!";
	return $self if $self->{pid};
	srand $seed;

	# the test's own objects are not ours to destroy
	eval { $self->produce(@{ $options{identifiers} }); 1 } or $self->note("died $@");
	POSIX::_exit(0);
}

sub note
{
	my ($self, $text) = @_;

	PostgreSQL::Test::Utils::append_to_file($self->{path}, "$text\n");
	return;
}

# Orders come and go with the rank that chance gives them.
sub shuffled
{
	my @all = @_;

	for (my $i = @all; --$i > 0;)
	{
		my $j = int rand $i + 1;
		@all[ $i, $j ] = @all[ $j, $i ];
	}
	return @all;
}

# Half of the orders, then all of them.
sub produce
{
	my ($self, @identifiers) = @_;
	my @some = grep { rand() < 0.5 } @identifiers;
	my $n = 0;

	foreach my $pass ([ 0, shuffled(@some) ], [ 1, shuffled(@identifiers) ])
	{
		my ($is_last, @rest) = @$pass;

		while (my @batch = splice @rest, 0, BATCH)
		{
			push @rest, @batch unless $self->try_batch($is_last, ++$n, @batch) || !$is_last;
		}
	}
	return;
}

# The statements for some identifiers.
sub calls_of
{
	my ($self, @identifiers) = @_;

	return join ' ', map {
		my ($kind, $number) = @$_;
		"SELECT '$kind $number ' || " . $self->{call}->($kind, $number, "$self->{name}-" . ++$self->{number}) . ';'
	} @identifiers;
}

# Returns whether the transaction has ended as it should.
sub try_batch
{
	my ($self, $is_last, $n, @batch) = @_;
	my @names = sort keys %forms;
	my $form = $is_last ? 'commit' : $names[ rand @names ];
	# in the order of their names, so that transactions do not wait in circles
	@batch = sort { $a->[0] cmp $b->[0] || $a->[1] <=> $b->[1] } @batch;
	my $one = [ splice @batch, 0, int(@batch / 2) ];
	my $two = \@batch;
	my ($text, @fates) = $forms{$form}->(map({ $self->calls_of(@$_) } $one, $two), "$self->{name}-$n");

	$self->{session} //= TwTasks::Session->after($self->{connstr}, $self->{name});
	my $said = $self->{session} && $self->{session}->try("$text SELECT 'ended'");
	my $ended = TwTasks::Session::has_ended($said);
	my %results = map { /^(\S+ \d+) (\S+)$/ ? ($1 => $2) : () } split /\n/, $said // '';

	foreach my $half ([ $one, $fates[0] ], [ $two, $fates[1] ])
	{
		my ($identifiers, $fate) = @$half;

		$self->note("$_->[0] $_->[1] " . ($results{"$_->[0] $_->[1]"} // 'unknown') . ' ' . ($ended ? $fate : 'open'))
		  foreach @$identifiers;
	}
	$self->note('said ' . ($said // 'nothing') =~ s/\n/ | /gr) unless $ended;
	undef $self->{session} unless $ended;
	TwTasks::Wait::nap();
	return $ended;
}

sub is_running
{
	my ($self) = @_;

	delete $self->{pid} if $self->{pid} && waitpid($self->{pid}, POSIX::WNOHANG) == $self->{pid};
	return defined $self->{pid};
}

# Waits for its end.
sub finish
{
	my ($self) = @_;

	wait_for(sub { !$self->is_running }, "the end of starter $self->{name}");
	return;
}

sub DESTROY
{
	my ($self) = @_;

	return if !$self->{pid} || $self->{owner} != $$;
	local ($?, $!);
	kill KILL => $self->{pid};
	waitpid $self->{pid}, 0;
	return;
}

# Its calls: hashes of kind, number, result ("unknown": there was none) and fate:
# "kept", "gone" or "open".
sub calls
{
	my ($self) = @_;
	my @calls;

	foreach my $line (split /\n/, PostgreSQL::Test::Utils::slurp_file($self->{path}))
	{
		my %call;

		die "starter $self->{name}: $line\n" if $line =~ /^died/;
		next if $line =~ /^said/;
		@call{qw(kind number result fate)} = split / /, $line;
		push @calls, \%call;
	}
	return @calls;
}

1;
