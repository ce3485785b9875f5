# 151_api_roles.pl -- each route of the management API, by each method, for each
# person: those who may not ask are refused, the database allows what the description
# promises, and no answer but a payload shows what a task carries.

use strict;
use warnings FATAL => 'all';

use JSON::PP;
use Test::More;
use TwTasks::Api;
use TwTasks::Cluster;

use constant METHODS => qw(get post put delete);
use constant CANARY => 'canary-8f2c';

$TwTasks::Api::people{paul} = 'payload';

my $node = TwTasks::Cluster->create('main');
my $web = TwTasks::Api->start($node, 'web');

# The roles of a person; nobody has none.
my %roles = map { $_ => [ split /,/, $TwTasks::Api::people{$_} // '' ] } keys %TwTasks::Api::people;

$roles{otto} = [ 'operator', 'viewer' ];
$roles{nobody} = [];

# ---- tasks that carry a canary ----

my %carried = (data => encode_json({ CANARY, CANARY }), context => encode_json({ CANARY, CANARY }));
my $id = $node->add_task('CANARY', %carried, key => 'a key');

$node->add_task('CANARY', %carried, run_after => '2100-01-01');
$node->value("SELECT twtasks.cancel_task('" . $node->add_task('CANARY', %carried) . "', 0)");

# ---- requests ----

my (undef, $description) = $web->call(undef, 'GET', '/openapi.json');
my %sample = (id => $id, uuid => $id, 'date-time' => '2026-01-02T03:04:05Z', integer => 1, number => 1, boolean => 'true');

# A value that a parameter takes.
sub sample
{
	my ($parameter) = @_;
	my $schema = $parameter->{schema} // return '{}';
	my $word = $schema->{enum} ? $schema->{enum}[0] : undef;

	$word = ($schema->{items}{enum} // ['x'])->[0] if $schema->{type} eq 'array';
	return $word // $sample{ $schema->{format} // '' } // $sample{ $schema->{type} } // 'CANARY';
}

# The path with a value for each parameter, and the query that it must have.
sub address
{
	my ($path, $operation) = @_;
	my @parameters = @{ $operation->{parameters} // [] };
	my %value = map { $_->{name} => sample($_) } grep { $_->{in} eq 'path' } @parameters;
	my @query = map { "$_->{name}=" . sample($_) } grep { $_->{in} eq 'query' && $_->{required} } @parameters;

	return $path =~ s/\{(\w+)\}/$value{$1} \/\/ 'x'/ger . (@query ? '?' . join '&', @query : '');
}

sub has_role
{
	my ($person, $role) = @_;

	return $person ne 'nobody' if $role eq 'any';
	return $role eq 'open' || scalar grep { $_ eq $role } @{ $roles{$person} };
}

# The fault of the answer for a person who may ask; '': none.
sub fault
{
	my ($operation, $status, $body) = @_;

	return "status $status is not in the description" unless $operation->{responses}{$status};
	return $body->{detail} // $body->{title} if $status == 401 || $status == 500 || $status == 503;
	return $body->{title} if $status == 403 && $operation->{'x-role'} ne 'payload';
	return '';
}

my $canaries = 0;

# One cell: a person asks.  Returns what is wrong.
sub cell
{
	my ($person, $method, $path, $operation) = @_;
	my ($status, $body, $answer) =
	  $web->call($person eq 'nobody' ? undef : $person, uc $method, address($path, $operation // {}), $method eq 'get' ? () : (body => '{}'));

	if (index($answer->{content}, CANARY) >= 0 && ($operation->{'x-role'} // '') ne 'payload')
	{
		$canaries++;
		diag("$person sees a canary: $method $path");
	}
	return $status == 405 ? '' : "$status in place of 405" unless $operation;
	return fault($operation, $status, $body) if has_role($person, $operation->{'x-role'});
	my $refusal = $person eq 'nobody' ? 401 : 403;
	return $status == $refusal ? '' : "$status in place of $refusal";
}

my $cells = 0;

foreach my $path (sort keys %{ $description->{paths} })
{
	foreach my $method (METHODS)
	{
		my $operation = $description->{paths}{$path}{$method};
		my @faults;

		foreach my $person (sort keys %roles)
		{
			my $fault = cell($person, $method, $path, $operation);

			push @faults, "$person: $fault" if $fault;
			$cells++;
		}
		is_deeply(\@faults, [], "$method $path: " . ($operation ? $operation->{'x-role'} : 'no such method'));
	}
}

cmp_ok($cells, '>', 30, 'cells');
is($canaries, 0, 'nobody sees what a task carries');

done_testing();
