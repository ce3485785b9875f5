# 207_edition_copies.pl -- a copy of a whole server that has the SQL edition executes
# nothing until somebody adopts it: a sidecar reaches it by another address.  The same
# server under another name goes on as soon as an operator says so.

use strict;
use warnings FATAL => 'all';

use Test::More;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $ledger = TwTasks::Ledger->new;
my $node = TwTasks::Cluster->create('main', queue => 'notify', edition => 'sql', init => { allows_streaming => 1 });
my $copy = TwTasks::Cluster->new('copy');
my $own = $node->host . ':' . $node->port . '/postgres';
my $copied = $copy->host . ':' . $copy->port . '/postgres';
my $other_host = PostgreSQL::Test::Utils::tempdir_short() . '/name';
my $other = "$other_host:" . $node->port . '/postgres';
my $addresses = 'SELECT string_agg(address, \' \' ORDER BY address) FROM twtasks_internal.address';

symlink $node->host, $other_host or die "could not make a second name of the server: $!";

sub sidecar_of
{
	my ($server, $name, %config) = @_;

	$config{environment} = 'production' if !exists $config{environment};
	delete $config{environment} if !defined $config{environment};
	return TwTasks::Sidecar->prepare($server, $name, handlers => [ { types => ['*'], command => $ledger->command } ], %config);
}

sub refused_ok
{
	my ($sidecar, $why, $what) = @_;

	$sidecar->launch;
	return ok($sidecar->wait_for_log(qr/ERROR adoption: executes nothing in this database: \Q$why\E; twtasks\.warnings says how to adopt it/), $what);
}

# The number of tasks that an adoption would hold.
sub would_hold
{
	my ($server, @rest) = @_;
	my $session = $server->session;

	$session->query('SET client_min_messages = warning; BEGIN');
	my $held = $session->query('SELECT held FROM twtasks.adopt(' . join(', ', @rest) . ')');
	$session->query('ROLLBACK');
	return $held;
}

sub ended_ok
{
	my ($server, $id, $what) = @_;

	return wait_ok(sub { $server->status_of($id) eq 'DONE' }, $what);
}

sub adopted
{
	my ($server, @rest) = @_;

	return $server->value('SET client_min_messages = warning; SELECT held FROM twtasks.adopt(' . join(', ', @rest) . ')');
}

# ---- a new database ----

is(would_hold($node, '\'production\''), 0, 'a new database without tasks gets an environment, and nothing is held');
$node->add_task('LATER', run_after => '2100-01-01');
like($node->session->query('BEGIN; SELECT twtasks.adopt(\'production\'); ROLLBACK'),
	qr/held 1 task and paused 0 schedules\nDETAIL:  Reason: no sidecar has told its address yet, so this may be a copy\./, '... with tasks it may be a copy, so they are held');
is(would_hold($node, '\'production\'', 'hold => false'), 0, '... unless a person says so');
my $unnamed = sidecar_of($node, 'unnamed', environment => undef)->run;
is(adopted($node, '\'production\''), 0, 'the environment of a running system gets a name, and no task is held');
is($unnamed->stop, 0, 'its sidecar stops in order');
my $sidecar = sidecar_of($node, 'first')->run;
is($node->value($addresses), $own, 'the first sidecar told the address of the database');
ended_ok($node, $node->add_task('FIRST'), 'a task runs there');
is($sidecar->stop, 0, 'the sidecar stops in order');

# ---- a copy, as of a snapshot of the whole server ----

my $paid = $node->add_task('PAY');
$node->backup('backup');
$copy->init_from_backup($node, 'backup');
$copy->start;
is($copy->value('SELECT twtasks.is_adopted()'), 't', 'the copy has all that its rows and the server say of the original');

# ---- adopted before the first sidecar starts ----

is(would_hold($copy, '\'staging\''), 2, 'a copy: its tasks are held');
like($copy->session->query('BEGIN; SELECT twtasks.adopt(\'staging\'); ROLLBACK'),
	qr/held 2 tasks and paused 0 schedules\nDETAIL:  Reason: no sidecar works here that came by a recorded address\.\nHINT:  Call twtasks\.change_tasks/, '... a notice says so, and why');
is(would_hold($copy, '\'production\''), 2, '... also in the environment of the original');
is(would_hold($copy, '\'production\'', "address => '$copied'"), 2, '... also with an address');
is(would_hold($copy, '\'production\'', 'hold => false'), 0, 'a person says that nothing is to be held');
isnt($copy->value('SELECT twtasks_internal.start_node(\'stranger\', environment => \'production\')'), '', 'a node lives that told no address');
is(would_hold($copy, '\'production\''), 2, '... so the tasks are held all the same');

my $astray = sidecar_of($copy, 'astray');
refused_ok($astray, qq(it was adopted at "$own", not at "$copied"), 'a sidecar that reaches the copy executes nothing, and says why');
is($copy->value('SELECT detail FROM twtasks.warnings WHERE warning = \'node refused\''),
	qq(node "astray": it was adopted at "$own", not at "$copied"), 'a warning says it, too');
