# Replies.pm -- tasks that tell their handler which words to answer.

package TwTasks::Replies;

use strict;
use warnings FATAL => 'all';

use Exporter qw(import);
use JSON::PP;

our @EXPORT = qw(worker_says server_says);

# For a handler of the type WORKER that is puppet.py: the members of its reply,
# besides id and version, in its own words.
sub worker_says
{
	my ($node, $members) = @_;

	return $node->add_task('WORKER', data => encode_json([ [ 'write', "{\"id\":\"\@ID\@\",\"version\":\@VERSION\@,$members}\n" ] ]));
}

# For a handler of the type HTTP at a TwTasks::HttpServer: the JSON of its answer.
sub server_says
{
	my ($node, $answer) = @_;

	return $node->add_task('HTTP', data => encode_json({ type => 'application/json', body => $answer }));
}

1;
