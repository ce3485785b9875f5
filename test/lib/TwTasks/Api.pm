# Api.pm -- the management API of twtasks-web, with one person for each role.

package TwTasks::Api;

use strict;
use warnings FATAL => 'all';

use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use TwTasks::Schema qw(schema_faults use_schemas);
use TwTasks::Web;

our @ISA = ('TwTasks::Web');

# Names of persons, and their roles as token_file has them.
our %people = (vera => 'viewer', otto => 'operator', pia => 'viewer,payload');

# Starts twtasks-web on the server, whose role "web" may take on all roles.
# Further options are those of its configuration; manage is added to.
sub start
{
	my ($class, $node, $name, %config) = @_;
	my %manage = %{ delete $config{manage} || {} };
	my $port = PostgreSQL::Test::Cluster::get_free_port();
	my $tokens = PostgreSQL::Test::Utils::tempdir() . "/people-$name";
	my (%token, @lines);

	$node->value('GRANT twtasks_viewer, twtasks_operator, twtasks_payload_viewer TO web');
	foreach my $person (sort keys %people)
	{
		my ($line, $token);

		IPC::Run::run([ TwTasks::Web::program(), '--new-token', $person, $people{$person} ], '>', \$line, '2>', \$token)
		  or die "could not make a token: $token";
		chomp($line, $token);
		push @lines, $line;
		$token{$person} = $token;
	}
	my $self = $class->SUPER::start(
		$node, $name,
		listen => "127.0.0.1:$port",
		manage => { token_file => TwTasks::Web::write_tokens($tokens, @lines), %manage },
		%config);

	$self->{api_tokens} = \%token;
	return $self;
}

# Tasks of that type whose try ended so: error, or lost (nobody knows).
sub tried
{
	my (undef, $node, $type, $end, $n) = @_;
	my $incarnation = $node->value("SELECT twtasks_internal.start_node('gone')");
	my @ids = map { $node->add_task($type) } 1 .. $n;
	my $array = "'{" . join(',', @ids) . "}'::uuid[]";
	my $each = sub { "'{" . join(',', ($_[0]) x $n) . "}'" };

	$node->value("SELECT twtasks_internal.grab_tasks($array, " . $each->(0) . ", $incarnation, 1, " . $each->(60000) . ', ' . $each->('error') . ')');
	$node->value(
		$end eq 'lost'
		? "UPDATE twtasks.task SET deadline = created WHERE id = ANY ($array); SELECT twtasks_internal.recover_tasks()"
		: "SELECT twtasks_internal.finish_tasks($array, " . $each->(1) . ", " . $each->('error') . ", " . $each->(0) . ", " . $each->('no room') . ", $incarnation, 1)");
	$node->value("SELECT twtasks_internal.end_node($incarnation)");
	return @ids;
}

# The answer to a request of a person (undef: of nobody) below /api/v1; see ask().
# Tests change the database beside the server, so they want an answer of now; memory =>
# 1: also one from the server's memory.
sub call
{
	my ($self, $person, $method, $path, %options) = @_;

	$options{headers} = { 'Cache-Control' => 'no-cache', %{ $options{headers} || {} } } unless delete $options{memory};
	return $self->ask($method, "/api/v1$path", (defined $person ? (token => $self->{api_tokens}{$person}) : ()), %options);
}

# Like call(), and notes each answer that is not as the description says.
sub call_as_described
{
	my ($self, $person, $method, $path, %options) = @_;
	my @answer = $self->call($person, $method, $path, %options);
	my $responses = ($self->operation($method, $path) // {})->{responses} // {};
	my $response = $responses->{ $answer[0] };
	my ($content) = values %{ ($response // {})->{content} // {} };
	my ($name) = $answer[0] >= 400 ? 'Problem' : ($content->{schema}{'$ref'} // '') =~ m{^#/components/schemas/(.*)};

	push @{ $self->{faults} }, "$method $path: status $answer[0] is not in the description" unless $response;
	push @{ $self->{faults} }, map { "$method $path: $_" } schema_faults($answer[1], $name) if $name;
	$self->{judged}{$name}++ if $name;
	return @answer;
}

# The operation of a request by its method and path; undef: none.
sub operation
{
	my ($self, $method, $path) = @_;

	if (!$self->{description})
	{
		$self->{description} = ($self->call(undef, 'GET', '/openapi.json'))[1];
		use_schemas($self->{description});
	}
	foreach my $template (sort keys %{ $self->{description}{paths} })
	{
		my $pattern = $template =~ s{^/api/v1}{}r =~ s{\{\w+\}}{[^/]+}gr;

		return $self->{description}{paths}{$template}{ lc $method } if $path =~ /^$pattern(\?|$)/;
	}
	return undef;
}

# The noted faults.
sub faults
{
	return $_[0]{faults} // [];
}

1;