like($copy->value('SELECT hint FROM twtasks.warnings WHERE warning = \'node refused\''),
	qr/adopt\('staging'\), which holds .*adopt\('production', hold => false, address => '\Q$copied\E'\) runs all/, '... and what to type');
is(would_hold($copy, '\'production\'', "address => '$copied'"), 2, 'the address of the copy alone lets it pay nothing');
is(adopted($copy, '\'staging\''), 2, 'the adoption of the copy holds its tasks');
is($copy->value($addresses), '', '... and forgets the address of the original');
is($astray->stop, 0, 'the refused sidecar stops in order');
my $staging = sidecar_of($copy, 'staging', environment => 'staging')->run;
is($copy->value($addresses), $copied, 'the copy has an address of its own');
ended_ok($copy, $copy->add_task('TEST'), 'new tasks run in the copy');
is($copy->status_of($paid), 'HELD', 'the task of the original does not');
is($staging->stop, 0, 'the sidecar of the copy stops in order');
$copy->stop;

# ---- the same server under another name ----

my $renamed = sidecar_of($node, 'renamed', postgres => "host=$other_host port=" . $node->port . ' dbname=postgres user=sidecar');
$sidecar->run;
ended_ok($node, $paid, 'the original goes on without a word');
refused_ok($renamed, qq(it was adopted at "$own", not at "$other"), 'another name of the server is refused');
like($node->common_session->try("SELECT twtasks.adopt('production', address => '$other_host')"), qr/22023.*invalid address/, 'an address without a port is refused');
is(adopted($node, '\'production\''), 0, 'an adoption while a sidecar works here holds nothing');
is(would_hold($node, '\'staging\''), 1, '... but in another environment');
is(would_hold($node, '\'staging\'', 'hold => false'), 0, '... unless a person says so');
is($node->value('SELECT count(*) FROM twtasks.node WHERE ended IS NULL'), 1, 'the sidecar works on');
is($node->value($addresses), $own, '... and leaves the addresses as they are');
is($sidecar->stop, 0, 'the sidecar stops in order');
is(would_hold($node, '\'production\'', "address => '$other'"), 1, 'while no sidecar works, another address holds the tasks');
is(adopted($node, '\'production\'', 'hold => false', "address => '$other'"), 0, '... unless a person knows that this is the original');
ok($renamed->wait_for_log(qr/started as incarnation/), 'the sidecar begins by itself');
ended_ok($node, $node->add_task('RENAMED'), '... and runs tasks');
is($renamed->stop, 0, 'it stops in order');

# ---- several servers in one configuration ----

my $operator = $node->session;
$operator->query('SET ROLE twtasks_operator');
is($operator->query('SELECT string_agg(address, \' \' ORDER BY address) FROM twtasks.addresses'), join(' ', sort $own, $other), 'an operator sees the addresses');
is($operator->query("SELECT twtasks.forget_address('$other', 'a test'), twtasks.forget_address('$other')"), 't|f', '... and forgets one');
is($operator->query('SELECT kind, name, reason FROM twtasks.policy_audit'), "address|$other|a test", '... which the audit keeps');
like($operator->query("BEGIN; SELECT twtasks.forget_address('$own'); ROLLBACK"), qr/WARNING: .*no address is recorded any more.*next sidecar records/s, '... with a warning if none is left');
$node->value("INSERT INTO twtasks_internal.address (address) VALUES ('db.example.com:5432/App')");
is($operator->query("SELECT twtasks.forget_address('DB.Example.com.:5432/App', 'typed')"), 't', 'an address may be typed in other letters');
is($operator->query('SELECT name, before FROM twtasks.policy_audit WHERE reason = \'typed\''), 'db.example.com:5432/App|{"address": "db.example.com:5432/App"}', '... and the audit has it as it was recorded');
$operator->close;
my $both = sidecar_of($node, 'both',
	postgres => 'host=' . $node->host . ",$other_host port=" . $node->port . ' dbname=postgres user=sidecar')->run;
is($node->value($addresses), join(' ', sort $own, $other), 'a recorded address vouches for the other servers of the configuration');
is($both->stop, 0, 'the sidecar stops in order');
is($node->value('SELECT string_agg(twtasks_internal.plain_address(a), \' \') FROM unnest(ARRAY[\'DB.Example.com.:5432/App\', \'/Tmp/x.:5432/a\', \'FE80::1:5432/a:1/b\']) a'),
	'db.example.com:5432/App /Tmp/x.:5432/a fe80::1:5432/a:1/b', 'names of hosts are compared in lower case, without a dot at their end');
isnt($node->value('SELECT twtasks_internal.start_node(\'old\', environment => \'production\')'), '', 'an older sidecar, which tells no address, is not refused');

done_testing();
