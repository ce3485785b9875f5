# Questions.pm -- random questions to the functions of twtasks that read text, as
# statements.  Two editions of twtasks must give the same answers.

package TwTasks::Questions;

use strict;
use warnings FATAL => 'all';
use utf8;

sub one_of
{
	return $_[ rand @_ ];
}

sub below
{
	return int rand $_[0];
}

sub quoted
{
	my ($text) = @_;

	$text =~ s/'/''/g;
	return "'$text'";
}

# Up to so many of the parts, one after the other.
sub chain
{
	my ($most, @parts) = @_;

	return join '', map { one_of(@parts) } 0 .. below($most);
}

# One character of the text is lost, doubled or replaced.
sub damaged
{
	my ($text) = @_;
	my $at = below(length($text) + 1);

	substr $text, $at, below(2) < length($text) - $at ? below(2) : 0, one_of('', '*', '-', '/', ',', '|', ' ', '0', '7', 'x', '"', '}', "\t", 'ä', '@');
	return $text;
}

# ---- cron ----

my @fields = ([ 0, 59 ], [ 0, 23 ], [ 1, 31 ], [ 1, 12 ], [ 0, 7 ]);
my @names = ([], [], [], [qw(jan feb MAR Apr may jun jul aug sep oct nov dec)], [qw(sun Mon tue WED thu fri sat)]);

sub value
{
	my ($field) = @_;
	my ($min, $max) = @{ $fields[$field] };
	my $chance = below(20);

	return one_of(@{ $names[$field] }) if $chance < 4 && @{ $names[$field] };
	return one_of($min - 1, $max + 1, '00', '007', 1000, 99999999999, '') if $chance == 19 && below(2);
	return $min + below($max - $min + 1);
}

sub element
{
	my ($field) = @_;
	my $chance = below(30);

	return value($field) . '/' . below(70) if $chance == 0;
	return value($field) . '-' . value($field) if $chance == 1;
	return value($field) if $chance < 15;
	my ($min, $max) = @{ $fields[$field] };
	my @ends = sort { $a <=> $b } map { $min + below($max - $min + 1) } 1 .. 2;

	return one_of('*', "$ends[0]-$ends[1]") . (below(2) ? '/' . (1 + below($max - $min)) : '');
}

sub expression
{
	return one_of(qw(@yearly @annually @MONTHLY @weekly @daily @midnight @hourly @never @)) if below(20) == 0;
	my @line = map { my $field = $_; below(5) < 2 ? '*' : join ',', map { element($field) } 0 .. below(3) } 0 .. 4;
	my $text = join one_of(' ', ' ', ' ', "\t", '  '), @line;

	return below(8) == 0 ? damaged($text) : $text;
}

my @zones = ('UTC', qw(Europe/Berlin America/New_York America/St_Johns America/Sao_Paulo Africa/Casablanca Asia/Tehran
	  Australia/Lord_Howe Pacific/Apia Pacific/Chatham Antarctica/Troll Asia/Kathmandu Europe/Dublin EST5EDT Etc/GMT-14));

# Times of many centuries, half of them where clocks are put forward and back.
sub moment
{
	my $seconds = one_of(below(3_000_000_000), 1_100_000_000 + below(1_000_000_000), 1_100_000_000 + below(1_000_000_000), -below(6_000_000_000), below(20_000_000_000));
	my $part = one_of(0, 0, 0.5, 59.999999);

	return "to_timestamp($seconds + $part)" if below(2) == 0;
	return sprintf "(timestamptz '%d-%02d-%02d %02d:%02d:%02d.%06d UTC')", 1990 + below(60), one_of(3, 10, 11, 1 + below(12)), 1 + below(28), below(24), below(60), below(60), below(2) * below(1_000_000);
}

sub cron
{
	my $arguments = sprintf '%s, %s, %s', quoted(expression()), moment(), quoted(one_of(@zones));

	return "SELECT twtasks.cron_next($arguments)::text" if below(4) > 0;
	return "SELECT string_agg(p.occurrence || ' ' || p.local_time, ', ') FROM twtasks.cron_preview($arguments, " . one_of(1, 2, 5, 0) . ') p';
}

# The edition takes places for zones such as CET, whose clocks were others before 1980.
sub cron_zone
{
	my $zone = one_of(@zones, qw(utc GMT0 CET EST HST MET Zulu UTC+3 PST8PDT europe/berlin Nowhere/Town CEST posixrules), '', 'GMT-0', '+02', 'Europe/Berlin ');

	return 'SELECT twtasks.cron_next(\'30 2 * * *\', to_timestamp(' . (1_000_000_000 + below(2_000_000_000)) . '), ' . quoted(below(4) == 0 ? damaged($zone) : $zone) . ')::text';
}

