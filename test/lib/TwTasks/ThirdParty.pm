# ThirdParty.pm -- a third party of the tests that keeps its own books, and fails
# at random; and workers that run the steps of kinds by asking it.
#
# Its ledger and the record of the workers are the witnesses that are independent
# of the product.  See test/handlers/third_party.py for its options.

package TwTasks::ThirdParty;

use strict;
use warnings FATAL => 'all';

use IO::Socket::UNIX;
use JSON::PP;
use POSIX ();
use PostgreSQL::Test::Utils;
use TwTasks::Ledger;
use TwTasks::Seed;
use TwTasks::Wait;

my $json = JSON::PP->new->canonical;

sub start
{
	my ($class, %options) = @_;
	my $directory = PostgreSQL::Test::Utils::tempdir_short();
	my $self = bless {
		socket => "$directory/socket",
		ledger => "$directory/ledger",
		record => "$directory/record",
		faults => $options{faults} // {}
	}, $class;
	my $text = $json->encode({ seed => TwTasks::Seed::seed(), %options });

	PostgreSQL::Test::Utils::append_to_file($self->{$_}, '') foreach qw(ledger record);
	$self->{pid} = fork // die "could not fork: $!";
	unless ($self->{pid})
	{
		exec TwTasks::Ledger::handler('third_party.py'), $self->{socket}, $self->{ledger}, $text
		  or POSIX::_exit(127);
	}
	$self->{owner} = $$;
	wait_for(sub { $self->connect }, 'the third party to listen');
	return $self;
}

sub connect
{
	return IO::Socket::UNIX->new(Peer => $_[0]->{socket});
}

# Returns its answer to a call; undef when it hangs up.
sub ask
{
	my ($self, %request) = @_;
	my $socket = $self->connect or die "the third party has gone: $!\n";

	print $socket $json->encode(\%request) . "\n";
	$socket->flush;
	my $line = readline $socket;
	return $line && $json->decode($line);
}

# Changes its options.
sub set
{
	my ($self, %options) = @_;

	$self->{faults} = $options{faults} if $options{faults};
	$self->ask(op => 'set', options => \%options);
	return;
}

# From now on no call fails, so that all that is open comes to an end.
sub calm
{
	$_[0]->ask(op => 'set', options => { faults => {} });
	return;
}

# Calls fail again.
sub storm
{
	$_[0]->ask(op => 'set', options => { faults => $_[0]->{faults} });
	return;
}

# The command of a worker that does so many steps at once.
sub worker
{
	my ($self, $threads) = @_;

	return [
		TwTasks::Ledger::handler('kind_worker.py'),
		$self->{socket}, $self->{record}, TwTasks::Seed::seed(), $threads
	];
}

sub lines_of
{
	my ($path) = @_;

	return map { $json->decode($_) } TwTasks::Ledger::whole_lines($path);
}

# Returns what the third party wrote: hashes with "what", see third_party.py.
sub lines
{
	return lines_of($_[0]->{ledger});
}

# Returns what the workers wrote: a start and an answer of each task.
sub record
{
	return lines_of($_[0]->{record});
}

# How many answers of workers there are, without a look into them.
sub count_answers
{
	my $text = PostgreSQL::Test::Utils::slurp_file($_[0]->{record});

	return scalar(() = $text =~ /"what": "answer"/g);
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

1;
