# 170_helper_python.pl -- the helper for Python keeps its promises with psycopg and with
# SQLAlchemy, and answers batches.

use strict;
use warnings FATAL => 'all';

use IPC::Run;
use JSON::PP;
use Test::More;
use TwTasks::Helper;

my $packages = TwTasks::Helper::packages('python');
my ($code, $application) = TwTasks::Helper::paths('helpers/python', 'test/helpers/python/app.py');
my $helper = TwTasks::Helper->start(
	argv => [ '/usr/bin/python3', $application ],
	ways => [ 'psycopg', 'connection', 'session' ],
	env => { PYTHONPATH => "$code:$packages" },
	types => ['DELIVER']);

# Returns the answers of a worker with handlers of batches to a line with these tasks, each a
# type and a number, which is its id and version.
sub answers_to
{
	my @tasks = @_;
	my @members = map { { id => "$_->[1]", version => $_->[1], type => $_->[0], tries => 1, data => undef } } @tasks;
	my ($output, $noise);
	my $worker = <<'PY';
import twtasks, twtasks_batch

@twtasks.task("ONE")
def one(task):
    print("noise")

@twtasks_batch.batch("MANY*")
def many(tasks):
    if tasks[0].type == "MANY|RAISE":
        raise ValueError("closed")
    if tasks[0].type == "MANY|LATER":
        raise twtasks.Answer("retry", "later", retry_in=60)
    if tasks[0].type == "MANY|WRONG":
        return {"77": twtasks.Answer("error")}
    if tasks[0].type == "MANY|ODD":
        return {tasks[0].id: "error"}
    return {task.id: twtasks.Answer("error", "odd") for task in tasks if task.version % 2}

twtasks_batch.work()
PY

	local $ENV{PYTHONPATH} = $code;
	IPC::Run::run([ '/usr/bin/python3', '-c', $worker ],
		'<', \(encode_json({ hello => 1, settings => {} }) . "\n" . encode_json({ tasks => \@members }) . "\n"),
		'>', \$output, '2>', \$noise)
	  or die "the worker failed: $noise\n";
	return map { decode_json($_) } split /\n/, $output;
}

my @answers = answers_to([ MANY => 1 ], [ ONE => 2 ], [ MANY => 3 ], [ MANY => 4 ], [ STRANGE => 5 ], [ MANY => 6 ]);
my $strange = pop @answers;

is_deeply(
	\@answers,
	[
		{ id => '1', version => 1, started => JSON::PP::true },
		{ id => '1', version => 1, result => 'error', message => 'odd' },
		{ id => '3', version => 3, result => 'error', message => 'odd' },
		{ ids => [ '4', '6' ], versions => [ 4, 6 ], result => 'done' },
		{ id => '2', version => 2, result => 'done' }
	],
	'a handler of batches gets the tasks of its types, and answers them by ids');
is("$strange->{id} $strange->{result}", '5 retry', '... and a type without a handler is a failure of its task');
foreach (
	[ 'MANY|RAISE', 'retry', qr/\AValueError: closed\nTraceback/, 'an exception is a failure of all' ],
	[ 'MANY|LATER', 'retry', qr/\Alater\z/, 'so is an answer that is raised' ],
	[ 'MANY|WRONG', 'error', qr/by the ids of its tasks/, 'answers for other ids are an error of all' ],
	[ 'MANY|ODD', 'error', qr/by the ids of its tasks/, 'so is what is no answer' ])
{
	my ($type, $result, $message, $name) = @$_;
	my (undef, @ends) = answers_to([ $type, 8 ], [ $type, 9 ]);

	is_deeply([ map { join(' ', @{ $_->{ids} }, $_->{result}) } @ends ], ["8 9 $result"], $name);
	like($ends[0]{message}, $message, '... with the reason');
}

my ($refusal, $silence);
{
	local $ENV{PYTHONPATH} = $code;
	IPC::Run::run([ '/usr/bin/python3', '-c', 'import twtasks; twtasks.work()' ],
		'<', \(encode_json({ hello => 1, settings => {}, batch => 5 }) . "\n" . encode_json({ tasks => [] }) . "\n"), '>', \$refusal, '2>', \$silence);
}
is($refusal, qq({"error": "takes one task a line: leave the option \\"batch\\" out, or call twtasks_batch.work()"}\n), 'a worker without batches refuses them');

$helper->claims_ok;
$helper->lasts_ok('fail and quit');

done_testing();
