# Ctl.pm -- twtasksctl beside a server of the tests.

package TwTasks::Ctl;

use strict;
use warnings FATAL => 'all';

use File::Temp;
use IPC::Run;
use JSON::PP;
use Test::More;

sub program
{
	return $ENV{TWTASKSCTL}
	  || die "TWTASKSCTL must name the program twtasksctl\n";
}

# For a role of the server; the owner of the server if left out.
sub new
{
	my ($class, $node, $role) = @_;

	return bless { node => $node, role => $role }, $class;
}

# Exit status, output and messages.  Options: input, which comes from a file: a program that
# ends without reading it would close a pipe, and SIGPIPE would end the test.
sub run
{
	my ($self, $arguments, %options) = @_;
	my ($out, $err) = ('', '');
	my $input = File::Temp->new;
	my $connection = $self->{node}->connstr('postgres')
	  . ($self->{role} ? " user=$self->{role}" : '');

	print {$input} $options{input} // '';
	close $input or die "could not write the input: $!";
	local $ENV{LC_ALL} = 'C.UTF-8';
	IPC::Run::run([ program(), '-w', '-d', $connection, @$arguments ],
		'<', "$input", '>', \$out, '2>', \$err, IPC::Run::timeout(180));
	return ($? >> 8, $out, $err, $? & 127);
}

# The same, and does something when the program asks a question, before the yes.  It gets the
# process id.
sub run_between
{
	my ($self, $arguments, $between) = @_;
	my ($in, $out, $err) = ('', '', '');
	my $run = IPC::Run::start(
		[ program(), '-w', '-d', $self->{node}->connstr('postgres') . ($self->{role} ? " user=$self->{role}" : ''), @$arguments ],
		'<', \$in, '>', \$out, '2>', \$err, IPC::Run::timeout(180));

	local $SIG{PIPE} = sub { die "the program ended before its answer\n" };
	$run->pump until $out =~ /\[y\/N\]/;
	$between->($run->{KIDS}[0]{PID});
	$in .= "y\n";
	$run->finish;
	return ($? >> 8, $out, $err);
}

# Checks the exit status; returns output and messages.
sub ends
{
	my ($self, $wanted, $arguments, $name, %options) = @_;
	my ($status, $out, $err, $signal) = $self->run($arguments, %options);

	is("$status $signal", "$wanted 0", $name // "exit status of @$arguments")
	  or diag("@$arguments:\n$out$err");
	return ($out, $err);
}

# The document that a verb prints.
sub json
{
	my ($self, $wanted, $arguments, $name, %options) = @_;
	my ($out) = $self->ends($wanted, [ @$arguments, '--json' ], $name, %options);
	my $document = eval { decode_json($out) };

	ok(defined $document, "one JSON document from @$arguments") or diag("$@$out");
	return $document;
}

1;