sub cron_last
{
	my $after = one_of(1_100_000_000, 1_700_000_000) + below(100_000_000);
	my $until = $after + one_of(0, -60, below(10_000), below(1_000_000));

	return sprintf 'SELECT twtasks_internal.cron_last(%s, to_timestamp(%d), to_timestamp(%d), %s, %d)::text',
	  quoted(expression()), $after, $until, quoted(one_of(@zones)), 1 + below(5);
}

# ---- tasks as JSON ----

my %members = (
	type => [ '"T"', '"A|B"', '"a b"', '""', 7, 'true', 'null', '"ä"', '{"a": 1}', '"' . 'x' x 121 . '"' ],
	data => [ '{}', 'null', '[]', '7', '"x"', '{"a": [1, 2.50, 1e3, "\u00e4"]}' ],
	sub_type => [ '"s"', '5', 'null', '"' . 's' x 251 . '"', '[1]', '""' ],
	key => [ '"k"', '""', '1.50', 'null', 'false', '"' . 'k' x 1001 . '"', '{"b":1,"a":2}' ],
	task_id => [ '"00000000-0000-0000-0000-000000000007"', '"{00000000000000000000000000000007}"', '"7"', '7', 'null', '""' ],
	priority => [ 0, 9, 10, -1, '"3"', '" 4 "', '"0x5"', '1.5', '1e0', '99999999999', '"five"', 'true', 'null', '[3]', '""' ],
	run_after => [ '"2100-01-01"', '"infinity"', '"-infinity"', '"tomorrow at noon"', '20300101', 'null', '"2031-05-06T07:08:09.25+02"', '"2031-02-30"', '"24:00"', '""' ],
	bucket => [ '"default"', '"none"', '""', '7', 'null' ],
	expires => [ '"2100-01-01"', '"1999-01-01"', '"infinity"', 'null', '"soon"' ],
	context => [ '{}', '{"traceparent": "x"}', '[]', '7', 'null', '"x"' ],
	payload => [ '"\\\\x00ff"', '"abc"', '"\\\\x0"', '7', 'null', '"\\\\777"', '{"a":1}' ],
	key_rule => [ '"kept"', '"never"', '"live"', '"replace"', '""', '7', 'null', '"KEPT"' ],
	stray => [ 1, 'null' ]);

sub task
{
	return one_of('7', 'null', '[]', '"x"', 'true', '{}', '[{}]') if below(25) == 0;
	my %given = (type => '"T"');

	# Only this one may be refused, so that it does not matter what is looked at first.
	my $odd = one_of(sort keys %members);

	$given{key} = '"k"' if $odd eq 'key_rule';
	$given{$odd} = one_of(@{ $members{$odd} });
	return '{' . join(', ', map { "\"$_\": $given{$_}" } sort keys %given) . '}';
}

sub tasks
{
	my $list = below(30) == 0 ? one_of('{}', '7', 'null', '"x"') : '[' . join(', ', ('{"type": "FIRST"}') x below(2), task()) . ']';

	return "WITH added AS MATERIALIZED (SELECT a.result, a.version FROM twtasks.add_tasks(${\ quoted($list)}::jsonb) a)
		SELECT jsonb_agg(to_jsonb(a)) FROM added a" =~ s/\s+/ /gr;
}

# ---- policies ----

my @durations = ('"5s"', '"1min"', '"2h"', '"250ms"', '"1.5 hours"', '"0"', '"0s"', '5', '"5"', '"30 d"', '"31 days"', '"-1s"', '"PT5M"', '"soon"', 'null', '"1 mon"', '""', '"00:00:07"');

sub duration
{
	return below(8) == 0 ? one_of(@durations) : one_of(@durations[ 0 .. 4 ]);
}

sub stage
{
	return one_of('"none"', '7', 'null', '[]') if below(15) == 0;
	return '{"delays": [' . join(', ', map { duration() } 0 .. below(4)) . ']}' if below(3) == 0;
	my %given;

	$given{delay} = duration() if below(2);
	$given{max_delay} = duration() if below(3) == 0;
	$given{multiplier} = (below(6) == 0 ? one_of(0, 101, '"2"', 'null') : one_of(1, 2, 1.5, 100, '1e1')) if below(3) == 0;
	$given{max_tries} = (below(6) == 0 ? one_of(0, 1.5, '"3"', 'null', 1000001) : one_of(1, 2, 3, 20, 1000000, '3.0')) if below(2);
	$given{one_of('maximum', 'delays')} = one_of('1', '[]') if below(20) == 0;
	$given{jitter} = 0;
	return '{' . join(', ', map { "\"$_\": $given{$_}" } sort keys %given) . '}';
}

