# EventProducer.pm -- a process that adds ordered events, and keeps a record of
# what became of each.
#
# It adds in plain transactions, behind savepoints, and in prepared transactions,
# some of which roll back.  The end of the server leaves some outcomes open.  As a
# manager of transactions does, it commits what the server's end left prepared: such
# a transaction would keep its locks for ever.

package TwTasks::EventProducer;

use strict;
use warnings FATAL => 'all';

use POSIX ();
use PostgreSQL::Test::Utils;
use TwTasks::Session;
use TwTasks::Wait;

# The statement that adds an event.
sub adds
{
	my ($object, $event) = @_;
	my $stream = $object eq 'hot' ? 'hot' : 'works';

	return "SELECT twtasks.add_event('$stream', '$object', '\"$event\"');";
}

# The statements of a transaction, and the outcome of each of its events.
my %kinds = (
	commit => sub { my ($one, $two) = @_; return ("BEGIN; $one $two COMMIT;", 'sent', 'sent') },
	rollback => sub { my ($one, $two) = @_; return ("BEGIN; $one $two ROLLBACK;", 'gone', 'gone') },
	savepoint => sub {
		my ($one, $two) = @_;
		return ("BEGIN; SAVEPOINT s; $one ROLLBACK TO s; $two COMMIT;", 'gone', 'sent');
	},
	prepared => sub {
		my ($one, $two, $name) = @_;
		return ("BEGIN; $one $two PREPARE TRANSACTION '$name'; COMMIT PREPARED '$name';", 'sent', 'sent');
	},
	prepared_rollback => sub {
		my ($one, $two, $name) = @_;
		return ("BEGIN; $one $two PREPARE TRANSACTION '$name'; ROLLBACK PREPARED '$name';", 'gone', 'gone');
	});

# Every process is given a name; its random choices follow from the seed.
sub start
{
	my ($class, $node, $name) = @_;
	my $directory = PostgreSQL::Test::Utils::tempdir();
	my $self = bless {
		name => $name,
		path => "$directory/record",
		connstr => $node->connstr('postgres') . ' user=producer',
	}, $class;

	PostgreSQL::Test::Utils::append_to_file($self->{path}, '');
	my $seed = int rand 1e9;
	$self->{pid} = fork // die "could not fork: $!";
	return $self if $self->{pid};
	srand $seed;

	# the test's own objects are not ours to destroy
	eval { $self->produce };
	POSIX::_exit(0);
}

sub random_object
{
	return rand() < 0.3 ? 'hot' : 'work:' . int rand 20;
}

sub produce
{
	my ($self) = @_;
	my $session;
	my $stop = 0;
	my @names = sort keys %kinds;

	local $SIG{TERM} = sub { $stop = 1 };
	for (my $n = 1; !$stop; $n++)
	{
		my ($one, $two) = map { random_object() } 1 .. 2;
		my $name = "$self->{name}-$n";
		my @events = ("$one $name-1", "$two $name-2");
		my ($text, @outcomes) =
		  $kinds{ $names[ rand @names ] }->(adds($one, "$name-1"), adds($two, "$name-2"), $name);

		$session //= TwTasks::Session->after($self->{connstr}, $self->{name});
		TwTasks::Wait::nap(), next unless $session;
		my $said = $session->try("$text SELECT 'ended'");
		my $ended = TwTasks::Session::has_ended($said);

		PostgreSQL::Test::Utils::append_to_file($self->{path},
			join '', map { "$events[$_] " . ($ended ? $outcomes[$_] : 'open') . "\n" } 0 .. 1);
		undef $session unless $ended;
		# The test is about order: a backlog would only make it slow.
		TwTasks::Wait::nap();
	}
	return;
}

# Lets it end its last transaction.
sub stop
{
	my ($self) = @_;

	kill 'TERM', $self->{pid};
	waitpid $self->{pid}, 0;
	delete $self->{pid};
	return;
}

sub DESTROY
{
	my ($self) = @_;

	kill 'KILL', $self->{pid} if $self->{pid} && $self->{pid} != $$;
	return;
}

# Its events in order: [object, event, 'sent', 'gone' or 'open'].
sub events
{
	my ($self) = @_;

	return map { [split] } split /\n/, PostgreSQL::Test::Utils::slurp_file($self->{path});
}

1;
