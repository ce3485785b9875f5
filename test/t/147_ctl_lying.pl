# 147_ctl_lying.pl -- a server whose answers are wrong crashes twtasksctl at no verb, keeps it
# waiting for no longer than --timeout says, and writes nothing to the terminal but text.

use strict;
use warnings FATAL => 'all';

use Test::More;
use TwTasks::Cluster;
use TwTasks::Ctl;
use TwTasks::Liar;
use TwTasks::Seed;

TwTasks::Seed::sow();
my $node = TwTasks::Cluster->create('main');
my $id = $node->add_task('TASK', data => '{"amount": 1}');
my $liar = TwTasks::Liar->start($node);
my $ctl = TwTasks::Ctl->new($liar);
my @reason = ('--reason', 'a test', '--yes');
my @verbs = (
	['status'],
	['list'],
	[ 'list', '--json' ],
	[ 'show', $id ],
	[ 'why', $id ],
	[ 'hold', $id, @reason ],
	[ 'cancel', '--type', 'NONE', @reason ],
	[ 'limit', 'TASK', '--concurrency', 5 ],
	['doctor'],
	[ 'payload', $id, '--reason', 'a test' ],
	[ 'complete', 'show', '' ]);

foreach my $kind (TwTasks::Liar::lies())
{
	my $from = $liar->lie(2, $kind);

	foreach my $verb (@verbs)
	{
		my @words = $verb->[0] eq 'complete' ? @$verb : (@$verb, '--timeout', '1s');
		my ($status, $out, $err, $signal) = $ctl->run(\@words);

		is($signal, 0, "$kind: twtasksctl @$verb does not crash") or diag("$out$err");
		unlike($out . $err, qr/[\x00-\x08\x0b-\x1f\x7f]/, "$kind: twtasksctl @$verb shows text alone");
	}
}
$liar->lie(0, 'nothing');
$ctl->ends(0, ['list'], 'twtasksctl works with the same server when it tells the truth');
done_testing();
