# 106_encodings.pl -- keys and errors in databases of several encodings: the
# beginning of a key finds all keys, also those of the greatest characters, by an
# index.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Session;

my $node = TwTasks::Cluster->create('main');

# A letter, and the greatest characters, in UTF-8.
my %letters = (
	EUC_JP => [ "\xe3\x82\xa8", "\xe7\x86\x99" ],
	LATIN1 => [ "\xc3\xa9", "\xc3\xbf" ],
	WIN1251 => [ "\xd0\xb6", "\xd1\x8f" ],
	UTF8 => [ "\xe3\x82\xa8", "\xf4\x8f\xbf\xbf" ]);

for my $encoding (sort keys %letters)
{
	my ($letter, $greatest) = @{ $letters{$encoding} };
	my $name = lc $encoding;

	$node->safe_psql('postgres',
		"CREATE DATABASE $name ENCODING '$encoding' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0");
	$node->install($name);
	my $session = TwTasks::Session->new($node->connstr($name));

	$session->query('SET client_encoding = UTF8');
	$session->query("SELECT count(*) FROM twtasks.add_tasks(ARRAY(
		SELECT ROW('A', NULL, NULL, k, NULL, NULL, NULL, NULL, NULL, NULL, NULL)::twtasks.new_task
		FROM unnest(ARRAY['order', 'order $letter', 'order ' || repeat('$greatest', 5), 'orders', '$greatest', '${greatest}1', '$letter']) k))");
	for my $prefix ('order', 'order ', "order $letter", "order $greatest", 'orders', $greatest, $letter, 'none')
	{
		my $wanted = $session->query(
			"SELECT string_agg(key, ',' ORDER BY key COLLATE \"C\") FROM twtasks.unique_key WHERE left(key, length('$prefix')) = '$prefix'");

		is( $session->query(
				"SELECT string_agg(key, ',' ORDER BY key COLLATE \"C\") FROM twtasks.list_tasks(key_prefix => '$prefix')"),
			$wanted, "$encoding: list_tasks() by $prefix");
		is( $session->query(
				"SELECT string_agg(k.key, ',' ORDER BY k.key COLLATE \"C\") FROM twtasks.change_tasks('cancel', '*', key_prefix => '$prefix', dry_run => true) c
				JOIN twtasks.unique_key k ON k.task_id = c.id"),
			$wanted, "$encoding: change_tasks() by $prefix");
	}
	like(
		$session->query("SELECT twtasks_internal.list_few('{\"key_prefix\": \"order $letter\"}', 100)"),
		qr/starts_with/, "$encoding: the walk is by the beginning");
	$session->query('SET enable_seqscan = off; SET enable_bitmapscan = off');
	like(
		$session->query("EXPLAIN (FORMAT JSON, COSTS off) SELECT u.task_id FROM twtasks.unique_key u WHERE starts_with(u.key, 'order $letter')"),
		qr/Index Cond.*key >= .* AND \(?key < /, "$encoding: ... which the index bounds on both sides");
	is($session->query("SELECT twtasks_internal.error_shape(repeat('$letter', 501) || ' 17')"),
		$letter x 500, "$encoding: no character of an error is cut");
	is($session->query("SELECT twtasks_internal.error_shape('$letter ''$letter 17'' ${letter}''s 3 by $letter\@$letter.org')"),
		"${letter} '<text>' ${letter}'s # by <address>", "$encoding: the shape of an error");
}
done_testing;
