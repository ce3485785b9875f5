# Prometheus.pm -- a Prometheus server of the tests, on a port and in a directory of
# its own.

package TwTasks::Prometheus;

use strict;
use warnings FATAL => 'all';

use parent 'TwTasks::Jvm';

use HTTP::Tiny;
use IPC::Run;
use JSON::PP;
use POSIX ();
use PostgreSQL::Test::Utils;
use Test::More;

# Whether it can run here; skips the test otherwise.
sub needed
{
	foreach my $program (qw(prometheus promtool))
	{
		plan(skip_all => "no $program is installed") if !grep { -x "$_/$program" } split /:/, $ENV{PATH};
	}
	return;
}

# A running server with that configuration, which may name files beside it: a hash
# of their names and texts.
sub create
{
	my ($class, $config, %files) = @_;
	my $port = $class->free_port;
	my $self = $class->SUPER::new(
		name => 'prometheus',
		directory => PostgreSQL::Test::Utils::tempdir(),
		port => $port);

	$files{'prometheus.yml'} = encode_json($config);
	PostgreSQL::Test::Utils::append_to_file("$self->{directory}/$_", $files{$_}) foreach keys %files;
	return $self->start;
}

sub launch
{
	my ($self) = @_;

	$self->{pid} = fork // die "could not fork: $!";
	return $self if $self->{pid};
	open STDIN, '<', '/dev/null';
	open STDERR, '>>', $self->{log};
	open STDOUT, '>&', *STDERR;
	exec 'prometheus', '--log.level=warn', "--config.file=$self->{directory}/prometheus.yml",
	  "--storage.tsdb.path=$self->{directory}/data", "--web.listen-address=127.0.0.1:$self->{port}"
	  or POSIX::_exit(127);
}

sub get
{
	my ($self, $path) = @_;

	return HTTP::Tiny->new(timeout => 60)->get("http://127.0.0.1:$self->{port}$path");
}

sub is_ready
{
	return $_[0]->get('/-/ready')->{status} == 200;
}

# The samples of a query now: hashes with metric and value.  Dies if it is wrong.
sub query
{
	my ($self, $query) = @_;
	my $answer = $self->get('/api/v1/query?' . HTTP::Tiny->new->www_form_urlencode({ query => $query }));
	my $said = decode_json($answer->{content});

	die "query \"$query\": $said->{error}\n" if $said->{status} ne 'success';
	return @{ $said->{data}{result} };
}

# Runs promtool with these arguments and this input: its words, and its exit status.
sub promtool
{
	my ($input, @arguments) = @_;
	my $said = '';

	IPC::Run::run([ 'promtool', @arguments ], '<', \$input, '>&', \$said);
	return ($said, $? >> 8);
}

1;
