# 121_web_decide.pl -- functions of a to-do item that loop, in all sessions: they hold up
# no other request.

use strict;
use warnings FATAL => 'all';

use HTTP::Tiny;
use JSON::PP;
use POSIX ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Wait;
use TwTasks::Web;

use constant SESSIONS => 3;

my $node = TwTasks::Cluster->create('main');
my $directory = PostgreSQL::Test::Utils::tempdir();
my $port = PostgreSQL::Test::Cluster::get_free_port();

$node->add_extensions('kinds');
$node->value(<<'SQL');
	CREATE ROLE clerks;
	GRANT clerks TO web;
	GRANT USAGE ON SCHEMA twtasks TO clerks;
	CREATE SCHEMA app;
	GRANT USAGE ON SCHEMA app TO PUBLIC;
	CREATE FUNCTION app.decide(read_model jsonb, data jsonb) RETURNS jsonb LANGUAGE plpgsql IMMUTABLE
		SET search_path = pg_catalog, pg_temp AS $$
	BEGIN
		WHILE data->>'do' = 'loop' LOOP PERFORM 1; END LOOP;
		RETURN '{"decision": "yes"}';
	END $$;
	CREATE FUNCTION app.careful(read_model jsonb, data jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE
		SET search_path = pg_catalog, pg_temp AS $$ SELECT '{"decision": "yes"}'::jsonb $$;
	SELECT twtasks.configure_kind('loops', 'to_do', 'LOOPS', '{/n}', decide => 'app.decide', readers => '{clerks}', answerers => '{clerks}'),
		twtasks.configure_kind('careful', 'to_do', 'CAREFUL', '{/n}', decide => 'app.careful', readers => '{clerks}', answerers => '{clerks}');
	SELECT twtasks.start(k, jsonb_build_object('n', n::text)) FROM unnest('{loops,careful}'::text[]) k, generate_series(1, 9) n;
SQL

my $web = TwTasks::Web->start(
	$node, 'web',
	listen => "127.0.0.1:$port",
	sessions => SESSIONS,
	to_do => [ { token_file => TwTasks::Web::write_tokens("$directory/clerks", 'a token of clerks'), role => 'clerks' } ]);

sub answer
{
	my ($item, $data) = @_;
	my ($status, $body) = $web->ask('POST', "/api/to-do/$item", token => 'a token of clerks', body => $data);

	return join ' ', $status, $body->{error} // $body->{result} // (), $body->{detail} // ();
}

is(answer('loops/1', {}), '200 decided', 'an item is answered');

my @pids;

foreach my $n (2 .. 1 + SESSIONS)
{
	my $pid = fork // die "could not fork: $!";

	POSIX::_exit(answer("loops/$n", { do => 'loop' }) =~
		  /^503 unavailable A function in the database took too long/ ? 0 : 1)
	  if !$pid;
	push @pids, $pid;
}
wait_ok(sub { answer('careful/1', {}) =~ /^(200 decided|409 )/ }, 'another item is answered');

my @ends = map { waitpid $_, 0; $? } @pids;

is("@ends", join(' ', (0) x SESSIONS), 'each request whose decide loops ends by the time limit of functions');
is(answer('loops/2', {}), '200 decided', 'its item stays open');
$web->stop;
done_testing();
