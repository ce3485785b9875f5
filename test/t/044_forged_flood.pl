# 044_forged_flood.pl -- a hundred thousand forged triggers at once start nothing, and keep
# no true task from running.

use strict;
use warnings FATAL => 'all';

use Test::More;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Sidecar;
use TwTasks::Wait;

use constant FORGED => 100_000;
use constant TRUE => 50;

my $node = TwTasks::Cluster->create('main', queue => 'notify');
my $ledger = TwTasks::Ledger->new;
my $sidecar = TwTasks::Sidecar->start($node, 'a', handlers => [ { types => ['TASK'], command => $ledger->command } ]);

$sidecar->wait_until_idle;
$node->value('CREATE ROLE stranger LOGIN');
my $stranger = $node->session('stranger');
my $listener = $node->session;

# A true notification, as a model for forged ones.
$listener->query('LISTEN twtasks');
my $done = $node->add_task('TASK');

wait_for(sub { $node->status_of($done) eq 'DONE' }, 'a first task');
my ($line) = $listener->query('SELECT 1') =~ /payload "default\n(.*?)\n?"/s;

like($line, qr/\Q$done/, 'a payload names the task');

# As many as a payload takes, and as many payloads as it takes.
my $each = int(7000 / (length($line) + 1));
my $payloads = int(FORGED / $each) + 1;

$stranger->query(<<"SQL");
	SELECT pg_notify('twtasks', E'default\\n' || string_agg(replace('$line', '$done', gen_random_uuid()::text), E'\\n'))
	FROM generate_series(1, $payloads) p, generate_series(1, $each) i GROUP BY p
SQL
my @true = map { $node->add_task('TASK') } 1 .. TRUE;

wait_ok(
	sub { TRUE == grep { $node->state_of($_) eq 'DONE 2' } @true },
	'true tasks run beside ' . $payloads * $each . ' forged triggers');
is(scalar(grep { $ledger->starts($_) != 1 } @true), 0, 'each of them was started once');
is($ledger->starts($done), 1, 'the forged triggers start no task again');
is($node->tasks('true'), TRUE + 1, 'there is no task but the true ones');
cmp_ok($sidecar->memory('VmRSS'), '<', 128 * 1024, 'memory stays bounded');
unlike($sidecar->log, qr/ERROR/, 'no error is logged');
is($sidecar->stop, 0, 'the sidecar stops in order');
done_testing();
