# 069_receiver.pl -- the receiver of the examples takes whatever a task may
# carry, knows secrets of both kinds, and answers 401 to what is not signed.

use strict;
use warnings FATAL => 'all';

use File::Basename;
use HTTP::Tiny;
use POSIX ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $program =
  dirname(__FILE__) . '/../../examples/receiver.py';
my $directory = PostgreSQL::Test::Utils::tempdir();
my $node      = TwTasks::Cluster->create('main');
my %secrets   = (
	base64 => 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
	text   => 'a secret as it is written');
my (@receivers, %ports);

sub write_file
{
	my ($name, @lines) = @_;

	PostgreSQL::Test::Utils::append_to_file("$directory/$name", "$_\n")
	  foreach @lines;
	chmod oct 600, "$directory/$name";
	return "$directory/$name";
}

sub answers
{
	my ($port, $headers) = @_;

	return HTTP::Tiny->new->post("http://127.0.0.1:$port/",
		{ headers => $headers, content => '{}' })->{status};
}

END
{
	local $?;
	kill KILL => @receivers;
}

# Each of them knows one of the secrets.
foreach my $kind (sort keys %secrets)
{
	my $port = $ports{$kind} = PostgreSQL::Test::Cluster::get_free_port();
	my $file = write_file($kind, $secrets{$kind});

	push @receivers, fork // die "could not fork: $!";
	next if $receivers[-1];
	open STDOUT, '>', "$directory/$kind.out" or POSIX::_exit(126);
	exec 'python3', $program, $port, $file or POSIX::_exit(127);
}
wait_for(sub { answers($ports{$_}, {}) != 599 }, "receiver $_")
  foreach sort keys %ports;

my $both    = write_file('both', values %secrets);
my $sidecar = TwTasks::Sidecar->start(
	$node, 'a',
	handlers => [
		map {
			{
				types       => [ uc($_) ],
				http        => "http://127.0.0.1:$ports{$_}/",
				secret_file => $both,
				retry       => { max_tries => 1 }
			}
		} sort keys %ports
	]);

foreach my $kind (sort keys %ports)
{
	my $type = uc $kind;

	$node->value("SELECT twtasks.add_task('$type')");
	$node->value("SELECT twtasks.add_task('$type', '{\"a\": 1}')");
	$node->value("SELECT twtasks.add_task('$type', payload => '\\xff00')");
	wait_ok(
		sub { $node->tasks("type = '$type' AND status = 'DONE'") == 3 },
		"$kind: the receiver takes no data, JSON and a payload");
	is( join('', sort split /^/, PostgreSQL::Test::Utils::slurp_file("$directory/$kind.out")),
		join('', sort "$type None\n", "$type {'a': 1}\n", "$type b'\\xff\\x00'\n"),
		"$kind: the receiver gets data as it was stored");
}

my %signed = (
	'webhook-id'        => 'x',
	'webhook-timestamp' => time,
	'webhook-signature' => 'v1,bm9ib2R5');

foreach my $change (
	{},
	(map { { $_ => undef } } sort keys %signed),
	{ 'webhook-timestamp' => 'now' },
	{ 'webhook-timestamp' => 1 })
{
	my %headers = (%signed, %$change);

	delete $headers{$_} foreach grep { !defined $headers{$_} } keys %headers;
	is(answers($ports{text}, \%headers),
		401, 'refused: ' . join ' ', map { "$_ " . ($change->{$_} // 'missing') } keys %$change);
}
is($sidecar->stop, 0, 'the sidecar stops in order');

done_testing();
