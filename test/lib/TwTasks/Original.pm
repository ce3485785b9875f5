# Original.pm -- tables of TwTasks, the original in Java, and the program that imports
# their tasks.

package TwTasks::Original;

use strict;
use warnings FATAL => 'all';

use Cwd qw(abs_path);
use File::Basename qw(dirname);
use IPC::Run;
use Test::More;
use TwTasks::Session;

my $maker = abs_path(dirname(__FILE__) . '/../original_tasks.py');

sub program
{
	return $ENV{TWTASKS_IMPORT}
	  || die "TWTASKS_IMPORT must name the program twtasks-import\n";
}

# Makes the tables in a database of their own on the server, with so many tasks.
sub create
{
	my ($class, $node, $count) = @_;
	my $seed = $ENV{TWT_TEST_SEED} || time;
	my $self = bless { node => $node, name => 'original' }, $class;
	my $err = '';

	note("TWT_TEST_SEED=$seed");
	$node->value('CREATE DATABASE original');
	IPC::Run::run([ '/usr/bin/python3', $maker, $count, $seed ],
		'|', [ 'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-d', $self->connstr ], '2>', \$err, IPC::Run::timeout(180))
	  || die "tables of the original: $err\n";
	return $self;
}

sub connstr
{
	my ($self) = @_;

	return $self->{node}->connstr('original');
}

sub session
{
	my ($self) = @_;

	return $self->{session} ||= TwTasks::Session->new($self->connstr);
}

# The answer of the source to a statement.
sub value
{
	my ($self, $sql) = @_;

	return $self->session->query($sql);
}

# The command line of an import; a role of both databases may be named.
sub command
{
	my ($self, $arguments, $role) = @_;
	my $user = $role ? " user=$role" : '';

	return [ program(), '--from', $self->connstr . $user, '--to', $self->{node}->connstr('postgres') . $user, '--name', 'original', '--watch', '0s', @$arguments ];
}

# Runs an import.  Returns exit status, output and messages.
sub run
{
	my ($self, $arguments, $role) = @_;
	my ($out, $err) = ('', '');

	local $ENV{LC_ALL} = 'C.UTF-8';
	IPC::Run::run($self->command($arguments, $role), '<', \undef, '>', \$out, '2>', \$err, IPC::Run::timeout(180));
	return ($?, $out, $err);
}

# The same, and checks the exit status.  Returns output and messages.
sub ends
{
	my ($self, $wanted, $arguments, $name, $role) = @_;
	my ($status, $out, $err) = $self->run($arguments, $role);

	is(($status >> 8) . ' ' . ($status & 127), "$wanted 0", $name) or diag("$out$err");
	return ($out, $err);
}

1;
