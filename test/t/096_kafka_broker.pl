# 096_kafka_broker.pl -- the broker of the other tests: it takes messages, has
# them after a crash, and creates no topic by itself.

use strict;
use warnings FATAL => 'all';

use Test::More;
use TwTasks::Kafka;
use TwTasks::Wait;

my $kafka = TwTasks::Kafka->create;

$kafka->create_topic('first', 2);
$kafka->produce(
	'first',
	{ key => 'k', value => "\x00\xff", headers => [ [ h => '1' ], [ h => '2' ] ], partition => 1 },
	{ value => undef, partition => 0 });

sub told
{
	return
	  map { join ' ', $_->{partition}, $_->{offset}, $_->{key} // '-', $_->{value} // '-',
		map { "$_->[0]=$_->[1]" } @{ $_->{headers} } } $kafka->messages('first');
}

my @expected = ('0 0 - -', "1 0 k \x00\xff h=1 h=2");

is_deeply([told], \@expected, 'the broker has the produced messages');
ok(!eval { $kafka->produce('missing', { value => '1' }); 1 }, 'a missing topic stays missing');
$kafka->crash;
ok(!$kafka->is_open, 'a killed broker is away');
$kafka->start;
is_deeply([told], \@expected, 'the broker has the same messages when it is back');
$kafka->delete_topic('first');
wait_ok(sub { !eval { $kafka->messages('first'); 1 } }, 'a topic can be deleted');

done_testing();
