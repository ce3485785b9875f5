# Web.pm -- twtasks-web beside a server of the tests: started, stopped, reloaded
# and read as the sidecars are.

package TwTasks::Web;

use strict;
use warnings FATAL => 'all';

use HTTP::Tiny;
use JSON::PP;
use PostgreSQL::Test::Utils;
use TwTasks::Sidecar;

our @ISA = ('TwTasks::Sidecar');

sub program
{
	my ($self) = @_;

	return $self->{program} if ref $self && $self->{program};
	return $ENV{TWTASKS_WEB}
	  || die "TWTASKS_WEB must name the program twtasks-web\n";
}

sub config_for
{
	my ($node, $name, %config) = @_;

	return { postgres => $node->connstr('postgres') . ' user=web', %config };
}

# Starts the process (again) and waits until it serves.
sub run
{
	my ($self) = @_;

	$self->launch;
	$self->wait_for_log(qr/listening on/, "start of twtasks-web");
	return $self;
}

# A file with these lines, which twtasks-web takes for tokens.
sub write_tokens
{
	my ($path, @lines) = @_;

	unlink $path;
	PostgreSQL::Test::Utils::append_to_file($path, "$_\n") foreach @lines;
	chmod oct 600, $path;
	return $path;
}

# The answer to a request: its status, its body decoded, and all of it; of a stream, its
# begin with an event.  Options:
#	token, headers, body (data to encode, or text), from (an address of ours), timeout (seconds)
sub ask
{
	my ($self, $method, $path, %options) = @_;
	my %headers = (
		'Content-Type' => 'application/json',
		$options{token} ? (Authorization => "Bearer $options{token}") : (),
		%{ $options{headers} || {} });
	my $content = ref $options{body} ? encode_json($options{body}) : $options{body};
	my $stream;
	my $text = '';
	my $take = sub {
		my ($chunk, $begun) = @_;

		$text .= $chunk;
		return if ($begun->{headers}{'content-type'} // '') ne 'text/event-stream' || $text !~ /^event: /m;
		$stream = $begun;
		die "a stream has no end\n";
	};
	my $answer =
	  HTTP::Tiny->new(timeout => $options{timeout} // 180, local_address => $options{from})->request(
		$method,
		"http://$self->{config}{listen}$path",
		{ headers => \%headers, content => $content // '', data_callback => $take });

	# Only answers of success go to the callback.
	$answer = $stream // $answer;
	$answer->{content} = $text if $answer->{status} =~ /^2/;

	return ($answer->{status}, eval { decode_json($answer->{content}) } // {}, $answer);
}

1;
