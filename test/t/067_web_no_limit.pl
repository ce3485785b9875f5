# 067_web_no_limit.pl -- where the server has not loaded our library, it accepts any
# twtasks.function_timeout, also 0.  A report about a locked task is refused all the
# same, for the lock and not for the time of the whole statement.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Wait;
use TwTasks::Web;

my $node = TwTasks::Cluster->create('main', queue => 'notify');

my $id = $node->add_task('LOCKED');
my $operator = $node->session;

$operator->query("BEGIN; SELECT twtasks.cancel_task('$id', 0)");
$node->forget_session;	# it has loaded the library, and would refuse the 0
$node->change_setting(function_timeout => 0);

my $web = TwTasks::Web->start($node, 'web', listen => '127.0.0.1:' . PostgreSQL::Test::Cluster::get_free_port());
my ($status, $body) = $web->ask('POST', "/api/tasks/$id/finish", body => { version => 0, result => 'done' });

is("$status $body->{error}", '503 unavailable', 'a report about a locked task is refused');
like($body->{detail}, qr/holds a lock/, 'the refusal says that it is for the lock');
$operator->query('ROLLBACK');
done_testing();