sub policy
{
	my $list = below(3) == 0 ? '[' . join(', ', map { stage() } 0 .. below(3)) . ']' : stage();

	# Without chance, which differs.
	$list =~ s/(\{"delays": \[[^]]*\])\}/$1, "jitter": 0}/g;
	return $list;
}

sub retry
{
	return sprintf 'SELECT twtasks_internal.retry_delay(%s, %d)::text FROM twtasks_internal.check_retry(%1$s)', quoted(policy()) . '::jsonb',
	  one_of(0, 1, 2, 3, 4, 7, 19, 20, 21, 40, 1000, 999999, 1000000, 2147483647);
}

# ---- names, errors, outcomes ----

my @name_parts = (qw(A B AB a | | _ . : / -), ' ', '*', '**', '%', '\\', 'X' x 119, 'ä');

# With others, one that no type can have.
sub name
{
	my ($with_others) = @_;

	return chain(5, @name_parts) if $with_others && below(4) == 0;
	return chain(4, @name_parts[ 0 .. 10 ]);
}

sub limit
{
	my $type = substr name(1), 0, 120;
	my $pattern = one_of(name(1), name(1) . '*', name(1) . '|*', $type, substr($type, 0, below(length($type) + 1)) . one_of('*', '|*', ''));

	return 'SELECT twtasks.limit_name(' . quoted($pattern) . ', ' . quoted($type) . ')';
}

sub fits
{
	my $type = name();

	return 'SELECT twtasks_internal.fits(' . quoted(one_of(name(), name() . '*', substr($type, 0, below(length($type) + 1)) . '*', $type, '')) . ', ' . quoted($type) . ')::text';
}

my @error_parts = (
	'error ', 'task', ' ', ', ', ':', '.', '"', '"', '\'', '\'', '(', ')', '@', 'a@b.de', 'joe.x+y@mail.example.com', '17', '3.14', '1,234.5', '12:30:01',
	'10.0.0.1', '2024-01-02', 'deadbeef01', '0xFF', '0x', 'fe80::1', '::1', 'a:b:c:d:1:2:3:4', '550e8400-e29b-41d4-a716-446655440000', 'x86_64', 'v2',
	"don't", 'ä', '€', '-', '_', '/', '\\', '<', '>', 'abcdef12', '12345678', 'g1234567f', ';', '^', '`', '~', '$');

sub error
{
	my $text = chain(14, @error_parts) . (below(12) == 0 ? one_of('x', 'ä', '7', '"', '\'', 'ab@c.d ') x 480 : '') . chain(8, @error_parts);

	return 'SELECT twtasks_internal.error_shape(' . quoted($text) . ')';
}

sub message
{
	my ($part, $times) = (one_of('x', 'ä', '€', '😀'), one_of(0, 5, 4096, 8000, 8191, 8192, 8193, 9000, 20000));

	return "SELECT md5(twtasks_internal.cut_message(concat('a', repeat('$part', $times), 'ä')))";
}

sub outcome
{
	my $object = one_of('{}', '[]', '7', 'null', '"x"', '{"a": {"b": [1, 1.50, "ä"]}}');

	return "SELECT twtasks_internal.check_outcome('$object')::text" if below(2);
	return sprintf 'SELECT twtasks_internal.check_outcome(jsonb_build_object(\'a\', repeat(\'%s\', %d)))::text', one_of('x', 'ä', '"'), one_of(4085, 4090, 8180, 8183, 8184, 8185, 9000);
}

# ---- all of them ----

# Names with the functions that ask, and how often; cron is the slowest in SQL.
my @kinds = (
	[ 'cron expressions', \&cron, 600 ], [ 'zones of cron expressions', \&cron_zone, 100 ], [ 'the last times of cron expressions', \&cron_last, 60 ],
	[ 'tasks as JSON', \&tasks, 500 ], [ 'retry policies', \&retry, 800 ], [ 'patterns of limits', \&limit, 500 ], [ 'patterns of types', \&fits, 500 ],
	[ 'shapes of errors', \&error, 800 ], [ 'long messages', \&message, 60 ], [ 'outcomes', \&outcome, 60 ]);

sub kinds
{
	return map { $_->[0] } @kinds;
}

# Pairs of a kind and a question; so many of each, or as many as a short run can have.
sub all
{
	my ($count) = @_;

	my @asked = map { my ($kind, $ask, $few) = @$_; map { [ $kind, $ask->() ] } 1 .. $count // $few } @kinds;

	utf8::encode($_->[1]) foreach @asked;
	return @asked;
}

1;
