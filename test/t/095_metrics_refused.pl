# 095_metrics_refused.pl -- what this node did in vain is counted: grabs of tasks
# that are not there any more, and results of tasks that somebody else has ended.

use strict;
use warnings FATAL => 'all';

use HTTP::Tiny;
use POSIX qw(mkfifo);
use PostgreSQL::Test::Cluster;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $node = TwTasks::Cluster->create('main');
my $port = PostgreSQL::Test::Cluster::get_free_port();
my $go = $node->basedir . '/go';
mkfifo($go, oct 600) or die "could not make $go: $!";
my $sidecar = TwTasks::Sidecar->start(
	$node, 'a',
	listen => "127.0.0.1:$port",
	handlers => [
		{ types => ['NOOP'], noop => JSON::PP::true },
		{ types => ['HELD'], command => [ '/bin/sh', '-c', "read line < $go" ], timeout => '10min' }
	]);

sub figure
{
	my ($name) = @_;
	my $answer = HTTP::Tiny->new(timeout => 180)->get("http://127.0.0.1:$port/metrics");

	return $answer->{content} =~ /^twtasks_\Q$name\E ([0-9]+)$/m ? $1 : 0;
}

# A trigger whose task is gone, as when another node was first.
$node->value(q{SELECT twtasks_internal.queue_trigger(gen_random_uuid(), 0, 'default', 'NOOP', 5::smallint, 0, NULL)}) foreach 1 .. 3;
wait_ok(sub { figure('lost_grabs_total{bucket="default",type="NOOP"}') == 3 }, 'grabs that found no task are lost');
is(figure('grabs_total{bucket="default",type="NOOP"}'), 0, '... and not grabs');

# A task that ends by hand while its handler runs.
my $id = $node->add_task('HELD');
wait_ok(sub { figure('tasks_started_total{bucket="default",type="HELD"}') == 1 }, 'a handler runs');
is($node->value("SELECT (twtasks.finish_task('$id', 1, 'done')).status"), 'DONE', 'somebody else ends its task');
open my $file, '>', $go or die "could not write $go: $!";
print $file "go\n";
close $file or die "could not write $go: $!";
wait_ok(sub { figure('refused_finishes_total{bucket="default",type="HELD"}') == 1 }, 'its result is refused');
is(figure('tasks_ended_total{bucket="default",type="HELD",result="done"}'), 0, '... and ends no task');
is($sidecar->stop, 0, 'the sidecar stops in order');
is($node->value('SELECT sum(refused) || \' \' || sum(done) FROM twtasks.flow'), '1 0', 'the flow says the same');

done_testing();
