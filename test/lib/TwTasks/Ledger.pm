# Ledger.pm -- what the handlers themselves say that they did.
#
# The witness that is independent of the product: handlers append a line when
# they start a task and one when they end it, so that also a start that the
# sidecar or the database does not know of is seen.  Appended lines are in the
# order in which they were written, whoever wrote them.

package TwTasks::Ledger;

use strict;
use warnings FATAL => 'all';

use Cwd   qw(abs_path);
use Fcntl qw(O_RDWR);
use File::Basename;
use POSIX qw(mkfifo);
use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Wait;

my $handlers = abs_path(dirname(__FILE__) . '/../../handlers');

# The path of a program in test/handlers.
sub handler
{
	my ($name) = @_;

	return "$handlers/$name";
}

sub new
{
	my ($class) = @_;
	my $directory = PostgreSQL::Test::Utils::tempdir();
	my $self = bless { directory => $directory, gates => {} }, $class;

	PostgreSQL::Test::Utils::append_to_file($self->path, '');
	return $self;
}

sub path
{
	return $_[0]->{directory} . '/ledger';
}

# A command that keeps the ledger: waits at the gate if one is named, and
# exits with the status; with 80 before that version of its task.
sub command
{
	my ($self, $gate, $status, $version) = @_;

	return [
		handler('ledger.sh'), $self->path,
		$gate ? $self->gate($gate) : '-', $status || 0, $version || 0
	];
}

# A worker that keeps the ledger, and waits at the gate in each task.  A task
# takes so many milliseconds.
sub worker
{
	my ($self, $gate, $ms) = @_;

	return [
		handler('ledger_worker.py'), $self->path,
		$gate ? $self->gate($gate) : '-', $ms || 0
	];
}

# A gate is a fifo that we hold open: every byte in it lets one task through,
# whether that waits already or comes later.
sub gate
{
	my ($self, $name) = @_;
	my $path = "$self->{directory}/$name.gate";

	unless ($self->{gates}{$name})
	{
		mkfifo($path, oct 600) or die "could not make \"$path\": $!";
		sysopen $self->{gates}{$name}, $path, O_RDWR
		  or die "could not open \"$path\": $!";
	}
	return $path;
}

# Lets n tasks through.
sub release
{
	my ($self, $name, $n) = @_;

	$self->gate($name);
	syswrite $self->{gates}{$name}, "\n" x ($n || 1);
	return;
}

# The lines of a file that others append to.  The last one may be there in part: the
# kernel shows what is written page by page.
sub whole_lines
{
	my ($path) = @_;

	return PostgreSQL::Test::Utils::slurp_file($path) =~ /^(.*)\n/mg;
}

# Lines as hashes of: what, id, version, tries, pid, type, rest.
sub lines
{
	my ($self) = @_;
	my @lines;

	foreach my $line (whole_lines($self->path))
	{
		my %line;

		@line{qw(what id version tries pid type rest)} = split / /, $line, 7;
		push @lines, \%line;
	}
	return @lines;
}

# Returns the lines of one kind ("start", "end"), of one task if it is named.
sub select
{
	my ($self, $what, $id) = @_;

	return
	  grep { $_->{what} eq $what && (!$id || $_->{id} eq $id) } $self->lines;
}

sub starts
{
	my ($self, $id) = @_;

	return scalar $self->select('start', $id);
}

sub ends
{
	my ($self, $id) = @_;

	return scalar $self->select('end', $id);
}

# As a test of its own: handlers go on ending tasks.
sub wait_for_progress
{
	my ($self, $what) = @_;
	my $before = $self->ends;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return wait_ok(sub { $self->ends > $before + 50 }, "tasks run $what");
}

# Ids that were started more than once, or twice in one version.
sub repeated
{
	my ($self) = @_;
	my %starts;

	$starts{ $_->{id} }++ foreach $self->select('start');
	return grep { $starts{$_} > 1 } sort keys %starts;
}

# Returns the lines that pass the filter: a function of a line, or a regular
# expression for types.  Without a filter all lines pass.
sub taken
{
	my ($self, $filter) = @_;

	return $self->lines unless $filter;
	return grep { $_->{type} =~ $filter } $self->lines if ref $filter eq 'Regexp';
	return grep { $filter->($_) } $self->lines;
}

# How many have started and not ended, of those that the filter takes.
sub running
{
	my ($self, $filter) = @_;
	my $running = 0;

	$running += $_->{what} eq 'start' ? 1 : -1 foreach $self->taken($filter);
	return $running;
}

# The most that ran at the same time, of those that the filter takes.
sub most_at_once
{
	my ($self, $filter) = @_;
	my ($now, $most) = (0, 0);

	foreach my $line ($self->taken($filter))
	{
		$now += $line->{what} eq 'start' ? 1 : -1;
		$most = $now if $now > $most;
	}
	return $most;
}

1;
